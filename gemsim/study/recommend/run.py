"""A recommendation from a study that decides: screen, confirm, ask what it hangs on, write it down."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsim.engine.rare import RareLosses, rare_losses
from gemsim.errors import GemsimError
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.results.folder import write_text
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.study import Requirement
from gemsim.study.along import SPARES
from gemsim.study.points import Model
from gemsim.study.pools import Pools
from gemsim.study.progress import Reporter
from gemsim.study.recommend.answer import Answer, Short, to_json
from gemsim.study.recommend.confirm import Design, Verdict, confirm
from gemsim.study.recommend.constraints import missed_in, nearest, shadows
from gemsim.study.recommend.front import met, pareto, picks, screened_by, wanted
from gemsim.study.recommend.hangs import hangs
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import LOSSES, Screened, Tools, screened
from gemsim.study.recommend.space import Structure, structures
from gemsim.study.sweep import Plan

CONFIRMED = 8  # designs for the engine
FEW_OPEN = 4  # designs without closed form that the engine is asked about directly
RAISES = 8  # times the replications of the study, at most
RARE_RUNS = 2_000  # of the choice, to tell how likely it loses everything
RARE_SECONDS = 60.0  # for these; more only where runs are slow
MOST_STRUCTURES = 20_000  # each is built: a few milliseconds


def recommend(
    loaded: LoadedStudy,
    tools: Tools,
    model: Model,
    base: Plan,
    folder: Path,
    *,
    jobs: int,
    report: Reporter,
    number: int = CONFIRMED,
) -> Answer:
    """The answer to what `loaded` decides, also written to `folder`/recommend.json.

    `base` is the plan of a sweep of the study, whose points are not used. Raises GemsimError where the study decides
    nothing or no point of the space can exist.
    """
    _refuse_nothing(loaded)
    clock = _Clock()
    sought, require = _sought(loaded, base.seed), loaded.spec.require
    with Pools(jobs) as pools:
        with clock.stage("screened"):
            table = _table(loaded, tools, sought)
        with clock.stage("chosen"):
            rows = np.flatnonzero(met(table, require, sought))
            front = pareto(rows, table, sought) if len(rows) else []
            bounds = shadows(table, require, sought) if len(rows) else []
            designs = _designs(table, rows, front, loaded, sought, number)
        verdict = None
        if designs:
            with clock.stage("confirmed"):
                verdict = confirm(
                    loaded, designs, model, sought, base, folder,
                    most=base.replications * RAISES, pools=pools, report=report,
                )  # fmt: skip
        short = _short(table, verdict, require, sought)
        with clock.stage("losses"):
            rare = _rare(loaded, verdict, sought, tools, base.seed)
        with clock.stage("moved"):
            found = hangs(loaded, verdict, sought, require, pools)
    answer = Answer(
        facts={**base.facts, "seed": base.seed, "replications_first": base.replications},
        sought=sought,
        require=require,
        table=table,
        feasible=len(rows),
        front=front,
        shadows=bounds,
        verdict=verdict,
        intervals=_intervals(loaded, verdict, tools),
        short=short,
        rare=rare,
        hangs=found,
        seconds=clock.seconds,
    )
    write_text(folder / "recommend.json", json.dumps(to_json(answer), indent=2, ensure_ascii=False) + "\n")
    return answer


def _refuse_nothing(loaded: LoadedStudy) -> None:
    """Raises GemsimError where the study decides nothing."""
    if loaded.spec.decide is None:
        raise GemsimError(
            f"{loaded.tree.file}:1:1: decide: missing; the decision variables with their values; add e.g. "
            "decide: {variables: {protection.stripe.k: [16, 32]}}"
        )


def _table(loaded: LoadedStudy, tools: Tools, sought: Sought) -> Screened:
    """Every point of the space by the closed form. Raises GemsimError where none can exist."""
    table = screened(loaded, _structures(loaded), tools, sought, columns=wanted(loaded.spec.require, sought))
    if not len(table.flat) and not table.open:
        raise GemsimError(f"no design of the space can exist; {_first(table)}")
    return table


def _structures(loaded: LoadedStudy) -> list[Structure]:
    """The structures of the space. Raises GemsimError where they are too many to be built."""
    found = structures(loaded)
    if len(found) > MOST_STRUCTURES:
        where = loaded.tree.where(("decide", "variables"), key=True)
        free = "intervals of checkpoints, `every` of replicas and cluster.spare_nodes do not count"
        raise GemsimError(
            f"{where}: decide.variables: too many structures ({len(found)}); at most {MOST_STRUCTURES}, where {free}; "
            "take fewer values of the others"
        )
    return found


class _Clock:
    """Wall seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - start, 3)


def _sought(loaded: LoadedStudy, seed: int) -> Sought:
    assert loaded.spec.decide is not None
    objective, prices = loaded.spec.decide.objective, loaded.spec.prices
    return Sought(objective.kind, objective.probability, "" if prices is None else prices.currency, seed)


def _first(table: Screened) -> str:
    reasons = table.infeasible.most_common(1)
    return f"most cannot because: {reasons[0][0]}" if reasons else "the space is empty"


def _designs(
    table: Screened, rows: NDArray[np.int64], front: Sequence[int], loaded: LoadedStudy, sought: Sought, number: int
) -> list[Design]:
    """What the engine is asked about: the picks of the screening, and the points without a form if they are few."""
    found = []
    for pick in picks(rows, front, table, sought, number=number) if len(rows) else ():
        structure, flat = table.structures[table.structure[pick.row]], int(table.flat[pick.row])
        spares = float(table.columns["spare_nodes"][pick.row])
        found.append(Design(structure.variant, structure.values(flat), structure.assignments(flat), pick.why, spares))
    if len(table.open) <= FEW_OPEN:
        for number_, flat in table.open:
            structure = table.structures[number_]
            spares = float(structure.assignments(flat).get(SPARES, loaded.spec.cluster.spare_nodes))
            found.append(
                Design(structure.variant, structure.values(flat), structure.assignments(flat), "no closed form", spares)
            )
    return found


def _short(
    table: Screened, verdict: Verdict | None, require: Mapping[str, Requirement], sought: Sought
) -> Short | None:
    """What comes nearest where nothing meets the bounds; None where something does."""
    if verdict is not None:
        usable = [one for one in verdict.designs if not one.failed]
        if any(one.meets for one in usable) or not usable:
            return None
        rated = [(missed_in(one.row, require), one) for one in usable]
        missed, one = min(rated, key=lambda pair: (len(pair[0]), -sought.sign * pair[1].value.value))
        return Short(one.design.variant, one.design.values, missed, "the engine")
    found = nearest(table, require, sought)
    if found is None:
        return None
    structure = table.structures[table.structure[found.row]]
    values = structure.values(int(table.flat[found.row]))
    return Short(structure.variant, values, found.misses, "the closed form")


def _rare(loaded: LoadedStudy, verdict: Verdict | None, sought: Sought, tools: Tools, seed: int) -> RareLosses | None:
    """P(the choice loses everything in a run) by the engine, where the study bounds it and the form is not zero."""
    bounded = any(screened_by(column, sought) == LOSSES for column in loaded.spec.require)
    if verdict is None or verdict.choice is None or not bounded:
        return None
    one = verdict.designs[verdict.choice]
    if one.row["unrecoverable_analytic"] == 0.0:
        return None
    scenario = tools.build(resolve_point(loaded, one.design.assignments))
    return rare_losses(scenario, seed=seed, most_runs=RARE_RUNS, most_seconds=RARE_SECONDS)


def _intervals(loaded: LoadedStudy, verdict: Verdict | None, tools: Tools) -> dict[str, dict[str, float]]:
    """Of each confirmed design: tier to seconds of work between its saves; those never written are left out."""
    found: dict[str, dict[str, float]] = {}
    for one in () if verdict is None else verdict.designs:
        if not one.failed:
            scenario = tools.build(resolve_point(loaded, one.design.assignments))
            saves = [tier for tier in scenario.tiers if isinstance(tier, Checkpoint) and tier.every < NEVER]
            found[one.id] = {tier.name: tier.every * scenario.useful_step for tier in saves}
    return found
