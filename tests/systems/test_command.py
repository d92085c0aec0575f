"""`gemsim systems`: the list, one system, and both as JSON."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

from gemsim.cli.main import main
from gemsim.spec import catalog
from gemsim.spec.protection.kinds import NOT_BUILT
from gemsim.spec.systems import system


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints."""
    assert main(["systems", *arguments]) == 0
    return capsys.readouterr().out


def test_lists_each_with_one_line_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split("\t") for line in shown(capsys).splitlines()]
    assert lines == [[name, system(name).line, system(name).source] for name in catalog.system_names()]


def test_a_narrow_terminal_cuts_no_source(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    page = click.unstyle(shown(capsys))
    assert "…" not in page
    assert max(map(len, page.splitlines())) <= 80
    assert page.count("https://doi.org/10.1145/3600006.3613145") == 3  # whole: GEMINI's and of its two baselines


@pytest.mark.parametrize("name", catalog.system_names())
def test_shows_every_constant_and_assumption(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(shown(capsys, name).split())
    for one in system(name).constants:
        assert " ".join(f"{one.read}: {one.at}".split()) in out
    for part in ("Costs", "Tiers", "In a study", f"protection: {name}"):
        assert part in out


def test_a_study_can_be_copied_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "gem")
    assert "  protection: gem\n  restart: in_place\n" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(shown(capsys, "--json"))
    assert [one["name"] for one in listed] == catalog.system_names()
    one = json.loads(shown(capsys, "gem", "--json"))
    assert one in listed
    assert {"read", "at", "value", "sets"} <= one["constants"][0].keys()
    assert (one["usable"], one["missing"]) == (True, [])


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems", "gemmini"]) == 2
    assert "unknown system ('gemmini')" in capsys.readouterr().err


def test_what_is_not_usable_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from gemsim.spec import systems

    monkeypatch.setitem(NOT_BUILT, "undo_log", "use checkpoint")
    systems._system.cache_clear()
    try:
        assert "not usable yet: the tier undo_log is not built" in shown(capsys)
        assert json.loads(shown(capsys, "trainingcxl", "--json"))["usable"] is False
    finally:
        systems._system.cache_clear()


def test_starts_without_the_engine() -> None:
    code = "import sys; from gemsim.cli.main import main; main(['systems', 'gem'])\n"
    code += "sys.exit(any(name in sys.modules for name in ('simpy', 'scipy', 'pyarrow', 'rich')))"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
