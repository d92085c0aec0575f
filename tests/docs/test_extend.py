"""docs/extend.md is true: its files and changes, put into a copy of the project, do what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from gemsim import resources
from gemsim.cli.main import main
from tests.docs import pages

PAGE = "docs/extend.md"
NEW = [one for one in pages.BLOCKS if one.page == PAGE and one.file and one.language != "diff"]
CHANGES = pages.of(PAGE, "diff", files=True)
LINES = "my-lines.yaml"
MAPPED = {
    "`undo_log` (the keys": "`undo_log`, `vault` (the keys",
    "`undo_log`, `batches`": "`undo_log`, `vault`, `batches`",
}
MAPPED |= {
    "`peer_copy` (geometry": "`peer_copy`, `vault` (geometry",
    "`relatives` (ECRec": "`nightly`, `relatives` (ECRec",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(change.file))
def test_a_change_fits_the_file_that_it_names(change: pages.Block) -> None:
    assert pages.changed(pages.read(change.file), change.text) != pages.read(change.file)


def test_the_counts_of_the_table_are_those_of_the_page() -> None:
    (row,) = re.findall(r"^\| \[a tier\]\(#a-tier\) \| four new, eight changed \|", pages.read(PAGE), re.MULTILINE)
    tier = pages.read(PAGE).index("## A tier")
    after = [one for one in NEW + CHANGES if one.line > pages.read(PAGE).count("\n", 0, tier)]
    assert row
    assert len({one.file for one in after if one in NEW} - {LINES}) == 4
    assert len({one.file for one in after if one in CHANGES}) == 8


def _published(folder: Path) -> Path:
    """A copy of the catalogue with the files of the page."""
    shutil.copytree(resources.published(), folder / "published")
    for one in NEW:
        if one.file.startswith("calibration/published/"):
            (folder / one.file.removeprefix("calibration/")).write_text(one.text, encoding="utf-8")
    return folder / "published"


def _study(path: Path, **lines: Any) -> str:
    yaml = YAML(typ="safe")
    (base,) = pages.of("README.md", "yaml")
    with path.open("w", encoding="utf-8") as stream:
        yaml.dump({**yaml.load(base.text), **lines}, stream)
    return str(path)


def test_a_system_and_a_mix_are_one_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _published(tmp_path)
    monkeypatch.setattr(resources, "published", lambda: folder)
    assert main(["systems", "nightly"]) == 0
    assert "stall of a save: 2 s -> checkpoint.blocked; assumption" in capsys.readouterr().out
    sweep = {"grid": {"protection.checkpoint.interval": ["24 h", "1 h"]}}
    study = _study(tmp_path / "study.yaml", failures="campus-2026", protection="nightly", sweep=sweep)
    assert main(["check", study]) == 0
    shown = capsys.readouterr().out
    assert "2 feasible, 0 infeasible" in shown
    assert "31 outages in 181 d" in shown


def test_a_modelled_device_is_a_line_and_a_gpu_type_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (change,) = [one for one in CHANGES if one.file == "calibration/modelled.py"]
    calibration = tmp_path / "calibration"
    calibration.mkdir()
    script = calibration / "modelled.py"
    script.write_text(pages.changed(pages.read(change.file), change.text), encoding="utf-8")
    subprocess.run([sys.executable, str(script)], check=True)
    (gpus,) = [one for one in CHANGES if one.file == "calibration/published/gpus.yaml"]
    folder = _published(tmp_path)
    (folder / "gpus.yaml").write_text(pages.changed(pages.read(gpus.file), gpus.text), encoding="utf-8")
    monkeypatch.setattr(resources, "profiles", lambda: calibration / "profiles")
    monkeypatch.setattr(resources, "published", lambda: folder)
    (base,) = pages.of("README.md", "yaml")
    cluster = {**YAML(typ="safe").load(base.text)["cluster"], "gpu": "b200-180gb"}
    assert main(["check", _study(tmp_path / "study.yaml", cluster=cluster)]) == 0
    assert re.search(r"profile +nvidia-b200/modelled#\w+ +modelled, not measured", capsys.readouterr().out)


@pytest.mark.long
def test_all_of_the_page_in_a_copy_of_the_project(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    unwanted = shutil.ignore_patterns(".*", "out", "build", "dist", "__pycache__")
    shutil.copytree(pages.ROOT, copy, ignore=unwanted)
    for one in NEW:
        (copy / one.file).write_text(one.text, encoding="utf-8")
    for one in CHANGES:
        (copy / one.file).write_text(pages.changed(pages.read(one.file), one.text), encoding="utf-8")
    architecture = copy / "ARCHITECTURE.md"
    text = architecture.read_text(encoding="utf-8")
    for old, new in MAPPED.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    architecture.write_text(text, encoding="utf-8")
    lines = YAML(typ="safe").load((copy / LINES).read_text(encoding="utf-8"))
    _study(copy / "my.yaml", **lines)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "kernels")])}

    def done(*words: str) -> str:
        found = subprocess.run(
            [sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert found.returncode == 0, found.stdout + found.stderr
        return found.stdout

    for script in ("calibration/modelled.py", "docs/make_reference.py", "docs/make_tables.py"):
        done(script)
    swept = done("-m", "gemsim.cli.main", "sweep", "my.yaml", "--replications", "2", "--jobs", "1")
    assert re.search(r"recovered by: vault 9\d", swept)
    assert "Ceiling: no tier that works in GPU memory touches any of the failures here." in swept
    assert "1 of 1 pass" in done("-m", "gemsim.cli.main", "validate", "--only", "nightly")
    tests = ["tests/docs/test_reference.py", "tests/protection/test_vault.py", "tests/costs/test_published.py"]
    done("-m", "pytest", "-n", "0", "-q", *tests, "tests/validate/test_framework.py::test_every_paper_has_its_rows")
