"""The closest peer's default case in the words of a study: its published means, planted faults, and where it is wrong.

Published by AIReSim (github.com/karthikp-ubc/airesim at 7b139c7, docs/SIMULATION_REPORT.md): means of 30 replications.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.cli.main import main
from gemsim.engine.run import simulate
from gemsim.failures.laws import lifetime
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import load_study, resolve_point
from tests import statcheck
from tests.statcheck import Rejected
from tests.studies.world import FOLDER

PATH = FOLDER / "peers" / "airesim_default.yaml"
WORK = 256 * 24.0  # hours
FIRST = 1  # the peer counts the selection before anything runs; here the job stands ready at time 0
SOURCES = re.compile(r"assumption|derived|AIReSim")


@dataclass(frozen=True)
class Published:
    """One mean of theirs, how near ours is to be, and what a value of one replication lies in for certain."""

    mean: float
    near: float


PUBLISHED = {
    "ettr": Published(0.6228, 0.0015),
    "failures": Published(11_145.6, 120.0),
    "hours": Published(9_865.97, 25.0),
    "selections": Published(42.9, 3.0),
    "borrowed": Published(13.9, 4.0),
}


@cache
def default(**changes: Any) -> Scenario:
    """The study, with some values changed."""
    return build(resolve_point(load_study(PATH), changes))


def runs(of: Scenario, count: int, *, seed: int, first: int = 0) -> dict[str, NDArray[np.float64]]:
    """What the peer publishes, of each replication."""
    rows = [simulate(of, seed=seed, replication=first + number) for number in range(count)]
    found = {name: [float(row[name]) for row in rows] for name in ("failures", "borrowed")}
    found["hours"] = [row["wall_s"] / 3600 for row in rows]
    found["ettr"] = [row["productive_s"] / row["wall_s"] for row in rows]
    found["selections"] = [float(row["selections"]) + FIRST for row in rows]
    return {name: np.array(values) for name, values in found.items()}
