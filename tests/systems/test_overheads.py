"""What each system costs when nothing fails: its published stall or slow-down, worked by hand."""

from __future__ import annotations

import pytest

from gemsim.analytic.first_order import published_linear
from gemsim.spec.catalog import system_names
from tests.engine.small import run
from tests.systems.small import CXL_B, HOST, job

XOR_SPEED = 0.93 * 3e12  # bytes/s: the ratio of the encode by XOR and the copy bandwidth in the profile of the H100
LAUNCH = 10e-6  # s
PAGES = 10_849  # of 2 MiB, for 22.75 GB of state on each GPU
GEM = PAGES * 2**21 * 129 / 128 / XOR_SPEED + LAUNCH  # reads 128 pages, writes one: 8.23 ms after each step
ECREC = HOST * 5 / 4 / 3.35e12  # the HBM traffic of an encode beside the step; 364 ms of NIC fit the idle second
EXPOSED = 1.64 - 1.23  # ms of the log that the top MLP does not hide; the rest of a batch stays 5.05 ms
DISK = HOST / 5e9  # s to write what one host holds
REMOTE = HOST * 8 / 2e12  # s, synchronous: all of it at the store's 2 TB/s


def of_work(*paid: float) -> float:
    """Share of the wall of what is paid for each second of work."""
    return sum(paid) / (1.0 + sum(paid))


OVERHEADS = {
    "strawman": ("10 s", 0.0),
    "highfreq": ("62 s", of_work(81 / 558)),  # 12.7 % of the wall; print divides by the work, 14.5 %
    "gemini": ("62 s", 1 / (174 * 62 + 1)),  # the remote save each three hours; copies fit the idle second
    "checkfreq": ("10 s", of_work(1 / 600)),
    "check_n_run": ("10 s", of_work(7 / 1_800)),
    "moevement": ("2.67 s", of_work(0.02, 1 / 10_800)),  # table 3: 2 %
    "ft_hsdp": ("10 s", of_work(1 / 3_600)),
    "torchft": ("10 s", of_work(1 / 3_600)),  # the quorum is formed while the step computes
    "oobleck": ("10 s", of_work(1 / 3_600)),
    "recycle": ("10 s", of_work(1 / 3_600)),
    "just_in_time": ("10 s", of_work(1 / 10_800)),
    "mindio": ("10 s", of_work(1 / 1_800)),
    "concordia": ("10 s", of_work(1 / 3_600)),
    "gem": ("10 s", of_work(GEM / 10, 1 / 4_150)),  # fall-back: sqrt(2 x 1 s x 100 d) = 4,157 s, less a third of 1 s
    "ecrec": ("10 s", of_work(ECREC / 10, 1 / 3_600)),
    "eccheck": ("10 s", of_work(0.1 / 1_310, 1 / 10_800)),  # sqrt(2 x 0.1 s x 100 d) = 1,315 s
    "scr_single": ("10 s", of_work(DISK / 600, REMOTE / 10_800)),
    "scr_partner": ("10 s", of_work(2 * DISK / 600, REMOTE / 10_800)),
    "scr_xor": ("10 s", of_work(DISK * 8 / 7 / 600, REMOTE / 10_800)),
    "scr_rs": ("10 s", of_work(DISK * 8 / 6 / 600, REMOTE / 10_800)),
    "veloc": ("10 s", of_work(1 / 300, 1 / 900, 1 / 3_600)),
    "fti": ("10 s", of_work(1 / 180, 1 / 300, 1 / 420, 1 / 660)),
    "trainingcxl": ("5.05 ms", of_work(1 / 10_800)),  # the relaxed log is hidden
    CXL_B: ("5.05 ms", of_work(EXPOSED / 5.05, 1 / 10_800)),
}


def check_overhead(system: str) -> None:
    """2,000 hours without a failure: the share of overhead, and nothing else but work."""
    step, share = OVERHEADS[system]
    row = run(job(system, step=step, horizon="2000 h"))
    assert row["overhead_s"] / row["wall_s"] == pytest.approx(share, rel=2e-3)
    assert row["productive_s"] + row["overhead_s"] == pytest.approx(row["wall_s"])


def test_every_system_is_here() -> None:
    assert set(OVERHEADS) - {CXL_B} == set(system_names())


@pytest.mark.parametrize("system", OVERHEADS)
def test_without_failures_only_the_overhead_is_lost(system: str) -> None:
    check_overhead(system)


def test_print_of_highfreq_divides_by_the_work() -> None:
    assert 1.0 - published_linear(1.0 - 81 / 558, []) == pytest.approx(0.145, abs=5e-4)
