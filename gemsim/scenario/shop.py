"""What loads the repair shop: nodes that come to it, and whether the crews of each stage can keep up.

Idea: all places manned and the job running give the most that can come, and so an upper bound. Left out are
retirement, misdiagnosis, GPUs without a row left to remap, and that repair makes lemons ordinary.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from gemsim.errors import Infeasible
from gemsim.failures.classes import FailureClass, factor_at
from gemsim.failures.laws import Duration
from gemsim.protection.damage import consequence, nature_of
from gemsim.scenario.blind import seconds_of_a_run
from gemsim.scenario.fleet import RepairPlan, SparesPlan
from gemsim.scenario.model import Scenario
from gemsim.scenario.racks import taken_rate
from gemsim.units import brief as text

BEFORE_THE_RUN = -1.0  # a time at which no drift has begun
MOST_ARRIVALS, LONG = 3000, 20  # a prehistory: so many arrivals at most, so many times the mean time in the shop
NEAR = 0.9  # of what the crews can do: from here on waits are long, and depend on the start
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Flow:
    """What comes to the shop, in nodes (or units that go together) per second while all places are manned."""

    causes: tuple[int, ...]  # failure class
    rates: tuple[float, ...]
    times: tuple[Duration, ...]  # each class's own repair
    idle: float  # from each powered spare that stands by
    places: int
    spares: int
    powered: int  # of these, those that can fail

    @property
    def rate(self) -> float:
        """From the job."""
        return sum(self.rates)

    def from_job(self, inside: int) -> float:
        """Share of the places of the job that are manned."""
        return min(1.0, max(0, self.places + self.spares - inside) / self.places)

    def from_spares(self, inside: int) -> int:
        """Spares that stand by and can fail: powered ones are the first to be used."""
        return max(0, self.powered - inside)


@dataclass(frozen=True, slots=True)
class Load:
    """What a stage with crews is asked for and can do, in nodes (or units) per second, from `since` s of the run on."""

    stage: str
    arrivals: float
    crews: int
    mean: float  # s of a repair
    since: float = BEFORE_THE_RUN

    @property
    def capacity(self) -> float:
        """What its crews can do; `share` of it is asked for."""
        return self.crews / self.mean

    @property
    def share(self) -> float:
        """Offered load per crew: from 1 on the queue grows without end."""
        return self.arrivals / self.capacity


def flow_of(scenario: Scenario, *, at: float = BEFORE_THE_RUN) -> Flow:
    """Which failures send how many nodes to repair, as if the job always ran, `at` so many seconds of the run.

    Before it no step of a drift has begun, and rates are those at factor 1.
    """
    grid, spares = scenario.platform.grid, scenario.fleet.spares
    causes, rates, times, idle = [], [], [], 0.0
    for index, kind in enumerate(scenario.classes):
        factor = factor_at(kind.drift, at)
        rate = kind.rate * factor * replaced(kind) * noticed(kind)
        if rate > 0.0:
            causes.append(index)
            rates.append(rate * units_per_failure(scenario, kind))
            times.append(kind.repair)
            if kind.spare_units:
                idle += rate / kind.units * kind.spare_units * blocks_per_device(scenario, kind, spares.unit)
            elif spares.placed == "spread":
                idle += factor * taken_rate(kind, grid, spares.hot + spares.warm)
    powered = (spares.hot + spares.warm) // spares.unit
    return Flow(
        tuple(causes), tuple(rates), tuple(times), idle / powered if powered else 0.0,
        ceil(grid.count("node") / spares.unit), spares.nodes // spares.unit, powered,
    )  # fmt: skip


def replaced(kind: FailureClass) -> float:
    """Share of the failures of a class that take a node out."""
    if kind.scope == "memory":  # contained ones keep their device
        return (1.0 - kind.contained) * (kind.uncontained_action == "replace")
    return float(kind.action_of(contained=False) == "replace")


def units_per_failure(scenario: Scenario, kind: FailureClass) -> float:
    """Units of nodes that go for each failure of a class; of GPUs struck together those of one node are one."""
    hosts, unit = _taken(scenario, kind), scenario.fleet.spares.unit
    return len({host // unit for host in hosts} or {0}) * blocks_per_device(scenario, kind, len(hosts) or 1)


def met(scenario: Scenario, kind: FailureClass) -> float:
    """Failures that meet a device in the job, for each of the devices struck, where they take nodes out: the first of a
    node or rack leaves its place empty, and others of it at the same instant strike nothing. What follows another on
    its device comes alone."""
    again = 0.0 if kind.recurrence is None else kind.recurrence.again
    return again + (1.0 - again) * blocks_per_device(scenario, kind, len(_taken(scenario, kind)) or 1)


def _taken(scenario: Scenario, kind: FailureClass) -> frozenset[int]:
    """Hosts that go with one device whose node is replaced."""
    return consequence(
        mode=scenario.restart.mode, nature=nature_of(kind.scope, contained=False, region="", action="replace"),
        action="replace", gpu=0, grid=scenario.platform.grid, hit=None, survives=kind.process_survives,
        replace_unit=scenario.replace_unit,
    ).hosts  # fmt: skip


def blocks_per_device(scenario: Scenario, kind: FailureClass, nodes: int) -> float:
    """Blocks of so many nodes that a failure strikes, for each of the devices struck at one instant; these are any of
    their domain (hypergeometric). Kind: exact for domains of whole blocks."""
    if kind.batch is None:
        return 1.0
    domain = kind.batch.domain
    block = min(domain, nodes * (scenario.platform.grid.per_node if kind.clock == "gpu" else 1))
    struck = sum(
        share * domain / block * (1.0 - prod((domain - size - i) / (domain - i) for i in range(block)))
        for size, share in ((min(size, domain), share) for size, share in kind.batch.sizes)
    )
    return struck / kind.batch.mean


def noticed(kind: FailureClass) -> float:
    """Share of failures that meet a device in use. One that follows another on a node that was replaced waits until
    that is back, and finds it among the spares; not where these do not fail."""
    return 1.0 if kind.fails_idle else kind.striking


def reached(plan: RepairPlan) -> list[float]:
    """P(a repair comes to each stage). Kind: exact."""
    chances = [1.0]
    for stage in plan.stages[:-1]:
        chances.append(chances[-1] * stage.escalate)
    return chances


def prehistory(plan: RepairPlan, rate: float) -> float:
    """Seconds that are played before a stationary run, while nodes come at this rate."""
    lead = plan.parts.lead.mean if plan.parts else 0.0
    return min(LONG * (sum(one.time.mean for one in plan.stages) + lead), MOST_ARRIVALS / rate)


def loads(scenario: Scenario, *, at: float = BEFORE_THE_RUN) -> list[Load]:
    """The load of each stage with crews, spares that do not join included. Parts are ordered one for one, from a supply
    without limit, and stop nobody for good; a replayed log has no rates."""
    plan = scenario.fleet.repair
    if plan is None or scenario.replay is not None or not any(one.crews and one.time.mean for one in plan.stages):
        return []
    flow = flow_of(scenario, at=at)
    rate = flow.rate * (1.0 + _not_joined(scenario.fleet.spares)) + flow.idle * flow.powered
    return [
        Load(stage.name, rate * chance, stage.crews, stage.time.mean, at)
        for chance, stage in zip(reached(plan), plan.stages, strict=True)
        if stage.crews and stage.time.mean
    ]


def _not_joined(plan: SparesPlan) -> float:
    """Spares that do not start, for each node replaced: all can be tried once."""
    fails, spares = plan.join_fails, plan.nodes // plan.unit
    return float(spares) if fails == 1.0 else fails * (1.0 - fails**spares) / (1.0 - fails)


def heaviest(scenario: Scenario) -> Load | None:
    """The largest load of a run, whichever stage of repair and stretch of a drift has it; None without crews."""
    end = seconds_of_a_run(scenario)
    starts = {0.0} | {since for kind in scenario.classes for since, _ in kind.drift if since < end}
    found = [load for at in sorted(starts) for load in loads(scenario, at=at)]
    return max(found, key=lambda one: one.share, default=None)


def refuse_overload(scenario: Scenario) -> None:
    """Raises Infeasible where a run is to begin as a long time leaves it, and crews that cannot keep up leave an ever
    longer queue."""
    if not scenario.stationary:
        return
    for load in loads(scenario):
        if load.share >= 1.0:
            key = f"fleet.repair.stages.{load.stage}"
            fewest = int(load.arrivals * load.mean) + 1
            raise Infeasible(
                f"{key}: {comes(scenario, load)}: there is no stationary state to begin with (run.start: stationary). "
                f"Write crews: {fewest} or more, a shorter time, or run.start: new"
            )


def comes(scenario: Scenario, load: Load) -> str:
    """What comes to a stage and what its crews can do."""
    units = "racks" if scenario.fleet.spares.unit > 1 else "nodes"
    does = f"{load.crews} crew{'' if load.crews == 1 else 's'} / {text(load.mean, 'time')} = {load.capacity * DAY:.3g}"
    return f"{load.arrivals * DAY:.3g} {units} a day come while the job runs, {does} a day can be mended"


def shop_said(scenario: Scenario) -> list[str]:
    """What a reader must know of the repair shop: that nobody comes to it, that it cannot keep up, or hardly."""
    if _never_reached(scenario):
        return ["Repair: no failure here takes a node out (no class has action: replace), so that the stages of "
                "fleet.repair are never reached. Remove them, or write action: replace"]  # fmt: skip
    load = heaviest(scenario)
    if load is None or load.share < NEAR:
        return []
    said = f"Repair: stage {load.stage} has a load of {load.share:.3g} ({comes(scenario, load)})"
    drifts = any(kind.drift for kind in scenario.classes)
    if load.share >= 1.0:
        units = "racks" if scenario.fleet.spares.unit > 1 else "nodes"
        since = f"from {text(load.since, 'time')} on" if load.since > 0.0 else "from the start"
        long = f"{since}, until rates step down" if drifts else "as long as the run lasts"
        grows = f"{(load.arrivals - load.capacity) * DAY:.2g} {units} per day"
        return [f"{said}: the queue grows by {grows} {long}, and results depend on the length of the run"]
    said += ", near saturation: waits there are long and depend on how the run begins"
    if not scenario.stationary:
        return [f"{said} (run.start: new, with an empty shop)"]
    return [
        f"{said}; the time played before it ({LONG} mean times, {MOST_ARRIVALS:,} arrivals at most) is short for that"
    ]


def _never_reached(scenario: Scenario) -> bool:
    """Whether `fleet.repair` is given and nothing sends a node there."""
    plan = scenario.fleet
    if plan.repair is None or plan.retire is not None or plan.checks is not None or scenario.geometry is not None:
        return False
    return scenario.replay is None and not any(kind.rate * replaced(kind) > 0.0 for kind in scenario.classes)
