"""A back-test as a page: what was fitted, what was predicted and what happened, and what has changed."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.table import Table

from gemsim import units
from gemsim.study.backtest.fit import FEWEST
from gemsim.study.backtest.judge import Change, Line
from gemsim.study.backtest.run import BackTest, inputs
from gemsim.study.page import Page

DAY = 86400.0


def render(found: BackTest, *, title: str, width: int = 100, styled: bool = False) -> str:
    """All that is to be said, in order."""
    page = Page(width, styled)
    page.say(title, _lengths(found))
    _say_inputs(page, found)
    if found.prediction is None:
        _say_few(page, found)
    else:
        _say_prediction(page, found)
    _say_changes(page, found)
    notes = [*found.log.notes, *(found.prediction.notes if found.prediction else ()), *_beyond(found), *_aside(found)]
    told = [name for name in found.groups if " + " in name]
    notes += [f"the log does not tell apart: {'; '.join(told)}"] if told else []
    page.say("", *(f"Note: {note}." for note in notes))
    return page.text


def _lengths(found: BackTest) -> str:
    walls = [units.brief(one.wall, "time") for one in (found.first, found.rest)]
    first, rest = len(found.first.failures), len(found.rest.failures)
    fitted = f"{walls[0]} with {first} failures fitted"
    return f"{found.log.path.name}: {fitted}, the {walls[1]} that follow with {rest} judged."


def _say_inputs(page: Page, found: BackTest) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("fitted on the first part", "value", "95 %", "from"):
        table.add_column(name, justify="left" if name.startswith("fitted") else "right")
    for name, one in inputs(found.fitted).items():
        if name == "rate":
            shown = [f"{DAY * value:.3g}" for value in (one.value, one.lo, one.hi)]
            name = "failures per day of work"
        elif name == "steps between saves":
            shown = [f"{value:.4g}" for value in (one.value, one.lo, one.hi)]
        else:
            shown = ["–" if math.isnan(value) else units.brief(value, "time") for value in (one.value, one.lo, one.hi)]
        table.add_row(name, shown[0], f"{shown[1]} to {shown[2]}", str(one.events))
    page.show(table)


def _say_few(page: Page, found: BackTest) -> None:
    rate, seen = found.fitted.rate, len(found.fitted.stood)
    page.say(
        f"Too few failures to predict: {seen} of the first part are over, at least {FEWEST} are needed. What can be "
        f"told: between {DAY * rate.lo:.3g} and {DAY * rate.hi:.3g} failures per day of work (95 %). A longer log, or "
        "a larger --split, tells more."
    )
    for name, group in found.groups.items():
        shares = [sum(one.seconds[part] for part in group) / one.wall for one in (found.first, found.rest)]
        if max(shares) > 0.0:
            page.say(
                f"{name}: {100 * shares[0]:.2f} % of the first part, {100 * shares[1]:.2f} % of the rest", indent=2
            )


def _say_prediction(page: Page, found: BackTest) -> None:
    assert found.prediction is not None
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("share of the rest", "predicted", "95 % interval", "happened", ""):
        table.add_column(name, justify="left" if name in ("share of the rest", "") else "right")
    for line in found.lines:
        show = _count if line.name == "failures" else _percent
        verdict = "inside" if line.inside else "outside" if not line.inside_all else "outside, by little"
        cells = (show(line.predicted), f"{show(line.lo)} to {show(line.hi)}", show(line.actual))
        table.add_row(line.name, *cells, verdict)
    page.show(table)
    form = found.prediction.ettr_analytic
    mean = 100 * float(found.prediction.seconds["productive"].mean()) / found.prediction.wall
    beside = f"none ({found.prediction.no_form})" if form is None else f"{100 * form:.2f} % productive"
    page.say(
        f"Closed form of the fitted inputs: {beside} (the runs: {mean:.2f} %). Intervals hold the chance of one run "
        "and how sure rate, stops and saves are."
    )
    page.say(_verdict(found))


def _verdict(found: BackTest) -> str:
    number = len(found.lines)
    level = 100 * (1 - 0.05 / number)
    judged = f"all {number} are judged together by intervals of {level:.2f} %"
    if found.verdict == "held":
        return f"Verdict: as predicted ({judged})."
    if found.verdict == "changed":
        return f"Verdict: not as predicted. The shares are ({judged}), but an input has changed beyond chance."
    missed = [_missed(line) for line in found.lines if not line.inside_all]
    return f"Verdict: not as predicted ({judged}): {'; '.join(missed)}."


def _missed(line: Line) -> str:
    show = _count if line.name == "failures" else _percent
    return f"{line.name} {show(line.actual)}, {'more' if line.actual > line.hi_all else 'less'} than predicted"


def _say_changes(page: Page, found: BackTest) -> None:
    moved = [one for one in found.changes if one.found]
    for one in moved:
        page.say(f"Changed: {_change(one)}.")
    if not moved and found.changes:
        page.say(f"No input has changed beyond chance (the surest: {_change(found.changes[0])}).")


def _change(one: Change) -> str:
    unit = f" {one.unit}" if one.unit else ""
    moved = f" ({100 * (one.ratio - 1):+.0f} %)" if math.isfinite(one.ratio) else ""
    return f"{one.name} from {one.before:.4g} to {one.after:.4g}{unit}{moved}, p = {one.p:.2g}"


def _beyond(found: BackTest) -> list[str]:
    lost = found.rest.beyond
    return [f"a roll-back of the rest gave up {units.brief(lost, 'time')} of the first part too"] if lost > 0.0 else []


def _aside(found: BackTest) -> list[str]:
    spent = math.fsum(found.rest.aside.values())
    if spent <= 0.0 or found.prediction is None:
        return []
    what = "pauses, and stops on purpose with their restarts and the work they lost"
    return [f"not predicted and left out of the shares: {units.brief(spent, 'time')} of {what}"]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _count(number: float) -> str:
    return f"{number:.4g}"
