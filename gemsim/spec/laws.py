"""Laws as a study writes them: of times, of lifetimes, of unlike devices, of what fails together and what follows."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from gemsim import units
from gemsim.errors import ValueRefused, show
from gemsim.spec.types import (
    YEARS_100,
    Model,
    PositiveTime,
    Quantity,
    SelfRead,
    Shape,
    Share,
    Time,
    assumed,
    sourced,
)


class LawSpec(Model):
    """A law of times: mean in seconds; sigma (of the logarithm) only for lognormal. A plain "10 min" is fixed."""

    kind: Literal["fixed", "exponential", "lognormal"] = sourced("a plain time is fixed", "fixed")
    mean: Time
    sigma: Shape | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return value if isinstance(value, (dict, LawSpec)) else {"kind": "fixed", "mean": value}

    @model_validator(mode="after")
    def _sigma(self) -> Self:
        if (self.kind == "lognormal") != (self.sigma is not None):
            raise ValueRefused(
                f"sigma {'missing' if self.sigma is None else 'given'} for {self.kind}", "sigma with lognormal only"
            )
        return self

    def __str__(self) -> str:
        mean = units.format(self.mean, "time")
        return f"{self.kind} {mean}" + (f" (sigma {self.sigma:g})" if self.sigma is not None else "")


class LifetimeSpec(Model):
    """A law of lifetimes; its mean is 1 / rate. shape: Weibull or gamma k, or the lognormal's sigma."""

    kind: Literal["exponential", "weibull", "lognormal", "gamma"] = assumed("exponential")
    shape: Shape | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _shape(self) -> Self:
        if (self.kind == "exponential") != (self.shape is None):
            raise ValueRefused(
                f"shape {'missing' if self.shape is None else 'given'} for {self.kind}",
                "shape for all laws but exponential",
            )
        return self

    def __str__(self) -> str:
        return self.kind + (f" (shape {self.shape:g})" if self.shape is not None else "")


class FrailtySpec(Model):
    """Unlike devices. gamma: each has its own multiple of the rate, of mean 1 and variance 1 / shape. lemons: a share
    of them fails at `multiplier` times the rate of a good one."""

    kind: Literal["gamma", "lemons"]
    shape: Shape | None = None
    share: Share | None = None
    multiplier: Annotated[float, Quantity("count", 1.0, 1e6)] | None = None
    of: Literal["mean", "good"] = sourced("rates are counted over all devices", "mean")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        needed = ("shape",) if self.kind == "gamma" else ("share", "multiplier")
        for field, example in (("shape", "0.5"), ("share", "15 %"), ("multiplier", "6")):
            if (getattr(self, field) is not None) != (field in needed):
                what = f"missing for kind {self.kind}" if field in needed else f"does not go with kind {self.kind}"
                todo = f"add e.g. {field}: {example}" if field in needed else f"remove {field}"
                raise ValueRefused(what, f"{' and '.join(needed)} with kind {self.kind}", todo, at=(field,))
        if self.kind == "gamma" and self.of == "good":
            what = "no device is the good one of a gamma law"
            raise ValueRefused(what, "good with kind lemons only", "remove of, or write of: mean", at=("of",))
        return self

    def __str__(self) -> str:
        if self.kind == "gamma":
            return f"frailty gamma (shape {self.shape:g})"
        return f"frailty {self.share:g} at {self.multiplier:g} times the rate of the others (rate of {self.of})"

    @property
    def mean(self) -> float:
        """Mean rate over devices, as a multiple of the rate that is written."""
        if self.kind == "gamma" or self.of == "mean":
            return 1.0
        return 1.0 + (self.share or 0.0) * ((self.multiplier or 1.0) - 1.0)


class LatentSpec(Model):
    """Memory errors in cold pages of coded state: a share of the hits, each seen when its page is read again, after
    `read` or by a scrub."""

    share: Share
    read: LawSpec

    def __str__(self) -> str:
        return f"{self.share:g} of hits on coded state unseen until read ({self.read})"


class RecurrenceSpec(Model):
    """After a failure the same device, if still in use, fails again with probability `again`, after `gap`."""

    again: Annotated[float, Quantity("share", 0.0, 0.99)]
    gap: GapSpec

    def __str__(self) -> str:
        return f"again with {self.again:g} after {self.gap}"


class GapSpec(Model):
    """A law of gaps by its mean; shape: Weibull or gamma k, or the lognormal's sigma."""

    kind: Literal["exponential", "weibull", "lognormal", "gamma"]
    mean: PositiveTime
    shape: Shape | None = None

    @model_validator(mode="after")
    def _shape(self) -> Self:
        if (self.kind == "exponential") != (self.shape is None):
            what, todo = ("missing", "add e.g. shape: 0.6") if self.shape is None else ("does not go", "remove shape")
            allowed = "shape with all kinds but exponential"
            raise ValueRefused(f"{what} with kind {self.kind}", allowed, todo, at=("shape",))
        return self

    def __str__(self) -> str:
        shape = "" if self.shape is None else f" (shape {self.shape:g})"
        return f"{self.kind} {units.format(self.mean, 'time')}{shape}"


RecurrenceSpec.model_rebuild()


class BatchSpec(Model):
    """Units that are struck at the same instant: [size, probability] pairs, all within one domain. The rate of the
    class counts each unit."""

    sizes: Annotated[tuple[tuple[int, float], ...], BeforeValidator(lambda value: pairs(value, "units"))]
    within: Literal["cluster", "rack", "switch", "power"] = assumed("cluster")

    def __str__(self) -> str:
        return f"batches of {show_pairs(self.sizes)} within one {self.within}"


class CommonCauseSpec(Model):
    """Beta factor: the share `beta` of a unit's failures takes all units of its domain at once."""

    beta: Share
    within: Literal["rack", "switch", "power"]

    def __str__(self) -> str:
        return f"common cause {self.beta:g} within one {self.within}"


def show_pairs(law: tuple[tuple[int, float], ...]) -> str:
    """A law of whole numbers as it is written in a study."""
    return f"[{', '.join(f'[{number}, {share:g}]' for number, share in law)}]"


def pairs(value: Any, of: str) -> tuple[tuple[int, float], ...]:
    """A law of whole numbers, as [number, probability] pairs. Raises ValueRefused."""
    given = value.get("counts") if isinstance(value, dict) and len(value) == 1 else value
    allowed = f"a list of [{of}, probability], the probabilities summing to 1"
    if not isinstance(given, (list, tuple)) or not given:
        raise ValueRefused(
            f"not a law of {of} hit together ({show(value)})", allowed, "write e.g. [[1, 0.93], [2, 0.07]]"
        )
    read = []
    for pair in given:
        good = isinstance(pair, (list, tuple)) and len(pair) == 2
        numbers = good and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in pair)
        if not numbers or pair[0] != int(pair[0]) or not 1 <= pair[0] <= 10**6 or not 0 <= pair[1] <= 1:
            raise ValueRefused(f"not a pair of {of} and probability ({show(pair)})", allowed)
        read.append((int(pair[0]), float(pair[1])))
    total = math.fsum(share for _, share in read)
    if abs(total - 1) > 1e-6:
        raise ValueRefused(f"probabilities sum to {total:.6g}", allowed)
    return tuple(read)


Steps = tuple[tuple[float, float], ...]


class DriftSteps(SelfRead):
    """[[time, factor], ...]: the factor on a rate from each time of the run on, the first from 0."""

    def read(self, value: Any) -> Steps:
        allowed = "a list of [time, factor], the first time 0, the times rising, the factors above 0"
        todo = "write e.g. [[0 d, 0.6], [29 d, 1.4]]"
        if not isinstance(value, (list, tuple)) or not value:
            raise ValueRefused(f"not a list of steps ({show(value)})", allowed, todo)
        steps = []
        for one in value:
            if not isinstance(one, (list, tuple)) or len(one) != 2:
                raise ValueRefused(f"not a pair of time and factor ({show(one)})", allowed, todo)
            factor = Quantity("count", 0.0, 1e6, above=True).read(one[1])
            steps.append((_seconds(one[0]), factor))
        times = [start for start, _ in steps]
        if times[0] != 0.0 or any(late <= early for early, late in pairwise(times)):
            raise ValueRefused(f"times do not rise from 0 ({show(value)})", allowed, todo)
        return tuple(steps)

    def write(self, value: Steps) -> list[list[Any]]:
        return [[units.format(start, "time"), factor] for start, factor in value]

    def form(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2, "maxItems": 2}}


def _seconds(value: Any) -> float:
    """A time; a bare 0 is one too."""
    return 0.0 if value == 0 and not isinstance(value, bool) else Quantity("time", 0.0, YEARS_100).read(value)


def show_steps(steps: Steps) -> str:
    """Steps of a rate in words."""
    return ", ".join(f"{factor:g} from {units.format(start, 'time')}" for start, factor in steps)


Drift = Annotated[Steps, DriftSteps()]
