"""Memory errors that nobody has seen yet: by hand, by the closed form, and with a planted fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from gemsim.analytic import latent
from gemsim.analytic.expected import outcomes
from gemsim.analytic.run import predict
from gemsim.analytic.unseen import piled_up, said
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered
from gemsim.failures.trace import Event, Trace, draw_trace
from gemsim.protection.damage import PageHit
from gemsim.protection.stripe import PageStripe
from gemsim.scenario import Scenario
from tests import statcheck
from tests.engine.small import CLASSES, DETECT, NODES, PAUSE, RETRY, STRIPE, Hit, checkpoint, expect, recovered, run
from tests.engine.small import scenario as small
from tests.faults import must_reject, replaced
from tests.fleet.latent_jobs import GPUS, PAGES, SCRUB, cold, crowded, hit, stripe


def outcome(*hits: Hit, of: Scenario | None = None) -> tuple[dict[str, int], int, int]:
    """Who recovered, failures, stops."""
    row = run(of or cold(), *hits)
    return recovered(row), row["failures"], row["interruptions"]


def test_two_hits_of_a_stripe_before_its_scrub_fall_to_the_checkpoint() -> None:
    assert outcome(hit(300.0, 0), hit(600.0, 4)) == ({"checkpoint": 1}, 2, 1)


def test_the_same_hits_on_both_sides_of_a_scrub_are_repaired() -> None:
    assert outcome(hit(300.0, 0), hit(1600.0, 4)) == ({"stripe": 2}, 2, 2)


def test_the_same_page_twice_is_lost_once() -> None:
    assert outcome(hit(300.0, 0), hit(600.0, 0)) == ({"stripe": 1}, 2, 1)


def test_what_is_found_with_others_of_its_gpu_is_repaired_with_them() -> None:
    """Stripe 0 is read at 1000, stripe 1 not before 1250: one stop mends both."""
    assert outcome(hit(300.0, 0), hit(600.0, 1)) == ({"stripe": 1}, 2, 1)


def test_hits_of_two_gpus_never_meet() -> None:
    assert outcome(hit(300.0, 0), hit(600.0, 4, gpu=5)) == ({"stripe": 2}, 2, 1)


def test_a_hit_that_is_seen_finds_the_unseen_one() -> None:
    assert outcome(hit(300.0, 0), hit(500.0, 4, seen=True)) == ({"checkpoint": 1}, 2, 1)
    assert outcome(hit(300.0, 0), hit(500.0, 1, seen=True)) == ({"stripe": 1}, 2, 1)
    assert outcome(hit(300.0, 0), hit(500.0, 4, gpu=5, seen=True)) == ({"stripe": 2}, 2, 2)


def test_a_transient_loss_finds_nothing() -> None:
    of = cold(RETRY, stripe(), checkpoint())
    lost = hit(500.0, 7, seen=True, region="activations")
    assert outcome(hit(300.0, 3), lost, of=of) == ({"retry": 1, "stripe": 1}, 2, 2)


def test_a_refill_clears_what_nobody_saw() -> None:
    """The lost GPU makes all roll back, which writes the state of all anew."""
    assert outcome(hit(300.0, 0), Hit("gpu", 500.0, 9), hit(600.0, 4)) == ({"checkpoint": 1, "stripe": 1}, 3, 2)


@pytest.mark.parametrize(("lost", "by"), [(1, {"nodes": 1, "stripe": 1}), (9, {"nodes": 2})])
def test_a_rebuilt_node_clears_its_own_alone(lost: int, by: dict[str, int]) -> None:
    """A stripe over nodes rebuilds the four GPUs of the lost node; all others keep their memory, and what is in it."""
    of = cold(stripe(), NODES, checkpoint(), workload__parameters=4e9, failures__page="512 MiB")
    assert outcome(hit(300.0, 0), Hit("gpu", 500.0, lost), hit(600.0, 4), of=of) == (by, 3, 2)


def test_a_page_may_be_read_before_the_scrub() -> None:
    of = cold(page={"latent": {"share": 0.4, "read": "100 s"}})
    assert outcome(hit(300.0, 0), hit(390.0, 4), of=of) == ({"checkpoint": 1}, 2, 1)
    assert outcome(hit(300.0, 0), hit(444.0, 4), of=of) == ({"stripe": 2}, 2, 2)


def test_without_scrubs_nobody_sees_it_before_it_is_read() -> None:
    assert outcome(hit(300.0, 0), of=cold(stripe(scrub=None), checkpoint())) == ({}, 1, 0)


def test_uncontained_errors_and_others_are_seen_at_once() -> None:
    assert outcome(hit(300.0, 0, contained=False)) == ({"checkpoint": 1}, 1, 1)
    assert outcome(hit(300.0, 0, region="activations"))[1:] == (1, 1)


def test_where_ranks_exit_the_scrub_ends_the_process() -> None:
    assert outcome(hit(300.0, 0), of=cold(mode="all_processes")) == ({"checkpoint": 1}, 1, 1)


def test_the_seconds_of_one_unseen_hit() -> None:
    """Nothing happens at 300. At 1000 the job stops for detection, pause and decode, and redoes its step."""
    of = cold(stripe())
    inside = of.tiers[0]
    assert isinstance(inside, PageStripe)
    period = of.timeline.step + inside.cadence.encode
    within, share = 1000.0 % period, of.useful_share
    row = run(of, hit(300.0, 0))
    down = DETECT + PAUSE + inside.decode_page
    ran = 5000.0 - down
    whole = 1000.0 // period * period + (ran - 1000.0)  # less the partial step, which is worked again
    stalled = whole // period * inside.cadence.encode + max(0.0, whole % period - of.timeline.step)
    worked = whole - stalled
    slower = (worked + within) * inside.scrubbing / of.timeline.step
    expect(
        row, productive=worked * share, wasted=within * share, overhead=stalled + slower, detection=DETECT,
        recovery=PAUSE + inside.decode_page,
    )  # fmt: skip


def test_scrubs_take_their_share_of_the_memory_bandwidth() -> None:
    of, bare = cold(), cold(stripe(scrub=None), checkpoint())
    assert of.timeline.step - bare.timeline.step == pytest.approx(PAGES * 2**30 / 3.35e12 * 10.0 / SCRUB, rel=1e-9)
    assert of.id != bare.id


def test_a_page_is_next_read_in_its_stripe_s_turn() -> None:
    inside = cold().tiers[0]
    assert isinstance(inside, PageStripe)
    for now in (0.0, 249.0, 251.0, 1000.0, 12345.6):
        for page in range(PAGES):
            when = inside.scrubbed(PageHit(0, "weights", 1, "same_page", (page + 0.5) / PAGES), now)
            assert now < when <= now + SCRUB + 1e-9
            assert (when / SCRUB - page % 4 / 4) % 1.0 == pytest.approx(0.0, abs=1e-9) or when % SCRUB < 1e-6
    burst = PageHit(0, "weights", 3, "adjacent_pages", 1.5 / PAGES)  # pages 1, 2, 3
    assert inside.scrubbed(burst, 300.0) == 500.0
    assert inside.scrubbed(PageHit(0, "activations", 1, "same_page", 0.5), 0.0) == inf


@pytest.mark.parametrize("mode", ["in_place", "holder", "in_process", "all_processes"])
@pytest.mark.parametrize("beside", [[RETRY], [{"peer_copy": {}}], [{"replica_group": {"stall": "5 s"}}], []])
def test_any_job_with_unseen_errors_runs(mode: str, beside: list[dict[str, Any]]) -> None:
    """The ledger closes whatever else strikes, and nothing is found that nobody lost."""
    tiers = [*beside, stripe(), checkpoint(mode="async")]
    kinds = [{"rate": "60 / 1 d", "gpus": 16, "detect": f"{DETECT} s", **one} for one in CLASSES]
    latent = {"share": 0.7, "read": {"kind": "exponential", "mean": "20 min"}}
    told = [{**one, **({"latent": latent} if one["scope"] == "memory" else {})} for one in kinds]
    fleet = {"repair": {"stages": [{"name": "swap", "time": "500 s"}]}}
    changes = {"failures__page": "1 GiB", "failures__classes": told, "run__horizon": "1 d", "fleet": fleet}
    of = small(*tiers, mode=mode, failures__remap_budget=True, failures__scale=2, **changes)
    row = simulate(of, seed=1, replication=0)
    found = sum(count for count, _ in json.loads(row["by_class"]).values())
    assert 0 < found < row["failures"]


class Deaf(Trace):
    """A trace that is not to be asked for marks of unseen errors."""

    def mark(self, event: Event, name: str) -> float:
        assert name not in ("latent", "read")
        return super().mark(event, name)


@pytest.mark.parametrize("share", [None, 0.0])
def test_who_says_nothing_of_it_is_asked_nothing(share: float | None) -> None:
    latent = {} if share is None else {"latent": {"share": share, "read": "1 h"}}
    kinds = [{"rate": "40 / 1 d", "gpus": 16, "detect": "4 s", **one} for one in CLASSES]
    told = [{**one, **(latent if one["scope"] == "memory" else {})} for one in kinds]
    plain, of = (small(STRIPE, checkpoint(), failures__classes=each) for each in (kinds, told))
    laws: dict[str, Any] = {"horizon": of.horizon, "seed": 1, "replication": 0}
    drawn = draw_trace(of.classes, **laws)
    deaf = Deaf(drawn.classes, drawn.seed, drawn.replication, drawn.wall, drawn.running, drawn.counts)
    deaf.stationary = of.stationary
    row, same = simulate(of, seed=1, replication=0, trace=deaf), simulate(plain, seed=1, replication=0)
    assert {**row, "point": ""} == {**same, "point": ""}


# Laws

DAY = 86400.0


def check_pile_ups(m: int = 1) -> None:
    """Scrubs that find more than m lost pages in a GPU: binomial in its closed form."""
    hits, intervals = {1: 0.15, 2: 0.5}[m] / DAY, 700
    of = crowded(scrub=DAY, hits=hits, horizon=(intervals + 0.01) * DAY, m=m)
    lost = latent.piled_up(27, m, rate=hits / (27 + m), seconds=DAY)
    found = [simulate(of, seed=3, replication=i)["unrecoverable"] for i in range(3)]
    some = 1.0 - (1.0 - lost) ** GPUS
    statcheck.binomial_count(sum(found), len(found) * intervals, some, detect=0.38 * some)


@pytest.mark.parametrize("m", [1, 2])
def test_pile_ups_are_those_of_the_closed_form(m: int) -> None:
    check_pile_ups(m)


def test_scrubs_that_are_ignored_are_noticed() -> None:
    fault = replaced("gemsim.protection.stripe:PageStripe.scrubbed", lambda original: lambda *args: inf)
    must_reject(check_pile_ups, fault)


def test_scrubs_at_twice_the_interval_are_noticed() -> None:
    def rarer(original: Callable[[PageStripe, PageHit, float], float]) -> Callable[[PageStripe, PageHit, float], float]:
        def scrubbed(of: PageStripe, lost: PageHit, now: float) -> float:
            when = original(of, lost, now)
            return when + of.scrub * (round(when / of.scrub) % 2)

        return scrubbed

    must_reject(check_pile_ups, replaced("gemsim.protection.stripe:PageStripe.scrubbed", rarer))


def test_the_twin_counts_pile_ups() -> None:
    """Seen and unseen hits, and reads that often come before the scrub."""
    of = crowded(scrub=DAY, hits=0.04 / DAY, horizon=3000.0 * DAY, share=0.7, read=2 * DAY)
    moved = piled_up(of, outcomes(of))[1]
    falls = sum(simulate(of, seed=5, replication=i)["unrecoverable"] for i in range(12))
    statcheck.poisson_count(falls, moved.rate * of.horizon * 12, detect=0.42)
    assert moved.unsure < 0.1


# On the same trace


def test_more_frequent_scrubs_never_lose_more() -> None:
    """Passes that contain those of a rarer one lose nothing where that loses nothing."""
    horizon, differ = 20.1 * DAY, 0
    for seed in range(30):
        lost = []
        for scrub in (DAY, DAY / 2, DAY / 4, DAY / 8):
            of = crowded(scrub=scrub, hits=0.06 / DAY, horizon=horizon)
            lost.append(simulate(of, seed=seed, replication=0)["unrecoverable"] > 0)
        assert lost == sorted(lost, reverse=True)
        differ += lost[0] != lost[-1]
    assert differ > 5


# What is said


def test_check_says_how_often_and_how_often_to_scrub() -> None:
    of = crowded(scrub=DAY, hits=1e-3 / DAY, horizon=30 * DAY)
    (note,) = said(of)
    exact = GPUS * 30 * latent.piled_up(27, 1, rate=1e-3 / DAY / 28, seconds=DAY)
    assert f"2 or more lost pages pile up in a stripe of tier stripe {exact:.2g} times per run" in note
    assert "1e-06 per run takes a scrub each" in note
    assert said(small(STRIPE, checkpoint())) == []
    rare = crowded(scrub=DAY, hits=1e-9 / DAY, horizon=30 * DAY, read=3600.0)
    assert "1e-06 per run needs no scrub" in said(rare)[0]


def test_the_interval_it_asks_for_is_just_enough() -> None:
    """Scrubs of that interval, to the digits shown, let 1e-6 pile-ups into a run."""
    asked = said(crowded(scrub=DAY, hits=1e-3 / DAY, horizon=30 * DAY))[0]
    minutes = float(asked.split("takes a scrub each ")[1].split(" min")[0])
    again = said(crowded(scrub=60.0 * minutes, hits=1e-3 / DAY, horizon=30 * DAY))[0]
    assert "stripe 1e-06 times per run" in again


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"recurrence": {"again": 0.4, "gap": {"kind": "exponential", "mean": "9 d"}}}, "repeating devices"),
        ({"frailty": {"kind": "gamma", "shape": 0.5}}, "unlike or repeating"),
        ({"law": {"kind": "weibull", "shape": 0.7}}, "exponential law"),
        (
            {"rate": "9 / 1 d", "contained": 1.0, "latent": {"share": 0.4, "read": "90 d"}},
            "hits on a GPU while one is unseen",
        ),
        ({"rows": [[5, 1.0]], "rows_to_pages": "same_page"}, ""),
        ({"rows": [[5, 1.0]]}, "contiguous"),
    ],
)
def test_where_no_form_applies_it_says_so(keys: dict[str, Any], why: str) -> None:
    tiers = [stripe(scrub="30 d", mapping="contiguous"), checkpoint()]
    of = cold(*tiers, page=keys)
    if not why:
        assert "ettr_analytic" in predict(of)
        return
    with pytest.raises(NotCovered, match=why):
        predict(of)
    assert "not in the closed form" in said(of)[0]
