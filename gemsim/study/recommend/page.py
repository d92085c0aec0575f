"""A recommendation on the terminal: the choice first, then how sure it is, what it costs and what it hangs on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from gemsim.study.page import Page
from gemsim.study.rare import said
from gemsim.study.recommend.answer import Answer, unknown
from gemsim.study.recommend.constraints import text_of, value_of
from gemsim.study.recommend.tables import closeness, confirmed, folded, front, moves
from gemsim.study.recommend.words import named, number_of, of_what, or_none, range_of, settings, third

SHOWN_MOVES = 12
SHOWN_MEASURES = 6
SHOWN_REASONS = 3


def render(answer: Answer, *, width: int = 100, styled: bool = False) -> str:
    """Everything a team needs to decide, in an order that can be read from the top."""
    page = Page(width, styled)
    page.say(*_heading(answer))
    if answer.choice is None:
        page.say("", *_nothing(answer))
        page.say("", *_counted(answer), *_failed(answer))
        return page.text
    _say_choice(page, answer)
    page.head("Confirmed by the engine, all on the same failures")
    page.show(confirmed(answer))
    page.say(*_deviation(answer))
    page.head("The front: nothing is better at once in time, in memory and in " + third(answer) + " (closed form)")
    page.show(front(answer))
    if answer.shadows:
        page.head("What each bound costs (closed form)")
        page.say(*_bounds(answer), indent=2)
    _say_moves(page, answer)
    _say_measures(page, answer)
    page.say("", *_counted(answer), *_failed(answer), _took(answer))
    return page.text


def _heading(answer: Answer) -> Iterator[str]:
    yield str(answer.facts.get("title", ""))
    bounds = ", ".join(text_of(column, bound) for column, bound in answer.require.items())
    yield f"Sought: {answer.sought.title}{f', with {bounds}' if bounds else ''}."
    for name, modelled in sorted(answer.table.profiles.items()):
        yield f"Costs: profile {name}, {'modelled, not measured' if modelled else 'measured'}."


def _nothing(answer: Answer) -> Iterator[str]:
    """What is said where no design meets the bounds."""
    bounds = " and ".join(text_of(column, bound) for column, bound in answer.require.items())
    if answer.short is None:
        yield f"Nothing could be confirmed{f' that satisfies {bounds}' if bounds else ''}."
        return
    short = answer.short
    missed = "; ".join(f"{m.bound} by {value_of(m.column, _apart(answer, m.column, m.value))}, at "
                       f"{value_of(m.column, m.value)}" for m in short.misses)  # fmt: skip
    yield f"Nothing satisfies {bounds}."
    yield f"The nearest is {named(answer, short.variant, short.values)}, which misses {missed} (by {short.by})."


def _apart(answer: Answer, column: str, value: float) -> float:
    return abs(value - answer.require[column].value)


def _say_choice(page: Page, answer: Answer) -> None:
    choice, runner = answer.choice, answer.runner_up
    assert choice is not None
    assert answer.verdict is not None
    page.head("Run this")
    page.say(*settings(answer, choice), indent=2)
    page.say(f"{number_of(answer, choice.value)}; closed form {or_none(answer, choice.twin)}.", indent=2)
    row = choice.row
    costs = ", ".join(text for text in (f"memory {value_of('memory_overhead', row['memory_overhead'])}",
                                        f"step time {value_of('step_overhead', row['step_overhead'])}",
                                        f"spare nodes {row['spare_nodes']}"))  # fmt: skip
    page.say(f"It takes: {costs}.", indent=2)
    page.say(f"A run loses everything: {'; '.join(_lost(answer))}.", indent=2)
    if runner is None:
        page.say("No other confirmed design meets the bounds.", indent=2)
        return
    page.say(
        f"Runner-up: {named(answer, runner.design.variant, runner.design.values, choice.design.values)}.", indent=2
    )
    page.say(_told(answer), indent=2)


def _lost(answer: Answer) -> Iterator[str]:
    """The chance that a run of the choice starts again from zero, by the closed form and by the engine."""
    assert answer.choice is not None
    assert answer.verdict is not None
    row, form = answer.choice.row, answer.choice.row["unrecoverable_analytic"]
    reason = f": {row['unrecoverable_note']}" if row["unrecoverable_note"] else ""
    yield f"closed form {f'none{reason}' if form is None else f'P = {-math.expm1(-float(form)):.3g}'}"
    if answer.rare is not None:
        yield f"engine P {said(answer.rare)}"
        return
    ran = f"in {answer.verdict.replications} replications"
    if row["unrecoverable_per_run"] == 0.0:
        yield f"engine never {ran}, so at most {row['unrecoverable_per_run_hi']:.3g} times per run (95 %)"
    else:
        low, high = row["unrecoverable_per_run_lo"], row["unrecoverable_per_run_hi"]
        yield f"engine {row['unrecoverable_per_run']:.3g} times per run {ran} (95 %: {low:.3g} to {high:.3g})"


def _told(answer: Answer) -> str:
    """The paired difference, and whether it is one."""
    verdict, sought = answer.verdict, answer.sought
    assert verdict is not None
    apart = verdict.difference
    assert apart is not None
    better = "better" if sought.sign * apart.value >= 0.0 else "worse"
    than = f"{sought.gap(apart.value)} {better} than" if apart.value else "as good as"
    said = f"It is {than} the runner-up, paired on {verdict.replications} replications"
    said += f" ({range_of(answer, apart)}): "
    if verdict.unsure:
        return said + "too few replications to tell; give more with --replications."
    if answer.told_apart:
        return said + "told apart."
    others = len(verdict.tied) - 1
    why = "the least memory decides, then the least step time, then the fewest spares" if others else ""
    open_ = "" if verdict.settled else "; the interval is still wider than a tie, give more --replications"
    return f"{said}a tie with {others} of the confirmed; {why}{open_}."


def _deviation(answer: Answer) -> Iterator[str]:
    yield "* the choice, = tied with the best."
    one = answer.deviating
    if one is not None:
        stated = float(one.row["analytic_error"])
        held = "within" if abs(one.deviation) <= stated + one.ettr.half_width else "beyond"
        yield (
            f"Engine and closed form differ most by {100 * one.deviation:+.2f} points of ETTR, at "
            f"{named(answer, one.design.variant, one.design.values)}: {held} the stated error of "
            f"{100 * stated:.2f} points and the interval."
        )


def _bounds(answer: Answer) -> Iterator[str]:
    for one in answer.shadows:
        if one.row is None:
            yield f"{one.bound}: judged {one.judged}."
        elif one.costs <= answer.sought.band(abs(one.without)) * 1e-3:
            yield f"{one.bound} costs nothing."
        else:
            structure = answer.table.structures[answer.table.structure[one.row]]
            values = structure.values(int(answer.table.flat[one.row]))
            yield (
                f"{one.bound} costs {answer.sought.gap(one.costs)}{of_what(answer)}: without it "
                f"{named(answer, structure.variant, values)} has {answer.sought.show(one.without)}."
            )


def _say_moves(page: Page, answer: Answer) -> None:
    found = answer.hangs
    page.head("How far each input can move before another of the confirmed designs is the one to run")
    if found.unmoved:
        page.say(f"Not known: {found.unmoved}.", indent=2)
        return
    moved = sorted((one for one in found.moves if one.nearest), key=closeness)
    if moved:
        page.show(moves(answer, moved[:SHOWN_MOVES]))
    if len(moved) > SHOWN_MOVES:
        page.say(f"and {len(moved) - SHOWN_MOVES} more, farther off (recommend.json).")
    still = folded([one for one in found.moves if one.nearest is None and not one.open], found.moves)
    page.say(
        f"No change from a tenth to ten times their value (shares: over all they can be): {', '.join(still) or 'none'}."
    )
    open_ = [one.input.path for one in found.moves if one.open]
    if open_:
        page.say(f"Not known over the whole range, as the closed form leaves off: {', '.join(open_)}.")


def _say_measures(page: Page, answer: Answer) -> None:
    page.head("What to measure next")
    found = answer.hangs.measures
    if answer.hangs.unmoved:
        page.say(f"Not known: {answer.hangs.unmoved}.", indent=2)
    elif not found:
        page.say("Nothing: no input changes the choice within what it may be.", indent=2)
    for one in found[:SHOWN_MEASURES]:
        given = one.input
        lost = (
            "the choice could not be run"
            if math.isinf(one.regret)
            else f"{answer.sought.gap(one.regret)} lost in the mean"
        )
        page.say(
            f"{given.path}: {given.show(given.value)}, may be {given.show(one.range.low)} to "
            f"{given.show(one.range.high)} ({one.range.source}); changes at {given.show(one.change)}; {lost}.",
            indent=2,
        )
    if len(found) > SHOWN_MEASURES:
        page.say(f"and {len(found) - SHOWN_MEASURES} more (recommend.json).", indent=2)


def _counted(answer: Answer) -> Iterator[str]:
    table, verdict = answer.table, answer.verdict
    again = f"{table.joined:,} are another point again, " if table.joined else ""
    yield (
        f"{table.points:,} points screened by the closed form, in {len(table.structures):,} structures: {again}"
        f"{answer.feasible:,} meet the bounds, {sum(table.infeasible.values()):,} cannot exist, "
        f"{sum(table.uncovered.values()):,} have no closed form; "
        f"{0 if verdict is None else len(verdict.designs)} confirmed by the engine."
    )
    yield from _reasons("Cannot exist", table.infeasible)
    yield from _reasons("No closed form", table.uncovered)
    for column, points in unknown(answer).items():
        yield f"{points:,} points have no closed form of {column}, and count as missing its bound."


def _reasons(title: str, counted: Counter[str]) -> Iterator[str]:
    for reason, points in counted.most_common(SHOWN_REASONS):
        yield f"{title}: {points:,} points: {reason}"
    rest = counted.most_common()[SHOWN_REASONS:]
    if rest:
        yield f"{title}: {sum(points for _, points in rest):,} points for {len(rest)} other reasons (recommend.json)"


def _failed(answer: Answer) -> Iterator[str]:
    for one in answer.failed:
        yield f"Failed: {named(answer, one.design.variant, one.design.values)}: {one.failed}"


def _took(answer: Answer) -> str:
    return (
        f"Took {sum(answer.seconds.values()):.1f} s: "
        + ", ".join(f"{name} in {seconds:.1f} s" for name, seconds in answer.seconds.items())
        + "."
    )
