"""Faults in the rules of the pools, and the checks that notice them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from math import inf
from random import Random
from typing import Any

import pytest

from gemsim.engine.claims import HOT, WARM
from gemsim.scenario.fleet import RepairPlan, SparesPlan
from tests.faults import must_reject, replaced
from tests.fleet.queues import marks_of, pools, spares
from tests.fleet.test_pools_laws import check_few_spares, check_joins, check_reshuffle
from tests.fleet.test_pools_oracle import CREWS, JOBS, REPAIR, Blow, check_oracle


@cache
def cases(count: int = 50) -> list[tuple[SparesPlan, RepairPlan, list[Blow]]]:
    """Plans and scripts of all kinds, always the same."""
    draw = Random(7)
    made = []
    for _ in range(count):
        plan = spares(
            hot=draw.randrange(3), warm=draw.randrange(4), cold=draw.randrange(2), borrow=draw.randrange(4),
            activation=draw.choice([(0.0, 0.0, 0.0), (0.7, 3.1, 40.9)]), join_fails=draw.choice([0.0, 0.3, 0.8]),
            join_timeout=21.7, selection=draw.choice([0.0, 8.9]), borrow_each=13.37,
        )  # fmt: skip
        script = [
            Blow(float(draw.randrange(60)), tuple(draw.sample(range(JOBS), draw.randrange(4))),
                 draw.choice([0.0, 7.3]), draw.choice([None, None, 0, 2]))
            for _ in range(10)
        ]  # fmt: skip
        made.append((plan, draw.choice([REPAIR, CREWS]), script))
    return made


def check_cases() -> None:
    """Ours and the oracle agree in all cases."""
    for plan, mending, script in cases():
        check_oracle(plan, mending, script)


def test_cases() -> None:
    check_cases()


STANDBY = "gemsim.engine.standby:Standby."


def changed(method: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> AbstractContextManager[None]:
    """One rule of the pools is another."""
    return replaced(STANDBY + method, make)


def joins_at_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """A spare that fails is noticed without the time-out."""

    def start(state: Any, *args: Any, **options: Any) -> None:
        plan, state.plan = state.plan, replace(state.plan, join_timeout=0.0)
        original(state, *args, **options)
        state.plan = plan

    return start


def forgets_hot(original: Callable[..., Any]) -> Callable[..., Any]:
    """A selection leaves the hot ones as they are."""

    def choose(state: Any, *args: Any) -> None:
        units, state._hot_units = state._hot_units, 0
        original(state, *args)
        state._hot_units = units

    return choose


def borrows_for_the_job_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    """Nodes are borrowed until the job is whole; the hot ones do not count."""

    def choose(state: Any, *args: Any) -> None:
        plan, state.plan = state.plan, replace(state.plan, hot=0)
        original(state, *args)
        state.plan = plan

    return choose


def newest_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """The spare that came last is taken first."""

    def pop(state: Any, kind: int, now: float, *near: Any) -> Any:
        state.idle[kind].rotate(1)
        return original(state, kind, now)

    return pop


@pytest.mark.parametrize(
    "fault",
    [
        lambda: changed("_overtake", lambda _: lambda *_: None),
        lambda: changed("_lacking", lambda _: lambda _: False),
        lambda: changed("_start", joins_at_once),
        lambda: changed("_choose", forgets_hot),
        lambda: changed("_choose", borrows_for_the_job_alone),
        lambda: changed("put_mended", lambda _: lambda state, unit, now: state.put(WARM, unit, now)),
        lambda: changed("put_mended", lambda _: lambda state, unit, now: state.put(HOT, unit, now)),
        lambda: replaced("gemsim.engine.standby:renamed", lambda _: lambda marks, _: marks),
        lambda: changed("pop", newest_first),
    ],
    ids=["nobody overtakes", "mended ones can fail", "no time-out", "no refill", "borrows too few", "all warm",
         "all hot", "marks of the first", "newest first"],
)  # fmt: skip
def test_another_rule_is_noticed(fault: Callable[[], AbstractContextManager[None]]) -> None:
    must_reject(check_cases, fault())


def test_spares_that_do_not_come_back_are_noticed() -> None:
    must_reject(lambda: check_few_spares(1), changed("put_mended", lambda _: lambda *_: None))


def test_a_spare_too_many_is_noticed() -> None:
    def one_more(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda state, plan, shop, jobs: original(state, replace(plan, hot=plan.hot + 1), shop, jobs)

    must_reject(lambda: check_few_spares(1), changed("__init__", one_more))


def test_spares_that_always_join_are_noticed() -> None:
    def never(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda these, count, now, marks, **more: original(these, count, now, lambda _: 0.99, **more)

    must_reject(lambda: check_joins(1), replaced("gemsim.engine.pools:Pools.take", never))


def test_a_reshuffle_of_the_idle_alone_is_noticed() -> None:
    """The peer's own selection: it takes who stands first, so that who was repaired last is chosen last."""
    must_reject(
        lambda: check_reshuffle(1),
        replaced("gemsim.engine.pools:Random.sample", lambda _: lambda _, who, k: list(who)[-k:]),
    )


def test_nobody_is_lost() -> None:
    """Nodes of job, pools, repair and those that can be borrowed are all there at the end."""
    for plan, mending, _ in cases():
        these = pools(plan, mending)
        for number in range(20):
            these.send([number], 10.0 * number, marks_of(number))
            taken = these.take(1, 10.0 * number, marks_of(number))
            if taken.ready == inf:
                break
        these.settle(1e7)
        count = these.counts()
        total = plan.nodes + plan.borrow
        assert sum(count.values()) == total
