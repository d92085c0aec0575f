"""Faults planted in what a fleet adds to the trace, each with the check that notices it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from gemsim.failures.draw import NOTHING
from tests.faults import must_reject, replaced
from tests.fleet.fleet_jobs import NODE
from tests.fleet.test_common_cause import test_a_common_cause_moves_no_rate as check_common_cause
from tests.fleet.test_common_cause import test_beta_one_takes_whole_domains as check_whole_domains
from tests.fleet.test_trace_laws import (
    LEMONS,
    check_batch_domain,
    check_batch_rate,
    check_bound_times,
    check_chains,
    check_drift,
    check_drift_of_devices,
    check_gamma,
    check_last_domain,
    check_lemons,
    check_recurrence_rate,
    check_residual_gaps,
    check_share,
)
from tests.fleet.test_trace_laws import test_more_spares_only_append as check_append

Fault = AbstractContextManager[None]
Make = Callable[..., Any]
DRAW = "gemsim.failures.draw:"
TRACE = "gemsim.failures.trace:"


def drawn_of(change: Callable[[Any], Any]) -> Fault:
    """The draw sees another class."""
    return replaced(TRACE + "Draw", lambda original: lambda kind, *rest: original(change(kind), *rest))


def lemons_too_lively() -> Fault:
    """What lemons have beyond the others is a fifth too much."""

    def more(original: Make) -> Make:
        def multiples(kind: Any, seed: int, replication: int) -> Any:
            found = original(kind, seed, replication)
            return np.where(found > kind.frailty.good, found * 1.2, found)

        return multiples

    return replaced(DRAW + "device_multiples", more)


def too_many_lemons() -> Fault:
    """A fifth more devices are lemons."""

    def more(original: Make) -> Make:
        def multiples(kind: Any, seed: int, replication: int) -> Any:
            law = replace(kind.frailty, share=1.2 * kind.frailty.share)
            return original(replace(kind, frailty=law), seed, replication)

        return multiples

    return replaced(DRAW + "device_multiples", more)


def gamma_of_another_shape() -> Fault:
    """The multiples vary less than they should; their mean is right."""
    return drawn_of(lambda kind: replace(kind, frailty=replace(kind.frailty, shape=1.6 * kind.frailty.shape)))


def devices_fail_early() -> Fault:
    """A device that fails does so in the first half."""

    def halved(original: Make) -> Make:
        def early(draw: Any) -> Any:
            times, which = original(draw)
            return np.where(times > draw.horizon * 0.75, times / 2, times), which

        return early

    return replaced(DRAW + "Draw.of_devices", halved)


def pending_forgotten() -> Fault:
    """Nothing follows a failure from before the run."""
    return replaced(DRAW + "Draw.pending", lambda _: lambda _: NOTHING)


def pending_as_new() -> Fault:
    """What is pending has a whole gap before it."""

    def fresh(original: Make) -> Make:
        def pending(draw: Any) -> Any:
            times, which = original(draw)
            law = draw.kind.recurrence
            u = np.linspace(0.001, 0.999, len(times)) * float(law.gap.cdf(draw.horizon)) if law else times
            return (np.asarray(law.gap.quantile(u)) if law else times), which

        return pending

    return replaced(DRAW + "Draw.pending", fresh)


def always_again() -> Fault:
    """One failure in eight more is followed."""

    def follower(original: Make) -> Make:
        def after(trace: Any, event: Any, device: int, now: float) -> Any:
            kinds = trace.classes
            law = replace(kinds[0].recurrence, again=kinds[0].recurrence.again + 0.125)
            trace.classes = (replace(kinds[0], recurrence=law),)
            found = original(trace, event, device, now)
            trace.classes = kinds
            return found

        return after

    return replaced(TRACE + "Trace.follower", follower)


def batch_rate_of_instants() -> Fault:
    """The rate counts instants, not units."""
    return replaced("gemsim.failures.classes:Batch.mean_of", lambda _: lambda batch, units: 1.0)


def batch_anywhere() -> Fault:
    """The others of a batch may be in any rack."""

    def wide(original: Make) -> Make:
        return lambda times, which, units, batch, key: original(
            times, which, units, replace(batch, domain=units, sizes=batch.sizes), key
        )

    return replaced(DRAW + "_together", wide)


def batch_of_neighbours() -> Fault:
    """The others of a batch are those with the next numbers."""

    def next_ones(original: Make) -> Make:
        def together(times: Any, which: Any, units: int, batch: Any, key: Any) -> Any:
            all_times, all_units = original(times, which, units, batch, key)
            first = np.concatenate([[True], np.diff(all_times) > 0.0])
            start = np.maximum.accumulate(np.where(first, np.arange(len(all_times)), 0))
            place = np.arange(len(all_times)) - start
            head = all_units[start]
            return all_times, head // batch.domain * batch.domain + (head + place) % batch.domain

        return together

    return replaced(DRAW + "_together", next_ones)


def last_domain_as_the_others() -> Fault:
    """A domain that is not full has the mean batch of a full one."""
    return replaced(
        "gemsim.failures.classes:Batch.mean_of", lambda original: lambda batch, _: original(batch, batch.domain)
    )


def drift_inverted() -> Fault:
    """Where the rate should double it is halved."""
    return drawn_of(lambda kind: replace(kind, drift=tuple((start, 1.0 / factor) for start, factor in kind.drift)))


def drift_forgotten_for_devices() -> Fault:
    """What lemons have beyond the others does not drift."""

    def even(original: Make) -> Make:
        def devices(draw: Any) -> Any:
            return original(replace(draw, kind=replace(draw.kind, drift=())))

        return devices

    return replaced(DRAW + "Draw.of_devices", even)


def numbered_by_time() -> Fault:
    """Events are numbered as they come, so that a spare's failure moves the marks of those after it."""

    def renumber(original: Make) -> Make:
        def draw(*args: Any, **keys: Any) -> Any:
            trace = original(*args, **keys)
            trace.wall = [event._replace(number=number) for number, event in enumerate(trace.wall)]
            return trace

        return draw

    return replaced("tests.fleet.trace_kinds:draw_trace", renumber)


def shared_takes_one() -> Fault:
    """A common cause strikes one unit of the domain."""
    return replaced(DRAW + "_together", lambda _: lambda times, which, *_rest: (times, which))


def beta_twice() -> Fault:
    """Failures by a common cause come on top."""

    def common(original: Make) -> Make:
        def classes(one: Any, kind: Any, grid: Any) -> Any:
            found = original(one, kind, grid)
            return [kind, *found[1:]] if len(found) > 1 else found

        return classes

    return replaced("gemsim.scenario.failures:_common", common)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (lemons_too_lively, check_lemons),
        (too_many_lemons, check_share),
        (gamma_of_another_shape, check_gamma),
        (devices_fail_early, check_bound_times),
        (pending_forgotten, check_recurrence_rate),
        (pending_as_new, check_residual_gaps),
        (always_again, check_chains),
        (batch_rate_of_instants, check_batch_rate),
        (batch_anywhere, check_batch_domain),
        (batch_of_neighbours, check_batch_domain),
        (last_domain_as_the_others, check_last_domain),
        (drift_inverted, check_drift),
        (drift_forgotten_for_devices, check_drift_of_devices),
        (numbered_by_time, partial(check_append, law=LEMONS, recurrence=None, number=0)),
        (shared_takes_one, partial(check_whole_domains, NODE, 2)),
        (beta_twice, partial(check_common_cause, NODE, None)),
    ],
)
def test_fault_in_the_trace_is_rejected(fault: Callable[[], Fault], check: Callable[[], None]) -> None:
    must_reject(check, fault())
