"""Logs of a run: ledgers worked out by hand, both formats, and what is refused with its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gemsim.errors import ValueRefused
from gemsim.study.backtest.account import Account, account, merged
from gemsim.study.backtest.fit import fit, split
from gemsim.study.backtest.read import read_run
from tests.faults import must_reject, replaced

PLAIN = """time,event,step
# 10 s to start, then steps of 5 s; a save of 2 s after step 2; the job stops 3 s into step 4 and goes back to step 2
0,restart,
10,step,0
15,step,1
20,save_start,
22,save_end,
22,step,2
27,step,3
32,step,4
35,failure,
41,restart,
45,restore_start,
47,restore_end,
48,step,2
53,step,3
58,step,4
63,step,5
68,pause_start,
70,pause_end,
71,planned,
80,restart,
82,step,6
87,step,7
92,end,
"""
# Work of 10 + 10 + 3 in the first life, of which 13 are lost; 15 + 5 + 1 in the second, 10 in the third.
SECONDS = {
    "productive": 10.0 + 20.0 + 10.0, "overhead": 2.0, "wasted": 13.0 + 1.0, "detection": 6.0,
    "restart": 10.0 + 4.0 + 1.0 + 2.0, "recovery": 2.0, "planned": 9.0, "other": 2.0,
}  # fmt: skip


def file(folder: Path, text: str, name: str = "run.csv") -> Path:
    """The text as a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def told(found: Account) -> dict[str, float]:
    """The categories that took time."""
    return {name: seconds for name, seconds in found.seconds.items() if seconds}


def test_a_ledger_by_hand(tmp_path: Path) -> None:
    log = read_run(file(tmp_path, PLAIN))
    found = account(log)
    assert told(found) == pytest.approx(SECONDS)
    assert sum(found.seconds.values()) == pytest.approx(found.wall) == log.seconds
    (stop,), (planned,) = found.failures, [one for one in found.stops if one.planned]
    assert (stop.stood, stop.lost, planned.seconds["planned"]) == (13.0, 13.0, 9.0)
    assert (found.saves, found.every) == ([2.0], [2])
    assert found.steps == [(4, 20.0), (3, 15.0), (1, 5.0)]


def test_a_part_closes_by_itself_and_knows_what_a_roll_back_takes_from_the_other(tmp_path: Path) -> None:
    text = PLAIN.replace("82,step,6\n87,step,7", "82,step,1\n87,step,2")
    first, rest = split(read_run(file(tmp_path, text)), 0.3)
    assert first.events[-1] == rest.events[0]
    assert first.events[-1].step == 2
    parts = [account(one) for one in (first, rest)]
    assert [sum(one.seconds.values()) for one in parts] == pytest.approx([48.0, 44.0])
    assert parts[1].beyond == pytest.approx(5.0)
    assert fit(first)[0].failures == 1


def test_what_a_log_does_not_say_is_told_together(tmp_path: Path) -> None:
    bare = "time,event\n0,run\n100,failure\n130,run\n200,failure\n260,run\n300,end\n"
    log = read_run(file(tmp_path, bare))
    assert told(account(log)) == {"productive": 210.0, "detection": 90.0}
    groups = merged(log)
    assert groups["productive + degraded + wasted + overhead"] == ("productive", "degraded", "wasted", "overhead")
    assert groups["detection + waiting + restart + recovery"][0] == "detection"


def goodput(job: str = "run") -> list[dict[str, Any]]:
    """The entries that ml-goodput-measurement would have written of PLAIN."""
    entries: list[dict[str, Any]] = [{"job_start_time": 0.0}, {"tpu_init_start_time": 1.0}, {"tpu_init_end_time": 4.0}]
    entries += [
        {"step_count": n, "step_start_time": t} for n, t in ((0, 10.0), (1, 15.0), (2, 22.0), (3, 27.0), (4, 32.0))
    ]
    save = {"event_type": "save", "step": 1, "checkpoint_manager_blocking_start_time": 20.0}
    entries.append(save | {"checkpoint_manager_blocking_duration_secs": 2.0})
    entries += [{"job_start_time": 41.0}]
    read = {"event_type": "restore", "step": 1, "checkpoint_manager_start_time": 45.0}
    entries.append(read | {"checkpoint_manager_duration_secs": 2.0})
    entries += [{"step_count": n, "step_start_time": t} for n, t in ((2, 48.0), (3, 53.0), (4, 58.0), (5, 63.0))]
    entries += [{"custom_badput_event_type": "eval", "custom_badput_event_start_time": 68.0}]
    entries += [{"custom_badput_event_type": "eval", "custom_badput_event_end_time": 70.0}]
    entries += [{"job_end_time": 71.0}, {"job_start_time": 80.0}]
    entries += [{"step_count": n, "step_start_time": t} for n, t in ((6, 82.0), (7, 87.0))]
    return [{"job_name": job, **one} for one in (*entries, {"job_end_time": 92.0})]


def as_csv(entries: list[dict[str, Any]]) -> str:
    """The entries as a table, a column for each key."""
    keys = list(dict.fromkeys(key for one in entries for key in one))
    return "\n".join([",".join(keys), *(",".join(str(one.get(key, "")) for key in keys) for one in entries)]) + "\n"


@pytest.mark.parametrize("form", ["lines", "exported", "array", "csv"])
def test_a_goodput_log_is_the_same_but_for_when_the_job_failed(tmp_path: Path, form: str) -> None:
    """No failure is recorded: from the start of the step that was cut off on, the job counts as down."""
    entries = goodput()
    wrapped = [{"jsonPayload": one, "severity": "INFO"} for one in entries]
    text = {
        "lines": "\n".join(map(json.dumps, entries)), "exported": "\n".join(map(json.dumps, wrapped)),
        "array": json.dumps(entries), "csv": as_csv(entries),
    }[form]  # fmt: skip
    found = account(read_run(file(tmp_path, text)))
    assert told(found) == pytest.approx(SECONDS | {"wasted": 14.0 - 3.0, "detection": 9.0})


def _row(number: int, text: str) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        lines[number - 1] = text

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_row(4, "ten,step,0"), ":4: not a time ('ten'); seconds, or ISO 8601"),
        (_row(4, "nan,step,0"), ":4: not a time ('nan')"),
        (_row(5, "5,step,1"), ":5: time goes back (5, after 10 on line 4)"),
        (_row(5, "15,steps,1"), ":5: unknown event ('steps'); one of step, run,|did you mean 'step'?"),
        (_row(5, "15,step,"), ":5: not a step number ('')"),
        (_row(5, "15,step,1.5"), ":5: not a step number ('1.5')"),
        (_row(5, "15,step"), ":5: 2 columns ('15,step'); 3, as in the heading"),
        (_row(1, "time,what,step"), ":1: no column event"),
        (_row(6, "20,save_end,"), ":6: save_end after step on line 5; save_end after save_start"),
        (_row(9, "27,step,1"), ":9: step 1 after step 2 without a stop between|add the failure or restart row"),
        (_row(16, "53,run,"), ":16: run in a log that has steps"),
        (_row(20, "68,end,"), ":21: planned after end on line 20"),
    ],
)
def test_a_row_that_cannot_be_is_one_line_with_its_place(
    tmp_path: Path, change: Callable[[list[str]], None], said: str
) -> None:
    lines = PLAIN.splitlines()
    change(lines)
    with pytest.raises(ValueRefused) as caught:
        read_run(file(tmp_path, "\n".join(lines)))
    message = str(caught.value)
    assert "\n" not in message
    assert all(part in message for part in said.split("|")), message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("time,event,step\n", ":1: no rows below the heading"),
        ("time,event,step\n0,restart,\n", ":2: no step"),
        ("time,event,step\n1,step,0\n1,step,1\n", "all events at one time"),
        (
            '{"job_name": "a", "job_start_time": 1}\n{"job_name": "b", "job_start_time": 1}',
            ":2: a second job ('a', 'b')",
        ),
        ('{"job_start_time": 1}\n{"job_start_time": }', ":2: not JSON"),
        ('{"job_start_time": 1}\n[1]', ":2: not an object ([1])"),
        ('{"job_start_time": 1}\n{"elastic_wait_start_time": 2}', ":2: an entry that is not known"),
        ('{"job_start_time": "now"}', ":1: job_start_time: not a number ('now')"),
        ('{"step_start_time": 3}', ":1: step_count: not a number (nothing)"),
    ],
)
def test_a_log_that_says_too_little_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueRefused) as caught:
        read_run(file(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_save_that_a_failure_cuts_off_tells_no_time(tmp_path: Path) -> None:
    """It is overhead all the same."""
    cut = PLAIN.replace("32,step,4\n35,failure,", "32,step,4\n34,save_start,\n35,failure,")
    found = account(read_run(file(tmp_path, cut)))
    assert found.saves == [2.0]
    assert found.seconds["overhead"] == 3.0


def test_pauses_and_stops_on_purpose_stand_aside(tmp_path: Path) -> None:
    """With the restart of such a stop and the work it lost; the others add up to what is judged."""
    found = account(read_run(file(tmp_path, PLAIN)))
    aside = {"other": 2.0, "planned": 9.0, "restart": 2.0, "wasted": 1.0}
    assert {name: one for name, one in found.aside.items() if one} == pytest.approx(aside)
    assert sum(found.judged.values()) == pytest.approx(92.0 - 14.0)
    assert found.up == pytest.approx(SECONDS["productive"] + SECONDS["wasted"] + SECONDS["overhead"])


def test_entries_that_stand_there_twice_count_once(tmp_path: Path) -> None:
    lines = [json.dumps(one) for one in goodput()]
    once = read_run(file(tmp_path, "\n".join(lines)))
    twice = read_run(file(tmp_path, "\n".join(line for line in lines for _ in range(2))))
    assert account(twice).seconds == account(once).seconds
    assert "twice are counted once" in twice.notes[0]
    assert not once.notes
    assert account(once).saves == [2.0]


def test_a_gap_that_counts_as_work_is_said(tmp_path: Path) -> None:
    rows = [f"{30 * n + (36000 if n > 50 else 0)},step,{n}" for n in range(100)]
    (note,) = read_run(file(tmp_path, "time,event,step\n" + "\n".join(rows))).notes
    assert note.startswith("10.01 h between lines 52 and 53 count as work, though a step takes 30 s")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(PLAIN, encoding="utf-16")
    with pytest.raises(ValueRefused, match=r"wide\.csv: not UTF-8 text"):
        read_run(tmp_path / "wide.csv")
    with pytest.raises(ValueRefused, match="cannot be read"):
        read_run(tmp_path / "none.csv")


def test_a_planted_fault_in_the_roll_back_is_rejected(tmp_path: Path) -> None:
    must_reject(
        lambda: test_a_ledger_by_hand(tmp_path),
        replaced("gemsim.study.backtest.account:_Reader._back_to", lambda _: lambda self, step: None),
    )
