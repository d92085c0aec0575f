"""A failure class as the engine and the twin see it: plain SI floats, everything resolved.

Where a class comes from (a named mix, a study, a fitted log) is the business of `spec` and `scenario`; here is only
what it does: how often it fires, on whose clock, and what goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemsim.failures.laws import Duration, Lifetime

DEVICE_SCOPES = ("memory", "sram", "gpu", "silent")


@dataclass(frozen=True, slots=True)
class FailureClass:
    """One kind of failure of the job's hardware or software.

    `units` clocks of law `lifetime` run on the `exposure` clock (wall or running). A memory failure is contained with
    probability `contained` (the page is lost, the GPU lives), else `uncontained_action` follows.
    """

    name: str
    scope: str  # memory | sram | gpu | node | rack | switch | link | process | silent
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

    @property
    def rate(self) -> float:
        """Failures per second of the whole job on the class's own clock."""
        return self.units / self.lifetime.mean if self.units else 0.0

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
