"""What is in the pool after a power cut, write by write: the undo log of one batch after the other.

A cut can fall after any single write. Rows are restored from the log of the batch whose flag is set; a log without its
flag is not looked at, since no row has been changed under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Rows = dict[int, int]


@dataclass(slots=True)
class Pool:
    """Table, the old rows of the batch in progress, the batch whose log is complete, and the MLP parameters' version.

    `mlp`: newest batch before which all MLP parameters were logged; `finished`: batches whose update is complete.
    """

    rows: Rows
    log: Rows = field(default_factory=dict)
    flag: int | None = None
    finished: int = 0
    mlp: int = 0


def writes(pool: Pool, batches: Sequence[Mapping[int, int]], gap: int) -> Iterator[Pool]:
    """Train on the pool and yield it after every write; `batches` say what is added to which rows.

    The MLP log is complete after every `gap` batches. First all old rows, then the flag, then the rows in place.
    """
    for number, changes in enumerate(batches):
        pool.log = {}
        for row in changes:
            pool.log[row] = pool.rows[row]
            yield pool
        pool.flag = number
        yield pool
        if number % gap == 0:
            pool.mlp = number
            yield pool
        for row, change in changes.items():
            pool.rows[row] += change
            yield pool
        pool.finished, pool.flag = number + 1, None
        yield pool


def restored(pool: Pool) -> tuple[int, Rows]:
    """The batch that training goes on from after a cut, and the rows it finds."""
    rows = dict(pool.rows)
    if pool.flag is not None:
        rows.update(pool.log)
    return pool.finished, rows


def resumes_exactly(batches: Sequence[Mapping[int, int]], rows: Rows, gap: int) -> tuple[bool, int]:
    """Whether a cut after any write leaves the rows that its batch began with, and the greatest age of the MLP part."""
    begun, oldest = [dict(rows)], 0
    for changes in batches:
        begun.append({row: value + changes.get(row, 0) for row, value in begun[-1].items()})
    good = True
    for pool in writes(Pool(dict(rows)), batches, gap):
        batch, found = restored(pool)
        good = good and found == begun[batch]
        oldest = max(oldest, batch - pool.mlp)
    return good, oldest
