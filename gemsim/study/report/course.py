"""One replication of the best design over time: what struck it, and what the job was doing in between."""

from __future__ import annotations

from dataclasses import replace

from gemsim.engine.record import record
from gemsim.errors import GemsimError
from gemsim.results.estimate import Floats
from gemsim.results.figures.timeline import timeline_pictures
from gemsim.scenario import build
from gemsim.study.report.content import Figure, Left
from gemsim.study.report.view import View
from gemsim.units import brief

SAME = 1e-9  # share of the wall time within which the run again must be the one of the sweep


def course(view: View) -> Figure | Left:
    """The replication whose ETTR lies nearest to the mean, run again and recorded."""
    title = "One replication over time"
    row, plan = view.shown, view.result.plan
    if row is None or view.lead is None:
        return Left(title, "nothing was simulated that meets the requirement")
    run, name = view.runs[row["point"]], view.lead.name(row)
    number = _typical(run["productive_s"] / run["wall_s"])
    point = next(one for one in view.result.points if one.id == row["point"])
    try:
        scenario = build(plan.resolve(plan.designs[point.index].assignments))
    except GemsimError as error:
        return Left(title, " ".join(str(error).split()))
    told = record(scenario, seed=plan.seed, replication=number)
    wall, productive = float(run["wall_s"][number]), float(run["productive_s"][number])
    if abs(told.row["productive_s"] - productive) > SAME * wall:
        return Left(title, f"replication {number} run again is not the one of the sweep: another version made the rows")
    svg, png = timeline_pictures(replace(told, title=str(plan.facts.get("title", "")), design=name))
    seen = (
        f"Replication {number} of {name}, the one nearest to the mean: {run['failures'][number]:,.0f} failures in "
        f"{brief(wall, 'time')}, ETTR {productive / wall:.4f}. gemsim timeline says what happened, event by event."
    )
    return Figure("timeline", title, seen, svg, png, wide=True)


def _typical(ettr: Floats) -> int:
    """The replication nearest to the mean, the first of several."""
    return int(abs(ettr - ettr.mean()).argmin())
