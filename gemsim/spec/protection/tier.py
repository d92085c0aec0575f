"""What every tier of a study has: a kind, a label, and keys that may not apply."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import model_validator

from gemsim.errors import ValueRefused
from gemsim.spec.types import Model, Name


class Tier(Model):
    """What all tiers have: a kind, and an optional name by which sweeps and results call it."""

    kind: str
    name: Annotated[str, Name()] | None = None

    @property
    def label(self) -> str:
        """The name, or the kind where no name is given."""
        return self.name or self.kind

    def inapplicable(self) -> dict[str, str]:
        """Keys that mean nothing with these settings, and what each goes with."""
        return {}

    @model_validator(mode="after")
    def _applicable(self) -> Self:
        for field, where in self.inapplicable().items():
            if field in self.model_fields_set:
                raise ValueRefused("does not apply here", f"goes with {where}", f"remove {field}", at=(field,))
        return self
