"""What the twin has no form for: each said once, with its reason."""

from __future__ import annotations

from gemsim.errors import NotCovered
from gemsim.failures.classes import FailureClass
from gemsim.protection.stripe import PageStripe
from gemsim.scenario import Scenario
from gemsim.scenario.shop import comes, heaviest

SILENT_LIMIT = 0.05  # rate x latency up to which first order holds


def refuse(scenario: Scenario) -> None:
    """Raises NotCovered with the reason where no form applies."""
    if scenario.replay is not None:
        raise NotCovered("a replayed log has no law: its failures are those of the log, block by block")
    for kind in scenario.classes:
        _class(scenario, kind)
    plan = scenario.fleet
    if plan.retire is not None:
        raise NotCovered("retirement: who is taken out for good depends on the order of failures")
    if plan.checks is not None:
        raise NotCovered("health checks: what they find or take out is not in the closed form")
    if plan.repair is not None and plan.repair.misdiagnosis > 0.0:
        raise NotCovered("misdiagnosis: a faulty node that stays in the job is not in the closed form")
    load = heaviest(scenario)
    if load is not None and load.share >= 1.0:
        raise NotCovered(f"repair stage {load.stage} cannot keep up: {comes(scenario, load)}")
    if scenario.geometry is not None:
        raise NotCovered("remap_budget: which GPUs have no row left to remap is not in the closed form")
    if plan.spares.placed == "spread":
        raise NotCovered(
            "spares spread over the racks of the job: a failed rack takes them with it, and later nodes of one stripe "
            "may share one; not in the closed form"
        )
    if plan.spares.short == "shrink":
        raise NotCovered("short: shrink: running on with fewer nodes than the job asks for is not in the closed form")


def refuse_latent(scenario: Scenario, kind: FailureClass) -> None:
    """Raises NotCovered where errors that lie unseen in one GPU are not hits of a Poisson stream of its own."""
    if not kind.latent or not any(isinstance(tier, PageStripe) for tier in scenario.tiers):
        return
    if kind.frailty is not None or kind.recurrence is not None:
        raise NotCovered(f"{kind.name}: latent errors that meet on unlike or repeating devices are in no closed form")
    if kind.lifetime.kind != "exponential" or kind.exposure != "wall":
        raise NotCovered(f"{kind.name}: latent errors need an exponential law on the wall clock")


def _class(scenario: Scenario, kind: FailureClass) -> None:
    refuse_latent(scenario, kind)
    if kind.scope == "slow":
        raise NotCovered(f"{kind.name}: scope slow is not in the closed form")
    if kind.scope == "silent" and kind.rate * kind.detect.mean >= SILENT_LIMIT:
        raise NotCovered(f"silent corruption: rate x latency = {kind.rate * kind.detect.mean:.3g} is not below 0.05")
    if kind.lifetime.kind != "exponential" and kind.units < 100:
        raise NotCovered(
            f"{kind.name}: {kind.units} {kind.lifetime.kind} clocks are too few to act as a Poisson stream"
        )
    if kind.lifetime.kind != "exponential" and not scenario.stationary:
        raise NotCovered(f"{kind.name}: a new fleet with {kind.lifetime.kind} lives is not stationary")


def plain_spares(scenario: Scenario) -> bool:
    """Spares that differ in nothing, always join, and are repaired in the time of each failure's class."""
    plan = scenario.fleet.spares
    return (
        scenario.fleet.repair is None
        and not (plan.warm or plan.cold or plan.borrow or plan.join_fails or plan.selection or plan.reshuffle)
        and plan.unit == 1
    )
