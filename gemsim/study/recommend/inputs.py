"""The numeric inputs of a study, each with the range it is moved over, and a study with one of them moved.

Times, bandwidths, sizes, shares and rates are inputs. Whole numbers are choices, and what is decided is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast, get_args, get_origin

from gemsim import units
from gemsim.costs.profiles import Profile, load_profile
from gemsim.scenario import Scenario, build
from gemsim.spec.failures import FailureClassSpec
from gemsim.spec.laws import LawSpec
from gemsim.spec.prices import Price
from gemsim.spec.protection.tier import Tier
from gemsim.spec.study import StudySpec
from gemsim.spec.types import Model, Quantity

SPAN = 10.0  # an input is moved from a tenth to ten times its value; a share over all it can be
MOVED = ("time", "bandwidth", "bytes", "share")  # dimensions of inputs; plain numbers are mostly choices
SECTIONS = ("cluster", "workload", "restart", "failures", "fleet", "protection", "prices", "run")
LEFT_OUT = ("run.max_wall", "workload.tokens_per_step", "failures.page")  # change no result, or are geometry
SPEED = "profile.speed"  # of coding, as a multiple of what the profile holds
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One number: its path, where it stands, its value in SI and the ends of its range."""

    path: str
    place: Place
    dimension: str  # of units, or rate, or price (in the currency of the study)
    value: float
    low: float
    high: float
    per: units.Per = "job"  # of a rate

    @property
    def names(self) -> tuple[str, ...]:
        """The paths by which a study may call it."""
        written = ".".join(self.place)
        return self.path, written, written.removesuffix(".mean")

    def show(self, value: float) -> str:
        """A value of this input with its unit, to four digits."""
        if self.dimension == "rate":
            return f"{value * 86400.0:.4g} / {'' if self.per == 'job' else f'{self.per} '}d"
        if self.dimension == "price":
            return f"{value:.4g}"
        if self.dimension == "count":
            return f"×{value:.3g}"
        return units.brief(value, cast(units.Dimension, self.dimension))

    def between(self, share: float) -> float:
        """A value of the range: by factors where that is positive, evenly otherwise."""
        if self.low > 0.0 and self.dimension != "share":
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share

    @property
    def at(self) -> float:
        """Where in the range the value lies, from 0 to 1."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.between(middle) < self.value else (low, middle)
        return (low + high) / 2.0


def inputs_of(spec: StudySpec, scenario: Scenario, decided: Collection[str]) -> list[Input]:
    """All inputs of a design point; one that is zero, and no share, has no multiples and is left out."""
    found = [one for section in SECTIONS for one in _walk(spec, section, (section,), section)]
    if spec.failures.replay is None:
        found += [one for each in spec.failures.resolved() for one in _of_class(each, spec)]
    if spec.restart.communicator is None:
        found.append(_input("restart.communicator", ("restart", "communicator"), "time", scenario.restart.communicator))
    if any(tier.kind == "stripe" for tier in spec.protection):
        found.append(Input(SPEED, (SPEED,), "count", 1.0, 1.0 / SPAN, SPAN))
    kept = {one.path: one for one in found if one.low < one.value < one.high or one.dimension == "share"}
    return [one for path, one in kept.items() if path not in decided and path not in LEFT_OUT]


def _walk(model: Model, name: str, place: Place, path: str) -> Iterator[Input]:
    """The inputs in one field of a model, and below it; classes of failures have rows of their own."""
    value = getattr(model, name)
    if name == "classes" or value is None:
        return
    if isinstance(value, Model) and not isinstance(value, LawSpec):
        for below in type(value).model_fields:
            yield from _walk(value, below, (*place, below), f"{path}.{below}")
    elif isinstance(value, Price):
        yield _input(path, place, "price", value.amount)
    elif isinstance(value, tuple):
        for one in (part for part in value if isinstance(part, Model)):
            for below in type(one).model_fields:
                yield from _walk(one, below, (*place, key_of(one), below), f"{path}.{key_of(one)}.{below}")
    else:
        yield from _number(model, name, place, path)


def _number(model: Model, name: str, place: Place, path: str) -> Iterator[Input]:
    """The input in a field that holds a number or a law of times."""
    value, info = getattr(model, name), type(model).model_fields[name]
    if isinstance(value, LawSpec):
        yield _input(path, (*place, "mean"), "time", value.mean)
    elif path == "failures.scale":
        yield Input(path, place, "count", value, value / SPAN, value * SPAN)
    elif isinstance(value, float):
        bound = next((part for part in (*_parts(info.annotation), *info.metadata) if isinstance(part, Quantity)), None)
        if bound is not None and bound.dimension in MOVED:
            yield _input(path, place, bound.dimension, value, bound.low, bound.high)


def key_of(part: Model) -> str:
    """By what a part of a list is called: the label of a tier, else the name."""
    return part.label if isinstance(part, Tier) else str(getattr(part, "name", ""))


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and all that is nested in it."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _parts(part)


def _input(path: str, place: Place, dimension: str, value: float, low: float = 0.0, high: float = 1e30) -> Input:
    if dimension == "share":
        return Input(path, place, dimension, value, low, high)
    return Input(path, place, dimension, value, max(low, value / SPAN), min(high, value * SPAN))


def _of_class(one: FailureClassSpec, spec: StudySpec) -> Iterator[Input]:
    """Rate, detection, repair and containment of a failure class, as all overrides leave them."""
    place, path = ("failures", "classes", one.name), f"failures.{one.name}"
    rate = one.rate.value
    yield Input(f"{path}.rate", (*place, "rate"), "rate", rate, rate / SPAN, rate * SPAN, one.rate.per)
    yield _input(f"{path}.detect", (*place, "detect", "mean"), "time", one.detect.mean)
    if one.repair is not None and spec.fleet.repair is None:
        yield _input(f"{path}.repair", (*place, "repair", "mean"), "time", one.repair.mean)
    if one.contained is not None and spec.failures.contained is None:
        yield _input(f"{path}.contained", (*place, "contained"), "share", one.contained, 0.0, 1.0)


def spelled_out(spec: StudySpec) -> StudySpec:
    """The same study with its classes in place of the name of the mix, so that each can be moved."""
    if spec.failures.replay is not None:
        return spec
    failures = spec.failures
    written = failures.model_copy(update={"mix": None, "scale": 1.0, "classes": failures.resolved()})
    return spec.model_copy(update={"failures": written})


def moved(spec: StudySpec, one: Input, value: float) -> tuple[StudySpec, Profile]:
    """A study in which one input has another value, and the profile it is built with; parts it lacks stay away."""
    profile = _profile(spec.profile, spec.folder)
    if one.path == SPEED:
        return spec, faster(profile, value)
    if one.path == "failures.scale":  # the classes were written out at the value it has
        return _put(spec, one, value / one.value), profile
    return _put(spec, one, value), profile


_profile = lru_cache(maxsize=16)(load_profile)  # its folder is not searched again for every value


def _put(spec: StudySpec, one: Input, value: float) -> StudySpec:
    found = _with(spec, one.place, value)
    assert isinstance(found, StudySpec)
    return found


def _with(part: Any, place: Place, value: float) -> Any:
    """A part with a number put at a place below it."""
    if not place:
        if isinstance(part, Price):
            return part._replace(amount=value)
        return units.Rate(value, part.per) if isinstance(part, units.Rate) else value
    if isinstance(part, tuple):
        return tuple(_with(one, place[1:], value) if key_of(one) == place[0] else one for one in part)
    if place[0] not in type(part).model_fields:
        return part
    return part.model_copy(update={place[0]: _with(getattr(part, place[0]), place[1:], value)})


def faster(profile: Profile, factor: float) -> Profile:
    """A profile whose device codes faster by a factor."""
    changed = [
        point.model_copy(
            update={
                **{key: getattr(point, key) * factor for key in ("ratio", "low", "high")},
                "bandwidth": None if point.bandwidth is None else point.bandwidth * factor,
            }
        )
        for point in profile.points
    ]
    return profile.model_copy(update={"points": tuple(changed)})


def band(profile: Profile) -> tuple[float, float]:
    """The least and the largest multiple of its speeds that the bands of a profile hold."""
    return min(p.low / p.ratio for p in profile.points), max(p.high / p.ratio for p in profile.points)


def built(spec: StudySpec, one: Input, value: float) -> Scenario:
    """The scenario of a design point with one input moved. Raises Infeasible."""
    changed, profile = moved(spec, one, value)
    return build(changed, profile=profile)
