"""One replication of the best design over time: what struck it, and what the job was doing in between."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from gemsim.errors import GemsimError
from gemsim.results.estimate import Floats
from gemsim.scenario import build
from gemsim.study.report.content import Figure, Left
from gemsim.study.report.view import View
from gemsim.units import brief

RECORD, FIGURE = "gemsim.engine.record", "gemsim.results.figures.timeline"
SAME = 1e-9  # share of the wall time within which the run again must be the one of the sweep


def course(view: View) -> Figure | Left:
    """The replication whose ETTR lies nearest to the mean, run again and recorded."""
    title = "One replication over time"
    row = view.shown
    if row is None:
        return Left(title, "nothing was simulated that meets the requirement")
    try:
        record, draw = importlib.import_module(RECORD).record, importlib.import_module(FIGURE).timeline_pictures
    except ModuleNotFoundError:
        return Left(title, "this version cannot record a replication event by event")
    run = view.runs[row["point"]]
    number = _typical(run["productive_s"] / run["wall_s"])
    point = next(one for one in view.result.points if one.id == row["point"])
    design = view.result.plan.designs[point.index]
    try:
        scenario = build(view.result.plan.resolve(design.assignments))
    except GemsimError as error:
        return Left(title, " ".join(str(error).split()))
    timeline: Any = record(scenario, seed=view.result.plan.seed, replication=number)
    wall = float(run["wall_s"][number])
    if abs(timeline.row["productive_s"] - run["productive_s"][number]) > SAME * wall:
        return Left(title, f"replication {number} run again is not the one of the sweep: another version made the rows")
    assert view.lead is not None
    timeline = replace(timeline, title=str(view.result.plan.facts.get("title", "")), design=view.lead.name(row))
    share = run["productive_s"][number] / wall
    seen = (
        f"Replication {number} of {view.lead.name(row)}, the one nearest to the mean: {run['failures'][number]:,.0f} "
        f"failures in {brief(wall, 'time')}, ETTR {share:.4f}. gemsim timeline says what happened, event by event."
    )
    svg, png = draw(timeline)
    return Figure("timeline", title, seen, svg, png, wide=True, own_colours=True)


def _typical(ettr: Floats) -> int:
    """The replication nearest to the mean, the first of several."""
    return int(abs(ettr - ettr.mean()).argmin())
