"""The twin: the effective training time of a scenario in closed form, with its kind and its stated error.

It shares tiers, laws and costs with the engine but not the evolution in time: outcomes by phase give rates of
repairs in place, of restarts that keep the state and of roll-backs; renewal theory does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

from gemsim.analytic.expected import around, expected
from gemsim.analytic.markov import down_at_once
from gemsim.analytic.renewal import general_ettr, interruptions
from gemsim.errors import NotCovered
from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import Duration
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.kinds import Job
from gemsim.protection.reach import Branch, branches
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import START
from gemsim.scenario import Scenario

SILENT_LIMIT = 0.05  # rate x latency up to which first order holds
WAIT_LIMIT = 1e-4  # share of failures that may find no spare before waiting must be modelled
NEGLIGIBLE = 1e-5  # share of time, a hundredth of what a run of this size can tell
UNCOVERED_START = 1e-6  # failures per run that no tier recovers before the renewal form breaks down


@dataclass(slots=True)
class Groups:
    """Classes by how they end, as (rate per second, seconds standing still), and first-order losses beside them."""

    restarting: list[tuple[float, float]] = field(default_factory=list)
    keeping: list[tuple[float, float]] = field(default_factory=list)
    in_place: list[tuple[float, float]] = field(default_factory=list)
    extra: float = 0.0  # further useful seconds lost per running second, to first order
    silent: float = 0.0  # share of the work done that was corrupt when it was done
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
    kinds = {
        "restarting": joined(groups.restarting),
        "in_place": joined(groups.in_place),
        "keeping": joined(groups.keeping),
    }
    standing = interruptions(**kinds)
    ettr = general_ettr(
        steps * pace,
        delta,
        **kinds,
        rates=standing,
        step=pace,
        write_lag=lag,
        overhead=pace / scenario.useful_step - 1.0,
    )
    ettr = (ettr - groups.extra / standing.wall_per_running) * (1.0 - groups.silent)
    error = _error(scenario, groups, ettr, steps * pace)
    kind = "exact" if groups.doubt + groups.extra + groups.silent < NEGLIGIBLE else "first_order"
    others = expected(scenario, found, ettr=ettr, wall_per_running=standing.wall_per_running, standing=groups.standing)
    return {"ettr_analytic": max(0.0, ettr), "analytic_kind": kind, "analytic_error": error, **others}


def joined(classes: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Classes that stand still equally long as one class."""
    rates: dict[float, float] = {}
    for rate, seconds in classes:
        rates[seconds] = rates.get(seconds, 0.0) + rate
    return [(rate, seconds) for seconds, rate in rates.items()]


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
    groups.restarting, groups.keeping, groups.in_place = (
        _merged(group) for group in (groups.restarting, groups.keeping, groups.in_place)
    )
    groups.doubt += _doubt(scenario, groups, found, main)
    return groups


def _doubt(scenario: Scenario, groups: Groups, found: tuple[Branch, ...], main: Checkpoint | None) -> float:
    """Share of time that the renewal form may be off by where its assumptions fail; 0 where they hold.

    * A write in progress is lost by a restart that keeps the state; the form lets it end.
    * A pause longer than a restart counts in full when it is met during one; the restart alone is needed.
    * A failure during a recovery finds the job in the phase in which the first one stopped it; the form draws the phase
      anew, so that one outside the vulnerable window can be followed by one inside.
    * Which roll-backs serve a row remap, and so take longer, is known to first order.
    * What `_of_class` adds for each class.
    """
    everything = (*groups.restarting, *groups.keeping, *groups.in_place)
    mild = sum(r * d for group in (groups.keeping, groups.in_place) for r, d in group)
    tau, lag = (0.0, 0.0) if main is None else (main.every * scenario.timeline.step, main.lag)
    kept, rolled = (sum(r for r, _ in group) for group in (groups.keeping, groups.restarting))
    rate = kept + rolled + sum(r for r, _ in groups.in_place)
    if rate == 0.0:
        return 0.0
    standing = sum(r * d for r, d in everything)
    doubt = kept * lag * rolled * tau
    for stall in {d for _, d in groups.in_place}:
        hits = sum(a for a, d in groups.in_place if d == stall)
        doubt += hits * sum(r * d * max(0.0, stall - d) for r, d in (*groups.restarting, *groups.keeping))
    doubt += _by_phase(found) * mild * (tau / 2.0 + standing / rate)
    if any(b.action == "drain_and_reset" for b in found):
        doubt += rolled * scenario.restart.reset * min(1.0, standing)
    squares = sum(r * d * d for r, d in everything)
    again = squares / 2.0 + standing * standing / rate + mild * tau / 2.0
    return doubt + sum(_of_class(kind, rate, again, standing / rate + tau) for kind in scenario.classes)


def _by_phase(found: tuple[Branch, ...]) -> float:
    """Rate of roll-backs that would be none had the failure struck in another phase."""
    spared = {id(b.damage) for b in found if b.ending != "roll_back"}  # branches of one damage share the object
    return sum(b.rate for b in found if b.ending == "roll_back" and id(b.damage) in spared)


def _of_class(kind: FailureClass, rate: float, again: float, near: float) -> float:
    """A class's part of `_doubt`; `rate` of all failures.

    On the clock of running time it cannot hit a recovery; the form lets it, which costs `again` seconds for each
    failure per second of its rate. A random detection of variance V makes recoveries longer by rate x V / 2. A device
    that is not exponential and has just been replaced can fail again within the next `near` seconds.
    """
    doubt = 0.0
    if kind.exposure == "running":
        doubt += kind.rate * again
    if kind.detect.kind != "fixed" and kind.scope != "silent":
        doubt += kind.rate * rate * _variance(kind.detect) / 2.0
    if kind.lifetime.kind != "exponential":
        doubt += kind.rate * near * float(kind.lifetime.cdf(near))
    return doubt


def _variance(law: Duration) -> float:
    """Variance of a random time, seconds squared."""
    return law.mean**2 * (exp(law.sigma**2) - 1.0 if law.kind == "lognormal" else 1.0)


def _merged(group: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Classes of equal length as one: the renewal form's cost grows with their number."""
    rates: dict[float, float] = {}
    for rate, down in group:
        rates[down] = rates.get(down, 0.0) + rate
    return [(rate, down) for down, rate in rates.items()]


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
        groups.silent += branch.rate * branch.kind.detect.mean
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
    pause = scenario.restart.pause if branch.damage.restart == "in_place" else 0.0
    encode = 0.0 if branch.ending == "in_place" else scenario.encode_anew
    return around(scenario, branch, reset=reset) + pause + branch.recovery + encode


def _error(scenario: Scenario, groups: Groups, ettr: float, tau: float) -> float:
    """Absolute error: the neglected second-order terms, and what is lost to rounding."""
    second = (groups.extra + groups.silent) * groups.rate * (tau + groups.standing / max(groups.rate, 1e-30))
    phases = groups.rate * scenario.timeline.step * groups.rate * tau
    return 1e-9 + 2.0 * second + groups.doubt + phases * (1.0 - ettr)
