"""Models by name: one vocabulary, numbers by hand, and the facts that a scenario fills in."""

from __future__ import annotations

from math import comb, exp, expm1, sqrt
from typing import Any

import pytest

from gemsim.analytic.facts import facts_of
from gemsim.analytic.named import FACTS, NAMED, answers
from gemsim.analytic.run import traced
from gemsim.protection.checkpoint import Checkpoint
from gemsim.scenario import Scenario
from tests.laws.jobs import EXACT
from tests.studies import world

HOUR, DAY = 3600.0, 86_400.0
BY_HAND: dict[str, tuple[dict[str, Any], float]] = {  # facts, and what each model gives for them
    "young": ({"save": 40.0, "rate": 1 / (168 * HOUR)}, sqrt(2 * 40 * 168 * HOUR)),
    "daly": ({"save": 300.0, "rate": 1 / DAY}, 116.7 * 60),
    "optimum": ({"save": 300.0, "rate": 1 / 900.0}, 9.17 * 60),
    "availability": ({"save": 60.0, "mtbf": 1e5, "recovery": 600.0}, 60 + sqrt(2 * (1e5 + 600) * 60 + 3600)),
    "roll_back": (
        {"interval": 7000.0, "save": 300.0, "rate": 1 / DAY, "recovery": 600.0},
        7000.0 / (DAY * exp(600 / DAY) * expm1(7300 / DAY)),
    ),
    "in_place": (
        {"interval": 900.0, "save": 9.0, "rate": 1e-4, "recovery": 60.0, "milder": [(0.0, 20.0)]},
        900.0 / (1e4 * exp(6e-3) * expm1(0.0909)),
    ),
    "repairs_end": ({"rate": 1e-3, "milder": [(0.0, 20.0), (1e-12, 10.0)]}, exp(-1e-2)),
    "meta": (
        {"interval": 3600.0, "save": 36.0, "rate": 1e-5, "restart": 300.0, "queue": 60.0},
        1 - 1e-5 * (1800 + 300 + 60) - 0.01,
    ),
    "published_linear": ({"base": 0.99, "charges": [(1e-5, 523.0), (1e-6, 6000.0)]}, 0.99 - 523e-5 - 6e-3),
    "gemini_wasted": (
        {"written": 62.0, "interval": 62.0, "save": 0.0, "retrieval": 0.0}, 93.0,  # print: 1.5 iterations
    ),
    "silent": (
        {"silent_rate": 1e-6, "latency": 7200.0, "interval": 1800.0, "recovery": 100.0}, 1e-6 * (7200 + 900 + 100),
    ),
    "mttdl": (
        {"k": 1, "m": 1, "member_rate": 1e-6, "rebuild_rate": 1e-2}, (3e-6 + 1e-2) / (2 * 1e-6 * 1e-6),
    ),
    "stripe_loss": ({"k": 10, "m": 4, "loss": 0.01}, 1.857e-7),
    "lost_at_once": ({"k": 3, "m": 1, "members": 16, "lost": 2}, comb(4, 2) / comb(16, 2)),
    "burst": ({"pages": 100, "page_k": 10, "page_m": 1, "rows": 10, "mapping": "interleaved"}, 1.0),
    "worst_burst": ({"pages": 100, "page_k": 10, "page_m": 1, "mapping": "interleaved"}, 10),
    "replicas": ({"machines": 16, "copies": 2, "lost": 2}, 1 - 8 / comb(16, 2)),
    "corollary_1": ({"machines": 16, "copies": 2, "lost": 3}, 1 - 16 * comb(14, 1) / (2 * comb(16, 3))),
    "theorem_1": ({"machines": 17, "copies": 2}, 1 - 9 / comb(17, 2)),
    "spares_in_repair": ({"leaving": 2 / DAY, "repair": 12 * HOUR, "confidence": 0.99}, 4),
    "spares_down": ({"needed": 64, "down_share": 0.0232, "confidence": 0.99}, 5),
    "crews": ({"leaving": 0.5, "repair": 1.0, "crews": 1, "spares": 2}, 0.5**3),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NAMED))
def test_each_model_by_hand(name: str) -> None:
    facts, expected = BY_HAND[name]
    assert set(facts) == set(NAMED[name].needs)
    assert NAMED[name].of(**facts) == pytest.approx(expected, rel=1e-3)
    assert answers(facts)[name] == NAMED[name].of(**facts)


def test_one_vocabulary_with_sources_and_limits() -> None:
    assert {need for model in NAMED.values() for need in model.needs} == set(FACTS)
    for model in NAMED.values():
        assert all((model.source, model.valid, model.leaves_out, model.title))
        assert model.unit in ("s", "share", "count", "nodes")
        assert model.kind in ("exact", "first_order", "bound")


def test_a_model_outside_its_range_says_why() -> None:
    late = {"silent_rate": 1e-4, "latency": 7200.0, "interval": 1800.0, "recovery": 100.0}
    assert "first order needs < 0.05" in str(answers(late)["silent"])
    assert "must be a finite number" in str(answers({"save": -1.0, "rate": 1.0})["young"])


def facts(of: Scenario) -> dict[str, Any]:
    return facts_of(traced(of)[1][0])


def test_the_facts_of_a_job_of_one_class_by_hand() -> None:
    of = EXACT["gpus alone x8"].scenario(20.0)
    (kind,), (tier,) = of.classes, of.tiers
    assert isinstance(tier, Checkpoint)
    found = facts(of)
    assert found["rate"] == pytest.approx(kind.rate)
    assert found["save"] == 2.0
    assert found["interval"] == tier.every * of.useful_step
    assert found["queue"] == pytest.approx(120.0)  # a spare is started
    assert found["restart"] == pytest.approx(10.0 + 110.0 + tier.read)  # detection, restart, and the read
    assert found["written"] == pytest.approx(2.0 + tier.lag)
    assert found["retrieval"] == tier.read
    exact = {name: float(value) for name, value in answers(found).items()}
    assert exact["roll_back"] == pytest.approx(traced(of)[0]["ettr_analytic"] * exp(kind.rate * tier.lag), rel=1e-9)
    assert exact["optimum"] == pytest.approx(found["interval"], abs=of.useful_step)
    assert exact["published_linear"] < exact["roll_back"]  # charges work that was not yet done again


def test_failures_repaired_in_place_are_no_roll_backs_to_the_models() -> None:
    """The form with both is the twin's but for the encodes, which it does not know, and for a hit that ends before the
    restart that it meets, which it takes as a restart anew."""
    of = EXACT["in_place, sync x1"].scenario(20.0)
    twin, (solved,) = traced(of)
    found = {name: float(value) for name, value in answers(facts_of(solved)).items()}
    assert found["in_place"] < found["roll_back"]
    assert found["in_place"] * of.useful_step / solved.pace == pytest.approx(twin["ettr_analytic"], abs=5e-4)


def test_stripes_and_copies_bring_facts_of_their_own() -> None:
    across = facts(world.point("layouts", "cross-node stripe", k=8, m=1))
    assert (across["k"], across["m"]) == (8, 1)
    assert 1.0 / across["rebuild_rate"] > 60.0
    copies = facts(world.point("layouts", "CPU memory"))
    assert (copies["machines"], copies["copies"], copies["lost"]) == (2048, 2, 2)
    inside = facts(world.point("layouts", "in-GPU stripe"))
    assert answers(inside)["worst_burst"] == -(-inside["pages"] // 32)  # m = 1: a parity page for each stripe
