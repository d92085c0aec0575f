"""One small sweep, shared by the tests that only look at it."""

from __future__ import annotations

import pytest

import gemsim as gs
from tests.api.small import small


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> gs.Results:
    """The small study, swept."""
    return gs.sweep(small(), out=tmp_path_factory.mktemp("swept"), jobs=1, quiet=True)
