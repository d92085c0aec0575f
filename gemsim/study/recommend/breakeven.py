"""How far each input can move before another of the confirmed designs is the one to run.

The closed form says how the designs move, the engine where they start: what it found beyond the closed form at the
study's own values is added at every value. The rule of the choice is asked at each value; bisection finds where its
answer changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gemsim.analytic.run import predict
from gemsim.errors import GemsimError, NotCovered
from gemsim.results.estimate import Floats
from gemsim.scenario import Scenario, describe
from gemsim.spec.study import Requirement, StudySpec
from gemsim.study.recommend.front import screened_by
from gemsim.study.recommend.inputs import Input, built
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import LOSSES
from gemsim.study.recommend.tools import lost_per_run

HALVINGS = 10  # of a stretch of the range: a change is found to within 0.1 % of the value
MATTERS = 1.0  # tie bands: designs that move less against each other over the range are looked at at its ends alone
BETWEEN = (1 / 3, 2 / 3)  # of the stretch from the value to an end, looked at where the input matters


@dataclass(frozen=True, slots=True)
class Rival:
    """A confirmed design that the closed form covers; `offset` is what the engine finds beyond it, as a score."""

    place: int  # among the confirmed
    spec: StudySpec  # classes written out
    offset: float
    memory: float
    step: float


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """What competes, in the order in which ties are broken; `bands[i, j]`: within which i ties with the reference j."""

    rivals: Sequence[Rival]
    choice: int  # place among the rivals
    bands: Floats
    sought: Sought
    require: Mapping[str, Requirement]

    def scores(self, one: Input, value: float) -> Floats:
        """Each design's score with an input moved: -inf where it cannot be or misses a bound, NaN without a form."""
        return np.array([self._score(rival, one, value) for rival in self.rivals])

    def _score(self, rival: Rival, one: Input, value: float) -> float:
        try:
            scenario = built(rival.spec, one, value)
            form = predict(scenario)
        except NotCovered:
            return math.nan
        except GemsimError:
            return -math.inf
        twin = float(self.sought.twin(form["ettr_analytic"], rival.spec, spares=scenario.spare_nodes))
        return self.sought.sign * twin + rival.offset if self._meets(scenario, form, twin) else -math.inf

    def _meets(self, scenario: Scenario, form: Mapping[str, object], twin: float) -> bool:
        if not self.require:
            return True
        columns = {**describe(scenario), **form, "spare_nodes": scenario.spare_nodes, "value": twin}
        if any(screened_by(column, self.sought) == LOSSES for column in self.require):
            columns[LOSSES] = lost_per_run(scenario)
        for column, bound in self.require.items():
            name = screened_by(column, self.sought)
            number = None if name is None else columns.get(name)
            if isinstance(number, int | float) and not bound.met(float(number)):
                return False
        return True

    def chosen(self, scores: Floats) -> int | None:
        """The cheapest design that ties with the best (model.md, section 7); None where none is possible."""
        able = np.flatnonzero(scores > -math.inf)  # neither -inf nor NaN
        if not len(able):
            return None
        reference = int(able[np.argmax(scores[able])])
        tied = [int(at) for at in able if scores[reference] - scores[at] <= self.bands[at, reference]]
        return min(tied, key=lambda at: (self.rivals[at].memory, self.rivals[at].step, at))

    def deciding(self, scores: Floats) -> Contest:
        """The contest among the choice, what is chosen at these scores, and what that ties with."""
        able = np.flatnonzero(scores > -math.inf)
        best = [int(able[np.argmax(scores[able])])] if len(able) else []
        to = self.chosen(scores)
        places = sorted({self.choice, *best, *([] if to is None else [to])})
        fewer = tuple(self.rivals[at] for at in places)
        return Contest(fewer, places.index(self.choice), self.bands[np.ix_(places, places)], self.sought, self.require)


@dataclass(frozen=True, slots=True)
class Change:
    """Where the choice changes when an input moves one way: the value, its factor, and to which confirmed design."""

    value: float
    factor: float | None
    to: int | None  # None: no confirmed design is possible there
    forced: bool = False  # the choice misses a bound or cannot be there, whatever it would gain


@dataclass(frozen=True, slots=True)
class BreakEven:
    """An input with the nearest change below and above its value; None: none within the range."""

    input: Input
    below: Change | None
    above: Change | None
    open: bool = False  # the closed form does not cover the choice over the whole range

    @property
    def nearest(self) -> Change | None:
        """The change that the least move brings."""
        both = [change for change in (self.below, self.above) if change is not None]
        return min(both, key=lambda change: self.distance(change.value), default=None)

    def distance(self, value: float) -> float:
        """How far a value is from that of the study: of factors the logarithm, of shares the difference."""
        if self.input.dimension == "share" or min(value, self.input.value) <= 0.0:
            return abs(value - self.input.value)
        return abs(math.log(value / self.input.value))


def break_even(contest: Contest, one: Input, centre: Floats | None = None) -> BreakEven:
    """Move one input down and up, each to the end of its range; `centre`: the scores at the study's own values."""
    start = one.at
    own = contest.scores(one, one.value) if centre is None else centre
    below, lost_below = _change(contest, one, start, 0.0, own)
    above, lost_above = _change(contest, one, start, 1.0, own)
    return BreakEven(one, below, above, lost_below or lost_above)


def _change(contest: Contest, one: Input, start: float, end: float, centre: Floats) -> tuple[Change | None, bool]:
    """The first change from `start` to `end` of the range, and whether the closed form left off on the way."""
    if abs(end - start) < 1e-9:
        return None, False
    last = contest.scores(one, one.between(end))
    places = [end]
    if _matters(contest, centre, last):
        places = [start + (end - start) * share for share in BETWEEN] + [end]
    before = start
    for place in places:
        scores = last if place == end else contest.scores(one, one.between(place))
        if math.isnan(scores[contest.choice]):
            return None, True
        if contest.chosen(scores) != contest.choice:
            return _bisected(contest, one, before, place, scores), False
        before = place
    return None, False


def _matters(contest: Contest, centre: Floats, last: Floats) -> bool:
    """Whether the designs move against each other by as much as decides anything."""
    if not np.all(np.isfinite(last)):
        return True
    apart = (last - last[contest.choice]) - (centre - centre[contest.choice])
    return bool(np.any(np.abs(apart) > MATTERS * float(np.min(contest.bands))))


def _bisected(contest: Contest, one: Input, kept: float, changed: float, scores: Floats) -> Change:
    """Where the choice changes between two places of the range; `scores` are those at `changed`.

    At first among the designs that decide there alone; if what they say does not hold among all, among all.
    """
    fewer = contest.deciding(scores)
    low, high = _halved(fewer, one, kept, changed)
    if len(fewer.rivals) < len(contest.rivals) and not (_holds(contest, one, low) and not _holds(contest, one, high)):
        low, high = _halved(contest, one, kept, changed)
    value = one.between(high)
    there = contest.scores(one, value)
    to = contest.chosen(there)
    factor = value / one.value if one.value > 0.0 and one.dimension != "share" else None
    return Change(
        value, factor, None if to is None else contest.rivals[to].place, bool(there[contest.choice] == -math.inf)
    )


def _halved(contest: Contest, one: Input, kept: float, changed: float) -> tuple[float, float]:
    for _ in range(HALVINGS):
        middle = (kept + changed) / 2.0
        kept, changed = (middle, changed) if _holds(contest, one, middle) else (kept, middle)
    return kept, changed


def _holds(contest: Contest, one: Input, place: float) -> bool:
    """Whether the choice is the same at a place of the range."""
    return contest.chosen(contest.scores(one, one.between(place))) == contest.choice
