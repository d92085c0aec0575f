"""The JSON Schema of a study, for editors: from the models that read it, so that it cannot say something else.

It holds what can be said of a file by its form alone: keys, words, units, ranges, short forms. What follows from
several keys together is left to `gemsim check`. Keywords are those that mean the same in drafts 7 and 2020-12, since
editors lag behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gemsim import units
from gemsim.spec import catalog
from gemsim.spec.failures import FailureClassSpec, FailuresSpec
from gemsim.spec.laws import LawSpec, LifetimeSpec
from gemsim.spec.meanings import MEANINGS
from gemsim.spec.paths import OPTIONAL, SECTIONS
from gemsim.spec.protection.kinds import TIERS
from gemsim.spec.quick import KEYS
from gemsim.spec.restart import RestartSpec
from gemsim.spec.run import RunSpec
from gemsim.spec.study import StudySpec
from gemsim.spec.swept import SweepSpec
from gemsim.spec.systems import system
from gemsim.spec.types import (
    IntervalText,
    KeepText,
    Model,
    Name,
    Quantity,
    RateText,
    SelfRead,
    SpansText,
    Time,
    WholeNumber,
)
from gemsim.spec.uncertain_text import LOOKS
from gemsim.spec.workload import REGIONS

Node = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_RATE = rf"{_NUMBER}\s*/\s*(?:{_NUMBER})?\s*(?:(?:gpu|node|job)s?[\s·-]+)?(?:us|ms|s|min|h|d)"
_UNCERTAIN = (Quantity, WholeNumber, RateText, KeepText, IntervalText)  # where a law may stand in the place of a value
_PATHS: Node = {"pattern": rf"^(?:{'|'.join(SECTIONS)})(?:\..+)?$"}
_BY_PATH = (
    *("uncertain", "sweep.grid", "sweep.zip", "sweep.latin_hypercube.over", "sweep.sobol.over", "decide.variables"),
)
_PAIRS: Node = {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2, "maxItems": 2}}
_MAPPING: Node = {"type": "object"}
SHORT: dict[type[Model], str] = {RestartSpec: "mode", FailuresSpec: "mix", LifetimeSpec: "kind"}


def study_schema() -> Node:
    """The schema of a study file (draft 2020-12)."""
    found = _object(StudySpec, "")
    names = found["properties"]
    for key in OPTIONAL:  # a section that may stand empty
        names[key] = _or_null(names[key])
    names["quick"] = _or_null(_quick(names) | _said("quick"))
    head = {"$schema": DIALECT, "title": "A gemsim study", "description": "See docs/study.md; gemsim check says more."}
    return head | found


def _object(model: type[Model], prefix: str) -> Node:
    """A section, key by key. A tier's kind is the key above it."""
    properties, required = Node(), []
    for name, info in model.model_fields.items():
        if name == "kind" and model in TIERS.values():
            continue
        key = info.alias or name
        path = f"{prefix}.{key}" if prefix else key
        properties[key] = _field(info, path) | _said(path) | _default(info)
        if info.is_required():
            required.append(key)
    found: Node = {"type": "object", "additionalProperties": False, "properties": properties}
    if model is FailureClassSpec:  # what is planned is known when it is announced
        required.remove("detect")
        found |= {"if": {"properties": {"scope": {"const": "planned"}}}, "else": {"required": ["detect"]}}
    if model is RunSpec:
        found["oneOf"] = [{"required": ["horizon"]}, {"required": ["steps"]}]
    return found | ({"required": required} if required else {})


def _said(path: str) -> Node:
    """The meaning of a key; some sections are said once for all places that have them."""
    key, sampled = path.rsplit(".", 1)[-1], path.startswith(("sweep.latin_hypercube.", "sweep.sobol."))
    words = MEANINGS.get(path) or MEANINGS.get(f"{'sample' if sampled else 'tier'}.{key}")
    return {"description": words} if words else {}


def _default(info: FieldInfo) -> Node:
    """The default as it would be written, where it is one value and lies in no key below; and its source."""
    extra = info.json_schema_extra
    source = {"$comment": f"default: {extra['source']}"} if isinstance(extra, dict) and extra.get("source") else {}
    value = info.default
    if value is PydanticUndefined or value in (None, (), "") or not isinstance(value, str | int | float):
        return source
    return {"default": value} | source


def _field(info: FieldInfo, path: str) -> Node:
    """What may be written for one key."""
    if path == "protection":
        return _protection()
    known = {"cluster.gpu": catalog.gpu_names, "failures.mix": catalog.mix_names}.get(path)
    if known is not None:
        return {"enum": [*known(), *([None] if path == "failures.mix" else [])]}
    if path == "workload.protect":
        return {"anyOf": [{"enum": ["critical", "unique"]}, {"type": "array", "items": {"enum": list(REGIONS)}}]}
    if path == "sweep.nested":  # each block is a sweep, which its own check reads further
        keys = {key: _said(f"sweep.{key}") for key in SweepSpec.model_fields}
        return {"type": "array", "items": {"type": "object", "additionalProperties": False, "properties": keys}}
    reader = next((one for one in info.metadata if isinstance(one, SelfRead)), None)
    found = _read(reader) if reader is not None else _of(info.annotation, path)
    found |= {"sweep.points": {"uniqueItems": True}}.get(path, {"minProperties": 1} if path.endswith(".over") else {})
    if path == "compare":
        found["additionalProperties"] |= {"propertyNames": _PATHS}
    return found | ({"propertyNames": _PATHS} if path in _BY_PATH else {})


def _of(annotation: Any, path: str) -> Node:
    """What may be written for a type."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        reader = next((one for one in parts[1:] if isinstance(one, SelfRead)), None)
        return _read(reader) if reader is not None else _of(parts[0], path)
    if origin in (Union, UnionType):
        return _any_of([_of(part, path) for part in parts])
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(parts[1], path)}
    if origin is tuple:
        pairs = get_origin(parts[0]) is tuple
        return _any_of([_PAIRS, _MAPPING]) if pairs else {"type": "array", "items": _of(parts[0], path)}
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return _section(annotation, path)
    plain = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
    return {"type": plain[annotation]} if annotation in plain else {}


def _section(model: type[Model], path: str) -> Node:
    """A mapping, or its short form."""
    whole = _object(model, _home(model, path))
    if model is LawSpec:
        return _any_of([_of(Time, path), whole])
    if model not in SHORT:
        return whole
    return _any_of([{"enum": [word for word in _words(whole, SHORT[model]) if word]}, whole])


def _words(whole: Node, key: str) -> list[Any]:
    words: list[Any] = whole["properties"][key]["enum"]
    return words


def _home(model: type[Model], path: str) -> str:
    """Where the meanings of a model's keys stand, if not at the path at hand: those of several places stand at one."""
    homes = {
        "LawSpec": "failures.classes.detect", "LifetimeSpec": "failures.classes.law", "FrailtySpec": "failures.frailty",
    }  # fmt: skip
    return homes.get(model.__name__, path)


def _any_of(nodes: list[Node]) -> Node:
    """Any of these; words and types are gathered where one node can say them, so that editors name what is allowed."""
    null = [node for node in nodes if node == {"type": "null"}]
    rest = [node for node in nodes if node not in null]
    if len(rest) == 1:
        return _or_null(rest[0]) if null else rest[0]
    return {"anyOf": [*rest, *null]}


def _or_null(node: Node) -> Node:
    """The same, or nothing."""
    if isinstance(node.get("type"), str):
        return node | {"type": [node["type"], "null"]}
    if isinstance(node.get("type"), list):
        return node | {"type": [*node["type"], *(["null"] if "null" not in node["type"] else [])]}
    if "enum" in node:
        return node | {"enum": [*node["enum"], *([None] if None not in node["enum"] else [])]}
    return node | {"anyOf": [*node["anyOf"], {"type": "null"}]} if "anyOf" in node else node


def _read(reader: SelfRead) -> Node:
    """What a type that reads its own text takes; a law in the place of a number too."""
    found = _text(reader)
    if not isinstance(reader, _UNCERTAIN):
        return found
    types = found.get("type", "string")
    types = [types] if isinstance(types, str) else types
    pattern = f"(?:{found['pattern']})|(?:{LOOKS})" if "pattern" in found else LOOKS
    return found | {"type": [*types, *(["string"] if "string" not in types else [])], "pattern": f"^(?:{pattern})$"}


def _text(reader: SelfRead) -> Node:
    """The type, the pattern of its text, the range of its numbers, and an example."""
    if isinstance(reader, Quantity):
        return _quantity(reader)
    if isinstance(reader, WholeNumber):
        return {"type": "integer", "minimum": reader.low, "maximum": reader.high}
    if isinstance(reader, RateText):
        return {"type": "string", "pattern": rf"\s*{_RATE}\s*", "examples": ["419 / 54 d", "6.5 / 1000 node d"]}
    if isinstance(reader, KeepText):
        return {"type": ["string", "integer"], "minimum": 1, "pattern": _with_unit("time"), "examples": ["7 d", 3]}
    if isinstance(reader, IntervalText):
        pattern = f"optimal|{_with_unit('time')}"
        return {"type": "string", "pattern": pattern, "examples": ["30 min", "optimal"]}
    if isinstance(reader, SpansText):
        return {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array", "minItems": 1}]}
    if isinstance(reader, Name):
        return {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$"}
    return reader.form()


def _quantity(reader: Quantity) -> Node:
    """A number with its unit; a share or a count may stand bare."""
    dimension = reader.dimension
    found: Node = {
        "type": "string",
        "pattern": _with_unit(dimension, sign=reader.low < 0.0),
        "examples": [units.EXAMPLES[dimension]],
    }
    if dimension not in ("share", "count"):
        return found
    low = "exclusiveMinimum" if reader.above else "minimum"
    return found | {"type": ["number", "string"], low: reader.low, "maximum": reader.high}


def _with_unit(dimension: units.Dimension, *, sign: bool = False) -> str:
    """A pattern of what `units.parse` reads, without a minus unless `sign`."""
    number = _NUMBER if sign else _NUMBER.replace("[+-]?", r"\+?", 1)
    names = "|".join(re.escape(name) for name in units.UNITS[dimension])
    bare = "?" if dimension in ("share", "count") else ""
    return rf"\s*{number}\s*(?:{names}){bare}\s*" if names else rf"\s*{number}\s*"


def _protection() -> Node:
    """A list of tiers, or a named system with changes to its settings."""
    kinds = {kind: _or_null(_object(model, f"protection.{kind}")) | _said(f"protection.{kind}")
             for kind, model in TIERS.items()}  # fmt: skip
    tier = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False,
            "properties": kinds}  # fmt: skip
    systems = catalog.system_names()
    whole = [{"type": "array", "items": {"anyOf": [{"enum": list(TIERS)}, tier]}}, {"enum": systems}]
    return {"anyOf": [*whole, *map(_changed, systems)]}


def _changed(name: str) -> Node:
    """A named system whose tiers, by their labels, have other settings."""
    labels = [str((settings or {}).get("name") or kind) for one in system(name).protection
              for kind, settings in one.items()]  # fmt: skip
    properties = {"system": {"const": name}, **dict.fromkeys(labels, _MAPPING)}
    return {"type": "object", "additionalProperties": False, "required": ["system"], "properties": properties}


def _quick(properties: Mapping[str, Any]) -> Node:
    """The quick form: sections laid over those of the study, and the variants that are kept."""
    loose = {
        "sweep": _MAPPING, "decide": _MAPPING, "compare": {"anyOf": [{"type": "array"}, _MAPPING]},
        "run": {key: value for key, value in properties["run"].items() if key not in ("oneOf", "required")},
        "require": properties["require"],
    }  # fmt: skip
    return {"type": "object", "additionalProperties": False, "properties": {key: loose[key] for key in KEYS}}
