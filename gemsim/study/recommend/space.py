"""The space of a decision: structures, each built once, times the axes that the closed form takes as arrays.

Intervals of checkpoints, steps between saves of replicas and spare nodes are axes. All else changes what the job is
built of, and makes a structure of its own: a variant of `compare`, a list of tiers, k, a layout, a restart mode.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemsim.errors import StudyError
from gemsim.spec.decide import VARIANTS
from gemsim.spec.loading import LoadedStudy, applies, resolve_point
from gemsim.study.along import Axis, axis


@dataclass(frozen=True, slots=True)
class Structure:
    """Designs that differ along the axes alone. `chosen` holds its values of the other decision variables."""

    number: int
    variant: str
    sections: Mapping[str, Any]  # what the variant assigns
    chosen: Mapping[str, Any]
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Values along each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def lies(self) -> tuple[tuple[int, ...], ...]:
        """How the values of each axis lie in an array of all points."""
        places = range(len(self.axes))
        return tuple(tuple(-1 if at == place else 1 for at in places) for place in places)

    @property
    def points(self) -> int:
        """Designs of this structure."""
        return math.prod(self.shape)

    @property
    def base(self) -> dict[str, Any]:
        """What the structure is built from."""
        return {**self.sections, **self.chosen, **{axis.path: axis.base for axis in self.axes}}

    def values(self, flat: int) -> dict[str, Any]:
        """The values of all decision variables that apply, of the design at a place of the flattened axes."""
        places = np.unravel_index(flat, self.shape) if self.axes else ()
        along = {axis.path: axis.values[int(at)] for axis, at in zip(self.axes, places, strict=True)}
        return {**self.chosen, **along}

    def assignments(self, flat: int) -> dict[str, Any]:
        """The same with what the variant assigns: a design point of the study."""
        return {**self.sections, **self.values(flat)}


def structures(loaded: LoadedStudy) -> list[Structure]:
    """All structures, in the order in which variants and values are written."""
    assert loaded.spec.decide is not None
    variables = loaded.spec.decide.variables
    found: list[Structure] = []
    for name, sections in _variants(loaded, variables.get(VARIANTS, ())).items():
        own = {path: v for path, v in variables.items() if path != VARIANTS and applies(loaded, sections, path)}
        axes = _axes(loaded, sections, own)
        taken = {axis.path for axis in axes}
        rest = {path: values for path, values in own.items() if path not in taken}
        for cell in itertools.product(*rest.values()):
            chosen = dict(zip(rest, cell, strict=True))
            found.append(Structure(len(found), name, sections, chosen, axes))
    return found


def _variants(loaded: LoadedStudy, protections: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """Each variant of `compare`, with each of the protections."""
    if not protections:
        return dict(loaded.variants)
    return {
        ": ".join(filter(None, (variant, named(value)))): {**sections, VARIANTS: value}
        for variant, sections in loaded.variants.items()
        for value in protections
    }


def named(value: Any) -> str:
    """What a whole protection is called: the name of the system, or its tiers."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) or (isinstance(one, dict) and one) for one in value):
        return " + ".join(one if isinstance(one, str) else _tier(one) for one in value) or "no tiers"
    return show(value)


def _tier(tier: Mapping[str, Any]) -> str:
    kind, settings = next(iter(tier.items()))
    return str((settings or {}).get("name") or kind) + _settings(settings or {})


def _settings(settings: Mapping[str, Any]) -> str:
    own = {key: value for key, value in settings.items() if key != "name"}
    return f" {show(own)}" if own else ""


def show(value: Any) -> str:
    """A value of a variable as text."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, str | int | float) else json.dumps(value, default=str)


def _axes(
    loaded: LoadedStudy, sections: Mapping[str, Any], variables: Mapping[str, tuple[Any, ...]]
) -> tuple[Axis, ...]:
    """The variables that need no structure of their own; none where the variant alone is no design."""
    try:
        spec = resolve_point(loaded, sections)
    except StudyError:
        return ()
    found = [axis(spec, path, values) for path, values in variables.items()]
    return tuple(one for one in found if one is not None)
