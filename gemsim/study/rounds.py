"""What a sweep runs next: of each group the replications up to the next number at which is asked if they are enough.

Groups go on by themselves, so that no worker waits for the last replication of a round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gemsim.study.stopping import NEEDED, Rule, Run, settle
from gemsim.study.tasks import Outcome, Task, in_shard


class Rounds:
    """The tasks of a sweep: those to begin with, and with each outcome those that follow from it."""

    def __init__(
        self,
        groups: Sequence[Sequence[str]],
        scenarios: Mapping[str, Any],
        table: pa.Table,
        rule: Rule,
        *,
        shard: tuple[int, int] = (1, 1),
    ) -> None:
        """`groups` of scenario ids; who is not in `scenarios` is left out. `table` holds the rows that are there. Of
        share i of n (`shard`, from 1) come the tasks of that share alone."""
        self.shard = shard
        self.rule = rule
        self.scenarios = scenarios
        self.groups = [own for own in ([id_ for id_ in members if id_ in scenarios] for members in groups) if own]
        self.skipped = 0  # replications that a rule has made needless
        self._of = {id_: number for number, members in enumerate(self.groups) for id_ in members}
        self._rows: dict[str, dict[int, tuple[float, ...]]] = {id_: {} for id_ in self._of}
        self._failed: set[str] = set()
        self._open: dict[str, int] = dict.fromkeys(self._of, 0)  # replications asked for that have not come
        self._left = [0] * len(self.groups)  # the same of each group
        columns = [table[name].to_pylist() for name in ("point", "replication", *NEEDED)]
        for id_, replication, *numbers in zip(*columns, strict=True):
            if id_ in self._rows:
                self._rows[id_][replication] = self._kept(numbers)

    @property
    def total(self) -> int:
        """Replications at most."""
        return sum(self._mine(id_, at) for id_ in self._of for at in range(self.rule.most))

    @property
    def done(self) -> int:
        """Replications that are there already."""
        return sum(at < self.rule.most and self._mine(id_, at) for id_, rows in self._rows.items() for at in rows)

    def _mine(self, id_: str, at: int) -> bool:
        return self.shard == (1, 1) or in_shard(Task(id_, at, None), self.shard)

    def late(self, gone_s: float) -> bool:
        """Whether the time that a run may take is over."""
        return self.rule.at_most_s is not None and gone_s >= self.rule.at_most_s

    def begin(self) -> list[Task]:
        """What is to be run first, replication by replication over all designs of a group: they share the failures."""
        return self._next(range(len(self.groups)))

    def after(self, outcomes: Sequence[Outcome]) -> list[Task]:
        """What follows: the next replications of groups that have all that was asked for and still are not precise."""
        ended = dict[int, None]()
        for one in outcomes:
            id_ = one.task.point
            if one.row is not None:
                self._rows[id_][one.task.replication] = self._kept([one.row[name] for name in NEEDED])
            if id_ in self._failed:
                continue
            come = 1 if one.row is not None else self._open[id_]  # the others of a design that fails are not waited for
            if one.row is None:
                self._failed.add(id_)
            self._open[id_] -= come
            self._left[self._of[id_]] -= come
            if not self._left[self._of[id_]]:
                ended[self._of[id_]] = None
        return self._next(list(ended))

    def _kept(self, numbers: Sequence[Any]) -> tuple[float, ...]:
        """What is remembered of a row: what precision is asked of."""
        return tuple(map(float, numbers)) if self.rule.precision else ()

    def _next(self, groups: Sequence[int]) -> list[Task]:
        tasks = []
        for group in groups:
            members = self.groups[group]
            runs = {id_: self._run(id_) for id_ in members}
            found = settle(members, runs, self._failed, self.rule)
            if found.why:
                left = range(found.replications, self.rule.most)
                self.skipped += sum(at not in self._rows[id_] for id_ in members for at in left)
                continue
            for id_ in members:
                lacking = [at for at in range(found.replications) if at not in self._rows[id_] and self._mine(id_, at)]
                self._open[id_] = 0 if id_ in self._failed else len(lacking)
                tasks += [(at, group, id_) for at in lacking[: self._open[id_]]]
            self._left[group] = sum(self._open[id_] for id_ in members)
        order = {id_: number for number, id_ in enumerate(self._of)}
        tasks.sort(key=lambda one: (one[0], one[1], order[one[2]]))
        return [Task(id_, at, self.scenarios[id_]) for at, _, id_ in tasks]

    def _run(self, id_: str) -> Run:
        """The replications of a design without a gap, from the first."""
        rows = self._rows[id_]
        count = next((at for at in range(self.rule.most) if at not in rows), self.rule.most)
        if not self.rule.precision:
            return {"wall_s": np.ones(count)}
        table = np.array([rows[at] for at in range(count)], dtype=np.float64).reshape(count, len(NEEDED))
        return dict(zip(NEEDED, table.T, strict=True))
