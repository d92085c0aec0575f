"""A second simulator of a job with replica groups, to judge the engine by: every step, save and outage an event.

Written from the rules of docs/model.md; it shares no code with the engine. What was worked is a list of stretches of
the lineage with what was done and what was missing in each, so that a roll-back gives up just what it cuts off.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import heappop, heappush
from math import inf

from tests.oracle.setup_groups import Course, Failure, Stretch, World, longer, spend

COLUMNS = ("detection", "waiting", "restart", "recovery")
CLOSE = 1e-9


class SlowGroups:
    """Run it with `run()`; then read `seconds`, `recovered_by`, `failures`, `at_risk`."""

    def __init__(self, world: World, failures: list[Failure]) -> None:
        self.world = world
        self.wall = self.exposure = self.within = 0.0
        self.version = self.base = 0
        self.stepped_at = 0.0
        self.saving: float | None = None  # left of the blocked part of a save
        self.saves = [(0, 0.0, 0.0)]  # version, captured at, counts from
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.worked: list[Stretch] = []
        self.out: dict[int, tuple[float, float]] = {}  # unit -> contributes from, could from
        self.owed = False
        self.on_wall = sorted((f for f in failures if not f.running), key=lambda f: f.when)
        self.on_running = sorted((f for f in failures if f.running), key=lambda f: f.when)
        self.hidden: list[tuple[float, Failure]] = []
        self.idle, self.repairs = world.spares, list[float]()
        self.asked, self.came = list[list[int]](), list[float]()  # places, in order; when those asked for were there
        self.failures = self.rollbacks = self.fallbacks = 0
        self.remaps: list[Failure] = []
        self.recovered_by: Counter[str] = Counter()
        for failure in failures:
            failure.units = {gpu // world.unit for gpu in failure.struck}

    @property
    def place(self) -> float:
        """Where the state stands, in steps."""
        return self.version + self.within / self.world.step

    @property
    def at_risk(self) -> float:
        """Useful seconds done since the newest save."""
        saved = max(version for version, _, counts in self.saves if counts <= self.wall + CLOSE)
        return sum(self._beyond(stretch, saved) for stretch in self.worked)

    def run(self) -> None:
        """To the horizon, or until the work is done."""
        world = self.world
        while self.wall < world.horizon:
            if self.owed:
                self.owed = False
                self.stand_still(None)
                continue
            piece = self.wall + (world.step - self.within if self.saving is None else self.saving)
            due, failure = self.coming(running=True)
            back = min((until for until, _ in self.out.values()), default=inf)
            stop = min(piece, due, back, world.horizon)
            self.advance(max(0.0, stop - self.wall))
            if stop >= world.horizon:
                return
            if back <= stop:
                self.take_back()
            elif due <= stop and failure is not None:
                if self.strikes(failure):
                    self.stand_still(failure)
            elif self.piece_is_the_last():
                return

    def advance(self, seconds: float) -> None:
        """Run for so long within the present piece."""
        share = self.world.useful / self.world.step
        if self.saving is not None:
            self.saving -= seconds
            self.seconds["overhead"] += seconds
        elif seconds:
            lost = max(0.0, len(self.out) * self.world.unit / self.world.gpus - self.world.bubbles) if self.out else 0.0
            begin = self.place
            self.within += seconds
            stretch = Stretch(begin, self.place, seconds * share * (1 - lost), seconds * share * lost)
            self.worked.append(stretch)
            self.seconds["productive"] += stretch.done
            self.seconds["degraded"] += stretch.missing
            self.seconds["overhead"] += seconds * (1 - share)
        self.wall += seconds
        self.exposure += seconds

    def piece_is_the_last(self) -> bool:
        """A save or a step is complete; whether that was all the work."""
        world = self.world
        if self.saving is not None:
            self.saving = None
            self.saves.append((self.version, self.stepped_at, self.wall + world.lag))
            return False
        self.version, self.within, self.stepped_at = self.version + 1, 0.0, self.wall
        missing = sum(stretch.missing for stretch in self.worked)
        if world.work_steps and self.version >= world.work_steps + missing / world.useful - 1e-5:
            return True
        if world.every and (self.version - self.base) % world.every == 0:
            self.saving = world.blocked
        return False

    def coming(self, *, running: bool) -> tuple[float, Failure | None]:
        """The next failure, or the finding of a silent one, and when."""
        found: list[tuple[float, Failure | None]] = [(inf, None)]
        found += [(max(when, self.wall), failure) for when, failure in self.hidden]
        found += [(failure.when, failure) for failure in self.on_wall[:1]]
        if running:
            found += [(self.wall + max(0.0, f.when - self.exposure), f) for f in self.on_running[:1]]
        return min(found, key=lambda one: one[0])

    def strikes(self, failure: Failure) -> bool:
        """Take it from its list; whether it stops those that run."""
        failure.hit = self.wall
        if failure.since is not None:
            self.hidden = [one for one in self.hidden if one[1] is not failure]
            return True
        (self.on_running if failure.running else self.on_wall).remove(failure)
        node = failure.struck.start // self.world.per_node
        if failure.on_node and self.manned(node) >= self.wall:
            return False
        self.failures += 1
        if failure.silent:
            failure.since = self.wall
            self.hidden.append((self.wall + failure.detect, failure))
            failure.detect = 0.0
            return False
        if not failure.units <= set(self.out):
            return True
        self.send_to_repair(failure)
        self.leave_out(failure)
        self.recovered_by["replica_group"] += 1
        return False

    def send_to_repair(self, failure: Failure) -> None:
        """Broken nodes leave, spares take their place as soon as there are any."""
        failure.spare_at = failure.hit
        places = {gpu // self.world.per_node for gpu in failure.struck} if failure.nodes else set[int]()
        there = [place for place in places if self.manned(place) < failure.hit]
        for _ in there:
            heappush(self.repairs, failure.hit + failure.repair)
        self.remaps = [one for one in self.remaps if one.struck.start // self.world.per_node not in there]
        while there and self.repairs and self.repairs[0] <= failure.hit:
            heappop(self.repairs)
            self.idle += 1
        for _ in there:
            at = failure.hit
            if self.idle:
                self.idle -= 1
            else:
                at = heappop(self.repairs)
            self.came.append(at)
            failure.spare_at = max(failure.spare_at, at)
        self.asked.append(there)

    def manned(self, place: int) -> float:
        """Since when whoever was asked for last has been at this place: who asked first is served first."""
        when, since = sorted(self.came), -1.0
        for places in self.asked:
            served, when = when[: len(places)], when[len(places) :]
            since = max(served) if place in places else since
        return since

    def leave_out(self, failure: Failure) -> None:
        """What was struck is out until it is there, started and caught up."""
        world = self.world
        spare = (world.activation if failure.nodes else 0.0) + max(0.0, failure.spare_at - failure.hit - failure.detect)
        wait = max(spare, failure.device, world.reset if failure.remap else 0.0)
        start = world.process + world.communicator + world.warmup
        ready = failure.hit + failure.detect + wait + start + world.catch_up
        for unit in failure.units:
            longest = max(ready, self.out.get(unit, (0.0, 0.0))[1])
            self.out[unit] = (longest if world.catch_up <= world.join_timeout else inf, longest)

    def take_back(self) -> None:
        """Whoever is back by now contributes, or has the others wait first."""
        for unit in [unit for unit, (until, _) in self.out.items() if until <= self.wall + CLOSE]:
            del self.out[unit]
            self.owed = self.world.catch_up_stall > 0.0

    def give_up(self, place: float, worked: list[Stretch]) -> float:
        """Cut the lineage at a place; useful seconds that were done beyond it."""
        self.worked = []
        for one in worked:
            kept = min(1.0, max(0.0, (place - one.begin) / (one.end - one.begin)))
            if kept:
                end = min(place, one.end)
                self.worked.append(Stretch(one.begin, end, one.done * kept, one.missing * kept))
        return sum(one.done for one in worked) - sum(one.done for one in self.worked)

    @staticmethod
    def _beyond(one: Stretch, place: float) -> float:
        return one.done * min(1.0, max(0.0, (one.end - place) / (one.end - one.begin)))

    def in_update(self, skew: float = 0.0) -> bool:
        """Between two versions."""
        return self.saving is None and self.within >= self.world.step - self.world.update - skew

    def enough_left(self, struck: set[int], out: set[int]) -> bool:
        """Whether the others can go on without these units, and hold every part of the state."""
        world = self.world
        if len(struck | out) > world.most_out:
            return False
        size = world.gpus // world.groups
        hit = Counter(gpu % size for unit in struck | out for gpu in range(unit * world.unit, (unit + 1) * world.unit))
        return not world.by_node or max(hit.values()) < world.groups

    def decide(self, failures: list[Failure], out: set[int], killed: float) -> tuple[str, float, str]:
        """(who recovers, place to go on from, how)."""
        corrupt = [failure.since for failure in failures if failure.since is not None]
        if not corrupt:
            struck = set[int]().union(*(failure.units for failure in failures))
            if self.enough_left(struck, out):
                stays = not self.world.discard or self.in_update()
                return "replica_group", self.place if stays else self.version, "go on"
            if not any(failure.lost for failure in failures) and not self.in_update(self.world.skew):
                return "held", self.version, "restart"
        good = [
            version
            for version, captured, counts in self.saves
            if counts <= killed + CLOSE and all(captured <= since + CLOSE for since in corrupt)
        ]
        return ("checkpoint", max(good), "roll back") if self.world.every else ("start", 0, "roll back")

    def course(self, failure: Failure, how: str, *, remaps: bool, pause: bool) -> Course:
        """What the recovery of one failure takes."""
        world = self.world
        if how == "go on":
            return [failure.detect, 0.0, 0.0, world.stall, 0.0]
        device = max(failure.device, world.reset if remaps and how == "roll back" and not pause else 0.0)
        start = 0.0 if failure.lives else world.communicator + world.warmup
        start += world.process if failure.rejoins else 0.0
        read = world.read if how == "roll back" and world.every else 0.0
        activation = world.activation if failure.nodes else 0.0
        return [failure.detect, activation, device, start, read + (world.pause if pause else 0.0)]

    def stand_still(self, failure: Failure | None) -> None:
        """A recovery, or the wait for what comes back, and the failures in it."""
        out, worked, failures = set(self.out), list(self.worked), list[Failure]()
        killed, wasted = inf, 0.0
        course = [0.0, 0.0, 0.0, 0.0, 0.0 if failure else self.world.catch_up_stall]
        plan, down = ("", 0.0, ""), spend(course, 0.0)
        while True:
            if failure is not None:
                failures.append(failure)
                self.remaps += [failure] if failure.remap else []
                before, plan = plan[2], self.decide(failures, out, min(killed, self.wall))
                killed = killed if plan[2] == "go on" else min(killed, self.wall)
                given_up = self.give_up(plan[1], worked)
                self.seconds["wasted"] += given_up - wasted
                self.seconds["productive"] -= given_up - wasted
                wasted = given_up
                self.send_to_repair(failure)
                held_up = 0.0 if plan[2] == "go on" else max(f.spare_at for f in failures) - self.wall
                course = self.again(course, failures, (before, plan[2]), held_up)
                down = spend(course, held_up)
            end = self.wall + sum(down)
            due, failure = self.coming(running=False)
            stop = min(end, due, self.world.horizon)
            down = self.book(down, stop - self.wall)
            self.wall = stop
            if stop in (end, self.world.horizon):
                break
            failure = failure if failure is not None and self.strikes(failure) else None
        if failures:
            self.resume(plan, failures, killed)

    def again(self, course: Course, failures: list[Failure], how: tuple[str, str], held_up: float) -> Course:
        """The recovery from its first step: the longer of the old and the new, with all that any failure needs."""
        pause = all(failure.lives for failure in failures)
        fresh = self.course(failures[-1], how[1], remaps=bool(self.remaps), pause=pause)
        if not any(course):
            return fresh
        course = [*course[:4], max(course[4], fresh[4])]
        if how[0] == "go on" and how[1] != "go on":  # whoever was left out has to be there now
            for earlier in failures[:-1]:
                course = longer(self.course(earlier, how[1], remaps=False, pause=pause), course, held_up)
        return longer(fresh, course, held_up)

    def book(self, down: list[float], seconds: float) -> list[float]:
        """Spend these seconds in order; what is left of each."""
        left = []
        for column, length in zip(COLUMNS, down, strict=True):
            used = min(length, seconds)
            self.seconds[column] += used
            seconds -= used
            left.append(length - used)
        return left

    def resume(self, plan: tuple[str, float, str], failures: list[Failure], killed: float) -> None:
        """Run again."""
        who, place, how = plan
        self.recovered_by[who] += len(failures)
        if how == "roll back":  # the groups' column covers all but corruption, which is no fall-back
            self.fallbacks += sum(failure.since is None for failure in failures)
        if how == "go on":
            self.within = (place - self.version) * self.world.step
            for failure in failures:
                self.leave_out(failure)
                self.remaps = [one for one in self.remaps if one is not failure]
            self.take_back()
            return
        self.saves = [save for save in self.saves if save[2] <= killed + CLOSE and save[0] <= place]
        if how == "roll back":
            self.rollbacks += len(failures)
            if not all(failure.lives for failure in failures):
                self.remaps = []
            captured = max((when for version, when, _ in self.saves if version == place), default=0.0)
            self.hidden = [one for one in self.hidden if one[1].since is None or one[1].since < captured]
        self.version = self.base = round(place)
        self.within, self.saving = 0.0, None
        self.owed = False
        self.out = {unit: (ready, ready) for unit, (_, ready) in self.out.items() if ready > self.wall}
