"""Rows that lie several pages, or a fraction of one, apart: every place counted out against the share that is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.failures.memory import CALCHAS, rows_to_pages
from gemsim.protection import occupancy
from gemsim.protection.damage import PageHit
from gemsim.protection.layouts import PageStripes, offsets, pages_hit
from gemsim.protection.occupancy import decodable_share
from tests.faults import must_reject, replaced

MAPPINGS = ("interleaved", "contiguous")
APART = [Fraction(2), Fraction(3), Fraction(5), Fraction(5, 4), Fraction(3, 2), Fraction(5, 16), Fraction(1, 3)]
SMALL = [
    PageStripes(pages, k, m, mapping)
    for pages, m, mapping in product((1, 2, 5, 8, 11, 12), (1, 2, 3), MAPPINGS)
    for k in (1, 2, 3, 5, 8)
    if k <= pages
]


def counted(stripes: PageStripes, rows: int, apart: Fraction) -> Fraction:
    """Share of places that are decodable: each page as the first, each phase of the first row in it, row by row."""
    good = 0
    for start in range(stripes.total * apart.denominator):
        pages = {(start + row * apart.numerator) // apart.denominator for row in range(rows)}
        lost = Counter(stripes.stripe_of(page) for page in pages if page < stripes.total)
        good += max(lost.values()) <= stripes.m
    return Fraction(good, stripes.total * apart.denominator)


def share_of_places() -> None:
    for stripes, apart in product(SMALL, APART):
        for rows in (1, 2, 3, 4, 6, 9, 14):
            share = decodable_share.__wrapped__(stripes, rows, f"{apart} pages apart")
            assert share == pytest.approx(float(counted(stripes, rows, apart)), abs=1e-12), (stripes, rows, apart)


def test_the_share_of_places_is_counted_exactly() -> None:
    share_of_places()


def test_one_page_apart_is_adjacent() -> None:
    for stripes, rows in product(SMALL, (1, 2, 5, 9)):
        shares = [decodable_share(stripes, rows, name) for name in ("1 pages apart", "adjacent_pages")]
        assert shares[0] == pytest.approx(shares[1], abs=1e-12)


def a_spacing_taken_as_one(spaced: Callable[..., float]) -> Callable[..., float]:
    return lambda stripes, rows, apart: spaced(stripes, rows, Fraction(1))


def a_first_row_that_begins_its_page(spaced: Callable[..., float]) -> Callable[..., float]:
    def faulty(stripes: PageStripes, rows: int, apart: Fraction) -> float:
        return occupancy._sorted(stripes, np.array(offsets(rows, apart, 0)))

    return faulty


@pytest.mark.parametrize("fault", [a_spacing_taken_as_one, a_first_row_that_begins_its_page])
def test_wrong_spacings_are_caught(fault: Callable[[Callable[..., float]], Callable[..., float]]) -> None:
    must_reject(share_of_places, replaced("gemsim.protection.occupancy:_spaced", fault))


@given(
    place=st.floats(0, 1, exclude_max=True),
    rows=st.integers(1, 70),
    stripes=st.sampled_from(SMALL),
    apart=st.sampled_from([one for one in APART if one.denominator in (1, 2, 4, 16)]),
)
def test_a_hit_is_the_rows_from_its_place_on(place: float, rows: int, stripes: PageStripes, apart: Fraction) -> None:
    """In exact arithmetic: row j lies at the place and j times the spacing on."""
    lost = pages_hit(PageHit(0, "weights", rows, f"{apart} pages apart", place), stripes)
    position = Fraction(place * stripes.total)
    if position < stripes.total:
        where = {int(position + row * apart) for row in range(rows)}
        assert lost == sorted(page for page in where if page < stripes.total)
    assert len(set(lost)) == len(lost) >= 1


@pytest.mark.parametrize("page", [2**21, 2**16, 2**12])
def test_a_page_finer_than_the_span_can_put_all_rows_into_few_stripes(page: int) -> None:
    """6.6 GB in stripes of 333 and m = 1, interleaved, rows of the Calchas geometry: S / gcd(S, pages apart) rows
    survive, and not the parity pages. Where S shares a factor with the spacing, a burst of 63 rows is fatal."""
    pages = -(-int(6.6e9) // page)
    spacing = CALCHAS.span // page
    mapping = rows_to_pages(CALCHAS.span, page)
    for k in range(300, 340):
        stripes = PageStripes(pages, k, 1, "interleaved")
        survived = stripes.stripes // gcd(stripes.stripes, spacing)
        fits = -(-stripes.total // spacing)  # rows of one bank in all coded pages
        for rows in {1, min(63, survived, fits), 63}:
            share = decodable_share(stripes, rows, mapping)
            assert (share == 1.0) == (rows <= survived or survived >= fits)
            if share < 1.0:
                assert share == pytest.approx(survived * spacing / stripes.total, rel=1e-12)


@pytest.mark.parametrize(("k", "stripes", "survives"), [(332, 304, False), (333, 303, True), (341, 296, False)])
def test_stripes_whose_number_shares_a_factor_with_the_spacing(k: int, stripes: int, survives: bool) -> None:
    """6.6 GB in pages of 64 KiB, 32 from row to row: of 304 = 16 x 19 stripes a burst meets 19 different ones, so 63
    rows take 4 chunks of one; of 303 it meets all. Taken as adjacent pages each survives."""
    one = PageStripes(-(-int(6.6e9) // 2**16), k, 1, "interleaved")
    assert one.stripes == stripes
    assert (decodable_share(one, 63, "32 pages apart") == 1.0) is survives
    assert decodable_share(one, 63, "adjacent_pages") == 1.0


def test_large_pages_lose_fewer_of_them() -> None:
    """A100 by its row remapper: 16 rows in 5 pages of 2 MiB, so that 63 rows need 21 parity pages, not 63."""
    for parity, survives in ((20, False), (21, True)):
        one = PageStripes(parity * 100, 100, 1, "interleaved")
        assert (decodable_share(one, 63, "5/16 pages apart") == 1.0) == survives
        assert decodable_share(one, 63, "adjacent_pages") < 1.0
