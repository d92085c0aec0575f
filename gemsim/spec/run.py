"""The run: how long, how often, from which seed, from which start, and when it is enough."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gemsim.errors import ValueRefused
from gemsim.spec.precision import Precision, PrecisionText
from gemsim.spec.types import Model, PositiveTime, Seed, Whole, WholeNumber, assumed, sourced

FEWEST_EVENTS = 30  # of rare events: with fewer, an interval from the spread covers 0.18-0.44 in place of 0.95
Start = Literal["stationary", "new"]


class RunSpec(Model):
    """A horizon in wall seconds, or a work target in useful steps (with `max_wall` as its stop), never both."""

    horizon: PositiveTime | None = None
    steps: Whole | None = None
    max_wall: PositiveTime | None = None
    replications: Whole = assumed(16)
    precision: Annotated[dict[str, Precision], PrecisionText()] = Field(default_factory=dict)
    min_events: Annotated[int, WholeNumber(FEWEST_EVENTS, 10**9)] = sourced(
        "fewer cover 0.18-0.44 in place of 0.95 (measured)", FEWEST_EVENTS
    )
    at_most: PositiveTime | None = None
    seed: Seed = assumed(0)
    start: Start = assumed("stationary", "a fleet that has long been running")

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.horizon is None) == (self.steps is None):
            what = "gives neither horizon nor steps" if self.steps is None else "gives both horizon and steps"
            raise ValueRefused(
                what, "exactly one of horizon (a time) and steps (a whole number)", "write e.g. horizon: 54 d"
            )
        if "min_events" in self.model_fields_set and not self.precision:
            raise ValueRefused("min_events without precision", "both, or neither", "add precision", at=("min_events",))
        if self.max_wall is not None and self.steps is None:
            raise ValueRefused("max_wall without steps", "max_wall goes with steps; a horizon is already a wall time")
        return self
