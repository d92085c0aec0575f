"""How many nodes are down at one time, which spares have to cover, beside what independent nodes would need."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.repair import outages

LEVELS = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Nodes down at one time, over the window: the fewest that suffice for half, 95 and 99 % of it, and the most.

    `independent`: the same three quantiles of a binomial law with the log's number of nodes and unavailability.
    """

    median: int
    p95: int
    p99: int
    most: int
    mean: float
    independent: tuple[int, ...]


def at_once(log: Log) -> AtOnce | None:
    """Counted from the known down times; None where the log names no nodes, knows no down time, or its fleet varies."""
    if not log.named or log.exposure is not None or not (log.downtime_h > 0).any():
        return None
    from scipy import stats

    spans = np.array([(begin, end) for _, begin, end in outages(log)])
    times = np.concatenate([[0.0], spans[:, 0], spans[:, 1], [log.window_h]])
    changes = np.concatenate([[0], np.ones(len(spans)), -np.ones(len(spans)), [0]])
    order = np.argsort(times, kind="stable")
    down = np.rint(np.cumsum(changes[order])[:-1]).astype(np.int64)
    lasts = np.diff(times[order])
    share = np.cumsum(np.bincount(np.maximum(down, 0), weights=lasts)) / log.window_h
    median, p95, p99 = (int(np.searchsorted(share, level - 1e-12)) for level in LEVELS)
    mean = math.fsum((down * lasts).tolist()) / log.window_h
    law = stats.binom(log.nodes, min(1.0, mean / log.nodes))
    alone = tuple(int(law.ppf(level)) for level in LEVELS)
    return AtOnce(median, p95, p99, int(down[lasts > 0].max()), mean, alone)
