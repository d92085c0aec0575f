"""A sensitivity analysis for the reader: what decides, the inputs in a table, what failed; and it all as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim import units
from gemsim.results.estimate import Interval
from gemsim.spec.columns import COLUMN_MEASURES
from gemsim.study.design import short_names
from gemsim.study.page import Page
from gemsim.study.sensitivity.run import BARS, SCREENED, Judged, Sensitivity

HEADINGS = ("input", "law (95 %)", "mu*, 95 %", "sigma", "alone", "in all", "at 5 %", "at 95 %")
ALIKE = 0.5  # of the largest swing from which an input decides too
NO_MATTER = 1e-3  # of the largest mu*, below which an input is named in a line
_SHOWN = 5


def measure(output: str) -> str:
    """What the output is measured in: share, time or count."""
    return COLUMN_MEASURES.get(output, COLUMN_MEASURES.get(f"{output}_analytic", "count"))


def size(number: float, output: str) -> str:
    """A change of the output without its sign, shares in points of a hundred."""
    if math.isnan(number):
        return "–"
    if measure(output) == "share":
        return f"{abs(100.0 * number):.2g}"
    return units.brief(float(f"{abs(number):.2g}"), "time") if measure(output) == "time" else f"{abs(number):.3g}"


def spoken(number: float, output: str) -> str:
    """The same in a sentence."""
    return size(number, output) + (" points" if measure(output) == "share" else "")


def verdict(found: Sensitivity) -> str:
    """Which inputs decide, by the swing of the tornado, and what the rest could do."""
    order = sorted(found.inputs, key=lambda one: -one.bar.swing)
    top = order[0].bar.swing
    if top == 0.0:
        return f"No uncertain input moves {found.output}."
    deciding = [one for one in order if one.bar.swing >= ALIKE * top]
    rest = order[len(deciding) :]
    said = [f"{one.path} by {spoken(one.bar.swing, found.output)}" for one in deciding[:_SHOWN]]
    more = f" and {len(deciding) - _SHOWN} more about as much" if len(deciding) > _SHOWN else ""
    least = f"; nothing else moves it by more than {spoken(rest[0].bar.swing, found.output)}" if rest else ""
    if len(deciding) == 1:
        first = f"{deciding[0].path} alone moves {found.output} by {spoken(top, found.output)}"
        return f"{first} between its 5 % and 95 % quantiles{least}."
    return f"Between their 5 % and 95 % quantiles {found.output} is moved by {', '.join(said)}{more}{least}."


def render(found: Sensitivity, *, title: str, width: int = 100, styled: bool = False) -> str:
    """The page."""
    page = Page(width, styled)
    nominal = _value(found.nominal, found.output)
    page.say(title, f"{found.output} = {nominal} with all inputs nominal; {found.kind}; {found.runs:,} runs.")
    page.say("", verdict(found), *_together(found))
    moving, unmoved = _moving(found)
    if moving:
        page.show(_table(found))
    still = ", ".join(one.path for one in unmoved)
    page.say(*([f"Less than a thousandth of the largest mu*: {still}.", ""] if still else []))
    page.say(_legend(found), "", *_sure(found), *_failures(found), *(f"Note: {note}." for note in found.notes))
    return page.text


def _value(number: float, output: str) -> str:
    return units.brief(number, "time") if measure(output) == "time" else f"{number:.5g}"


def _together(found: Sensitivity) -> Iterator[str]:
    """How far the output reaches while all inputs of the indices vary at once, and whether they act apart."""
    all_of_them, several = found.together, sum(one.share is not None for one in found.inputs)
    if all_of_them is None:
        return
    ends = " .. ".join(_value(end, found.output) for end in (all_of_them.lo, all_of_them.hi))
    inputs = f"the {several} inputs that have indices vary at once" if several > 1 else "it varies over its law"
    apart = f"; without interaction they make {_share(all_of_them.alone)} of the variance" if several > 1 else ""
    yield f"While {inputs} {found.output} is {ends} (95 % of {all_of_them.runs:,} runs){apart}."


def _table(found: Sensitivity) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right", no_wrap=True)
    names = short_names([one.path for one in found.inputs])
    for one in _moving(found)[0]:
        table.add_row(*(Text(cell) for cell in (names[one.path], *_cells(one, found))))
    return table


def _moving(found: Sensitivity) -> tuple[list[Judged], list[Judged]]:
    """The inputs with an effect, and those with less than a thousandth of the largest, which a line can name."""
    largest = max((one.effect.size.value for one in found.inputs if not math.isnan(one.effect.size.value)), default=0.0)
    still = [one for one in found.inputs if one.share is None and one.effect.size.value <= NO_MATTER * largest]
    return [one for one in found.inputs if one not in still], still


def _cells(one: Judged, found: Sensitivity) -> tuple[str, ...]:
    law, output = one.law, found.output
    low, high = (law.shown(law.quantile(p)) for p in (0.025, 0.975))
    effect = f"{size(one.effect.size.value, output)} ± {size(one.effect.size.half_width, output)}"
    shares = ("", "") if one.share is None else (_share(one.share.first), _share(one.share.total))
    ends = [_end(end, output, sure=not found.bounded) for end in (one.bar.low, one.bar.high)]
    return f"{low} .. {high}", effect, size(one.effect.spread.value, output), *shares, *ends


def _share(one: Interval) -> str:
    return "–" if math.isnan(one.value) else f"{100 * one.value:.0f} % ({100 * one.lo:.0f}..{100 * one.hi:.0f})"


def _end(end: Interval | None, output: str, *, sure: bool) -> str:
    if end is None:
        return "no number"
    half, sign = end.half_width, "-" if end.value < 0.0 else "+" if end.value > 0.0 else ""
    shown = f" ± {size(half, output)}" if sure and not math.isnan(half) else ""
    return f"{sign}{size(end.value, output)}{shown}"


def _legend(found: Sensitivity) -> str:
    units_of = {
        "share": f" Effects and changes are in points: one is 0.01 of {found.output}.",
        "count": f" Effects and changes are in the unit of {found.output}.",
    }
    low, high = SCREENED
    return (
        f"mu*: mean size of the effect of moving the input from its {low:.1%} to its {high:.1%} quantile, the others "
        "anywhere; sigma: how much that depends on the others. alone, in all: Sobol' indices, the share of the "
        "variance the input makes by itself and with its interactions (95 % of a bootstrap over "
        f"{found.rows} rows, so an estimate may lie below 0 or above 100 %); empty where screened out. "
        f"at {BARS[0]:.0%}, at {BARS[1]:.0%}: the output less the nominal one with that input there, the others "
        f"nominal.{units_of.get(measure(found.output), '')}"
    )


def _sure(found: Sensitivity) -> Iterator[str]:
    """How sure the bars are where that is no matter of a sample."""
    halves = [end.half_width for one in found.inputs for end in (one.bar.low, one.bar.high) if end is not None]
    known = [half for half in halves if not math.isnan(half)]
    if found.bounded and known:
        worst = spoken(max(known), found.output)
        yield (
            f"The closed form states its error: a bar is within {worst} at worst, the errors of both its runs added; "
            "those of runs so alike mostly cancel (--engine simulates both on the same failures)."
        )


def _failures(found: Sensitivity) -> Iterator[str]:
    """Runs without a number, by stage and reason; a line when there are none, too."""
    lost = [(stage, tried) for stage, tried in found.tried.items() if tried.failed]
    if not lost:
        yield f"All {found.runs:,} runs have a number."
    for stage, tried in lost:
        yield f"{tried.failed} of {tried.runs} runs of the {stage} have no number:"
        yield from (f"  {line}" for line in tried.said()[:_SHOWN])


def as_object(found: Sensitivity) -> dict[str, Any]:
    """Everything, in SI; what is not known is null."""
    failed = {
        stage: {"runs": one.runs, "failed": one.failed, "reasons": one.said()} for stage, one in found.tried.items()
    }
    return {
        "output": found.output, "by": found.kind, "nominal": found.nominal, "verdict": verdict(found),
        "seed": found.seed, "rows": found.rows, "runs": found.runs, "notes": list(found.notes),
        "failed": failed, "together": _all(found),
        "inputs": [_input(one) for one in found.inputs],
    }  # fmt: skip


def _all(found: Sensitivity) -> dict[str, Any] | None:
    one = found.together
    return (
        None if one is None else {"lo": one.lo, "hi": one.hi, "runs": one.runs, "first_order_sum": _triple(one.alone)}
    )


def _input(one: Judged) -> dict[str, Any]:
    law = one.law
    return {
        "path": one.path, "law": law.text, "nominal": law.nominal, "read as": law.source,
        "lo": law.quantile(0.025), "hi": law.quantile(0.975),
        "mu_star": _triple(one.effect.size), "mu": _known(one.effect.mean), "sigma": _triple(one.effect.spread),
        "effects": one.effect.number,
        "first_order": None if one.share is None else _triple(one.share.first),
        "total": None if one.share is None else _triple(one.share.total),
        "rows": None if one.share is None else one.share.rows,
        "at_5": None if one.bar.low is None else _triple(one.bar.low),
        "at_95": None if one.bar.high is None else _triple(one.bar.high),
    }  # fmt: skip


def _triple(one: Interval) -> dict[str, float | None]:
    return {"value": _known(one.value), "lo": _known(one.lo), "hi": _known(one.hi)}


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None


def bars(found: Sensitivity) -> Sequence[tuple[str, Interval | None, Interval | None]]:
    """(label, low, high) of each input, the largest swing first."""
    order = sorted(found.inputs, key=lambda one: -one.bar.swing)
    return [(one.path, one.bar.low, one.bar.high) for one in order]
