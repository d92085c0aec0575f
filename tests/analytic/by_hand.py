"""The arithmetic of a pocket calculator: the sum that `gemsim explain` prints, from the symbols of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

Row = tuple[float, float, float, float]  # D, b, k, a


def by_hand(lines: Mapping[str, float], *, wall_anchor: bool = False) -> dict[str, float]:
    """U, G, R and ETTR from T, p, tau, d, g, b, B, W and, where there are any, H, F, x, z, j, c, o and q."""
    step, pace, tau, block = lines["T"], lines["p"], lines["tau"], lines["d"]
    rolled, kept = lines["B"], lines.get("H", 0.0)
    ending, cycle = rolled + kept, tau + block
    useful = tau / cycle
    if ending:
        useful = tau * ending / (exp(ending * cycle) - 1.0)
    if kept:
        done = exp(-ending * cycle)
        later = done / (done + (1.0 - done) * rolled / ending)
        work = (pace * (1.0 - exp(-ending * tau)) / (exp(ending * pace) - 1.0) - tau * done) / (1.0 - done)
        useful += kept * later * work
    if wall_anchor:
        useful = (1.0 - exp(-rolled * tau)) / rolled * exp(-rolled * block) / cycle - kept * pace / 2.0
    lag = exp(-lines["b"] * lines["g"]) * lines.get("F", 1.0)
    renewal = useful * lag * step / (pace * lines["W"])
    ettr = renewal - lines.get("x", 0.0) / lines["W"]
    for share in ("z", "j", "c", "o"):
        ettr *= 1.0 - lines.get(share, 0.0)
    if starts := lines.get("q", 0.0):
        ettr *= (1.0 - exp(-starts)) / starts
    return {"U": useful, "G": lag, "R": renewal, "ETTR": ettr}


def ettr_by_hand(lines: Mapping[str, float], *, wall_anchor: bool = False) -> float:
    """ETTR alone."""
    return by_hand(lines, wall_anchor=wall_anchor)["ETTR"]


def standing_by_hand(rows: Sequence[Row]) -> list[float]:
    """S(D) of each row."""
    rate = sum(b + k + a for _, b, k, a in rows)
    found: dict[float, float] = {}
    for seconds, *_ in sorted(rows, reverse=True):
        until = (1.0 - exp(-rate * seconds)) / rate
        longer = [(b + k + a, found[d]) for d, b, k, a in rows if d > seconds]
        top = until * (1.0 + sum(r * s for r, s in longer))
        found[seconds] = top / (exp(-rate * seconds) + until * sum(r for r, _ in longer))
    return [found[seconds] for seconds, *_ in rows]


def struck_by_hand(rows: Sequence[Row]) -> list[float]:
    """P(D) of each row."""
    rate, rolled = sum(b + k + a for _, b, k, a in rows), sum(b for _, b, _, _ in rows)
    found: dict[float, float] = {}
    for seconds, *_ in sorted(rows, reverse=True):
        until = (1.0 - exp(-rate * seconds)) / rate
        longer = [(k + a, found[d]) for d, _, k, a in rows if d > seconds]
        top = until * (rolled + sum(r * p for r, p in longer))
        found[seconds] = top / (exp(-rate * seconds) + until * (rolled + sum(r for r, _ in longer)))
    return [found[seconds] for seconds, *_ in rows]
