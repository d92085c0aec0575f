"""Which uncertain inputs decide the answer for one design: screening, shares of the variance, and a tornado.

Screening (Morris) finds the inputs that move the output at all, over the central 95 % of each; Sobol' indices share out
the variance among those, over their laws; the tornado sets each to its 5 % and 95 % quantile, the others at nominal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import GemsimError, Infeasible, NotCovered
from gemsim.failures.streams import generator
from gemsim.results.estimate import Interval
from gemsim.results.inputs import MOST_FAILED, central
from gemsim.spec.uncertain import Law
from gemsim.study.sensitivity.answers import Answer
from gemsim.study.sensitivity.indices import Effect, Share, alone, morris, saltelli, sobol, trajectories
from gemsim.study.uncertain import Tried, outcome

Floats = NDArray[np.float64]
WALKS = 16
ROWS = 256
SCREENED = (0.025, 0.975)  # quantiles between which an input is moved in the screening
BARS = (0.05, 0.95)
MATTERS = 0.05  # share of the largest mu* below which, with its interval, an input is left out of the indices
MOST_INPUTS = 10  # of the indices: those of the largest mu*
NOTHING = 1e-12  # of the nominal output: what moves it by less moves it not at all
ROUNDED = 1e-15


@dataclass(frozen=True, slots=True)
class Bar:
    """One input at a low and a high quantile, others nominal: change of the output with its interval; None where that
    run has no number."""

    low: Interval | None
    high: Interval | None

    @property
    def swing(self) -> float:
        """From the lowest to the highest of low, nominal and high."""
        ends = [0.0, *(one.value for one in (self.low, self.high) if one is not None)]
        return max(ends) - min(ends)


@dataclass(frozen=True, slots=True)
class Judged:
    """One input with all that was found of it; `share` is None where it was screened out."""

    path: str
    law: Law
    effect: Effect
    share: Share | None
    bar: Bar


@dataclass(frozen=True, slots=True)
class Together:
    """The inputs of the indices all at once: the central 95 % of the output, from so many runs, and the share of its
    variance that they make without interaction."""

    lo: float
    hi: float
    runs: int
    alone: Interval


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The inputs in the order of what they do; `tried` counts the runs of each stage and those without a number."""

    output: str
    kind: str
    nominal: float
    inputs: tuple[Judged, ...]
    tried: Mapping[str, Tried]
    seed: int
    rows: int
    bounded: bool  # the intervals of the bars are stated errors of a form, not of a sample
    notes: tuple[str, ...] = ()
    together: Together | None = None  # None without indices

    @property
    def runs(self) -> int:
        """Of all stages."""
        return sum(one.runs for one in self.tried.values())


def analyse(
    answer: Answer,
    laws: Mapping[str, Law],
    *,
    base: Mapping[str, Any],
    seed: int,
    rows: int = ROWS,
    walks: int = WALKS,
    report: Callable[[str], None] = lambda line: None,
) -> Sensitivity:
    """The sensitivity of one output to `laws`, on top of the assignments `base`.

    Raises the GemsimError of the nominal run, and NotCovered where more than a tenth of the rows of the indices have no
    number: they would describe another set of inputs than the study's.
    """
    study = _Study(answer, laws, base, seed)
    nominal = study.begin()
    effects, notes = study.screen(walks, report)
    chosen = _chosen(laws, effects, nominal, notes)
    shares = study.share_out(chosen, rows, report) if chosen else {}
    bars = {path: study.bar(path) for path in laws}
    judged = [Judged(path, law, effects[path], shares.get(path), bars[path]) for path, law in laws.items()]
    judged.sort(key=_weight, reverse=True)
    return Sensitivity(
        answer.output,
        answer.kind,
        nominal,
        tuple(judged),
        study.tried,
        seed,
        _power(rows),
        answer.bounded,
        (*notes, *study.notes),
        study.together,
    )


def _weight(one: Judged) -> tuple[bool, float]:
    """By total index where there is one, then by the effect of the screening."""
    if one.share is not None and not math.isnan(one.share.total.value):
        return True, one.share.total.value
    return False, 0.0 if math.isnan(one.effect.size.value) else one.effect.size.value


def _chosen(
    laws: Mapping[str, Law], effects: Mapping[str, Effect], nominal: float, notes: list[str]
) -> tuple[str, ...]:
    """The inputs whose variance is shared out: what could have a twentieth of the largest effect, and the unknown.

    All of them where the screening lacks too many runs, which its note says.
    """
    known = [one.size.value for one in effects.values() if not math.isnan(one.size.value)]
    largest = max(known, default=math.nan)
    if known and len(known) == len(laws) and largest <= NOTHING * max(abs(nominal), ROUNDED):
        notes.append("no input moves the output")
        return ()
    unknown = {p for p, one in effects.items() if notes or math.isnan(one.size.value)}
    able = [p for p, one in effects.items() if p in unknown or one.size.hi >= MATTERS * largest]
    able.sort(key=lambda p: -math.inf if math.isnan(effects[p].size.value) else -effects[p].size.value)
    if len(able) > MOST_INPUTS:
        left = ", ".join(able[MOST_INPUTS:])
        notes.append(f"indices of the {MOST_INPUTS} inputs of the largest effect; left at nominal beside them: {left}")
    return tuple(able[:MOST_INPUTS])


class _Study:
    """Runs of one design under given inputs, counted by stage."""

    def __init__(self, answer: Answer, laws: Mapping[str, Law], base: Mapping[str, Any], seed: int) -> None:
        self.answer, self.laws, self.base, self.seed = answer, laws, base, seed
        self.nominal = {**base, **{path: law.value(law.nominal) for path, law in laws.items()}}
        self.tried: dict[str, Tried] = {}
        self.notes: list[str] = []
        self.seconds = 0.0  # of one run
        self.together: Together | None = None

    def begin(self) -> float:
        """The nominal output, which tells what a run costs. Raises as the answer does, with what to do about it."""
        began = time.perf_counter()
        try:
            nominal = self.answer.value(self.nominal)
        except NotCovered as error:
            todo = "take another design (PATH=VALUE, --point), or simulate (--engine)"
            raise NotCovered(f"no closed form with all inputs nominal: {error.reason}; {todo}") from error
        except Infeasible as error:
            todo = "take another design (PATH=VALUE, --point)"
            raise Infeasible(f"infeasible with all inputs nominal: {error.reason}; {todo}") from error
        self.seconds = time.perf_counter() - began
        return nominal

    def screen(self, walks: int, report: Callable[[str], None]) -> tuple[dict[str, Effect], list[str]]:
        """Elementary effects of all inputs, in units of the output over the central 95 % of each."""
        tried = self.tried["screening"] = Tried()
        design = trajectories(len(self.laws), walks, generator(self.seed, 0, "sensitivity", "morris"))
        report(f"screening: {walks} walks over {len(self.laws)} inputs, {self._cost(design[..., 0].size)}")
        low, high = SCREENED
        began = time.perf_counter()
        outcomes = np.array([self._run(tuple(self.laws), low + (high - low) * walk, tried) for walk in design])
        self.seconds = (time.perf_counter() - began) / tried.runs  # the first run of a process is far slower
        found = morris(design, outcomes, generator(self.seed, 0, "sensitivity", "morris again"))
        notes = []
        if tried.failed > MOST_FAILED * tried.runs:
            notes.append(f"{tried.failed} of {tried.runs} runs of the screening have no number: none is left out by it")
        return dict(zip(self.laws, found, strict=True)), notes

    def share_out(self, chosen: Sequence[str], rows: int, report: Callable[[str], None]) -> dict[str, Share]:
        """Sobol' indices of the chosen inputs, the others at nominal. Raises NotCovered where too many runs fail."""
        from scipy.stats import qmc

        tried = self.tried["indices"] = Tried()
        rows = _power(rows)
        stream = generator(self.seed, 0, "sensitivity", "sobol")
        points = qmc.Sobol(2 * len(chosen), seed=int(stream.integers(2**31))).random(rows)
        blocks = saltelli(points[:, : len(chosen)], points[:, len(chosen) :])
        report(f"indices: {rows} rows over {len(chosen)} inputs, {self._cost(len(blocks) * rows)}")
        outcomes = np.array([self._run(tuple(chosen), block, tried) for block in blocks])
        lost = np.isnan(outcomes).any(axis=0).sum()
        if tried.failed > MOST_FAILED * tried.runs:
            raise NotCovered(
                f"{tried.failed} of {tried.runs} runs have no number, more than {MOST_FAILED:.0%}, so no index would "
                f"describe the inputs of the study: {'; '.join(tried.said())}; narrow their laws"
            )
        if lost:
            self.notes.append(
                f"{lost} of {rows} rows hold a run without a number and are left out where it would enter: the indices "
                "are those of the inputs for which the model has an answer"
            )
        found = sobol(outcomes, generator(self.seed, 0, "sensitivity", "sobol again"))
        self._put_together(outcomes)
        return dict(zip(chosen, found, strict=True))

    def _put_together(self, outcomes: Floats) -> None:
        plain = outcomes[:2].ravel()
        lo, hi = central(plain)
        if lo is not None and hi is not None:
            summed = alone(outcomes, generator(self.seed, 0, "sensitivity", "alone again"))
            self.together = Together(lo, hi, int((~np.isnan(plain)).sum()), summed)

    def _cost(self, runs: int) -> str:
        return f"{runs:,} runs, about {runs * self.seconds:.0f} s"

    def _run(self, paths: tuple[str, ...], chances: Floats, tried: Tried) -> list[float]:
        """The output for rows of quantiles of some inputs, the others at nominal."""
        return [
            outcome(
                self.answer.value,
                {**self.nominal, **{p: _at(self.laws[p], chance) for p, chance in zip(paths, row, strict=True)}},
                tried,
            )
            for row in chances
        ]

    def bar(self, path: str) -> Bar:
        """One input at its two quantiles."""
        tried = self.tried.setdefault("tornado", Tried())
        ends: list[Interval | None] = []
        for chance in BARS:
            tried.runs += 1
            try:
                moved = {**self.nominal, path: _at(self.laws[path], chance)}
                ends.append(self.answer.apart(moved, self.nominal))
            except (GemsimError, ArithmeticError) as error:
                tried.note(error)
                ends.append(None)
        return Bar(*ends)


def _at(law: Law, chance: float) -> Any:
    """A quantile as it is written; one of exactly 0 or 1 would lie at the end of an endless law."""
    return law.value(law.quantile(min(max(float(chance), ROUNDED), 1.0 - ROUNDED)))


def _power(rows: int) -> int:
    """The next power of two: a Sobol' sequence is even over so many alone."""
    return int(2 ** math.ceil(math.log2(max(rows, 2))))
