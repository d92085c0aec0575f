"""`peer_copy` in a study."""

from __future__ import annotations

from typing import Literal

from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import Time, assumed, sourced


class PeerCopySpec(Tier):
    """Copy from a rank that holds the same state; times in seconds, of the whole state, None: derived."""

    kind: Literal["peer_copy"] = "peer_copy"
    via: Literal["fabric", "store"] = assumed("fabric")
    save: Time | None = sourced("derived: one copy over the store's bandwidth, from the nodes that hold it", None)
    read: Time | None = sourced("derived: one copy over the store's bandwidth", None)

    def inapplicable(self) -> dict[str, str]:
        return {} if self.via == "store" else {"save": "via: store", "read": "via: store"}
