"""What every test shares: seeds that are fixed and printed, hypothesis without clocks, and the suite's alarm budget."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests import statcheck

settings.register_profile("fixed", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("fixed")

_workers: list[float] = []


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are as wide in a worker process as anywhere: where a line is folded is the terminal's affair. And what a
    process prints is held in a buffer, though test machines may have that switched off."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A seed fixed by the test's name; pytest shows the line below when the test fails."""
    value = zlib.crc32(request.node.name.encode())
    print(f"seed {value}")
    return value


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Random numbers from `seed`."""
    return np.random.default_rng(seed)


def alarm_booked() -> float:
    """Alarm booked in this process and in the xdist workers that have finished."""
    return statcheck.booked() + sum(_workers)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object | None) -> None:
    """An xdist worker is done: take over what it booked."""
    del error
    _workers.append(getattr(node, "workeroutput", {}).get("statcheck", 0.0))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the sum to the controller, or fail the session when the suite has spent more than its budget."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["statcheck"] = statcheck.booked()
    elif alarm_booked() > statcheck.BUDGET:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how likely correct code is to fail this suite."""
    spent = alarm_booked()
    if spent:
        over = spent > statcheck.BUDGET
        verdict = f"OVER the budget of {statcheck.BUDGET:g}: the suite fails" if over else f"of {statcheck.BUDGET:g}"
        terminalreporter.write_line(f"false-alarm rate booked by statistical checks: {spent:.2g} {verdict}", red=over)
