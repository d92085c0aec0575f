"""Recoveries that nothing complicates, in one go: the job goes back to a store, and a spare that stands by comes in.

Most failures of most jobs are such. What comes out is to the last bit what `Recovery` makes of them step by step; a
test holds them equal. Wherever anything else could happen, nothing is done here.
"""

from __future__ import annotations

from math import inf

from gemsim.engine.course import Course, Down, book_all, length
from gemsim.engine.faults import Injector
from gemsim.engine.fleet import Fleet
from gemsim.engine.progress import Progress
from gemsim.engine.recovery import ROUNDING
from gemsim.engine.stores import Stores
from gemsim.engine.strike import NO_WARNING, Strike, Striker
from gemsim.engine.tally import Tally
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.tier import START, Moment, Plan, state_is_intact
from gemsim.protection.timeline import Phase
from gemsim.scenario import Scenario


class Plain:
    """Plain recoveries of a job whose only tiers are remote stores, of which no copy is ever bad."""

    def __init__(
        self, scenario: Scenario, injector: Injector, striker: Striker, fleet: Fleet, stores: Stores,
        progress: Progress, tally: Tally,
    ) -> None:  # fmt: skip
        self.scenario, self.injector, self.fleet, self.stores = scenario, injector, fleet, stores
        self.progress, self.ledger, self.tally = progress, progress.ledger, tally
        self.tiers = [tier for tier in scenario.tiers if isinstance(tier, Checkpoint)]
        self.possible = striker.placeless and not any(tier.invalid for tier in self.tiers)
        self._known: dict[tuple[float, ...], Down] = {}

    def recover(self, strike: Strike, now: float) -> float | None:
        """Play the recovery of a failure that strikes at `now`; wall time at which the job runs again. None: it is not
        a plain one."""
        if not self._is_plain(strike):
            return None
        called = ready = held_up = 0.0
        if strike.slots:
            called = self.fleet.called(strike)
            ready = self.fleet.pools.at_hand(now, called) - self.fleet.activation
            held_up = ready - now if ready > called + ROUNDING else 0.0
        if held_up == inf:
            return None
        phase = self.progress.life.at(self.progress.running)
        plan = self._plan(strike, phase)
        version = plan.version or 0
        down = self._down(strike, plan, held_up)
        end = now + length(down)
        if end > min(self.injector.peek(now, self.progress.exposure, advancing=False), self.scenario.horizon):
            return None
        end = now + (end - now)
        if not now < end >= ready:
            return None
        if strike.slots:
            self.fleet.swap(strike, ready + self.fleet.activation, end)
        self._book(strike, phase, plan, down)
        self.progress.begin(version, end)
        return end

    def _book(self, strike: Strike, phase: Phase, plan: Plan, down: Down) -> None:
        """Book the work that has to be done again and the seconds of the recovery, and end this life."""
        ledger, progress, life = self.ledger, self.progress, self.progress.life
        before = ledger.lost_to_failures
        partial = phase.within * progress.share
        ledger.waste((life.base + phase.steps - (plan.version or 0)) * self.scenario.useful_step + partial)
        book_all(ledger, down)
        self.tally.close(self.scenario, [strike], plan, ledger.lost_to_failures - before)
        if strike.damage.hosts:
            self.stores.losses.append((strike.wall, strike.damage))
        life.ended = (progress.running, strike.wall)

    def _is_plain(self, strike: Strike) -> bool:
        """Whether all processes restart from an older version, without warning, and nothing is pending from before."""
        damage = strike.damage
        if damage.alive or damage.corrupt_since is not None or state_is_intact(damage):
            return False
        if strike.notice != NO_WARNING or strike.stop or strike.remap or len(strike.slots) > 1:
            return False
        pending = self.injector.detections or self.stores.history.noted or self.progress.capacity.missing
        return not pending and self.fleet.complete

    def _plan(self, strike: Strike, phase: Phase) -> Plan:
        """What the first store that holds a version makes of it."""
        base, running = self.progress.life.base, self.progress.running
        for tier in self.stores.keepers:
            newest = self.stores.history.newest(tier.number, running=running, wall=strike.wall)
            if newest is not None:
                moment = Moment(base + phase.steps, phase.within, base, saved={tier.number: newest[0]})
                plan = tier.recover(strike.damage, moment, self.scenario.platform)
                if plan is not None:
                    return plan
        return Plan(START, 0)

    def _down(self, strike: Strike, plan: Plan, held_up: float) -> Down:
        """The seconds of the recovery; where nobody is waited for, they are alike for equal failures."""
        recovery = plan.seconds + self.scenario.encode_anew
        activation = self.fleet.activation if strike.slots else 0.0
        restart = self.scenario.restart.seconds(strike.damage)
        key = strike.detect, activation, strike.wait, restart, recovery
        known = None if held_up else self._known.get(key)
        if known is not None:
            return known
        fresh = Course(strike.detect, 0.0, activation, strike.wait, restart, recovery)
        down = fresh.steps(held_up)
        if not held_up:
            self._known[key] = down
        return down
