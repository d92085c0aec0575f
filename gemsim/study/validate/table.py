"""The checks as a page and as plain objects: kinds apart, numbers in a row, scenario and note in words below it."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text
from scipy.special import stdtr

from gemsim.spec.published import size_of
from gemsim.study.validate.checks import Engine
from gemsim.study.validate.judge import LARGEST_Z, Check, engines
from gemsim.study.validate.simulate import FULL, QUICK

KINDS = {
    "independent": "no number that is judged went into ours",
    "calibrated": "an input was fitted to the same source, at other points or by choice of terms",
    "identity": "the same sum as the source's, or true by construction: a check of transcription",
}
HEADINGS = ("id", "published", "ours", "linear", "engine", "tolerance", "", "verdict")
WIDTHS = (17, 12, 14, 8, 22, 11, 1, 7)
LEAD = (
    "Print is judged against linear, its own accounting, where there is one, else against ours: A exactly, B within "
    "the tolerance, C not at all. The engine is judged against the exact form of the same scenario. More at the end."
)
FOOT = (
    "linear: the accounting that print used (each failure at a fixed charge, to first order; or a union bound). Where "
    "there is one, print is judged against it, and ours is what holds exactly: at high rates more, as a failure cannot "
    "take work or a recovery that was not yet done.",
    "engine: simulated mean ± standard error, and z = (mean - exact form of the same scenario) / that error.",
    "A must match exactly or in the digits printed, B within its tolerance; C is shown and never judged.",
)


def render(checks: Sequence[Check], *, quick: bool, width: int = 100, styled: bool = False) -> str:
    """The page, in at most `width` columns (at least 100 are used); `styled` for a terminal."""
    page = _Page(max(width, 100), styled)
    judged = [check for check in checks if check.verdict != "shown"]
    first, second = headline(checks)
    page.say(first, style="bold")
    page.say(second, LEAD)
    for kind, meaning in KINDS.items():
        own = [check for check in checks if check.outcome.kind == kind]
        if own:
            page.say("", _counted(f"{kind.capitalize()} ({meaning})", [c for c in own if c in judged]), style="bold")
            page.row(HEADINGS)
            for check in own:
                page.check(check)
    page.say("", *_differing(checks), *FOOT, *_alarm(checks, quick=quick))
    return page.text


def headline(checks: Sequence[Check]) -> tuple[str, str]:
    """How many independent checks pass, and how many of all; the failed ones by name."""
    judged = [check for check in checks if check.verdict != "shown"]
    independent = [check for check in judged if check.outcome.kind == "independent"]
    more = len(checks) - len(judged)
    shown = f" {more} more {'is' if more == 1 else 'are'} shown, not judged."
    return _counted("Independent checks", independent), _counted("All judged checks", judged) + shown


def _counted(what: str, judged: Sequence[Check]) -> str:
    if not judged:
        return f"{what}: none among those shown."
    failed = [check.id for check in judged if check.verdict == "fail"]
    return f"{what}: {len(judged) - len(failed)} of {len(judged)} pass." + (
        f" FAILED: {', '.join(failed)}." if failed else ""
    )


def _differing(checks: Sequence[Check]) -> Iterator[str]:
    """Those that the files name, and where print's accounting passes and what holds exactly would not."""
    apart = [check.id for check in checks if check.outcome.differs or _linear_alone(check)]
    if apart:
        yield f"Here a correct simulator must disagree with print, for the reason in the note: {', '.join(apart)}."


def _linear_alone(check: Check) -> bool:
    ours, printed = check.ours.value, check.outcome.value
    if check.verdict == "shown" or check.ours.linear is None:
        return False
    if not isinstance(ours, int | float) or not isinstance(printed, int | float):
        return True
    return not check.outcome.tolerance.holds(float(ours), float(printed))


def _alarm(checks: Sequence[Check], *, quick: bool) -> Iterator[str]:
    """What |z| <= 4 means: the chance that correct code is rejected, for one check and for all of them."""
    simulated = [engine for check in checks if check.verdict != "shown" for engine in engines(check.ours)]
    count = sum(engine.z is not None and engine.error > 0.0 for engine in simulated)
    replications = (QUICK if quick else FULL)[0]
    alarm = 2.0 * float(stdtr(replications - 1, -LARGEST_Z))
    if count:
        yield (
            f"|z| <= {LARGEST_Z:g} is asked of {count} engine values. With {replications} replications (Student) a "
            f"correct engine is rejected at one of them in 1 of {1 / alarm:,.0f} runs, at any of them in at most "
            f"{100 * min(1.0, count * alarm):.2g} % (Bonferroni). Seeds are fixed: a verdict does not change by itself."
        )


class _Page:
    """Text of a fixed width, without trailing blanks."""

    def __init__(self, width: int, styled: bool) -> None:
        self._out = io.StringIO()
        self._console = Console(file=self._out, width=width, force_terminal=styled, highlight=False, soft_wrap=True)

    def say(self, *lines: str, indent: int = 0, style: str = "") -> None:
        """Lines, wrapped."""
        for line in lines:
            lead = " " * indent
            wrapped = textwrap.fill(line, self._console.width, initial_indent=lead, subsequent_indent=lead)
            self._console.print(Text(wrapped, style=style))

    def row(self, cells: Sequence[str], *, style: str = "") -> None:
        """One row of cells; a long one goes on below."""
        wide = [textwrap.wrap(cell, size) or [""] for cell, size in zip(cells, WIDTHS, strict=True)]
        for line in zip_longest(*wide, fillvalue=""):
            text = " ".join(cell.ljust(size) for cell, size in zip(line, WIDTHS, strict=True))
            self._console.print(Text(text.rstrip(), style=style))

    def check(self, check: Check) -> None:
        """The numbers of a check, and below them what it is about and its note."""
        self.row(_cells(check), style="bold red" if check.verdict == "fail" else "")
        note = f" — {check.note}" if check.note else ""
        self.say(f"{check.outcome.scenario}{note}", indent=4, style="dim" if self._console.is_terminal else "")

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(line.rstrip() for line in self._out.getvalue().splitlines()) + "\n"


def _cells(check: Check) -> tuple[str, ...]:
    ours, outcome = check.ours, check.outcome
    value = shown(ours.value, outcome.unit)
    if ours.interval is not None:
        low, high = (number(bound / size_of(outcome.unit)) for bound in ours.interval)
        value += f" ({low} to {high})"
    linear = "" if ours.linear is None else shown(ours.linear, outcome.unit)
    engine = "; ".join(_simulated(one, outcome.unit) for one in engines(ours))
    printed = shown(outcome.value, outcome.unit)
    return check.id, printed, value, linear, engine, outcome.tolerance.text, outcome.judged, check.verdict


def _simulated(engine: Engine, unit: str) -> str:
    size = size_of(unit)
    score = "" if engine.z is None else f" z {engine.z:+.1f}"
    if engine.z == 0.0 and engine.error == 0.0:
        return f"{number(engine.mean / size)} (no noise)"
    return f"{number(engine.mean / size)} ± {engine.error / size:.1g}{score}"


def shown(value: object, unit: str) -> str:
    """A value in SI as it is read: in its unit, four digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    size = size_of(unit)
    numbers = value if isinstance(value, tuple) else (value,)
    text = ", ".join(number(float(one) / size) for one in numbers if isinstance(one, int | float))
    return text if unit == "1" else f"{text} {unit}"


def number(value: float) -> str:
    """Four significant digits, without an exponent where it can be read so."""
    if value and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def objects(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """The checks for a machine: numbers in `unit`; an engine as mean, standard error, exact form and z."""
    return [_object(check) for check in checks]


def _object(check: Check) -> dict[str, Any]:
    outcome, ours = check.outcome, check.ours
    size = size_of(outcome.unit)
    simulated = [
        {"mean": e.mean / size, "error": e.error / size, "exact": _scaled(e.exact, size), "z": _finite(e.z)}
        for e in engines(ours)
    ]
    return {
        "id": check.id,
        "scenario": outcome.scenario,
        "published": _scaled(outcome.value, size),
        "ours": _scaled(ours.value, size),
        "interval": _scaled(ours.interval, size),
        "linear": _scaled(ours.linear, size),
        "engine": simulated if len(simulated) > 1 else simulated[0] if simulated else None,
        "unit": outcome.unit,
        "tolerance": outcome.tolerance.text,
        "class": outcome.judged,
        "kind": outcome.kind,
        "verdict": check.verdict,
        "note": check.note,
        "read": outcome.read,
        "source": outcome.source,
    }


def _scaled(value: object, size: float) -> Any:
    if isinstance(value, tuple):
        return [_scaled(one, size) for one in value]
    return _finite(float(value) / size) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
