"""A failure log in a program: its rates with intervals, and a failures section that makes logs like it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from gemsim.api import html
from gemsim.api.frames import frame
from gemsim.api.given import whole
from gemsim.failures.logs.fit import Analysis, analyse
from gemsim.failures.logs.load import Request, observe
from gemsim.failures.logs.report import render
from gemsim.failures.logs.section import section
from gemsim.failures.logs.times import window_hours
from gemsim.spec.yaml import read_tree

HOUR = 3600.0
GPUS_PER_NODE = 8  # assumption, as in gemsim fit, where neither the caller nor meta.json says it
CLASSES = {
    "name": "text",
    "events": "1",
    "rate": "1/(s node)",
    "rate_lo": "1/(s node)",
    "rate_hi": "1/(s node)",
    "repair_mean_s": "s",
    "repair_median_s": "s",
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FittedLog:
    """What a log says, and the model that makes logs like it. Frames say their units in `attrs["units"]`."""

    found: Analysis
    source: str
    gpus_per_node: int

    @property
    def classes(self) -> pd.DataFrame:
        """All events, then each class of the log: rate per second of each node with its exact Poisson interval (95 %),
        and the mean and median of the repair times, NaN where the log has none."""
        rows = (
            {"name": one.name, "events": one.events, "rate": one.rate / HOUR, "rate_lo": one.rate_low / HOUR,
             "rate_hi": one.rate_high / HOUR, "repair_mean_s": _seconds(one.repair.mean_h, one.repair.known),
             "repair_median_s": _seconds(one.repair.median_h, one.repair.known)}
            for one in self.found.classes
        )  # fmt: skip
        return frame(rows, CLASSES)

    @property
    def section(self) -> str:
        """The `failures:` section in the words of a study, with the source of each number."""
        gpus = self.found.log.nodes * self.gpus_per_node
        return section(self.found, source=self.source, gpus=gpus)

    @property
    def failures(self) -> dict[str, Any]:
        """The same as data, to take the place of another section: `study.with_({"failures": fitted.failures})`."""
        found: dict[str, Any] = read_tree(self.section.encode(), self.source).data["failures"]
        return found

    @property
    def holds(self) -> bool:
        """Whether logs simulated from the model have the statistics of this one, each within its central 95 %."""
        return all(check.holds for check in self.found.checks)

    @property
    def answer(self) -> str:
        """The page that `gemsim fit` prints."""
        return render(self.found)

    def __repr__(self) -> str:
        log = self.found.log
        trip = "like it" if self.holds else "not like it in every statistic"
        counted = f"{self.found.classes[0].events} events on {log.nodes:,} nodes in {log.window_h / 24:,.0f} d"
        return f"FittedLog(log: {self.source}, {counted}, logs of its model are {trip})"

    def _repr_html_(self) -> str:
        return f"{html.head(repr(self))}<pre>{escape(self.answer)}</pre>"


def fit_log(
    log: str | PathLike[str],
    *,
    nodes: int | None = None,
    window: str | None = None,
    gpus_per_node: int | None = None,
    replications: int = 200,
    seed: int = 0,
) -> FittedLog:
    """Fit failure laws to a log, a CSV file with one line per failure, as `gemsim fit` does.

    Columns: `time_h` (hours) or `start` (ISO 8601), `node`, `component`, `downtime_h`. `nodes`: all observed, the
    healthy ones too. `window`: the time observed, "348 d" or "FROM to TO". Both may stand in a meta.json
    beside the log. `gpus_per_node`: for a log without node names (default: meta.json, or 8, an assumption).
    `replications` and `seed` are of the round trip: logs simulated from the model, beside this one.

    Raises ValueRefused for a log that cannot be read or counted.
    """
    begin, length, origin = window_hours(window) if window else (None, None, None)
    path = Path(log)
    seen = observe(Request(path, nodes=whole("nodes", nodes), begin_h=begin, window_h=length, origin=origin))
    found = analyse(seen.log(), merge_h=0.0, simultaneous_h=0.0, replications=replications, seed=seed)
    return FittedLog(found, seen.meta.name or path.name, gpus_per_node or seen.meta.gpus_per_node or GPUS_PER_NODE)


def _seconds(hours: float, known: int) -> float | None:
    return hours * HOUR if known else None
