"""Every file of valid/ loads; every file of invalid/ gives exactly the problems written at its head."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gemsim.errors import StudyError
from gemsim.spec.loading import load_study, parse_study, resolve_point
from gemsim.spec.printing import canonical_yaml, explain, study_hash
from gemsim.study.design import designs_of

HERE = Path(__file__).parent
VALID = sorted((HERE / "valid").glob("*.yaml"))
INVALID = sorted((HERE / "invalid").glob("*.yaml"))


def expectations(path: Path) -> list[tuple[int, list[str]]]:
    """(line, fragments) of each problem that the head of a case promises, one a line: `# LINE: fragment|fragment`."""
    head = [line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    return [(int(line.split(":", 1)[0]), line.split(": ", 1)[1].split("|")) for line in head]


SHIPPED = sorted((HERE.parents[1] / "studies").rglob("*.yaml"))
LOGS = {"replay"}  # studies whose log is no part of the project


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_invalid_study_gives_all_its_problems_with_their_lines(path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        load_study(path)
    found = [str(problem) for problem in caught.value.problems]
    expected = expectations(path)
    assert len(found) == len(expected), "\n".join(found)
    for text, (line, fragments) in zip(found, expected, strict=True):
        assert text.startswith(f"{path}:{line}:"), text
        assert "\n" not in text
        for fragment in fragments:
            assert fragment in text


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_the_canonical_form_of_a_shipped_study_is_that_study(path: Path, quick: bool) -> None:
    if path.stem in LOGS and "GEMSIM_TRACES" not in os.environ:
        pytest.skip("needs the log")
    loaded = load_study(path, quick=quick)
    again = parse_study(canonical_yaml(loaded.spec).encode(), path)
    assert study_hash(again.spec) == study_hash(loaded.spec)
    ours, theirs = designs_of(loaded)[:50], designs_of(again)[:50]
    for one, other in zip(ours, theirs, strict=True):
        assert resolve_point(again, other.assignments) == resolve_point(loaded, one.assignments)


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_valid_study_loads_resolves_and_survives_its_canonical_form(path: Path, quick: bool) -> None:
    loaded = load_study(path, quick=quick)
    again = parse_study(canonical_yaml(loaded.spec).encode(), "canonical.yaml")
    assert study_hash(again.spec) == study_hash(loaded.spec)
    assert canonical_yaml(again.spec) == canonical_yaml(loaded.spec)
    for point in designs_of(loaded):
        resolve_point(loaded, point.assignments)
    rows = explain(loaded)
    assert len({row.path for row in rows}) == len(rows)
    assert all(row.value and row.origin for row in rows)
