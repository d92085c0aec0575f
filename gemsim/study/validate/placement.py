"""GEMINI's placement of copies: every set of lost machines looked at, beside its Corollary 1 and Theorem 1.

One idea: a set of lost machines is a number of bits, so all of them are judged at once.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from gemsim.analytic.survival import replica_bound
from gemsim.spec.published import Inputs
from gemsim.study.validate.checks import Ours, Rows

MOST_COPIES = 4
LARGEST, LARGEST_QUICK = 20, 12  # machines
UNION = (
    "print has the union bound, which counts a loss of two fatal sets twice; every set counted once, a simulator gets"
)


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """G1 to G4."""
    machines, copies = int(inputs.machines), int(inputs.copies)
    group = {lost: float(survival(machines, copies, lost)) for lost in (1, 2, 3)}
    ring = float(survival(machines, copies, 3, ring=True))
    bounds = [replica_bound(machines, copies, 3, placement=placement) for placement in ("group", "ring")]
    largest = LARGEST_QUICK if quick else LARGEST
    pairs = tuple(comb(4, 2) * float(1 - survival(4, copies, 2, ring=ring)) for ring in (False, True))
    below = f"{UNION} {100 * (1 - ring / group[3]):.1f} %"
    return {
        "G1.two": Ours(group[2]),
        "G1.three": Ours(group[3]),
        "G1.fallen": Ours(1.0 - group[2]),
        "G1.formula": Ours(corollary_holds(largest), note=f"every loss of up to {largest} machines, m <= 4"),
        "G2.one": Ours(group[1]),
        "G3.below": Ours(1.0 - ring / group[3], linear=1.0 - bounds[1] / bounds[0], note=below),
        "G3.ring": Ours(ring, linear=bounds[1], note=f"{UNION} {ring:.4f}"),
        "G3.pairs": Ours(pairs),
        "G4.gap": Ours(gaps(largest) != "above the limit", note=f"every loss of m of up to {largest} machines"),
        "G4.strict": Ours(
            gaps(largest), note="5 machines, 2 copies: 0.7000 - 0.6000 = 1 / C(5, 2); print has < for <="
        ),
    }


def survival(machines: int, copies: int, lost: int, *, ring: bool = False) -> Fraction:
    """Share of the sets of `lost` machines that leave a copy of every shard, by looking at each of them.

    Mixed placement (Algorithm 1), or one `ring` over all machines.
    """
    sizes, good = _judged(machines, copies, ring)
    return Fraction(int(np.count_nonzero(good & (sizes == lost))), comb(machines, lost))


def holders(machines: int, copies: int, *, ring: bool) -> list[int]:
    """For each shard the machines that hold it, as bits. Wang et al. (GEMINI, SOSP 2023), Algorithm 1."""
    plain = 0 if ring else machines // copies - (1 if machines % copies else 0)
    sets = [sum(1 << group * copies + place for place in range(copies)) for group in range(plain)]
    last = list(range(plain * copies, machines))
    around = [[last[(start + step) % len(last)] for step in range(copies)] for start in range(len(last))]
    return sets + [sum(1 << machine for machine in shard) for shard in around]


@cache
def _judged(machines: int, copies: int, ring: bool) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Of every set of machines: how many they are, and whether losing them leaves all shards a copy."""
    sets = np.arange(1 << machines, dtype=np.int32)
    sizes = np.zeros(len(sets), dtype=np.uint8)
    for machine in range(machines):
        sizes += (sets >> machine & 1).astype(np.uint8)
    good = np.ones(len(sets), dtype=np.bool_)
    for shard in holders(machines, copies, ring=ring):
        good &= (sets & shard) != shard
    return sizes, good


def corollary_holds(largest: int) -> bool:
    """Whether Corollary 1 is the exact share for m <= k < 2m and not above it from there on, for all m | N."""
    for copies in range(2, MOST_COPIES + 1):
        for machines in range(copies, largest + 1, copies):
            for lost in range(machines + 1):
                bound = replica_bound(machines, copies, lost)
                exact = float(survival(machines, copies, lost))
                if bound > exact + 1e-12 or (lost < 2 * copies and abs(bound - exact) > 1e-12):
                    return False
    return True


def gaps(largest: int) -> str:
    """How far mixed placement is from Theorem 1's best, beside (2m - 3) / C(N, m), over all that m does not divide."""
    reached = "below the limit"
    for copies in range(2, MOST_COPIES + 1):
        for machines in range(copies + 1, largest + 1):
            ways = comb(machines, copies)
            best = 1 - Fraction(-(-machines // copies), ways)
            gap = best - survival(machines, copies, copies) if machines % copies else Fraction(0)
            if gap > Fraction(2 * copies - 3, ways):
                return "above the limit"
            if machines % copies and gap == Fraction(2 * copies - 3, ways):
                reached = "at the limit in places"
    return reached
