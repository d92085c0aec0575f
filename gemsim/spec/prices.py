"""Prices: what a GPU-hour and a kWh cost, what a GPU draws, how much CO2 a kWh stands for.

All of it is optional: what is not given is not computed. Only powers have defaults, once `power` is asked for.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, model_validator

from gemsim.errors import ValueRefused, show
from gemsim.spec.types import Carbon, Model, Power, Quantity, SelfRead, assumed, sourced

_PRICE = re.compile(r"(\d+\.?\d*|\.\d+)\s*([A-Z]{3})")
MOST = 1e6


class Price(NamedTuple):
    """An amount of a currency, for each GPU-hour or kWh."""

    amount: float
    currency: str


class PriceText(SelfRead):
    """A price, written with its currency: "2.50 USD"."""

    dimension = "price"

    def read(self, value: Any) -> Price:
        if isinstance(value, Price):
            return value
        match = _PRICE.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= 32 else None
        if match is None or float(match[1]) > MOST:
            bare = isinstance(value, (int, float)) and not isinstance(value, bool)
            raise ValueRefused(
                f"not a price ({show(value)})", f"a number from 0 to {MOST:,.0f} and a currency of three capitals",
                f"write e.g. '{value} USD'" if bare else "write e.g. '2.50 USD'",
            )  # fmt: skip
        return Price(float(match[1]), match[2])

    def write(self, value: Price) -> str:
        return f"{value.amount:.12g} {value.currency}"

    def form(self) -> dict[str, Any]:
        return {"type": "string", "pattern": rf"^\s*{_PRICE.pattern}\s*$", "examples": ["2.50 USD"]}


PriceOf = Annotated[Price, PriceText()]
Pue = Annotated[float, Quantity("count", 1.0, 10.0)]


class PowerSpec(Model):
    """Watts of one GPU by what it does; `host` is what the rest of a powered node draws."""

    busy: Power | None = sourced("the GPU type's board power (datasheet)", None)
    waiting: Power | None = assumed(None, "30 % of the board power: ranks spin while the job stands still")
    idle: Power | None = assumed(None, "10 % of the board power: a hot or warm spare")
    repair: Power | None = assumed(None, "as idle")
    off: Power = assumed("0 W", "a cold spare")
    host: Power = assumed("0 W", "not counted unless given")


class PricesSpec(Model):
    """`gpu_hour` is for each reserved GPU-hour, `energy` for each kWh on top of it."""

    gpu_hour: PriceOf | None = Field(None)
    spare_gpu_hour: PriceOf | None = sourced("as gpu_hour", None)
    repair_gpu_hour: PriceOf | None = sourced("as spare_gpu_hour", None)
    power: PowerSpec | None = Field(None)
    pue: Pue = assumed(1, "the building's own use is not counted unless given")
    energy: PriceOf | None = Field(None)
    carbon: Carbon | None = Field(None)

    @model_validator(mode="after")
    def _together(self) -> Self:
        for key in ("spare_gpu_hour", "repair_gpu_hour"):
            if getattr(self, key) is not None and self.gpu_hour is None:
                raise ValueRefused(f"{key} without gpu_hour", "gpu_hour beside it", "write gpu_hour", at=(key,))
        for key in ("energy", "carbon", "pue"):
            if getattr(self, key) != type(self).model_fields[key].default and self.power is None:
                raise ValueRefused(
                    f"{key} without power", "power beside it, without which no kWh are known",
                    "write power: {} for the defaults", at=(key,),
                )  # fmt: skip
        named = {key: one.currency for key in ("gpu_hour", "spare_gpu_hour", "repair_gpu_hour", "energy")
                 if (one := getattr(self, key)) is not None}  # fmt: skip
        first = next(iter(named.values()), "")
        for key, currency in named.items():
            if currency != first:
                raise ValueRefused(f"two currencies ({first}, {currency})", "one currency", at=(key,))
        return self

    @property
    def currency(self) -> str:
        """The one currency of all prices; empty without any."""
        given = (self.gpu_hour, self.energy)
        return next((one.currency for one in given if one is not None), "")
