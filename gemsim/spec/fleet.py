"""The nodes beside the job: spares, the way through repair, who is retired, and what health checks find."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from gemsim.errors import ValueRefused, show
from gemsim.spec.laws import LawSpec
from gemsim.spec.types import (
    Model,
    Name,
    Number,
    PositiveTime,
    Share,
    Time,
    Whole,
    WholeOrNone,
    assumed,
    sourced,
)

MOST_STAGES = 8
_RULES = (("after", "within", "3", "7 d"), ("score", "half_life", "5", "7 d"))


class ActivationSpec(Model):
    """Seconds until a spare of each kind can start."""

    hot: Time = assumed("2 min")
    warm: Time = assumed("10 min")
    cold: Time = assumed("30 min")


class SparesSpec(Model):
    """Nodes beyond the job's. Hot ones stand by; warm ones are powered; cold ones are off and cannot fail."""

    hot: WholeOrNone = assumed(0)
    warm: WholeOrNone = assumed(0)
    cold: WholeOrNone = assumed(0)
    unit: Literal["node", "tray", "rack"] = assumed("node")
    activation: ActivationSpec = assumed(default_factory=ActivationSpec)
    join_fails: Share = assumed(0.0, "every spare starts")
    join_timeout: Time = assumed("10 min")
    selection: Time = sourced("warm spares are next when no hot one is left", "0 s")
    choose: Literal["next", "random"] = assumed("next", "hosts stay until they break")
    borrow: WholeOrNone = assumed(0, "no other jobs")
    borrow_each: PositiveTime = assumed("20 min")
    short: Literal["wait", "shrink"] = assumed("wait")
    placed: Literal["apart", "spread"] = assumed("apart")

    @model_validator(mode="after")
    def _built(self) -> Self:
        if self.unit == "rack" and self.choose == "random":
            what = "draws single nodes, which does not go with unit: rack"
            raise ValueRefused(what, "next, or unit: node", "remove choose", at=("choose",))
        if self.unit == "rack" and self.placed == "spread":
            what = "spread over the racks of the job, but spares come as whole racks (unit: rack)"
            raise ValueRefused(what, "apart, or unit: node", "remove placed", at=("placed",))
        return self


class StageSpec(Model):
    """A stage of repair; `crews` work at once (0: no limit), in order of arrival."""

    name: Annotated[str, Name()]
    time: LawSpec
    escalate: Share = assumed(0.0, "the stage is the last that a node needs")
    silent: Share = assumed(0.0, "what leaves is mended")
    crews: WholeOrNone = sourced("no limit", 0)


class PartsSpec(Model):
    """Spare parts: the share of nodes at the last stage that take one, how many lie ready, and the time until one that
    is ordered is there."""

    needed: Share
    stock: WholeOrNone
    lead: LawSpec


class RepairSpec(Model):
    """What a node that was taken out goes through; instead of the repair time of its failure's class."""

    stages: tuple[StageSpec, ...]
    misdiagnosis: Share = assumed(0.0, "the node at fault is always found")
    parts: PartsSpec | None = sourced("parts never run out", None)

    @model_validator(mode="after")
    def _order(self) -> Self:
        if not 1 <= len(self.stages) <= MOST_STAGES:
            what, todo = ("no stage", "add e.g. {name: repair, time: 4 h}") if not self.stages else ("too many", "")
            raise ValueRefused(f"{what} ({len(self.stages)})", f"1 to {MOST_STAGES} stages", todo, at=("stages",))
        names = [stage.name for stage in self.stages]
        for number, name in enumerate(names):
            if name in names[:number]:
                what, at = f"two stages are called {show(name)}", ("stages", number, "name")
                raise ValueRefused(what, "a name of its own for each stage", "rename one", at=at)
        if self.stages[-1].escalate > 0.0:
            last = ("stages", len(names) - 1, "escalate")
            what = f"no stage follows the last ({show(names[-1])})"
            raise ValueRefused(what, "0 for the last stage", "remove escalate, or add a stage behind it", at=last)
        return self


class RetireSpec(Model):
    """Take a node out for good: after `after` failures within `window`, or once its `score` (each failure counts
    2^(-age / half_life)) reaches a bound."""

    after: Whole | None = None
    within: PositiveTime | None = None
    score: Number | None = None
    half_life: PositiveTime | None = None
    restock: PositiveTime | None = sourced("no new node comes", None)

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        allowed = "after and within, or score and half_life"
        given = [pair for pair in _RULES if any(getattr(self, key) is not None for key in pair[:2])]
        if not given:
            raise ValueRefused("no rule", allowed, "add e.g. after: 3 and within: 7 d")
        if len(given) > 1:
            raise ValueRefused("two rules, a count and a score", allowed, "remove one of the two")
        first, second, *values = given[0]
        for key, other, value in ((first, second, values[0]), (second, first, values[1])):
            if getattr(self, key) is None:
                raise ValueRefused(f"missing beside {other}", allowed, f"add e.g. {key}: {value}", at=(key,))
        return self


class ChecksSpec(Model):
    """Health checks: how often, the share of hardware failures that they find before these strike, and how often a
    check takes out a healthy node."""

    every: PositiveTime
    finds: Share
    false_positives: Share = assumed(0.0, "no healthy node is taken out")


class FleetSpec(Model):
    """Without `repair` a node is repaired once, in the time of its failure's class, and well."""

    spares: SparesSpec | None = sourced("cluster.spare_nodes, all hot", None)
    repair: RepairSpec | None = sourced("the time of each failure's class", None)
    retire: RetireSpec | None = sourced("nobody is retired", None)
    checks: ChecksSpec | None = sourced("no checks", None)

    @model_validator(mode="after")
    def _single(self) -> Self:
        racks = self.spares is not None and self.spares.unit == "rack"
        if racks and self.repair is not None and self.repair.misdiagnosis > 0.0:
            what = "takes out single nodes, which does not go with spares of unit: rack"
            raise ValueRefused(what, "0, or unit: node", "remove misdiagnosis", at=("repair", "misdiagnosis"))
        return self

    @model_validator(mode="after")
    def _alarms(self) -> Self:
        if self.checks is not None and self.checks.false_positives > 0.0 and self.repair is None:
            raise ValueRefused(
                "needs fleet.repair",
                "0, or the stages that a healthy node goes through",
                "add fleet.repair, or remove false_positives",
                at=("checks", "false_positives"),
            )
        return self
