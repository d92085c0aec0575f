"""The failures: a named mix from the catalog, overrides of it, and classes of one's own.

A class of a study and a class of a catalog file are read by the same model, `FailureClassSpec`.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ValidationError, model_validator

from gemsim import resources, units
from gemsim.errors import ProfileError, ValueRefused, show
from gemsim.spec import catalog
from gemsim.spec.types import (
    Factor,
    Gpus,
    Model,
    Name,
    PositiveBytes,
    RateOf,
    Shape,
    Share,
    Time,
    assumed,
    refuse_unknown,
    sourced,
)

Scope = Literal["memory", "sram", "gpu", "node", "rack", "switch", "link", "process", "silent"]
Clock = Literal["gpu", "node", "job"]
Action = Literal["none", "restart_app", "drain_and_reset", "reset", "reboot", "replace"]
Rows = Literal["adjacent_pages", "same_page", "scattered"]
Lands = Literal["used", "critical", "all"]
_CLOCKS: dict[str, Clock] = {
    "memory": "gpu", "sram": "gpu", "gpu": "gpu", "silent": "gpu", "node": "node", "link": "node",
    "rack": "job", "switch": "job", "process": "job",
}  # fmt: skip


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


def _bursts(value: Any) -> tuple[tuple[int, float], ...]:
    pairs = value.get("counts") if isinstance(value, dict) and len(value) == 1 else value
    allowed = "a list of [rows, probability], the probabilities summing to 1"
    if not isinstance(pairs, (list, tuple)) or not pairs:
        raise ValueRefused(f"not a law of bursts ({show(value)})", allowed, "write e.g. [[1, 0.93], [2, 0.07]]")
    read = []
    for pair in pairs:
        good = isinstance(pair, (list, tuple)) and len(pair) == 2
        numbers = good and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in pair)
        if not numbers or pair[0] != int(pair[0]) or not 1 <= pair[0] <= 10**6 or not 0 <= pair[1] <= 1:
            raise ValueRefused(f"not a pair of rows and probability ({show(pair)})", allowed)
        read.append((int(pair[0]), float(pair[1])))
    total = math.fsum(share for _, share in read)
    if abs(total - 1) > 1e-6:
        raise ValueRefused(f"probabilities sum to {total:.6g}", allowed)
    return tuple(read)


class FailureClassSpec(Model):
    """One class of failures: how often, on whose clock, what it destroys, and what must be done after it."""

    name: Annotated[str, Name()]
    scope: Scope
    rate: RateOf
    gpus: Gpus | None = sourced("the fleet on which a rate of the whole job was counted", None)
    law: LifetimeSpec = assumed(default_factory=LifetimeSpec)
    clock: Clock = sourced("by scope", default_factory=lambda data: _CLOCKS.get(data.get("scope", ""), "job"))
    after_repair: Literal["as_new", "as_old"] = assumed("as_new")
    exposure: Literal["wall", "running"] = sourced(
        "running for job software, wall for hardware",
        default_factory=lambda data: "running" if data.get("scope") == "process" else "wall",
    )
    detect: LawSpec
    contained: Share | None = None
    rows: Annotated[tuple[tuple[int, float], ...], BeforeValidator(_bursts)] = assumed(((1, 1.0),))
    rows_to_pages: Rows = assumed("adjacent_pages", "derived from the HBM geometry, not observed")
    lands: Lands = sourced("job-stopping rates are conditional on used bytes", "used")
    action: Action
    uncontained_action: Action = sourced("NVIDIA Xid catalog: Xid 95 needs a GPU reset", "reset")
    process_survives: bool = assumed(default_factory=lambda data: data.get("scope") == "memory")
    repair: LawSpec | None = None
    evict_on_detect: bool = assumed(True)
    source: str = assumed("given in the study")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        counted = "a rate of the whole job needs the fleet on which it was counted"
        if self.rate.per == "job" and self.gpus is None:
            raise ValueRefused("missing for a rate of the whole job", counted, "add gpus", at=("gpus",))
        if self.rate.per != "job" and self.gpus is not None:
            raise ValueRefused(f"does not go with a rate per {self.rate.per}", counted, "remove gpus", at=("gpus",))
        if self.scope == "memory" and self.contained is None:
            raise ValueRefused("missing for scope memory", "a share", "add e.g. contained: 0.45", at=("contained",))
        for field, scope in self.inapplicable().items():
            if field in self.model_fields_set and getattr(self, field) is not None:
                raise ValueRefused(
                    f"does not apply to scope {self.scope}", f"goes with scope {scope}", f"remove {field}", at=(field,)
                )
        if self.action == "replace" and self.repair is None:
            back = "the time until the node is back in the spare pool"
            raise ValueRefused("missing for action replace", back, "add e.g. repair: 2.2 h", at=("repair",))
        return self

    def inapplicable(self) -> dict[str, str]:
        """Keys that mean nothing for this scope, and the scope each goes with."""
        memory = ("contained", "rows", "rows_to_pages", "lands", "uncontained_action")
        stray = {} if self.scope == "memory" else dict.fromkeys(memory, "memory")
        return stray if self.scope == "silent" else stray | {"evict_on_detect": "silent"}

    def job_rate(self, *, gpus: int, gpus_per_node: int) -> float:
        """Events per second of a job of `gpus` GPUs; a rate counted on a fleet scales with the number of GPUs."""
        if self.rate.per == "job":
            return self.rate.value * gpus / (self.gpus or gpus)
        return self.rate.value * (gpus if self.rate.per == "gpu" else gpus / gpus_per_node)


class MixSpec(Model):
    """A file of calibration/published/failures."""

    title: str
    source: str
    notes: str = ""
    classes: tuple[FailureClassSpec, ...]


def _known_mix(name: object) -> str:
    return refuse_unknown(name, catalog.mix_names(), "failure mix")


def mix(name: str) -> MixSpec:
    """A mix of the catalog. Raises ProfileError when its file is malformed."""
    return _mix(resources.published() / "failures" / f"{name}.yaml")


@cache
def _mix(path: Path) -> MixSpec:
    try:
        return MixSpec.model_validate(catalog.read_published(path))
    except ValidationError as error:
        raise ProfileError(f"{path}: {error}") from error


class FailuresSpec(Model):
    """A mix, classes of one's own, or both; the overrides apply to all classes they fit."""

    mix: Annotated[str, BeforeValidator(_known_mix)] | None = None
    scale: Factor = sourced("rates as published", 1.0)
    contained: Share | None = sourced("as in each class", None)
    lands: Lands | None = sourced("as in each class", None)
    rows: Rows | None = sourced("as in each class", None)
    page: PositiveBytes = assumed("2 MiB")
    law: LifetimeSpec | None = sourced("as in each class", None)
    classes: tuple[FailureClassSpec, ...] = sourced("only those of the mix", ())

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.mix is None and not self.classes:
            raise ValueRefused("neither mix nor classes", "a named mix, a list of classes, or both")
        names = [one.name for one in self.classes] + ([one.name for one in mix(self.mix).classes] if self.mix else [])
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueRefused(
                f"two classes are called {show(twice[0])}", "a name of its own for each class", "rename one"
            )
        return self

    def resolved(self) -> tuple[FailureClassSpec, ...]:
        """All classes, those of the mix first, with scale, contained, lands, rows and law applied."""
        classes = (mix(self.mix).classes if self.mix else ()) + self.classes
        return tuple(one.model_copy(update=self._overrides(one)) for one in classes)

    def _overrides(self, one: FailureClassSpec) -> dict[str, Any]:
        changes: dict[str, Any] = {"rate": units.Rate(one.rate.value * self.scale, one.rate.per)}
        if one.scope == "memory":
            if self.contained is not None:
                changes["contained"] = self.contained
            if self.lands is not None:
                changes["lands"] = self.lands
            if self.rows is not None:
                changes["rows_to_pages"] = self.rows
        if self.law is not None and one.scope not in ("process",):
            changes["law"] = self.law
        return changes
