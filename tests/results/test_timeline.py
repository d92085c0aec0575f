"""A timeline as text, tables, a trace for Perfetto and a picture: each says what happened, and each by its rules."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gemsim.engine.record import record
from gemsim.results.figures.timeline import COLOURS, _lost, binned, timeline_pictures
from gemsim.results.ledger import LEDGER
from gemsim.results.timeline import WORK, Timeline, events_csv, spans_csv
from gemsim.results.timeline_chrome import to_chrome
from gemsim.results.timeline_text import LABELS, clock, to_text
from tests.engine.small import RETRY, STRIPE, Hit, checkpoint, scenario, script
from tests.engine.test_plain import scenario as plain
from tests.engine.test_replica_group import SHORT, job
from tests.faults import must_reject, replaced

REQUIRED = {"X": {"ts", "dur", "tid"}, "i": {"ts", "tid", "s"}, "M": {"tid", "args"}, "C": {"ts", "args"}}


@cache
def few() -> Timeline:
    """Three failures, one of them within the recovery of another; and one that is found late."""
    of = scenario(checkpoint(), mode="all_processes")
    hits = Hit("gpu", 250.0, 5), Hit("reset_gpu", 260.0, 9), Hit("silent", 1000.0, 2)
    return record(of, seed=0, replication=0, trace=script(of, *hits))


@cache
def many() -> Timeline:
    return record(plain("watched"), seed=1, replication=0)


@cache
def out() -> Timeline:
    of = job(**SHORT)
    return record(of, seed=0, replication=0, trace=script(of, Hit("gpu", 105.0), Hit("gpu", 205.0, 8)))


ALL = {"few": few, "many": many, "out": out}


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 00:00:00"), (59.999, "0 00:00:59"), (3661.0, "0 01:01:01"), (86400.0 * 1234 + 86399.5, "1,234 23:59:59")],
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", ALL)
def test_pages_keep_their_width(name: str, width: int) -> None:
    assert max(map(len, to_text(ALL[name](), width=width, full=True).splitlines())) <= width


def test_the_answers_come_first() -> None:
    found = few()
    lines = to_text(found).splitlines()
    head = "\n".join(lines[:8])
    assert "replication  0 of seed 0" in head
    assert f"{found.ettr:.6f}" in head
    assert "3, which stopped the job 2 times" in head
    told = [line for line in lines if line[12:13] == " " and ":" in line[:13] and "what happens" not in line]
    assert len(told) >= len(found.events)


def test_a_failure_is_told_with_what_it_found_and_did() -> None:
    page = to_text(few())
    assert "failure, gpu (GPU 5 on node 1), while running" in page
    assert "while in waiting" in page
    assert "-> checkpoint to step 20; 44 s of work to do again; 45 s down" in page
    assert "unseen for 5 min" in page


@pytest.mark.parametrize("width", [80, 100])
def test_what_happens_stands_in_its_column(width: int) -> None:
    """Whatever is no time of an event is indented below it."""
    page = to_text(many(), width=width, full=True)
    told = page[page.index("what happens") :].partition("\n\n")[0].splitlines()[1:]
    begin = [line for line in told if not line.startswith(" " * 28)]
    assert len(begin) == len(many().events)
    assert all(re.match(r" *\d[\d,]* \d\d:\d\d:\d\d +[\d,.]+  \S", line) for line in begin)


def test_tiers_with_one_reason_are_named_together() -> None:
    found = record(scenario(RETRY, STRIPE, checkpoint()), seed=0, replication=0)
    event = replace(few().events[0], refused=(("retry", "a"), ("stripe", "a"), ("near", "b")))
    page = to_text(replace(found, events=(event,)))
    assert "not retry, stripe: a\n" in page
    assert "not near: b\n" in page


def test_the_ledger_closes_on_the_page() -> None:
    found = few()
    page = to_text(found)
    rows = page[page.index("Where the time went") :].splitlines()[1:]
    shown = {line.split()[0]: float(line.split()[1].replace(",", "")) for line in rows[:-1]}
    assert shown["wall"] == pytest.approx(found.wall, abs=1e-3)
    assert shown["wasted"] == pytest.approx(found.row["wasted_s"], abs=1e-3)
    assert sum(value for name, value in shown.items() if name != "wall") == pytest.approx(found.wall, abs=0.01)
    assert "within 0 s" in page or "within 1e-" in page or "within 9e-" in page


def test_of_many_events_some_are_told_and_the_others_counted() -> None:
    found = many()
    page, full = to_text(found), to_text(found, full=True)
    told = [event for event in found.events if event.kind != "missed"]
    assert f"... {len(told) - 40:,} more until" in page
    assert "more until" not in full
    assert len(full.splitlines()) > len(page.splitlines()) + len(told) - 40


def test_every_kind_has_a_label() -> None:
    from gemsim.results.timeline import KINDS

    assert set(LABELS) == set(KINDS)


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("name", ALL)
def test_tables_hold_every_event_and_span(name: str) -> None:
    found = ALL[name]()
    events = list(csv.DictReader(io.StringIO(events_csv(found))))
    assert [float(row["at_s"]) for row in events] == [event.at for event in found.events]
    assert [row["kind"] for row in events] == [event.kind for event in found.events]
    spans = list(csv.DictReader(io.StringIO(spans_csv(found))))
    assert sum(float(row["wasted_s"]) for row in spans) == 0.0  # as first booked
    moved = sum(float(row["lost_s"]) for row in events)
    for column in LEDGER:
        total = sum(float(row[f"{column}_s"]) for row in spans)
        total += {"productive": -moved, "wasted": moved}.get(column, 0.0)
        assert total == pytest.approx(found.row[f"{column}_s"], abs=1e-9 * found.wall)
    assert float(spans[0]["begin_s"]) == 0.0
    assert float(spans[-1]["end_s"]) == found.wall
    assert all(one["end_s"] == other["begin_s"] for one, other in pairwise(spans))


# ---------------------------------------------------------------- trace


def valid(text: str) -> list[Mapping[str, Any]]:
    """The entries of a trace by the rules of the Trace Event Format: keys that each phase needs, times in order, rows
    with a name, and complete events of one row that never overlap."""
    whole = json.loads(text)
    assert whole["displayTimeUnit"] in ("ms", "ns")
    entries: list[Mapping[str, Any]] = whole["traceEvents"]
    for entry in entries:
        assert {"name", "ph", "pid", *REQUIRED[entry["ph"]]} <= entry.keys()
        assert entry["ph"] == "M" or (isinstance(entry["ts"], int) and entry["ts"] >= 0)
    assert all(entry["s"] in ("t", "p", "g") for entry in entries if entry["ph"] == "i")
    timed = [entry for entry in entries if entry["ph"] != "M"]
    assert all(one["ts"] <= other["ts"] for one, other in pairwise(timed))
    named = {entry["tid"] for entry in entries if entry["name"] == "thread_name"}
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for entry in entries:
        if entry["ph"] in ("X", "i"):
            assert entry["tid"] in named
        if entry["ph"] == "X":
            assert entry["dur"] >= 0
            rows.setdefault(entry["tid"], []).append(entry)
    for row in rows.values():
        assert all(one["ts"] + one["dur"] <= other["ts"] for one, other in pairwise(row))
    return entries


@pytest.mark.parametrize("name", ALL)
def test_the_trace_is_valid_and_complete(name: str) -> None:
    found = ALL[name]()
    entries = valid(to_chrome(found))
    spans = [entry for entry in entries if entry["ph"] == "X" and entry["tid"] == 1]
    assert [entry["name"] for entry in spans] == [span.doing for span in found.spans]
    assert spans[-1]["ts"] + spans[-1]["dur"] == round(found.wall * 1e6)
    marks = [entry for entry in entries if entry["ph"] == "i"]
    struck = found.of("failure", "found", "planned", "remap", "unseen", "outside", "spare", "missed")
    assert [entry["ts"] for entry in marks] == [round(event.at * 1e6) for event in struck]
    runs = [entry for entry in entries if entry["ph"] == "X" and 200 <= entry["tid"] < 300]
    assert len(runs) == len(found.of("runs"))
    lost = [entry for entry in entries if entry["name"] == "lost so far, s"]
    assert lost[-1]["args"]["seconds"] == pytest.approx(found.wall - found.row["productive_s"])


def test_the_trace_names_its_rows_and_says_why() -> None:
    entries = valid(to_chrome(few()))
    names = {entry["args"]["name"] for entry in entries if entry["name"] == "thread_name"}
    assert {"job", "failures: gpu", "failures: silent", "recovered by checkpoint"} <= names
    (first, *_) = [entry for entry in entries if entry["ph"] == "i"]
    assert first["args"]["gpu"] == 5
    assert first["args"]["undone_s"] == pytest.approx(44.0)


def overlapping() -> None:
    valid(to_chrome(many()))


def test_rows_that_overlap_are_noticed() -> None:
    """Requests that are open at once, all in one row."""
    fault = replaced("gemsim.results.timeline_chrome:_placed", lambda _: lambda parts: ((0, part) for part in parts))
    must_reject(overlapping, fault)


def test_units_other_than_microseconds_are_noticed() -> None:
    def check() -> None:
        test_the_trace_is_valid_and_complete("few")

    must_reject(
        check, replaced("gemsim.results.timeline_chrome:_micro", lambda _: lambda seconds: round(seconds * 1e3))
    )


# ---------------------------------------------------------------- picture


@pytest.mark.parametrize("name", ALL)
def test_pictures(name: str) -> None:
    svg, png = timeline_pictures(ALL[name]())
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    text = " ".join(node.text or "" for node in root.iter() if node.tag.endswith("text"))
    assert "lost so far" in text
    assert "replication 0" in text
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert timeline_pictures(ALL[name]())[0] == svg


def test_a_run_without_a_failure_has_a_picture() -> None:
    of = scenario(checkpoint(), mode="all_processes")
    assert timeline_pictures(record(of, seed=0, replication=0, trace=script(of)))[0]


def test_nothing_is_lost_in_the_pieces() -> None:
    edges = np.linspace(0.0, 10.0, 6)
    parts = [(0.0, 10.0, 5.0), (1.0, 5.0, 4.0), (9.5, 10.0, 1.0), (3.0, 3.0, 2.0), (0.0, 0.0, 1.0), (10.0, 10.0, 1.0)]
    found = binned(parts, edges)
    assert found == pytest.approx([1 + 1 + 1, 1 + 2 + 2, 1 + 1, 1, 1 + 1 + 1])


@pytest.mark.parametrize("name", ALL)
def test_work_is_undone_where_it_was_done_and_once(name: str) -> None:
    """What roll-backs undid is what is booked as wasted, lies in time that the job worked, and nowhere twice."""
    found = ALL[name]()
    undone = sorted(found.undone())
    assert sum(seconds for _, _, seconds in undone) == pytest.approx(found.row["wasted_s"], abs=1e-9 * found.wall)
    assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(undone))
    assert all(seconds <= (end - begin) * (1.0 + 1e-9) for begin, end, seconds in undone)


def test_a_roll_back_over_a_roll_back() -> None:
    """Nothing is saved: the second failure undoes what was done since the first alone, as all before is undone."""
    of = scenario(mode="all_processes")
    found = record(of, seed=0, replication=0, trace=script(of, Hit("reset_gpu", 100.0), Hit("reset_gpu", 400.0)))
    runs = found.of("runs")[0].at
    assert np.array(found.undone()) == pytest.approx(np.array([[0.0, 100.0, 100.0], [runs, 400.0, 400.0 - runs]]))
    edges = np.linspace(0.0, found.wall, 51)
    shares = sum(_lost(found, column, edges) for column in LEDGER if column != "productive") / np.diff(edges)
    assert shares.max() <= 1.0 + 1e-9


def test_every_column_has_a_colour() -> None:
    assert set(COLOURS) == {WORK, *LEDGER} - {"productive"}
