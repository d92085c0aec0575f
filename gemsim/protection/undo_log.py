"""Undo log: what a batch is about to change is kept in a pool of persistent memory, which outlives processes and hosts.

After a failure the job goes on from the start of the interrupted batch. A variant that saves after the update instead
(redo) goes back to what the batch before had saved, which is the same state, but each batch takes longer. The MLP part
may be older by up to the gap of its log: that costs accuracy, no time.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemsim.protection.damage import Damage, Nature
from gemsim.protection.tier import Moment, Overhead, Plan, Platform


@dataclass(frozen=True, slots=True)
class UndoLog:
    """Tier `undo_log`. `added`: seconds that logging adds to each batch; `replay`: from the pool, on recovery."""

    number: int
    name: str
    variant: str
    added: float
    replay: float
    mlp_log_gap: int  # batches

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """All that leaves the pool: processes, GPUs, nodes, racks, power. Not corrupt state, which is logged too."""
        return nature.kind != "corrupt"

    def overhead(self) -> Overhead:
        """A longer batch; no GPU memory."""
        return Overhead(slower=self.added)

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Go on from the start of the batch, in its update too, since the old rows are put back.

        Processes that live are rolled back to it, those that died start from it.
        """
        if damage.corrupt_since is not None:
            return None
        version = moment.version if damage.alive else None
        return Plan(self.name, version, redo=moment.within, seconds=self.replay)
