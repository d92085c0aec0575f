"""What a team decides: the decision variables with their values or ranges, and the objective that ranks designs.

A range is written out to its values when it is read, so that all that comes later sees lists, as in a sweep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show
from gemsim.spec.prices import PricesSpec
from gemsim.spec.run import RunSpec
from gemsim.spec.types import Model, SelfRead, closest, sourced

MOST_DECIDED = 2_000_000  # points: what a screening holds in memory
MOST_VALUES = 10_000  # of one variable
DIGITS = 3  # significant digits of the values inside a range
UNDECIDED = ("failures", "run")  # sections that nobody chooses
VARIANTS = "protection"  # the variable whose values are whole lists of tiers
_RANGE = ("from", "to", "factor", "step", "number", "scale")
_ALLOWED = "a list of values, or a range {from, to} with one of factor, step and number"
_EXAMPLE = "write e.g. {from: 1 min, to: 2 h, number: 40, scale: log}"
_DIMENSIONS: tuple[units.Dimension, ...] = ("time", "bytes", "bandwidth", "share")

Kind = Literal["goodput", "cost", "finish"]
KINDS: tuple[Kind, ...] = ("goodput", "cost", "finish")


@dataclass(frozen=True, slots=True)
class Objective:
    """goodput: largest ETTR; cost: least per useful GPU-hour; finish: earliest date met with `probability`."""

    kind: Kind
    probability: float | None = None

    def __str__(self) -> str:
        return self.kind


def is_range(value: Any) -> bool:
    """Whether a value stands for several: a mapping of the keys of a range, with its two ends."""
    return isinstance(value, dict) and {"from", "to"} <= set(value) <= set(_RANGE)


def values_of(value: Any) -> tuple[Any, ...]:
    """The values of a variable: those of a list, with ranges in it written out, or of a range. Raises ValueRefused."""
    if is_range(value):
        return _spread(value)
    if isinstance(value, dict):
        unknown = [key for key in value if key not in _RANGE]
        if unknown:
            what = f"unknown key of a range ({show(unknown[0])})"
            raise ValueRefused(what, _ALLOWED, closest(str(unknown[0]), _RANGE))
        raise ValueRefused(f"a range without its ends ({show(value)})", _ALLOWED, _EXAMPLE)
    if not isinstance(value, (list, tuple)):
        raise ValueRefused(f"neither a list nor a range ({show(value)})", _ALLOWED, f"write [{value}], or a range")
    found = [one for each in value for one in (_spread(each) if is_range(each) else (each,))]
    if not found:
        raise ValueRefused("an empty list", "at least one value", "remove the path or give values")
    if len({repr(one) for one in found}) < len(found):
        twice = next(one for at, one in enumerate(found) if repr(one) in {repr(before) for before in found[:at]})
        raise ValueRefused(f"a value twice ({show(twice)})", "each value once", "remove one")
    return tuple(found)


def _spread(given: dict[str, Any]) -> tuple[Any, ...]:
    """The values of a range, ends as written; those between have three significant digits, or are whole numbers."""
    dimension, low, high = ends_of(given)
    modes = [key for key in ("factor", "step", "number") if key in given]
    if len(modes) != 1:
        what = f"a range with {' and '.join(modes) or 'nothing between its ends'} ({show(given)})"
        raise ValueRefused(what, _ALLOWED, _EXAMPLE)
    if "scale" in given and modes != ["number"]:
        raise ValueRefused("scale without number", "scale: log or linear beside number", "remove scale")
    if not low < high:
        raise ValueRefused(f"from is not less than to ({show(given)})", "a smaller value first", "exchange them")
    numbers = {"factor": _by_factor, "step": _by_step, "number": _by_number}[modes[0]](given, low, high, dimension)
    if len(numbers) > MOST_VALUES:
        raise ValueRefused(f"too many values ({len(numbers)})", f"at most {MOST_VALUES}", "take a larger step")
    whole = dimension == "count" and all(float(given[end]).is_integer() for end in ("from", "to"))
    return tuple(dict.fromkeys(_written(one, dimension, whole, (low, high), given) for one in numbers))


def ends_of(given: dict[str, Any]) -> tuple[units.Dimension, float, float]:
    """The dimension that both ends of a range have, and the ends in SI. Raises ValueRefused."""
    first, last = given["from"], given["to"]
    if all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in (first, last)):
        return "count", float(first), float(last)
    for dimension in _DIMENSIONS:
        try:
            return dimension, units.parse(first, dimension), units.parse(last, dimension)
        except UnitError:
            continue
    raise ValueRefused(
        f"ends that are not two quantities of one kind ({show(first)}, {show(last)})", "two numbers or two quantities",
        _EXAMPLE,
    )  # fmt: skip


def _positive(low: float) -> None:
    if low <= 0.0:
        raise ValueRefused(f"a range by factors that begins at {low:g}", "more than 0", "take step, or scale: linear")


def _by_factor(given: dict[str, Any], low: float, high: float, dimension: units.Dimension) -> list[float]:
    _positive(low)
    factor = given["factor"]
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not factor > 1.0:
        raise ValueRefused(f"not a factor ({show(factor)})", "a number above 1", "write e.g. factor: 2")
    steps = math.floor(math.log(high / low) / math.log(factor) + 1e-9)
    return [low * factor**n for n in range(min(steps, MOST_VALUES) + 1)]


def _by_step(given: dict[str, Any], low: float, high: float, dimension: units.Dimension) -> list[float]:
    step = units.parse(given["step"], dimension)
    if not step > 0.0:
        raise ValueRefused(f"not a step ({show(given['step'])})", "more than 0", "write e.g. step: 10 min")
    return [low + step * n for n in range(min(math.floor((high - low) / step + 1e-9), MOST_VALUES) + 1)]


def _by_number(given: dict[str, Any], low: float, high: float, dimension: units.Dimension) -> list[float]:
    number, scale = given["number"], given.get("scale", "linear")
    if isinstance(number, bool) or not isinstance(number, int) or not 2 <= number <= MOST_VALUES:
        raise ValueRefused(f"not a number of values ({show(number)})", f"a whole number from 2 to {MOST_VALUES}")
    if scale not in ("log", "linear"):
        raise ValueRefused(f"unknown scale ({show(scale)})", "log or linear", closest(str(scale), ("log", "linear")))
    if scale == "linear":
        return [low + (high - low) * n / (number - 1) for n in range(number)]
    _positive(low)
    return [low * (high / low) ** (n / (number - 1)) for n in range(number)]


def _written(
    value: float, dimension: units.Dimension, whole: bool, ends: tuple[float, float], given: dict[str, Any]
) -> Any:
    """A value of a range as it could stand in a list."""
    for end, text in zip(ends, (given["from"], given["to"]), strict=True):
        if math.isclose(value, end, rel_tol=1e-12):
            return text
    if dimension == "count":
        return round(value) if whole else float(f"{value:.{DIGITS}g}")
    return units.format(float(f"{value:.{DIGITS}g}"), dimension)


class _Values(SelfRead):
    """The values of a decision variable."""

    def read(self, value: Any) -> tuple[Any, ...]:
        return values_of(value)

    def form(self) -> dict[str, Any]:
        spread = {"type": "object", "required": ["from", "to"], "additionalProperties": False,
                  "properties": {key: {} for key in _RANGE}}  # fmt: skip
        return {"anyOf": [{"type": "array", "minItems": 1}, spread]}


class _ObjectiveText(SelfRead):
    """goodput, cost, or finish with its probability."""

    def read(self, value: Any) -> Objective:
        allowed = "goodput, cost, or {finish: probability}"
        if isinstance(value, Objective):
            return value
        if value in ("goodput", "cost"):
            return Objective(value)
        if value == "finish":
            raise ValueRefused("finish without a probability", allowed, "write {finish: 0.9}")
        if isinstance(value, dict) and set(value) == {"finish"}:
            share = units.parse(value["finish"], "share")
            if not 0.0 < share < 1.0:
                raise ValueRefused(f"out of range ({show(value['finish'])})", "a probability above 0 and below 1")
            return Objective("finish", share)
        raise ValueRefused(f"unknown objective ({show(value)})", allowed, closest(str(value), KINDS))

    def write(self, value: Objective) -> Any:
        return value.kind if value.probability is None else {value.kind: value.probability}

    def form(self) -> dict[str, Any]:
        finish = {"type": "object", "required": ["finish"], "additionalProperties": False, "properties": {"finish": {}}}
        return {"anyOf": [{"enum": ["goodput", "cost"]}, finish]}


class DecideSpec(Model):
    """Decision variables by path, and what is sought; bounds stand in `require`."""

    variables: dict[str, Annotated[tuple[Any, ...], _Values()]]
    objective: Annotated[Objective, _ObjectiveText()] = sourced("the largest ETTR", Objective("goodput"))

    @model_validator(mode="after")
    def _size(self) -> Self:
        if not self.variables:
            raise ValueRefused("nothing to decide", "at least one variable", "add e.g. protection.stripe.k: [16, 32]",
                               at=("variables",))  # fmt: skip
        if self.points > MOST_DECIDED:
            raise ValueRefused(f"too many points ({self.points})", f"at most {MOST_DECIDED}", "take fewer values",
                               at=("variables",))  # fmt: skip
        return self

    @property
    def points(self) -> int:
        """Combinations, before those that are one design are joined."""
        return math.prod(len(values) for values in self.variables.values())


def refuse_objective(decide: DecideSpec | None, run: RunSpec, prices: PricesSpec | None) -> None:
    """Raises ValueRefused where the objective needs what the study does not give."""
    if decide is None:
        return
    kind, at = decide.objective.kind, ("decide", "objective")
    if kind == "finish" and run.steps is None:
        todo = "write run: {steps: ...} in place of horizon"
        raise ValueRefused("finish, and the run has no end", "a work target (run.steps)", todo, at=at)
    if kind != "cost":
        return
    if prices is None or prices.gpu_hour is None:
        what, allowed = "cost, and a GPU-hour has no price", "a study with prices.gpu_hour"
        raise ValueRefused(what, allowed, "add e.g. prices: {gpu_hour: 2.50 USD}", at=at)
    if prices.energy is not None or prices.repair_gpu_hour not in (None, prices.spare_gpu_hour or prices.gpu_hour):
        what = "cost, and energy or repair has a price of its own, which no closed form holds"
        raise ValueRefused(what, "prices of GPU-hours and spares", "leave it out, or sweep the designs", at=at)


def refuse_undecided(path: str) -> None:
    """Raises ValueRefused for a path that is no decision."""
    section = path.partition(".")[0]
    if section in UNDECIDED:
        allowed = "paths into cluster, workload, restart, fleet, protection or profile"
        raise ValueRefused(f"{section} is not decided ({show(path)})", allowed, "sweep it instead")
