"""The nodes beside the job: spares, the way through repair, who is retired, and what health checks find."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gemsim.errors import ValueRefused
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
    unit: Literal["node", "rack"] = assumed("node")
    activation: ActivationSpec = assumed(default_factory=ActivationSpec)
    join_fails: Share = assumed(0.0)
    join_timeout: Time = assumed("10 min")
    selection: Time = sourced("warm spares are next when no hot one is left", "0 s")
    choose: Literal["next", "random"] = assumed("next")
    borrow: WholeOrNone = assumed(0)
    borrow_each: PositiveTime = assumed("20 min")
    short: Literal["wait", "shrink"] = assumed("wait")
    placed: Literal["apart", "spread"] = assumed("apart")


class StageSpec(Model):
    """A stage of repair; `crews` work at once (0: no limit), in order of arrival."""

    name: Annotated[str, Name()]
    time: LawSpec
    escalate: Share = assumed(0.0)
    silent: Share = assumed(0.0)
    crews: WholeOrNone = sourced("no limit", 0)


class PartsSpec(Model):
    """Spare parts: the share of repairs that need one, how many lie ready, and the time until one ordered is there."""

    needed: Share
    stock: WholeOrNone
    lead: LawSpec


class RepairSpec(Model):
    """What a node that was taken out goes through; instead of the repair time of its failure's class."""

    stages: Annotated[tuple[StageSpec, ...], Field(min_length=1, max_length=8)]
    misdiagnosis: Share = assumed(0.0)
    parts: PartsSpec | None = sourced("parts never run out", None)

    @model_validator(mode="after")
    def _order(self) -> Self:
        names = [stage.name for stage in self.stages]
        for name in names:
            if names.count(name) > 1:
                raise ValueRefused(f"two stages are called {name}", "a name of its own for each", at=("stages",))
        if self.stages[-1].escalate > 0.0:
            last = ("stages", str(len(names) - 1), "escalate")
            raise ValueRefused("no stage follows the last", "0", "remove escalate", at=last)
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
        count, score = (self.after, self.within), (self.score, self.half_life)
        whole = [all(one is not None for one in pair) for pair in (count, score)]
        some = [any(one is not None for one in pair) for pair in (count, score)]
        if whole != some or sum(whole) != 1:
            raise ValueRefused(
                "not a rule", "after and within, or score and half_life", "write {after: 3, within: 7 d}"
            )
        return self


class ChecksSpec(Model):
    """Health checks: how often, the share of hardware failures that they find before these strike, and how often a
    check takes out a healthy node."""

    every: PositiveTime
    finds: Share
    false_positives: Share = assumed(0.0)


class FleetSpec(Model):
    """Without `repair` a node is repaired once, in the time of its failure's class, and well."""

    spares: SparesSpec | None = sourced("cluster.spare_nodes, all hot", None)
    repair: RepairSpec | None = sourced("the time of each failure's class", None)
    retire: RetireSpec | None = sourced("nobody is retired", None)
    checks: ChecksSpec | None = sourced("no checks", None)
