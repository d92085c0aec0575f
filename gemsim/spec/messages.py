"""What pydantic found wrong, as one-line problems: what (value); what is allowed; what to do."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gemsim.errors import ValueRefused, show
from gemsim.spec.paths import LISTS, fields_of
from gemsim.spec.protection.kinds import TIERS
from gemsim.spec.study import StudySpec
from gemsim.spec.types import Model, closest
from gemsim.spec.yaml import Path

_NOT = {
    "model_type": ("not a mapping", "a mapping of keys"),
    "model_attributes_type": ("not a mapping", "a mapping of keys"),
    "dict_type": ("not a mapping", "a mapping of keys"),
    "tuple_type": ("not a list", "a list"),
    "list_type": ("not a list", "a list"),
    "string_type": ("not text", "text"),
    "bool_type": ("not true or false", "true or false"),
    "bool_parsing": ("not true or false", "true or false"),
}


class Finding:
    """One thing wrong: its place in the raw tree (`at_key` when the key itself is at fault) and what to say."""

    def __init__(self, path: Path, refused: ValueRefused, *, at_key: bool = False) -> None:
        self.path = path
        self.refused = refused
        self.at_key = at_key


def findings(error: ValidationError) -> list[Finding]:
    """All that a validation found."""
    follows = "default_factory_not_called"  # where another key of the same part is at fault
    return [_finding(one) for one in error.errors(include_url=False) if one["type"] != follows]


def _finding(one: Mapping[str, Any]) -> Finding:
    path: Path = tuple(part for part in one["loc"] if part != "[key]")
    kind, value, context = one["type"], one.get("input"), one.get("ctx") or {}
    if kind == "value_error" and isinstance(context.get("error"), ValueRefused):
        refused = context["error"]
        return Finding(path + refused.at, refused, at_key="[key]" in one["loc"])
    if kind == "missing":
        return Finding(path, ValueRefused("missing", "required", f"add {path[-1]}"), at_key=True)
    if kind == "extra_forbidden":
        keys = _keys(path[:-1])
        return Finding(
            path,
            ValueRefused(f"unknown key ({show(path[-1])})", f"one of {', '.join(keys)}", closest(str(path[-1]), keys)),
            at_key=True,
        )
    if kind == "literal_error":
        names = [name.strip("'") for name in context["expected"].replace(" or ", ", ").split(", ")]
        return Finding(
            path,
            ValueRefused(f"unknown value ({show(value)})", f"one of {', '.join(names)}", closest(str(value), names)),
        )
    what, allowed = _NOT.get(kind, (str(one["msg"]), ""))
    if path == ("protection",):
        allowed = "a list of tiers, or the name of a system (gemsim systems)"
    return Finding(path, ValueRefused(f"{what} ({show(value)})", allowed))


def _keys(path: Path) -> list[str]:
    model = model_at(path)
    return list(fields_of(model)) if model else []


def model_at(path: Path) -> type[Model] | None:
    """The model that reads the mapping at a place of the raw tree, or None."""
    while path[:2] == ("sweep", "nested") and len(path) > 2:  # a block is a sweep of its own
        path = ("sweep", *path[3:])
    if path[:1] == ("protection",) and len(path) >= 3:
        return _below(TIERS.get(str(path[2])), path[3:])
    for listed, (model, _) in LISTS.items():
        if path[: len(listed)] == listed and len(path) > len(listed):
            return _below(model, path[len(listed) + 1 :])
    return _below(StudySpec, path)


def _below(model: type[Model] | None, path: Path) -> type[Model] | None:
    for part in path:
        model = fields_of(model).get(str(part)) if model else None
    return model


def renamed(raw: dict[str, Any], found: list[Finding]) -> tuple[dict[str, Any], dict[Path, Path]]:
    """A copy of the raw tree with each misspelt key under its close match, so that its value is looked at too.

    The mapping goes from the new path of each such value to the one in the file.
    """
    repaired, moved = copy.deepcopy(raw), dict[Path, Path]()
    for one in found:
        match = one.refused.todo.split("'")
        if not one.at_key or len(match) != 3 or not one.refused.what.startswith("unknown key"):
            continue
        at: Any = repaired
        for part in one.path[:-1]:
            at = at[part]
        if match[1] not in at:
            at[match[1]] = at.pop(one.path[-1])
            moved[(*one.path[:-1], match[1])] = one.path
    return repaired, moved
