"""Field arithmetic against multiplication of polynomials written out bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim_kernels.fields import POLYNOMIAL, SingularMatrix, galois_field


def _by_bits(a: NDArray[np.int64], b: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """The product without tables: shift, add, then subtract multiples of the polynomial from the top."""
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape), dtype=np.int64)
    for bit in range(bits):
        total ^= ((b >> bit) & 1) * (a << bit)
    for bit in range(2 * bits - 2, bits - 1, -1):
        total ^= ((total >> bit) & 1) * (POLYNOMIAL[bits] << (bit - bits))
    return total


def test_every_product_in_gf_256() -> None:
    elements = np.arange(256)
    expected = _by_bits(elements[:, None], elements[None, :], 8)
    assert np.array_equal(galois_field(8).multiply(elements[:, None], elements[None, :]), expected)


def test_random_products_in_gf_65536() -> None:
    a, b = np.random.default_rng(7).integers(0, 1 << 16, (2, 200_000))
    gf = galois_field(16)
    assert np.array_equal(gf.multiply(a, b), _by_bits(a, b, 16))
    every = np.arange(1 << 16)
    for edge in (0, 1, 2, 0x100B, 0x8000, 0xFFFF):
        assert np.array_equal(gf.multiply(every, edge), _by_bits(every, np.array(edge), 16))


@pytest.mark.parametrize("bits", [8, 16])
def test_structure(bits: int) -> None:
    gf = galois_field(bits)
    nonzero = np.arange(1, gf.order + 1).astype(gf.dtype)
    assert np.array_equal(np.sort(gf.power(np.arange(gf.order))), nonzero)  # α generates every element once
    assert (gf.multiply(nonzero, gf.inverse(nonzero)) == 1).all()
    assert not gf.multiply(nonzero, 0).any()
    assert (gf.multiply(nonzero, 1) == nonzero).all()
    squares = gf.multiply(nonzero, nonzero)
    one = gf.power(1)
    assert np.array_equal(gf.multiply(nonzero ^ one, nonzero ^ one), squares ^ gf.multiply(one, one))  # Frobenius
    assert gf.power(-1) == gf.inverse(2)
    assert gf.power(gf.order) == 1
    with pytest.raises(ZeroDivisionError, match="no inverse"):
        gf.inverse([1, 0])


@pytest.mark.parametrize("bits", [8, 16])
def test_laws_on_random_triples(bits: int) -> None:
    gf = galois_field(bits)
    a, b, c = np.random.default_rng(8).integers(0, 1 << bits, (3, 20_000)).astype(gf.dtype)
    assert np.array_equal(gf.multiply(a, b), gf.multiply(b, a))
    assert np.array_equal(gf.multiply(a, gf.multiply(b, c)), gf.multiply(gf.multiply(a, b), c))
    assert np.array_equal(gf.multiply(a, b ^ c), gf.multiply(a, b) ^ gf.multiply(a, c))


@pytest.mark.parametrize("bits", [8, 16])
def test_images_are_the_columns_of_the_linear_map(bits: int) -> None:
    gf = galois_field(bits)
    a, x = np.random.default_rng(9).integers(0, 1 << bits, (2, 300)).astype(gf.dtype)
    columns = gf.images(a)
    total = np.zeros_like(a)
    for bit in range(bits):
        total ^= columns[:, bit] * ((x >> bit) & 1)
    assert np.array_equal(total, gf.multiply(a, x))


@pytest.mark.parametrize("bits", [8, 16])
def test_linear_systems(bits: int) -> None:
    gf = galois_field(bits)
    random = np.random.default_rng(10)
    for size in (1, 2, 5, 9):
        a = random.integers(0, 1 << bits, (size, size)).astype(gf.dtype)
        x = random.integers(0, 1 << bits, (size, 3)).astype(gf.dtype)
        assert np.array_equal(gf.solve(a, gf.matmul(a, x)), x)
    swapped = np.array([[0, 1], [1, 0]], dtype=gf.dtype)
    assert np.array_equal(gf.solve(swapped, swapped), np.eye(2))


def test_dependent_equations_are_refused_and_found() -> None:
    gf = galois_field(8)
    rows = np.array([[1, 2, 3], [2, 4, 6], [0, 0, 0], [1, 0, 0], [0, 0, 5], [7, 7, 7]], dtype=np.uint8)
    assert gf.independent_rows(rows) == [0, 3, 4]
    with pytest.raises(SingularMatrix, match="3 x 3 matrix has no inverse"):
        gf.solve(rows[:3], np.eye(3, dtype=np.uint8))
