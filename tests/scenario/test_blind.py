"""What placement is worth: failures of a small job that fall when racks, switches and feeds are not looked at, by hand.

Four nodes of four GPUs, two nodes to a rack, one rack to a switch; each class strikes once in 1,000 days, and a run
takes 5,000 s.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.layouts import MemberStripes
from gemsim.scenario import Scenario, blind, describe
from gemsim.scenario.blind import Difference, placing
from tests.engine.small import DETECT, NODES, PEERS, RETRY, STRIPE, checkpoint, scenario

ONCE = 5000.0 / (1000 * 86_400.0)  # failures of one class per run
FAR = checkpoint(name="far", read="6 s")
CPU: dict[str, Any] = checkpoint("cpu_memory", name="cpu", interval="10 s", copies=2, read="2 s", fetch="2 s")
RACK = {"name": "rack", "scope": "rack", "action": "replace", "repair": "500 s", "rate": "1 / 1000 d", "gpus": 16}
FEED = {"name": "feed", "scope": "power", "action": "reboot", "rate": "1 / 1000 d", "gpus": 16}


def apart(tier: dict[str, Any], **keys: Any) -> dict[str, Any]:
    ((kind, given),) = tier.items()
    return {kind: {**given, **keys}}


def of(*tiers: dict[str, Any], classes: tuple[dict[str, Any], ...] = (RACK,), **changes: Any) -> Scenario:
    told = [{"detect": f"{DETECT} s", **one} for one in classes]
    return scenario(*tiers, FAR, mode="in_process", failures__classes=told, **changes)


def blind_of(found: Scenario) -> Difference:
    loss = placing(found).blind
    assert loss is not None
    return loss


def wiser_of(found: Scenario) -> Difference:
    gain = placing(found).wiser
    assert gain is not None
    return gain


def test_copies_in_two_racks_against_copies_side_by_side() -> None:
    """Nodes 0 and 1 are a rack and, blindly, hold each other's copies: every rack failure falls to the store.

    A roll-back gives up half an interval and half a step: of one step, or of ten; and the store is read in 6 s, not 2.
    """
    found = of(apart(CPU, domain="rack"))
    loss = blind_of(found)
    assert placing(found).wiser is None
    assert loss.falls == pytest.approx(ONCE)
    assert dict(loss.classes) == pytest.approx({"rack": ONCE})
    assert (loss.caught, loss.fallen, loss.placed, loss.domain) == (("cpu",), ("far",), ("cpu",), "rack")
    lags = [tier.overhead().lag for tier in found.tiers]
    assert loss.seconds == pytest.approx(ONCE * ((50.0 - 5.0) + (6.0 - 2.0) + lags[1] - lags[0]))


def test_copies_side_by_side_are_told_the_key() -> None:
    found = of(CPU)
    gain = wiser_of(found)
    assert placing(found).blind is None
    assert gain.falls == pytest.approx(ONCE)
    assert gain.keys == ("protection.cpu.domain: rack",)
    assert gain.seconds == pytest.approx(blind_of(of(apart(CPU, domain="rack"))).seconds)


def test_a_stripe_over_nodes_against_one_over_racks() -> None:
    """3 + 1 over four nodes loses two members with a rack; over two racks 1 + 1 loses one. A hit in the update falls
    under both: what is told is the difference."""
    wide = of({"stripe": {"name": "wide", "layout": "racks", "k": 1, "m": 1}})
    narrow = of({"stripe": {"name": "wide", "layout": "nodes", "k": 1, "m": 1}})
    loss, gain = blind_of(wide), wiser_of(narrow)
    assert gain.keys == ("protection.wide.layout: racks",)
    share = loss.falls / ONCE
    step, encode = wide.platform.steps, wide.tiers[0].cadence.encode  # type: ignore[attr-defined]
    window = step.update + step.skew + encode
    assert share == pytest.approx(1.0 - window / sum_of_a_step(wide), rel=1e-9)
    assert gain.falls == pytest.approx(loss.falls)


def sum_of_a_step(found: Scenario) -> float:
    """Mean wall seconds of a step with its encodes and saves."""
    return found.timeline.step + sum(stall.seconds / stall.every for stall in found.timeline.stalls)


def test_a_stripe_that_fits_no_racks_is_told_nothing() -> None:
    """3 + 1 members need four racks; the job has two."""
    assert placing(of(NODES)) == blind.Placing()


def test_feeds_need_their_own_key() -> None:
    """Copies in distinct racks on one feed; with a rack to a feed the two are the same."""
    wide = {"cluster__racks_per_power": 2, "cluster__nodes_per_rack": 1}
    found = of(apart(CPU, domain="rack"), classes=(FEED,), **wide)
    gain = wiser_of(found)
    assert gain.keys == ("protection.cpu.domain: power",)
    assert gain.falls == pytest.approx(ONCE)
    assert blind_of(of(apart(CPU, domain="power"), classes=(FEED,), **wide)).falls == pytest.approx(ONCE)
    assert placing(of(apart(CPU, domain="rack"), classes=(FEED,), cluster__racks_per_power=1)).wiser is None


def test_stripes_over_switches_and_power_domains() -> None:
    """Four nodes in racks of their own, two racks to a switch and to a feed."""
    shape = {"cluster__nodes_per_rack": 1, "cluster__racks_per_switch": 2, "cluster__racks_per_power": 2}
    for layout in ("switches", "power_domains"):
        wide = of({"stripe": {"layout": layout, "k": 1, "m": 1}}, classes=(FEED,), **shape)
        assert blind_of(wide).falls == pytest.approx(blind_of(wide).classes[0][1])
        assert wide.tiers[0].stripes.stripe_of(0) == wide.tiers[0].stripes.stripe_of(8)  # type: ignore[attr-defined]
    with pytest.raises(Infeasible, match="more than the 1 power domains"):
        of(apart(CPU, domain="power"), classes=(FEED,), cluster__racks_per_power=4)
    gain = wiser_of(of({"stripe": {"layout": "racks", "k": 1, "m": 1}}, classes=(FEED,), **shape))
    assert gain.keys == ("protection.stripe.layout: power_domains",)


def test_a_common_cause_counts_the_stops_that_it_makes() -> None:
    """A tenth of the node failures takes both nodes of a rack: half as many stops."""
    node = {"name": "node", "scope": "node", "action": "replace", "repair": "500 s", "rate": "1 / 1000 d", "gpus": 16}
    found = of(apart(CPU, domain="rack"), classes=({**node, "common_cause": {"beta": 0.1, "within": "rack"}},))
    assert blind_of(found).falls == pytest.approx(ONCE * 0.1 / 2)
    none = of(apart(CPU, domain="rack"), classes=({**node, "common_cause": {"beta": 0, "within": "rack"}},))
    assert placing(none) == placing(of(apart(CPU, domain="rack"), classes=(node,))) == blind.Placing()


def test_replica_groups_scattered_over_racks() -> None:
    """Two groups of two nodes, each a rack. With nodes in turns a rack failure takes both groups."""
    group = {"replica_group": {"groups": 2, "stall": "5 s", "catch_up": "60 s"}}
    found = of(group)
    loss = blind_of(found)
    assert loss.falls == pytest.approx(ONCE)
    assert (loss.caught, loss.fallen, loss.placed) == (("replica_group",), ("far",), ("replica_group",))
    assert "in blocks of neighbours" in describe(found)["notes"][-1]


@pytest.mark.parametrize("tiers", [(), (RETRY, STRIPE), (PEERS,), (checkpoint("disk", name="disk"),)])
def test_where_nothing_is_placed_nothing_is_compared(tiers: tuple[dict[str, Any], ...]) -> None:
    found = of(*tiers)
    assert placing(found) == blind.Placing()
    assert describe(found)["blind_falls_per_run"] is None


def test_a_blind_placement_credited_as_one_that_knows_racks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkpoint, "where", lambda self, hosts: CPU_RACKS)
    with pytest.raises(AssertionError):
        test_copies_in_two_racks_against_copies_side_by_side()
    with pytest.raises(AssertionError):
        test_copies_side_by_side_are_told_the_key()


CPU_RACKS = of(apart(CPU, domain="rack")).tiers[0].where(4)  # type: ignore[attr-defined]


def test_a_stripe_over_nodes_credited_as_one_over_racks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemberStripes, "worst_in_stripe", lambda self, gpus: 1 if list(gpus) else 0)
    with pytest.raises(AssertionError):
        test_a_stripe_over_nodes_against_one_over_racks()


def test_the_page_says_what_placement_is_worth() -> None:
    facts = describe(of(apart(CPU, domain="rack")))
    assert facts["blind_falls_per_run"] == pytest.approx(ONCE)
    assert facts["notes"][-1].startswith("Placement: cpu in distinct racks. Placed blindly, 5.79e-05 failures per run")
    assert facts["notes"][-1].endswith(" % of it), to first order")
    told = describe(of(CPU))
    assert told["blind_falls_per_run"] == 0.0
    assert told["notes"][-1].endswith("Write protection.cpu.domain: rack")


def test_it_costs_nothing_where_nothing_is_placed() -> None:
    """Under 0.3 ms a point; the best of some tries, since the machine may be busy."""
    found = of(RETRY, STRIPE)
    spent = []
    for _ in range(20):
        start = time.perf_counter()
        placing(found)
        spent.append(time.perf_counter() - start)
    assert min(spent) < 3e-4
