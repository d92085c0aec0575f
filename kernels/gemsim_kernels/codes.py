"""Which erasure code protects a stripe of k data and m parity shards, over which field, and where it ends.

The families are tried in order and the first that covers the stripe is taken, the smaller field first. All are MDS: any
m lost shards of the k + m can be rebuilt. A stripe that none covers is refused, never coded wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Field = Literal["auto", 8, 16]

_NONZERO = {8: 255, 16: 65_535}  # non-zero elements of GF(2^bits)


class CodeLimit(ValueError):
    """No code covers this stripe: the message names the limit and what would fit."""


@dataclass(frozen=True, slots=True)
class Family:
    """The code of a stripe. `field_bits` is 1 for XOR, which is the same in every field, and 0 where m = 0."""

    name: str  # none | xor | pq | pqr | rs | cauchy
    field_bits: int
    generator: str
    limit: str


def family(k: int, m: int, field: Field = "auto") -> Family:
    """The code for k data and m parity shards, over GF(2^field) or the smallest field that covers the stripe.

    XOR: any k. P+Q and P+Q+R: k <= 255 or 65,535, as no minor of rows (1, x, x^2) vanishes for distinct non-zero x.
    Reed-Solomon in syndrome form: k + m <= 255 or 65,535, as any m columns of its checks are Vandermonde. Cauchy
    (Blömer et al. 1995): k + m <= 256 or 65,536. Raises CodeLimit.
    """
    if field not in ("auto", 8, 16):
        raise CodeLimit(f"no such field ({field!r}); allowed: auto, 8 or 16 (bits of the field)")
    if k < 1:
        raise CodeLimit(f"k = {k}: a stripe needs at least one data shard")
    if m < 0:
        raise CodeLimit(f"m = {m}: a stripe cannot have fewer than no parity shards")
    if m == 0:
        return Family("none", 0, "no parity", "any k")
    if m == 1:
        return Family("xor", 1, "row (1)", "any k")
    fields: tuple[int, ...] = (8, 16) if field == "auto" else (field,)
    candidates = [_horner(m, bits) for bits in fields] + [_cauchy(bits) for bits in fields]
    for code, most in candidates:
        if (k if code.name in ("pq", "pqr") else k + m) <= most:
            return code
    raise CodeLimit(_refusal(k, m, field))


def cauchy_family(k: int, m: int, field: Field = "auto") -> Family:
    """The Cauchy code for k data and m parity shards, where parity must equal another library's. Raises CodeLimit."""
    without = family(k, min(m, 0), field)
    if m == 0:
        return without
    for bits in (8, 16) if field == "auto" else (field,):
        code, most = _cauchy(bits)
        if k + m <= most:
            return code
    bits = 8 if field == 8 else 16
    raise CodeLimit(f"k = {k:,}, m = {m:,}: no Cauchy code covers it; allowed: {_cauchy(bits)[0].limit}")


def _horner(m: int, bits: int) -> tuple[Family, int]:
    """The coefficient-free family for m >= 2 parity shards, and the most that its k or k + m may be."""
    most = _NONZERO[bits]
    if m <= 3:
        rows = "rows (1), (α^j)" if m == 2 else "rows (1), (α^j), (α^2j)"
        return Family("pq" if m == 2 else "pqr", bits, rows, f"k <= {most:,} in GF(2^{bits})"), most
    return Family("rs", bits, "systematic, checks (α^ij)", f"k + m <= {most:,} in GF(2^{bits})"), most


def _cauchy(bits: int) -> tuple[Family, int]:
    most = _NONZERO[bits] + 1
    return Family("cauchy", bits, "1 / (x_i + y_j)", f"k + m <= {most:,} in GF(2^{bits})"), most


def _refusal(k: int, m: int, field: Field) -> str:
    bits = 16 if field == "auto" else field
    most_k = max(_NONZERO[bits] if m <= 3 else 0, _NONZERO[bits] + 1 - m)
    fits = f"k <= {most_k:,} with m = {m}" if most_k >= 1 else f"m < {_NONZERO[bits] + 1:,}"
    wider = "" if bits == 16 else "; GF(2^16) goes further"
    return f"k = {k:,}, m = {m:,}: no code over GF(2^{bits}) covers it; allowed: {fits}, or m = 1 (XOR, any k){wider}"
