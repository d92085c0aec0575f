"""Which sets of lost hosts leave every shard: all of them, counted one by one, against formulas and by hand."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.analytic.survival import replica_bound, replica_survival, replica_upper_bound
from gemsim.protection.placement import KINDS, Coded, Copies, Placement, placement

Counts = list[int]


def copies(kind: str, hosts: int, count: int, stride: int = 1) -> Copies:
    found = placement(kind, hosts, copies=count, stride=stride)
    assert isinstance(found, Copies)
    return found


def coded(kind: str, hosts: int, size: int, losses: int = 1, stride: int = 1) -> Coded:
    found = placement(kind, hosts, size=size, losses=losses, stride=stride)
    assert isinstance(found, Coded)
    return found


def survived(of: Copies, hosts: int) -> Counts:
    """Number of survived sets of 0, 1, ... lost hosts, over all 2^hosts sets, from who holds which shard."""
    lost = np.arange(2**hosts, dtype=np.uint32)
    alive = np.ones(len(lost), dtype=bool)
    for host in range(hosts):
        holders = np.uint32(sum(1 << holder for holder in set(of.holders(host))))
        alive &= lost & holders != holders
    return [int(n) for n in np.bincount(np.bitwise_count(lost)[alive], minlength=hosts + 1)]


def asked(of: Placement, hosts: int) -> Counts:
    """The same counts by asking for each set of lost hosts."""
    return [sum(of.survives(frozenset(gone)) for gone in combinations(range(hosts), k)) for k in range(hosts + 1)]


def formula(kind: str, hosts: int, count: int) -> Counts:
    name = "mixed" if kind == "group" else kind
    chances = [replica_survival(hosts, count, lost, placement=name).survive for lost in range(hosts + 1)]
    return [round(chance * comb(hosts, lost)) for lost, chance in enumerate(chances)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["mixed", "group", "ring"])
def test_copies_survive_as_often_as_the_formula_says(kind: str, count: int) -> None:
    for hosts in range(count, 21):
        if kind != "group" or hosts % count == 0:
            assert survived(copies(kind, hosts, count), hosts) == formula(kind, hosts, count), hosts


@pytest.mark.parametrize("kind", ["mixed", "ring"])
def test_what_is_asked_is_what_the_holders_say(kind: str) -> None:
    for count in (1, 2, 3, 4):
        for hosts in range(count, 12):
            of = copies(kind, hosts, count)
            assert asked(of, hosts) == survived(of, hosts), (count, hosts)


def test_the_published_probabilities() -> None:
    # GEMINI section 4.2 and figure 9; the ring's 0.6 in print is a union bound, 0.6286 the count
    group, ring = (survived(copies(kind, 16, 2), 16) for kind in ("group", "ring"))
    assert [group[k] / comb(16, k) for k in (2, 3, 4)] == pytest.approx([0.93333, 0.8, 0.61538], abs=1e-5)
    assert [ring[k] / comb(16, k) for k in (2, 3)] == pytest.approx([0.86667, 0.62857], abs=1e-5)
    assert replica_bound(16, 2, 3, placement="ring") == pytest.approx(0.6)
    assert comb(4, 2) - survived(copies("group", 4, 2), 4)[2] == 2
    assert comb(4, 2) - survived(copies("ring", 4, 2), 4)[2] == 4


@pytest.mark.parametrize("count", [2, 3, 4])
def test_mixed_is_within_its_gap_of_the_best(count: int) -> None:
    for hosts in range(count, 19):
        ways = comb(hosts, count)
        gap = replica_upper_bound(hosts, count) - survived(copies("mixed", hosts, count), hosts)[count] / ways
        assert -1e-12 <= gap <= (2 * count - 3) / ways + 1e-12


def test_hosts_left_over_join_the_last_group_as_a_ring() -> None:
    of = copies("mixed", 8, 3)
    assert [of.holders(host) for host in range(8)] == [
        (0, 1, 2), (1, 2, 0), (2, 0, 1),
        (3, 4, 5), (4, 5, 6), (5, 6, 7), (6, 7, 3), (7, 3, 4),
    ]  # fmt: skip


def test_racks_keep_copies_apart_and_each_lane_rings_its_own_rest() -> None:
    # racks of two: hosts 0 1 | 2 3 | 4 5 | 6 7 | 8; the lane of the first hosts has five, the other four
    of = copies("mixed", 9, 2, stride=2)
    assert [of.holders(host) for host in range(9)] == [
        (0, 2), (1, 3), (2, 0), (3, 1), (4, 6), (5, 7), (6, 8), (7, 5), (8, 4),
    ]  # fmt: skip
    for rack in range(5):
        assert of.survives(frozenset({2 * rack, 2 * rack + 1}))


# --- sets with a partner or a code -------------------------------------------------------------------------------


def cut(hosts: int, size: int) -> list[int]:
    """Sizes of the sets, as equal as possible and none below `size`."""
    sets = max(1, hosts // size)
    return [(number + 1) * hosts // sets - number * hosts // sets for number in range(sets)]


def times(one: Counts, other: Counts) -> Counts:
    product = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return product


def by_set(hosts: int, size: int, ways: dict[int, Counts]) -> Counts:
    """Survived losses of the fleet from those of sets of each size, which are independent."""
    total = [1]
    for members in cut(hosts, size):
        total = times(total, ways[members])
    return total + [0] * (hosts + 1 - len(total))


@pytest.mark.parametrize(("kind", "losses"), [("xor", 1), ("rs", 1), ("rs", 2), ("rs", 3)])
def test_a_code_survives_so_many_losses_in_each_set(kind: str, losses: int) -> None:
    for hosts in range(4, 13):
        for size in range(losses + 1, min(hosts, 6) + 1):
            ways = {n: [comb(n, k) if k <= losses else 0 for k in range(n + 1)] for n in range(1, hosts + 1)}
            assert asked(coded(kind, hosts, size, losses), hosts) == by_set(hosts, size, ways), (hosts, size)


def test_partners_survive_unless_two_neighbours_of_a_set_are_lost() -> None:
    for hosts in range(2, 13):
        for size in range(2, min(hosts, 6) + 1):
            ways = {n: [_no_two_neighbours(n, k) for k in range(n + 1)] for n in range(2, hosts + 1)}
            assert asked(copies_in_sets(hosts, size), hosts) == by_set(hosts, size, ways), (hosts, size)


def copies_in_sets(hosts: int, size: int) -> Placement:
    return placement("partner", hosts, size=size)


def _no_two_neighbours(ring: int, lost: int) -> int:
    """Subsets of a ring without neighbours (Kaplansky): n / (n - k) C(n - k, k)."""
    if lost == 0:
        return 1
    return ring * comb(ring - lost, lost) // (ring - lost) if ring > lost else 0


def test_single_survives_nothing() -> None:
    assert asked(placement("single", 6), 6) == [1, 0, 0, 0, 0, 0, 0]


def test_storage_of_the_schemes() -> None:
    # SCR: B, 2 B, B N / (N - 1), B N / (N - k)
    found = [placement(kind, 16, size=8, losses=3).storage(7.0) for kind in ("single", "partner", "xor", "rs")]
    assert found == [7.0, 14.0, 8.0, 11.2]
    assert placement("mixed", 16, copies=3).storage(7.0) == 21.0
    assert placement("xor", 15, size=8).storage(7.0) == 7.5  # one set of fifteen
    assert placement("xor", 31, size=8, stride=2).storage(7.0) == 8.0  # lanes of sixteen and fifteen


def test_racks_apart_a_set_loses_one_host_of_a_rack() -> None:
    of = coded("xor", 16, 4, stride=4)
    for rack in range(4):
        assert of.survives(frozenset(range(4 * rack, 4 * rack + 4)))
    assert not coded("xor", 16, 4).survives(frozenset(range(4)))


@pytest.mark.parametrize(
    ("kind", "hosts", "keys"),
    [
        ("mixed", 3, {"copies": 4}),
        ("mixed", 8, {"copies": 3, "stride": 4}),
        ("group", 7, {"copies": 2}),
        ("group", 9, {"copies": 2, "stride": 2}),
        ("xor", 4, {"size": 5}),
        ("xor", 4, {"size": 1}),
        ("rs", 8, {"size": 2, "losses": 2}),
        ("twice", 8, {}),
        ("ring", 0, {}),
    ],
)
def test_what_cannot_be_is_refused(kind: str, hosts: int, keys: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"more than|even|must|need"):
        placement(kind, hosts, **keys)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(KINDS), st.integers(8, 40), st.integers(1, 3), st.data())
def test_fewer_losses_are_never_worse(kind: str, hosts: int, stride: int, data: st.DataObject) -> None:
    kind = "mixed" if kind == "group" else kind
    of = placement(kind, hosts, copies=2, size=2 if kind != "rs" else 3 if stride > 2 else 4, stride=min(stride, 2))
    gone = data.draw(st.frozensets(st.integers(0, hosts - 1), max_size=6))
    fewer = data.draw(st.frozensets(st.sampled_from(sorted(gone)))) if gone else gone
    assert of.survives(frozenset())
    assert of.survives(fewer) or not of.survives(gone)


def test_both_copies_on_one_host_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copies, "holders", lambda self, host: (host, host))
    with pytest.raises(AssertionError):
        test_copies_survive_as_often_as_the_formula_says("mixed", 2)
    with pytest.raises(AssertionError):
        test_partners_survive_unless_two_neighbours_of_a_set_are_lost()


def test_hosts_left_over_that_ring_with_the_first_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrapped(self: Copies, host: int) -> tuple[int, ...]:
        hosts, base = self.sets.hosts, host // self.copies * self.copies
        if base + self.copies <= hosts:
            return tuple(range(base, base + self.copies))
        return tuple((host + i) % hosts for i in range(self.copies))

    monkeypatch.setattr(Copies, "holders", wrapped)
    with pytest.raises(AssertionError):
        test_copies_survive_as_often_as_the_formula_says("mixed", 3)
