"""The code of a stripe at every edge of every family."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

import gemsim_kernels
from gemsim_kernels import CodeLimit, Family, family
from gemsim_kernels.codes import Field


@pytest.mark.parametrize(
    ("k", "m", "field", "name", "bits"),
    [
        (1, 0, "auto", "none", 0),
        (10**9, 0, "auto", "none", 0),
        (1, 1, "auto", "xor", 1),
        (10**9, 1, "auto", "xor", 1),
        (10**9, 1, 8, "xor", 1),
        (1, 2, "auto", "pq", 8),
        (255, 2, "auto", "pq", 8),
        (256, 2, "auto", "pq", 16),
        (2, 2, 16, "pq", 16),
        (65_535, 2, "auto", "pq", 16),
        (255, 3, "auto", "pqr", 8),
        (256, 3, "auto", "pqr", 16),
        (65_535, 3, "auto", "pqr", 16),
        (1, 4, "auto", "rs", 8),
        (251, 4, "auto", "rs", 8),
        (252, 4, "auto", "rs", 16),
        (252, 4, 8, "cauchy", 8),
        (247, 8, "auto", "rs", 8),
        (248, 8, "auto", "rs", 16),
        (65_531, 4, "auto", "rs", 16),
        (65_532, 4, "auto", "cauchy", 16),
        (1, 254, 8, "rs", 8),
        (1, 255, 8, "cauchy", 8),
    ],
)
def test_family_and_field_at_the_edges(k: int, m: int, field: Field, name: str, bits: int) -> None:
    found = family(k, m, field)
    assert (found.name, found.field_bits) == (name, bits)


@pytest.mark.parametrize(
    ("k", "m", "field", "words"),
    [
        (256, 2, 8, "k <= 255 with m = 2, or m = 1 .* GF\\(2\\^16\\) goes further"),
        (256, 3, 8, "k <= 255 with m = 3"),
        (253, 4, 8, "k <= 252 with m = 4"),
        (1, 256, 8, "m < 256"),
        (65_536, 2, "auto", "k <= 65,535 with m = 2"),
        (65_533, 4, 16, "k <= 65,532 with m = 4"),
        (0, 1, "auto", "at least one data shard"),
        (1, -1, "auto", "fewer than no parity"),
    ],
)
def test_what_no_code_covers_is_refused_with_its_limit(k: int, m: int, field: Field, words: str) -> None:
    with pytest.raises(CodeLimit, match=words):
        family(k, m, field)


def test_an_unknown_field_is_refused() -> None:
    unknown: Any = 12
    with pytest.raises(CodeLimit, match="no such field"):
        family(4, 2, unknown)


FIELDS: tuple[Literal[8, 16], ...] = (8, 16)


def test_every_limit_is_the_last_width_that_fits() -> None:
    for m in range(2, 12):
        for field in FIELDS:
            limit = _widest(m, field)
            size = 1 << field
            assert limit == (size - 1 if m <= 3 else size - m)


def _widest(m: int, field: Field) -> int:
    low, high = 1, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        try:
            family(middle, m, field)
        except CodeLimit:
            high = middle
        else:
            low = middle
    return low


def test_a_family_says_its_limit() -> None:
    assert family(8, 2) == Family("pq", 8, "rows (1), (α^j)", "k <= 255 in GF(2^8)")
    assert family(300, 4).limit == "k + m <= 65,535 in GF(2^16)"


def test_the_kernels_do_not_import_the_simulator() -> None:
    code = "import gemsim_kernels, sys; sys.exit(any(name.split('.')[0] == 'gemsim' for name in sys.modules))"
    folder = str(Path(gemsim_kernels.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": folder})
