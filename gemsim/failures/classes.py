"""A failure class as the engine and the twin see it: plain SI floats, everything resolved.

Where a class comes from (a named mix, a study, a fitted log) is the business of `spec` and `scenario`; here is only
what it does: how often it fires, on whose clock, and what goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemsim.failures.laws import Duration, Lifetime, duration

NO_TIME = duration("fixed", 0.0)
FALSE_ALARM = "false_alarm"  # the class of healthy nodes that a health check takes out
DEVICE_SCOPES = ("memory", "sram", "gpu", "silent")


@dataclass(frozen=True, slots=True)
class Frailty:
    """Devices are not alike: each fails at its own multiple of the class's rate, for good.

    gamma: multiples of mean 1 and variance 1 / `shape`. lemons: a device is one with probability `share` and then fails
    at `multiplier` times the rate of a good one; `good` is that of a good one as a multiple of the class's rate.
    """

    kind: str  # gamma | lemons
    shape: float = 1.0
    share: float = 0.0
    multiplier: float = 1.0
    good: float = 1.0

    @property
    def common(self) -> float:
        """The part of the rate that every device has, as a multiple of the class's."""
        return self.good if self.kind == "lemons" else 0.0

    @property
    def mean(self) -> float:
        """Mean multiple over devices."""
        return 1.0 if self.kind == "gamma" else self.good * (1.0 + self.share * (self.multiplier - 1.0))


@dataclass(frozen=True, slots=True)
class Batch:
    """Units struck at the same instant: (size, probability), all `within` one domain (or anywhere: cluster)."""

    sizes: tuple[tuple[int, float], ...]
    within: str  # cluster | rack | switch | power
    domain: int  # units of this class in one such domain

    @property
    def mean(self) -> float:
        """Mean units struck together in a full domain."""
        return self.mean_of(self.domain)

    def mean_of(self, units: int) -> float:
        """Mean units struck together in a domain of so many."""
        return sum(min(size, units) * share for size, share in self.sizes)

    def size(self, u: float) -> int:
        """Units struck together, from one uniform mark; never more than the domain holds."""
        total = 0.0
        for size, share in self.sizes:
            total += share
            if u < total:
                return min(size, self.domain)
        return min(self.sizes[-1][0], self.domain)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """After a failure the same device fails again with probability `again`, after `gap`, if it is still in use."""

    again: float
    gap: Lifetime


@dataclass(frozen=True, slots=True)
class FailureClass:
    """One kind of failure of the job's hardware or software.

    `units` clocks of law `lifetime` run on the `exposure` clock (wall or running). A memory failure is contained with
    probability `contained` (the page is lost, the GPU lives), else `uncontained_action` follows. `drift`: (from this
    second of the clock on, factor on the rate), the first from 0. With `frailty`, `devices` of the fleet have a
    multiple each; the lifetime is then that of multiple 1.
    """

    name: str
    scope: str  # memory | sram | gpu | node | rack | switch | power | link | process | silent | planned | slow
    lifetime: Lifetime  # seconds, per clock unit
    clock: str  # gpu | node | job
    units: int  # clocks of this class in the job
    spare_units: int  # clocks of this class on idle spares
    after_repair: str  # as_new | as_old
    exposure: str  # wall | running
    detect: Duration
    contained: float
    rows: tuple[tuple[int, float], ...]  # (rows hit, probability)
    rows_to_pages: str  # adjacent_pages | same_page | scattered
    lands: str  # used | critical | all
    action: str  # none | restart_app | drain_and_reset | reset | reboot | replace
    uncontained_action: str
    process_survives: bool
    repair: Duration
    evict_on_detect: bool
    fails_idle: bool = False  # a spare that stands by fails at the same rate
    devices: int = 0  # clock units of the whole fleet; who is a lemon is drawn among them
    frailty: Frailty | None = None
    drift: tuple[tuple[float, float], ...] = ()
    batch: Batch | None = None
    recurrence: Recurrence | None = None
    slower: float = 0.0  # scope slow: share of the job's speed lost until it is detected
    notice: float = 0.0  # scope planned: seconds from the announcement to the stop
    stop: Duration = NO_TIME  # scope planned: how long the job then stands
    latent: float = 0.0  # scope memory: share of contained hits on critical state that are seen only when it is read
    read: Duration = NO_TIME  # until it is, unless a scrub comes first

    @property
    def rate(self) -> float:
        """Failures per second of the whole job on the class's own clock, over all devices, without drift."""
        mean = 1.0 if self.frailty is None else self.frailty.mean
        return mean * self.units / self.lifetime.mean if self.units else 0.0

    @property
    def starts(self) -> float:
        """Instants per second at which any of its devices fail: those of a batch fail at one, fewer where a domain is
        not full."""
        if self.batch is None or not self.units:
            return self.rate
        rest = self.units % self.batch.domain
        full = (self.units - rest) / self.batch.mean
        return self.rate / self.units * (full + (rest / self.batch.mean_of(rest) if rest else 0.0))

    @property
    def striking(self) -> float:
        """Share of its failures that strike the job: those that follow others on a device do not once that has been
        replaced."""
        gone = self.recurrence is not None and self.action_of(contained=False) == "replace" and self.scope != "memory"
        return 1.0 - self.recurrence.again if gone and self.recurrence is not None else 1.0

    def action_of(self, contained: bool) -> str:
        """What the hardware needs after this failure; a corrupting device that is kept needs a restart alone."""
        if self.scope == "silent" and not self.evict_on_detect:
            return "restart_app"
        return self.action if self.scope != "memory" or contained else self.uncontained_action

    def rows_hit(self, u: float) -> int:
        """Rows lost together, from one uniform mark."""
        total = 0.0
        for rows, share in self.rows:
            total += share
            if u < total:
                return rows
        return self.rows[-1][0]


def factor_at(drift: Sequence[tuple[float, float]], time: float) -> float:
    """The factor of a rate that steps in time, at this time; 1 before the first step."""
    found = 1.0
    for start, factor in drift:
        if start > time:
            break
        found = factor
    return found
