"""The statistical checks themselves: they accept, reject, refuse to judge on too little, and keep the budget."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests import statcheck
from tests.statcheck import Rejected, Underpowered

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _no_booking() -> Iterator[None]:
    with statcheck.unbooked():
        yield


@pytest.mark.parametrize("observed", [20_000, 20_600, 19_400])
def test_poisson_accepts(observed: int) -> None:
    statcheck.poisson_count(observed, 20_000)


@pytest.mark.parametrize("observed", [21_000, 19_000])
def test_poisson_rejects(observed: int) -> None:
    with pytest.raises(Rejected, match="Poisson"):
        statcheck.poisson_count(observed, 20_000)


def test_poisson_419_alone_cannot_see_five_percent() -> None:
    with pytest.raises(Underpowered, match="probability"):
        statcheck.poisson_count(419, 419)
    statcheck.poisson_count(419, 419, detect=0.4)


def test_poisson_region_has_the_stated_alarm() -> None:
    from scipy.stats import poisson

    def check(count: int) -> None:
        statcheck.poisson_count(count, 480, detect=0.4, alarm=1e-3)

    inside = [count for count in range(300, 700) if _accepts(partial(check, count))]
    assert inside == list(range(inside[0], inside[-1] + 1))
    outside = poisson.cdf(inside[0] - 1, 480) + poisson.sf(inside[-1], 480)
    assert 5e-4 < outside <= 1e-3


def _accepts(check: Callable[[], None]) -> bool:
    try:
        check()
    except Rejected:
        return False
    return True


def test_binomial() -> None:
    statcheck.binomial_count(4_800, 10_000, 0.48, detect=0.05)
    with pytest.raises(Rejected, match="share"):
        statcheck.binomial_count(5_300, 10_000, 0.48, detect=0.05)
    with pytest.raises(Underpowered):
        statcheck.binomial_count(48, 100, 0.48, detect=0.05)
    with pytest.raises(Underpowered, match="no share"):
        statcheck.binomial_count(5, 10, 0.5, detect=0.7)
    statcheck.binomial_count(0, 10_000, 0.0, detect=0.01)
    with pytest.raises(Rejected):
        statcheck.binomial_count(1, 10_000, 0.0, detect=0.01)


def test_bounded_mean(rng: np.random.Generator) -> None:
    values = rng.beta(40, 4, size=20_000)
    statcheck.mean_bounded(values, 40 / 44, low=0, high=1, detect=0.02)
    with pytest.raises(Rejected, match="mean"):
        statcheck.mean_bounded(values, 40 / 44 + 0.02, low=0, high=1, detect=0.02)
    with pytest.raises(Rejected, match="leave"):
        statcheck.mean_bounded(values, 40 / 44, low=0.5, high=0.9, detect=0.02)
    with pytest.raises(Underpowered, match="at best"):
        statcheck.mean_bounded(values[:1000], 40 / 44, low=0, high=1, detect=0.02)


def test_uniform(rng: np.random.Generator) -> None:
    values = rng.random(20_000)
    statcheck.ks_uniform(values)
    with pytest.raises(Rejected, match="CDF"):
        statcheck.ks_uniform(values**1.2)
    with pytest.raises(Rejected):
        statcheck.ks_uniform(np.append(values, 1.5))
    with pytest.raises(Underpowered):
        statcheck.ks_uniform(values[:1000])


def test_gap_of_the_uniform_check_is_kolmogorovs(rng: np.random.Generator) -> None:
    from scipy.stats import kstest

    values = rng.random(12_000) ** 1.5
    with pytest.raises(Rejected, match=f"off by {kstest(values, 'uniform').statistic:.4g}"):
        statcheck.ks_uniform(values, detect=0.06)


def test_same_law(rng: np.random.Generator) -> None:
    first, second = rng.exponential(size=(2, 20_000))
    statcheck.same_law(first, second)
    with pytest.raises(Rejected, match="apart"):
        statcheck.same_law(first, 1.5 * second)
    with pytest.raises(Underpowered):
        statcheck.same_law(first[:500], second)


def test_two_stages(rng: np.random.Generator) -> None:
    drawn: list[int] = []

    def draw(stage: int) -> np.ndarray:
        drawn.append(stage)
        return rng.exponential(size=5_000)

    statcheck.mean_two_stage(draw, 1.0, detect=0.1)
    assert drawn == [0]
    with pytest.raises(Rejected, match="standard errors"):
        statcheck.mean_two_stage(draw, 1.1, detect=0.1)
    assert drawn == [0, 0, 1]
    with pytest.raises(Underpowered, match="too large"):
        statcheck.mean_two_stage(draw, 1.0, detect=0.05)
    with pytest.raises(Underpowered, match="near enough"):
        statcheck.mean_two_stage(lambda stage: draw(stage)[:100], 1.0, detect=1.0)


def test_two_stages_want_one_direction_and_forgive_one_bad_sample() -> None:
    spread = np.tile([-1.0, 1.0], 50)
    shifts = iter([1.0, -1.0, 1.0, 0.0, 1.0, 1.0])

    def draw(stage: int) -> np.ndarray:
        return spread + next(shifts)

    statcheck.mean_two_stage(draw, 0.0, detect=1.0)
    statcheck.mean_two_stage(draw, 0.0, detect=1.0)
    with pytest.raises(Rejected):
        statcheck.mean_two_stage(draw, 0.0, detect=1.0)


def run_suite(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a small suite that shares this one's conftest."""
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    (folder / "conftest.py").write_text("from tests.conftest import *\n")
    (folder / "test_small.py").write_text("from tests import statcheck\n" + text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


SPENDING = """
import pytest
@pytest.mark.parametrize("i", range(4))
def test_one(i):
    statcheck.poisson_count(500, 500, detect=0.5, alarm=ALARM)
"""


@pytest.mark.parametrize(
    ("workers", "alarm", "code", "words"),
    [("0", "2e-5", 0, "8e-05 of 0.0001"), ("0", "3e-5", 1, "OVER"), ("2", "3e-5", 1, "OVER")],
)
def test_suite_keeps_its_budget(tmp_path: Path, workers: str, alarm: str, code: int, words: str) -> None:
    done = run_suite(tmp_path, SPENDING.replace("ALARM", alarm), "-n", workers)
    assert "4 passed" in done.stdout, done.stdout + done.stderr
    assert words in done.stdout
    assert done.returncode == code


def test_seeds_are_fixed_and_shown(tmp_path: Path) -> None:
    done = run_suite(tmp_path, "def test_it(rng):\n    print(rng.random())\n    assert 0\n", "-n", "0")
    seed = zlib.crc32(b"test_it")
    assert f"\nseed {seed}\n" in done.stdout
    assert f"\n{np.random.default_rng(seed).random()}\n" in done.stdout


def _normal(mean: float, stage: int) -> np.ndarray:
    return np.random.default_rng([7, stage]).normal(mean, 1.0, 400)


def test_a_mean_within_what_is_allowed_is_accepted_and_beyond_it_rejected() -> None:
    statcheck.mean_two_stage(partial(_normal, 0.5), 0.0, detect=1.2, within=0.5)
    with pytest.raises(Rejected):
        statcheck.mean_two_stage(partial(_normal, 1.2), 0.0, detect=1.2, within=0.5)
    with pytest.raises(Underpowered):
        statcheck.mean_two_stage(partial(_normal, 0.0), 0.0, detect=0.6, within=0.5)


def test_claims_are_judged_together_and_all_that_fail_are_named() -> None:
    right = [statcheck.Claim(f"right {i}", partial(_normal, 0.0), 0.0, 0.7) for i in range(5)]
    statcheck.means_two_stage(right)
    wrong = [statcheck.Claim(f"wrong {i}", partial(_normal, 0.0), off, 0.7) for i, off in enumerate((1.0, -1.0))]
    with pytest.raises(Rejected, match=r"wrong 0.*wrong 1"):
        statcheck.means_two_stage([*right, *wrong])
    with pytest.raises(Underpowered, match="blunt"):
        statcheck.means_two_stage([*right, statcheck.Claim("blunt", partial(_normal, 0.0), 0.0, 0.1)])
