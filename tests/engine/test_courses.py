"""Two failures in one recovery: nothing that either needs is dropped, and neither is shortened."""

from __future__ import annotations

import pytest

from gemsim.engine.course import Course, length, longer

RESTARTING = Course(detection=10.0, activation=120.0, restart=107.0, recovery=3.0)


def test_a_slow_detection_does_not_drop_the_restart() -> None:
    """A page that is noticed after 500 s, while a node is being replaced: the job still has to restart."""
    both = longer(Course(detection=500.0, recovery=10.0), RESTARTING, 0.0)
    assert (both.activation, both.restart) == (120.0, 107.0)
    assert length(both.steps(0.0)) == pytest.approx(510.0)


def test_the_longer_recovery_starts_from_its_first_step() -> None:
    page = Course(detection=5.0, recovery=10.0)
    assert longer(page, RESTARTING, 0.0) == RESTARTING
    assert longer(RESTARTING, page, 0.0) == RESTARTING
