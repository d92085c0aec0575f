"""The verdict on each check: print against the linear form where there is one, the engine against the exact form.

Class C is shown and never judged, and so is what is not built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from gemsim.errors import ProfileError
from gemsim.spec.published import Outcome, Paper
from gemsim.study.validate.checks import Engine, Ours, Rows, Value, one_number

LARGEST_Z = 4.0


@dataclass(frozen=True, slots=True)
class Check:
    """A published outcome, ours, and the verdict: pass, fail or shown; `reasons` say what failed."""

    outcome: Outcome
    ours: Ours
    verdict: str
    reasons: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The key in the file of the paper."""
        return self.outcome.id

    @property
    def note(self) -> str:
        """What failed, what it needs, why it differs, and what the file says of the number."""
        parts = (*self.reasons, self.ours.unbuilt, self.ours.note, self.outcome.note)
        return "; ".join(part for part in parts if part)


def judge(published: Paper, ours: Rows) -> list[Check]:
    """Join outcomes and ours by id. Raises ProfileError where an id is on one side only."""
    missing = [one for one in published.outcomes if one not in ours]
    extra = [one for one in ours if one not in published.outcomes]
    if missing or extra:
        sides = [f"published but not computed: {', '.join(missing)}" if missing else ""]
        sides += [f"computed but not published: {', '.join(extra)}" if extra else ""]
        raise ProfileError(f"{published.title}: {'; '.join(side for side in sides if side)}")
    return [_check(outcome, ours[one]) for one, outcome in published.outcomes.items()]


def _check(outcome: Outcome, ours: Ours) -> Check:
    if outcome.judged == "C" or ours.unbuilt:
        return Check(outcome, ours, "shown")
    reasons = (*_print_faults(outcome, ours), *_engine_faults(ours))
    return Check(outcome, ours, "fail" if reasons else "pass", reasons)


def _print_faults(outcome: Outcome, ours: Ours) -> Iterator[str]:
    if outcome.tolerance.form == "interval":
        low, high = ours.interval or (inf, -inf)
        if not low <= one_number(outcome.value) <= high:
            yield "print is outside the interval of ours"
        return
    value: Value = ours.value if ours.linear is None else ours.linear
    name = "ours" if ours.linear is None else "the linear form"
    if isinstance(value, bool | str) or isinstance(outcome.value, bool | str):
        if type(value) is not type(outcome.value) or value != outcome.value:
            yield f"{name} is not what is printed"
        return
    mine = value if isinstance(value, tuple) else (value,)
    printed = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
    if len(mine) != len(printed):
        yield f"{len(mine)} numbers beside {len(printed)} printed"
    elif not all(outcome.tolerance.holds(float(a), float(b)) for a, b in zip(mine, printed, strict=True)):
        yield f"{name} is outside the tolerance"


def _engine_faults(ours: Ours) -> Iterator[str]:
    for engine in engines(ours):
        if engine.z is not None and not abs(engine.z) <= LARGEST_Z:
            yield f"the engine is {engine.z:+.1f} standard errors from the exact form"


def engines(ours: Ours) -> tuple[Engine, ...]:
    """The simulated numbers of a row: none, one or several."""
    if ours.engine is None:
        return ()
    return ours.engine if isinstance(ours.engine, tuple) else (ours.engine,)
