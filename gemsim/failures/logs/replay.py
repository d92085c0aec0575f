"""Replay of a log: new runs made of blocks of the old one, by the circular block bootstrap (Politis and Romano 1992).

A block keeps what lies close together: joint starts, repeats, bursts. Its start is uniform over the window, which is
taken as a ring, so that every hour of the log is as likely and the mean rate is that of the log. Who is who stays the
same through a run, so that a lemon stays one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import ValueRefused
from gemsim.failures.logs.clean import Log
from gemsim.failures.streams import generator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOUR = 3600.0
LONG_H = 60 * 24.0
FEW_BLOCKS = 20  # in a window, below which an interval over runs is told to be too narrow


def usual_block(window_h: float) -> float:
    """Hours of a block where none is given: 60 d keep the stretches of weeks in which much fails and queues for spares
    grow, but a sixth of the window at most, for a run of few blocks is like every other."""
    return min(LONG_H, window_h / 6.0)


def caution(window_h: float, block_h: float) -> str:
    """What a reader of replayed runs must be told: how much the log holds that is independent."""
    blocks = window_h / block_h
    few = (
        " That is few: all runs are made of the same stretches, and an interval over runs is narrower than the doubt"
        " about another time" if blocks < FEW_BLOCKS else ""
    )  # fmt: skip
    held = f"{window_h / 24:.4g} d of log hold {blocks:.3g} blocks of {block_h / 24:.3g} d that do not overlap."
    return f"Replay: {held}{few}".rstrip(".")


@dataclass(frozen=True, slots=True)
class Replayed:
    """One failure of a replayed run."""

    time: float  # s from the start of the run
    node: int  # of the run's nodes
    kind: str  # class name of the log
    downtime: float | None  # s; None: not known


def replay(
    log: Log, *, horizon: float, nodes: int, seed: int, replication: int, block_h: float | None = None,
    permute: bool = True,
) -> tuple[Replayed, ...]:  # fmt: skip
    """Failures of `nodes` nodes up to `horizon` s, in order of time.

    A smaller fleet is a draw of the log's nodes; a larger one several fleets with blocks of their own. With `permute`
    the nodes change places at random, else node i is node i of the log. A longer horizon only appends. The stream is
    that of (seed, replication) alone. Raises ValueRefused.
    """
    if not (math.isfinite(horizon) and horizon > 0):
        raise ValueRefused(f"replay: horizon is not a positive time ({horizon})")
    block_h = usual_block(log.window_h) if block_h is None else block_h
    if not 0 < block_h <= log.window_h:
        raise ValueRefused(
            f"replay: a block of {block_h:g} h", f"more than 0, at most the window of {log.window_h:g} h"
        )
    if nodes < 1:
        raise ValueRefused(f"replay: {nodes} nodes", "1 or more")
    found: list[Replayed] = []
    size = fleet_of(log)
    for layer in range(-(-nodes // size)):
        first = layer * size
        found += _layer(
            log, layer, min(size, nodes - first), first, horizon / HOUR, (seed, replication), block_h, permute
        )
    return tuple(sorted(found, key=lambda one: (one.time, one.node)))


def fleet_of(log: Log) -> int:
    """Nodes there at one time: all of them, or their mean number where the fleet varies."""
    return log.nodes if log.exposure is None else max(1, round(log.node_hours / log.window_h))


def _layer(
    log: Log, layer: int, wanted: int, first: int, horizon_h: float, key: tuple[int, int], block_h: float, permute: bool
) -> list[Replayed]:
    """One fleet of the log's size, of which `wanted` nodes are used."""
    size = fleet_of(log)
    names = ("replay", f"fleet{layer}")
    place = generator(*key, *names, "nodes").permutation(size) if permute else np.arange(size)
    starts = generator(*key, *names, "blocks").random(math.ceil(horizon_h / block_h)) * log.window_h
    times, events = _blocks(log.time_h, log.window_h, starts, block_h)
    if log.named and log.exposure is None:
        who = place[log.node[events]]
    else:  # nothing says which of the nodes it was, or each node was there for a time only
        who = (generator(*key, *names, "struck").random(len(events)) * size).astype(np.int64)
    kept = (who < wanted) & (times < horizon_h)
    down = log.downtime_h[events]
    return [
        Replayed(time * HOUR, first + node, log.kinds[log.kind[event]], None if math.isnan(length) else length * HOUR)
        for time, node, event, length in zip(
            times[kept].tolist(), who[kept].tolist(), events[kept].tolist(), down[kept].tolist(), strict=True
        )
    ]


def _blocks(time_h: Floats, window_h: float, starts: Floats, block_h: float) -> tuple[Floats, Ints]:
    """New times and positions of the events of each block, one block after the other."""
    ring = np.concatenate([time_h, time_h + window_h])
    times, events = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for number, start in enumerate(starts.tolist()):
        low, high = np.searchsorted(ring, [start, start + block_h], side="left")
        times.append(ring[low:high] - start + number * block_h)
        events.append(np.arange(low, high, dtype=np.int64) % len(time_h))
    return np.concatenate(times), np.concatenate(events)
