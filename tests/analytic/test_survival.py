"""Losses at once: against fractions, every subset of small systems, and the table of the reference."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import survival


def exact_binomial_tail(trials: int, probability: Fraction, more_than: int) -> Fraction:
    return sum(
        (
            math.comb(trials, i) * probability**i * (1 - probability) ** (trials - i)
            for i in range(more_than + 1, trials + 1)
        ),
        Fraction(0),
    )


@given(trials=st.integers(0, 60), parts=st.integers(0, 1000), more_than=st.integers(-1, 61), denominator=st.just(1000))
def test_binomial_tail_is_exact(trials: int, parts: int, more_than: int, denominator: int) -> None:
    probability = parts / denominator
    exact = exact_binomial_tail(trials, Fraction(probability), more_than)
    assert survival.binomial_tail(trials, probability, more_than) == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    ("trials", "probability", "more_than"),
    [(65_539, 1e-4, 4), (65_539, 0.5, 0), (65_539, 0.5, 32_900), (2_000, 0.3, 599)],
)
def test_binomial_tail_of_wide_stripes(trials: int, probability: float, more_than: int) -> None:
    from scipy.stats import binom

    assert survival.binomial_tail(trials, probability, more_than) == pytest.approx(
        binom.sf(more_than, trials, probability), rel=1e-9
    )


def test_ten_plus_four_is_not_eight_nines() -> None:
    """Case 4: 10 + 4 at 1 % each."""
    loss = survival.stripe_loss(10, 4, 0.01)
    assert loss == pytest.approx(1.857e-7, rel=5e-4)
    assert survival.nines(loss) == pytest.approx(6.7, abs=0.05)
    assert survival.nines(0.0) == math.inf


def test_parity_count_is_the_number_of_losses() -> None:
    """Case 5: 10 + 5 survives every pattern of 5 missing, none of 6."""
    assert survival.occupancy(((15, 1),), 5, 5) == (1.0, 0.0)
    assert survival.occupancy(((15, 1),), 6, 5) == (0.0, 1.0)


@given(population=st.integers(1, 12), data=st.data())
def test_hypergeometric_tail_counts_subsets(population: int, data: st.DataObject) -> None:
    marked = data.draw(st.integers(0, population))
    drawn = data.draw(st.integers(0, population))
    more_than = data.draw(st.integers(-1, population))
    sets = list(combinations(range(population), drawn))
    hits = sum(sum(item < marked for item in chosen) > more_than for chosen in sets)
    assert survival.hypergeometric_tail(population, marked, drawn, more_than) == pytest.approx(hits / len(sets))


groups = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3).filter(
    lambda g: sum(size * count for size, count in g) <= 12
)


@given(chosen=groups, data=st.data())
def test_occupancy_counts_subsets(chosen: list[tuple[int, int]], data: st.DataObject) -> None:
    owner = [g for g, size in enumerate(s for s, count in chosen for _ in range(count)) for _ in range(size)]
    lost = data.draw(st.integers(0, len(owner)))
    tolerate = data.draw(st.integers(0, 4))
    sets = list(combinations(owner, lost))
    good = sum(max(Counter(hit).values(), default=0) <= tolerate for hit in sets)
    found = survival.occupancy(tuple(chosen), lost, tolerate)
    assert found == (good / len(sets), (len(sets) - good) / len(sets))


def test_occupancy_of_many_stripes_keeps_its_digits() -> None:
    """One stripe of two pages among thousands: the chance that both are among r pages is r (r - 1) / N (N - 1)."""
    pages, r = 10_001, 64
    found = survival.occupancy(((2, 1), (1, pages - 2)), r, 1)
    assert found.lose == pytest.approx(r * (r - 1) / (pages * (pages - 1)), rel=1e-14)
    pairs = survival.occupancy(((2, 4096),), r, 1)
    product = math.prod((8192 - 2 * i) / (8192 - i) for i in range(r))
    assert pairs.survive == pytest.approx(product, rel=1e-13)


@pytest.mark.parametrize(("r", "pairs"), [(2, 0.0087), (8, 0.24), (32, 4.3), (64, 17.6)])
def test_expected_pairs_of_the_reference(r: int, pairs: float) -> None:
    """gpu_failures.md 1.4: expected lost pairs in one stripe of 334 on 80 GB in 2 MiB pages; at m = 1 a bound."""
    pages = round(80e9 / 2**21)
    count = pages // 334
    expected = math.comb(r, 2) * 333 / (count * 334 - 1)
    assert expected == pytest.approx(pairs, rel=0.025)
    lose = survival.occupancy(((334, count),), r, 1).lose
    assert lose <= expected
    assert lose == pytest.approx(-math.expm1(-expected), rel=0.1)


@pytest.mark.parametrize(
    ("machines", "copies", "lost", "bound", "exact"),
    [
        (16, 2, 2, 0.9333, 0.9333),
        (16, 2, 3, 0.8000, 0.8000),
        (16, 2, 4, 0.6000, 0.6154),
        (32, 2, 2, 0.9677, 0.9677),
        (64, 2, 2, 0.9841, 0.9841),
        (128, 2, 2, 0.9921, 0.9921),
        (32, 2, 3, 0.9032, 0.9032),
        (64, 2, 3, 0.9524, 0.9524),
        (128, 2, 3, 0.9764, 0.9764),
        (16, 2, 1, 1.0, 1.0),
    ],
)
def test_group_placement(machines: int, copies: int, lost: int, bound: float, exact: float) -> None:
    assert survival.replica_bound(machines, copies, lost) == pytest.approx(bound, abs=5e-5)
    assert survival.replica_survival(machines, copies, lost).survive == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize(("lost", "union", "exact"), [(2, 0.8667, 0.8667), (3, 0.6000, 0.6286)])
def test_ring_placement(lost: int, union: float, exact: float) -> None:
    assert survival.replica_bound(16, 2, lost, placement="ring") == pytest.approx(union, abs=5e-5)
    assert survival.replica_survival(16, 2, lost, placement="ring").survive == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize(
    ("machines", "copies", "exact"), [(5, 2, 0.6), (17, 2, 0.92647), (17, 3, 0.98676), (18, 4, 0.99706)]
)
def test_mixed_placement(machines: int, copies: int, exact: float) -> None:
    found = survival.replica_survival(machines, copies, copies).survive
    assert found == pytest.approx(exact, abs=5e-6)
    gap = survival.replica_upper_bound(machines, copies) - found
    assert 0 <= gap <= (2 * copies - 3) / math.comb(machines, copies) + 1e-15


def holders(machines: int, copies: int, placement: str) -> list[set[int]]:
    """Machines that hold each shard, by GEMINI's Algorithm 1 written out, or a ring."""
    if placement == "ring":
        return [{(i + j) % machines for j in range(copies)} for i in range(machines)]
    full = machines // copies - (1 if machines % copies else 0)
    sets = [set(range(g * copies, (g + 1) * copies)) for g in range(full) for _ in range(copies)]
    rest = range(full * copies, machines)
    return sets + [{rest[(i + j) % len(rest)] for j in range(copies)} for i in range(len(rest))]


@pytest.mark.parametrize("placement", ["mixed", "ring"])
@pytest.mark.parametrize(
    ("machines", "copies"), [(1, 1), (4, 1), (4, 2), (5, 2), (6, 3), (7, 3), (8, 3), (9, 4), (11, 4), (5, 5)]
)
def test_replicas_by_every_subset(machines: int, copies: int, placement: str) -> None:
    held = holders(machines, copies, placement)
    for lost in range(machines + 1):
        sets = list(combinations(range(machines), lost))
        good = sum(all(shard - set(dead) for shard in held) for dead in sets)
        found = survival.replica_survival(machines, copies, lost, placement=placement)
        assert found == (good / len(sets), (len(sets) - good) / len(sets))
        if placement == "ring" or machines % copies == 0:
            bound = survival.replica_bound(machines, copies, lost, placement="ring" if placement == "ring" else "group")
            assert bound <= found.survive
            if placement == "mixed" and lost < 2 * copies:
                assert bound == found.survive


def stripe_of(page: int, pages: int, k: int, m: int, mapping: str) -> int:
    stripes = -(-pages // k)
    if mapping == "interleaved":
        return page % stripes
    return page // k if page < pages else (page - pages) // m


@pytest.mark.parametrize("mapping", ["interleaved", "contiguous"])
@pytest.mark.parametrize("m", [0, 1, 2, 3, 5])
@pytest.mark.parametrize(("pages", "k"), [(1, 1), (7, 1), (7, 2), (12, 4), (13, 4), (20, 7), (9, 20), (30, 29)])
def test_bursts_by_every_start(pages: int, k: int, m: int, mapping: str) -> None:
    total = pages + m * -(-pages // k)
    owner = [stripe_of(page, pages, k, m, mapping) for page in range(total)]
    sizes = Counter(owner)
    assert Counter(sizes.values()) == Counter(dict(survival.page_groups(pages, k, m, mapping=mapping)))
    longest = total
    for rows in range(total + 2):
        fatal = [max(Counter(owner[a : a + rows]).values(), default=0) > m for a in range(total)]
        found = survival.burst_outcome(pages, k, m, rows, mapping=mapping)
        assert found == ((total - sum(fatal)) / total, sum(fatal) / total)
        if any(fatal):
            longest = min(longest, rows - 1)
    assert survival.worst_burst(pages, k, m, mapping=mapping) == longest


def test_interleaved_bursts_of_the_reference() -> None:
    """model.md section 3: bursts of 63 pages need k <= m pages / 63; 50 m at 6.6 GB, 14 m at 1.9 GB, 460 m at 61 GB."""
    for state, k in ((6.6e9, 50), (1.9e9, 14), (61e9, 460)):
        pages = math.ceil(state / 2**21)
        for m in (1, 2):
            assert survival.worst_burst(pages, k * m, m, mapping="interleaved") >= 63
            assert survival.worst_burst(pages, int(1.1 * k) * m, m, mapping="interleaved") < 63
            assert survival.worst_burst(pages, k * m, m, mapping="contiguous") == m


def test_refusals() -> None:
    with pytest.raises(ValueError, match="probability"):
        survival.binomial_tail(3, 1.5, 1)
    with pytest.raises(ValueError, match="lose"):
        survival.occupancy(((2, 2),), 5, 1)
    with pytest.raises(ValueError, match="copies to divide"):
        survival.replica_bound(5, 2, 2)
    with pytest.raises(ValueError, match="copies <= machines"):
        survival.replica_survival(3, 4, 1)
    with pytest.raises(ValueError, match="mapping"):
        survival.page_groups(10, 2, 1, mapping="other")
    with pytest.raises(ValueError, match="placement"):
        survival.replica_survival(4, 2, 1, placement="other")
    with pytest.raises(ValueError, match="at least one group"):
        survival.equal_groups(4, 0)
