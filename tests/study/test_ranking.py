"""All designs of one job in order, whatever group they stand in, paired with the first."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from gemsim.results.rows import RowStore
from gemsim.results.summary import Point, Summary, summarise
from gemsim.study.advice import Group
from gemsim.study.ranking import rankings
from tests.study.fakes import row_of

LOST = {"a": (0.10, 0.30), "b": (0.12, 0.32), "c": (0.05, 0.35), "d": (0.50, 0.50)}  # shares, two replications each
VARIANTS = {
    "a": ("moe: gem", "in_place"),
    "b": ("moe: gemini", "all"),
    "c": ("moe: late", "all"),
    "d": ("dlrm: x", "all"),
}


def summed(folder: Path, variants: dict[str, tuple[str, str]]) -> tuple[list[Group], Summary]:
    """A summary of the designs above, and its groups by restart mode."""
    points, rows = [], []
    for index, (id_, (variant, mode)) in enumerate(variants.items()):
        points.append(Point(index, {}, variant, (("restart", mode),), id_))
        rows += [row_of(id_, n, wasted_s=share * 1e6, failures=3) for n, share in enumerate(LOST[id_])]
    store = RowStore(folder)
    store.append(rows, seed=1)
    found = summarise(points, store.read(), replications=2, require={}, failed={})
    groups = []
    for key, choice in found.choices.items():
        groups.append(Group(key, [p for p in points if p.group == key], found.rows, choice, {}, {}, {}))
    return groups, found


def test_paired_with_the_first_across_restart_modes(tmp_path: Path) -> None:
    """gem and late have one mean, gemini is 0.02 behind gem in each replication; dlrm lies in one group alone."""
    (block,) = rankings(*summed(tmp_path, VARIANTS))
    assert block.title.startswith("All of moe")
    console = Console(width=100, record=True)
    assert block.table is not None
    with console.capture() as shown:
        console.print(block.table)
    lines = [line.split() for line in shown.get().splitlines() if line.split()][2:]
    assert [line[0] for line in lines] == ["gem", "late", "gemini"]
    assert lines[0] == ["gem", "in_place", "0.8000", "none"]
    assert lines[2][-4:] == ["2.00", "2.00", "to", "2.00"]  # the same in both replications, so no spread
    assert float(lines[1][4]) == 0.0
    assert lines[1][-3:] != ["0.00", "to", "0.00"]  # apart in each, by chance alike on average


def test_no_order_where_a_variant_names_no_job(tmp_path: Path) -> None:
    assert not list(rankings(*summed(tmp_path, VARIANTS | {"d": ("plain", "all")})))
