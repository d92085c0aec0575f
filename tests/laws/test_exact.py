"""The engine against the general exact form: exponential clocks on the wall, fixed detection, one checkpoint tier."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.analytic.run import predict
from tests import statcheck
from tests.laws.jobs import EXACT, ettr_sample

REPLICATIONS = 72


def check_ettr(name: str, *, days: float = 1.0, detect: float = 0.013) -> None:
    """Sees the engine's long-run ETTR off by `detect` (at rates x 1: by a fifth of that).

    The alarm is shared by all jobs: the largest deviation of them all is judged.
    """
    job = EXACT[name]
    scenario = job.scenario(days * 8.0 / job.scale)
    said = predict(scenario)
    assert said["analytic_kind"] == "exact"

    def draw(stage: int) -> NDArray[np.float64]:
        seed = zlib.crc32(f"{name} {stage}".encode())
        return ettr_sample(scenario, replications=REPLICATIONS, seed=seed)

    smallest = detect if job.scale > 1 else detect / 5
    statcheck.mean_two_stage(draw, said["ettr_analytic"], detect=smallest, alarm=statcheck.ALARM / len(EXACT))


@pytest.mark.parametrize("name", EXACT)
def test_engine_follows_the_general_form(name: str) -> None:
    check_ettr(name)


@pytest.mark.long
@pytest.mark.parametrize("name", EXACT)
def test_engine_follows_the_general_form_over_long_runs(name: str) -> None:
    check_ettr(name, days=20.0, detect=0.0035)
