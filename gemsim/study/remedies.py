"""What would help where periodic saving alone is hopeless: the same job with another tier in front, in closed form and
simulated for a while, since failures this frequent take many closed forms to the edge of what they can say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from gemsim.analytic.run import predict
from gemsim.engine.run import simulate
from gemsim.errors import GemsimError, Infeasible, NotCovered, StudyError
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.printing import canonical

STRIPE = {"name": "remedy_stripe", "layout": "nodes", "k": 8, "m": 1, "copy": "snapshot"}
GROUPS = {"name": "remedy_groups", "stall": "10 s"}
TRIED: tuple[tuple[str, str, Mapping[str, Any]], ...] = (  # what, restart mode, the tier in front of those there are
    ("copies from peers", "in_process", {"peer_copy": {"name": "remedy_peer"}}),
    ("a stripe over 8 + 1 nodes, encoded at each step", "in_process", {"stripe": STRIPE}),
    ("two copies in CPU memory, at each step", "", {"replica": {"name": "remedy_replica"}}),
    ("replica groups that go on after 10 s", "in_process", {"replica_group": GROUPS}),
)
REPLICATIONS, FAILURES = 2, 2000  # simulated for each, and the most failures in one


@dataclass(frozen=True, slots=True)
class Remedy:
    """A tier put in front, and the ETTR that it would give: simulated, and in closed form with its stated error. None
    where there is none; `reason` says why."""

    what: str
    mode: str  # the restart mode that it needs; "": any
    simulated: float | None = None
    ettr: float | None = None
    error: float | None = None
    reason: str = ""


def remedies(loaded: LoadedStudy, assignments: Mapping[str, Any], *, seed: int) -> list[Remedy]:
    """Each of `TRIED` before the tiers of this design point.

    The saves that are left are put on the wall clock (`anchor: wall`): restarts that keep the state would begin their
    interval anew each time, and with failures this frequent none would ever come.
    """
    tiers = canonical(resolve_point(loaded, assignments))["protection"]
    saved = [
        {kind: {**keys, "anchor": "wall"} if kind == "checkpoint" else keys}
        for one in tiers
        for kind, keys in one.items()
    ]
    return [
        _try(loaded, {**assignments, "protection": [dict(tier), *saved]}, what, mode, seed)
        for what, mode, tier in TRIED
    ]


def _try(loaded: LoadedStudy, changed: Mapping[str, Any], what: str, mode: str, seed: int) -> Remedy:
    put = {**changed, "restart.mode": mode} if mode else changed
    try:
        scenario = build(resolve_point(loaded, put))
    except StudyError as error:
        return Remedy(what, mode, reason="; ".join(f"{one.path}: {one.what}" for one in error.problems))
    except Infeasible as error:
        return Remedy(what, mode, reason=error.reason)
    except GemsimError as error:
        return Remedy(what, mode, reason=str(error))
    simulated = _simulated(scenario, seed)
    try:
        twin = predict(scenario)
    except (NotCovered, ArithmeticError) as error:
        return Remedy(what, mode, simulated, reason=f"no closed form ({error})")
    return Remedy(what, mode, simulated, float(twin["ettr_analytic"]), float(twin["analytic_error"]))


def _simulated(scenario: Scenario, seed: int) -> float:
    rate = sum(kind.starts for kind in scenario.classes)
    horizon = min(scenario.horizon, FAILURES / rate) if rate else scenario.horizon
    short = replace(scenario, horizon=horizon, work_steps=0)
    rows = [simulate(short, seed=seed, replication=number) for number in range(REPLICATIONS)]
    return float(mean(row["productive_s"] / row["wall_s"] for row in rows))
