"""The data that ships with the package is found in a checkout and rides in the wheel."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from gemsim import resources

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"profiles": resources.profiles, "published": resources.published, "studies": resources.studies}


def test_a_checkout_holds_all_folders() -> None:
    for folder in FOLDERS.values():
        assert any(folder().iterdir())


def test_the_wheel_takes_each_folder_to_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = config["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    monkeypatch.setattr(resources, "_INSTALLED", tmp_path)
    assert sorted(included.values()) == sorted(f"gemsim/_data/{folder().name}" for folder in FOLDERS.values())
    assert all((ROOT / source).is_dir() for source in included)


@pytest.mark.long
def test_a_wheel_holds_both_packages_and_the_data(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("gemsim-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (
        "gemsim/py.typed",
        "gemsim_kernels/codes.py",
        "gemsim_kernels/py.typed",
        "gemsim/_data/published/failures/llama3-2024.yaml",
        "gemsim/_data/profiles/nvidia-h100/modelled/profile.json",
        "gemsim/_data/studies/widths.yaml",
    ):
        assert path in names
    assert not any(name.startswith(("tests/", "benchmarks/", "calibration/")) for name in names)
