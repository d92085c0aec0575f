"""Faults planted in the closed forms: the play of the job, failure by failure, must reject each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from gemsim.analytic import renewal
from tests.analytic.test_general import check_against_play
from tests.faults import must_reject, replaced

Form = Callable[..., float]


def on_general(change: Callable[[dict[str, Any]], dict[str, Any]]) -> AbstractContextManager[None]:
    """The general form gets changed arguments."""

    def make(original: Form) -> Form:
        return lambda tau, delta, **given: original(tau, delta, **change(given))

    return replaced("gemsim.analytic.renewal:general_ettr", make)


def rate_too_high() -> AbstractContextManager[None]:
    """Every class fires 5 % more often."""
    groups = ("restarting", "in_place", "keeping")
    return on_general(lambda g: g | {name: [(rate * 1.05, d) for rate, d in g[name]] for name in groups})


def write_is_durable_at_once() -> AbstractContextManager[None]:
    return on_general(lambda g: g | {"write_lag": 0.0})


def kept_restart_loses_nothing() -> AbstractContextManager[None]:
    return on_general(lambda g: g | {"step": 0.0})


def kept_restart_does_not_move_the_checkpoint_clock() -> AbstractContextManager[None]:
    """Kept restarts cost their time and nothing else, like an in-place repair."""
    return on_general(lambda g: g | {"in_place": [*g["in_place"], *g["keeping"]], "keeping": ()})


def restart_immune() -> AbstractContextManager[None]:
    """No failure hits a job that stands still."""

    def make(original: Callable[..., renewal.Interruptions]) -> Callable[..., renewal.Interruptions]:
        def immune(**groups: renewal.Classes) -> renewal.Interruptions:
            kinds = ("restarting", "keeping", "in_place")
            first, second, third = (sum(rate for rate, _ in groups[kind]) for kind in kinds)
            wall = 1.0 + sum(rate * d for kind in kinds for rate, d in groups[kind])
            return renewal.Interruptions(first, second, third, wall)

        return immune

    return replaced("gemsim.analytic.renewal:interruptions", make)


def recovery_does_not_start_again() -> AbstractContextManager[None]:
    """A hit while standing still turns the kind but does not lengthen the wait."""

    def make(original: Callable[..., renewal.Interruptions]) -> Callable[..., renewal.Interruptions]:
        def shorter(**groups: renewal.Classes) -> renewal.Interruptions:
            wall = 1.0 + sum(rate * d for group in groups.values() for rate, d in group)
            return original(**groups)._replace(wall_per_running=wall)

        return shorter

    return replaced("gemsim.analytic.renewal:interruptions", make)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (rate_too_high, "two stalls, two restarts"),
        (rate_too_high, "all kinds"),
        (restart_immune, "stall longer than a restart"),
        (restart_immune, "kept restarts"),
        (recovery_does_not_start_again, "two stalls, two restarts"),
        (write_is_durable_at_once, "write lag"),
        (write_is_durable_at_once, "write goes on through kept restarts"),
        (kept_restart_loses_nothing, "kept restarts"),
        (kept_restart_does_not_move_the_checkpoint_clock, "all kinds"),
    ],
)
def test_play_rejects(fault: Callable[[], AbstractContextManager[None]], name: str) -> None:
    must_reject(lambda: check_against_play(name), fault())


def test_must_reject_sees_a_check_that_cannot_fail() -> None:
    with pytest.raises(AssertionError, match="accepts the planted fault"):
        must_reject(lambda: None, rate_too_high())


def test_a_crash_is_no_rejection() -> None:
    def make(original: Form) -> Form:
        def broken(*_: object, **__: object) -> float:
            raise ZeroDivisionError

        return broken

    with pytest.raises(ZeroDivisionError):
        must_reject(lambda: check_against_play("write lag"), replaced("gemsim.analytic.renewal:general_ettr", make))
