"""A study is data: it runs nothing, and names two kinds of files only, a log and a profile, by a rule."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gemsim.cli.main import main
from gemsim.costs.profiles import load_profile
from gemsim.errors import GemsimError, ProfileError, StudyError, ValueRefused
from gemsim.failures.logs.load import Request, observe
from gemsim.files import first_of, leads_out, read_file, size_of
from gemsim.spec.loading import load_study
from gemsim.spec.replay import TRACES
from gemsim.study.backtest.read import read_run
from gemsim.study.plan import MODEL
from gemsim.study.reopen import reopen
from tests.fuzz.cases import REPLAYED, SWEPT
from tests.fuzz.mutate import TAGS, bomb
from tests.fuzz.watch import watched
from tests.logs.synthetic import TRAPS, write

ROOT = Path(__file__).resolve().parents[2]
TEXT = ("!!str 5", "!!timestamp 2024-01-01")  # tags of plain text, which a title is
SECRET = "root:$6$secret:19000:0:99999:7:::\nuser:x:1000:1000::/home/user:/bin/sh\n"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found but what a test puts somewhere."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.delenv(TRACES, raising=False)


def study(folder: Path, text: str = REPLAYED, **changes: str) -> Path:
    """The text as a file, with words exchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    for old, new in changes.items():
        text = text.replace(old.replace("__", "."), new)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return folder / "study.yaml"


def refused(path: Path) -> str:
    with pytest.raises(StudyError) as caught:
        load_study(path)
    return str(caught.value)


@pytest.mark.parametrize("tag", [tag.text for tag in TAGS if tag.text.startswith("!") and tag.text not in TEXT])
def test_no_tag_is_obeyed(tag: str, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "other.yaml").write_text("title: included\n")
    path = study(tmp_path / "s", SWEPT.replace("title: Small", f"title: {tag}\nnotes: x"))
    with watched():
        told = refused(path)
    assert "title" in told
    assert "included" not in told
    assert not list(tmp_path.rglob("fuzz-was-here"))


def test_a_bomb_of_aliases_is_refused_in_bounded_work(tmp_path: Path) -> None:
    path = study(tmp_path, SWEPT.replace("title: Small", f"title: Small\nnotes: {bomb(9).text}"))
    with watched(cpu_s=5.0):
        assert "once aliases are expanded" in refused(path)


def test_the_environment_is_no_part_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "log.csv")
    write(tmp_path)
    for name in ("$SECRET", "${SECRET}", "~/log.csv", "%SECRET%"):
        assert "no such file" in refused(study(tmp_path, log__csv=f"'{name}'"))


def place_of(path: Path) -> Path:
    """Where the log of a study was found."""
    replay = load_study(path).spec.failures.replay
    assert replay is not None
    return replay.observed().request.path


def test_a_log_is_looked_for_in_the_study_s_folder_then_here_then_among_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study(tmp_path / "studies")
    (tmp_path / "logs").mkdir()
    monkeypatch.setenv(TRACES, str(tmp_path / "logs"))
    for folder in (tmp_path / "logs", tmp_path / "cwd", tmp_path / "studies"):  # each is preferred to those before
        write(folder, TRAPS.replace("blue", folder.name))
        assert place_of(path) == folder / "log.csv"


@pytest.mark.parametrize("name", ["../log.csv", "a/../../log.csv", "./../log.csv", "../studies/log.csv", ".."])
def test_a_relative_name_leads_nowhere_outside_the_folder(name: str, tmp_path: Path) -> None:
    write(tmp_path)
    told = refused(study(tmp_path / "studies", log__csv=name))
    assert "leads out of the study's folder" in told
    assert "study.yaml:7:" in told
    told = refused(study(tmp_path / "studies", SWEPT + f"profile: {name}\n"))
    assert "leads out of the study's folder" in told


def test_an_absolute_path_is_the_user_s_own(tmp_path: Path) -> None:
    log = write(tmp_path)
    assert place_of(study(tmp_path / "studies", log__csv=str(log))) == log


def test_a_profile_is_looked_for_in_the_study_s_folder_then_here(tmp_path: Path) -> None:
    path = study(tmp_path / "studies", SWEPT + "profile: own/2026-01-01\n")
    shipped = next((ROOT / "calibration" / "profiles").glob("cpu-*/*/profile.json"))
    for folder, launch in ((tmp_path / "cwd", "1e-5"), (tmp_path / "studies", "2e-5")):
        there = folder / "own" / "2026-01-01" / "profile.json"
        there.parent.mkdir(parents=True)
        text = shipped.read_text().replace(shipped.parent.parent.name, "own").replace("2026-11-29", "2026-01-01")
        there.write_text(text.replace('"conditions": "', f'"conditions": "{launch} '))
        spec = load_study(path).spec
        assert load_profile(spec.profile, spec.folder).conditions.startswith(launch)
        MODEL.build(spec)


def test_a_sweep_is_opened_again_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder keeps a copy of the study: the names in it still start where the study was."""
    write(tmp_path / "cwd")
    (tmp_path / "cwd" / "log.csv").rename(study(tmp_path / "studies").with_name("log.csv"))
    out = tmp_path / "out"
    assert main(["sweep", "../studies/study.yaml", "--out", str(out), "--jobs", "1"]) == 0
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    assert len(reopen(out).summary.rows) == 2


@pytest.mark.parametrize("read", [lambda path: observe(Request(path)), read_run])
def test_what_a_file_holds_is_not_told(read: Callable[[Path], object], tmp_path: Path) -> None:
    """A file that is no log could be anybody's: of its lines none is shown, and of its first line only names."""
    path = tmp_path / "shadow"
    path.write_text(SECRET)
    with pytest.raises(ValueRefused) as caught:
        read(path)
    assert "secret" not in str(caught.value)
    assert "19000" not in str(caught.value)


def test_what_a_log_of_a_study_holds_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text(SECRET)
    told = refused(study(tmp_path, log__csv="shadow"))
    assert "names of columns" in told
    assert "secret" not in told


def test_what_a_profile_holds_is_not_told(tmp_path: Path) -> None:
    there = tmp_path / "a" / "2026-01-01" / "profile.json"
    there.parent.mkdir(parents=True)
    there.write_text(SECRET)
    with pytest.raises(ProfileError) as caught:
        load_profile(str(there))
    assert "secret" not in str(caught.value)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    if len(str(path)) > 100:
        pytest.skip("a socket has no so long a name")
    socket.socket(socket.AF_UNIX).bind(str(path))


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def gone(path: Path) -> None:
    path.symlink_to("nowhere")


def huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(2**43)


READERS: dict[str, Callable[[Path], object]] = {
    "study": load_study,
    "log": lambda path: observe(Request(path)),
    "exposure": lambda path: observe(Request(write(path.parent, name="good.csv"), window_h=100.0, exposure=path)),
    "run": read_run,
    "profile": lambda path: load_profile(str(path)),
    "bench": lambda path: _command("calibrate", "--from", str(path)),
    "replayed": lambda path: load_study(study(path.parent / "s", log__csv=str(path))),
    "meta": lambda path: observe(Request(write(path.parent, name="good.csv"), window_h=100.0)).nodes or 1 / 0,
}


def _command(*words: str) -> None:
    if main(words) == 2:
        raise ValueRefused("refused")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [pipe, unix_socket, device, folder, loop, gone, huge], ids=lambda make: make.__name__)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_plain_file_is_refused_at_once(
    reader: str, make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that nobody writes, a device without end, a folder, a broken link, 8 TiB of holes."""
    path = tmp_path / ("meta.json" if reader == "meta" else "profile.json" if reader == "profile" else "it")
    make(path)
    if reader == "meta" and make is not huge:  # what lies beside a log and is no file is no meta.json
        with pytest.raises((ZeroDivisionError, GemsimError)), watched(tmp_path, cpu_s=10.0):
            READERS[reader](path)
        return
    with pytest.raises(GemsimError) as caught, watched(tmp_path, cpu_s=10.0):
        READERS[reader](path)
    assert "\n" not in str(caught.value).strip()


def test_standard_input_is_no_study_and_keeps_nobody_waiting() -> None:
    command = [sys.executable, "-m", "gemsim.cli.main", "check", "/dev/stdin"]
    reading, writing = os.pipe()
    done = subprocess.run(command, stdin=reading, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
    os.close(writing)
    os.close(reading)
    assert done.returncode == 2
    assert "a pipe, not a file" in done.stderr


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    log = write(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "log.csv").symlink_to(log)
    assert place_of(study(tmp_path / "studies")) == log


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("a\0b", "\ud800", "x" * 5000, ""):
        assert first_of(name, (tmp_path,)) is None or not name
        with pytest.raises(OSError, match=r"\S"):
            size_of(tmp_path / name, most=10)


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", most=5) == b"12345"
    with pytest.raises(OSError, match="at most 4"):
        read_file(tmp_path / "a", most=4)
    shutil.copy(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(
    ("name", "out"), [("a", False), ("a/b/..", False), ("..a", False), ("..", True), ("a/../..", True), ("/..", False)]
)
def test_leading_out(name: str, out: bool) -> None:
    assert leads_out(name) == out
