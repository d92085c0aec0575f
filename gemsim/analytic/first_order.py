"""First-order and published accounting of time lost: what papers print, to set beside the exact forms of `renewal`.

One idea: each failure is charged a fixed cost, as if no failure hit work that was not yet done again; an exact engine
sits above these at high rates. Seconds and failures of the whole job per second throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemsim.errors import NotCovered

SECONDS_PER_DAY = 86_400.0


def fleet_rate(per_thousand_node_days: float, nodes: float) -> float:
    """Failures per second of a job on `nodes` nodes: nodes x rate, the projection of Kokolis et al. (HPCA 2025).

    1 / rate is the mean time between failures. Kind: exact for independent nodes at one constant rate.
    """
    return nodes * per_thousand_node_days / 1000.0 / SECONDS_PER_DAY


def young_interval(delta: float, rate: float) -> float:
    """Running time between saves, sqrt(2 delta / rate). Source: Young (1974). Kind: first_order in delta x rate.

    Longer than the optimum by about sqrt(2 delta rate) / 3: 1.5 % at delta x rate = 0.001, 16.7 % at 0.1.
    """
    _check(delta=delta, rate=rate)
    return math.sqrt(2.0 * delta / rate) if rate else math.inf


def daly_interval(delta: float, rate: float) -> float:
    """Running time between saves: sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d for d < 2M, else M.

    d = `delta`, M = 1 / `rate`. Source: Daly (2006), eq. 37. Kind: first_order (expansion; within 0.3 % for d < M / 3).
    """
    _check(delta=delta, rate=rate)
    if rate == 0.0:
        return math.inf
    half = delta * rate / 2.0
    if half >= 1.0:
        return 1.0 / rate
    return math.sqrt(2.0 * delta / rate) * (1.0 + math.sqrt(half) / 3.0 + half / 9.0) - delta


def availability_interval(save: float, *, time_to_failure: float, recovery: float) -> float:
    """Time between saves, save included, with the best availability: T_s + sqrt(2 (T_f + T_r) T_s + T_s^2).

    T_s = `save`, T_f = mean time to failure, T_r = `recovery`. It maximises (1 - T_s / T_c) T_f / (T_f + T_r + T_c /
    2), in which half a cycle is redone after each failure: exact for that expression. Kind: first_order.
    """
    _check(save=save, time_to_failure=time_to_failure, recovery=recovery)
    return save + math.sqrt(2.0 * (time_to_failure + recovery) * save + save * save)


def first_order_waste(tau: float, delta: float, *, rate: float, restart: float = 0.0, queue: float = 0.0) -> float:
    """Share of time lost: rate (tau / 2 + restart + queue) + delta / tau.

    `tau` = time between saves, `delta` = time a save blocks. Source: Kokolis et al. (HPCA 2025), expected-ETTR
    approximation; Young (1974) without restart and queue. Kind: first_order; above the exact waste.
    """
    _check(tau=tau, delta=delta, rate=rate, restart=restart, queue=queue)
    if tau == 0.0:
        return math.inf if delta else rate * (restart + queue)
    return rate * (tau / 2.0 + restart + queue) + delta / tau


def meta_ettr(tau: float, delta: float, *, rate: float, restart: float = 0.0, queue: float = 0.0) -> float:
    """Effective training time ratio of Meta's estimator, 1 - `first_order_waste`, not below 0. Kind: first_order."""
    return max(0.0, 1.0 - first_order_waste(tau, delta, rate=rate, restart=restart, queue=queue))


def published_linear(base: float, charges: Sequence[tuple[float, float]]) -> float:
    """Ratio as papers print it: base - sum of rate x cost, not below 0.

    `base` = the ratio without failures; `charges` = (failures per second, seconds charged per failure: wasted progress,
    retrieval and restart). GEMINI (SOSP 2023) figure 15, FT-HSDP (2026). Kind: first_order.
    """
    return max(0.0, base - math.fsum(rate * cost for rate, cost in charges))


def gemini_wasted(written: float, interval: float, retrieval: float) -> float:
    """Mean seconds lost at a failure: t_ckpt + 1 / (2 f) + t_rtvl.

    `written` = seconds until a save can be used, `interval` = 1 / f between two saves, `retrieval` = to read it back;
    detection, restart and replacement are left out by definition. Source: Wang et al. (GEMINI, SOSP 2023), Eq. 1. Kind:
    first_order.
    """
    _check(written=written, interval=interval, retrieval=retrieval)
    return written + interval / 2.0 + retrieval


def silent_waste(rate: float, *, latency: float, tau: float, restart: float, write_lag: float = 0.0) -> float:
    """Share of time lost to silent corruption found `latency` seconds after it starts.

    The job goes back to the newest save completed before the corruption: rate (latency + tau / 2 + write_lag +
    restart).
    Kind: first_order, error about (rate x latency)^2; NotCovered from rate x latency = 0.05 on.
    """
    _check(rate=rate, latency=latency, tau=tau, restart=restart, write_lag=write_lag)
    if rate * latency >= 0.05:
        raise NotCovered(
            f"silent corruption: rate x detection latency = {rate * latency:.3g}, first order needs < 0.05"
        )
    return rate * (latency + tau / 2.0 + write_lag + restart)


def _check(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0.0 or math.isinf(value):
            raise ValueError(f"{name} must be a finite number >= 0, not {value!r}")
