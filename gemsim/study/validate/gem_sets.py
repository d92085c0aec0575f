"""GEM's cut of the time lost at memory failures, over sets of assumptions, baselines and named models, in closed form.

A set is met when the mean over the models reaches the claim. Sets that are met are told as a few patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

from gemsim.analytic.run import predict
from gemsim.study.validate.gem_costs import Cut, Price, cut, loss, prices, steady_seconds
from gemsim.study.validate.gem_worlds import Assumed, job

AXES: dict[str, tuple[Any, ...]] = {
    "contained": (0.42, 0.54, 0.9, 1.0),
    "mode": ("in_place", "holder", "all_processes"),
    "pause": (1.0, 10.0, 60.0),
    "lands": ("critical", "used"),
    "mapping": ("interleaved", "contiguous"),
    "sram": (False, True),
    "steady": (False, True),
}
QUICK: dict[str, tuple[Any, ...]] = AXES | {"contained": (0.54, 1.0), "pause": (10.0,), "mode": AXES["mode"][::2]}
PAIRS = (  # (baseline, what GEM falls back to)
    ("cpu", "cpu"),
    ("optimal", "optimal"),
    ("hourly", "hourly"),
    ("3-hourly", "3-hourly"),
    ("optimal", "cpu"),
    ("hourly", "cpu"),
    ("3-hourly", "cpu"),
)


@dataclass(frozen=True, slots=True)
class Mean:
    """A set of assumptions against a baseline: the mean over the models of the cut, of its terms and of c / c0, and
    the lowest and the highest cut."""

    assumed: Assumed
    baseline: str
    fallback: str
    code: float
    of_fallback: float
    total: float
    repaired: float
    low: float
    high: float

    def row(self) -> dict[str, Any]:
        """As plain data."""
        chosen = {axis: getattr(self.assumed, axis) for axis in AXES}
        names = ("baseline", "fallback", "code", "of_fallback", "total", "repaired", "low", "high")
        return {**chosen, **{name: getattr(self, name) for name in names}}


def sets(*, quick: bool) -> list[Assumed]:
    """All combinations of the axes."""
    axes = QUICK if quick else AXES
    return [Assumed(**dict(zip(axes, values, strict=True))) for values in product(*axes.values())]


@lru_cache(maxsize=16384)
def lost(model: str, assumed: Assumed, saves: str, *, gem: bool) -> tuple[Price, ...]:
    """What failures cost a job; `assumed` is plain."""
    return prices(job(model, assumed, saves, gem=gem))


def memory_cut(model: str, assumed: Assumed, baseline: str, fallback: str) -> Cut:
    """The cut of one job: 1 - c / c0, in its terms. `steady` is zero unless the set counts it."""
    plain = assumed.plain
    mine = loss(lost(model, plain, fallback, gem=True), assumed.classes)
    theirs = loss(lost(model, _of_baseline(plain), baseline, gem=False), assumed.classes)
    counted = assumed.steady
    return cut(
        mine, theirs, steady=steady_seconds(job(model, plain, fallback, gem=True), mine.rate) if counted else 0.0
    )


def _of_baseline(plain: Assumed) -> Assumed:
    """What a baseline that restarts all processes looks at: neither the stripe nor the pause of a repair in place."""
    of = replace(plain, mode="in_place", mapping="interleaved", m=1, overhead=0.003)
    return replace(of, pause=10.0) if of.base_mode == "all_processes" else of


def mean_cut(models: Sequence[str], assumed: Assumed, baseline: str, fallback: str) -> Mean:
    """The mean over models, each counted alike, as a claim "on average" is read."""
    cuts = [memory_cut(model, assumed, baseline, fallback) for model in models]
    totals = [one.total - one.steady for one in cuts]
    code = sum(one.code for one in cuts) / len(cuts)
    rest = sum(one.fallback for one in cuts) / len(cuts)
    total, repaired = sum(totals) / len(cuts), sum(one.repaired for one in cuts) / len(cuts)
    return Mean(assumed, baseline, fallback, code, rest, total, repaired, min(totals), max(totals))


def all_cut(model: str, assumed: Assumed, baseline: str, fallback: str) -> tuple[float, float]:
    """(the cut at memory failures as a share of all lost time, the cut of all lost time), by the twin.

    The second holds what the restart mode does for other failures and the cost of encoding too.
    """
    plain = assumed.plain
    ours, base = job(model, plain, fallback, gem=True), job(model, _of_baseline(plain), baseline, gem=False)
    all_lost = 1.0 - predict(base)["ettr_analytic"]
    theirs = loss(lost(model, _of_baseline(plain), baseline, gem=False), assumed.classes)
    part = theirs.rate * theirs.seconds / all_lost * memory_cut(model, assumed, baseline, fallback).total
    return part, 1.0 - (1.0 - predict(ours)["ettr_analytic"]) / all_lost


Pattern = dict[str, tuple[Any, ...]]


def patterns(met: Iterable[Assumed], *, quick: bool) -> list[Pattern]:
    """Sets as few patterns (axis -> values, all combinations of which are sets): merged where they differ in one axis.

    Every set is in exactly one pattern and no other set is.
    """
    axes = QUICK if quick else AXES
    cubes = {tuple((getattr(one, axis),) for axis in axes) for one in met}
    for place in range(len(axes)):
        merged: dict[tuple[Any, ...], list[Any]] = {}
        for cube in cubes:
            merged.setdefault((*cube[:place], *cube[place + 1 :]), []).extend(cube[place])
        order = list(axes.values())[place]
        cubes = {
            (*rest[:place], tuple(sorted(values, key=order.index)), *rest[place:]) for rest, values in merged.items()
        }
    return [dict(zip(axes, cube, strict=True)) for cube in sorted(cubes, key=repr)]
