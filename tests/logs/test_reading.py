"""Reading and cleaning: each trap is handled and told, each bad file is one line."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from gemsim.errors import ValueRefused
from gemsim.failures.logs.clean import Log, clean
from gemsim.failures.logs.exposure import read_exposure
from gemsim.failures.logs.meta import read_meta
from gemsim.failures.logs.read import Where, parse_columns, parse_where, read_log
from gemsim.failures.logs.ticks import resolution
from gemsim.failures.logs.times import window_hours
from tests.logs.synthetic import write


def cleaned(path: Path, *, nodes: int | None = 5, window: float | None = 100.0) -> Log:
    return clean(read_log(path), nodes=nodes, begin_h=None, window_h=window)


def test_every_trap_is_handled_and_told(tmp_path: Path) -> None:
    log = cleaned(write(tmp_path))
    assert log.time_h.tolist() == [10.0, 10.0, 11.0, 30.5, 50.0, 70.0, 90.0]
    assert (log.nodes, log.node_hours) == (5, 500.0)
    assert [log.kinds[kind] for kind in log.kind] == ["gpu", "nic", "gpu", "gpu", "gpu", "gpu", "nic"]
    assert np.isnan(log.downtime_h).sum() == 1
    told = "\n".join(log.notes)
    for words in (
        "out of time order", "2 of 5 nodes do not appear", "1 of 7 down times are empty: not known",
        "1 down time is 0 h: kept as real", "1 outage outlives the window", "1 outage begins before the last one",
        "1 gap is zero", "columns not used: colour", "--merge is off",
    ):  # fmt: skip
        assert words in told, words


def test_a_clean_log_is_told_nothing_of(tmp_path: Path) -> None:
    rows = "\n".join(f"{20 * i + 3 + 0.1 * i},n{i},gpu,1" for i in range(5))
    log = cleaned(write(tmp_path, f"time_h,node,component,downtime_h\n{rows}\n"))
    assert [note for note in log.notes if "--merge" not in note] == []


def test_a_thin_start_is_told(tmp_path: Path) -> None:
    rows = "\n".join(f"{60 + i},n1,gpu,0.5" for i in range(20))
    log = cleaned(write(tmp_path, f"time_h,node,component,downtime_h\n{rows}\n"))
    assert any(note.startswith("thin start: the first event comes at 60 h") for note in log.notes)


def test_a_window_rounded_too_short_is_stretched_and_a_wrong_one_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    log = cleaned(path, window=89.5)
    assert log.window_h == 90.0
    assert any("stretched from 89.5 to 90 h" in note for note in log.notes)
    with pytest.raises(ValueRefused, match=r"last event \(90 h\) lies after the window ends \(80 h\)"):
        cleaned(path, window=80.0)


@pytest.mark.parametrize(
    ("nodes", "window", "words"),
    [
        (2, 100.0, "3 nodes appear in the log, more than --nodes 2"),
        (None, 100.0, "number of nodes is not known"),
        (5, None, "observed window is not known"),
        (5, 0.0, "window is empty"),
    ],
)
def test_what_must_be_known_is_asked_for(tmp_path: Path, nodes: int | None, window: float | None, words: str) -> None:
    with pytest.raises(ValueRefused, match=words):
        cleaned(write(tmp_path), nodes=nodes, window=window)


BAD = {
    "empty": (b"", "file is empty"),
    "heading": (b"time_h,node\n", "no rows below the heading"),
    "zero bytes": (b"time_h\0,node\n", "not a text file"),
    "gzip": (gzip.compress(b"time_h,node\n1,a\n"), "not a text file"),
    "not utf-8": (b"time_h,node\n1,\xff\xfe\xff\n", "not a text file in UTF-8"),
    "ragged": (b"time_h,node\n1,a\n2,b,c\n", r"line 3 has 3 columns, the heading 2"),
    "no time": (b"when,node\n1,a\n", "no column of times"),
    "text": (b"time_h,node\nmonday,a\n2,b\n", r"time_h is not a number in line 2 \('monday'\)"),
    "no start": (b"time_h,node\n1,a\n,b\n", "time_h is empty or nan in line 3"),
    "endless": (b"time_h,node\n1,a\n1e999,b\n", "time_h is not finite in line 3"),
    "one": (b"time_h,node\n1,a\n", "one event"),
    "negative": (b"time_h,node\n-1,a\n2,b\n", r"a negative time \(-1 h, line 2\)"),
    "negative down": (b"time_h,node,downtime_h\n1,a,-3\n2,b,1\n", r"a down time is negative \(-3 h, line 2\)"),
    "twice": (b"time_h,time_h\n1,2\n", "two columns are called 'time_h'"),
    "nameless": (b"time_h,node\n1,a\n2,\n3,b\n", r"1 of 3 events name no node \(first in line 3\)"),
    "open quote": (b'time_h,node\n1,"a\n2,b\n3,c"\n', "one line per failure"),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(ValueRefused, match=words) as error:
        cleaned(path)
    assert "\n" not in str(error.value)


def test_names_of_columns_are_given(tmp_path: Path) -> None:
    path = write(tmp_path, "T,host,why,until\n1,a,x,3\n2,b,y,2\n")
    rows = read_log(path, columns=parse_columns(["time_h=T,node=host", "end_h=until", "component=why"]))
    assert rows.downtime_h.tolist() == [2.0, 0.0]
    assert rows.node is not None
    assert rows.node.names == ("a", "b")
    assert rows.component is not None
    assert rows.component.names == ("x", "y")
    by = read_log(path, columns={"time_h": "T"}, by="host")
    assert by.component is not None
    assert by.component.names == ("a", "b")
    with pytest.raises(ValueRefused, match="no column 'nothing'"):
        read_log(path, columns={"time_h": "nothing"})
    with pytest.raises(ValueRefused, match="no column 'colour'"):
        read_log(path, columns={"time_h": "T"}, by="colour")


@pytest.mark.parametrize("text", ["time_h", "when=T", "time_h="])
def test_a_wrong_name_of_a_column_is_refused(text: str) -> None:
    with pytest.raises(ValueRefused, match="--columns"):
        parse_columns([text])


def test_filters_keep_and_leave_out(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert parse_where(["node=a, b", "component!=nic"]) == (
        Where("node", ("a", "b")),
        Where("component", ("nic",), keep=False),
    )
    rows = read_log(path, where=parse_where(["node=a,b", "component!=nic"]))
    assert rows.time_h.tolist() == [30.5, 10.0, 11.0]
    assert rows.read == 7
    with pytest.raises(ValueRefused, match="no row of 7 meets"):
        read_log(path, where=parse_where(["node=z"]))
    with pytest.raises(ValueRefused, match="--where: not a condition"):
        parse_where(["node"])


def test_absolute_times_become_hours(tmp_path: Path) -> None:
    text = "begin,node,end\n2024-03-30T12:00:00Z,a,2024-03-30T13:30:00Z\n2024-03-31T12:00:00Z,b,\n"
    path = write(tmp_path, text)
    rows = read_log(path, columns={"start": "begin"}, origin="2024-03-30T00:00Z")
    assert rows.time_h.tolist() == [12.0, 36.0]
    assert rows.downtime_h[0] == 1.5
    assert math.isnan(rows.downtime_h[1])
    assert read_log(path, columns={"start": "begin"}).time_h.tolist() == [0.0, 24.0]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("2024-01-02T00:00:00", r"with and without a zone \(2024-01-01T00:00:00\+01:00 and 2024-01-02T00:00:00\)"),
        ("01/02/2024 3 pm", "not an ISO 8601 time in line 3"),
        ("", "not an ISO 8601 time in line 3"),
    ],
)
def test_two_clocks_are_refused(tmp_path: Path, second: str, words: str) -> None:
    path = write(tmp_path, f"start,node\n2024-01-01T00:00:00+01:00,a\n{second},b\n")
    with pytest.raises(ValueRefused, match=words):
        read_log(path)


def test_offsets_may_change_within_a_log(tmp_path: Path) -> None:
    path = write(tmp_path, "start,node\n2024-03-30T00:00+01:00,a\n2024-04-02T00:00+02:00,b\n")
    assert read_log(path).time_h.tolist() == [0.0, 71.0]


def test_a_message_names_the_line_of_the_file(tmp_path: Path) -> None:
    """Not the row among those kept: behind a filter, an empty line and a name that runs over two lines."""
    text = 'time_h,node,note\n1,a,x\n\n2,b,"x\ny"\n3,a,x\nsoon,a,x\n'
    with pytest.raises(ValueRefused, match=r"time_h is not a number in line 7 \('soon'\)"):
        read_log(write(tmp_path, text), where=parse_where(["node=a"]))


def test_rows_equal_in_every_column_are_found_behind_columns_nobody_asks_for(tmp_path: Path) -> None:
    text = "time_h,node,note\n1,a,x\n1,a,y\n2,b,x\n1,a,x\n1,b,x\n1,a,x\n"
    rows = read_log(write(tmp_path, text))
    assert rows.copies.tolist() == [False, False, False, True, False, True]
    log = clean(rows, nodes=5, begin_h=None, window_h=100.0)
    assert (len(log.time_h), len(log.once().time_h)) == (6, 4)
    told = "\n".join(log.notes)
    assert "2 rows equal another in every column: one record written twice, counted once" in told
    assert "1 event starts at the instant of another of the same node" in told
    assert "--merge '1 s'" in told
    nameless = read_log(write(tmp_path, "time_h\n1\n1\n", name="job.csv"))
    assert not nameless.copies.any()


def test_a_window_may_begin_before_hour_zero(tmp_path: Path) -> None:
    assert window_hours("-10 h to 3 d") == (-10.0, 82.0, None)
    assert window_hours("-3 d to -1 d") == (-72.0, 48.0, None)
    rows = read_log(write(tmp_path, "time_h,node\n-5,a\n3,b\n"))
    log = clean(rows, nodes=5, begin_h=-10.0, window_h=82.0)
    assert log.time_h.tolist() == [5.0, 13.0]
    with pytest.raises(ValueRefused, match=r"give --window 'FROM to TO', e\.g\. '-10 h to 348 d'"):
        clean(rows, nodes=5, begin_h=None, window_h=72.0)


def test_a_window_is_a_length_or_two_ends() -> None:
    assert window_hours("348 d") == (None, 8352.0, None)
    begin, length, origin = window_hours("201.5 h to 488.65 h")
    assert (begin, round(length, 9), origin) == (201.5, 287.15, None)
    assert window_hours("2024-01-01T00:00Z to 2024-01-03T12:00Z") == (0.0, 60.0, "2024-01-01T00:00:00+00:00")
    for text in ("348", "5 h to 2 h", "monday to friday", "2024-01-01T00:00Z to 2024-01-03T12:00", "-3 h"):
        with pytest.raises(ValueRefused, match="--window"):
            window_hours(text)


def test_a_meta_file_gives_nodes_and_window(tmp_path: Path) -> None:
    path = write(tmp_path, meta={"nodes": 7, "obs_start_h": 1.5, "obs_end_h": {"p3": 9.5}, "kind": "outages"})
    meta = read_meta(path, parse_where(["trace=p3"]))
    assert (meta.nodes, meta.begin_h, meta.end_h, meta.refused) == (7, 1.5, 9.5, "")
    assert read_meta(tmp_path / "elsewhere" / "log.csv").path is None
    narrated = read_meta(write(tmp_path, meta={"kind": "narrated incidents"}))
    assert narrated.refused == "narrated incidents"
    (tmp_path / "meta.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueRefused, match="cannot be read"):
        read_meta(path)


def test_a_meta_file_may_point_to_a_table(tmp_path: Path) -> None:
    told = {"nodes": "per system, see systems.csv", "obs_start_h": "per system: first", "obs_end_h": "per system: last"}
    path = write(tmp_path, meta=told)
    write(tmp_path, "system,nodes,first,last\n2,49,10.0,90.5\n18,1024,20,30\n", name="systems.csv")
    meta = read_meta(path, parse_where(["system=2"]))
    assert (meta.nodes, meta.begin_h, meta.end_h) == (49, 10.0, 90.5)
    with pytest.raises(ValueRefused, match="add --where system=VALUE"):
        read_meta(path)
    with pytest.raises(ValueRefused, match="no system '3'"):
        read_meta(path, parse_where(["system=3"]))
    assert read_meta(path, needed=False).nodes is None


def test_a_fleet_that_varies_is_counted_by_hand(tmp_path: Path) -> None:
    path = write(tmp_path, "time_h,node,event\n0,a,add\n2,b,add\n5,a,remove\n6,c,add\n", name="there.csv")
    there = read_exposure(path, where=(), begin_h=0.0, end_h=10.0)
    assert there.node_hours == 5 + 8 + 4
    log = write(tmp_path, "time_h,node\n5,a\n7,b\n")
    found = clean(read_log(log), nodes=None, begin_h=0.0, window_h=10.0, exposure=there)
    assert (found.nodes, found.node_hours) == (3, 17.0)
    with pytest.raises(ValueRefused, match="'z' fails but never joined"):
        clean(
            read_log(write(tmp_path, "time_h,node\n5,z\n7,b\n")), nodes=None, begin_h=0.0, window_h=10.0, exposure=there
        )
    for text, words in (("1,a,add\n2,a,add\n", "joins or leaves twice"), ("5,a,add\n2,a,remove\n", "before it joins"),
                        ("1,a,gone\n", "unknown event")):  # fmt: skip
        bad = write(tmp_path, f"time_h,node,event\n{text}", name="bad.csv")
        with pytest.raises(ValueRefused, match=words):
            read_exposure(bad, where=(), begin_h=0.0, end_h=10.0)


@pytest.mark.parametrize(
    ("times", "tick"),
    [
        ([24.0, 240.0], 24.0), ([1.0, 5.0], 1.0), ([0.017, 33.35, 7.583], 1 / 60), ([93.492, 104.4912], 0.0024),
        ([0.5, 1.123456789], 0.0), ([2.0 * i for i in range(1, 14)], 2.0), ([0.1 * i for i in range(1, 14)], 0.1),
        ([2.0, 4.0, 6.0], 1.0), ([0.0731, 5.1234, 9.8765], 1e-4), ([i + 7 / 60 for i in range(1, 14)], 1.0),
        ([24.0 * i + 6.0 for i in (*range(1, 13), 15)], 24.0),
    ],
)  # fmt: skip
def test_the_grid_of_the_starts_is_seen(times: list[float], tick: float) -> None:
    assert resolution(np.array(times)) == tick


def test_days_of_a_clock_with_daylight_saving_are_a_grid_of_days(tmp_path: Path) -> None:
    days = [f"2024-03-{day}T00:00:00+0{1 if day < 32 else 2}:00,a\n" for day in range(20, 32)]
    days += [f"2024-04-{day:02d}T00:00:00+02:00,b\n" for day in range(1, 13)]
    rows = read_log(write(tmp_path, "start,node\n" + "".join(days)))
    log = clean(rows, nodes=2, begin_h=0.0, window_h=1000.0)
    assert log.tick_h == 24.0
    assert np.diff(log.time_h).min() == 23.0


def test_spaces_around_headings_are_none_of_the_name(tmp_path: Path) -> None:
    rows = read_log(write(tmp_path, "time_h, node ,component\n5, a,gpu\n7,b ,nic\n"))
    assert rows.node is not None
    assert rows.node.names == ("a", "b")
    assert rows.foreign == ()
    assert read_log(write(tmp_path, "time_h,node,\n5,a,\n7,b,\n")).foreign == ()
