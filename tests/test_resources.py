"""The data that ships with the package is found in a checkout, and where a wheel puts it (tests/wheel builds one)."""

from __future__ import annotations

import tomllib
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
