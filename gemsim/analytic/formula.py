"""The renewal form with its numbers filled in, line by line: what an engineer needs to do the sum again by hand.

One idea: every line has a symbol, and every value follows from the lines above it and the table of interruptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, fsum

from gemsim.analytic.groups import Solved
from gemsim.analytic.renewal import kept_at_interruption, write_lag_factor
from gemsim.analytic.rungs import Rung, ladder

PER_SECOND = "/s"
UNTIL = "X(D) = (1 - e^(-r D)) / r (D if r is 0), r the sum of columns b, k, a; sums below over lengths d > D"
STANDING = "S(D) = X (1 + sum (b + k + a) S(d)) / (e^(-r D) + X sum (b + k + a))"
STRUCK = "P(D) = X (b_all + sum (k + a) P(d)) / (e^(-r D) + X (b_all + sum (k + a))), b_all the sum of column b"
ASIDE = "b*, k*, a*: fail in running time alone, so they begin interruptions and hit none; not in the sums above"
NOTHING = 1e-12  # of the whole, below which a line would say nothing


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the sum: a symbol, what it is, how it follows ("" where it is given), its value and unit."""

    symbol: str
    what: str
    how: str
    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Formula:
    """`lines` in order, the last of them ETTR; `rungs`: interruptions by the seconds that they begin with;
    `saves`: whether anything rolls back to one."""

    lines: tuple[Line, ...]
    rungs: tuple[Rung, ...]
    saves: bool = True

    @property
    def ettr(self) -> float:
        """What it comes to."""
        return self.lines[-1].value


def formula(solved: Solved) -> Formula:
    """The sum that gives the twin's ETTR, for one stretch of constant rates. Kind: that of the twin."""
    groups, standing = solved.groups, solved.standing
    b, k, a = (fsum(one.rate for one in group) for group in (groups.restarting, groups.keeping, groups.in_place))
    least = NOTHING * (b + k + a)
    rungs = ladder(**groups.kinds(wall=True), running=groups.kinds(wall=False))
    rungs = [one for one in rungs if sum(one.begins) > least]
    aside = any(any(one.running) for one in rungs)
    lines = [*_cycle(solved), *_rates(b, k if keeps(solved) else 0.0, a, aside=aside)]
    met = "1 + sum of S times columns b, k, a" + (" and b*, k*, a*" if aside else "")
    if groups.dead:
        lines.append(Line("D_p", "planned stops: seconds per running second", "", groups.dead))
        met = f"({met}) (1 + D_p)"
    lines.append(Line("W", "wall seconds for each second of running", met, standing.wall_per_running))
    lines.append(Line("B", "roll-backs per running second", "b + sum of (a + k) P(D)", standing.roll_back, PER_SECOND))
    if a + k:
        struck = (standing.roll_back - b) / (a + k)
        lines.append(
            Line("L", "the milder ones that end before a roll-back strikes", "1 - (B - b) / (a + k)", 1.0 - struck)
        )
    if keeps(solved):
        what = "kept restarts per running second"
        lines.append(Line("H", what, "k and a that end as one (column kept)", standing.keep, PER_SECOND))
    lines += _useful(solved, b)
    return Formula((*lines, *_beside(solved)), tuple(rungs), solved.main is not None)


def keeps(solved: Solved) -> bool:
    """Whether restarts that keep the state count for anything."""
    standing = solved.standing
    return standing.keep > NOTHING * (standing.keep + standing.roll_back + standing.in_place)


def _cycle(solved: Solved) -> list[Line]:
    main, scenario = solved.main, solved.scenario
    step = Line("T", "useful seconds of a step", "", scenario.useful_step, "s")
    pace = Line("p", "seconds of a step, encodes in it, saves not", "", solved.pace, "s")
    every = 1000 if main is None else main.every
    what = "steps between saves" if main is not None else "steps of a cycle: nothing rolls back, so any number will do"
    return [
        step,
        pace,
        Line("n", what if main is None else f"{what} of tier {main.name}", "", every),
        Line("tau", "running time between two saves", "n p", solved.tau, "s"),
        Line("d", "one save blocks", "", solved.delta, "s"),
        Line("w", "one cycle", "tau + d", solved.tau + solved.delta, "s"),
        Line("g", "seconds after that until the save can be used", "", solved.lag, "s"),
    ]


def _rates(b: float, k: float, a: float, *, aside: bool) -> list[Line]:
    what = {"b": "failures that roll back", "k": "failures that restart with the state kept",
            "a": "failures repaired in place"}  # fmt: skip
    how = "sum of columns {0}, {0}*" if aside else "sum of column {0}"
    rates = {"b": b, "k": k, "a": a}
    return [Line(name, what[name], how.format(name), rate, PER_SECOND) for name, rate in rates.items()]


def _useful(solved: Solved, b: float) -> list[Line]:
    """Useful work of a running second, the write lag, and what comes of it."""
    standing, tau, delta, main = solved.standing, solved.tau, solved.delta, solved.main
    ending = standing.roll_back + standing.keep
    lag = write_lag_factor(b, solved.lag) * solved.factor
    found = [] if not keeps(solved) else [Line("E", "both", "B + H", ending, PER_SECOND)]
    useful = solved.renewal * standing.wall_per_running / lag * solved.pace / solved.scenario.useful_step
    letter = "E" if keeps(solved) else "B"
    if main is not None and main.wall_anchor:
        how = "(1 - e^(-B tau)) / B e^(-B d) / w - H p / 2" if keeps(solved) else "(1 - e^(-B tau)) / B e^(-B d) / w"
    elif not ending:
        how = "tau / w"
    elif not keeps(solved):
        how = f"tau {letter} / (e^({letter} w) - 1)"
    else:
        done = exp(-ending * (tau + delta))
        rolled = (1.0 - done) * standing.roll_back / ending
        later = done / (done + rolled) if rolled else 1.0
        kept = kept_at_interruption(tau, delta, rate=ending, step=solved.pace)
        by_hand = "(p (1 - e^(-E tau)) / (e^(E p) - 1) - tau e^(-E w)) / (1 - e^(-E w))"
        found.append(Line("K", "work in whole steps at a kept restart", by_hand, kept, "s"))
        found.append(Line("s", "P(it is saved later)", "e^(-E w) / (e^(-E w) + (1 - e^(-E w)) B / E)", later))
        how = "tau E / (e^(E w) - 1) + H s K"
    found.append(Line("U", "work kept of a running second, encodes in it", how, useful))
    how = "e^(-b g)" if solved.factor == 1.0 else "e^(-b g) F"
    if solved.factor != 1.0:
        found.append(Line("F", "of writes cut off by kept restarts, or ended before a corruption", "", solved.factor))
    found.append(Line("G", "factor of the write lag", how, lag))
    found.append(Line("R", "renewal form", "U G T / (p W)", solved.renewal))
    return found


def _beside(solved: Solved) -> list[Line]:
    """First-order losses, capacity that is out, nodes that are lacking; and ETTR."""
    groups, lost = solved.groups, solved.lost
    found, how = list[Line](), "R"
    if groups.extra:
        found.append(Line("x", "done again or older: useful s per running s", "", groups.extra))
        how = "(R - x / W)"
    if groups.silent:
        found.append(Line("z", "work that was corrupt when it was done", "rate x latency", groups.silent))
        how += " (1 - z)"
    if lost.joins:
        found.append(Line("j", "time in which the others wait for who comes back", "", lost.joins))
        how += " (1 - j)"
    if lost.share:
        found.append(Line("c", "work missing while capacity is out", "", lost.share))
        how += " (1 - c)"
    if solved.out > NOTHING:
        found.append(Line("o", "time in which a node is lacking", "", solved.out))
        how += " (1 - o)"
    if solved.starts > NOTHING:
        found.append(Line("q", "starts of the job from nothing, per run", "", solved.starts))
        found.append(Line("A", "of the work they leave", "(1 - e^(-q)) / q", solved.kept))
        how += " A"
    return [*found, Line("ETTR", "closed form", how, solved.ettr)]
