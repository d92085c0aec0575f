"""Small logs made for tests: every trap of a real one, and one drawn from a model that is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.clean import Log

TRAPS = """\
time_h,node,component,downtime_h,colour
30.5,b,gpu,4.0,red
10.0,a,gpu,2.0,blue
10.0,b,nic,0,blue
11.0,a,gpu,5.0,
50.0,c,gpu,,green
90.0,a,nic,20.0,red
70.0,c,gpu,1.0,red
"""
"""Unsorted; two starts at 10 h; `a` down from 10 to 12 and from 11 to 16; one unknown, one zero, one past 100 h."""


def write(folder: Path, text: str = TRAPS, *, name: str = "log.csv", meta: object = None) -> Path:
    """The text as a file, with a meta.json beside it if one is given."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    if meta is not None:
        (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return path


def log_of(
    times: Sequence[float] | NDArray[np.float64], *, node: Sequence[int] | NDArray[np.int64] | None = None,
    kind: Sequence[int] | NDArray[np.int64] | None = None, kinds: tuple[str, ...] = ("gpu",), window: float = 1000.0,
    nodes: int = 10, down: Sequence[float] | NDArray[np.float64] | None = None, tick: float = 0.0,
) -> Log:  # fmt: skip
    """A Log by hand; times in hours."""
    time_h = np.asarray(times, dtype=float)
    count = len(time_h)
    return Log(
        time_h=time_h, node=np.zeros(count, dtype=np.int64) if node is None else np.asarray(node, dtype=np.int64),
        kind=np.zeros(count, dtype=np.int64) if kind is None else np.asarray(kind, dtype=np.int64), kinds=kinds,
        downtime_h=np.full(count, 1.0) if down is None else np.asarray(down, dtype=float), window_h=window, nodes=nodes,
        node_hours=nodes * window, named=True, tick_h=tick, begin_h=0.0, source="by hand",
    )  # fmt: skip


def drawn(rng: np.random.Generator, *, nodes: int = 100, window: float = 4000.0, rate: float = 1e-3) -> Log:
    """Failures with gamma frailty of shape 1, steps at a half, joint starts of three nodes, and recurrence from the end
    of an outage on."""
    multiple = rng.gamma(1.0, 1.0, nodes)
    times, node, lengths = [], [], []
    for who in range(nodes):
        for start, length, factor in ((0.0, window / 2, 0.5), (window / 2, window / 2, 1.5)):
            for at in start + length * rng.random(rng.poisson(rate * multiple[who] * factor * length)):
                while at < window:
                    times.append(at)
                    node.append(who)
                    lengths.append(float(rng.lognormal(1.0, 1.5)))
                    at = at + lengths[-1] + rng.exponential(2.0) if rng.random() < 0.3 else window
    for at in window * rng.random(rng.poisson(20)):
        times += [at] * 3
        node += rng.choice(nodes, 3, replace=False).tolist()
        lengths += rng.lognormal(1.0, 1.5, 3).tolist()
    order = np.argsort(times, kind="stable")
    chosen = np.array(times)[order]
    return log_of(chosen, node=np.array(node)[order], window=window, nodes=nodes, down=np.array(lengths)[order])


def as_csv(log: Log) -> str:
    """The log as the text of a file."""
    rows = zip(log.time_h.tolist(), log.node.tolist(), log.kind.tolist(), log.downtime_h.tolist(), strict=True)
    lines = [f"{time!r},n{node},{log.kinds[kind]},{down!r}" for time, node, kind, down in rows]
    return "\n".join(["time_h,node,component,downtime_h", *lines, ""])
