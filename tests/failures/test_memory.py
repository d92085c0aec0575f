"""Memory faults: rows to pages byte by byte, the remap budget by hand, and where repeated errors fall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.failures.memory import (
    CALCHAS,
    SAME_BANK,
    Geometry,
    RemapBook,
    RemapResult,
    action_after,
    pages_apart,
    rows_to_pages,
    strike_rows,
)
from gemsim.protection.layouts import offsets
from gemsim.spec import catalog
from gemsim.spec.failures import mix
from tests import statcheck
from tests.faults import must_reject, replaced

MIB = 2**20
SMALL = [
    Geometry(2, 4, 6, 8),
    Geometry(2, 4, 6, 8, granule=2),
    Geometry(1, 3, 7, 4),
    Geometry(3, 6, 5, 16, granule=4),
    Geometry(2, 10, 4, 4, granule=1),
]
RULE = "gemsim.failures.memory:RemapBook._refusal"


def book() -> RemapBook:
    """A book of GPUs with 4 banks of 1,000 rows."""
    return RemapBook(Geometry(2, 4, 1000, 1024))


@cache
def owners(geometry: Geometry) -> list[tuple[int, int]]:
    """(bank, row) of every byte in address order, dealt out one by one: a granule of each bank in turn."""
    granule = geometry.granule or geometry.row_bytes
    bytes_of_a_bank = [row for row in range(geometry.rows) for _ in range(geometry.row_bytes)]
    left = [list(bytes_of_a_bank) for _ in range(geometry.banks)]
    dealt: list[tuple[int, int]] = []
    while left[0]:
        for bank, rows in enumerate(left):
            dealt += [(bank, row) for row in rows[:granule]]
            del rows[:granule]
    return dealt


@pytest.mark.parametrize("geometry", SMALL)
@pytest.mark.parametrize("page", [2, 4, 8, 12, 16, 32, 48, 64, 160])
def test_rows_lie_in_the_pages_that_their_bytes_lie_in(geometry: Geometry, page: int) -> None:
    where: dict[tuple[int, int], set[int]] = defaultdict(set)
    for address, owner in enumerate(owners(geometry)):
        where[owner].add(address // page)
    for bank in range(geometry.banks):
        for first in range(geometry.rows):
            for count in range(1, geometry.rows - first + 1):
                rows = range(first, first + count)
                assert geometry.pages(bank, rows, page) == sorted(set().union(*(where[bank, row] for row in rows)))


@pytest.mark.parametrize("geometry", [g for g in SMALL if not g.granule])
@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_the_mapping_of_a_class_gives_the_pages_of_the_geometry(geometry: Geometry, pieces: int) -> None:
    """Whole rows, pages of whole rows: the offsets from the first page follow from span / page and the phase."""
    page = pieces * geometry.row_bytes
    apart = pages_apart(rows_to_pages(geometry.span, page))
    assert apart == Fraction(geometry.span, page)
    for bank in range(geometry.banks):
        for first in range(geometry.rows):
            for count in range(1, geometry.rows - first + 1):
                hit = geometry.pages(bank, range(first, first + count), page)
                start = first * geometry.span + bank * geometry.row_bytes
                phase = start % page * apart.denominator // page
                assert [one - hit[0] for one in hit] == list(offsets(count, apart, phase))


def test_adjacent_rows_are_adjacent_pages_where_the_geometry_is_known() -> None:
    """Calchas: 2,048 banks of 1 KiB rows are 2 MiB, the default page; a row is one page, the next row the next."""
    assert CALCHAS.span == 2 * MIB
    assert CALCHAS.span * CALCHAS.rows == 32 * 2**30
    assert rows_to_pages(CALCHAS.span, 2 * MIB) == "adjacent_pages"
    assert CALCHAS.pages(77, range(100, 163), 2 * MIB) == list(range(100, 163))
    assert rows_to_pages(CALCHAS.span, 64 * 1024) == "32 pages apart"
    assert rows_to_pages(CALCHAS.span, 4096) == "512 pages apart"
    assert [pages_apart(name) for name in ("adjacent_pages", "same_page", "scattered")] == [1, None, None]


@pytest.mark.parametrize(
    ("gpu", "apart", "pages"),
    [
        ("h100-80gb", "5/4", {63}),
        ("h200-141gb", "3/2", {63}),
        ("a100-80gb", "5/16", {20, 21}),
        ("a100-40gb", "5/16", {20, 21}),
    ],
)
def test_the_largest_burst_in_pages_of_each_gpu_type(gpu: str, apart: str, pages: set[int]) -> None:
    """By the banks that the row remapper counts, with rows of 1 KiB (assumption): 63 rows hit so many 2 MiB pages."""
    geometry = catalog.gpu(gpu).geometry
    assert rows_to_pages(geometry.span, 2 * MIB) == f"{apart} pages apart"
    assert geometry.rows * geometry.span == catalog.gpu(gpu).memory
    starts = product(range(0, geometry.banks, 97), range(7))
    assert {len(geometry.pages(bank, range(row, row + 63), 2 * MIB)) for bank, row in starts} == pages


def test_every_bank_lies_in_one_stack_and_every_stack_has_as_many() -> None:
    for geometry in (CALCHAS, *(catalog.gpu(name).geometry for name in catalog.gpu_names())):
        counts = np.bincount([geometry.stack_of(bank) for bank in range(geometry.banks)])
        assert set(counts.tolist()) == {geometry.banks // geometry.stacks}
        assert len(counts) == geometry.stacks


def test_a_ninth_remap_in_a_bank_fails() -> None:
    remapper = book()
    for row in range(8):
        assert remapper.hit(7, 2, [100 * row]) == RemapResult(2, 1, 0)
        assert remapper.serve(7) is False
    assert remapper.hit(7, 2, [999]) == RemapResult(2, 0, 1, "bank")
    assert remapper.failed(7)
    assert remapper.hit(7, 3, [999]) == RemapResult(3, 1, 0)
    assert remapper.serve(7) is True
    assert not remapper.failed(8)


def test_a_burst_fills_the_bank_and_the_rest_has_no_spare() -> None:
    remapper = book()
    assert remapper.hit(1, 0, range(63)) == RemapResult(0, 8, 55, "bank")
    assert remapper.pending(1) == 8
    assert book().hit(1, 0, range(8)) == RemapResult(0, 8, 0)


def test_a_row_that_waits_is_not_recorded_twice_and_one_remapped_before_fails() -> None:
    remapper = book()
    assert remapper.hit(0, 1, [5, 6]) == RemapResult(1, 2, 0)
    assert remapper.hit(0, 1, [6, 7]) == RemapResult(1, 1, 0)
    assert remapper.pending(0) == 3
    assert remapper.serve(0) is False
    assert remapper.pending(0) == 0
    assert remapper.hit(0, 1, [6, 8]) == RemapResult(1, 1, 1, "row")
    assert remapper.hit(0, 2, [6]) == RemapResult(2, 1, 0)  # the same row of another bank is another row
    assert remapper.serve(0) is True


def test_the_gpu_has_room_for_512() -> None:
    remapper = RemapBook(Geometry(1, 100, 1000, 1024))
    for bank in range(64):
        assert remapper.hit(0, bank, range(8)).recorded == 8
    assert remapper.hit(0, 64, [0]) == RemapResult(64, 0, 1, "gpu")


def test_another_device_begins_with_an_empty_remapper() -> None:
    remapper = book()
    remapper.hit(0, 1, range(9))
    remapper.replaced(0)
    assert (remapper.failed(0), remapper.pending(0), remapper.serve(0)) == (False, 0, False)
    assert remapper.hit(0, 1, range(8)) == RemapResult(1, 8, 0)
    remapper.replaced(5)  # never hit


def test_a_restart_serves_all_that_wait() -> None:
    remapper = book()
    remapper.hit(5, 0, [1])
    remapper.hit(2, 0, range(9))
    remapper.hit(9, 3, [7])
    remapper.replaced(9)
    assert list(remapper.waiting) == [5, 2]
    assert remapper.serve_all() == [2]
    assert (list(remapper.waiting), remapper.pending(5)) == ([], 0)
    assert remapper.serve_all() == []
    assert remapper.hit(5, 0, [1]).rule == "row"
    assert remapper.serve_all() == [5]


ROWS = st.lists(st.integers(0, 30), min_size=1, max_size=12)
HITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), ROWS, st.booleans()), max_size=40)


def told(hits: list[tuple[int, int, list[int], bool]]) -> list[tuple[int, int]]:
    """(recorded, refused) by the rules told anew, row by row over a list of all that was ever recorded."""
    recorded: list[tuple[int, int, int]] = []
    served: set[tuple[int, int, int]] = set()
    found = []
    for gpu, bank, rows, reset in hits:
        kept = lost = 0
        for row in rows:
            if (gpu, bank, row) in recorded and (gpu, bank, row) not in served:
                continue
            full = sum(one[:2] == (gpu, bank) for one in recorded) >= 8 or sum(one[0] == gpu for one in recorded) >= 512
            if full or (gpu, bank, row) in served:
                lost += 1
            else:
                recorded.append((gpu, bank, row))
                kept += 1
        found.append((kept, lost))
        if reset:
            served |= {one for one in recorded if one[0] == gpu}
    return found


@given(hits=HITS)
def test_the_book_keeps_the_rules_as_told(hits: list[tuple[int, int, list[int], bool]]) -> None:
    remapper, found = book(), []
    for gpu, bank, rows, reset in hits:
        result = remapper.hit(gpu, bank, rows)
        assert bool(result.refused) == bool(result.rule)
        found.append((result.recorded, result.refused))
        if reset:
            assert remapper.serve(gpu) == remapper.failed(gpu)
    assert found == told(hits)


@given(bank=st.floats(0, 1, exclude_max=True), row=st.floats(0, 1, exclude_max=True), rows=st.integers(1, 1200))
def test_an_error_lies_within_its_bank(bank: float, row: float, rows: int) -> None:
    place, hit = book().place(0, rows, bank=bank, row=row)
    assert 0 <= place < 4
    assert 0 <= hit.start < hit.stop <= 1000
    assert len(hit) == min(rows, 1000)


def test_marks_of_an_error_are_asked_for_by_name() -> None:
    asked: list[str] = []

    def mark(name: str) -> float:
        asked.append(name)
        return {"bank": 0.6, "row": 0.5}[name]

    remapper = book()
    assert strike_rows(remapper, 3, 2, mark) == RemapResult(2, 2, 0)
    assert asked == ["bank", "row"]
    assert strike_rows(remapper, 3, 2, mark) == RemapResult(2, 0, 0)  # below SAME_BANK: the same bank, the same rows
    assert abs(SAME_BANK - 0.81) < 0.001


def again_in_the_same_bank() -> None:
    """The second error of a GPU meets the bank of its first with SAME_BANK, else any of the 4 banks."""
    rng, count, same = np.random.default_rng(5), 40_000, 0
    for gpu in range(count):
        remapper = book()
        first, second = (strike_rows(remapper, gpu, 1, lambda name: float(rng.random())).bank for _ in range(2))
        same += first == second
    statcheck.binomial_count(same, count, SAME_BANK + (1 - SAME_BANK) / 4, detect=0.02)


def test_repeated_errors_meet_the_bank_again() -> None:
    again_in_the_same_bank()


def every_error_anywhere() -> AbstractContextManager[None]:
    def make(place: Callable[..., tuple[int, range]]) -> Callable[..., tuple[int, range]]:
        return lambda self, gpu, rows, **marks: place(self, gpu + 10**9, rows, **marks)

    return replaced("gemsim.failures.memory:RemapBook.place", make)


def test_errors_that_forget_their_bank_are_caught() -> None:
    must_reject(again_in_the_same_bank, every_error_anywhere())


def budget(
    *, spares: int = 8, waiting_count: bool = True, repeats: bool = False, total: int = 512
) -> Callable[..., str]:
    """The rules of a budget, told with the faults that are to be planted."""

    def refusal(self: RemapBook, known: Any, row: int, active: set[int], waiting: set[int]) -> str:
        if row in active and not repeats:
            return "row"
        if len(active) + waiting_count * len(waiting) >= spares:
            return "bank"
        return "gpu" if known.total >= total else ""

    return refusal


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (budget(spares=10**6), test_a_ninth_remap_in_a_bank_fails),
        (budget(spares=9), test_a_ninth_remap_in_a_bank_fails),
        (budget(waiting_count=False), test_a_burst_fills_the_bank_and_the_rest_has_no_spare),
        (budget(repeats=True), test_a_row_that_waits_is_not_recorded_twice_and_one_remapped_before_fails),
        (budget(total=10**6), test_the_gpu_has_room_for_512),
    ],
    ids=["without_end", "nine_in_a_bank", "only_rows_in_use_count", "a_row_again", "no_limit_of_the_gpu"],
)
def test_a_wrong_budget_is_caught(fault: Callable[..., str], check: Callable[[], None]) -> None:
    must_reject(check, replaced(RULE, lambda _: fault))


def test_what_a_failed_remap_asks_for() -> None:
    """Contained, the GPU stays until its next reset; where it is reset anyway it goes; no failure changes nothing."""
    failed, held = RemapResult(0, 8, 1, "bank"), RemapResult(0, 1, 0)
    assert action_after("drain_and_reset", refused=bool(failed.refused)) == "drain_and_reset"
    assert [action_after(action, refused=bool(failed.refused)) for action in ("reset", "reboot")] == ["replace"] * 2
    for action in ("restart_app", "drain_and_reset", "reset", "replace"):
        assert action_after(action, refused=bool(held.refused)) == action


def refused_among_delta_errors() -> None:
    """Errors of GPUs without earlier ones: a remap fails iff the burst has more rows than a bank has spares."""
    (one,) = mix("delta-h100-memory").classes
    sizes, shares = zip(*one.rows, strict=True)
    rng, count = np.random.default_rng(11), 60_000
    drawn = rng.choice(sizes, size=count, p=shares)
    remapper = RemapBook(catalog.gpu("h100-80gb").geometry)
    refused = sum(
        strike_rows(remapper, gpu, int(rows), lambda name: float(rng.random())).refused > 0
        for gpu, rows in enumerate(drawn)
    )
    statcheck.binomial_count(refused, count, 0.014 + 0.007, detect=0.01)


def test_how_often_a_new_gpu_is_spent_by_one_error() -> None:
    refused_among_delta_errors()


def test_a_budget_of_sixty_four_is_caught() -> None:
    must_reject(refused_among_delta_errors, replaced(RULE, lambda _: budget(spares=64)))


def test_gpus_that_were_never_hit_take_no_memory() -> None:
    remapper = RemapBook(CALCHAS)
    rng = np.random.default_rng(1)
    marks = rng.random((2000, 2)).tolist()
    for gpu, (bank, row) in enumerate(marks):
        strike_rows(remapper, gpu % 50, 1, partial(lambda at, name: at[name], {"bank": bank, "row": row}))
    assert len(remapper._gpus) == 50
