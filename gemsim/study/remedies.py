"""What would help where periodic saving alone is hopeless: the same job with another tier in front, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gemsim.analytic.run import predict
from gemsim.errors import GemsimError, Infeasible, NotCovered, StudyError
from gemsim.scenario import build
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.printing import canonical

STRIPE = {"name": "remedy_stripe", "layout": "nodes", "k": 8, "m": 1, "copy": "snapshot"}
TRIED: tuple[tuple[str, str, Mapping[str, Any]], ...] = (  # what, restart mode, the tier in front of those there are
    ("copies from peers", "in_process", {"peer_copy": {"name": "remedy_peer"}}),
    ("a stripe over 8 + 1 nodes, encoded at each step", "in_process", {"stripe": STRIPE}),
    ("two copies in CPU memory, at each step", "", {"replica": {"name": "remedy_replica"}}),
    (
        "replica groups that go on after 10 s",
        "in_process",
        {"replica_group": {"name": "remedy_groups", "stall": "10 s"}},
    ),
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """A tier put in front, and the ETTR that it would give in closed form (None: see `reason`)."""

    what: str
    mode: str  # the restart mode that it needs; "": any
    ettr: float | None
    reason: str = ""


def remedies(loaded: LoadedStudy, assignments: Mapping[str, Any]) -> list[Remedy]:
    """Each of `TRIED` before the tiers of this design point."""
    tiers = canonical(resolve_point(loaded, assignments))["protection"]
    return [_try(loaded, assignments, tiers, *one) for one in TRIED]


def _try(
    loaded: LoadedStudy, assignments: Mapping[str, Any], tiers: list[Any], what: str, mode: str, tier: Mapping[str, Any]
) -> Remedy:
    changed = {**assignments, "protection": [dict(tier), *tiers]}
    if mode:
        changed["restart.mode"] = mode
    try:
        ettr = float(predict(build(resolve_point(loaded, changed)))["ettr_analytic"])
    except StudyError as error:
        return Remedy(what, mode, None, "; ".join(f"{one.path}: {one.what}" for one in error.problems))
    except (Infeasible, NotCovered) as error:
        return Remedy(what, mode, None, error.reason)
    except GemsimError as error:
        return Remedy(what, mode, None, str(error))
    return Remedy(what, mode, ettr)
