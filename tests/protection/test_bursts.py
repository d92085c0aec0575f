"""Which bursts of pages a stripe survives: the rule against every start counted out, and against the twin's counts."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import survival
from gemsim.protection.damage import PageHit
from gemsim.protection.layouts import PageStripes, pages_hit
from gemsim.protection.occupancy import decodable_share

MAPPINGS = ("interleaved", "contiguous")
SMALL = [
    PageStripes(pages, k, m, mapping)
    for pages, m, mapping in product(range(1, 13), range(1, 5), MAPPINGS)
    for k in range(1, pages + 1)
]


def owners(stripes: PageStripes) -> list[int]:
    """The stripe of each page in address order, dealt out one by one: data first, then parity."""
    count = -(-stripes.pages // stripes.k)
    if stripes.mapping == "interleaved":
        return [page % count for page in range(stripes.pages + stripes.m * count)]
    data = [number for number in range(count) for _ in range(stripes.k)][: stripes.pages]
    return data + [number for number in range(count) for _ in range(stripes.m)]


def starts_survived(stripes: PageStripes, rows: int) -> list[bool]:
    """For every first page: whether no stripe loses more than m of the run, cut at the end of the coded pages."""
    owner = owners(stripes)
    runs = (owner[start : start + rows] for start in range(len(owner)))
    return [max(Counter(run).values()) <= stripes.m for run in runs]


def test_every_page_belongs_to_the_stripe_it_was_dealt_to() -> None:
    for stripes in SMALL:
        assert [stripes.stripe_of(page) for page in range(stripes.total)] == owners(stripes)
        assert max(Counter(owners(stripes)[: stripes.pages]).values()) <= stripes.k


def test_interleaved_survives_a_burst_iff_it_is_no_longer_than_the_parity() -> None:
    for stripes in (s for s in SMALL if s.mapping == "interleaved"):
        for rows in range(1, stripes.total + 1):
            whole = starts_survived(stripes, rows)[: stripes.total - rows + 1]  # runs that are not cut
            assert set(whole) == {rows <= stripes.m * stripes.stripes}


def test_contiguous_survives_m_wherever_it_starts() -> None:
    for stripes in (s for s in SMALL if s.mapping == "contiguous"):
        assert all(starts_survived(stripes, stripes.m))
        if min(stripes.k, stripes.pages) > stripes.m:
            assert not all(starts_survived(stripes, stripes.m + 1))


def test_the_longest_survivable_burst_is_the_longest_that_survives_every_start() -> None:
    for stripes in SMALL:
        longest = max(rows for rows in range(stripes.total + 1) if all(starts_survived(stripes, rows or 1)) or not rows)
        assert stripes.survivable_burst() == longest, stripes
        assert survival.worst_burst(stripes.pages, stripes.k, stripes.m, mapping=stripes.mapping) == longest


def test_no_parity_survives_nothing() -> None:
    assert PageStripes(10, 5, 0, "interleaved").survivable_burst() == 0
    assert decodable_share(PageStripes(10, 5, 0, "interleaved"), 1, "adjacent_pages") == 0.0


def test_the_share_of_starts_that_survive_is_counted_exactly() -> None:
    for stripes in SMALL:
        for rows in range(1, stripes.total + 2):
            survived = starts_survived(stripes, rows)
            share = sum(survived) / len(survived)
            assert decodable_share(stripes, rows, "adjacent_pages") == pytest.approx(share, abs=1e-12), (stripes, rows)
            assert decodable_share(stripes, rows, "same_page") == 1.0


@given(
    pages=st.integers(1, 400),
    k=st.integers(1, 400),
    m=st.integers(1, 8),
    rows=st.integers(1, 100),
    mapping=st.sampled_from(MAPPINGS),
)
def test_engine_and_twin_count_the_same_starts(pages: int, k: int, m: int, rows: int, mapping: str) -> None:
    k = min(k, pages)
    ours = decodable_share(PageStripes(pages, k, m, mapping), rows, "adjacent_pages")
    theirs = survival.burst_outcome(pages, k, m, rows, mapping=mapping).survive
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_scattered_pages_are_counted_exactly() -> None:
    for stripes in (s for s in SMALL if s.total <= 12 and s.pages > 3):
        owner = owners(stripes)
        for rows in range(1, min(5, stripes.total) + 1):
            good = sum(
                max(Counter(owner[page] for page in lost).values()) <= stripes.m
                for lost in combinations(range(stripes.total), rows)
            )
            share = good / comb(stripes.total, rows)
            assert decodable_share(stripes, rows, "scattered") == pytest.approx(share, abs=1e-12)


@given(
    pages=st.integers(4, 4000),
    k=st.integers(1, 600),
    m=st.integers(1, 8),
    rows=st.integers(1, 63),
    mapping=st.sampled_from(MAPPINGS),
)
def test_engine_and_twin_agree_on_scattered_pages(pages: int, k: int, m: int, rows: int, mapping: str) -> None:
    k = min(k, pages)
    stripes = PageStripes(pages, k, m, mapping)
    groups = survival.page_groups(pages, k, m, mapping=mapping)
    rows = min(rows, stripes.total)
    exact = survival.occupancy(groups, rows, m).survive
    assert decodable_share(stripes, rows, "scattered") == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("pages", "m"), [(1_617_188, 1), (1_617_188, 2), (101_075, 1)])
def test_scattered_pages_of_a_memory_cut_finely(pages: int, m: int) -> None:
    """4 and 64 KiB pages of 6.6 GB: a power of the generating polynomial spans more than a float's range."""
    stripes = PageStripes(pages, 26, m, "interleaved")
    exact = survival.occupancy(survival.page_groups(pages, 26, m, mapping="interleaved"), 63, m).survive
    assert decodable_share(stripes, 63, "scattered") == pytest.approx(exact, rel=1e-7)


@given(place=st.floats(0, 1, exclude_max=True), rows=st.integers(1, 80), stripes=st.sampled_from(SMALL))
def test_a_hit_is_the_pages_from_its_place_on(place: float, rows: int, stripes: PageStripes) -> None:
    def lost(to_pages: str) -> list[int]:
        return pages_hit(PageHit(0, "weights", rows, to_pages, place), stripes)

    adjacent = lost("adjacent_pages")
    assert adjacent == list(range(adjacent[0], min(adjacent[0] + rows, stripes.total)))
    assert lost("same_page") == adjacent[:1]
    scattered = lost("scattered")
    assert len(set(scattered)) == len(scattered) == min(rows, stripes.total)
    assert set(scattered) <= set(range(stripes.total))
    assert lost("scattered") == scattered  # the same hit loses the same pages under every design


@pytest.mark.parametrize(("coded", "per_parity"), [(6.6e9, 50), (1.9e9, 14), (61e9, 460)])
def test_the_largest_observed_burst_needs_as_many_parity_pages(coded: float, per_parity: int) -> None:
    """63 rows were lost together at most (Calchas): interleaved, k <= m pages / 63 survives them."""
    pages = round(coded / 2**21)
    for m in (1, 2, 4):
        widest = m * pages // 63
        assert widest == pytest.approx(m * per_parity, rel=0.04)
        assert PageStripes(pages, widest, m, "interleaved").survivable_burst() >= 63
        too_wide = -(-pages // (-(-63 // m) - 1))
        assert PageStripes(pages, too_wide, m, "interleaved").survivable_burst() < 63
        assert PageStripes(pages, 8, m, "contiguous").survivable_burst() == m
