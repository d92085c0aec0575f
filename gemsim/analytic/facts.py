"""The facts of a scenario that the models known by name ask for: what the twin's renewal form was given, averaged."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum
from typing import Any

from gemsim.analytic.breakdown import course
from gemsim.analytic.groups import Solved, Told
from gemsim.analytic.remaps import stops
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.stripe import MemberStripe, PageStripe

CONFIDENCE = 0.99  # assumption: of the spares that are named


def facts_of(solved: Solved) -> dict[str, Any]:
    """The facts of `named.FACTS` that this scenario has; those of roll-backs where any failure rolls back.

    Of several tiers of one kind the first counts; a burst is the longest that any class has; as many machines are lost
    at once as there are copies.
    """
    found: dict[str, Any] = {**_roll_backs(solved), **_silent(solved), **_spares(solved)}
    for tier in reversed(solved.scenario.tiers):
        if isinstance(tier, MemberStripe):
            found |= _stripe(solved, tier)
        elif isinstance(tier, PageStripe):
            stripes = tier.stripes
            rows = max((rows for kind in solved.scenario.classes for rows, _ in kind.rows), default=1)
            found |= {"pages": stripes.pages, "page_k": stripes.k, "page_m": stripes.m, "mapping": stripes.mapping}
            found["rows"] = min(rows, stripes.total)
        elif isinstance(tier, Checkpoint) and tier.target == "cpu_memory" and tier.placement == "mixed":
            hosts = solved.scenario.platform.grid.count("node")
            found |= {"machines": hosts, "copies": tier.copies, "lost": tier.copies}
    return found


def _roll_backs(solved: Solved) -> dict[str, Any]:
    main, told = solved.main, [one for one in solved.groups.told if one.ending == "restarting"]
    rate = fsum(one.rate for one in told)
    if main is None or rate == 0.0:
        return {}
    own = stops(solved.scenario, solved.found)
    queue = fsum(one.rate * course(solved.scenario, one, own).get("waiting", 0.0) for one in told) / rate
    recovery = fsum(one.rate * one.down for one in told) / rate
    milder = [(one.rate, one.down) for one in solved.groups.told if one.ending != "restarting"]
    steady = solved.tau / (solved.tau + solved.delta) * solved.scenario.useful_step / solved.pace
    return {
        "save": solved.delta,
        "interval": solved.tau,
        "rate": rate,
        "mtbf": 1.0 / rate,
        "recovery": recovery,
        "queue": queue,
        "restart": recovery - queue,
        "written": solved.delta + solved.lag,
        "retrieval": fsum(one.rate * one.branch.recovery for one in told) / rate,
        "base": steady,
        "charges": [(one.rate, _charge(solved, one)) for one in solved.groups.told if one.rate],
        "milder": milder,
    }


def _charge(solved: Solved, one: Told) -> float:
    """Seconds that a linear accounting charges to one failure."""
    if one.ending == "restarting":
        return one.down + solved.lag + solved.tau / 2.0
    step = solved.pace / 2.0 if one.ending == "keeping" else 0.0
    return one.down + step + one.extra / one.rate


def _silent(solved: Solved) -> dict[str, Any]:
    kinds = [kind for kind in solved.scenario.classes if kind.scope == "silent"]
    rate = sum(kind.rate for kind in kinds)
    return {"silent_rate": rate, "latency": sum(k.rate * k.detect.mean for k in kinds) / rate} if rate else {}


def _spares(solved: Solved) -> dict[str, Any]:
    kinds = [kind for kind in solved.scenario.classes if kind.action == "replace"]
    rate = sum(kind.rate for kind in kinds)
    if rate == 0.0 or solved.scenario.fleet.repair is not None:
        return {}
    repair = sum(kind.rate * kind.repair.mean for kind in kinds) / rate
    return {"leaving": rate, "repair": repair, "confidence": CONFIDENCE}


def _stripe(solved: Solved, tier: MemberStripe) -> dict[str, Any]:
    """A member is lost with the memory of its domain, and rebuilt when the job runs again."""
    stripes = tier.stripes
    told = list(_taking(solved))
    rate = fsum(one.rate for one in told)
    down = fsum(one.rate * one.down for one in told) / rate if rate else 0.0
    if down == 0.0:
        return {}
    return {"k": stripes.k, "m": stripes.m, "member_rate": rate / stripes.domains, "rebuild_rate": 1.0 / down}


def _taking(solved: Solved) -> Iterable[Told]:
    return (one for one in solved.groups.told if one.branch.damage.memory_lost)
