"""What codes survive: the numbers of the cases, by the models by name and by losing every pattern of shards."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from gemsim.analytic.named import NAMED
from gemsim.analytic.survival import nines
from gemsim.protection.placement import placement
from gemsim_kernels import Code, TooManyLost


def shards_of(code: Code) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    data = [random.integers(0, 256, 8, dtype=np.uint8) for _ in range(code.k)]
    return [*data, *code.encode(data)]


def rebuilt(code: Code, shards: list[np.ndarray], lost: tuple[int, ...]) -> bool:
    """Whether the right bytes come back after these shards are lost."""
    left = [None if index in lost else shard for index, shard in enumerate(shards)]
    try:
        found = code.decode(left, lost)
    except TooManyLost:
        return False
    return all(np.array_equal(one, shards[index]) for one, index in zip(found, lost, strict=True))


def test_case_4_is_ten_plus_four_eight_nines() -> None:
    """systemoverflow.com: 2,002 x 1e-10 = 2.0e-7, exactly 1.857e-7: 6.7 nines, of the period that the 1 % covers."""
    lost = NAMED["stripe_loss"].of(k=10, m=4, loss=0.01)
    assert lost == pytest.approx(1.857e-7, rel=5e-4)
    assert nines(lost) == pytest.approx(6.7, abs=0.05)
    assert comb(14, 5) * 0.01**5 == pytest.approx(2.0e-7, rel=0.01)
    assert "period" in NAMED["stripe_loss"].valid + NAMED["stripe_loss"].leaves_out


def test_case_5_is_the_number_of_parity_shards_always_the_number_that_can_be_missing() -> None:
    """klauspost/reedsolomon/issues/299: 10 + 5. All 3,003 patterns of five lost can be rebuilt, whatever the mixture of
    data and parity (8 + 2 lost of each, 10 + 0, 5 + 5 left); none of six."""
    code = Code(10, 5, backend="numpy")
    shards = shards_of(code)
    patterns = list(combinations(range(15), 5))
    assert len(patterns) == 3003
    assert sum(rebuilt(code, shards, lost) for lost in patterns) == 3003
    assert not any(rebuilt(code, shards, lost) for lost in list(combinations(range(15), 6))[::101])
    assert NAMED["lost_at_once"].of(k=10, m=5, members=15, lost=5) == 0.0
    assert NAMED["lost_at_once"].of(k=10, m=5, members=15, lost=6) == 1.0


@pytest.mark.parametrize(("k", "m"), [(3, 1), (4, 2), (4, 4), (6, 3)])
def test_case_12_does_recovery_work_for_every_loss_pattern(k: int, m: int) -> None:
    """leobago/fti/issues/76: every pattern of up to m losses in a group, of data, parity or both, is rebuilt; the model
    of the placement says the same, and that one more is too many."""
    code, group = Code(k, m, backend="numpy"), placement("rs", k + m, size=k + m, losses=m)
    shards = shards_of(code)
    for count in range(k + m + 1):
        for lost in combinations(range(k + m), count):
            can = count <= m
            assert group.survives(frozenset(lost)) == can
            assert not count or rebuilt(code, shards, lost) == can


def test_case_12_partner_copies_fail_for_the_pair_alone() -> None:
    """Of all pairs of 8 hosts, those are fatal that hold each other's copy: sets of two."""
    partner = placement("partner", 8, size=2)
    fatal = [set(pair) for pair in combinations(range(8), 2) if not partner.survives(frozenset(pair))]
    assert fatal == [{0, 1}, {2, 3}, {4, 5}, {6, 7}]
    assert all(partner.survives(frozenset({host})) for host in range(8))
