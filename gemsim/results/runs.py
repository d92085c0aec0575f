"""The rows of the replications of each design, as columns of numbers."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow as pa

from gemsim.results.estimate import Floats
from gemsim.results.rows import NUMBERS


def by_design(table: pa.Table, replications: int) -> dict[str, dict[str, Floats]]:
    """Scenario id to column to values by replication, of the first `replications` only (a folder may hold more).

    `table` is ordered as `RowStore.read` gives it.
    """
    ids = np.asarray(table["point"].to_pylist(), dtype=object)
    keep = table["replication"].to_numpy() < replications
    columns = {name: table[name].to_numpy().astype(np.float64) for name in NUMBERS}
    edges = [0, *(np.flatnonzero(ids[1:] != ids[:-1]) + 1).tolist(), len(ids)]
    runs = {}
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            runs[str(ids[start])] = {name: column[start:stop][keep[start:stop]] for name, column in columns.items()}
    return runs


def recoveries(table: pa.Table, replications: int) -> dict[str, Counter[str]]:
    """Scenario id to how many failures each tier recovered, over the first `replications`."""
    found: dict[str, Counter[str]] = {}
    columns = [table[name].to_pylist() for name in ("point", "replication", "by_tier")]
    for id_, replication, counts in zip(*columns, strict=True):
        if replication < replications:
            found.setdefault(id_, Counter()).update(json.loads(counts))
    return found
