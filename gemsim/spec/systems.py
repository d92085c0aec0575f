"""The named systems: each a list of tiers in the words of a study, with its published constants and their sources.

`protection: gem`, or `protection: {system: gem, stripe: {k: 64}}`, stands for the tiers of a file of
calibration/published/systems; it is written out before anything else looks at the protection.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from gemsim import resources
from gemsim.errors import ProfileError, ValueRefused, show
from gemsim.spec import catalog
from gemsim.spec.protection.kinds import NOT_BUILT, TierSpec, read_tier, refuse_labels
from gemsim.spec.types import Model, closest, refuse_unknown

Read = Literal["abstract", "text", "table", "figure", "derived", "third party", "assumption"]
SYSTEM = "system"
Place = tuple[str | int, ...]


class Constant(Model):
    """One number of a system: `read` says how it was had, `at` where it stands (or what it was derived from).

    `sets` names the settings of tiers that it gives, as LABEL.KEY; `source` is given where it is not that of the file;
    `band` is the reading error of a figure, in the unit of the value.
    """

    name: str
    value: Any
    unit: str = ""
    read: Read
    at: str = ""
    source: str = ""
    band: float | None = None
    sets: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """How it was read, and where; an abstract has no place in it to name."""
        return self.read if self.at == self.read else f"{self.read}, {self.at}"

    @model_validator(mode="after")
    def _sourced(self) -> Self:
        if not self.at:
            where = "why" if self.read == "assumption" else "where in its source"
            raise ValueRefused(f"{show(self.name)} has no source", f"at: {where} ({self.read})", "add at")
        if self.read == "figure" and self.band is None:
            raise ValueRefused(f"{show(self.name)} is read off a figure", "the error of the reading", "add band")
        return self


class Costs(Model):
    """What a system adds to each step, what a failure loses, and how long the way back takes."""

    adds: str
    loses: str
    recovers_in: str


class System(Model):
    """A file of calibration/published/systems. `settings` go with the tiers, but only a study can write them."""

    title: str
    line: str
    source: str
    covered: str
    mechanism: str
    costs: Costs
    protection: tuple[dict[str, Any], ...]
    settings: dict[str, Any] = Field(default_factory=dict)
    constants: tuple[Constant, ...] = ()
    unknown: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    most_sensitive: str
    study: str

    @property
    def missing(self) -> tuple[str, ...]:
        """Kinds of tier that this version does not have: until then no study can use the system."""
        return tuple(kind for one in self.protection for kind in one if kind in NOT_BUILT)

    @property
    def assumptions(self) -> tuple[Constant, ...]:
        """The constants that no source gives."""
        return tuple(one for one in self.constants if one.read == "assumption")


def system(name: str) -> System:
    """A named system. Raises ValueRefused for a name that is none, ProfileError when its file is malformed."""
    return _system(_folder() / f"{refuse_unknown(name, catalog.system_names(), 'system')}.yaml")


def _folder() -> Path:
    return resources.published() / "systems"


@cache
def _system(path: Path) -> System:
    try:
        read = System.model_validate(catalog.read_published(path))
        if not read.missing:
            refuse_labels(_reader().validate_python(copy.deepcopy(read.protection)))
        _refuse_unsourced(read)
    except (ValidationError, ValueRefused) as error:
        raise ProfileError(f"{path}: {error}") from error
    return read


@cache
def _reader() -> TypeAdapter[Any]:
    return TypeAdapter(tuple[Annotated[TierSpec, BeforeValidator(read_tier)], ...])


def _refuse_unsourced(read: System) -> None:
    """Each setting of each tier is given by a constant, and each constant's `sets` is a setting."""
    given = {f"{label}.{key}" for label, settings in _labelled(read.protection) for key in settings if key != "name"}
    sourced = {path for one in read.constants for path in one.sets}
    for path in sorted(given ^ sourced):
        what = "no constant gives it" if path in given else "no tier has it"
        raise ValueRefused(f"protection.{path}: {what}", "each setting with its source", "see sets: of the constants")


def _labelled(tiers: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(label, settings) of each tier of a list as it stands in a file."""
    for one in tiers:
        kind, settings = next(iter(one.items()))
        yield str((settings or {}).get("name") or kind), settings or {}


def names_system(value: Any) -> bool:
    """Whether a protection is written as the name of a system, with or without changes to its settings."""
    return isinstance(value, str) or (isinstance(value, dict) and SYSTEM in value)


def expand(value: Any) -> list[dict[str, Any]]:
    """The tiers that a named protection stands for. Raises ValueRefused: no such system, no such tier, not built."""
    name, changes = _parts(value)
    found = system(name)
    if found.missing:
        lacking = ", ".join(found.missing)
        raise ValueRefused(
            f"system {name} cannot be used in this version: it needs the tier {lacking}, which is not built",
            "a system whose tiers are all built",
            f"see gemsim systems {name}",
        )
    tiers = [copy.deepcopy(one) for one in found.protection]
    labels = [label for label, _ in _labelled(tiers)]
    for label, settings in changes.items():
        if label not in labels:
            allowed = f"system {name} has {', '.join(labels)}"
            raise ValueRefused(f"no such tier ({show(label)})", allowed, closest(label, labels), at=(label,))
        if not isinstance(settings, dict):
            raise ValueRefused(f"not the settings of a tier ({show(settings)})", "a mapping", at=(label,))
        one = tiers[labels.index(label)]
        kind, own = next(iter(one.items()))
        changed = {**(own or {}), **copy.deepcopy(settings)}
        gone = [key for key in own or {} if changed[key] is None]  # null takes what the system sets away
        one[kind] = {key: setting for key, setting in changed.items() if key not in gone}
    return [{kind: settings or {} for kind, settings in one.items()} for one in tiers]


def written_out(value: Any) -> Any:
    """The tiers of a named protection that can be written out; all else as it is."""
    if not names_system(value):
        return value
    try:
        return expand(value)
    except ValueRefused:
        return value


def moved(value: Any) -> list[tuple[Place, Place]]:
    """(place in the tiers written out, place in the named protection) of what a study changes in a system."""
    tiers = written_out(value)
    if not isinstance(value, dict) or not isinstance(tiers, list):
        return []
    name, changes = _parts(value)
    labels = [label for label, _ in _labelled(system(name).protection)]  # a change may give a tier another name
    places = {label: (at, next(iter(tiers[at]))) for at, label in enumerate(labels)}
    return [(places[label], (label,)) for label in changes]


def origins(value: Any) -> dict[str, str]:
    """Where each setting of a named protection comes from, by LABEL.KEY; what the study changes is left out."""
    if not names_system(value) or not isinstance(written_out(value), list):
        return {}
    name, changes = _parts(value)
    found: dict[str, str] = {}
    for one in system(name).constants:
        for path in one.sets:
            label, key = path.split(".", 1)
            own = changes.get(label, {})
            if key not in own:
                found[f"{own.get('name', label)}.{key}"] = f"system {name}: {one.said}"
    return found


def system_of(value: Any) -> str:
    """The name of the system of a named protection."""
    return _parts(value)[0]


def _parts(value: Any) -> tuple[str, dict[str, Any]]:
    """(name, changes by label) of a named protection."""
    if isinstance(value, str):
        return value, {}
    return value[SYSTEM], {key: settings for key, settings in value.items() if key != SYSTEM}
