"""Every frame is tidy and says the unit of each column; the units are those that the columns are declared with."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import gemsim as gs
from gemsim.api.frames import ANALYTIC, AS_WRITTEN, FORESEEN, OF_DIMENSION, WORDS, frame
from gemsim.results.rows import SCHEMA
from gemsim.results.summary import RESULT_COLUMNS
from gemsim.results.table import to_csv
from gemsim.spec.columns import COLUMN_MEASURES, unit_of
from gemsim.study.plan import MODEL, plan
from gemsim.study.points import realise
from tests.api.small import K, one, small

PHYSICAL = {"s", "GPU h", "kWh", "kg", "currency"}
ROOT = Path(__file__).resolve().parents[2]
FRAMES: dict[str, Callable[[gs.Results], pd.DataFrame]] = {
    "summary": lambda results: results.summary,
    "best": lambda results: results.best,
    "rows": lambda results: results.rows,
    "costs": lambda results: results.costs,
    "points": lambda results: results.study.points,
    "predict": lambda results: gs.predict(results.study),
    "predict, screen": lambda results: gs.predict(results.study, screen=True),
    "simulate": lambda results: gs.simulate(one("k=16", "m=1"), replications=2),
    "compare": lambda results: gs.compare(results),
    "profile points": lambda results: gs.load_profile("nvidia-h100").points,
    "profile samples": lambda results: gs.load_profile("cpu-amd-epyc-26-2").samples,
    "profile cost": lambda results: gs.load_profile("nvidia-h100").cost(k=8, m=1, bytes=1e9),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_column_has_one_unit_and_numbers_are_numbers(name: str, swept: gs.Results) -> None:
    table = FRAMES[name](swept)
    assert len(table)
    units = table.attrs["units"]
    assert list(units) == list(table.columns)
    assert all(unit for unit in units.values())
    assert isinstance(table.index, pd.RangeIndex)
    for column, unit in units.items():
        if unit not in WORDS:
            assert pd.api.types.is_numeric_dtype(table[column]), column
            assert not pd.api.types.is_bool_dtype(table[column]), column
        if unit == "true or false":
            assert pd.api.types.is_bool_dtype(table[column]), column


def test_a_column_without_a_unit_would_be_seen() -> None:
    with pytest.raises(KeyError, match="ettr"):
        gs.api.frames.with_units(pd.DataFrame({"ettr": [0.9]}), {})


def test_units_are_those_of_the_page_of_columns() -> None:
    page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    said: dict[str, set[str]] = {}
    for names, unit in re.findall(r"^\|([^|]*`[^|]*)\|([^|]*)\|", page, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            said[name] = {part.strip() for part in unit.split(",")} & PHYSICAL
    ours = {name: {unit_of(name, "currency").partition("/")[0]} & PHYSICAL for name in COLUMN_MEASURES}
    assert {
        name: (unit, said[name])
        for name, unit in ours.items()
        if not unit <= said[name] or bool(unit) != bool(said[name])
    } == {}
    assert sum(map(bool, ours.values())) > 20


def test_units_of_rows_are_those_of_the_parquet_files(swept: gs.Results) -> None:
    units = swept.rows.attrs["units"]
    assert {field.name: field.metadata[b"unit"].decode() for field in SCHEMA}.items() <= units.items()


def test_units_stay_with_copies_and_with_a_parquet_file(swept: gs.Results, tmp_path: Path) -> None:
    swept.summary.to_parquet(tmp_path / "summary.parquet")
    units = swept.summary.attrs["units"]
    assert swept.summary.copy().attrs["units"] == units
    assert swept.summary[swept.summary["best"]].attrs["units"] == units
    assert pd.read_parquet(tmp_path / "summary.parquet").attrs["units"] == units


def test_what_is_swept_is_in_si_and_words_are_as_written() -> None:
    points = gs.load_study("cadence").points
    assert points.attrs["units"] | {"variant": "text"} == {
        "variant": "text", "protection.stripe.cadence": "1", "cluster.gpus": "1", "cluster.storage.write": "B/s",
        "workload.network_idle": "s", "cluster.storage.read": "B/s", "workload.parallel.data": "1",
        "workload.tokens_per_step": "1",
    }  # fmt: skip
    assert set(points["cluster.storage.write"]) == {2e12, 20e9}
    assert set(points["workload.network_idle"]) == {0.0, 0.12}
    assert points.loc[points["variant"] == "no code", "protection.stripe.cadence"].isna().all()
    assert small().points.attrs["units"]["restart"] == AS_WRITTEN


def test_one_word_among_quantities_leaves_them_as_written() -> None:
    path = "protection.checkpoint.interval"
    study = small().with_({f"sweep.grid.{path}": ["10 min", "optimal"]})
    assert set(study.points[path]) == {"10 min", "optimal"}
    assert study.points.attrs["units"][path] == AS_WRITTEN
    assert set(small().with_({f"sweep.grid.{path}": ["10 min", "1 h"]}).points[path]) == {600.0, 3600.0}


def test_a_rate_of_each_device_is_left_as_written() -> None:
    own = {
        "classes": [{"name": "host", "scope": "node", "rate": "1 / 100 node d", "detect": "10 s", "action": "reboot"}]
    }
    path = "failures.classes.host.rate"
    study = one("k=16", "m=1").with_({"failures": own, f"sweep.grid.{path}": ["1 / 100 node d", "1 / 50 node d"]})
    assert study.points.attrs["units"][path] == AS_WRITTEN
    assert set(study.points[path]) == {"1 / 100 node d", "1 / 50 node d"}


def test_every_dimension_has_a_unit() -> None:
    from gemsim import units

    assert {*units.UNITS, "rate"} <= set(OF_DIMENSION)


def test_the_summary_is_summary_csv(swept: gs.Results) -> None:
    held = (swept.folder / "summary.csv").read_text()
    assert held == to_csv(swept.found.summary.rows)
    rows = list(csv.DictReader(io.StringIO(held)))
    assert list(rows[0]) == list(swept.summary.columns)
    for column in ("ettr", "ettr_lo", "wasted_s_per_failure", "memory_overhead", K, "failures"):
        assert swept.summary[column].tolist() == pytest.approx([float(row[column]) for row in rows], rel=1e-9)
    assert [row["best"] == "true" for row in rows] == swept.summary["best"].tolist()


def test_what_needs_no_simulation_is_all_that_a_point_knows() -> None:
    asked = plan(gs.load_study("uncertain", quick=True).loaded, seed=None, replications=None, quick=True)
    (point, *_), _, _ = realise(asked.designs, asked.resolve, MODEL)
    known = ({*point.static, *point.twin} & set(RESULT_COLUMNS)) | {name for name in RESULT_COLUMNS if "input" in name}
    left_out = {name for name in known if name.startswith("ettr_diff")}
    assert known - left_out - set(FORESEEN) == set()
    assert "z_analytic" not in ANALYTIC


def test_a_number_that_is_not_known_is_nan() -> None:
    table = frame([{"a": None, "b": 1}, {"a": 2, "b": None}], {"a": "s", "b": "1", "c": "1", "d": "text"})
    assert table.dtypes[["a", "b", "c"]].tolist() == [float] * 3
    assert table["d"].isna().all()
