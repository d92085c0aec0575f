"""Outcomes of replications as they come: rows to the store, failures to the reader and to files."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from gemsim.errors import PointFailed
from gemsim.results.folder import Hold, write_text
from gemsim.results.rows import RowStore
from gemsim.results.summary import Point
from gemsim.study.conclude import error_file
from gemsim.study.labels import labels
from gemsim.study.progress import Reporter, Standing
from gemsim.study.rounds import Rounds
from gemsim.study.runner import Runner
from gemsim.study.tasks import Outcome, Task, failed

HEARD = 5  # things that replications said are passed on; beyond that only those of points that fail
AGAIN = "the same command again goes on from there"


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a sweep; the message says what is kept and how to go on."""


class Collector:
    """Takes the outcomes of one run into the folder that it holds.

    `added` counts new rows; `failures` holds by scenario id what went wrong. With `fail_fast` the first failure ends
    the run with PointFailed.
    """

    def __init__(
        self,
        store: RowStore,
        hold: Hold,
        seed: int,
        points: Sequence[Point],
        report: Reporter,
        *,
        fail_fast: bool = False,
    ) -> None:
        self.store = store
        self.hold = hold
        self.seed = seed
        self.names = labels(points)
        self.report = report
        self.fail_fast = fail_fast
        self.added = 0
        self.collected = False
        self.failures: dict[str, list[tuple[Outcome, str]]] = {}
        self._heard: set[str] = set()
        self._open: Counter[str] = Counter()  # replications that a design still lacks
        self._points = Counter(point.id for point in points)  # of the table, by design; "" cannot exist

    def collect(self, runner: Runner, rounds: Rounds, first: Sequence[Task]) -> None:
        """Run the rounds from their `first` tasks to the end, or as far as their time goes; on Ctrl-C everything that
        had ended is kept."""
        asked, since = rounds.total - rounds.done, time.monotonic()
        self._add(runner, first)
        self.report.skip(rounds.skipped)
        self._stop_if_failed(asked)
        late = False
        while runner.waiting and not late:  # again where the last outcomes of a run asked for more
            with closing(runner.run(())) as batches:
                for outcomes in batches:
                    self._take(outcomes)
                    self._stop_if_failed(asked)
                    before = rounds.skipped
                    self._add(runner, rounds.after(outcomes))
                    self.report.skip(rounds.skipped - before)
                    late = rounds.late(time.monotonic() - since)
                    if late:
                        break
        self.collected = True

    def _add(self, runner: Runner, tasks: Sequence[Task]) -> None:
        runner.add(tasks)
        self._open.update(task.point for task in tasks)
        self._stand()

    def note(self, faults: Mapping[str, Exception]) -> None:
        """Take what went wrong before anything could run."""
        for id_, error in faults.items():
            self._fail(failed(Task(id_, 0, None), error), "before it ran")

    def reasons(self) -> dict[str, str]:
        """Scenario id to what went wrong, in the same words for any order in which the replications ended."""
        return {id_: _reason(found) for id_, found in self.failures.items()}

    def _stand(self) -> None:
        total, infeasible = self._points.total(), self._points[""]
        failed = sum(self._points[id_] for id_ in self.failures)
        open_ = sum(self._points[id_] for id_, left in self._open.items() if left and id_ not in self.failures)
        self.report.stand(Standing(total, total - infeasible - failed - open_, failed, infeasible))

    def _stop_if_failed(self, asked: int) -> None:
        if self.fail_fast and self.failures:
            id_, found = next(iter(self.failures.items()))
            what = f"stopped at the first failure: {self.names[id_]}, {found[0][1]}: {found[0][0].error}"
            kept = f"{self.added} of {asked} replications were added to {self.hold.folder}"
            raise PointFailed(f"{what} (traceback: {self.hold.folder / error_file(id_)}); {kept}; {AGAIN}")

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        rows = [outcome.row for outcome in outcomes if outcome.row is not None]
        if rows:
            self.hold.check()
            self.store.append(rows, seed=self.seed)
            self.added += len(rows)
        for outcome in outcomes:
            if outcome.row is None:
                self._fail(outcome, f"in replication {outcome.task.replication}")
            elif outcome.log:
                self._hear(outcome)
        self._open.subtract(outcome.task.point for outcome in outcomes)
        self._stand()
        self.report.advance(len(outcomes))

    def _fail(self, outcome: Outcome, when: str) -> None:
        """Say and write down the first failure of a point; keep the others."""
        id_ = outcome.task.point
        if id_ not in self.failures:
            self.hold.check()
            path = self.hold.folder / error_file(id_)
            what = f"{self.names[id_]}, {when}: {outcome.error}"
            write_text(path, f"{what}\n{outcome.account}")
            if not self.fail_fast:  # which says it when it stops
                self.report.say(f"failed: {what} (traceback: {path})", error=True)
        self.failures.setdefault(id_, []).append((outcome, when))

    def _hear(self, outcome: Outcome) -> None:
        """Pass on what a replication said that ended well, each thing once."""
        said = " ".join(outcome.log.split())
        if said not in self._heard and len(self._heard) < HEARD:
            self._heard.add(said)
            where = f"{self.names[outcome.task.point]}, in replication {outcome.task.replication}"
            self.report.say(f"{where}, said: {said[:500]}")


def _reason(found: Sequence[tuple[Outcome, str]]) -> str:
    first, when = min(found, key=lambda one: (not one[0].died, one[0].task.replication))
    if first.died:
        return f"failed: {first.error}"
    counted = f" in {len(found)} replications" if len(found) > 1 else ""
    return f"failed{counted}; {when}: {first.error}"


@contextmanager
def stoppable(run: Collector, *, before: int, asked: int) -> Iterator[None]:
    """Ctrl-C becomes Stopped: what is kept, and how to go on. `before` counts the rows that were there."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if run.collected:
            what = f"stopped at the summary; every replication is in {run.hold.folder}"
        else:
            added = len(run.store.keys()) - before  # as the disk has it: the signal may have come between the two
            what = f"stopped; {added} of {asked} replications were added to {run.hold.folder}"
        raise Stopped(f"{what}; {AGAIN}") from stop
