"""How sure a column of the summary is to be before a design is run no further: half the width of its 95 % interval."""

from __future__ import annotations

from typing import Any, NamedTuple

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show
from gemsim.spec.columns import COLUMN_MEASURES
from gemsim.spec.types import SelfRead, closest

PRECISE = (  # columns that have an interval of their own replications
    *("ettr", "wall_s", "failures", "wasted_s_per_failure", "cost_s_per_failure"),
    *("fallback_per_failure", "rollback_per_failure", "unrecoverable_per_run"),
)
_EXAMPLE = "write e.g. {ettr: 0.001, wasted_s_per_failure: 5 %}"


class Precision(NamedTuple):
    """Half the width of an interval at most: in the unit of the column, or `relative` to its value."""

    value: float
    relative: bool


class PrecisionText(SelfRead):
    """Precision by column: with a percent sign relative to the value, else in the unit of the column."""

    def read(self, value: Any) -> dict[str, Precision]:
        if not isinstance(value, dict):
            raise ValueRefused(f"not a mapping ({show(value)})", "summary columns, each with half a width", _EXAMPLE)
        return {str(column): _read(column, one) for column, one in value.items()}

    def write(self, value: dict[str, Precision]) -> dict[str, Any]:
        return {column: shown(column, one) for column, one in value.items()}

    def form(self) -> dict[str, Any]:
        said = "Half the width of its 95 % interval at most."
        bound = {"type": ["number", "string"], "examples": ["5 %", 0.001], "description": said}
        return {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(PRECISE, bound)}


def shown(column: str, wanted: Precision) -> Any:
    """As it stands in a study."""
    if wanted.relative:
        return f"{100.0 * wanted.value:.12g} %"
    return units.format(wanted.value, "time") if COLUMN_MEASURES[column] == "time" else wanted.value


def _read(column: Any, given: Any) -> Precision:
    if column not in PRECISE:
        raise ValueRefused(
            f"no column that a run may stop by ({show(column)})", f"one of {', '.join(PRECISE)}",
            closest(str(column), PRECISE),
        )  # fmt: skip
    if isinstance(given, Precision):
        return given
    relative = isinstance(given, str) and given.rstrip().endswith("%")
    dimension: units.Dimension = "share" if relative else "time" if COLUMN_MEASURES[column] == "time" else "count"
    try:
        value = units.parse(given, dimension)
    except UnitError as error:
        raise ValueRefused(f"{column}: {error.what}", error.allowed, error.todo or _EXAMPLE) from error
    if not 0.0 < value < (1.0 if relative else float("inf")):
        raise ValueRefused(f"{column}: out of range ({show(given)})", "more than 0; relative less than 100 %", _EXAMPLE)
    return Precision(value, relative)
