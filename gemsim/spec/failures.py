"""The failures: a named mix from the catalog, overrides of it, and classes of one's own.

A class of a study and a class of a catalog file are read by the same model, `FailureClassSpec`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ValidationError, model_validator

from gemsim import resources, units
from gemsim.errors import ProfileError, ValueRefused, show
from gemsim.failures.classes import FALSE_ALARM
from gemsim.spec import catalog
from gemsim.spec.laws import (
    BatchSpec,
    CommonCauseSpec,
    Drift,
    FrailtySpec,
    LatentSpec,
    LawSpec,
    LifetimeSpec,
    RecurrenceSpec,
    pairs,
)
from gemsim.spec.replay import ReplaySpec, refuse_beside
from gemsim.spec.types import (
    Factor,
    Gpus,
    Model,
    Name,
    PositiveBytes,
    PositiveShare,
    RateOf,
    Share,
    Time,
    assumed,
    refuse_unknown,
    sourced,
)

Scope = Literal[
    "memory", "sram", "gpu", "node", "rack", "switch", "power", "link", "process", "silent", "planned", "slow"
]
Bursts = Annotated[tuple[tuple[int, float], ...], BeforeValidator(lambda value: pairs(value, "rows"))]
NOT_OF_HARDWARE = ("process", "planned")
NOT_AGEING = ("process",)  # scopes that failures.law leaves alone
Clock = Literal["gpu", "node", "job"]
Action = Literal["none", "restart_app", "drain_and_reset", "reset", "reboot", "replace"]
Rows = Literal["adjacent_pages", "same_page", "scattered"]
Remap = Literal["defer", "now"]
Lands = Literal["used", "critical", "all"]
_CLOCKS: dict[str, Clock] = {
    "memory": "gpu", "sram": "gpu", "gpu": "gpu", "silent": "gpu", "node": "node", "link": "node",
    "rack": "job", "switch": "job", "power": "job", "process": "job", "planned": "job", "slow": "node",
}  # fmt: skip
_OF_ONE_SCOPE = (("slower", "slow", "20 %"), ("notice", "planned", "10 min"), ("stop", "planned", "2 h"))


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
    rows: Bursts = assumed(((1, 1.0),))
    latent: LatentSpec | None = sourced("every error is seen at once", None)
    rows_to_pages: Rows = assumed("adjacent_pages", "derived from the HBM geometry, not observed")
    lands: Lands = sourced("job-stopping rates are conditional on used bytes", "used")
    action: Action
    uncontained_action: Action = sourced("NVIDIA Xid catalog: Xid 95 needs a GPU reset", "reset")
    process_survives: bool = assumed(default_factory=lambda data: data.get("scope") == "memory")
    repair: LawSpec | None = None
    evict_on_detect: bool = assumed(True)
    frailty: FrailtySpec | None = sourced("as in failures, else all devices alike", None)
    drift: Drift | None = sourced("as in failures, else an even rate", None)
    batch: BatchSpec | None = sourced("each unit by itself", None)
    common_cause: CommonCauseSpec | None = sourced("each unit by itself", None)
    recurrence: RecurrenceSpec | None = sourced("no failure follows another", None)
    slower: PositiveShare | None = None
    notice: Time | None = None
    stop: LawSpec | None = None
    source: str = assumed("given in the study")

    @model_validator(mode="before")
    @classmethod
    def _announced(cls, value: Any) -> Any:
        """What is planned is known when it is announced."""
        planned = isinstance(value, dict) and value.get("scope") == "planned"
        return {"detect": "0 s", **value} if planned else value

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
                what = f"does not apply to scope {self.scope}"
                raise ValueRefused(what, f"goes with scope {scope}", f"remove {field}", at=(field,))
        self._fleet_keys()
        return self

    @property
    def lacks_repair(self) -> bool:
        """A node is replaced, and nothing says how long until it is back; only `fleet.repair` can then."""
        actions = (self.action, self.uncontained_action) if self.scope == "memory" else (self.action,)
        return "replace" in actions and self.repair is None

    def _fleet_keys(self) -> None:
        """What goes with one scope, one clock or one law only."""
        for field, scope, example in _OF_ONE_SCOPE:
            given = getattr(self, field) is not None
            if given != (self.scope == scope):
                what = f"does not apply to scope {self.scope}" if given else f"missing for scope {scope}"
                todo = f"remove {field}" if given else f"add e.g. {field}: {example}"
                raise ValueRefused(what, f"goes with scope {scope}", todo, at=(field,))
        if self.scope == "planned" and self.detect.mean > 0.0:
            what = "does not apply to scope planned, which is announced"
            raise ValueRefused(what, "0 s", "remove detect", at=("detect",))
        for field in self.of_devices():
            if self.clock == "job":
                raise ValueRefused(
                    f"does not go with clock job{_by_scope(self)}", "clock gpu or node", f"remove {field}", at=(field,)
                )
            if self.law.kind != "exponential":
                todo = f"remove {field}, or take law: exponential"
                raise ValueRefused(f"does not go with a {self.law.kind} law", "an exponential law", todo, at=(field,))
        if self.batch is not None and self.common_cause is not None:
            todo = "say both as sizes of a batch, or as two classes"
            raise ValueRefused("given beside batch", "one of them", todo, at=("common_cause",))
        if self.batch is not None and self.frailty is not None and self.frailty.kind == "gamma":
            what = "a batch has no rate where each device has one of its own (frailty of kind gamma)"
            todo = "take kind lemons, or say the batches as a class of their own"
            raise ValueRefused(what, "batch with frailty of kind lemons, or without frailty", todo, at=("batch",))

    def of_devices(self) -> list[str]:
        """The keys given that need a clock and an even rate for each device."""
        return [key for key in ("frailty", "batch", "common_cause", "recurrence") if getattr(self, key) is not None]

    def inapplicable(self) -> dict[str, str]:
        """Keys that mean nothing for this scope, and the scope each goes with."""
        memory = ("contained", "latent", "rows", "rows_to_pages", "lands", "uncontained_action")
        stray = {} if self.scope == "memory" else dict.fromkeys(memory, "memory")
        return stray if self.scope == "silent" else stray | {"evict_on_detect": "silent"}

    def unused(self) -> set[str]:
        """Keys that say nothing of a class of this scope, if only because nothing else can be said."""
        return {*self.inapplicable(), *(("detect",) if self.scope == "planned" else ())}

    def job_rate(self, *, gpus: int, gpus_per_node: int) -> float:
        """Events per second of a job of `gpus` GPUs; a rate counted on a fleet scales with the number of GPUs."""
        if self.rate.per == "job":
            return self.rate.value * gpus / (self.gpus or gpus)
        return self.rate.value * (gpus if self.rate.per == "gpu" else gpus / gpus_per_node)


def refuse_without_repair(one: FailureClassSpec, *, at: tuple[str | int, ...]) -> None:
    """Raises ValueRefused where a node is replaced and nothing says how long until it is back."""
    if one.lacks_repair:
        back = "the time until the node is back in the spare pool"
        raise ValueRefused("missing for action replace", back, "add e.g. repair: 2.2 h, or fleet.repair", at=at)


class MixSpec(Model):
    """A file of calibration/published/failures."""

    title: str
    source: str
    notes: str = ""
    base: str | None = None  # another mix, whose classes come first
    classes: tuple[FailureClassSpec, ...]

    @model_validator(mode="after")
    def _repairs(self) -> Self:
        for number, one in enumerate(self.classes):
            refuse_without_repair(one, at=("classes", number, "repair"))
        return self


def _by_scope(one: FailureClassSpec) -> str:
    return "" if "clock" in one.model_fields_set else f", which scope {one.scope} has by itself"


def _known_mix(name: object) -> str:
    return refuse_unknown(name, catalog.mix_names(), "failure mix")


def mix(name: str) -> MixSpec:
    """A mix of the catalog. Raises ProfileError when its file is malformed."""
    return _mix(resources.published() / "failures" / f"{name}.yaml")


@cache
def _mix(path: Path) -> MixSpec:
    try:
        found = MixSpec.model_validate(catalog.read_published(path))
    except ValidationError as error:
        raise ProfileError(f"{path}: {error}") from error
    return found.model_copy(update={"classes": mix(found.base).classes + found.classes}) if found.base else found


class FailuresSpec(Model):
    """A mix, classes of one's own, or both, with overrides for all classes they fit; or a log that is replayed."""

    mix: Annotated[str, BeforeValidator(_known_mix)] | None = None
    scale: Factor = sourced("rates as published", 1.0)
    contained: Share | None = sourced("as in each class", None)
    lands: Lands | None = sourced("as in each class", None)
    rows: Rows | None = sourced("as in each class", None)
    page: PositiveBytes = assumed("2 MiB")
    remap_budget: bool = assumed(False, "spare rows never run out")
    remap: Remap = assumed("defer", "a row waits for the next restart")
    law: LifetimeSpec | None = sourced("as in each class", None)
    frailty: FrailtySpec | None = sourced("as in each class", None)
    drift: Drift | None = sourced("as in each class", None)
    classes: tuple[FailureClassSpec, ...] = sourced("only those of the mix", ())
    replay: ReplaySpec | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.replay is not None:
            refuse_beside(self)
        elif self.mix is None and not self.classes:
            raise ValueRefused("neither mix nor classes", "a named mix, a list of classes, or both; or replay")
        if FALSE_ALARM in (names := [one.name for one in self.unlaid()]):
            what = f"{show(FALSE_ALARM)} is what health checks take out (fleet.checks)"
            raise ValueRefused(what, "another name", "rename the class", at=("classes",))
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            what = f"two classes are called {show(twice[0])}"
            raise ValueRefused(what, "a name of its own for each class", "rename one")
        return self

    @model_validator(mode="after")
    def _even(self) -> Self:
        """A lifetime law for all, beside what needs an exponential one."""
        if self.law is None or self.law.kind == "exponential":
            return self
        if self.frailty is not None:
            todo = "remove frailty, or take law: exponential"
            raise ValueRefused(
                f"does not go with a {self.law.kind} law (failures.law)", "an exponential law", todo, at=("frailty",)
            )
        for one in self.unlaid():
            if one.scope not in NOT_AGEING and (keys := one.of_devices()):
                what = f"a {self.law.kind} law does not go with {keys[0]} of class {show(one.name)}"
                todo = "give a law to each class that ages instead"
                raise ValueRefused(what, "an exponential law", todo, at=("law",))
        return self

    def resolved(self) -> tuple[FailureClassSpec, ...]:
        """All classes, those of the mix first, with scale, contained, lands, rows, law, frailty and drift applied."""
        return tuple(one.model_copy(update=self._overrides(one)) for one in self.unlaid())

    def unlaid(self) -> tuple[FailureClassSpec, ...]:
        """All classes as they stand in the mix and in the study, or those of the log that is replayed."""
        if self.replay is not None:
            return tuple(FailureClassSpec(**keys) for keys in self.replay.classes((FALSE_ALARM,)))
        return (mix(self.mix).classes if self.mix else ()) + self.classes

    def _overrides(self, one: FailureClassSpec) -> dict[str, Any]:
        changes: dict[str, Any] = {"rate": units.Rate(one.rate.value * self.scale, one.rate.per)}
        if one.scope == "memory":
            if self.contained is not None:
                changes["contained"] = self.contained
            if self.lands is not None:
                changes["lands"] = self.lands
            if self.rows is not None:
                changes["rows_to_pages"] = self.rows
        if self.law is not None and one.scope not in NOT_AGEING:
            changes["law"] = self.law
        if self.drift is not None and one.drift is None and one.scope not in NOT_OF_HARDWARE:
            changes["drift"] = self.drift
        if self.frailty is not None and one.frailty is None and self.makes_unlike(one):
            changes["frailty"] = self.frailty
        return changes

    def makes_unlike(self, one: FailureClassSpec) -> bool:
        """Whether the devices of a class that says nothing of frailty are unlike by that of all classes."""
        if self.frailty is None or one.clock == "job" or one.scope in NOT_OF_HARDWARE:
            return False
        alone = one.batch is None or self.frailty.kind == "lemons"
        law = one.law if self.law is None or one.scope in NOT_AGEING else self.law
        return alone and law.kind == "exponential"
