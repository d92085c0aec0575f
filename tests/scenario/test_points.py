"""A design point: what makes it the same point, what cannot exist, and what follows from the study."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.interval import optimal_interval
from gemsim.protection.stripe import PageStripe
from gemsim.scenario import Scenario, describe
from gemsim.scenario.build import _reached
from gemsim.scenario.describe import derived
from tests.engine.small import NODES, PEERS, RETRY, STEP, STRIPE, checkpoint, run, scenario


def stripe(**keys: Any) -> dict[str, Any]:
    return {"stripe": {**STRIPE["stripe"], **keys}}


def test_no_parity_is_one_design_at_any_width() -> None:
    bare = scenario(RETRY, checkpoint())
    for k in (1, 8, 500):
        for mapping in ("interleaved", "contiguous"):
            assert scenario(RETRY, stripe(k=k, m=0, mapping=mapping), checkpoint()).id == bare.id


DIFFERENT: list[Scenario] = [
    scenario(RETRY, STRIPE, checkpoint()),
    scenario(RETRY, stripe(k=9), checkpoint()),
    scenario(RETRY, stripe(m=2), checkpoint()),
    scenario(RETRY, stripe(mapping="contiguous"), checkpoint()),
    scenario(RETRY, stripe(cadence=2), checkpoint()),
    scenario(RETRY, stripe(buckets=2), checkpoint()),
    scenario(RETRY, stripe(encode="overlap"), checkpoint()),
    scenario(RETRY, STRIPE, checkpoint(interval="110 s")),
    scenario(RETRY, STRIPE, checkpoint(mode="async")),
    scenario(RETRY, STRIPE, checkpoint(), mode="holder"),
    scenario(RETRY, STRIPE, checkpoint(), cluster__spare_nodes=3),
    scenario(RETRY, STRIPE, checkpoint(), failures__scale=2.0),
    scenario(RETRY, STRIPE, checkpoint(), run={"horizon": "6000 s"}),
    scenario(STRIPE, RETRY, checkpoint()),
    scenario(PEERS, STRIPE, checkpoint()),
]


def test_points_that_differ_in_a_result_differ_in_their_id() -> None:
    assert len({of.id for of in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ({"scope": "node"}, "5 failures in the run (86.4 per day, wall clock)"),
        (
            {"scope": "planned", "stop": "9 s", "notice": "2 s", "detect": None},
            "5 stops in the run (86.4 per day, wall clock)",
        ),
        (
            {"scope": "node", "batch": {"sizes": [[1, 0.5], [2, 0.5]], "within": "rack"}},
            "3.333 events in the run, of 1.5 nodes on average (57.6 per day, wall clock)",
        ),
    ],
)
def test_what_fails_at_one_instant_is_one_event(kind: dict[str, Any], shown: str) -> None:
    """5,000 s at one failure of the job in 1,000 s; in batches of 1.5 nodes there are as many in fewer events."""
    given = {"name": "n", "rate": "1 / 1000 s", "gpus": 16, "detect": "4 s", "action": "none", **kind}
    of = scenario(failures__classes=[{key: value for key, value in given.items() if value is not None}])
    ((_, text, _),) = [line for line in derived(of) if line[0] == "failures.n"]
    assert text == shown


def test_a_common_cause_is_counted_by_the_domains_that_it_takes() -> None:
    """A fifth of 5 failures takes racks of 8 GPUs whole: 1 / 8 of an event."""
    kind = {"name": "g", "scope": "gpu", "rate": "1 / 1000 s", "gpus": 16, "detect": "4 s", "action": "reset"}
    of = scenario(failures__classes=[{**kind, "common_cause": {"beta": 0.2, "within": "rack"}}])
    said = {name: text for name, text, _ in derived(of)}
    assert said["failures.g+rack"].startswith("0.125 events in the run, of 8 GPUs on average")
    assert said["failures.g"].startswith("4 failures in the run")


@pytest.mark.parametrize(
    ("shard", "said"), [("none", "write workload.parallel.shard: full, or use"), ("full", "shard more, use")]
)
def test_a_job_that_does_not_fit_is_told_in_gigabytes_and_what_would_help(shard: str, said: str) -> None:
    parameters = 40e9 if shard == "none" else 8000e9
    with pytest.raises(Infeasible, match=r"fit into GPU memory: [\d.]+ [GT]B of 85.9 GB per GPU; " + said):
        scenario(workload__parameters=parameters, workload__parallel__shard=shard)


def saving(**keys: Any) -> str:
    """What is said of the saves of one checkpoint tier."""
    (line,) = [note for note in describe(scenario(checkpoint(**keys)))["notes"] if "of work, as given" in note]
    return str(line)


def test_a_save_at_each_step_is_said_in_words() -> None:
    assert saving(interval=f"{STEP} s").startswith("Tier checkpoint: saves every step (10 s of work, as given)")
    assert saving(interval=f"{2 * STEP} s").startswith("Tier checkpoint: saves every 2 steps (20 s of work")


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (0.0, "no failure rolls"),
        (1e-12, "hardly any failure, under one in 1,000 years, rolls"),
        (1e-4, "8.64 failures per day roll"),
    ],
)
def test_how_many_failures_reach_a_tier_is_a_number_only_where_it_means_one(rate: float, said: str) -> None:
    assert _reached(rate) == f"{said} back to it"


def test_the_seed_and_the_title_are_no_part_of_a_point() -> None:
    of = scenario(RETRY, STRIPE, checkpoint())
    for changes in (
        {"run": {"horizon": "5000 s", "seed": 4, "replications": 9}},
        {"title": "another", "notes": "text"},
    ):
        assert scenario(RETRY, STRIPE, checkpoint(), **changes).id == of.id


def test_a_point_survives_pickling() -> None:
    of = DIFFERENT[0]
    again = pickle.loads(pickle.dumps(of))
    assert again == of
    assert again.id == of.id
    assert run(again) == run(of)


IMPOSSIBLE = [
    ("pages", [stripe(k=13353)], {}),
    ("free", [stripe(k=1, m=2)], {}),
    ("members", [{"stripe": {"layout": "nodes", "k": 4, "m": 1}}], {}),
    ("members", [{"stripe": {"layout": "racks", "k": 2, "m": 1}}], {}),
    ("saves pile up", [checkpoint(mode="async", interval="36 s")], {}),  # and 3 s blocked; a write takes 40 s
    ("copies", [checkpoint("cpu_memory", copies=5)], {}),
    ("copies", [checkpoint("cpu_memory", copies=3, domain="rack")], {}),
    ("CPU memory", [checkpoint("cpu_memory")], {"cluster__cpu_memory": "100 GB"}),
    ("does not fit", [], {"workload__parameters": 40e9}),
    ("update", [], {"workload__update": "10 s"}),
    ("nothing to code", [STRIPE], {"workload__protect": "unique"}),
    ("snapshot", [stripe(copy="snapshot")], {"workload__protect": ["weights"]}),
]


@pytest.mark.parametrize(("reason", "tiers", "changes"), IMPOSSIBLE)
def test_what_cannot_exist_is_infeasible_and_says_why(
    reason: str, tiers: list[dict[str, Any]], changes: dict[str, Any]
) -> None:
    with pytest.raises(Infeasible, match=reason):
        scenario(*tiers, **changes)


def test_a_code_that_no_field_covers_is_infeasible() -> None:
    """GF(2^16) reaches k + m = 65,535; the pages would reach further."""
    assert scenario(stripe(k=65531, m=4), failures__page="64 KiB").tiers
    with pytest.raises(Infeasible, match="65"):
        scenario(stripe(k=65600, m=4), failures__page="64 KiB")


def test_as_wide_as_the_pages_is_still_possible() -> None:
    of = scenario(stripe(k=13352))
    tier = of.tiers[0]
    assert isinstance(tier, PageStripe)
    assert (tier.stripes.pages, tier.stripes.stripes) == (13352, 1)  # 28e9 bytes in pages of 2 MiB


@pytest.mark.parametrize(("asked", "every"), [("95 s", 10), ("104 s", 10), ("106 s", 11), ("45 s", 4), ("41 s", 4)])
def test_an_interval_is_whole_steps(asked: str, every: int) -> None:
    tier = scenario(checkpoint(mode="async", interval=asked)).tiers[0]
    assert isinstance(tier, Checkpoint)
    assert tier.every == every


def test_rounding_never_makes_an_interval_shorter_than_the_write() -> None:
    tier = scenario(checkpoint(mode="async", interval="44 s", write="44 s")).tiers[0]
    assert isinstance(tier, Checkpoint)
    assert tier.every == 5  # four steps and the blocked time would be 43 s


def optimal(**changes: Any) -> tuple[Checkpoint, Scenario]:
    of = scenario(checkpoint(mode="async", interval="optimal"), **{"mode": "all_processes", **changes})
    tier = of.tiers[0]
    assert isinstance(tier, Checkpoint)
    return tier, of


def test_the_optimal_interval_is_that_of_the_rate_that_reaches_it() -> None:
    tier, of = optimal(failures__scale=1000.0)
    rate = sum(kind.rate for kind in of.classes)
    assert of.reach_rate == pytest.approx(rate)
    assert tier.every == round(optimal_interval(3.0, rate) / 10.0)
    assert describe(of)["interval_s"] == tier.every * 10.0
    assert describe(of)["reach_rate_per_day"] == pytest.approx(rate * 86400.0)


def test_an_optimum_shorter_than_the_write_is_the_write_and_says_so() -> None:
    tier, of = optimal(failures__scale=1e6)
    assert tier.every == 4
    assert any("its write time" in note for note in describe(of)["notes"])


def test_a_tier_that_nothing_reaches_is_never_written_and_says_so() -> None:
    one = {"name": "link", "scope": "link", "rate": "1 / 1 d", "gpus": 16, "detect": "1 s", "action": "none"}
    flat = {"failures__classes": [one], "workload__update": "0 s", "workload__skew": "0 s"}
    tier, of = optimal(mode="in_process", **flat)
    assert run(of)["overhead_s"] == 0.0
    assert tier.every * 10.0 > of.horizon
    assert any("never written" in note for note in describe(of)["notes"])


def test_what_a_stripe_costs() -> None:
    of = scenario(RETRY, STRIPE, checkpoint())
    shown = describe(of)
    stripes = math.ceil(13352 / 8)
    assert shown["memory_overhead"] == pytest.approx(stripes * 2**21 / (80 * 2**30))
    assert shown["survivable_burst_pages"] == stripes
    encode = 13352 * 2**21 * 9 / 8 / 31.5e9
    assert shown["step_overhead"] == pytest.approx((encode + 0.3) / 10.0)
    assert describe(scenario(stripe(mapping="contiguous")))["survivable_burst_pages"] == 1
    kept = describe(scenario(stripe(copy="snapshot")))["memory_overhead"]
    assert kept == pytest.approx((2 * stripes + 13352) * 2**21 / (80 * 2**30))
    across = describe(scenario(NODES))["memory_overhead"]
    assert across == pytest.approx(28e9 / 3 / (80 * 2**30))


def test_a_communicator_grows_with_the_job_where_it_is_not_given() -> None:
    for gpus, seconds in ((16384, 17.0), (98304, 200.0)):
        layout = {"tensor": 8, "data": gpus // 8}
        of = scenario(
            cluster__gpus=gpus, cluster__gpus_per_node=8, workload__parallel=layout, restart__communicator=None
        )
        assert of.restart.communicator == pytest.approx(seconds, rel=2e-3)
