"""A small job with a fleet beside it, and failures written down by hand with every mark that they may be asked for.

16 GPUs in nodes of 4, two nodes to a rack, steps of 10 s of work, nothing protected unless a test says so: a failure
then costs all work so far, and the ledger is a sum that can be done in the head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import simpy

from gemsim.engine.job import Job
from gemsim.engine.run import simulate
from gemsim.failures.trace import Event, Trace
from gemsim.scenario import Scenario
from tests.engine.small import ACTIVATION, DETECT, REPAIR, Row, scenario

PLACES, PER_NODE, GPUS = 4, 4, 16
MOST_EVENTS = 3000

HARD = {"rate": "1 / 1000 d", "gpus": 16, "detect": f"{DETECT} s", "action": "replace", "repair": f"{REPAIR} s"}
GPU: dict[str, Any] = {"name": "gpu", "scope": "gpu", **HARD}
NODE: dict[str, Any] = {"name": "node", "scope": "node", **HARD}
RACK: dict[str, Any] = {"name": "rack", "scope": "rack", **HARD}
FEED: dict[str, Any] = {**RACK, "name": "feed", "scope": "power", "action": "reboot", "repair": None}
LINK: dict[str, Any] = {"name": "link", "scope": "link", "rate": "1 / 1000 d", "gpus": 16, "detect": f"{DETECT} s",
                        "action": "none"}  # fmt: skip
SLOW: dict[str, Any] = {"name": "slow", "scope": "slow", **HARD, "slower": 0.4, "detect": "300 s"}
CRAWL: dict[str, Any] = {**SLOW, "name": "crawl", "slower": 0.7, "detect": "150 s"}
STOP: dict[str, Any] = {"name": "stop", "scope": "planned", "rate": "1 / 1000 d", "gpus": 16, "detect": "0 s",
                        "action": "none", "notice": "60 s", "stop": "600 s"}  # fmt: skip
KINDS = [GPU, NODE, RACK, LINK, SLOW, CRAWL, STOP]

# What happens unless a test says otherwise: nothing out of the ordinary.
QUIET = dict.fromkeys(("misdiagnosed", "check", "recurs", "join", "silent", "escalate", "part", "bad"), 0.999)
ORDINARY = {**QUIET, "device": 0.0, "repair": 0.5}


def ordinary(name: str) -> float:
    """The mark of this name where a test says nothing."""
    return next((ORDINARY[word] for word in reversed(name.split(":")) if word in ORDINARY), 0.5)


def job(*tiers: Mapping[str, Any], kinds: list[dict[str, Any]] | None = None, **changes: Any) -> Scenario:
    """The scenario of the job; `hot` is the number of hot spares, `fleet` the section of a study, the rest as in
    `tests.engine.small.spec`."""
    fleet = dict(changes.pop("fleet", {}))
    hot, kept = changes.pop("hot", None), fleet.get("spares", {})
    activation = {"hot": f"{ACTIVATION} s", "warm": f"{ACTIVATION} s", "cold": f"{ACTIVATION} s"}
    fleet["spares"] = {"hot": hot or 0, "activation": activation, **kept}
    given = {"cluster__spare_nodes": 0, "failures__classes": KINDS if kinds is None else kinds, **changes}
    return scenario(*tiers, mode=given.pop("mode", "all_processes"), fleet=fleet, **given)


@dataclass(frozen=True)
class Blow:
    """One failure by hand: its class, when, which clock unit (or device of the fleet), and marks by name."""

    name: str
    time: float
    unit: int = 0
    bound: bool = False
    marks: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Written(Trace):
    """A trace whose marks are those of the blows, else `ordinary`."""

    said: dict[tuple[int, int], Mapping[str, float]] = field(default_factory=dict)

    def mark(self, event: Event, name: str) -> float:
        """As written; of a failure that follows another, under NAME:againK."""
        told = self.said[event.index, event.number]
        return told.get(f"{name}:again{event.again}" if event.again else name, ordinary(name))


def written(of: Scenario, *blows: Blow) -> Written:
    """The blows as a trace of this scenario's classes."""
    names = [kind.name for kind in of.classes]
    trace = Written(of.classes, 0, 0, [], [], [0] * len(names))
    for blow in sorted(blows, key=lambda blow: blow.time):
        index = names.index(blow.name)
        kind = of.classes[index]
        number, unit = trace.counts[index], 0 if kind.clock == "job" else blow.unit
        trace.counts[index] += 1
        clock = trace.wall if kind.exposure == "wall" else trace.running
        clock.append(Event(blow.time, index, number, unit, blow.bound))
        trace.said[index, number] = blow.marks
    return trace


def play(of: Scenario, *blows: Blow) -> Row:
    """The row of a run that meets these failures."""
    return simulate(of, seed=0, replication=0, trace=written(of, *blows))


def watch(of: Scenario, trace: Trace) -> Job:
    """The job after a run on this trace, to look into. A run that does not end fails."""
    env = simpy.Environment()
    seen = Job(env, of, trace)
    run = env.process(seen.run())
    for _ in range(60 * len(trace.wall) + MOST_EVENTS):
        if run.processed:
            return seen
        env.step()
    raise AssertionError(f"the run does not end: it stands at {env.now} s")


def strays(seen: Job) -> list[str]:
    """What is wrong with the whereabouts of nodes at the end of a run: each is in one place, and none is lost."""
    fleet, now = seen.fleet, seen.env.now
    fleet.pools.settle(now)
    inside = [fleet.node_in(place) for place in range(fleet.places)]
    found: list[str] = []
    if fleet.coming or fleet.pools.ready > now:  # some are on their way, of which nobody can tell who is where
        return found
    if len(set(inside)) < len(inside):
        found.append(f"one node in two places: {inside}")
    astray = {node: place for node, place in fleet.place_of.items() if place >= 0 and inside[place] != node}
    if astray:
        found.append(f"nodes that stand in a place where another stands: {astray}")
    idle = [node for k in range(10**3) if (node := fleet.pools.idle_node(k)) is not None]
    if both := set(idle) & set(inside):
        found.append(f"idle and in the job: {sorted(both)}")
    return found


def total(seen: Job) -> int:
    """Nodes in the job, in the pools, in repair, to be borrowed and gone, and those that are tried and do not start."""
    pools = seen.fleet.pools
    pools.settle(seen.env.now)
    doomed = [trial.unit for _, _, _, trial in pools._state._events if trial is not None]
    return seen.fleet.places + sum(pools.counts().values()) + sum(map(pools._state.size, doomed))
