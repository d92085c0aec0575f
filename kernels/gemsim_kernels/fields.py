"""Arithmetic in GF(2^8) and GF(2^16): tables, and the little linear algebra that codes need.

Polynomials 0x11D and 0x1100B, generator α = 2 in both. Tables are for setting up and for the reference; no fast path
multiplies data through them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

POLYNOMIAL = {8: 0x11D, 16: 0x1100B}
Elements = NDArray[Any]  # uint8 or uint16, by the field


class SingularMatrix(ValueError):
    """These equations do not determine the unknowns."""


@dataclass(frozen=True, eq=False, slots=True)
class GaloisField:
    """GF(2^bits). `exp[log[a] + log[b]]` is the product: log[0] points past the powers, where exp holds zeros."""

    bits: int
    exp: Elements
    log: NDArray[np.int32]

    @property
    def order(self) -> int:
        """The number of non-zero elements, after which powers of α repeat."""
        return (1 << self.bits) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.exp.dtype

    def power(self, exponent: ArrayLike) -> Elements:
        """α to any integer exponent, negative ones included."""
        return np.asarray(self.exp[np.asarray(exponent, dtype=np.int64) % self.order])

    def multiply(self, a: ArrayLike, b: ArrayLike) -> Elements:
        """The product, element by element."""
        return np.asarray(self.exp[self.log[np.asarray(a)] + self.log[np.asarray(b)]])

    def inverse(self, a: ArrayLike) -> Elements:
        """1 / a, element by element. Raises ZeroDivisionError."""
        values = np.asarray(a)
        if not values.all():
            raise ZeroDivisionError(f"0 has no inverse in GF(2^{self.bits})")
        return np.asarray(self.exp[self.order - self.log[values]])

    def matmul(self, a: Elements, b: Elements) -> Elements:
        """The matrix product of a (r x s) and b (s x c)."""
        product = np.zeros((a.shape[0], b.shape[1]), dtype=self.dtype)
        for middle in range(a.shape[1]):
            product ^= self.multiply(a[:, middle, None], b[None, middle, :])
        return product

    def solve(self, a: Elements, b: Elements) -> Elements:
        """x with a x = b, for a square a (n x n) and b (n x c). Raises SingularMatrix."""
        size = a.shape[0]
        work = np.concatenate([a, b], axis=1).astype(self.dtype)
        for column in range(size):
            below = np.flatnonzero(work[column:, column])
            if not below.size:
                raise SingularMatrix(f"the {size} x {size} matrix has no inverse over GF(2^{self.bits})")
            pivot = column + int(below[0])
            work[[column, pivot]] = work[[pivot, column]]
            work[column] = self.multiply(work[column], self.inverse(work[column, column]))
            factors = work[:, column].copy()
            factors[column] = 0
            work ^= self.multiply(factors[:, None], work[column][None, :])
        return work[:, size:]

    def independent_rows(self, a: Elements) -> list[int]:
        """The first rows of a (r x c) that are linearly independent, at most c of them."""
        chosen: list[int] = []
        reduced: list[tuple[int, Elements]] = []
        for index, given in enumerate(a):
            row = given.astype(self.dtype)
            for column, other in reduced:
                row = row ^ self.multiply(row[column], other)
            nonzero = np.flatnonzero(row)
            if nonzero.size:
                column = int(nonzero[0])
                reduced.append((column, self.multiply(row, self.inverse(row[column]))))
                chosen.append(index)
        return chosen

    def images(self, coefficients: ArrayLike) -> Elements:
        """c·2^b for every bit b of a symbol, as a last axis: the columns of the linear map 'times c'."""
        units = np.left_shift(1, np.arange(self.bits)).astype(self.dtype)
        return self.multiply(np.asarray(coefficients)[..., None], units)


@cache
def galois_field(bits: int) -> GaloisField:
    """GF(2^8) or GF(2^16), with its tables made once."""
    order = (1 << bits) - 1
    dtype = np.uint8 if bits == 8 else np.uint16
    exp = np.zeros(4 * order + 1, dtype=dtype)
    log = np.full(order + 1, 2 * order, dtype=np.int32)
    value = 1
    for exponent in range(order):
        exp[exponent] = exp[exponent + order] = value
        log[value] = exponent
        value <<= 1
        if value > order:
            value ^= POLYNOMIAL[bits]
    exp.flags.writeable = log.flags.writeable = False
    return GaloisField(bits, exp, log)
