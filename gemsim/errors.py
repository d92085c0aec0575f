"""What gemsim raises. `str(error)` is what a user is shown; no traceback reaches a user without `--debug`.

GemsimError
 ├── ValueRefused (also a ValueError)   one value that cannot be used
 │    └── UnitError                     a text with a unit that cannot be read
 ├── StudyError                         everything wrong with a study, all at once
 ├── Infeasible                         a design point that cannot exist
 ├── NotCovered                         no closed form applies
 ├── ProfileError                       a calibration profile that cannot be used
 │    └── NotMeasured (also Infeasible) a design point whose cost a strict profile does not hold
 ├── ResultsError                       an output folder or its rows that cannot be used
 └── PointFailed                        a design point failed, and the run was to stop at that
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class GemsimError(Exception):
    """The base of all errors that gemsim raises on purpose."""


class ValueRefused(GemsimError, ValueError):
    """One value that cannot be used: what is wrong, what is allowed, what to do.

    `at` is the part of the value that is at fault, as keys from its top.
    """

    def __init__(self, what: str, allowed: str = "", todo: str = "", *, at: tuple[str | int, ...] = ()) -> None:
        super().__init__(what, allowed, todo, at)
        self.what = what
        self.allowed = allowed
        self.todo = todo
        self.at = at

    def __str__(self) -> str:
        return printable("; ".join(part for part in (self.what, self.allowed, self.todo) if part))


class UnitError(ValueRefused):
    """A text that is not a quantity of the wanted dimension."""


def show(value: object) -> str:
    """A value as it is quoted in a message: on one line, at most 60 characters."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:.12g}"
    text = printable(" ".join((f"'{value[:80]}'" if isinstance(value, str) else str(value)).split()))
    return text if len(text) <= 60 else f"{text[:57]}..."


def printable(text: str, *, keep: str = "\n") -> str:
    """A text that steers no terminal: what cannot be printed as its escape, but for the characters to `keep`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else one.encode("unicode_escape").decode() for one in text)


_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a study, with the place in the file (`file:line:col`) and the path of the key."""

    where: str
    path: str
    what: str
    allowed: str = ""
    todo: str = ""

    def __str__(self) -> str:
        head = ": ".join(part for part in (self.where, self.path, self.what) if part)
        return printable("; ".join(part for part in (head, self.allowed, self.todo) if part), keep="")


class StudyError(GemsimError):
    """Everything wrong with a study; `problems` holds them in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(list(problems))
        self.problems: list[Problem] = list(problems)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:_MOST_SHOWN]]
        more = len(self.problems) - len(lines)
        return "\n".join([*lines, f"… and {more} more"] if more else lines)


class _Reasoned(GemsimError):
    """An error that carries one sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return printable(self.reason)


class Infeasible(_Reasoned):
    """A design point that cannot exist, with the reason; a sweep reports it and goes on."""


class NotCovered(_Reasoned):
    """No closed form applies, with the reason; never a wrong number instead."""


class ProfileError(_Reasoned):
    """A calibration profile that is missing, malformed or asked for what it does not hold."""


class NotMeasured(ProfileError, Infeasible):
    """A strict profile does not hold the cost of a design point; a sweep reports it and goes on."""


class ResultsError(_Reasoned):
    """An output folder or its rows that cannot be used."""


class PointFailed(_Reasoned):
    """A design point failed in a run that was to stop at the first that does."""
