"""What design points of one study share is worked out once; each is what it would be by itself."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gemsim import resources
from gemsim.analytic.run import predict
from gemsim.errors import GemsimError, NotCovered
from gemsim.protection import reach
from gemsim.protection.recent import Recent
from gemsim.scenario import build
from gemsim.spec.draft import Draft, point_of
from gemsim.spec.loading import LoadedStudy, load_study, resolve_point
from gemsim.study.design import designs_of

STUDIES = sorted(path for path in resources.studies().glob("*.yaml") if path.stem != "replay")  # needs its log
MOST = 6  # points of a study


def points(loaded: LoadedStudy) -> Iterator[dict[str, object]]:
    designs = designs_of(loaded)
    for design in designs[:: max(1, len(designs) // MOST)]:
        yield dict(design.assignments)


def forget() -> None:
    """All that is remembered of other points."""
    building = import_module("gemsim.scenario.build")
    for kept in (reach._ENDS, reach._DECIDED, building._MEMORY, building._CLASSES):
        kept._kept = []


def said(loaded: LoadedStudy, point: dict[str, object]) -> tuple[str, object]:
    try:
        scenario = build(resolve_point(loaded, point))
    except GemsimError as error:
        return "", str(error)
    try:
        return scenario.id, predict(scenario)
    except NotCovered as error:
        return scenario.id, str(error)


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_a_point_is_the_same_after_others_and_alone(study: Path) -> None:
    loaded = load_study(study)
    after = [said(loaded, point) for point in points(loaded)]
    for point, one in zip(points(loaded), after, strict=True):
        forget()
        assert said(loaded, point) == one


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_a_point_read_in_part_is_the_point_read_whole(study: Path) -> None:
    loaded = load_study(study)
    for point in points(loaded):
        draft = Draft(loaded.tree, point_of(loaded.tree.data))
        for path, value in point.items():
            draft.put(path, value, (path,))
        whole, found = draft.check()
        assert not found
        assert resolve_point(loaded, point) == whole


def test_results_are_found_again_by_the_objects_themselves() -> None:
    kept: Recent[object] = Recent(2)
    one, alike, made = [1], [1], list[object]()

    def make() -> object:
        made.append(object())
        return made[-1]

    first = kept.of((one,), 5, make)
    assert kept.of((one,), 5, make) is first
    assert kept.of((alike,), 5, make) is not first  # equal is not the same
    assert kept.of((one,), 5, make) is first  # and is used last
    assert kept.of((one,), 6, make) is not first
    assert kept.of((one,), 5, make) is first
    assert kept.of((alike,), 5, make) is made[-1]  # of two results the older had to go
    assert len(made) == 4
