"""Why a tier did not recover a damage: what is said is the least that would have had to be otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemsim.protection.damage import Damage, Nature, PageHit
from gemsim.protection.decide import decide
from gemsim.protection.reasons import reason, refusals
from gemsim.protection.tier import Moment, Plan
from gemsim.scenario import Scenario
from tests.engine.small import NODES, PEERS, RETRY, STRIPE, checkpoint, scenario

CONTIGUOUS = {"stripe": {**STRIPE["stripe"], "mapping": "contiguous"}}
CALM = Moment(24, 4.0, 20)
HIT = PageHit(3, "weights", 1, "adjacent_pages", 0.5)
PAGE = Damage(pages=(HIT,))
LOST = Damage(lost=frozenset({("gpu", 3)}), alive=False, restart="in_process")
OTHERS = tuple(range(first, first + 4) for first in (4, 8, 12))
GROUPS = {"replica_group": {"stall": "8 s", "catch_up": "5 s"}}


def why(of: Scenario, damage: Damage, moment: Moment, kind: str, *, number: int = 0, region: str = "") -> str:
    """What is said of this tier, which must not recover that damage."""
    tier = of.tiers[number]
    assert decide([tier], damage, moment, of.platform).plan.tier != tier.name
    return reason(tier, [], damage, moment, of.platform, Nature(kind, region), {})


@pytest.mark.parametrize(
    ("tier", "damage", "moment", "nature", "said"),
    [
        (STRIPE, LOST, CALM, ("gpu", ""), "never covers a lost GPU"),
        (STRIPE, PAGE, replace(CALM, within=9.5), ("pages", "weights"),
         "struck while the state was being updated or encoded"),
        (CONTIGUOUS, Damage(pages=(replace(HIT, rows=6),)), CALM, ("pages", "weights"),
         "more pages of a stripe were lost than its parity makes up for"),
        ({"stripe": {**STRIPE["stripe"], "cadence": 3}}, PAGE, replace(CALM, lives_since=23), ("pages", "weights"),
         "its parity was of an older step"),
        (NODES, replace(LOST, all_gpu_memory=True, restart="all_processes"), CALM, ("gpu", ""),
         "no GPU memory outlives this restart"),
        (NODES, replace(LOST, lost=frozenset({("rack", 0)})), CALM, ("rack", ""), "too many of its members were lost"),
        (NODES, replace(LOST, corrupt_since=3.0), CALM, ("gpu", ""), "its state is corrupt too"),
        (checkpoint(), LOST, CALM, ("gpu", ""), "it holds no finished version yet"),
        (checkpoint(), replace(LOST, corrupt_since=3.0), CALM, ("corrupt", ""),
         "it holds no version from before the corruption"),
        (checkpoint("cpu_memory"), replace(LOST, hosts=frozenset({0, 1})), replace(CALM, saved={0: 20}), ("gpu", ""),
         "the hosts with its copies are gone"),
        (RETRY, replace(PAGE, pages=(replace(HIT, region="activations"),), alive=False), CALM,
         ("pages", "activations"), "it needs living processes"),
        (GROUPS, replace(LOST, struck=frozenset({("gpu", 3)})), replace(CALM, out=OTHERS), ("gpu", ""),
         "too much of the job is out already"),
        (PEERS, LOST, replace(CALM, within=9.8), ("gpu", ""), "struck while the state was being updated or encoded"),
    ],
)  # fmt: skip
def test_the_reason(
    tier: dict[str, object], damage: Damage, moment: Moment, nature: tuple[str, str], said: str
) -> None:
    of = scenario(tier, mode="in_place")
    assert why(of, damage, moment, nature[0], region=nature[1]) == said


def test_two_things_together() -> None:
    of = scenario({"stripe": {**STRIPE["stripe"], "cadence": 3}})
    damage, moment = replace(PAGE, alive=False, all_gpu_memory=True, restart="all_processes"), replace(CALM, within=9.5)
    assert why(of, damage, replace(moment, lives_since=24), "pages", region="weights") == (
        "no GPU memory outlives this restart, and struck while the state was being updated or encoded"
    )


def test_who_was_asked() -> None:
    """Retries first, then the tiers before the one that recovers; nobody where the state itself is whole."""
    of = scenario(STRIPE, RETRY, checkpoint(), mode="in_place")

    def names(plan: Plan) -> list[str]:
        told = refusals(of.tiers, LOST, CALM, of.platform, nature=Nature("gpu"), plan=plan, bad={"stripe": True})
        return [name for name, _ in told]

    assert names(Plan("checkpoint", 20)) == ["retry", "stripe"]
    assert names(Plan("stripe", None)) == ["retry"]
    assert names(Plan("retry", None)) == []
    assert names(Plan("held", None)) == []
    assert names(Plan("start", 0)) == ["retry", "stripe", "checkpoint"]


def test_a_bad_copy_is_the_reason_though_the_tier_could() -> None:
    of = scenario(checkpoint(), mode="all_processes")
    (told,) = refusals(
        of.tiers, LOST, replace(CALM, saved={0: 20}), of.platform,
        nature=Nature("gpu"), plan=Plan("start", 0), bad={"checkpoint": True},
    )  # fmt: skip
    assert told == ("checkpoint", "its copy was bad")
