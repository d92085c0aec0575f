"""The numbers of each code: its rows, that any m losses are recoverable, and what is refused."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from gemsim_kernels import CodeLimit, TooManyLost
from gemsim_kernels.codes import Field, cauchy_family
from gemsim_kernels.fields import galois_field
from gemsim_kernels.matrices import check_rows, construct, first_check_row, recovery
from gemsim_kernels.reference import syndromes


@pytest.mark.parametrize(("k", "m"), [(1, 1), (5, 1), (1, 3), (6, 2), (6, 3), (5, 4), (3, 5), (4, 6), (2, 8), (3, 7)])
@pytest.mark.parametrize("field", [8, 16])
@pytest.mark.parametrize("matrix", [None, "cauchy"])
def test_any_k_shards_determine_the_data(k: int, m: int, field: Field, matrix: str | None) -> None:
    code = construct(k, m, field, matrix)
    gf = code.field
    whole = np.concatenate([np.eye(k, dtype=gf.dtype), code.generator])
    for left in combinations(range(k + m), k):
        assert len(gf.independent_rows(whole[list(left)])) == k, left


def test_rows_of_powers() -> None:
    assert construct(5, 3).generator.tolist() == [[1, 1, 1, 1, 1], [1, 2, 4, 8, 16], [1, 4, 16, 64, 29]]
    assert construct(4, 1).generator.tolist() == [[1, 1, 1, 1]]
    assert construct(3, 0).generator.shape == (0, 3)


def test_check_rows_lie_about_zero() -> None:
    assert [first_check_row(m) for m in range(4, 9)] == [-2, -2, -3, -3, -4]
    assert list(check_rows(4)) == [-2, -1, 0, 1]


@pytest.mark.parametrize(("k", "m", "field"), [(10, 4, 8), (7, 8, 8), (247, 8, 8), (9, 5, 16), (300, 4, 16)])
def test_every_check_of_a_reed_solomon_stripe_vanishes(k: int, m: int, field: Field) -> None:
    code = construct(k, m, field)
    data = np.random.default_rng(3).integers(0, 1 << code.bits, (k, 6)).astype(code.field.dtype)
    parity = code.field.matmul(code.generator, data)
    whole = [row.view(np.uint8) for row in np.concatenate([data, parity])]
    assert not np.any(syndromes(code, whole))
    whole[2] = whole[2] ^ 1
    assert all(np.any(check) for check in syndromes(code, whole))


def test_a_narrower_code_is_a_shortened_wider_one() -> None:
    for m in (2, 3, 4, 8):
        assert np.array_equal(construct(20, m).generator, construct(100, m).generator[:, :20])


def test_cauchy_stops_at_the_size_of_the_field() -> None:
    assert cauchy_family(252, 4).field_bits == 8
    assert cauchy_family(253, 4).field_bits == 16
    assert construct(3, 0, matrix="cauchy").family.name == "none"
    with pytest.raises(CodeLimit, match=r"k \+ m <= 256 in GF\(2\^8\)"):
        construct(253, 4, 8, "cauchy")
    with pytest.raises(CodeLimit, match="at least one data shard"):
        construct(0, 4, 8, "cauchy")


@pytest.mark.parametrize(
    ("matrix", "field", "words"),
    [
        ("vandermonde", "auto", "no such matrix"),
        (np.ones((2, 4), dtype=np.uint8), "auto", r"shape \(2, 3\)"),
        (np.ones((2, 3)), "auto", "whole numbers"),
        (np.full((2, 3), 256), 8, r"0 to 255 in GF\(2\^8\)"),
        (np.full((2, 3), -1), 8, "entries -1"),
        (np.ones((2, 3), dtype=np.uint8), 12, "no such field"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(matrix: Any, field: Any, words: str) -> None:
    with pytest.raises(CodeLimit, match=words):
        construct(3, 2, field, matrix)


def test_a_matrix_given_keeps_its_field() -> None:
    assert construct(2, 1, matrix=np.array([[300, 2]], dtype=np.uint16)).bits == 16
    assert construct(2, 1, matrix=np.array([[3, 2]])).bits == 8
    assert construct(2, 1, 16, np.array([[3, 2]], dtype=np.uint8)).bits == 16


def test_recovery_reads_k_shards_and_no_more() -> None:
    code = construct(6, 3)
    matrix, sources = recovery(code, [4, 7], [4, 7])
    assert matrix.shape == (2, 6)
    assert sources == [0, 1, 2, 3, 5, 6]
    with pytest.raises(TooManyLost, match=r"4 shards are lost \(0, 1, 2, 8\); allowed: at most m = 3"):
        recovery(code, [0, 1], [0, 1, 2, 8])


def test_a_matrix_that_is_not_mds_says_what_it_cannot_rebuild() -> None:
    code = construct(3, 2, matrix=np.array([[1, 1, 0], [1, 1, 1]], dtype=np.uint8))
    matrix, sources = recovery(code, [2], [2, 3])
    assert sources == [0, 1, 4]
    assert matrix.tolist() == [[1, 1, 1]]
    assert recovery(code, [2], [2])[1] == [0, 1, 4]  # the first row says nothing of shard 2
    with pytest.raises(TooManyLost, match=r"not MDS: shards \[0, 1\] lost"):
        recovery(code, [0, 1], [0, 1])


def test_fields_are_made_once() -> None:
    assert galois_field(8) is galois_field(8)
