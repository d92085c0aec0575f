"""Paired differences: those of the summary, by any reference, and of designs from different runs on one seed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gemsim as gs
from gemsim.errors import GemsimError, ValueRefused
from gemsim.results.estimate import paired_interval
from tests.api.small import K, M, one


def test_without_a_reference_they_are_those_of_the_summary(swept: gs.Results) -> None:
    table = gs.compare(swept)
    for ours, theirs in (("diff", "ettr_diff"), ("diff_lo", "ettr_diff_lo"), ("diff_hi", "ettr_diff_hi")):
        assert table[ours].tolist() == swept.summary[theirs].tolist()
    assert table["value"].tolist() == swept.summary["ettr"].tolist()
    assert (table["replications"] == 3).all()


def test_a_reference_in_each_group(swept: gs.Results) -> None:
    table = gs.compare(swept, {M: 0})
    assert (table.loc[table[M] == 0, "diff"] == 0.0).all()
    rows = swept.rows.assign(ettr=swept.rows["productive_s"] / swept.rows["wall_s"])
    held = rows[(rows["restart"] == "holder") & (rows[K] == 16)]
    own, other = (held.loc[held[M] == m, "ettr"].to_numpy() for m in (1, 0))
    row = table[(table["restart"] == "holder") & (table[K] == 16) & (table[M] == 1)].iloc[0]
    assert (row["diff"], row["diff_lo"], row["diff_hi"]) == tuple(paired_interval(own, other))


@pytest.mark.parametrize("reference", [3, np.int64(3), "point"])
def test_one_reference_for_all(swept: gs.Results, reference: Any) -> None:
    chosen = str(swept.summary.loc[3, "point"])
    table = gs.compare(swept, chosen if reference == "point" else reference)
    assert (table["reference"] == swept.summary.loc[3, "ettr"]).all()
    assert table.loc[3, "diff"] == 0.0


@pytest.mark.parametrize(
    ("column", "unit"), [("time_restart", "1"), ("wasted_s_per_failure", "s"), ("failures", "1"), ("waiting_s", "s")]
)
def test_other_columns_have_their_own_unit_and_value(swept: gs.Results, column: str, unit: str) -> None:
    table = gs.compare(swept, {M: 0}, column=column)
    assert table.attrs["units"]["diff"] == unit
    if column in swept.summary:
        assert table["value"].tolist() == pytest.approx(swept.summary[column].tolist(), rel=1e-12)


def test_designs_of_different_runs_are_paired_by_replication(tmp_path: Path) -> None:
    more = gs.sweep(one("k=16", "m=1"), out=tmp_path, jobs=1, replications=5, quiet=True)
    table = gs.compare({"none": one("k=16", "m=0"), "code": more})
    assert table["name"].tolist() == ["none", "code"]
    assert table["replications"].tolist() == [3, 3]  # of five the three that both have
    ettr = [rows["productive_s"] / rows["wall_s"] for rows in (gs.simulate(one("k=16", f"m={m}")) for m in (0, 1))]
    assert table.loc[1, "diff"] == pytest.approx(float(np.mean(ettr[1] - ettr[0])), abs=1e-15)
    assert gs.compare({"none": one("k=16", "m=0"), "code": more}, "code").loc[1, "diff"] == 0.0


def test_a_folder_that_lacks_replications_is_refused(tmp_path: Path) -> None:
    from gemsim.results.rows import RowStore

    full = gs.sweep(one("k=16", "m=1"), out=tmp_path / "full", jobs=1, replications=6, quiet=True)
    shutil.copytree(full.folder, tmp_path / "holed")
    store = RowStore(tmp_path / "holed" / "rows")
    rows = store.read().to_pylist()
    shutil.rmtree(store.folder)
    store.append([row for row in rows if row["replication"] != 4], seed=2026)
    with pytest.raises(GemsimError, match=r"holed: incomplete: 5 of 6 replications are here; gs.sweep again"):
        gs.compare({"full": full, "holed": gs.load_results(tmp_path / "holed")})


def test_one_replication_has_no_interval() -> None:
    lone = {name: one("k=16", f"m={m}").set("run.replications", 1) for name, m in (("a", 0), ("b", 1))}
    table = gs.compare(lone)
    assert np.isnan(table["diff_lo"]).all()
    assert not np.isnan(table["diff"]).any()


def test_unlike_seeds_are_refused() -> None:
    with pytest.raises(GemsimError, match="on one seed: a has seed 2026, b has seed 3; run them with one seed"):
        gs.compare({"a": one("k=16", "m=0"), "b": one("k=16", "m=1").set("run.seed", 3)})


def test_several_designs_under_one_name_are_refused(swept: gs.Results) -> None:
    with pytest.raises(GemsimError, match=r"^all: holds 12 designs, and one is compared"):
        gs.compare({"all": swept})


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nobody", r"no design is the reference \('nobody'\)"),
        (99, r"no such reference \(99\); an index of the summary, 0 to 15"),
        ({K: 16}, r"the reference is not one design .* 2 in one group"),
        ({"protection.stripe.mm": 0}, r"no such column of the reference .*; did you mean 'protection\.stripe\.m'\?"),
        ({M: 7}, r"no design is the reference"),
    ],
)
def test_a_reference_that_singles_out_none_is_refused(swept: gs.Results, reference: Any, said: str) -> None:
    with pytest.raises((GemsimError, ValueRefused), match=said):
        gs.compare(swept, reference)


def test_an_unknown_column_is_refused(swept: gs.Results) -> None:
    with pytest.raises(ValueRefused, match=r"no column to compare \('etr'\).*did you mean 'ettr'\?"):
        gs.compare(swept, column="etr")


def test_an_unknown_name_of_the_reference_is_refused() -> None:
    with pytest.raises(GemsimError, match=r"no such reference \('b'\); one of a"):
        gs.compare({"a": one("k=16", "m=0")}, "b")


@pytest.mark.parametrize("given", ["widths", None, {}, {"a": "widths"}, {"a": one("k=16", "m=0"), "b": 3}])
def test_what_is_no_design_is_refused_in_a_line(given: Any) -> None:
    with pytest.raises(ValueRefused, match=r"^not what is compared \(.*\); the Results of a sweep, or a mapping"):
        gs.compare(given)
