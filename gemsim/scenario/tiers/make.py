"""The tiers of a study, in its order, each made by the file of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gemsim.protection.retry import Retry
from gemsim.protection.tier import Tier
from gemsim.scenario.tiers.checkpoint import checkpoint
from gemsim.scenario.tiers.peer_copy import peer_copy
from gemsim.scenario.tiers.replica import replica
from gemsim.scenario.tiers.replica_group import replica_group
from gemsim.scenario.tiers.stripe import stripe
from gemsim.scenario.tiers.undo_log import undo_log
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.retry import RetrySpec
from gemsim.spec.protection.stripe import StripeSpec


def make_tiers(shop: Workshop) -> tuple[Tier, ...]:
    """The tiers of the study in order; a stripe without parity is no tier. Raises Infeasible."""
    tiers: list[Tier] = []
    for one in shop.spec.protection:
        if isinstance(one, StripeSpec) and one.m == 0:
            continue
        tiers.append(MAKERS[one.kind](shop, one, len(tiers)))
    return tuple(tiers)


def _retry(shop: Workshop, one: RetrySpec, number: int) -> Retry:
    granularity = "mixed" if one.granularity == "kernel" else one.granularity  # one and the same: the least that works
    return Retry(number, one.label, granularity)


MAKERS: dict[str, Callable[[Workshop, Any, int], Tier]] = {
    "retry": _retry,
    "peer_copy": peer_copy,
    "stripe": stripe,
    "replica": replica,
    "checkpoint": checkpoint,
    "undo_log": undo_log,
    "replica_group": replica_group,
}
