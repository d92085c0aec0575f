"""Profiles: the shipped ones are what their generator writes; a bad or missing one is refused with a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibration import modelled
from gemsim import resources
from gemsim.costs.profiles import Profile, load_profile, profile_names
from gemsim.errors import ProfileError

Write = Callable[..., str]


@pytest.mark.parametrize("device", sorted(modelled.DEVICES))
def test_a_shipped_profile_is_what_its_generator_writes(device: str) -> None:
    path = resources.profiles() / device / "modelled" / "profile.json"
    assert path.read_text() == modelled.text(modelled.profile(device))


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_profile_loads_and_says_what_it_rests_on(name: str) -> None:
    profile = load_profile(name)
    assert f"{profile.device}/{profile.date}" == name
    assert profile.kind == ("modelled" if profile.date == "modelled" else "measured")
    assert profile.provenance["copy_bandwidth"]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a profile of device `d`, with some keys changed, where load_profile looks for it."""
    monkeypatch.setattr(resources, "profiles", lambda: tmp_path)
    base = {
        "format": 1, "device": "d", "date": "modelled", "source": "modelled", "copy_bandwidth": 1e12, "launch": 0.0,
        "provenance": {"ratio": "made up"},
        "points": [{"op": "encode", "field": 8, "k": 4, "rows": 2, "ratio": 0.5, "low": 0.4, "high": 0.6}],
    }  # fmt: skip

    def _write(folder: str = "modelled", **changes: Any) -> str:
        path = tmp_path / "d" / folder / "profile.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(base | changes))
        return f"d/{folder}"

    return _write


def test_a_device_means_its_newest_measured_profile(write: Write) -> None:
    write()
    assert load_profile("d").kind == "modelled"
    for day in ("2026-01-31", "2026-02-01"):
        write(day, date=day, source="measured")
    assert load_profile("d").date == "2026-02-01"
    assert load_profile("d/2026-01-31").date == "2026-01-31"
    assert load_profile("d/modelled").kind == "modelled"


def test_an_edited_profile_is_another_profile(write: Write) -> None:
    first = load_profile(write())
    second = Profile.model_validate(first.model_dump() | {"copy_bandwidth": 1.1e12})
    assert first.id.startswith("d/modelled#")
    assert first.id != second.id


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "measured"}, "does not go with source"),
        ({"copy_bandwidth": -1.0}, "copy_bandwidth"),
        ({"points": []}, "points"),
        ({"provenance": {}}, "say where each number is from"),
        ({"format": 2}, "format"),
        ({"speed": 1.0}, "speed"),
        ({"device": "e"}, "says it is e/modelled"),
        ({"points": [{"op": "encode", "field": 8, "k": 4, "rows": 2, "ratio": 0.5, "low": 0.6, "high": 0.7}]}, "band"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused(write: Write, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        load_profile(write(**changes))


def test_a_missing_profile_names_the_nearest() -> None:
    with pytest.raises(ProfileError, match="did you mean 'nvidia-h100'"):
        load_profile("nvidia-h1000")
    devices = ", ".join(sorted({name.partition("/")[0] for name in profile_names()}))
    with pytest.raises(ProfileError, match=f"one of {re.escape(devices)}$"):
        load_profile("../../etc/passwd")
