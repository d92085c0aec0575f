"""What a design point is called in messages: the values that it varies."""

from __future__ import annotations

from collections.abc import Sequence

from gemsim.results.summary import Point
from gemsim.study.design import DesignPoint

AS_IT_STANDS = "the study as it stands"


def label(point: Point | DesignPoint) -> str:
    """What a point varies, in one line."""
    swept = [f"{path}={value}" for path, value in point.columns.items()]
    return " ".join(([point.variant] if point.variant else []) + swept) or AS_IT_STANDS


def first_points(points: Sequence[Point]) -> dict[str, Point]:
    """Scenario id to its first point, without those that are infeasible."""
    first: dict[str, Point] = {}
    for point in points:
        if point.id:
            first.setdefault(point.id, point)
    return first


def labels(points: Sequence[Point]) -> dict[str, str]:
    """Scenario id to what its first point varies."""
    return {id_: label(point) for id_, point in first_points(points).items()}
