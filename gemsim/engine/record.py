"""What happened in one run, event by event: exactly the run that `simulate` plays, with somebody who listens.

The listener changes nothing. It only keeps the job from the short way through plain failures, which comes to the same
row to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from gemsim.engine.history import Life
from gemsim.engine.job import Job
from gemsim.engine.noted import Booked, Spans
from gemsim.engine.recovery import Recovery
from gemsim.engine.run import play
from gemsim.engine.strike import Strike
from gemsim.engine.told import failed, struck, unheeded
from gemsim.failures.trace import Event as Failure
from gemsim.failures.trace import Trace
from gemsim.protection.timeline import saves_by
from gemsim.results.timeline import Event, Saves, Timeline
from gemsim.scenario import Scenario
from gemsim.units import brief


def record(scenario: Scenario, *, seed: int, replication: int, trace: Trace | None = None) -> Timeline:
    """Play one replication as `simulate` does, and tell what happened.

    Raises RuntimeError when the ledger does not close to the wall time.
    """
    listeners: list[Recorder] = []
    row = play(
        scenario, seed=seed, replication=replication, trace=trace,
        listen=lambda job: listeners.append(Recorder(job)),
    )  # fmt: skip
    (listener,) = listeners
    return listener.timeline(row, seed)


class Recorder:
    """Listens to a job that has not begun (a `Watch` and a `Listener`)."""

    def __init__(self, job: Job) -> None:
        self.job = job
        booked = Booked(job.ledger.seconds)
        job.ledger.seconds = booked
        job.stretch.possible = False  # each failure is to be heard of
        job.watch = job.incidents.listener = job.capacity.listener = self
        self.spans = Spans(booked)
        self.events: list[Event] = []
        self.number = 0  # of the stop that began last, from 1
        self.recovery: Recovery | None = None  # while the job stands still
        self.begun = self.until = 0.0  # wall time at which it began, and at which it is over unless something happens
        self.seen = self.asked = 0  # of its failures and requests
        self.pending: tuple[Failure, float | None, Strike, str] | None = None
        self.counts = 0, 0, 0  # failures, of idle spares, retired so far
        self.away: dict[int, tuple[float, str]] = {}  # units that are out: until when, and the class that began it
        self.lives: list[tuple[Life, dict[int, int]]] = []  # with what each tier has saved
        self.pools: list[tuple[float, int, int]] = []
        self._pools(0.0)

    def begins(self, recovery: Recovery, event: Failure) -> None:
        """Told again, with more, by `standing`."""

    def idle(self, job: Job) -> None:
        """Told by `heard`."""

    def heard(self, event: Failure, since: float | None, strike: Strike | None, now: float) -> None:
        """A failure is due, or found."""
        self._flush()
        self._catch_up(now)
        tally = self.job.tally
        before, self.counts = self.counts, (tally.failures, tally.failures_idle, self.counts[2])
        if strike is not None:
            state = self.spans.doing if self.recovery is not None else "running"
            self.pending = event, since, strike, state
            return
        if since is not None:
            return  # what was to be found has left the job
        of = unheeded(self.job, event, now, failures=self.counts[0] - before[0], idle=self.counts[1] - before[1])
        if of is not None:
            self._tell(of)
        self._pools(now)

    def standing(self, job: Job, recovery: Recovery, end: float) -> None:
        """The job stands still: for a new reason, after another failure, or for longer."""
        if self.pending is not None and not any(self.pending[2] is strike for strike in recovery.strikes):
            self._flush()
        self._catch_up(job.now)
        if recovery is not self.recovery:
            self._close()
            self._open(recovery, end)
        self.until = end
        for strike in recovery.strikes[self.seen :]:
            self._struck(recovery, strike, end)
        self.seen = len(recovery.strikes)
        self._asked(recovery)
        self._pools(job.now)

    def out(self, unit: int, until: float, cause: str) -> None:
        """A unit is out, or for longer than was known."""
        self._flush()
        now, tier = self.job.now, self.job.capacity.tier
        if until <= now and unit not in self.away:
            return  # it is back before the others run on
        if unit not in self.away and tier is not None:
            there = f"for {brief(until - now, 'time')}" if until < inf else "for good"
            name = f"{tier.out} {unit:,}"
            block = tier.members(unit, self.job.capacity.grid)
            text = f"{name} is out {there}"
            self._tell(Event(now, "out", text, name=cause, tier=tier.name, gpu=block.start, until=until))
        self.away[unit] = until, cause

    def timeline(self, row: dict[str, object], seed: int) -> Timeline:
        """All of it, once the run is over."""
        job, scenario = self.job, self.job.scenario
        self._flush()
        self._catch_up(job.now)
        self._close()
        self._save_counts()
        done = job.now < scenario.horizon
        text = f"the last of {scenario.work_steps:,} steps is done" if done else "the horizon is reached"
        self._tell(Event(job.now, "end", text))
        grid = scenario.platform.grid
        events = sorted(self.events, key=lambda event: event.at)
        return Timeline(
            row=row,
            seed=seed,
            spans=tuple(self.spans.found),
            events=tuple(events),
            saves=self._saves(),
            pools=tuple(self.pools),
            gpus=grid.gpus,
            nodes=grid.count("node"),
            spares=scenario.spare_nodes,
        )

    def _tell(self, event: Event) -> None:
        self.events.append(event)

    def _catch_up(self, now: float) -> None:
        """All that has passed without a call."""
        self.spans.up_to(now, self.job.ledger.overhead_by_tier, self.number)
        if self.recovery is not None and now >= self.until:
            self._close()
        out = self.job.capacity.out
        for unit, (until, cause) in list(self.away.items()):
            if unit in out:
                self.away[unit] = out[unit].until, cause
                continue
            del self.away[unit]
            tier = self.job.capacity.tier
            name = "" if tier is None else tier.out
            self._tell(Event(min(until, now), "in", f"{name} {unit:,} contributes again", name=cause))

    def _flush(self) -> None:
        """A failure that did not stop the job struck only what is out."""
        if self.pending is None:
            return
        event, since, strike, state = self.pending
        self.pending = None
        text = "it strikes only what is out already"
        text = text if since is None else f"found now; {text}"
        of = failed(self.job, event, strike.wall, "outside", gpu=strike.gpu, text=text)
        tier = self.job.capacity.tier
        self._tell(replace(of, state=state, tier="" if tier is None else tier.name))

    def _open(self, recovery: Recovery, end: float) -> None:
        self.recovery, self.begun = recovery, self.job.now
        self.number += 1
        self.seen = self.asked = 0
        self._save_counts()
        if recovery.strikes:
            return
        down = end - self.job.now
        late = "until a node can be had" if end == inf else f"for {brief(down, 'time')}"
        kind, why = ("catch-up", "for what comes back") if self.job.now else ("begins", "for nodes in repair")
        text = f"stands still {late}, {why}"
        self._tell(Event(self.job.now, kind, text, down=down, until=end, recovery=self.number))

    def _close(self) -> None:
        """The job runs again, unless the run ends before."""
        recovery, self.recovery = self.recovery, None
        if recovery is None or self.until > self.job.scenario.horizon:
            return
        down = self.until - self.begun
        text = f"from step {recovery.version:,} after {brief(down, 'time')}"
        self._tell(Event(self.until, "runs", text, tier=recovery.plan.tier, down=down, recovery=self.number))

    def _struck(self, recovery: Recovery, strike: Strike, end: float) -> None:
        since, state = None, "running" if len(recovery.strikes) == 1 else self.spans.doing
        if self.pending is not None:
            _, since, _, state = self.pending
            self.pending = None
        lost = self.spans.booked.taken_back()
        of = struck(self.job, recovery, strike, since=since, end=end, lost=lost)
        self._tell(replace(of, state=state, recovery=self.number))
        noted = [(number, kept[-1]) for number, kept in self.job.history.noted.items() if kept]
        for number, (version, captured, finished) in noted:
            if captured == strike.wall:
                name = self.job.scenario.tiers[number].name
                text = f"{name} saves step {version:,} before the stop, in {brief(finished - captured, 'time')}"
                self._tell(Event(captured, "saved", text, tier=name, version=version, until=finished))
        retired = self.job.tally.retired
        if retired > self.counts[2]:
            text = f"{retired - self.counts[2]:,} given up for good"
            self._tell(Event(strike.wall, "retired", text, node=strike.slots[0] if strike.slots else None))
            self.counts = *self.counts[:2], retired

    def _asked(self, recovery: Recovery) -> None:
        """Nodes that were asked for since this was last looked at."""
        for taken, _, _ in recovery.asked[self.asked :]:
            gone = "lacking" if not recovery.strikes else "taken out"
            nodes = f"1 node is {gone}" if taken.count == 1 else f"{taken.count:,} nodes are {gone}"
            wait = brief(max(0.0, taken.ready - self.job.now), "time")
            there = f"others can start after {wait}" if taken.ready < inf else "no other can be had"
            chosen = "; hosts are chosen anew" if taken.selected else ""
            failed_joins = f"; {taken.failed_joins:,} did not start" if taken.failed_joins else ""
            text = f"{nodes}; {there}{failed_joins}{chosen}"
            self._tell(Event(self.job.now, "asked", text, until=taken.ready, recovery=self.number))
        self.asked = len(recovery.asked)

    def _pools(self, now: float) -> None:
        """Nodes that stand by, and in repair, at wall time `now`."""
        counts = self.job.fleet.pools.counts(now)
        standing = counts["hot"] + counts["warm"] + counts["cold"]
        if not self.pools or self.pools[-1][1:] != (standing, counts["repair"]):
            self.pools.append((now, standing, counts["repair"]))

    def _save_counts(self) -> None:
        """What each tier has saved in the present life so far."""
        life, history = self.job.life, self.job.history
        phase = life.at(self.job.running)
        counts = {tier: saves_by(life.timeline, number, phase) for tier, number in history.stalls.items()}
        if self.lives and self.lives[-1][0] is life:
            self.lives.pop()
        self.lives.append((life, counts))

    def _saves(self) -> tuple[Saves, ...]:
        scenario, found = self.job.scenario, []
        for number, stall in self.job.history.stalls.items():
            every = scenario.timeline.stalls[stall]
            count = sum(counts.get(number, 0) for _, counts in self.lives)
            apart = every.every * scenario.timeline.pace
            found.append(Saves(scenario.tiers[number].name, count, every.every, apart, every.seconds))
        return tuple(found)
