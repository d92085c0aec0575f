"""`peer_copy` in a study."""

from __future__ import annotations

from typing import Literal

from gemsim.spec.protection.tier import Tier


class PeerCopySpec(Tier):
    """Copy from a rank that holds the same state."""

    kind: Literal["peer_copy"] = "peer_copy"
