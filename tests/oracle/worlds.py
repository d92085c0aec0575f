"""Small scripted jobs, drawn from a number, as the engine and as the slow engine take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from random import Random

from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import duration, lifetime
from gemsim.failures.trace import Event, Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import MODES, Grid
from gemsim.protection.layouts import MemberStripes, PageStripes
from gemsim.protection.retry import GRANULES, Retry
from gemsim.protection.state import Memory, Region
from gemsim.protection.stripe import Cadence, MemberStripe, PageStripe
from gemsim.protection.tier import Platform, Steps, Tier
from gemsim.scenario import Restart, Scenario
from gemsim.scenario.fleet import FleetPlan, hot_spares
from gemsim.scenario.intervals import timeline
from tests.oracle.setup import Failure, Setup
from tests.oracle.told import at, told

GRID = Grid(gpus=32, per_node=4, per_rack=8, per_switch=32)
SIZES = {"weights": 20, "moments": 30, "gradients": 10, "activations": 20, "buffers": 5, "context": 5, "free": 10}
REGIONS = tuple(Region(name, float(size), 1, name in ("weights", "moments")) for name, size in SIZES.items())
MEMORY = Memory(REGIONS, 100.0)

# name, scope, clock, action, contained, action if not contained, survives, running clock
KINDS = (
    ("lost gpu", "gpu", "gpu", "replace", 0.0, "none", False, False),
    ("hung gpu", "gpu", "gpu", "reset", 0.0, "none", False, False),
    ("memory", "memory", "gpu", "drain_and_reset", 0.6, "reset", True, False),
    ("memory, no remap", "memory", "gpu", "restart_app", 0.8, "replace", True, False),
    ("software", "process", "job", "restart_app", 0.0, "none", False, False),
    ("bug", "process", "job", "restart_app", 0.0, "none", False, True),
    ("survived bug", "process", "job", "restart_app", 0.0, "none", True, False),
    ("link", "link", "node", "none", 0.0, "none", False, False),
    ("node", "node", "node", "reboot", 0.0, "none", False, False),
    ("host", "node", "node", "replace", 0.0, "none", False, False),
    ("rack", "rack", "job", "replace", 0.0, "none", False, False),
    ("corruption", "silent", "gpu", "replace", 0.0, "none", False, False),
)
ROWS = ((1, 0.6), (2, 0.2), (5, 0.2))


@dataclass(frozen=True)
class Hit:
    """One failure of a script: a class, when (share of the horizon), and its marks."""

    kind: int
    when: float
    gpu: int
    contained: float
    region: float
    rows: float
    place: float


@dataclass(frozen=True)
class World:
    """A scenario with its script."""

    scenario: Scenario
    hits: tuple[Hit, ...]

    def trace(self) -> Trace:
        """The script as the engine takes it."""
        classes = self.scenario.classes
        events: dict[bool, list[Event]] = {False: [], True: []}
        counts = [0] * len(classes)
        marks: dict[tuple[int, str], list[float]] = {}
        for hit in sorted(self.hits, key=lambda h: h.when):
            kind = classes[hit.kind]
            unit = {"gpu": hit.gpu, "node": hit.gpu // GRID.per_node, "job": 0}[kind.clock]
            local = (hit.gpu % GRID.per_node + 0.5) / GRID.per_node
            device = local if kind.clock == "node" else (hit.gpu + 0.5) / GRID.gpus
            event = Event(hit.when * self.scenario.horizon, hit.kind, counts[hit.kind], unit)
            counts[hit.kind] += 1
            events[kind.exposure == "running"].append(event)
            drawn = {"device": device, "contained": hit.contained, "region": hit.region, "rows": hit.rows}
            for name, value in (drawn | {"place": hit.place, "detect": 0.5, "repair": 0.5}).items():
                marks.setdefault((hit.kind, name), []).append(value)
        return Trace(classes, 0, 0, events[False], events[True], counts, marks)

    def setup(self) -> Setup:
        """The same for the slow engine."""
        s, steps = self.scenario, self.scenario.platform.steps
        return Setup(
            gpus=GRID.gpus,
            per_node=GRID.per_node,
            per_rack=GRID.per_rack,
            step=steps.length,
            slower=steps.length - s.useful_step,
            update=steps.update,
            skew=steps.skew,
            granules={"kernel": steps.kernel, "layer": steps.layer, "microbatch": steps.microbatch},
            tiers=tuple(told(tier) for tier in s.tiers),
            mode=s.restart.mode,
            process=s.restart.process,
            communicator=s.restart.communicator,
            warmup=s.restart.warmup,
            pause=s.restart.pause,
            reset=s.restart.reset,
            reboot=s.restart.reboot,
            spares=s.spare_nodes,
            activation=s.spare_activation,
            encode_anew=s.encode_anew,
            horizon=s.horizon,
            work_steps=s.work_steps,
            remap_now=s.remap_now,
            failures=tuple(self._failure(hit) for hit in self.hits),
        )

    def _failure(self, hit: Hit) -> Failure:
        kind = self.scenario.classes[hit.kind]
        scope, action, region = kind.scope, kind.action, ""
        if scope == "memory":
            held = hit.contained < kind.contained
            scope, action = ("pages", action) if held else ("gpu", kind.uncontained_action)
            region = at(hit.region, [(name, size / 90) for name, size in SIZES.items() if name != "free"])
        return Failure(
            when=hit.when * self.scenario.horizon,
            scope=scope,
            action=action,
            gpu=hit.gpu,
            detect=kind.detect.mean,
            repair=kind.repair.mean,
            survives=kind.process_survives,
            region=region,
            rows=int(at(hit.rows, [(str(rows), share) for rows, share in ROWS])),
            place=hit.place,
            running=kind.exposure == "running",
        )


ENOUGH = 99  # spares: no recovery ever waits for a repair
SECONDS = (0.0, 0.7, 3.1, 11.3, 47.9)


def _some(rng: Random) -> float:
    """Seconds of no round number, or none: two plans are never equally long by accident."""
    return rng.choice(SECONDS) * (1.0 + 0.1 * rng.random())


def make_world(seed: int) -> World:
    """A job of some hundred steps with up to a dozen failures, spread out or close together."""
    rng = Random(seed)
    step = rng.choice([2.0, 7.3])
    update = rng.choice([0.02, 0.15]) * step
    tiers = _protection(rng, step)
    microbatch = (step - update) / 4
    length = step + sum(tier.overhead().slower for tier in tiers)
    skew = rng.choice([0.0, 0.1]) * step
    platform = Platform(GRID, MEMORY, Steps(length, update, skew, microbatch, microbatch / 3, microbatch / 15))
    scenario = Scenario(
        platform=platform,
        useful_step=step,
        timeline=timeline(platform, tiers),
        classes=tuple(_class(rng, *kind) for kind in KINDS),
        tiers=tiers,
        restart=Restart(rng.choice(["in_place", *MODES]), *(_some(rng) for _ in range(6))),
        fleet=FleetPlan(hot_spares(rng.choice([0, 1, 3, ENOUGH]), _some(rng))),
        replace_unit="node",
        encode_anew=sum(t.cadence.encode for t in tiers if isinstance(t, (PageStripe, MemberStripe))),
        horizon=rng.choice([301.3, 1207.7]),
        work_steps=rng.choice([0, 0, 0, 50]),
        stationary=True,
        profile="",
        modelled=True,
        interval_seconds=0.0,
        reach_rate=0.0,
        remap_now=Random(f"remap {seed}").random() < 0.5,
    )
    mild = rng.random() < 0.4  # mostly failures that a living process can repair
    spread = rng.choice([1.0, 1.0, 0.3, 0.05])
    return World(scenario, tuple(_hit(rng, mild, spread) for _ in range(rng.randrange(13))))


def remap_world(seed: int) -> World:
    """One of these worlds where memory errors leave rows to remap and stops of their own serve them; spares abound."""
    rng, of = Random(f"remaps {seed}"), make_world(seed).scenario
    restart = replace(of.restart, mode=rng.choice(["in_place", "in_place", "holder", "in_process"]))
    fleet = FleetPlan(hot_spares(ENOUGH, of.spare_activation))
    spread = rng.choice([1.0, 0.3, 0.05])
    hits = [replace(_hit(rng, True, spread), kind=rng.choice([2, 2, 2, 0, 3, 5, 7, 9, 11])) for _ in range(9)]
    hits = [replace(hit, contained=0.6 * hit.contained) if hit.kind == 2 else hit for hit in hits]
    return World(replace(of, remap_now=True, restart=restart, fleet=fleet), tuple(hits))


def _hit(rng: Random, mild: bool, spread: float) -> Hit:
    kind = rng.choice([2, 3, 3, 6, 7]) if mild and rng.random() < 0.9 else rng.randrange(len(KINDS))
    when = (1 - spread) * 0.4 + spread * rng.random()
    return Hit(kind, when, rng.randrange(GRID.gpus), rng.random(), rng.random(), rng.random(), rng.random())


def _protection(rng: Random, step: float) -> tuple[Tier, ...]:
    """Perhaps a retry, then up to four stripes and checkpoints in any order."""
    kinds = rng.sample(["pages", "members", "store", "hosts"], rng.randrange(5))
    kinds = ["retry", *kinds] if rng.random() < 0.5 else kinds
    return tuple(_tier(rng, kind, number, step) for number, kind in enumerate(kinds))


def _tier(rng: Random, kind: str, number: int, step: float) -> Tier:
    m = rng.randint(1, 2)
    if kind == "retry":
        return Retry(number, kind, rng.choice([*GRANULES, "mixed"]))
    if kind == "pages":
        pages = PageStripes(25, rng.choice([3, 8, 25]), m, rng.choice(["interleaved", "contiguous"]))
        return PageStripe(number, kind, pages, _cadence(rng, step), ("weights", "moments"), 0.013, 2.0)
    if kind == "members":
        members = MemberStripes(GRID, rng.choice(["gpu", "node"]), rng.choice([1, 3]), m)
        return MemberStripe(
            number, kind, members, _cadence(rng, step), 50.0, rng.choice(["gather", "pipeline", "spread"]), 9.7
        )
    seconds, count = rng.choice([(inf, 0), (inf, 2), (400.0, 0)])
    return Checkpoint(
        number=number,
        name=kind,
        target="cpu_memory" if kind == "hosts" else "remote",
        every=rng.choice([2, 7, 20]),
        blocked=_some(rng),
        lag=rng.choice([0.0, 3.3, 61.7]),
        read=_some(rng),
        keep_seconds=seconds,
        keep_count=count,
        copies=rng.choice([1, 2]) if kind == "hosts" else 1,
        stride=1,
        invalid=0.0,
        notice=0.0,
        wall_anchor=False,
    )


def _cadence(rng: Random, step: float) -> Cadence:
    """Any cadence of a stripe; the windows of buckets follow each other only when every step is encoded."""
    every, encode = rng.choice([1, 1, 2, 5]), rng.choice([0.05, 0.2]) * step
    overlap = rng.random() < 0.4
    if rng.random() < 0.4:
        stall = rng.choice([0.0, 0.1]) * step
        return Cadence(every, "snapshot", encode, stall, 0.0, _some(rng), 1, overlap)
    buckets = rng.choice([1, 4]) if every == 1 else 1
    slower = 0.3 * encode / every if overlap else 0.0
    return Cadence(every, "in_place", encode, 0.0 if overlap else encode, slower, 0.0, buckets, overlap)


def _class(
    rng: Random,
    name: str,
    scope: str,
    clock: str,
    action: str,
    contained: float,
    uncontained: str,
    survives: bool,
    running: bool,
) -> FailureClass:
    return FailureClass(
        name=name,
        scope=scope,
        lifetime=lifetime("exponential", 1e6),
        clock=clock,
        units={"gpu": GRID.gpus, "node": GRID.count("node"), "job": 1}[clock],
        spare_units=0,
        after_repair="as_new",
        exposure="running" if running else "wall",
        detect=duration("fixed", _some(rng)),
        contained=contained,
        rows=ROWS,
        rows_to_pages="adjacent_pages",
        lands="used",
        action=action,
        uncontained_action=uncontained,
        process_survives=survives,
        repair=duration("fixed", rng.choice([10.1, 300.7])),
        evict_on_detect=True,
    )
