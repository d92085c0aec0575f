"""The rows of the replications of each design, as columns of numbers."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from gemsim.results.estimate import Floats
from gemsim.results.rows import NUMBERS


def by_design(table: pa.Table, replications: int | Mapping[str, int]) -> dict[str, dict[str, Floats]]:
    """Scenario id to column to values by replication, of the first `replications` (of all, or by id; a folder may hold
    more) up to the first that is missing: place n holds replication n, so two designs may be paired.

    `table` is ordered as `RowStore.read` gives it.
    """
    ids = np.asarray(table["point"].to_pylist(), dtype=object)
    numbers = table["replication"].to_numpy()
    columns = {name: table[name].to_numpy().astype(np.float64) for name in NUMBERS}
    edges = [0, *(np.flatnonzero(ids[1:] != ids[:-1]) + 1).tolist(), len(ids)]
    runs = {}
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            most = replications if isinstance(replications, int) else replications.get(ids[start], 0)
            whole = int(np.argmin(np.append(numbers[start:stop] == np.arange(stop - start), False)))
            end = start + min(whole, most)
            if end == start:
                continue
            runs[str(ids[start])] = {name: column[start:end] for name, column in columns.items()}
    return runs


def recoveries(table: pa.Table, replications: Mapping[str, int]) -> dict[str, Counter[str]]:
    """Scenario id to how many failures each tier recovered, over the first replications of each."""
    found: dict[str, Counter[str]] = {}
    columns = [table[name].to_pylist() for name in ("point", "replication", "by_tier")]
    for id_, replication, counts in zip(*columns, strict=True):
        if replication < replications.get(id_, 0):
            found.setdefault(id_, Counter()).update(json.loads(counts))
    return found
