"""What the slow engine is told of the engine's tiers."""

from __future__ import annotations

from typing import Any

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.retry import Retry
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Tier
from tests.oracle.setup import Code, Redo, Store


def at(u: float, shares: list[tuple[str, float]]) -> str:
    for name, share in shares:
        u -= share
        if u < 0:
            return name
    return shares[-1][0]


def told(tier: Tier) -> Redo | Code | Store:
    if isinstance(tier, Retry):
        return Redo(tier.name, tier.granularity)
    if isinstance(tier, Checkpoint):
        on_hosts = tier.target != "remote"
        return Store(
            tier.name, tier.every, tier.blocked, tier.lag, tier.read, tier.keep_count, tier.keep_seconds, on_hosts,
            tier.copies,
        )  # fmt: skip
    assert isinstance(tier, (PageStripe, MemberStripe))
    c = tier.cadence
    extra: dict[str, Any]
    if isinstance(tier, PageStripe):
        s = tier.stripes
        extra = {"pages": s.pages, "interleaved": s.mapping == "interleaved", "decode_page": tier.decode_page}
    else:
        extra = {
            "domain": tier.stripes.grid.size(tier.stripes.unit),
            "rebuild": tuple(_rebuild(tier, lost) for lost in range(tier.stripes.m + 1)),
        }
    return Code(
        tier.name, c.every, c.copy == "snapshot", c.stall, c.encode, c.overlap, c.lag, c.buckets, tier.stripes.k,
        tier.stripes.m, **extra,
    )  # fmt: skip


def _rebuild(tier: MemberStripe, lost: int) -> float:
    """Section 3: k S into one NIC, S with partial sums, or spread over the survivors; more losses follow each other."""
    k, one = tier.stripes.k, tier.coded / tier.nic
    if lost == 0:
        return 0.0
    if tier.rebuild == "gather":
        return k * one + (lost - 1) * one
    if tier.rebuild == "pipeline":
        return lost * one
    return lost * k * one / (k + tier.stripes.m - lost) + one
