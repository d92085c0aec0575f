"""Rows: the schema, what is refused, and parts that are whole or absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gemsim.errors import ResultsError
from gemsim.results import rows
from gemsim.results.ledger import LEDGER
from gemsim.results.rows import ROW_COLUMNS, SCHEMA, RowStore, check_row, keys_of, other_seeds
from tests.results.full import STEPS, break_at
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


def test_no_stream_of_python_is_left_to_threads_that_outlive_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RowStore(tmp_path / "a: b é")
    store.append([row_of("a", 0)], seed=1)
    store.append([row_of("a", 1)], seed=1)

    def refuse(*given: Any, **named: Any) -> None:
        raise AssertionError("opened by Python")

    for module in ("builtins", "io"):
        monkeypatch.setattr(f"{module}.open", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    assert store.keys() == {("a", 0), ("a", 1)}
    assert store.read().num_rows == 2


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


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"wall_s": 0.0, "productive_s": 0.0}, "a ledger does not sum"),
        ({"wasted_s": 1.0}, "a ledger does not sum"),
        ({"failures": -1}, "failures is negative or no number"),
        ({"at_risk_s": float("nan")}, "at_risk_s is negative or no number"),
        ({"gpu_s_reserved": 1.0}, "GPU-seconds do not sum"),
    ],
)
def test_a_part_with_numbers_that_no_run_wrote_is_named(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    store = RowStore(tmp_path)
    store.append([row_of("a", 0), row_of("a", 1)], seed=1)
    (path,) = parts(tmp_path)
    table = pq.read_table(path).to_pylist()
    pq.write_table(pa.Table.from_pylist([table[0], {**table[1], **changed}], schema=SCHEMA), path)
    with pytest.raises(ResultsError, match=rf"{path.name}: holds what no run wrote \({said}.*remove this file"):
        store.read()
    assert store.keys() == {("a", 0), ("a", 1)}


def many(count: int) -> list[list[dict[str, Any]]]:
    return [[row_of(f"p{i % 7}", i // 7)] for i in range(count)]


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*"))


def test_parts_stay_few_however_often_rows_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LOOSE", 10)
    store = RowStore(tmp_path)
    for added in many(95):
        store.append(added, seed=1)
        assert len(parts(tmp_path)) <= 9 + 9
    assert store.read().num_rows == 95
    store.compact()
    assert len(parts(tmp_path)) == 1
    assert keys_of(store.read()) == sorted(store.keys())
    before = parts(tmp_path)[0].stat()
    RowStore(tmp_path).compact()
    assert parts(tmp_path)[0].stat() == before  # nothing to unite, nothing written


def test_a_large_part_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LARGE", 3)
    store = RowStore(tmp_path)
    store.append([row_of("a", i) for i in range(3)], seed=1)
    (large,) = parts(tmp_path)
    for added in many(2):
        store.append(added, seed=1)
    store.compact()
    assert large in parts(tmp_path)
    assert len(parts(tmp_path)) == 2


@pytest.mark.parametrize("step", STEPS)
def test_uniting_parts_on_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    store = RowStore(tmp_path)
    for added in many(5):
        store.append(added, seed=1)
    whole = store.read()
    break_at(monkeypatch, step)
    with pytest.raises(ResultsError, match="No space left on device"):
        store.compact()
    monkeypatch.undo()
    assert store.read().equals(whole)
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_kill_between_uniting_and_removing_leaves_rows_twice_and_reads_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RowStore(tmp_path)
    for added in many(5):
        store.append(added, seed=1)
    whole = store.read()
    monkeypatch.setattr(Path, "unlink", lambda self, **named: None)
    store.compact()
    monkeypatch.undo()
    assert len(parts(tmp_path)) == 6
    assert store.read().equals(whole)
    store.compact()
    assert len(parts(tmp_path)) == 1
    assert store.read().equals(whole)


def test_two_rows_of_one_replication_that_differ_are_an_error_that_names_both_parts(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row_of("a", 0), row_of("a", 1)], seed=1)
    store.append([row_of("a", 0), row_of("b", 1)], seed=1)
    assert store.read().num_rows == 3
    store.append([row_of("a", 1, failures=1)], seed=1)
    with pytest.raises(ResultsError) as raised:
        store.read()
    said = str(raised.value)
    assert "two rows of replication 1 of point a differ (in failures)" in said
    named = [path for path in parts(tmp_path) if str(path) in said]
    assert [table["failures"].to_pylist()[-1] for table in map(pq.read_table, named)] in ([0, 1], [1, 0])
    with pytest.raises(ResultsError, match="differ"):
        store.compact()
    assert len(parts(tmp_path)) == 3


def test_a_reader_sees_every_row_while_the_writer_unites_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, reader = RowStore(tmp_path), RowStore(tmp_path)
    for added in many(5):
        store.append(added, seed=1)
    usual = RowStore._read_part

    def late(self: RowStore, path: Path, columns: list[str] | None = None) -> pa.Table:
        if self is reader and len(parts(tmp_path)) > 1:
            store.compact()
        return usual(self, path, columns)

    monkeypatch.setattr(RowStore, "_read_part", late)
    assert reader.read().num_rows == 5
    assert len(reader.keys()) == 5


def test_rows_that_vanish_are_not_made_up_for(tmp_path: Path) -> None:
    store = RowStore(tmp_path / "rows")
    store.append([row_of("a", 0)], seed=1)
    parts(tmp_path / "rows")[0].unlink()
    (tmp_path / "rows").rmdir()
    with pytest.raises(ResultsError, match="cannot be written"):
        store.append([row_of("a", 1)], seed=1)


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_a_part_that_was_cut_short_is_named(tmp_path: Path, cut: int) -> None:
    store = RowStore(tmp_path)
    store.append([row_of("a", 0)], seed=1)
    (part,) = parts(tmp_path)
    part.write_bytes(part.read_bytes()[:cut])
    for read in (store.read, store.keys, store.compact):
        with pytest.raises(ResultsError, match=rf"{part.name}: cannot be read \(.*remove this file and run again"):
            read()


def test_a_part_with_a_flipped_byte_is_named(tmp_path: Path) -> None:
    store = RowStore(tmp_path)
    store.append([row_of("a", i, failures=i) for i in range(50)], seed=1)
    (part,) = parts(tmp_path)
    whole = part.read_bytes()
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")  # what follows tells where they lie
    noticed = []
    for at in range(4, pages, pages // 60):
        part.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            assert store.read().equals(pq.read_table(pa.BufferReader(whole)))  # a byte that changes no value
        except ResultsError as error:
            noticed.append(str(error))
    assert len(noticed) > 20
    assert all(said.startswith(f"{part}: cannot be read (") for said in noticed)
