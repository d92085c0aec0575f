"""Symbols of GF(2^8) as bit planes: a word holds one bit of 32 symbols, and a constant factor is a choice of XORs."""

from __future__ import annotations

import numpy as np

from gemsim_kernels.fields import galois_field
from gemsim_kernels.matrices import check_rows


def transpose(names: list[str]) -> list[str]:
    """Eight words to eight bit planes in place, or back: three rounds of butterflies."""
    rounds = ((4, "0x0f0f0f0fu"), (2, "0x33333333u"), (1, "0x55555555u"))
    return [
        f"butterfly({names[i]}, {names[i + distance]}, {mask}, {distance});"
        for distance, mask in rounds
        for i in range(8)
        if not i & distance
    ]


def bit_rows(element: int) -> list[list[int]]:
    """For each bit of a product with this element of GF(2^8), the bits of the other factor that it sums."""
    columns = galois_field(8).images(np.uint8(element))
    return [[b for b in range(8) if int(columns[b]) >> bit & 1] for bit in range(8)]


def horner_step(r: int, exponent: int) -> list[str]:
    """s_r = α^exponent · s_r + w on bit planes."""
    rows = bit_rows(int(galois_field(8).power(exponent)))
    sums = ", ".join(f"n{b} = w{b} ^ " + " ^ ".join(f"s{r}_{x}" for x in rows[b]) for b in range(8))
    return ["{ const u32 " + sums + "; " + " ".join(f"s{r}_{b} = n{b};" for b in range(8)) + " }"]


def parity_matrix(m: int) -> list[list[int]]:
    """V⁻¹ · diag(α^(i·m)): from the syndromes of the data alone to the parity that makes every check vanish."""
    field = galois_field(8)
    rows = np.array(check_rows(m))
    weights = np.diag(field.power(rows * m))
    matrix = field.solve(field.power(rows[:, None] * np.arange(m)), weights)
    return [[int(element) for element in row] for row in matrix]


def product(row: list[int]) -> list[str]:
    """For one output, each of its planes as a sum of the planes s_r_b of all syndromes."""
    terms = [[f"s{r}_{x}" for r, element in enumerate(row) for x in bit_rows(element)[bit]] for bit in range(8)]
    return [" ^ ".join(sums) or "0u" for sums in terms]
