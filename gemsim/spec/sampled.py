"""Points drawn from ranges: Latin hypercubes and Sobol sequences over swept paths.

One idea: a draw is a number from 0 to 1 for each path, and a range turns it into a value as it could stand in a file:
with its unit, to six digits. So what is printed, what is hashed and what is built are one text.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from gemsim import units
from gemsim.errors import ValueRefused, show
from gemsim.spec.decide import ends_of
from gemsim.spec.types import Model, Seed, SelfRead, WholeNumber, assumed, closest

MOST_DRAWN = 1_000_000
DIGITS = 6  # significant digits of a drawn value
_KEYS = ("from", "to", "scale", "whole")
_SCALES = ("linear", "log")
_ALLOWED = "a list of values, or a range {from, to} with scale (linear, log) and whole (true, false)"
_EXAMPLE = "write e.g. {from: 1 min, to: 1 h, scale: log}"


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, in SI, of quantities of one dimension; `ends` as they were written."""

    dimension: units.Dimension
    low: float
    high: float
    ends: tuple[Any, Any]
    log: bool
    whole: bool

    def at(self, share: float) -> Any:
        """The value at a share of the way, from 0 up to but without 1; each whole number has an equal part of it, on
        the scale of the range."""
        high = self.high + 1.0 if self.whole else self.high
        value = self.low * (high / self.low) ** share if self.log else self.low + (high - self.low) * share
        if self.whole:
            return min(math.floor(value + 1e-9), int(self.high))
        if self.dimension == "count":
            return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)
        text = f"{float(f'{value / self._unit[1]:.{DIGITS}g}'):.12g} {self._unit[0]}"
        low, high = self.ends
        found = units.parse(text, self.dimension)
        return low if found <= self.low else high if found >= self.high else text

    @property
    def _unit(self) -> tuple[str, float]:
        """The unit of the first end, in which all draws are written, and what it is in SI."""
        unit = re.sub(r"^\s*[-+]?[\d.,_]+([eE][-+]?\d+)?", "", str(self.ends[0])).strip() or "%"
        return unit, units.parse(f"1 {unit}", self.dimension)

    def __str__(self) -> str:
        first, last = self.ends
        return f"{first} to {last}{', log' if self.log else ''}{', whole' if self.whole else ''}"

    def written(self) -> dict[str, Any]:
        """As it would stand in a study, with nothing left to a default."""
        first, last = self.ends
        return {"from": first, "to": last, "scale": "log" if self.log else "linear", "whole": self.whole}


Over = Range | tuple[Any, ...]


def over_of(value: Any) -> Over:
    """A range, or the values of a list, each as likely. Raises ValueRefused."""
    if isinstance(value, Range):
        return value
    if isinstance(value, (list, tuple)):
        if len(value) < 2:
            raise ValueRefused(f"fewer than two values ({show(list(value))})", _ALLOWED, "put it into the study itself")
        if len({repr(one) for one in value}) < len(value):
            raise ValueRefused(f"a value twice ({show(list(value))})", "each value once", "remove one")
        return tuple(value)
    if not isinstance(value, dict):
        raise ValueRefused(f"neither a list nor a range ({show(value)})", _ALLOWED, _EXAMPLE)
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        raise ValueRefused(f"unknown key of a range ({show(unknown[0])})", _ALLOWED, closest(str(unknown[0]), _KEYS))
    if not {"from", "to"} <= set(value):
        raise ValueRefused(f"a range without its ends ({show(value)})", _ALLOWED, _EXAMPLE)
    return _range(value)


def _range(given: dict[str, Any]) -> Range:
    dimension, low, high = ends_of(given)
    scale, ends = given.get("scale", "linear"), (given["from"], given["to"])
    if not low < high:
        raise ValueRefused(f"from is not less than to ({show(given)})", "a smaller value first", "exchange them")
    if scale not in _SCALES:
        raise ValueRefused(f"unknown scale ({show(scale)})", "linear or log", closest(str(scale), _SCALES))
    if scale == "log" and low <= 0.0:
        raise ValueRefused(f"a logarithmic range that begins at {low:g}", "more than 0", "take scale: linear")
    both = dimension == "count" and low.is_integer() and high.is_integer()
    whole = given.get("whole", both)
    if not isinstance(whole, bool):
        raise ValueRefused(f"whole is not true or false ({show(whole)})", "true or false")
    if whole and not both:
        raise ValueRefused(
            f"whole numbers between ends that are none ({show(given)})", "whole numbers", "write whole ends"
        )
    return Range(dimension, low, high, ends, scale == "log", whole)


class _Drawn(SelfRead):
    """What one path is drawn from."""

    def read(self, value: Any) -> Over:
        return over_of(value)

    def write(self, value: Over) -> Any:
        return value.written() if isinstance(value, Range) else list(value)

    def form(self) -> dict[str, Any]:
        keys: dict[str, Any] = {
            "from": {"description": "The low end."},
            "to": {"description": "The high end."},
            "scale": {"enum": list(_SCALES), "description": "linear unless log."},
            "whole": {"type": "boolean", "description": "Whole numbers alone; so between whole numbers unless false."},
        }
        spread = {"type": "object", "required": ["from", "to"], "additionalProperties": False, "properties": keys}
        return {"anyOf": [{"type": "array", "minItems": 2}, spread]}


class SampleSpec(Model):
    """A number of points over ranges of swept paths. The seed is the points' own: `--seed` leaves them as they are."""

    number: Annotated[int, WholeNumber(1, MOST_DRAWN)]
    over: dict[str, Annotated[Over, _Drawn()]]
    seed: Seed = assumed(0)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.over:
            raise ValueRefused("nothing to draw", "at least one path", f"{_EXAMPLE} for a path", at=("over",))
        return self

    def rows(self) -> Iterator[dict[str, Any]]:
        """The points: path to value."""
        return _rows(self.over, self._shares())

    def _shares(self) -> NDArray[np.float64]:
        from scipy.stats import qmc  # half a second, which only a study that samples need wait for

        drawn = qmc.LatinHypercube(d=len(self.over), seed=np.random.default_rng(self.seed)).random(self.number)
        return np.asarray(drawn, dtype=float)


class SobolSpec(SampleSpec):
    """A Sobol sequence, scrambled (Owen) unless told not to; plain, it begins at the low end of every range."""

    scramble: bool = assumed(True, "plain sequences begin in a corner")

    def _shares(self) -> NDArray[np.float64]:
        from scipy.stats import qmc

        source = qmc.Sobol(d=len(self.over), scramble=self.scramble, seed=np.random.default_rng(self.seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no power of two: `uneven` says it
            return np.asarray(source.random(self.number), dtype=float)

    @property
    def uneven(self) -> str:
        """What to say of a number that is no power of two; else nothing."""
        if not self.number & (self.number - 1):
            return ""
        below = 1 << (self.number.bit_length() - 1)
        return f"{self.number} points of a Sobol sequence are less even than a power of two: {below} or {2 * below}"


def _rows(over: dict[str, Over], shares: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    for row in shares.tolist():
        yield {path: _value(one, share) for (path, one), share in zip(over.items(), row, strict=True)}


def _value(over: Over, share: float) -> Any:
    return over.at(share) if isinstance(over, Range) else over[min(int(share * len(over)), len(over) - 1)]
