"""The protection: an ordered list of tiers, each a mapping of one key, its kind, to its settings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gemsim.errors import ValueRefused, show
from gemsim.spec import catalog
from gemsim.spec.protection.checkpoint import CheckpointSpec
from gemsim.spec.protection.peer_copy import PeerCopySpec
from gemsim.spec.protection.replica import ReplicaSpec
from gemsim.spec.protection.replica_group import ReplicaGroupSpec
from gemsim.spec.protection.retry import RetrySpec
from gemsim.spec.protection.stripe import StripeSpec
from gemsim.spec.protection.tier import Tier
from gemsim.spec.protection.undo_log import UndoLogSpec
from gemsim.spec.types import refuse_unknown

NOT_BUILT: dict[str, str] = {}

TIERS: dict[str, type[Tier]] = {
    "retry": RetrySpec,
    "peer_copy": PeerCopySpec,
    "stripe": StripeSpec,
    "replica": ReplicaSpec,
    "checkpoint": CheckpointSpec,
    "undo_log": UndoLogSpec,
    "replica_group": ReplicaGroupSpec,
}
TierSpec = Annotated[
    RetrySpec | PeerCopySpec | StripeSpec | ReplicaSpec | CheckpointSpec | UndoLogSpec | ReplicaGroupSpec,
    Field(discriminator="kind"),
]


def read_tier(value: Any) -> Any:
    """A one-key mapping {kind: settings} (or the bare kind) as the settings with their kind. Raises ValueRefused."""
    if isinstance(value, Tier):
        return value
    if isinstance(value, str):
        value = {value: {}}
    if isinstance(value, dict) and "system" in value:
        named = refuse_unknown(value["system"], catalog.system_names(), "system")
        raise ValueRefused(
            "a named system in the list of tiers", "tiers", f"write protection: {{system: {named}}}, without the list"
        )
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueRefused(
            f"not a tier ({show(value)})",
            "a mapping of one key, the kind of tier",
            "write e.g. '- retry: {granularity: mixed}'",
        )
    kind, settings = next(iter(value.items()))
    kind = str(kind)
    if kind in NOT_BUILT:
        raise ValueRefused(
            f"tier {kind} is not built yet in this version", f"one of {', '.join(TIERS)}", NOT_BUILT[kind]
        )
    named = kind.lower().replace("-", "_")
    if named in catalog.system_names():
        raise ValueRefused(
            f"{kind} is a named system, not a tier", f"one of {', '.join(TIERS)}", f"write protection: {named}"
        )
    refuse_unknown(kind, [*TIERS, *NOT_BUILT], "tier")
    if not isinstance(settings, dict | None):
        raise ValueRefused(f"not the settings of a tier ({show(settings)})", "a mapping", f"write e.g. '{kind}: {{}}'")
    if "kind" in (settings or {}):
        raise ValueRefused("kind inside a tier", "the kind is the key of the tier", "remove kind")
    return {"kind": kind, **(settings or {})}


def refuse_labels(tiers: tuple[Tier, ...]) -> None:
    """Raises ValueRefused when two tiers have one label, or a name is the kind of another."""
    labels = [tier.label for tier in tiers]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        second = [at for at, label in enumerate(labels) if label == twice[0]][1]
        raise ValueRefused(
            f"a second tier called {show(twice[0])}",
            "a name of its own for each tier of one kind",
            "add a name to each",
            at=("protection", second),
        )
    for at, tier in enumerate(tiers):
        if tier.name and tier.name != tier.kind and tier.name in TIERS:
            raise ValueRefused(
                f"a {tier.kind} tier is named {show(tier.name)}",
                "a name that is not a kind of tier",
                "rename it",
                at=("protection", at),
            )
