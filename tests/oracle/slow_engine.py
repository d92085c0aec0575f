"""A second simulator of the job, to judge the engine by: plain, slow, one event for each step, encode and save.

Written from the description of the model, not from the engine: it shares no code with it. Where the two differ, one
is wrong. Everything is kept as it would be in the job: saves are lists, time passes piece by piece.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import inf

from tests.oracle.setup import Code, Failure, Redo, Save, Setup, Store, keeps
from tests.oracle.slow_recovery import recover
from tests.oracle.slow_remaps import serve_remaps

Coming = tuple[float, Failure, float | None]
NONE = Failure(inf, "none", "none", 0, 0.0)


class SlowJob:
    """Run it with `run()`; then read `seconds`, `recovered_by`, `failures`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.wall = 0.0
        self.exposure = 0.0  # running seconds of the whole run
        self.version = 0
        self.within = 0.0
        self.stepped_at = 0.0
        self.stalls: list[tuple[Code | Store, float]] = []  # still to stand through at this boundary
        self.base = 0
        self.saves: dict[str, list[Save]] = {t.name: [Save(0, 0.0, 0.0)] for t in setup.tiers if keeps(t)}
        self.parity: dict[str, int] = {t.name: 0 for t in setup.tiers if isinstance(t, Code)}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.recovered_by: Counter[str] = Counter()
        self.failures = 0
        self.remaps: list[int] = []  # GPUs with a row that waits for a reset
        self.stops = 0  # on purpose
        self.wall_failures = sorted((f for f in setup.failures if not f.running), key=lambda f: f.when)
        self.running_failures = sorted((f for f in setup.failures if f.running), key=lambda f: f.when)
        self.hidden: list[tuple[float, float, Failure]] = []  # (found, since, silent corruption)
        self.spares = [0.0] * setup.spares  # when each is there
        self.asked: list[list[int]] = []  # places for which nodes were asked, in order
        self.came: list[float] = []  # when each of these was at hand

    def run(self) -> None:
        """To the horizon, or to the last step of the work."""
        while True:
            length = self.stalls[0][1] if self.stalls else self.setup.step - self.within
            stop = min(self.wall + length, self.setup.horizon)
            when, failure, since = self.next_failure(running=True)
            if when < stop:
                self.advance(when - self.wall)
                if self.strike(failure, since):
                    recover(self, failure, since)
                    serve_remaps(self)
                if self.wall >= self.setup.horizon:
                    return
                continue
            whole = self.wall + length <= self.setup.horizon
            self.advance(stop - self.wall)
            if not whole:
                return
            self.finish_piece()
            if self.setup.work_steps and self.version == self.setup.work_steps and self.within == 0.0:
                return

    def advance(self, seconds: float) -> None:
        """Run for so long within the present piece."""
        if self.stalls:
            tier, left = self.stalls[0]
            self.stalls[0] = (tier, left - seconds)
            self.seconds["overhead"] += seconds
        else:
            self.within += seconds
            useful = 1.0 - self.setup.slower / self.setup.step
            self.seconds["productive"] += seconds * useful
            self.seconds["overhead"] += seconds * (1.0 - useful)
        self.wall += seconds
        self.exposure += seconds

    def finish_piece(self) -> None:
        """The step, encode or save in progress is complete."""
        if self.stalls:
            tier, _ = self.stalls.pop(0)
            self.made(tier)
            return
        self.version += 1
        self.within = 0.0
        self.stepped_at = self.wall
        due = [t for t in self.setup.tiers if not isinstance(t, Redo) and (self.version - self.base) % t.every == 0]
        for tier in sorted(due, key=lambda t: isinstance(t, Store)):
            if isinstance(tier, Code) and tier.overlap and not tier.snapshot:
                continue  # its parity is made during the next step: see `encoded`
            self.stalls.append((tier, tier.stall if isinstance(tier, Code) else tier.blocked))

    def made(self, tier: Code | Store) -> None:
        """An encode or the blocked part of a save has ended."""
        if keeps(tier):
            self.saves[tier.name].append(Save(self.version, self.stepped_at, self.wall + tier.lag))
        else:
            self.parity[tier.name] = self.version

    def encoded(self, tier: Code) -> int:
        """The version that an in-place stripe's parity describes."""
        if not tier.overlap:
            return self.parity[tier.name]
        newest = self.base + (self.version - self.base) // tier.every * tier.every
        if newest == self.version > self.base and self.within < tier.encode:
            return newest - tier.every
        return newest

    def next_failure(self, *, running: bool) -> Coming:
        """(wall time, failure, since when the state was corrupt if this is the finding of it)."""
        coming: list[Coming] = [(inf, NONE, None)]
        if self.wall_failures:
            coming.append((self.wall_failures[0].when, self.wall_failures[0], None))
        if running and self.running_failures:
            first = self.running_failures[0]
            coming.append((self.wall + max(0.0, first.when - self.exposure), first, None))
        if self.hidden:
            found, since, failure = min(self.hidden, key=lambda h: h[0])
            coming.append((max(found, self.wall), failure, since))
        return min(coming, key=lambda c: c[0])

    def strike(self, failure: Failure, since: float | None) -> bool:
        """Take it from the list; False when it does not stop the job (yet)."""
        if since is not None:
            self.hidden.remove(min(self.hidden, key=lambda h: h[0]))
            return True
        (self.running_failures if failure.running else self.wall_failures).remove(failure)
        if failure.scope == "pages" and failure.region == "free":
            return False
        if failure.scope not in ("process", "rack") and self.manned(failure.gpu // self.setup.per_node) >= self.wall:
            return False  # nobody is there who could fail
        self.failures += 1
        if failure.scope == "silent":
            self.hidden.append((self.wall + failure.detect, self.wall, failure))
            return False
        return True

    def manned(self, place: int) -> float:
        """Since when whoever was asked for last has been at this place: who asked first is served first, and all at
        once."""
        when, since = sorted(self.came), -1.0
        for places in self.asked:
            served, when = when[: len(places)], when[len(places) :]
            since = max(served) if place in places else since
        return since

    def in_update(self, skew: float = 0.0) -> bool:
        """Between the versions: the optimizer is writing."""
        return not self.stalls and self.within >= self.setup.step - self.setup.update - skew
