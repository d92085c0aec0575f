"""Stops of their own for row remaps (`remap: now`), as the renewal form takes them: a repair in place that goes on into
a stop is a restart that keeps the state, and lasts as long as both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario
from gemsim.scenario.remaps import OwnStop, own_stop, served_at_once


@dataclass(frozen=True, slots=True)
class Stops:
    """What `remap: now` adds to each branch; nothing where remaps wait for a restart."""

    now: bool
    own: OwnStop | None

    def at_once(self, branch: Branch) -> bool:
        """The recovery itself resets the GPU whose rows are remapped."""
        return self.now and _leaves(branch) and served_at_once(branch.damage)

    def after(self, branch: Branch) -> float:
        """Seconds of the stop that follows; after a roll-back of living processes nothing is left to be saved."""
        if not self._follows(branch) or self.own is None:
            return 0.0
        return self.own.seconds - (self.own.save if branch.ending == "roll_back" else 0.0)

    def apart(self, branch: Branch) -> float:
        """Of these, the wait for the reset and the restart, which are not retrieval of state."""
        return self.own.waiting + self.own.restart if self._follows(branch) and self.own is not None else 0.0

    def _follows(self, branch: Branch) -> bool:
        return self.now and _leaves(branch) and branch.ending != "go_on" and not served_at_once(branch.damage)

    def doubt(self, scenario: Scenario, found: Sequence[Branch], main: Checkpoint | None) -> float:
        """Share of time by which the form may be off for these stops.

        * A stop that saves is a save out of turn: a roll-back soon after it loses less than the form says.
        * A failure that strikes before that save has ended rolls back, whatever it would do by itself.
        * Where the last step is saved already the stop saves nothing.
        """
        pending = sum(b.rate for b in found if self._follows(b))
        if self.own is None or main is None or pending == 0.0:
            return 0.0
        tau = main.every * scenario.timeline.step
        rolled = sum(b.rate for b in found if b.ending == "roll_back")
        struck = sum(b.rate for b in found) * (self.own.seconds if self.own.save else 0.0)
        return pending * (tau / 2.0 * (rolled * tau + struck) + self.own.save / main.every)


def _leaves(branch: Branch) -> bool:
    return branch.action == "drain_and_reset"


def stops(scenario: Scenario, found: Sequence[Branch]) -> Stops:
    """The stops of a scenario. Raises NotCovered where what they cost depends on the moment."""
    if not scenario.remap_now:
        return Stops(now=False, own=None)
    here = Stops(now=True, own=own_stop(scenario))
    if not any(here._follows(branch) for branch in found):
        return here
    if here.own is None:
        raise NotCovered("remap: now: no tier brings the job back from a stop, so row remaps wait for a restart")
    if not here.own.sure:
        raise NotCovered(
            "remap: now: what a stop costs depends on the moment (replica groups, or a stripe across GPUs with a "
            "snapshot or a cadence over 1)"
        )
    return here
