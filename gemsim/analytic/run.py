"""The twin: the effective training time of a scenario in closed form, with its kind and its stated error.

It shares tiers, laws and costs with the engine but not the evolution in time: outcomes by phase give rates of
repairs in place, of restarts that keep the state and of roll-backs; renewal theory does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gemsim.analytic.expected import expected
from gemsim.analytic.markov import down_at_once
from gemsim.analytic.renewal import general_ettr, interruptions
from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch, Job, branches
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import START
from gemsim.scenario import Scenario

SILENT_LIMIT = 0.05  # rate x latency up to which first order holds
WAIT_LIMIT = 1e-4  # share of failures that may find no spare before waiting must be modelled
UNCOVERED_START = 1e-6  # failures per run that no tier recovers before the renewal form breaks down


@dataclass(slots=True)
class Groups:
    """Classes by how they end, as (rate per second, seconds standing still), and first-order losses beside them."""

    restarting: list[tuple[float, float]] = field(default_factory=list)
    keeping: list[tuple[float, float]] = field(default_factory=list)
    in_place: list[tuple[float, float]] = field(default_factory=list)
    extra: float = 0.0  # further useful seconds lost per running second, to first order
    doubt: float = 0.0  # error of what is not exact, share of time

    @property
    def rate(self) -> float:
        """All interruptions per second."""
        return sum(rate for group in (self.restarting, self.keeping, self.in_place) for rate, _ in group)

    @property
    def standing(self) -> float:
        """Seconds standing still per second of running, to first order."""
        return sum(rate * down for group in (self.restarting, self.keeping, self.in_place) for rate, down in group)


def predict(scenario: Scenario) -> dict[str, Any]:
    """`ettr_analytic`, `analytic_kind` (exact or first_order) and `analytic_error` (absolute). Raises NotCovered.

    exact: exponential classes on the wall clock, fixed detection, one checkpoint tier rolled back to. Everything
    else within reach is first order, with the size of the first neglected terms as its error.
    """
    _refuse(scenario)
    found = branches(_job(scenario))
    main = _main_tier(scenario, found)
    groups = _grouped(scenario, found, main)
    stalls = {s.tier: s for s in scenario.timeline.stalls}
    pace = scenario.timeline.step + sum(
        s.seconds / s.every for n, s in stalls.items() if main is None or n != main.number
    )
    steps, delta, lag = (1000, 0.0, 0.0) if main is None else (main.every, main.blocked, main.lag)
    ettr = general_ettr(
        steps * pace,
        delta,
        restarting=groups.restarting,
        in_place=groups.in_place,
        keeping=groups.keeping,
        step=pace,
        write_lag=lag,
        overhead=pace / scenario.useful_step - 1.0,
    )
    standing = interruptions(restarting=groups.restarting, in_place=groups.in_place, keeping=groups.keeping)
    ettr -= groups.extra / standing.wall_per_running
    error = _error(scenario, groups, ettr, steps * pace, lag)
    kind = "exact" if groups.doubt == 0.0 and groups.extra < 1e-6 else "first_order"
    others = expected(scenario, found, ettr=ettr, wall_per_running=standing.wall_per_running, standing=groups.standing)
    return {"ettr_analytic": max(0.0, ettr), "analytic_kind": kind, "analytic_error": error, **others}


def _job(scenario: Scenario) -> Job:
    return Job(
        scenario.platform,
        scenario.timeline,
        scenario.tiers,
        scenario.classes,
        scenario.restart.mode,
        scenario.replace_unit,
    )


def _refuse(scenario: Scenario) -> None:
    """Raises NotCovered with the reason where no form applies."""
    for kind in scenario.classes:
        if kind.scope == "silent" and kind.rate * kind.detect.mean >= SILENT_LIMIT:
            raise NotCovered(
                f"silent corruption: rate x latency = {kind.rate * kind.detect.mean:.3g} is not below 0.05"
            )
        if kind.lifetime.kind != "exponential" and kind.units < 100:
            raise NotCovered(
                f"{kind.name}: {kind.units} {kind.lifetime.kind} clocks are too few to act as a Poisson stream"
            )
        if kind.lifetime.kind != "exponential" and not scenario.stationary:
            raise NotCovered(f"{kind.name}: a new fleet with {kind.lifetime.kind} lives is not stationary")
    dry = _no_spare(scenario)
    if dry > WAIT_LIMIT:
        raise NotCovered(f"{dry:.2g} of replacements find no spare; waiting for repairs is not in the closed form")


def _no_spare(scenario: Scenario) -> float:
    """P(no idle spare), M/G/inf: broken nodes are Poisson with mean rate x repair time (Palm's theorem)."""
    load = sum(k.rate * k.repair.mean for k in scenario.classes if k.action == "replace")
    if load == 0.0:
        return 0.0
    return down_at_once(load, 1.0, more_than=scenario.spare_nodes - 1) if scenario.spare_nodes else 1.0


def _main_tier(scenario: Scenario, found: tuple[Branch, ...]) -> Checkpoint | None:
    """The deepest checkpoint tier that anything rolls back to."""
    lost = sum(b.rate for b in found if b.tier == START)
    if lost * scenario.horizon > UNCOVERED_START:
        raise NotCovered(
            f"{lost * scenario.horizon:.3g} failures per run are recovered by no tier and start the job again"
        )
    reached = {b.number for b in found if b.ending == "roll_back"}
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint) and t.number in reached]
    return tiers[-1] if tiers else None


def _grouped(scenario: Scenario, found: tuple[Branch, ...], main: Checkpoint | None) -> Groups:
    """Sort branches into the groups of the renewal form."""
    groups = Groups()
    pending = sum(b.rate for b in found if b.action == "drain_and_reset" and b.ending == "in_place")
    rolled = sum(b.rate for b in found if _refills_memory(scenario, b))
    served = pending / (pending + rolled) if rolled else 0.0
    for branch in found:
        _add(scenario, groups, branch, main, served)
    for kind in scenario.classes:
        if kind.exposure == "running" or kind.detect.kind != "fixed" or kind.lifetime.kind != "exponential":
            groups.doubt += kind.rate * kind.detect.mean * 0.1 + kind.rate * 60.0 * groups.standing
    return groups


def _add(scenario: Scenario, groups: Groups, branch: Branch, main: Checkpoint | None, served: float) -> None:
    down = _down(scenario, branch, reset=False)
    if branch.ending == "in_place":
        groups.in_place.append((branch.rate, down))
        groups.extra += branch.rate * branch.redo * scenario.useful_share
        return
    if branch.ending == "keep":
        groups.keeping.append((branch.rate, down))
        return
    target = groups.restarting if main is not None and branch.number == main.number else groups.keeping
    own = branch.action == "drain_and_reset"
    share = (1.0 if own else served) if _refills_memory(scenario, branch) else 0.0
    for weight, reset in ((share, True), (1.0 - share, False)):
        if weight > 0.0:
            target.append((branch.rate * weight, _down(scenario, branch, reset=reset)))
    if target is groups.keeping:
        extra = _older(scenario, branch.number)
        groups.extra += branch.rate * extra
        groups.doubt += branch.rate * extra * branch.rate * extra
    if branch.kind.scope == "silent":
        groups.extra += branch.rate * branch.kind.detect.mean
        groups.doubt += (branch.rate * branch.kind.detect.mean) ** 2


def _refills_memory(scenario: Scenario, branch: Branch) -> bool:
    """Processes start anew from a state outside GPU memory: pending row remaps are served then."""
    stored = branch.number < 0 or isinstance(scenario.tiers[branch.number], Checkpoint)
    return branch.ending == "roll_back" and not branch.damage.alive and stored


def _older(scenario: Scenario, number: int) -> float:
    """Mean useful seconds between the last whole step and the version that a shallower tier restores."""
    tier = scenario.tiers[number]
    if isinstance(tier, (PageStripe, MemberStripe)):
        return (tier.cadence.every - 1) / 2 * scenario.useful_step + tier.cadence.lag
    if isinstance(tier, Checkpoint):
        return (tier.every - 1) / 2 * scenario.useful_step + tier.lag
    return 0.0


def _down(scenario: Scenario, branch: Branch, *, reset: bool) -> float:
    """Mean seconds the job stands still: detection, replacement, restart, recovery."""
    restart = scenario.restart
    activation = scenario.spare_activation if branch.action == "replace" else 0.0
    device = {"reset": restart.reset, "reboot": restart.reboot}.get(branch.action, 0.0)
    waiting = max(activation, device, restart.reset if reset else 0.0)
    detect = 0.0 if branch.kind.scope == "silent" else branch.kind.detect.mean
    pause = restart.pause if branch.damage.restart == "in_place" else 0.0
    encode = 0.0 if branch.ending == "in_place" else scenario.encode_anew
    return detect + waiting + restart.seconds(branch.damage) + pause + branch.recovery + encode


def _error(scenario: Scenario, groups: Groups, ettr: float, tau: float, lag: float) -> float:
    """Absolute error: the neglected second-order terms, and what is lost to rounding."""
    second = groups.extra * groups.rate * (tau + groups.standing / max(groups.rate, 1e-30))
    kept = sum(rate for rate, _ in groups.keeping)
    rolled = sum(rate for rate, _ in groups.restarting)
    phases = groups.rate * scenario.timeline.step * groups.rate * tau
    return 1e-9 + 2.0 * second + kept * lag * rolled * tau + groups.doubt + phases * (1.0 - ettr)
