"""The way through repair in equilibrium: how long it takes, how many are in it, how often it ends in vain.

One idea: stages in which a share goes on to the next are a Jackson network, so each stage is a queue by itself.
Rates per second, times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, fsum

from gemsim.analytic.queues import chain, crews
from gemsim.analytic.spares import broken_at_once, wanted
from gemsim.errors import NotCovered
from gemsim.failures.laws import Duration
from gemsim.scenario.fleet import Parts, RepairPlan, Stage
from gemsim.scenario.shop import reached


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Mean seconds from failure to return, queues and parts included; probability that the repair was in vain though
    nobody knows; number of nodes in it on average."""

    mean: float
    silent: float
    inside: float


def silent(plan: RepairPlan) -> float:
    """P(a node leaves repair as faulty as it came). Kind: exact."""
    last = len(plan.stages) - 1
    return fsum(
        chance * (1.0 if number == last else 1.0 - stage.escalate) * stage.silent
        for number, (chance, stage) in enumerate(zip(reached(plan), plan.stages, strict=True))
    )


def pipeline(rate: float, plan: RepairPlan) -> Pipeline:
    """Nodes that fail at `rate` on their way through repair. Raises NotCovered where crews cannot keep up.

    Kind: exact for stages without a limit of crews, or with exponential times (Jackson 1957); else the wait for a crew
    is first order. Waits for parts are exact for exponential stages without limits; they come before the repair.
    """
    mean = fsum(
        chance * (stage.time.mean + _crew_wait(rate * chance, stage))
        for chance, stage in zip(reached(plan), plan.stages, strict=True)
    )
    if plan.parts is not None:
        last = rate * reached(plan)[-1]  # parts are fitted in the last stage
        mean += reached(plan)[-1] * plan.parts.needed * parts_wait(last, plan.parts)
    return Pipeline(mean, silent(plan), rate * mean)


def _crew_wait(rate: float, stage: Stage) -> float:
    if not stage.crews or rate == 0.0 or stage.time.mean == 0.0:
        return 0.0
    if rate * stage.time.mean >= stage.crews:
        raise NotCovered(f"repair stage {stage.name}: {stage.crews} crews cannot keep up with {rate * 86400:.3g} a day")
    return crews(rate, stage.time.mean, crews=stage.crews, variation=time_variation(stage.time)).wait


def time_variation(law: Duration) -> float:
    """Variance of a time over its squared mean. Kind: exact."""
    if law.kind == "lognormal":
        return exp(law.sigma**2) - 1.0
    return 1.0 if law.kind == "exponential" else 0.0


def parts_wait(rate: float, parts: Parts) -> float:
    """Mean seconds that a repair which needs a part waits for one; nodes come to the last stage at `rate`.

    Each part taken is ordered anew, so the number on order is Poisson (Palm 1938) and stock runs out like spares do:
    the base-stock model of Sherbrooke (1968). Kind: exact.
    """
    return wanted(parts.stock, rate * parts.needed, parts.lead.mean).wait if parts.needed * rate > 0.0 else 0.0


def with_parts(rate: float, plan: RepairPlan) -> list[float]:
    """P(n nodes are in repair) where some wait for parts and no stage has a limit of crews: those in work, Poisson, and
    the orders beyond the stock (Sherbrooke 1968) as if they were independent. Kind: first order; the mean is exact."""
    assert plan.parts is not None
    work = fsum(chance * stage.time.mean for chance, stage in zip(reached(plan), plan.stages, strict=True))
    ordered = broken_at_once(rate * reached(plan)[-1] * plan.parts.needed, plan.parts.lead.mean)
    stock = plan.parts.stock
    return _sum(broken_at_once(rate, work), [fsum(ordered[: stock + 1]), *ordered[stock + 1 :]])


def in_repair(rate: float, plan: RepairPlan) -> list[float]:
    """P(n nodes are in repair), n = 0, 1, ...: the sum of independent stages. Raises NotCovered with parts, or with
    limited crews whose times are not exponential. Kind: exact.
    """
    if plan.parts is not None:
        raise NotCovered("how many nodes wait for parts has a mean in closed form, but no law")
    law = [1.0]
    for chance, stage in zip(reached(plan), plan.stages, strict=True):
        law = _sum(law, _in_stage(rate * chance, stage))
    return law


def _in_stage(rate: float, stage: Stage) -> list[float]:
    load = rate * stage.time.mean
    if not stage.crews:
        return broken_at_once(rate, stage.time.mean)
    if stage.time.kind != "exponential":
        raise NotCovered(
            f"repair stage {stage.name}: limited crews with {stage.time.kind} times have no law in closed form"
        )
    if load >= stage.crews:
        raise NotCovered(f"repair stage {stage.name}: {stage.crews} crews cannot keep up with {rate * 86400:.3g} a day")
    top = 2 * stage.crews + 40
    while (load / stage.crews) ** (top - stage.crews) > 1e-16 and top < 50_000:
        top *= 2
    return chain([rate] * top, [min(n, stage.crews) / stage.time.mean for n in range(1, top + 1)])


def _sum(first: list[float], second: list[float]) -> list[float]:
    import numpy as np

    values: list[float] = np.convolve(first, second).tolist()
    while len(values) > 1 and values[-1] < 1e-18:
        values.pop()
    return values
