"""The repair shop against exact laws: the peer's two stages, M/M/c, M/G/infinity; and faults that these notice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import simpy
from scipy.stats import poisson

from gemsim.engine.repair import Shop
from gemsim.failures.laws import Duration, duration
from gemsim.scenario.fleet import Parts
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.fleet.queues import Drawn, all_busy, exponential, repair, stage
from tests.fleet.test_repair import check_oracle

PEER = repair(
    stage("auto", exponential(120.0), escalate=0.8, silent=0.4), stage("manual", exponential(2880.0), silent=0.2)
)
"""The closest peer's default (minutes): mean 120 + 0.8 x 2,880 = 2,424; 24 % leave as they came."""


def peer_stays(rng: np.random.Generator, count: int = 40_000) -> tuple[list[float], int]:
    """How long each stayed, and how many left not mended."""
    shop, marks = Shop(PEER), Drawn(rng)
    for node in range(count):
        shop.enter(node, 0.0, marks)
    back = shop.returns(inf)
    return [when for when, _, _ in back], sum(not mended for _, _, mended in back)


def stay_cdf(t: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """P(stay <= t): 0.2 Exp(120) + 0.8 (Exp(120) + Exp(2,880))."""
    short, both = -np.expm1(-t / 120.0), 1 - (2880.0 * np.exp(-t / 2880.0) - 120.0 * np.exp(-t / 120.0)) / 2760.0
    return 0.2 * short + 0.8 * both


def check_two_stages(seed: int) -> None:
    """The whole law of the peer's two-stage repair, and its share of silent failures."""
    stays, silent = peer_stays(np.random.default_rng(seed))
    statcheck.ks_uniform(stay_cdf(np.array(stays)), detect=0.03)
    statcheck.binomial_count(silent, len(stays), 0.2 * 0.4 + 0.8 * 0.2, detect=0.015)


def test_two_stages_of_the_peer(seed: int) -> None:
    check_two_stages(seed)


def test_mean_of_the_two_stages(rng: np.random.Generator) -> None:
    def draw(part: int) -> list[float]:
        del part
        return peer_stays(rng)[0]

    statcheck.mean_two_stage(draw, 120.0 + 0.8 * 2880.0, detect=110.0)


SERVERS, OFFERED, SERVICE = 3, 2.1, 10.0


def check_waits(seed: int, cycles: int = 6_000) -> None:
    """M/M/3: each cycle starts with an arrival in equilibrium and looks at the fourth after it; cycles are independent.

    In equilibrium an arrival finds k nodes with the chain's probability, and then so does the next; given that all
    crews are busy its wait is exponential of rate (c - a) / service.
    """
    rng = np.random.default_rng(seed)
    weights = [OFFERED**k / np.prod(np.arange(1.0, k + 1)) for k in range(SERVERS)]
    weights += [weights[-1] * OFFERED / SERVERS * (OFFERED / SERVERS) ** k for k in range(200)]
    share = np.cumsum(weights) / sum(weights)
    waits = []
    for _ in range(cycles):
        shop, marks = Shop(repair(stage("x", exponential(SERVICE), crews=SERVERS))), Drawn(rng)
        for node in range(1 + int(np.searchsorted(share, rng.random(), "right"))):
            shop.enter(node, 0.0, marks)
        now = 0.0
        for node in range(1000, 1004):
            now += rng.exponential(SERVICE / OFFERED)
            before = shop.crew_wait
            shop.enter(node, now, marks)
            shop.returns(now)
        waits.append(shop.crew_wait - before)
    waited = [wait for wait in waits if wait > 0.0]
    statcheck.binomial_count(len(waited), cycles, all_busy(OFFERED, SERVERS), detect=0.06)
    statcheck.ks_uniform(-np.expm1(-np.array(waited) * (SERVERS - OFFERED) / SERVICE), detect=0.15)


def test_waits_of_m_m_c(seed: int) -> None:
    check_waits(seed)


def check_number_inside(seed: int, law: Duration, runs: int = 6_000) -> None:
    """M/G/infinity started empty: at time t the number inside is Poisson with mean rate x integral of P(stay > s)."""
    rng = np.random.default_rng(seed)
    t, rate = 50.0, 0.2
    steps = (np.arange(20_000) + 0.5) * (t / 20_000)
    mean = rate * t * float(np.mean([law.longer(float(s)) for s in steps]))
    seen = []
    for _ in range(runs):
        shop, marks = Shop(repair(stage("x", law))), Drawn(rng)
        now = float(rng.exponential(1 / rate))
        while now < t:
            shop.returns(now)
            shop.enter(shop.entered, now, marks)
            now += float(rng.exponential(1 / rate))
        shop.returns(t)
        seen.append(shop.inside)
    statcheck.poisson_count(sum(seen), mean * runs, detect=0.06)
    low, high = int(mean) - 2, int(mean) + 2
    share = float(poisson.cdf(high, mean) - poisson.cdf(low, mean))
    statcheck.binomial_count(sum(low < n <= high for n in seen), runs, share, detect=0.06)


@pytest.mark.parametrize("law", [exponential(20.0), duration("fixed", 20.0), duration("lognormal", 20.0, 1.5)])
def test_number_in_repair_is_poisson(seed: int, law: Duration) -> None:
    check_number_inside(seed, law)


# ---------------------------------------------------------------- planted faults


class LastFirst(deque[Any]):
    """A queue whose newest is served first."""

    def popleft(self) -> Any:
        return self.pop()


def _without(**changed: object) -> AbstractContextManager[None]:
    """Stages in which something is not what the plan says."""
    from gemsim.engine import repair as module

    places = {"escalate": 3, "silent": 5}

    def make(original: Callable[..., tuple[object, ...]]) -> Callable[..., tuple[object, ...]]:
        def steps(*args: object) -> tuple[object, ...]:
            made = list(original(*args))
            for name, value in changed.items():
                made[places[name]] = value
            return tuple(made)

        return steps

    return replaced(f"{module.__name__}:_steps", make)


@pytest.mark.parametrize("fault", [{"escalate": 0.0}, {"escalate": 1.0}, {"silent": 0.0}])
def test_a_stage_left_out_is_noticed(fault: dict[str, float]) -> None:
    must_reject(lambda: check_two_stages(1), _without(**fault))


@contextmanager
def newest_first() -> Iterator[None]:
    """The newest node that waits for a part gets it."""
    with patch("gemsim.engine.repair.deque", LastFirst):
        yield


def test_newest_first_is_noticed() -> None:
    plan = repair(stage("x", 1.0), parts=Parts(1.0, 0, exponential(9.0)))
    must_reject(lambda: check_oracle(plan, [(float(k), k) for k in range(30)]), newest_first())


class NewestFirst(simpy.PriorityResource):
    """A crew that turns to whoever came last."""

    def request(self, *_: Any, **__: Any) -> Any:
        return super().request(priority=-round(self._env.now))


def test_a_crew_that_takes_the_newest_is_noticed() -> None:
    """Planted in the oracle: ours has no queue in which the order could be wrong."""
    plan = repair(stage("x", exponential(30.0), crews=2))
    fault = replaced("tests.fleet.queues:simpy.Resource", lambda _: NewestFirst)
    must_reject(lambda: check_oracle(plan, [(5.0 * k, k) for k in range(20)]), fault)


def test_a_crew_too_many_is_noticed() -> None:
    must_reject(
        lambda: check_waits(1),
        replaced(
            "gemsim.engine.repair:Shop.__init__",
            lambda original: lambda shop, plan: (original(shop, plan), [crew.append(0.0) for crew in shop._crews])[0],
        ),
    )


def test_a_crew_that_keeps_its_last_start_is_noticed() -> None:
    """A crew is free again when it starts, not when it ends: as good as no limit."""
    plan = repair(stage("x", exponential(30.0), crews=2))
    fault = replaced("gemsim.engine.repair:heapreplace", lambda _: lambda crew, _: crew[0])
    must_reject(lambda: check_oracle(plan, [(5.0 * k, k) for k in range(20)]), fault)


def test_law_of_another_mean_is_noticed() -> None:
    fault = replaced(
        "gemsim.engine.repair:quantile",
        lambda original: lambda law: original(Duration(law.kind, 1.1 * law.mean, law.sigma)),
    )
    must_reject(lambda: check_number_inside(1, exponential(20.0)), fault)
