"""The nodes beside the job as plain plans: spares, the way through repair, who is retired, what checks find.

Only what the study says, resolved to SI floats; the engine plays it and the twin solves what has a form.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from gemsim.failures.laws import Duration


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of repair: it takes `time`, then with probability `escalate` the next stage follows; else the node
    leaves, with probability `silent` not repaired although nobody knows. `crews` work at once (0: no limit), in order
    of arrival."""

    name: str
    time: Duration
    escalate: float
    silent: float
    crews: int


@dataclass(frozen=True, slots=True)
class Parts:
    """A share `needed` of the nodes that come to the last stage takes a part, `stock` of which lie ready at the start;
    each is ordered anew when taken and arrives after `lead`."""

    needed: float
    stock: int
    lead: Duration


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Stages in order. `misdiagnosis`: a healthy node is taken out instead, and the faulty one stays in the job."""

    stages: tuple[Stage, ...]
    misdiagnosis: float
    parts: Parts | None


@dataclass(frozen=True, slots=True)
class SparesPlan:
    """Nodes beyond the job's. Times in seconds.

    Hot ones stand by; warm ones are powered; cold ones are off and cannot fail. `activation`: until a hot, warm or cold
    one can start. `selection`: to choose hosts anew when no hot one is left. `borrow` nodes can be taken from other
    jobs, `borrow_each` for each. `reshuffle`: a selection draws all hosts anew among those at hand.
    """

    hot: int
    warm: int
    cold: int
    unit: int  # nodes that come and go together
    activation: tuple[float, float, float]
    join_fails: float
    join_timeout: float
    selection: float
    borrow: int
    borrow_each: float
    reshuffle: bool
    short: str  # wait | shrink
    placed: str = "apart"  # in racks of their own, or spread over the job's

    @property
    def nodes(self) -> int:
        """Spare nodes at the start, without those that can be borrowed."""
        return self.hot + self.warm + self.cold

    def slowest(self, nodes: int) -> float:
        """Seconds that so many spares may take to start, whichever they are, without anybody from repair."""
        sizes = (self.hot, self.warm or self.hot, self.cold)
        wait = max((t for t, size in zip(self.activation, sizes, strict=True) if size), default=0.0)
        return wait + self.selection + (self.borrow_each * nodes if self.borrow else 0.0)


@dataclass(frozen=True, slots=True)
class RetirePlan:
    """A node is taken out for good after `failures` of its own within `window` s; `restock` s later a new one comes
    (inf: never). With `half_life` the count fades instead: each failure counts 2^(-age / half_life)."""

    failures: float
    window: float
    half_life: float
    restock: float


@dataclass(frozen=True, slots=True)
class ChecksPlan:
    """Health checks every `every` s find a share `finds` of failures before they strike; each check of a healthy node
    takes it out with probability `false_positives`."""

    every: float
    finds: float
    false_positives: float


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """All of it; the default is a job without spares whose nodes each need the repair of their failure's own law."""

    spares: SparesPlan
    repair: RepairPlan | None = None  # None: one stage, the law of the class
    retire: RetirePlan | None = None
    checks: ChecksPlan | None = None


def hot_spares(nodes: int, activation: float) -> SparesPlan:
    """Spares that only differ in how long one takes to start: the short form of a study."""
    return SparesPlan(
        hot=nodes, warm=0, cold=0, unit=1, activation=(activation, activation, activation), join_fails=0.0,
        join_timeout=0.0, selection=0.0, borrow=0, borrow_each=inf, reshuffle=False, short="wait",
    )  # fmt: skip
