"""Classes of GPU failures for the laws of the trace: one clock for each of some devices, with what a test adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gemsim.failures import draw
from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import lifetime
from gemsim.failures.trace import Event, Trace, draw_trace
from tests.failures.test_trace import kind

DAY = 86400.0
SEED = 4711
UNITS = 64
MEAN = 20 * DAY


def gpus(*, units: int = UNITS, spare: int = 0, **more: Any) -> FailureClass:
    """A class of exponential clocks of mean 20 d; with frailty, of a fleet of the job's and the spares' devices."""
    one = replace(kind(lifetime("exponential", MEAN), units=units), spare_units=spare, fails_idle=True, **more)
    return replace(one, devices=units + spare) if one.frailty is not None and not one.devices else one


def drawn(one: FailureClass, horizon: float, number: int, *, seed: int = SEED, stationary: bool = True) -> Trace:
    """The trace of one class."""
    return draw_trace([one], horizon=horizon, seed=seed, replication=number, stationary=stationary)


def lemons(trace: Trace) -> list[bool]:
    """Which devices of the fleet fail more often than a good one does."""
    (one,) = trace.classes
    assert one.frailty is not None
    return [m > one.frailty.good for m in draw.device_multiples(one, trace.seed, trace.replication).tolist()]


def unfolded(trace: Trace, horizon: float) -> list[Event]:
    """All failures of a fleet whose devices stay in use: those of the trace and those that follow them."""
    found: list[Event] = []
    for event in trace.wall:
        one: Event | None = event
        while one is not None and one.time < horizon:
            found.append(one)
            one = trace.follower(one, one.unit, one.time)
    return found
