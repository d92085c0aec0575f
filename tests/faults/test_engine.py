"""Faults planted in the engine: each must be rejected by the check that is named beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from gemsim.engine import run as engine
from gemsim.failures.laws import lifetime
from gemsim.failures.trace import Event, Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Nature
from tests.faults import must_reject, replaced
from tests.laws.test_counts import check_count_of_shape, check_designs_meet_the_same_failures, check_llama_count
from tests.laws.test_exact import check_ettr
from tests.oracle.test_slow_engine import check_worlds

Any_ = Callable[..., Any]


@contextmanager
def on_trace(change: Callable[[Any_], Any_]) -> Iterator[None]:
    """Traces are drawn otherwise; those that are remembered are forgotten."""
    engine._trace.cache_clear()
    with replaced("gemsim.engine.run:draw_trace", change):
        yield
    engine._trace.cache_clear()


def rate_too_high() -> AbstractContextManager[None]:
    """Every class fires 5 % more often."""

    def make(original: Any_) -> Any_:
        def more(classes: Any, **keys: Any) -> Trace:
            laws = [lifetime(k.lifetime.kind, k.lifetime.mean / 1.05) for k in classes]
            faster = [replace(k, lifetime=law) for k, law in zip(classes, laws, strict=True)]
            trace: Trace = original(faster, **keys)
            return trace

        return more

    return on_trace(make)


def clocks_redrawn_at_restart() -> AbstractContextManager[None]:
    """After each failure every device is as new."""

    def make(original: Any_) -> Any_:
        def redrawn(classes: Any, *, horizon: float, seed: int, replication: int, **_: Any) -> Trace:
            rng = np.random.default_rng([seed, replication])
            wall: list[Event] = []
            (kind,) = classes
            now = 0.0
            while True:
                now += float(kind.lifetime.quantile(-np.expm1(-rng.exponential() / kind.units)))
                if now >= horizon:
                    return Trace(tuple(classes), seed, replication, wall, [], [len(wall)])
                wall.append(Event(now, 0, len(wall), int(rng.integers(kind.units))))

        return redrawn

    return on_trace(make)


def restart_immune() -> AbstractContextManager[None]:
    """Failures while the job stands still never happened."""

    def make(original: Any_) -> Any_:
        def peek(injector: Any, now: float, running: float, advancing: bool) -> float:
            if not advancing:
                return inf
            while injector.wall.due < now:
                injector.wall.pop()
            when: float = original(injector, now, running, advancing)
            return when

        return peek

    return replaced("gemsim.engine.faults:Injector.peek", make)


def checkpoint_immune() -> AbstractContextManager[None]:
    """Failures while the job stands in a save never happened."""

    def make(original: Any_) -> Any_:
        def after(incidents: Any, now: float, *, advancing: bool) -> Any:
            strike = original(incidents, now, advancing=advancing)
            life, tiers = incidents.progress.life, incidents.scenario.tiers
            stall = life.timeline.at(incidents.progress.running).stall
            saving = stall >= 0 and isinstance(tiers[life.timeline.stalls[stall].tier], Checkpoint)
            return None if advancing and saving else strike

        return after

    return replaced("gemsim.engine.incidents:Incidents.next", make)


def rack_loses_one_node() -> AbstractContextManager[None]:
    """The nodes of a rack fail independently of each other."""

    def make(original: Any_) -> Any_:
        def alone(*, nature: Nature, **keys: Any) -> Any:
            return original(nature=Nature("node") if nature.kind == "rack" else nature, **keys)

        return alone

    return replaced("gemsim.engine.strike:consequence", make)


def one_loss_more_is_survived() -> AbstractContextManager[None]:
    """A stripe across GPUs bears m + 1 losses."""

    def make(original: Any_) -> Any_:
        def worst(stripes: Any, gpus: Any) -> int:
            found: int = original(stripes, gpus)
            return stripes.m if found == stripes.m + 1 else found

        return worst

    return replaced("gemsim.protection.layouts:MemberStripes.worst_in_stripe", make)


def rebuilt_at_another_width() -> AbstractContextManager[None]:
    """A rebuild is charged for k + 1 members."""

    def make(original: Any_) -> Any_:
        def seconds(tier: Any, lost: int) -> float:
            wider: float = original(replace(tier, stripes=replace(tier.stripes, k=tier.stripes.k + 1)), lost)
            return wider

        return seconds

    return replaced("gemsim.protection.stripe:MemberStripe.rebuild_seconds", make)


def write_counts_at_once() -> AbstractContextManager[None]:
    """A copy can be used when the blocked part of its write has ended."""

    def make(original: Any_) -> Any_:
        return lambda *, lags, **keys: original(lags=dict.fromkeys(lags, 0.0), **keys)

    return replaced("gemsim.engine.job:History", make)


def stream_keyed_by_design() -> AbstractContextManager[None]:
    """Each design draws its own failures."""

    def make(original: Any_) -> Any_:
        def own(scenario: Any, *, seed: int, **keys: Any) -> Any:
            return original(scenario, seed=seed ^ int(scenario.id[:8], 16), **keys)

        return own

    return replaced("gemsim.engine.run:simulate", make)


def productive_is_the_remainder() -> AbstractContextManager[None]:
    """Detection is never booked; what is missing in the end is taken for productive, so the sum still closes."""

    def make(original: Any_) -> Any_:
        def book(ledger: Any, category: str, seconds: float) -> None:
            original(ledger, "productive" if category == "detection" else category, seconds)

        return book

    return replaced("gemsim.results.ledger:Ledger.book", make)


def of_weibull() -> None:
    check_count_of_shape({"kind": "weibull", "shape": 1.5})


def of_ettr(name: str) -> Callable[[], None]:
    """These faults are gross: short runs show them."""
    return lambda: check_ettr(name, days=0.4, detect=0.03)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (rate_too_high, check_llama_count),
        (clocks_redrawn_at_restart, of_weibull),
        (restart_immune, of_ettr("all_processes x8")),
        (restart_immune, check_worlds),
        (checkpoint_immune, of_ettr("all_processes, sync x8")),
        (checkpoint_immune, check_worlds),
        (rack_loses_one_node, check_worlds),
        (one_loss_more_is_survived, check_worlds),
        (rebuilt_at_another_width, check_worlds),
        (write_counts_at_once, of_ettr("all_processes, slow write x8")),
        (write_counts_at_once, check_worlds),
        (stream_keyed_by_design, check_designs_meet_the_same_failures),
        (productive_is_the_remainder, check_worlds),
    ],
)
def test_engine_fault_is_rejected(fault: Callable[[], AbstractContextManager[None]], check: Callable[[], None]) -> None:
    must_reject(check, fault())
