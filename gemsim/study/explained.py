"""The page of one explained design point: the job, its failures, where the time goes, the sum by hand, named models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.analytic.formula import ASIDE, STANDING, STRUCK, UNTIL, Formula
from gemsim.analytic.named import NAMED
from gemsim.analytic.planned import failures_of
from gemsim.analytic.rungs import Rung
from gemsim.protection.reach import Branch
from gemsim.results.estimate import Interval
from gemsim.scenario.describe import UNITS_OF
from gemsim.study.explain import Explanation, Share
from gemsim.study.page import Page
from gemsim.study.remedies import Remedy
from gemsim.study.shares import hundredths, percent
from gemsim.units import brief

DAY, HOUR = 86_400.0, 3600.0
DESTROYS = {
    "nothing": "nothing", "corrupt": "unseen: the state itself", "process": "a process", "gpu": "a GPU's memory",
    "node": "a node", "rack": "a rack", "switch": "a switch's nodes", "power": "a power domain",
}  # fmt: skip
ENDINGS = {"in_place": "a", "go_on": "g", "keep": "k", "roll_back": "b"}  # as the sum by hand calls them
LETTERS = "a: in place, g: the others go on without it, k: a restart with the state kept, b: back to an older version"
LEFT, RIGHT = "left", "right"
Column = tuple[str, str]


def render(one: Explanation, *, width: int = 100, styled: bool = False) -> str:
    """The page, which fits the width from 80 on."""
    page = Page(width, styled)
    page.say(one.title, *_job(one))
    page.head("Failures, in closed form: what each class destroys, and what recovers it")
    page.show(_failures(one))
    page.say(f"{LETTERS}. in: mean seconds that the job stands still; MTBF: of the job.")
    page.head("Where the time goes, by failure class and the tier that recovered (or cost it)")
    page.show(_waterfall(one, one.by_failure))
    page.say(_legend(one))
    if one.reason and one.formula is not None:
        page.say(f"The closed form has no parts here: {one.reason}.")
    page.head("The same by column of the ledger")
    page.show(_columns(one))
    if one.formula is None:
        page.head("The sum by hand: there is none")
        page.say(f"No closed form applies: {one.reason}. What is shown is simulated alone.", indent=2)
    else:
        _by_hand(page, one, one.formula)
        _named(page, one)
    page.say("", *_notes(one))
    return page.text


def _job(one: Explanation) -> Iterator[str]:
    scenario = one.scenario
    grid, restart = scenario.platform.grid, scenario.restart
    length = f"{scenario.work_steps:,} steps" if scenario.work_steps else brief(scenario.horizon, "time")
    yield (
        f"Job: {one.label}; {grid.gpus:,} GPUs, {grid.count('node'):,} nodes and {scenario.spare_nodes} spare; "
        f"steps of {brief(scenario.useful_step, 'time')} for {length}; restart {restart.mode}."
    )
    tiers = " > ".join(_tier(one, number) for number in range(len(scenario.tiers))) or "none"
    yield f"Protection, the first that can recovers: {tiers}."
    rate = sum(branch.rate for branch in failures_of(one.branches))
    often = f"{rate * DAY:.4g} a day, one each {brief(1.0 / rate, 'time')}" if rate else "none"
    half = "" if math.isnan(one.ettr.half_width) else f" ± {one.ettr.half_width:.4f}"
    form = f"; closed form {one.twin['ettr_analytic']:.4f} ({_kind(one)})" if one.twin else "; no closed form"
    yield f"Stops by failures: {often}. ETTR {one.ettr.value:.4f}{half} ({one.replications} replications){form}."


def _tier(one: Explanation, number: int) -> str:
    tier = one.scenario.tiers[number]
    cost = tier.overhead()
    every = f" every {cost.every:,} steps" if cost.every > 1 and cost.every < 10**9 else ""
    stall = f", {brief(cost.stall, 'time')} each" if cost.stall else ""
    return f"{tier.name}{every}{stall}"


def _kind(one: Explanation) -> str:
    kind = str(one.twin["analytic_kind"]).replace("_", " ")
    return "exact" if kind == "exact" else f"{kind}, off by {one.twin['analytic_error']:.1g} at most"


def _table(*columns: Column) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name, side in columns:
        fixed = side == RIGHT or name == "class"
        table.add_column(name, justify="right" if side == RIGHT else "left", no_wrap=fixed, overflow="fold")
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))


def _failures(one: Explanation) -> Table:
    """A line for each class, and in it one for each thing destroyed and each tier that recovers it."""
    table = _table(
        ("class", LEFT), ("a day", RIGHT), ("MTBF", RIGHT), ("share", RIGHT), ("destroys", LEFT),
        ("recovered by", LEFT), ("P", RIGHT), ("in", RIGHT),
    )  # fmt: skip
    total = sum(branch.rate for branch in failures_of(one.branches))
    kinds: dict[str, list[Branch]] = {}
    for branch in one.branches:
        kinds.setdefault(branch.kind.name, []).append(branch)
    for name, found in sorted(kinds.items(), key=lambda pair: -sum(b.rate for b in pair[1])):
        rate = sum(branch.rate for branch in found)
        unit = UNITS_OF.get(found[0].kind.clock, "")
        per = f"\n  {found[0].kind.units:,} {unit}" if unit and found[0].kind.clock != "job" else ""
        share_of_all = "planned" if found[0].kind.scope == "planned" else percent(rate / total, 1)
        head = (f"{name}{per}", f"{rate * DAY:.3g}", brief(1.0 / rate, "time"), share_of_all)
        for number, (destroyed, tier, ending, share, seconds) in enumerate(_ways(one, found, rate)):
            cells = head if number == 0 else ("", "", "", "")
            _add(table, *cells, destroyed, f"{tier}, {ending}", percent(share, 1), brief(seconds, "time"))
    return table


def _ways(one: Explanation, found: Sequence[Branch], rate: float) -> list[tuple[str, str, str, float, float]]:
    """(what is destroyed, tier, ending, share, mean seconds until the job runs) of a class, the most frequent first."""
    from gemsim.analytic.expected import standing_still

    ways: dict[tuple[str, str, str], tuple[float, float]] = {}
    for branch in found:
        where = f"pages: {branch.nature.region}" if branch.nature.kind == "pages" else DESTROYS[branch.nature.kind]
        key = where, branch.tier, ENDINGS[branch.ending]
        share, seconds = ways.get(key, (0.0, 0.0))
        still = standing_still(one.scenario, branch, reset=False)
        ways[key] = share + branch.rate / rate, seconds + branch.rate / rate * still
    every = [(*key, share, seconds / share) for key, (share, seconds) in ways.items()]
    return sorted((way for way in every if way[3] >= 5e-4), key=lambda way: -way[3])


def _waterfall(one: Explanation, shares: Iterable[Share]) -> Table:
    """What is left of the time after each loss, simulated; the closed form beside each."""
    table = _table(
        ("what takes it", LEFT), ("tier", LEFT), ("simulated", RIGHT), ("h a run", RIGHT), ("left", RIGHT),
        ("closed form", RIGHT), ("apart", RIGHT),
    )  # fmt: skip
    left, last, closed = 1.0, "", 0.0
    hours = one.wall / HOUR
    _add(table, "the whole run", "", percent(1.0), f"{hours:,.1f}", percent(1.0), "", "")
    for share in shares:
        left -= share.simulated.value
        closed += share.form or 0.0
        if max(share.simulated.value, share.form or 0.0) < 5e-6:
            continue
        name = share.name or "cost when nothing fails"
        taken = percent(share.simulated.value), f"{share.simulated.value * hours:,.2f}", percent(left)
        _add(table, name if name != last else "", share.tier, *taken, percent(share.form), _apart(share.apart))
        last = name
    has_parts = all(share.form is not None for share in one.by_column)
    form = 1.0 - closed if has_parts else one.twin.get("ettr_analytic")
    apart = None if form is None else Interval(*(bound - form for bound in one.ettr))
    kept = one.ettr.value
    hours_kept = f"{kept * hours:,.2f}"
    _add(table, "productive: ETTR", "", percent(kept), hours_kept, percent(left), percent(form), _apart(apart))
    return table


def _columns(one: Explanation) -> Table:
    table = _table(("column", LEFT), ("simulated", RIGHT), ("h a run", RIGHT), ("closed form", RIGHT), ("apart", RIGHT))
    for share in one.by_column:
        value = share.simulated.value
        form, apart = percent(share.form), _apart(share.apart)
        _add(table, share.name, percent(value), f"{value * one.wall / HOUR:,.2f}", form, apart)
    return table


def _apart(apart: Interval | None) -> str:
    """A difference in points, with the half-width of its interval."""
    if apart is None or math.isnan(apart.value):
        return ""
    half = "" if math.isnan(apart.half_width) else f" ± {hundredths(apart.half_width)}"
    return f"{hundredths(apart.value)}{half}"


def _legend(one: Explanation) -> str:
    form = (
        f"closed form: {_kind(one)}, each part to first order in what strikes during a recovery; " if one.twin else ""
    )
    return (
        f"Shares of the run's {brief(one.wall, 'time')} (mean of {one.replications}); left: what remains after this "
        f"line; {form}apart: simulated less closed form in points, ± its 95 % interval."
    )


def _by_hand(page: Page, one: Explanation, closed: Formula) -> None:
    page.head("The sum by hand")
    if one.stretches > 1:
        page.say(f"Rates step in time: this is the longest of {one.stretches} stretches.", indent=2)
    for table in interruptions(closed, width=page.width):
        page.show(table)
    page.say(f"{UNTIL}.", f"{STANDING}.")
    if any(sum(rung.begins[1:]) for rung in closed.rungs):
        page.say(f"{STRUCK}.")
    if any(any(rung.running) for rung in closed.rungs):
        page.say(f"{ASIDE}.")
    table = _table(("", LEFT), ("what", LEFT), ("how", LEFT), ("value", RIGHT))
    for line in closed.lines:
        value = f"{line.value:.6f}" if line.symbol == "ETTR" else f"{line.value:.9g}"
        _add(table, line.symbol, line.what, line.how, f"{value} {line.unit}".rstrip())
    page.show(table)


def interruptions(closed: Formula, *, width: int) -> list[Table]:
    """Failures per second by the seconds that the job then stands still, and what becomes of them; columns without any
    are left out. Two tables where one would be wider."""
    every = [rung.begins for rung in closed.rungs]
    keep, mild = any(k for _, k, _ in every), any(k + a for _, k, a in every)
    aside = [any(rung.running[number] for rung in closed.rungs) for number in range(3)]
    columns: list[tuple[str, bool, Callable[[Rung], float]]] = [
        ("D, s", True, lambda rung: rung.seconds),
        ("b: roll back", True, lambda rung: rung.restarting),
        ("k: keep", keep, lambda rung: rung.keeping),
        ("a: in place", mild, lambda rung: rung.in_place),
        ("b*", aside[0], lambda rung: rung.running[0]),
        ("k*", aside[1], lambda rung: rung.running[1]),
        ("a*", aside[2], lambda rung: rung.running[2]),
        ("S(D), s", True, lambda rung: rung.standing),
        ("P(D)", mild, lambda rung: rung.rolled),
        ("k kept", keep, lambda rung: rung.saved),
        ("a kept", keep, lambda rung: rung.kept),
    ]
    shown = [[name, *(f"{value(rung):.7g}" for rung in closed.rungs)] for name, is_shown, value in columns if is_shown]
    fits = sum(1 + max(map(len, column)) for column in shown) <= width
    number = next(i for i, column in enumerate(shown) if column[0] == "S(D), s")
    tables = []
    for part in [shown] if fits else [shown[:number], [shown[0], *shown[number:]]]:
        table = _table(*((column[0], RIGHT) for column in part))
        for cells in zip(*(column[1:] for column in part), strict=True):
            _add(table, *cells)
        tables.append(table)
    return tables


def _named(page: Page, one: Explanation) -> None:
    """What models known by name say of the same numbers."""
    assert one.formula is not None
    page.head("Models by name, on the same numbers")
    page.say(f"Here: saves {_saves(one)}; ETTR {one.formula.ettr:.4f}, simulated {one.ettr.value:.4f}.", indent=2)
    table = _table(("model", LEFT), ("gives", LEFT), ("", RIGHT), ("leaves out", LEFT))
    for name, value in one.named.items():
        model = NAMED[name]
        shown = _value(value, model.unit) if isinstance(value, float | int) else "none"
        _add(table, model.title, model.gives, shown, model.leaves_out if shown != "none" else str(value))
    page.show(table)


def _saves(one: Explanation) -> str:
    assert one.formula is not None
    lines = {line.symbol: line.value for line in one.formula.lines}
    if not one.formula.saves:
        return "count for nothing, as no failure rolls back to one"
    return f"{brief(lines['tau'], 'time')} apart, each blocks {brief(lines['d'], 'time')}"


def _value(value: float, unit: str) -> str:
    if unit == "s":
        years = value / (365.25 * DAY)
        return f"{years:.3g} years" if years >= 1.0 else brief(value, "time")
    if unit == "share":
        return f"{value:.4f}" if value <= 0.99995 else f"1 - {1.0 - value:.2g}" if value < 1.0 else "1"
    return f"{value:,.0f}"


def _notes(one: Explanation) -> Iterator[str]:
    for note in one.notes:
        yield f"{note}."
    if one.remedies:
        yield "With another tier in front of those there are, whose saves are put on the wall clock:"
    for remedy in one.remedies:
        yield f"  {remedy.what}{f' ({remedy.mode})' if remedy.mode else ''}: {_told(remedy)}"


def _told(remedy: Remedy) -> str:
    """Simulated ETTR, and the closed form with its error."""
    if remedy.simulated is None:
        return f"cannot be: {remedy.reason}"
    form = remedy.reason
    if remedy.ettr is not None and remedy.error is not None:
        form = f"closed form {remedy.ettr:.2g}, off by {remedy.error:.1g} at most"
        form = form if remedy.error < 0.5 else "the closed form can say nothing"
    return f"ETTR {remedy.simulated:.2g} ({form})"
