"""What the answer hangs on: every input moved, and those that may well change the choice ranked by what that costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gemsim.scenario import build
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.study import Requirement
from gemsim.study.pools import Pools
from gemsim.study.recommend.breakeven import BreakEven, Contest, Rival, break_even
from gemsim.study.recommend.confirm import OVERHEADS, Verdict
from gemsim.study.recommend.inputs import Input, inputs_of, spelled_out
from gemsim.study.recommend.measure import Measure, measured, range_of
from gemsim.study.recommend.objective import Sought

CHUNKS = 6  # of inputs, for each worker


@dataclass(frozen=True, slots=True)
class Hangs:
    """Break-evens of all inputs, what to measure, and what could not be said: `unmoved` says why there is nothing."""

    moves: Sequence[BreakEven] = ()
    measures: Sequence[Measure] = ()
    uncompared: Sequence[int] = ()  # confirmed designs without closed form
    unmoved: str = ""


def hangs(
    loaded: LoadedStudy,
    verdict: Verdict | None,
    sought: Sought,
    require: Mapping[str, Requirement],
    pools: Pools,
) -> Hangs:
    """Move every input of the study over its range, and see which design the rule of the choice takes."""
    if verdict is None or verdict.choice is None:
        return Hangs(unmoved="there is no choice")
    usable = [at for at, one in enumerate(verdict.designs) if one.meets and not one.failed]
    covered = [at for at in usable if math.isfinite(verdict.designs[at].twin)]
    uncompared = tuple(at for at in usable if at not in covered)
    if verdict.choice not in covered:
        return Hangs(uncompared=uncompared, unmoved="the closed form does not cover the choice")
    if len(covered) < 2:
        return Hangs(uncompared=uncompared, unmoved="no other confirmed design meets the bounds")
    contest = contest_of(loaded, verdict, covered, sought, require)
    moves = _all(contest, inputs(loaded, contest), pools)
    uncertain = getattr(loaded.spec, "uncertain", None) or {}
    profile, folder = loaded.spec.profile, loaded.spec.folder
    near = [one for one in moves if one.nearest is not None]
    spans = [(one, range_of(one.input, uncertain, profile, folder)) for one in near]
    futures = [pools.held.submit(measured, contest, one, span) for one, span in spans]
    found = [one for future in futures if (one := future.result()) is not None]
    ranked = sorted(found, key=lambda one: -one.regret if one.regret == one.regret else math.inf)
    return Hangs(moves, ranked, uncompared)


def contest_of(
    loaded: LoadedStudy, verdict: Verdict, covered: Sequence[int], sought: Sought, require: Mapping[str, Requirement]
) -> Contest:
    """The confirmed designs at `covered` as rivals, tied as the engine's own rule ties them."""
    assert verdict.choice is not None
    rivals = []
    for at in covered:
        one = verdict.designs[at]
        memory, step = (float(one.row[name]) for name in OVERHEADS)
        spec = spelled_out(resolve_point(loaded, one.design.assignments))
        rivals.append(Rival(at, spec, sought.sign * (one.value.value - one.twin), memory, step))
    scale = max(abs(verdict.designs[at].value.value) for at in covered)
    bands = np.full((len(rivals), len(rivals)), sought.band(scale))
    for i, first in enumerate(covered):
        for j, other in enumerate(covered):
            half = sought.difference(verdict.designs[first].values, verdict.designs[other].values).half_width
            bands[i, j] = max(bands[i, j], half) if half == half else bands[i, j]
    return Contest(tuple(rivals), covered.index(verdict.choice), bands, sought, require)


def inputs(loaded: LoadedStudy, contest: Contest) -> list[Input]:
    """The inputs of all rivals; one that has other values in other rivals is decided, not given."""
    assert loaded.spec.decide is not None
    decided = loaded.spec.decide.variables
    found: dict[str, list[Input]] = {}
    for rival in contest.rivals:
        for one in inputs_of(rival.spec, build(rival.spec), decided):
            if contest.sought.kind == "cost" or not one.path.startswith("prices."):
                found.setdefault(one.path, []).append(one)
    return [alike[0] for alike in found.values() if len({one.value for one in alike}) == 1]


def _all(contest: Contest, given: Sequence[Input], pools: Pools) -> list[BreakEven]:
    """The break-evens in the order of the inputs, whoever computes them."""
    size = max(1, math.ceil(len(given) / (CHUNKS * pools.jobs)))
    chunks = [given[at : at + size] for at in range(0, len(given), size)]
    futures = [pools.held.submit(several, contest, chunk) for chunk in chunks]
    return [one for future in futures for one in future.result()]


def several(contest: Contest, given: Sequence[Input]) -> list[BreakEven]:
    """The break-evens of some inputs, for a worker."""
    centre = contest.scores(given[0], given[0].value) if given else None  # the same for all: nothing is moved
    return [break_even(contest, one, centre) for one in given]
