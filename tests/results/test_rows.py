"""Rows: the schema, what is refused, and parts that are whole or absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gemsim.errors import ResultsError
from gemsim.results.ledger import LEDGER
from gemsim.results.rows import ROW_COLUMNS, SCHEMA, RowStore, check_row, other_seeds
from tests.study.fakes import WALL, row_of


def test_every_column_has_a_unit_and_every_ledger_category_a_column() -> None:
    assert set(SCHEMA.names) == {*ROW_COLUMNS, "seed"}
    assert all(field.metadata[b"unit"] for field in SCHEMA)
    assert all(f"{name}_s" in SCHEMA.names for name in LEDGER)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wasted_s": 2e-3}, "ledger"),
        ({"wall_s": 0.0}, "ledger"),
        ({"at_risk_s": float("nan")}, "at_risk_s"),
        ({"failures": -1}, "failures"),
        ({"surprise": 1.0}, "surprise"),
    ],
)
def test_a_row_that_cannot_be_right_is_refused(change: dict[str, Any], said: str) -> None:
    check_row(row_of("a", 0))
    with pytest.raises(ResultsError, match=said):
        check_row(row_of("a", 0) | change)


def test_a_missing_column_is_refused() -> None:
    row = row_of("a", 0)
    del row["steps"]
    with pytest.raises(ResultsError, match="missing \\['steps'\\]"):
        check_row(row)


def test_the_ledger_may_be_off_by_rounding_only() -> None:
    check_row(row_of("a", 0) | {"wasted_s": 0.5e-9 * WALL})
    with pytest.raises(ResultsError):
        check_row(row_of("a", 0) | {"wasted_s": 2e-9 * WALL})


def test_rows_come_back_in_order_each_once_whatever_the_parts(tmp_path: Path) -> None:
    store = RowStore(tmp_path / "rows")
    assert store.read().num_rows == 0
    store.append([row_of("b", 1), row_of("a", 0)], seed=7)
    store.append([row_of("b", 0), row_of("b", 1)], seed=7)
    table = store.read()
    keys = list(zip(table["point"].to_pylist(), table["replication"].to_pylist(), strict=True))
    assert keys == [("a", 0), ("b", 0), ("b", 1)]
    assert other_seeds(table, 7) == []
    assert other_seeds(table, 8) == [7]


def test_numbers_come_back_bit_for_bit(tmp_path: Path) -> None:
    row = row_of("a", 0, wasted_s=0.1 + 0.2, steps=2**53 + 1)
    store = RowStore(tmp_path)
    store.append([row], seed=2**63 - 1)
    (back,) = store.read().to_pylist()
    assert back == row | {"seed": 2**63 - 1}


def test_half_written_parts_are_not_read(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row_of("a", 0)], seed=1)
    (part,) = tmp_path.glob("part-*.parquet")
    (tmp_path / f".{part.name}.tmp").write_bytes(part.read_bytes()[:100])
    assert store.read().num_rows == 1
    store.clean()
    assert [path.name for path in tmp_path.iterdir()] == [part.name]


def test_a_damaged_or_foreign_part_is_named(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ResultsError, match=r"part-0\.parquet: cannot be read"):
        store.read()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "part-0.parquet")
    with pytest.raises(ResultsError, match=r"part-0\.parquet: its columns are those of another version"):
        store.read()
