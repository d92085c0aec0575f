"""The run: how long, how often, from which seed, from which start."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from gemsim.errors import ValueRefused
from gemsim.spec.types import Model, PositiveTime, Seed, Whole, assumed

Start = Literal["stationary", "new"]


class RunSpec(Model):
    """A horizon in wall seconds, or a work target in useful steps (with `max_wall` as its stop), never both."""

    horizon: PositiveTime | None = None
    steps: Whole | None = None
    max_wall: PositiveTime | None = None
    replications: Whole = assumed(16)
    seed: Seed = assumed(0)
    start: Start = assumed("stationary", "a fleet that has long been running")

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.horizon is None) == (self.steps is None):
            what = "gives neither horizon nor steps" if self.steps is None else "gives both horizon and steps"
            raise ValueRefused(
                what, "exactly one of horizon (a time) and steps (a whole number)", "write e.g. horizon: 54 d"
            )
        if self.max_wall is not None and self.steps is None:
            raise ValueRefused("max_wall without steps", "max_wall goes with steps; a horizon is already a wall time")
        return self
