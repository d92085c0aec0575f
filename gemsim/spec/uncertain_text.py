"""Laws of uncertain inputs as text: the forms there are, each read with the units of its own parts.

What field a law stands for is not known here; `uncertain.bound` fits it to one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show
from gemsim.spec.types import SelfRead, closest
from gemsim.spec.uncertain import JEFFREYS, Law

_NAMES = {
    "beta": ("beta(a, b)", 2), "loguniform": ("loguniform(low, high)", 2), "uniform": ("uniform(low, high)", 2),
    "normal": ("normal(mean, standard deviation)", 2), "lognormal": ("lognormal(median, error factor)", 2),
    "triangular": ("triangular(low, mode, high)", 3),
}  # fmt: skip
FORMS = "low .. high, value ± share, beta(a, b), beta from 14 of 33, gamma from 11 events in 54 d, " + ", ".join(
    form for name, (form, _) in _NAMES.items() if name not in ("beta", "uniform")
)
_CALL = re.compile(r"([a-z]+) ?\((.*)\)")
_EVENTS = re.compile(r"gamma from (\S+) events?(?: in (.+))?")
_SHARES = re.compile(r"beta from (\S+) of (\S+)")
LOOKS = rf"(?:{'|'.join(_NAMES)}|gamma)\s*(?:\(|from\b).*|.*(?:\.\.|±|\+-|\+/-).*"  # the same in an editor's dialect
_LOOKS = re.compile(LOOKS, re.DOTALL)
_DIMENSIONS: tuple[units.Dimension, ...] = ("count", "time", "share", "bytes", "bandwidth", "flops")
_LONGEST = 200


def looks_like_law(value: Any) -> bool:
    """Whether a value of a study is meant as a law; in a field of numbers nothing else reads so."""
    return isinstance(value, str) and len(value) <= _LONGEST and _LOOKS.fullmatch(value.strip()) is not None


@dataclass(frozen=True, slots=True)
class Measured:
    value: float
    dimension: str
    per: units.Per = "job"


def read_law(value: Any) -> Law:
    """A law from its text, not yet fitted to a field. Raises ValueRefused, which names the forms there are."""
    if isinstance(value, Law):
        return value
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueRefused(f"not a law ({show(value)})", FORMS, "write e.g. 0.3 .. 0.6")
    text = " ".join(value.split())
    for form, read in ((_EVENTS, _events), (_SHARES, _shares), (_CALL, _call)):
        if match := form.fullmatch(text):
            return read(text, match)
    if (parts := re.split(r"\s*(?:±|\+-|\+/-)\s*", text))[1:]:
        return _around(text, parts)
    if (parts := re.split(r"\s*\.\.+\s*", text))[1:]:
        low, high = _alike(text, parts, 2)
        return _range(text, low, high)
    if "(" in text and ")" not in text:
        todo = "put it in quotes: inside { } and [ ] a comma ends a value"
        raise ValueRefused(f"not a whole law ({show(text)})", 'e.g. "beta(14, 19)"', todo)
    near = closest(text.split("(")[0], _NAMES)
    raise ValueRefused(f"not a law ({show(text)})", FORMS, near or "write e.g. 0.3 .. 0.6")


def _call(text: str, match: re.Match[str]) -> Law:
    name, inside = match[1], match[2]
    if name not in _NAMES:
        hint = "write e.g. gamma from 11 events in 54 d" if name == "gamma" else closest(name, _NAMES)
        raise ValueRefused(f"unknown law ({show(name)})", FORMS, hint)
    form, number = _NAMES[name]
    parts = [part.strip() for part in inside.split(",")]
    if len(parts) != number or not all(parts):
        raise ValueRefused(f"{name} has {len(parts)} parts, not {number} ({show(text)})", form)
    if name in ("beta", "lognormal"):
        return _beta(text, parts) if name == "beta" else _lognormal(text, parts)
    found = _alike(text, parts, number)
    if name == "uniform":
        return _range(text, *found)
    numbers = tuple(one.value for one in found)
    good = {
        "loguniform": 0.0 < numbers[0] < numbers[1],
        "normal": numbers[1] > 0.0,
        "triangular": numbers[0] <= numbers[1] <= numbers[-1] and numbers[0] < numbers[-1],
    }[name]
    if not good:
        rule = {"loguniform": "0 < low < high", "normal": "a deviation above 0", "triangular": "low <= mode <= high"}
        raise ValueRefused(f"parts that do not go together ({show(text)})", f"{form}, {rule[name]}")
    return Law(text, name, numbers, found[0].dimension, form, found[0].per)


def _range(text: str, low: Measured, high: Measured) -> Law:
    if not low.value < high.value:
        raise ValueRefused(f"a range that does not rise ({show(text)})", "low .. high, low below high")
    return Law(text, "uniform", (low.value, high.value), low.dimension, "each value alike", low.per)


def _around(text: str, parts: list[str]) -> Law:
    """`value ± share` of the value, or ± an amount of the same unit: each value alike."""
    middle, off = _measured(parts[0]), _measured(parts[1] if len(parts) == 2 else "")
    relative = off.dimension == "share" and parts[1].endswith("%") and not parts[0].endswith("%")
    if not relative and off.dimension != middle.dimension:
        raise ValueRefused(f"parts of two kinds ({show(text)})", "value ± share in %, or ± an amount of its unit")
    half = abs(middle.value) * off.value if relative else off.value
    if half <= 0.0:
        raise ValueRefused(f"a range of no width ({show(text)})", "more than 0 after ±")
    ends = (middle.value - half, middle.value + half)
    return Law(text, "uniform", ends, middle.dimension, "each value alike", middle.per)


def _beta(text: str, parts: list[str]) -> Law:
    a, b = (_plain(part, text, above=0.0) for part in parts)
    return Law(text, "beta", (a, b), "share", f"mean {a / (a + b):.4g}, the weight of {a + b:g} cases")


def _shares(text: str, match: re.Match[str]) -> Law:
    hits, trials = _plain(match[1], text), _plain(match[2], text, above=0.0)
    if not 0 <= hits <= trials or hits != int(hits) or trials != int(trials):
        raise ValueRefused(f"not so many of so many ({show(text)})", "whole numbers, the first at most the second")
    shapes = (hits + JEFFREYS, trials - hits + JEFFREYS)
    return Law(text, "beta", shapes, "share", f"Jeffreys' posterior of a share: beta({shapes[0]:g}, {shapes[1]:g})")


def _lognormal(text: str, parts: list[str]) -> Law:
    median, factor = _measured(parts[0]), _plain(parts[1], text, above=1.0)
    if median.value <= 0.0:
        raise ValueRefused(f"a median that is not above 0 ({show(text)})", _NAMES["lognormal"][0])
    note = "error factor: the 95 % quantile over the median (WASH-1400, 1975)"
    return Law(text, "lognormal", (median.value, factor), median.dimension, note, median.per)


def _events(text: str, match: re.Match[str]) -> Law:
    """A rate seen as a count: with Jeffreys' prior the posterior of a Poisson rate is Gamma(n + 1/2, exposure)."""
    count = _plain(match[1], text)
    if count != int(count):
        raise ValueRefused(f"not a whole number of events ({show(text)})", "a whole number from 0")
    note = f"Jeffreys' posterior of a Poisson rate: gamma of shape {count + JEFFREYS:g}"
    if match[2] is None:
        return Law(text, "gamma", (count + JEFFREYS, count), "factor", note)
    try:
        watched = units.parse(f"1 / {match[2]}", "rate")
    except UnitError as error:
        allowed = "a time, with gpu or node where each was counted"
        what = f"not what was watched ({show(match[2])})"
        raise ValueRefused(what, allowed, "write e.g. in 54 d, in 1000 node d") from error
    return Law(text, "gamma", (count + JEFFREYS, 1.0 / watched.value), "rate", note, watched.per)


def _measured(text: str) -> Measured:
    """A part of a law by its own unit; a bare number is a count, which may stand for a share."""
    for dimension in _DIMENSIONS:
        try:
            return Measured(units.parse(text, dimension), dimension)
        except UnitError:
            continue
    try:
        rate = units.parse(text, "rate")
    except UnitError:
        raise ValueRefused(f"a part that cannot be read ({show(text)})", "numbers, or quantities with a unit") from None
    return Measured(rate.value, "rate", rate.per)


def _alike(text: str, parts: list[str], number: int) -> list[Measured]:
    found = [_measured(part) for part in parts]
    if len(found) != number:
        raise ValueRefused(f"{len(found)} ends, not {number} ({show(text)})", "low .. high")
    if {one.dimension for one in found} == {"count", "share"}:
        found = [replace(one, dimension="share") for one in found]
    if len({(one.dimension, one.per) for one in found}) > 1:
        raise ValueRefused(f"parts of several units ({show(text)})", "a unit with each part, all of one kind")
    return found


def _plain(part: str, text: str, *, above: float = -1.0) -> float:
    try:
        number = units.parse(part, "count")
    except UnitError:
        number = math.nan
    if not (number > above and number >= 0.0):
        allowed = f"more than {above:g}" if above >= 0.0 else "from 0"
        raise ValueRefused(f"not a number it can take ({show(part)} in {show(text)})", allowed)
    return number


class Laws(SelfRead):
    """Laws by the path of the input; their fields are looked up by the loader."""

    def read(self, value: Any) -> dict[str, Law]:
        if not isinstance(value, dict):
            todo = "write e.g. {failures.contained: 'beta(14, 19)'}"
            raise ValueRefused(f"not a mapping ({show(value)})", "paths into the study, each with a law", todo)
        found = {}
        for path, law in value.items():
            try:
                found[path] = read_law(law)
            except ValueRefused as refused:
                raise ValueRefused(refused.what, refused.allowed, refused.todo, at=(path,)) from refused
        return found

    def write(self, value: dict[str, Law]) -> dict[str, str]:
        return {path: law.text for path, law in value.items()}

    def form(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "string", "pattern": f"^\\s*(?:{LOOKS})\\s*$"}}
