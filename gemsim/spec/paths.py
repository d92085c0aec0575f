"""Paths into a study: `protection.stripe.k` to a place in the raw tree, and assignment there.

The tiers of the list are addressed by name, or by kind where that is unique; failure classes of the study and stages of
repair by name or by number from 0. A section in its short form is expanded first.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from gemsim.errors import ValueRefused, show
from gemsim.spec.failures import FailureClassSpec
from gemsim.spec.fleet import StageSpec
from gemsim.spec.protection.kinds import TIERS
from gemsim.spec.protection.tier import Tier
from gemsim.spec.study import StudySpec
from gemsim.spec.systems import written_out
from gemsim.spec.types import Model, closest

Raw = dict[str, Any]
SECTIONS = ("cluster", "workload", "restart", "failures", "fleet", "protection", "prices", "profile", "run")
LISTS: dict[tuple[str, ...], tuple[type[Model], str]] = {  # where a list of named parts stands, and what one is called
    ("failures", "classes"): (FailureClassSpec, "failure class"),
    ("fleet", "repair", "stages"): (StageSpec, "stage"),
}
_SHORT = {"restart": "mode", "failures": "mix"}
OPTIONAL = (  # sections that may stand empty
    *(
        "sweep",
        "compare",
        "decide",
        "quick",
        "require",
        "uncertain",
        "restart",
        "fleet",
        "protection",
        "prices",
        "notes",
    ),
    "profile",
)
_PAIRED = ("run.seed", "run.replications")


def normalised(raw: Raw) -> Raw:
    """A deep copy with short forms written out and empty optional sections left out."""
    tree = {key: _copy(value) for key, value in raw.items()}
    for key in OPTIONAL:
        if tree.get(key, ...) is None:
            del tree[key]
    for section, key in _SHORT.items():
        if isinstance(tree.get(section), str):
            tree[section] = {key: tree[section]}
    if "protection" in tree:
        tree["protection"] = _tiers(tree["protection"])
    return tree


_OF_A_MIX = (
    "one class of a named mix has no path; write the classes out (failures.classes.NAME), or take failures.scale"
)


def _copy(value: Any) -> Any:
    """A deep copy of plain data: what is neither mapping nor list cannot be changed."""
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _tiers(value: Any) -> Any:
    """A named protection written out, and each tier of a list as a mapping."""
    value = written_out(value)
    return [_tier(entry) for entry in value] if isinstance(value, list) else value


def _tier(entry: Any) -> Any:
    if isinstance(entry, str):
        return {entry: {}}
    if isinstance(entry, dict):
        return {kind: {} if settings is None else settings for kind, settings in entry.items()}
    return entry


def submodel(annotation: Any) -> type[Model] | None:
    """The model inside an annotation such as `LawSpec | None`, or None."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return next((found for part in get_args(annotation) if (found := submodel(part))), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, Model) else None


@cache
def fields_of(model: type[Model]) -> Mapping[str, type[Model] | None]:
    """The keys of a model as they stand in a file, each with the model beneath it."""
    fields = {info.alias or name: submodel(info.annotation) for name, info in model.model_fields.items()}
    return {key: below for key, below in fields.items() if not (key == "kind" and issubclass(model, Tier))}


def locate(raw: Raw, text: str) -> tuple[str | int, ...]:
    """The place of a path in a normalised tree. Raises ValueRefused, with the candidates or the close match."""
    parts = text.split(".")
    if parts[0] not in SECTIONS:
        raise ValueRefused(
            f"no such path ({show(text)})", f"paths into {', '.join(SECTIONS)}", _suggest(parts, 0, SECTIONS)
        )
    if text in _PAIRED:
        raise ValueRefused(f"{text} cannot be swept", "designs are compared on the same replications", "use --seed")
    if parts[0] == "protection" and len(parts) > 1:
        index, kind = _find_tier(raw, parts)
        return _descend(TIERS.get(kind), parts, 2, ("protection", index, kind))
    for listed, (model, what) in LISTS.items():
        if tuple(parts[: len(listed)]) == listed and len(parts) > len(listed):
            return _descend(model, parts, len(listed) + 1, (*listed, _find_named(raw, parts, listed, what)))
    return _descend(StudySpec, parts, 0, ())


def _descend(
    model: type[Model] | None, parts: list[str], at: int, place: tuple[str | int, ...]
) -> tuple[str | int, ...]:
    for index in range(at, len(parts)):
        known = fields_of(model) if model else {}
        if parts[index] not in known:
            allowed = (
                f"{'.'.join(parts[:index])} has {', '.join(known)}"
                if known
                else f"{'.'.join(parts[:index])} has no keys"
            )
            of_a_mix = parts[0] == "failures" and index == 1 and len(parts) > 2
            todo = _OF_A_MIX if of_a_mix else _suggest(parts, index, list(known))
            raise ValueRefused(f"no such path ({show('.'.join(parts))})", allowed, todo)
        model = known[parts[index]]
        place = (*place, parts[index])
    return place


def _suggest(parts: list[str], index: int, known: Any) -> str:
    question = closest(parts[index], known)
    if not question:
        return ""
    name = question.split("'")[1]
    return f"did you mean '{'.'.join([*parts[:index], name, *parts[index + 1 :]])}'?"


def _find_tier(raw: Raw, parts: list[str]) -> tuple[int, str]:
    tiers = []
    listed = raw.get("protection")
    for index, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, dict) and len(entry) == 1:
            kind, settings = next(iter(entry.items()))
            tiers.append((index, str(kind), settings.get("name") if isinstance(settings, dict) else None))
    called = [(index, kind) for index, kind, name in tiers if name == parts[1]]
    alike = [(index, kind) for index, kind, _ in tiers if kind == parts[1]]
    if len(called) == 1 or (not called and len(alike) == 1):
        return (called or alike)[0]
    rest = "".join(f".{part}" for part in parts[2:])
    if len(alike) > 1:
        names = [
            f"protection.{name}{rest}" if name else f"the {kind} without a name"
            for _, kind, name in tiers
            if kind == parts[1]
        ]
        raise ValueRefused(
            f"ambiguous path ({show('.'.join(parts))})",
            f"candidates: {', '.join(names)}",
            "use a name, and name each tier",
        )
    known = [str(name or kind) for _, kind, name in tiers]
    allowed = f"the tiers are {', '.join(known)}" if known else "the study has no tiers"
    todo = "sweep the name itself: protection: [gem, gemini]" if parts[1:] == ["system"] else _suggest(parts, 1, known)
    raise ValueRefused(f"no such tier ({show('.'.join(parts))})", allowed, todo)


def _find_named(raw: Raw, parts: list[str], listed: tuple[str, ...], what: str) -> int:
    """The number of a named part of a list, which the path gives by name or as the number itself."""
    at: Any = raw
    for key in listed:
        at = at.get(key) if isinstance(at, dict) else None
    parts_there = at if isinstance(at, list) else []
    names = [one.get("name") if isinstance(one, dict) else None for one in parts_there]
    asked = parts[len(listed)]
    if asked in names:
        return names.index(asked)
    if asked.isdecimal() and len(asked) < 5 and int(asked) < len(names):
        return int(asked)
    known = [str(name) for name in names if name]
    if listed == ("failures", "classes"):
        allowed = f"the study's own classes are {', '.join(known)}" if known else "the study has no classes of its own"
    else:
        allowed = f"the {what}s are {', '.join(known)}" if known else f"the study has no {what}s"
    raise ValueRefused(f"no such {what} ({show('.'.join(parts))})", allowed, _suggest(parts, len(listed), known))


def assign(raw: Raw, place: tuple[str | int, ...], value: Any) -> None:
    """Put a value at a place of a normalised tree, in place; a mapping is merged over a mapping, all else replaces."""
    value = copy.deepcopy(value)
    if len(place) == 1 and place[0] in _SHORT and isinstance(value, str):
        value = {_SHORT[str(place[0])]: value}
    if place == ("protection",):
        value = _tiers(value)
    at: Any = raw
    for part in place[:-1]:
        below = child(at, part)
        if not isinstance(below, (dict, list)):
            below = at[part] = _written_out(part, below)
        at = below
    last = place[-1]
    before = child(at, last)
    if isinstance(before, dict) and isinstance(value, dict):
        merge(before, value)
    else:
        at[last] = value


def child(at: Any, part: str | int) -> Any:
    """What lies below; ValueRefused where an earlier key holds another form than the path takes it to have."""
    if not isinstance(at, list if isinstance(part, int) else dict):
        wanted = "a list" if isinstance(part, int) else "a mapping"
        raise ValueRefused(f"leads into what is not {wanted} ({show(at)})", f"{wanted} there", "mend that value first")
    below: Any = at
    return below[part] if isinstance(part, int) else below.get(part)


def _written_out(key: str | int, value: Any) -> Raw:
    """The mapping that a plain value of a law stands for."""
    if value is None:
        return {}
    return {"kind": value} if key == "law" else {"kind": "fixed", "mean": value}


def merge(into: Raw, over: Mapping[str, Any]) -> None:
    """Lay `over` on `into`, in place: mappings merge key by key, all else replaces."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)
