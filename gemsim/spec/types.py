"""The field types of a study: a text with a unit going in, an SI float inside, the shortest exact text going out.

`sourced(...)` and `assumed(...)` declare a field's default together with its source, which `gemsim check` prints.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show

_LONGEST_LIST = 700  # characters
YEARS_100 = 100 * 365.25 * 86400.0


class Model(BaseModel):
    """The base of all parts of a study: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def sourced(source: str, default: Any = ..., **more: Any) -> Any:
    """A field whose default comes from `source` (a citation, or "assumption")."""
    extra: dict[str, Any] = {"source": source}
    if "default_factory" in more:
        return Field(json_schema_extra=extra, **more)
    return Field(default, json_schema_extra=extra, **more)


def assumed(default: Any = ..., note: str = "", **more: Any) -> Any:
    """A field whose default is an assumption."""
    return sourced(f"assumption: {note}" if note else "assumption", default, **more)


def closest(name: str, known: Iterable[str]) -> str:
    """A question with the nearest known name, or "" when nothing is near."""
    folded = {k.lower(): k for k in known}
    match = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return f"did you mean '{folded[match[0]]}'?" if match else ""


def refuse_unknown(name: object, known: Iterable[str], what: str) -> str:
    """`name` if it is one of `known`; else ValueRefused with the close match."""
    names = list(known)
    if isinstance(name, str) and name in names:
        return name
    raise ValueRefused(
        f"unknown {what} ({show(name)})", f"one of {_listed(str(name), names)}", closest(str(name), names)
    )


def _listed(name: str, names: list[str]) -> str:
    """The names, or of many the likeliest, so that a line stays one."""
    if len(", ".join(names)) <= _LONGEST_LIST:
        return ", ".join(names)
    near = difflib.get_close_matches(name[:64], names, n=12, cutoff=0.0)
    return f"{', '.join(near)}, … ({len(names)} in all)"


class SelfRead:
    """Metadata of an Annotated type that reads and writes its own value; `read` raises ValueRefused."""

    dimension: str = ""

    def read(self, value: Any) -> Any:
        """The value inside the study."""
        raise ValueRefused(f"cannot be read ({show(value)})")

    def write(self, value: Any) -> Any:
        """The value as it stands in a file."""
        return value

    def form(self) -> dict[str, Any]:
        """What may stand in a file, as JSON Schema, as far as that can be said; {} for anything."""
        return {}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        writer = core_schema.plain_serializer_function_ser_schema(self.write, when_used="json")
        return core_schema.no_info_plain_validator_function(self.read, serialization=writer)


class Quantity(SelfRead):
    """A float of one dimension, from `low` (excluded when `above`) to `high`."""

    def __init__(self, dimension: units.Dimension, low: float, high: float, *, above: bool = False) -> None:
        self.dimension: units.Dimension = dimension
        self.low, self.high, self.above = low, high, above

    def read(self, value: Any) -> float:
        number = units.parse(value, self.dimension)
        if self.low <= number <= self.high and not (self.above and number == self.low):
            return number
        low, high = (units.format(end, self.dimension) for end in (self.low, self.high))
        raise UnitError(f"out of range ({show(value)})", f"{'more than' if self.above else 'from'} {low} to {high}")

    def write(self, value: float) -> str | float:
        return value if self.dimension in ("share", "count") else units.format(value, self.dimension)


class WholeNumber(SelfRead):
    """An int from `low` to `high`; 1e9 counts as whole, 1.5 and true do not."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def read(self, value: Any) -> int:
        allowed = f"a whole number from {self.low} to {self.high}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            bare = value.replace(",", "").replace("_", "") if isinstance(value, str) else ""
            raise ValueRefused(
                f"not a whole number ({show(value)})", allowed, f"write {bare}" if bare.isdigit() else ""
            )
        if not self.low <= value <= self.high or value != int(value):  # nan is in no range
            raise ValueRefused(f"out of range ({show(value)})", allowed)
        return int(value)


class Name(SelfRead):
    """A name that can stand in a sweep path: a letter, then letters, digits, - and _."""

    def read(self, value: Any) -> str:
        if isinstance(value, str) and len(value) <= 64 and re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value):
            return value
        raise ValueRefused(
            f"not a name ({show(value)})", "a letter, then letters, digits, - and _, at most 64", "write e.g. outer"
        )


class Label(SelfRead):
    """A name of a variant, as it stands in tables: printable text of at most 64 characters that is no formula there."""

    FORMULA = ("=", "+", "-", "@")  # with which a cell begins that a spreadsheet works out

    def read(self, value: Any) -> str:
        if isinstance(value, str) and value.strip() == value and value.isprintable() and 0 < len(value) <= 64:
            if not value.startswith(self.FORMULA):
                return value
            what = f"a spreadsheet takes it for a formula ({show(value)})"
            raise ValueRefused(what, f"a name that does not begin with one of {' '.join(self.FORMULA)}", "rename it")
        raise ValueRefused(f"not a name ({show(value)})", "printable text of at most 64 characters", "shorten it")

    def form(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[^=+@-]"}


class RateText(SelfRead):
    """A rate of events with what it is per."""

    dimension = "rate"

    def read(self, value: Any) -> units.Rate:
        rate = value if isinstance(value, units.Rate) else units.parse(value, "rate")
        if not 0 <= rate.value <= 1:
            raise UnitError(f"out of range ({show(value)})", "from 0 to 1 event per second")
        return rate

    def write(self, value: units.Rate) -> str:
        return units.format(value, "rate")


@dataclass(frozen=True, slots=True)
class Keep:
    """How many checkpoints are held: those of the last `seconds`, or the last `count`; the other is None."""

    seconds: float | None
    count: int | None


class KeepText(SelfRead):
    """A `Keep`, written as a time or a whole number."""

    dimension = "keep"

    def read(self, value: Any) -> Keep:
        if isinstance(value, Keep):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return Keep(None, WholeNumber(1, 10**9).read(value))
        return Keep(Quantity("time", 0.0, YEARS_100, above=True).read(value), None)

    def write(self, value: Keep) -> str | int:
        return value.count if value.count is not None else units.format(value.seconds or 0.0, "time")


class SpansText(SelfRead):
    """How many equal spans, or the time of each."""

    dimension = "spans"

    def read(self, value: Any) -> int | tuple[float, ...]:
        if not isinstance(value, (list, tuple)):
            return WholeNumber(1, 100_000).read(value)
        if not value:
            raise ValueRefused("an empty list", "at least one time, or a number of equal spans")
        return tuple(Quantity("time", 0.0, YEARS_100).read(one) for one in value)

    def write(self, value: int | tuple[float, ...]) -> int | list[str]:
        return value if isinstance(value, int) else [units.format(one, "time") for one in value]


class IntervalText(SelfRead):
    """A time, or the word optimal."""

    dimension = "interval"

    def read(self, value: Any) -> float | str:
        if value == "optimal":
            return "optimal"
        if isinstance(value, str) and value[:1].isalpha():
            raise ValueRefused(
                f"unknown interval ({show(value)})", "a time such as '30 min', or optimal", closest(value, ["optimal"])
            )
        return Quantity("time", 0.0, YEARS_100, above=True).read(value)

    def write(self, value: float | str) -> str:
        return value if isinstance(value, str) else units.format(value, "time")


Time = Annotated[float, Quantity("time", 0.0, YEARS_100)]
PositiveTime = Annotated[float, Quantity("time", 0.0, YEARS_100, above=True)]
Bytes = Annotated[float, Quantity("bytes", 0.0, 1e18)]
PositiveBytes = Annotated[float, Quantity("bytes", 0.0, 1e18, above=True)]
Bandwidth = Annotated[float, Quantity("bandwidth", 0.0, 1e18, above=True)]
Flops = Annotated[float, Quantity("flops", 0.0, 1e21, above=True)]
Power = Annotated[float, Quantity("power", 0.0, 1e6)]
Carbon = Annotated[float, Quantity("carbon", 0.0, 1e-6)]
Share = Annotated[float, Quantity("share", 0.0, 1.0)]
PositiveShare = Annotated[float, Quantity("share", 0.0, 1.0, above=True)]
Number = Annotated[float, Quantity("count", 0.0, 1e18, above=True)]
Factor = Annotated[float, Quantity("count", 0.0, 1e6)]
BytesEach = Annotated[float, Quantity("count", 0.0, 1024.0)]
Shape = Annotated[float, Quantity("count", 0.01, 100.0)]
Gpus = Annotated[int, WholeNumber(1, 10_000_000)]
Whole = Annotated[int, WholeNumber(1, 10**9)]
WholeOrNone = Annotated[int, WholeNumber(0, 10**9)]
Seed = Annotated[int, WholeNumber(0, 2**63 - 1)]
RateOf = Annotated[units.Rate, RateText()]
KeepFor = Annotated[Keep, KeepText()]
Spans = Annotated[int | tuple[float, ...], SpansText()]
Interval = Annotated[float | str, IntervalText()]
