"""Who stands by: the chain against a dense solve, matrix exponentials, Erlang's forms and a play; who is in the job,
against conservation and limits."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import expm

from gemsim.analytic import spares
from gemsim.analytic.composition import Flow, in_the_job, multiples
from gemsim.analytic.queues import erlang_b
from gemsim.analytic.standby import Stretch, _Chain, over_a_run, standby
from gemsim.errors import NotCovered
from gemsim.failures.classes import Frailty
from gemsim.scenario.fleet import SparesPlan
from tests.faults import must_reject, replaced

DAY = 86_400.0


def dense(chain: _Chain) -> np.ndarray:
    """The generator of a chain, row by row from its moves."""
    size = len(chain.states)
    rates = np.zeros((size, size))
    for number, (broken, idle, part) in enumerate(chain.states):
        for state, rate in chain._moves(number, broken, idle, part):
            rates[number, chain.number[state]] += rate
    return rates - np.diag(rates.sum(axis=1))


def check_dense(hot: int, others: int, stop: float, anew: bool) -> None:
    rate, mean, idle = 2.0, 1.5, 0.02
    found = standby(hot, others, rate, mean, stop=stop, anew=anew, idle=idle)
    chain = _Chain(hot, hot + others, rate, mean, stop, anew, idle)
    rates = dense(chain)
    system = np.vstack([rates.T, np.ones(len(rates))])
    shares = np.linalg.lstsq(system, np.append(np.zeros(len(rates)), 1.0), rcond=None)[0]
    assert found.failures == pytest.approx(shares @ chain.failing, rel=1e-8)
    assert found.without_hot == pytest.approx(shares @ chain.next_kind, rel=1e-8)
    assert found.without_any == pytest.approx(shares @ chain.none, rel=1e-7)
    assert found.lacking == pytest.approx(shares @ chain.lacking, rel=1e-7)
    start = np.eye(len(rates))[chain.first]
    counted, step = 0.0, 0.02
    move = expm(rates * step)
    for _ in range(int(60.0 / step)):
        middle = start @ expm(rates * step / 2.0) if counted == 0.0 else (start + start @ move) / 2.0
        counted += step * float(middle @ chain.next_kind)
        start = start @ move
    assert found.without_hot * 60.0 + found.extra_without_hot == pytest.approx(counted, rel=2e-3)


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("stop", [0.0, 0.3])
def test_the_chain_is_its_generator(stop: float, anew: bool) -> None:
    check_dense(2, 4, stop, anew)


def test_without_other_kinds_it_is_erlang() -> None:
    """Failing all the time: Poisson. Failing while it runs: the loss formula."""
    assert standby(5, 0, 2.0, 1.5).lacking == pytest.approx(spares.short(5, 2.0, 1.5), rel=1e-9)
    assert standby(0, 5, 2.0, 1.5).lacking == pytest.approx(spares.short(5, 2.0, 1.5), rel=1e-9)
    assert standby(5, 0, 2.0, 1.5, stop=1e-9).lacking == pytest.approx(erlang_b(6, 3.0), rel=1e-6)
    assert standby(5, 0, 2.0, 1.5).without_hot == 0.0


def played(plan: SparesPlan, rate: float, mean: float, seconds: float, seed: int) -> tuple[int, int]:
    """Selections and borrowed nodes of a job that fails all the time, played failure by failure."""
    rng = random.Random(seed)
    hot, free, broken, selections, borrowed, now = plan.hot, plan.warm, 0, 0, 0, 0.0
    while True:
        total = rate + broken / mean
        now += rng.expovariate(total)
        if now > seconds:
            return selections, borrowed
        if rng.random() * total >= rate:
            broken -= 1
            hot, free = (hot + 1, free) if hot < plan.hot else (hot, free + 1)
            continue
        broken += 1
        if hot:
            hot -= 1
            continue
        if not free:
            borrowed += plan.hot + 1
            free = plan.hot + 1
        selections += 1
        free -= 1
        moved = min(plan.hot, free)
        hot, free = moved, free - moved


def plan(hot: int, warm: int, borrow: int) -> SparesPlan:
    return SparesPlan(
        hot=hot, warm=warm, cold=0, unit=1, activation=(0.0, 0.0, 0.0), join_fails=0.0, join_timeout=0.0,
        selection=1.0, borrow=borrow, borrow_each=1e-9, reshuffle=True, short="wait",
    )  # fmt: skip


@pytest.mark.parametrize(("hot", "warm"), [(2, 30), (3, 9)])
def test_selections_and_borrowed_nodes_of_a_run(hot: int, warm: int) -> None:
    """To first order: borrowed nodes within a tenth and a half, selections within a twentieth."""
    rate, mean, seconds, runs = 5.0, 1.0, 100.0, 400
    expected = over_a_run([Stretch(seconds, rate)], plan(hot, warm, 500), mean, stop=0.0)
    counts = np.array([played(plan(hot, warm, 500), rate, mean, seconds, seed) for seed in range(runs)], dtype=float)
    errors = counts.std(axis=0, ddof=1) / runs**0.5
    assert abs(counts[:, 0].mean() - expected.selections) < 4.0 * errors[0] + 0.05 * expected.selections
    assert abs(counts[:, 1].mean() - expected.borrowed) < 4.0 * errors[1] + 0.1 * expected.borrowed + 0.5


def test_too_many_states_are_refused() -> None:
    with pytest.raises(NotCovered, match="too many"):
        standby(500, 4000, 100.0, 30.0)


# Who is in the job


FLOW = Flow(places=128, spares=20, rate=1e-6, leaves=True, others=0.0, repair=DAY, cured=0.0)
LEMONS = Frailty("lemons", share=0.05, multiplier=20.0, good=1.0)


def test_multiples_have_the_moments_of_the_law() -> None:
    for law in (LEMONS, Frailty("gamma", shape=0.3), Frailty("gamma", shape=4.0)):
        x, shares = multiples(law)
        assert shares.sum() == pytest.approx(1.0, rel=1e-12)
        assert x @ shares == pytest.approx(law.mean, rel=1e-12)
    x, shares = multiples(Frailty("gamma", shape=0.3))
    assert x**2 @ shares == pytest.approx(1.0 + 1.0 / 0.3, rel=1e-10)


def test_devices_that_stay_keep_their_mean() -> None:
    still = Flow(places=128, spares=20, rate=1e-6, leaves=False, others=0.0, repair=DAY, cured=0.0)
    assert in_the_job(LEMONS, still, 100 * DAY).mean == pytest.approx(LEMONS.mean, rel=1e-9)


def test_repairs_that_cure_leave_good_ones() -> None:
    long = in_the_job(LEMONS, Flow(128, 20, 1e-6, True, 0.0, DAY, 1.0), 50_000 * DAY)
    assert long.mean == pytest.approx(1.0, abs=0.01)
    assert long.course[-1] == pytest.approx(1.0, abs=1e-3)
    begin = in_the_job(LEMONS, FLOW, 1.0)
    assert begin.mean == pytest.approx(LEMONS.mean, rel=1e-4)


def test_in_the_long_run_who_fails_more_is_away_more() -> None:
    """Each node is away for A in every cycle: D E(1 / (1 + r x A)) = J, whatever the law of its time away."""
    found = in_the_job(LEMONS, FLOW, 400_000 * DAY)
    x, shares = multiples(LEMONS)

    def running(away: float) -> float:
        return 148.0 * float(shares @ (1.0 / (1.0 + FLOW.rate * x * away)))

    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if running(middle) > 128.0 else (low, middle)
    run = shares / (1.0 + FLOW.rate * x * low)
    assert found.mean == pytest.approx(float(x @ run / run.sum()), rel=2e-3)


def test_spares_forgotten_at_a_selection_are_caught() -> None:
    def never_refilled(original: Callable[..., object]) -> Callable[..., object]:
        return lambda *args, **more: original(*args, **{**more, "anew": False})

    must_reject(
        lambda: test_selections_and_borrowed_nodes_of_a_run(2, 30),
        replaced("gemsim.analytic.standby:standby", never_refilled),
    )
