"""The versions that tiers hold, as a recovery sees them."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from math import inf

from gemsim.engine.history import History
from gemsim.engine.strike import Strike
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import Damage
from gemsim.protection.tier import Moment, Tier
from gemsim.scenario import Scenario

NOBODY: frozenset[int] = frozenset()


class Stores:
    """Which version each tier can give back: the newest, not corrupt, not expired, with its hosts still there."""

    def __init__(self, scenario: Scenario, history: History) -> None:
        self.scenario = scenario
        self.history = history
        self.losses: list[tuple[float, Damage]] = []  # (wall, damage that took hosts with it)
        written = [t for t in scenario.tiers if not (isinstance(t, Checkpoint) and t.every >= NEVER)]
        self.keepers = [t for t in written if t.number in history.stalls and t.overhead().keeps_versions]

    def moment(self, running: float, as_of: float, corrupt_since: float | None) -> Moment:
        """Where the job stands after `running` s of its life; writes unfinished at wall time `as_of` are lost."""
        life = self.history.lives[-1]
        phase = life.at(running)
        stall = life.timeline.stalls[phase.stall].tier if phase.stall >= 0 else -1
        saved: dict[int, int] = {}
        missing: dict[int, frozenset[int]] = {}
        for tier in self.keepers:
            newest = self._newest(tier, running, as_of, corrupt_since)
            if newest is not None:
                saved[tier.number], captured = newest
                missing[tier.number] = self._missing(tier, captured)
        ahead = life.timeline.ahead(phase)
        return Moment(life.base + phase.steps, phase.within, life.base, stall, phase.elapsed, saved, missing, ahead)

    def save_on_notice(self, moment: Moment, strike: Strike) -> tuple[Moment, float]:
        """The moment with the present version saved by the first tier that can within the notice, and the seconds that
        takes; the step in progress is given up."""
        for tier in self.scenario.tiers:
            if not isinstance(tier, Checkpoint) or tier.number not in self.history.stalls:
                continue
            seconds = tier.blocked + tier.lag
            if seconds > strike.notice or not tier.survives(strike.nature, self.scenario.platform):
                continue
            self.history.note(tier.number, moment.version, strike.wall, strike.wall + seconds)
            # The newest version is what goes on. Older ones are not looked at, but where this one may turn out bad
            # after a stop that the job could have done without.
            older = [n for n in moment.saved if n > tier.number] if strike.on_purpose else []
            saved = {number: moment.saved[number] for number in older} | {tier.number: moment.version}
            missing = {number: moment.missing[number] for number in older} | {tier.number: NOBODY}
            return replace(moment, saved=saved, missing=missing), seconds
        return moment, 0.0

    def captured(self, tier: Tier, version: int, running: float, as_of: float) -> float:
        """Wall time at which the restored version was captured; infinite in a tier that keeps none but the present."""
        if tier.number not in self.history.stalls:
            return inf
        versions = self.history.versions(tier.number, running=running, wall=as_of)
        return next((when for held, when in versions if held <= version), 0.0)

    def _newest(
        self, tier: Tier, running: float, as_of: float, corrupt_since: float | None
    ) -> tuple[int, float] | None:
        """Newest held version captured before the corruption, with its capture time."""
        if corrupt_since is None:
            return self.history.newest(tier.number, running=running, wall=as_of)
        versions = self.history.versions(tier.number, running=running, wall=as_of)
        for seen, (version, captured) in enumerate(versions):
            if isinstance(tier, Checkpoint):
                expired = seen > 0 and as_of - captured > tier.keep_seconds  # the newest is never given up
                if expired or (tier.keep_count and seen >= tier.keep_count):
                    return None
            if captured <= corrupt_since:
                return version, captured
        return None

    def _missing(self, tier: Tier, captured: float) -> frozenset[int]:
        """Hosts that lost their copy of a version captured at that time."""
        if not self.losses or self.losses[-1][0] <= captured:
            return NOBODY
        later = takewhile(lambda loss: loss[0] > captured, reversed(self.losses))
        on_disk = isinstance(tier, Checkpoint) and tier.target == "disk"
        return frozenset().union(*(damage.disks if on_disk else damage.hosts for _, damage in later))
