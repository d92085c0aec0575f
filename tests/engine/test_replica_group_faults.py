"""Planted faults in running on without a group: each is seen by a case worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from typing import Any

import pytest

from gemsim.engine.course import Course
from tests.engine.test_replica_group import (
    behind_a_switch,
    half_out_already,
    hit_while_out,
    let_in_again,
    one_out,
    one_too_many_in_the_stall,
    rejoin,
    remap_is_served,
    roll_back,
    roll_back_while_out,
    two_out,
)
from tests.faults import replaced


def waits_for_the_spare() -> AbstractContextManager[None]:
    """Those left wait until the group that failed has its replacement."""

    return replaced(
        "gemsim.engine.course:Course.waiting",
        lambda original: lambda course, held_up: max(20.0, original(course, held_up)),
    )


def never_given_back() -> AbstractContextManager[None]:
    return replaced("gemsim.engine.job:back", lambda original: lambda *args: inf)


def booked_in_full() -> AbstractContextManager[None]:
    """Missing work counts as done."""
    return replaced("gemsim.engine.capacity:ReplicaGroup.lost_share", lambda original: lambda *args: 0.0)


def rolled_back_in_full() -> AbstractContextManager[None]:
    """Missing work is given up as if it had been done."""
    return replaced("gemsim.engine.capacity:Capacity.missing_between", lambda original: lambda *args: 0.0)


def never_let_in() -> AbstractContextManager[None]:
    return replaced("gemsim.engine.capacity:Capacity.restart", lambda original: lambda self, place, now: None)


def out_with_any_of_it() -> AbstractContextManager[None]:
    """A failure that strikes anything that is out is taken for one of what is out alone."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, struck, corrupt: bool(self.out.keys() & self.tier.units_of(struck, self.grid))

    return replaced("gemsim.engine.capacity:Capacity.holds", make)


def remap_stays() -> AbstractContextManager[None]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def go_on(self: Any, recovery: Any) -> None:
            pending = self.remaps
            original(self, recovery)
            self.remaps = pending

        return go_on

    return replaced("gemsim.engine.job:Job._go_on_without", make)


def forgotten_in_the_fall() -> AbstractContextManager[None]:
    """A roll-back out of the stall serves the last failure alone."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *args: original(self, *args) if self.strikes[-1] is args[0] else Course()

    return replaced("gemsim.engine.recovery:Recovery._course", make)


def one_gpu_alone() -> AbstractContextManager[None]:
    """A switch is taken for the GPU that its failure names."""
    return replaced("gemsim.engine.strike:struck_by", lambda original: lambda scope, *args: original("link", *args))


def stops_for_all() -> AbstractContextManager[None]:
    """A failure of what is out stops the others."""
    return replaced("gemsim.engine.capacity:Capacity.holds", lambda original: lambda *args: False)


def immune_to_joins() -> AbstractContextManager[None]:
    return replaced("gemsim.engine.capacity:Capacity.next_stall", lambda original: lambda *args: inf)


FAULTS: list[tuple[Callable[[], AbstractContextManager[None]], Callable[[], object]]] = [
    (waits_for_the_spare, one_out),
    (never_given_back, hit_while_out),
    (booked_in_full, two_out),
    (rolled_back_in_full, roll_back),
    (rolled_back_in_full, roll_back_while_out),
    (never_let_in, let_in_again),
    (out_with_any_of_it, half_out_already),
    (remap_stays, remap_is_served),
    (forgotten_in_the_fall, one_too_many_in_the_stall),
    (one_gpu_alone, behind_a_switch),
    (stops_for_all, hit_while_out),
    (immune_to_joins, rejoin),
]


@pytest.mark.parametrize(("fault", "check"), FAULTS)
def test_a_planted_fault_is_seen(
    fault: Callable[[], AbstractContextManager[None]], check: Callable[[], object]
) -> None:
    check()
    with fault(), pytest.raises(AssertionError):
        check()
