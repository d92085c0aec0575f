"""Uncertain inputs: the law of a value, as a study writes it in the place of that value, and its quantiles in SI.

A text says its own dimension by its units; `bound` then fits it to the field it stands for. The nominal value of a law
is its median, which is the same for a rate and for the time that is its inverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from scipy.special import betaincinv, gammaincinv, ndtri

from gemsim import units
from gemsim.errors import ValueRefused, show
from gemsim.spec.types import SelfRead

ROUNDING = 1e-12
TAIL = 1e-6  # a law may lie outside what its field allows with less than this on each side
ERROR_FACTOR = float(ndtri(0.95))  # the error factor of a lognormal law is its 95 % quantile over its median
JEFFREYS = 0.5  # of Poisson counts and binomial shares (Jeffreys, 1946): half an event more than was seen
_BOUNDED = ("uniform", "loguniform", "triangular")
_BASE = {"time": "s", "bytes": "B", "bandwidth": "B/s", "flops": "FLOP/s"}


@dataclass(frozen=True, slots=True)
class Slot:
    """What a field of numbers takes: its dimension, how it is read, and whether only whole numbers go."""

    dimension: str
    reader: SelfRead
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Law:
    """The law of one input. `numbers` are in SI; `per` goes with a rate; `inverse` is a time seen as a rate.

    `nominal` is what the study takes where nothing is drawn: the value it writes, else the median. `source` says how
    the law was read.
    """

    text: str
    kind: str
    numbers: tuple[float, ...]
    dimension: str
    source: str
    per: units.Per = "job"
    inverse: bool = False
    whole: bool = False
    written: float | None = None

    def quantile(self, p: float) -> float:
        """The value in SI that is not exceeded with probability `p`."""
        if self.whole:
            low, high = self.numbers
            return min(math.floor(low + p * (high - low + 1.0)), high)
        value = _QUANTILES[self.kind](1.0 - p if self.inverse else p, *self.numbers)
        return 1.0 / value if self.inverse and value else math.inf if self.inverse else value

    @property
    def nominal(self) -> float:
        """In SI: the value the study writes, else the median."""
        return self.quantile(0.5) if self.written is None else self.written

    def value(self, number: float) -> Any:
        """A number in SI as it can be written at the place of the input; it reads back to exactly that number."""
        if self.whole:
            return int(number)
        if self.dimension == "rate":
            return f"{float(number)!r} / {'' if self.per == 'job' else f'{self.per} '}s"
        return f"{float(number)!r} {_BASE[self.dimension]}" if self.dimension in _BASE else float(number)

    def shown(self, number: float) -> str:
        """A number in SI for the reader."""
        if self.dimension == "rate":
            per = "" if self.per == "job" else f"{self.per} "
            often = number * 86400.0 >= 0.1 or not per or not number
            return f"{number * 86400.0:.4g} / {per}d" if often else f"1 / {1.0 / number / 3600.0:.4g} {per}h"
        if self.dimension in ("time", "bytes", "bandwidth", "flops"):
            return units.brief(number, self.dimension)  # type: ignore[arg-type]
        return f"{number:.4g}"

    def __str__(self) -> str:
        low, high = (self.shown(self.quantile(p)) for p in (0.025, 0.975))
        return f"{self.text}: 95 % {low} .. {high}, nominal {self.shown(self.nominal)}"


def _triangular(p: float, low: float, mode: float, high: float) -> float:
    turn = (mode - low) / (high - low)
    if p < turn:
        return low + math.sqrt(p * (high - low) * (mode - low))
    return high - math.sqrt((1.0 - p) * (high - low) * (high - mode))


_QUANTILES: dict[str, Callable[..., float]] = {
    "uniform": lambda p, low, high: low + p * (high - low),
    "loguniform": lambda p, low, high: low * (high / low) ** p,
    "normal": lambda p, mean, deviation: mean + deviation * float(ndtri(p)),
    "lognormal": lambda p, median, factor: median * math.exp(math.log(factor) / ERROR_FACTOR * float(ndtri(p))),
    "triangular": _triangular,
    "beta": lambda p, a, b: float(betaincinv(a, b, p)),
    "gamma": lambda p, shape, exposure: float(gammaincinv(shape, p)) / exposure,
}


def bound(law: Law, slot: Slot, written: float | units.Rate | None = None) -> Law:
    """The law fitted to a field; `written` is the value in SI that the study has there.

    Raises ValueRefused where the units do not go with the field, where more than 1e-6 on a side lies outside what the
    field allows, and where the written value does.
    """
    value, per = (written.value, written.per) if isinstance(written, units.Rate) else (written, law.per)
    fitted = replace(_fitted(law, slot, value, per), whole=slot.whole, written=value)
    if slot.whole and (fitted.kind != "uniform" or any(end != int(end) for end in fitted.numbers)):
        raise ValueRefused(f"the field takes whole numbers ({show(law.text)})", "a range of them, low .. high")
    tail = 0.0 if fitted.kind in _BOUNDED else TAIL
    for end in (fitted.quantile(tail), fitted.quantile(1.0 - tail)):
        try:
            slot.reader.read(fitted.value(end))
        except (ValueRefused, OverflowError) as refused:
            what = f"{show(law.text)} reaches {fitted.shown(end)}, which the field does not take"
            allowed = getattr(refused, "allowed", "a finite number")
            raise ValueRefused(what, allowed, "take a law within that, such as low .. high") from None
    low, high = fitted.quantile(0.0), fitted.quantile(1.0)
    if value is not None and not low * (1.0 - ROUNDING) <= value <= high * (1.0 + ROUNDING):
        what = f"the value written, {fitted.shown(value)}, lies outside its law ({show(law.text)})"
        raise ValueRefused(what, f"{fitted.shown(low)} to {fitted.shown(high)}", "put one of them right")
    if slot.dimension == "rate" and isinstance(written, units.Rate) and fitted.per != written.per:
        what = f"a rate per {fitted.per}, where the study writes one per {written.per} ({show(law.text)})"
        raise ValueRefused(what, f"a rate per {written.per}", "put one of them right")
    return fitted


def _fitted(law: Law, slot: Slot, written: float | None, per: units.Per) -> Law:
    """The law in the dimension of the field."""
    if law.dimension == "factor":
        return _counted(law, slot, written, per)
    if law.kind == "gamma" and slot.dimension == "time":
        return replace(law, dimension="time", inverse=True, source=f"{law.source}; the time is its inverse")
    if law.dimension != slot.dimension and (law.dimension, slot.dimension) != ("count", "share"):
        needed = {"rate": "a rate", "count": "a plain number", "share": "a share", "bytes": "a size"}
        what = f"a law of another kind of number ({show(law.text)})"
        raise ValueRefused(what, needed.get(slot.dimension, f"a {slot.dimension}"), "write it in the unit of the field")
    return replace(law, dimension=slot.dimension)


def _counted(law: Law, slot: Slot, written: float | None, per: units.Per) -> Law:
    """So many events, without what was watched: of the rate or time that the study writes, or of a factor of 1."""
    shape, count = law.numbers
    if count == 0.0:
        raise ValueRefused(
            f"no event says nothing of a factor ({show(law.text)})", "from 1 event", "say what was watched: in 54 d"
        )
    if slot.dimension not in ("count", "rate", "time") or (not written and slot.dimension != "count"):
        todo = "write e.g. gamma from 11 events in 54 d, or the value in its place and this law under uncertain:"
        raise ValueRefused(f"does not say what was watched ({show(law.text)})", "419 events in 54 d", todo)
    middle = 1.0 if slot.dimension == "count" or written is None else written
    exposure = count * middle if slot.dimension == "time" else count / middle
    inverse = slot.dimension == "time"
    return replace(law, numbers=(shape, exposure), dimension=slot.dimension, inverse=inverse, per=per)
