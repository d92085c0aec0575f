"""A study on paper: its canonical YAML, its hash, and every value with where it comes from."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Set
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML

from gemsim import units
from gemsim.spec.failures import FailureClassSpec, mix
from gemsim.spec.fleet import StageSpec
from gemsim.spec.implied import Explained, implied
from gemsim.spec.laws import GapSpec, LawSpec, LifetimeSpec, show_steps
from gemsim.spec.loading import LoadedStudy
from gemsim.spec.protection.tier import Tier
from gemsim.spec.quick import SAMPLES
from gemsim.spec.study import StudySpec
from gemsim.spec.systems import names_system, origins, system, system_of, written_out
from gemsim.spec.types import Model

GIVEN = "given"
NOMINAL = "the nominal value of its law (uncertain, below)"
_NO_SWEEP: dict[str, Any] = {"grid": {}, "zip": {}}
_LATER = ("points", "nested")  # that a study need not have: left out where there are none
_SHORT_FORM = {"spare_nodes", "spare_activation"}  # of cluster, where fleet.spares says it all
_ROWS_HANG_ON = {"horizon", "steps", "max_wall", "start"}  # of run
_VARIED = ("sweep", "compare", "decide", "quick", "uncertain")


def canonical(spec: StudySpec) -> dict[str, Any]:
    """The study as plain data that reads back to the same study: every default written out, quantities with units."""
    data = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    data["protection"] = [_tier(tier, _strays(spec, tier)) for tier in spec.protection]
    for one, read in zip(data["failures"].get("classes", ()), spec.failures.classes, strict=True):
        for stray in read.inapplicable():
            one.pop(stray, None)
    if spec.fleet.spares is not None:
        data["cluster"] = {key: value for key, value in data["cluster"].items() if key not in _SHORT_FORM}
    for assignments in data["compare"].values():
        assignments.update({path: _systems(path, value) for path, value in assignments.items()})
    data["sweep"] = _sweep(data["sweep"])
    if not spec.run.precision:
        data["run"] = {key: value for key, value in data["run"].items() if key not in ("precision", "min_events")}
    if "decide" in data:
        data["decide"]["variables"] = _lists(data["decide"]["variables"])
    return {key: value for key, value in data.items() if value not in ({}, "", _NO_SWEEP)}


def _systems(path: str, value: Any) -> Any:
    """A value put at `path`, with the tiers of a named system in place of its name."""
    return written_out(value) if path == "protection" else value


def _sweep(given: Mapping[str, Any]) -> dict[str, Any]:
    """A sweep, and each block of it, with systems written out and without the designs that it has not got."""
    data = {key: value for key, value in given.items() if key not in _LATER or value}
    data |= {key: _lists(data[key]) for key in ("grid", "zip")}
    if "points" in data:
        data["points"] = [{path: _systems(path, one) for path, one in point.items()} for point in data["points"]]
    for kind in SAMPLES:
        if kind in data:
            over = data[kind]["over"]
            listed = _lists({path: one for path, one in over.items() if isinstance(one, list)})
            data[kind] = {**data[kind], "over": {**over, **listed}}
    if "nested" in data:
        data["nested"] = [_sweep(block) for block in data["nested"]]
    return data


def _lists(axes: Mapping[str, Any]) -> dict[str, Any]:
    return {path: [_systems(path, one) for one in values] for path, values in axes.items()}


def _tier(tier: Tier, strays: Set[str]) -> dict[str, Any]:
    left_out = {"kind", *tier.inapplicable(), *strays}
    return {tier.kind: tier.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=left_out)}


def _strays(spec: StudySpec, tier: Tier) -> set[str]:
    """The defaults of a tier that do not go with a value put into it elsewhere in the study: written out they
    would have that variant or point refused."""
    found: set[str] = set()
    given = tier.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"kind"})
    for path, value in _assigned(spec):
        section, _, rest = path.partition(".")
        label, _, key = rest.partition(".")
        if section != "protection" or label not in (tier.name, tier.kind) or "." in key:
            continue
        over = {key: value} if key else value or {}
        try:
            found |= set(type(tier).model_validate({**given, **over}).inapplicable())
        except (ValidationError, TypeError):
            continue  # what another value beside it makes whole
    return found - tier.model_fields_set


def _assigned(spec: StudySpec) -> Iterator[tuple[str, Any]]:
    """Every path with each value that the study puts there."""
    for assignments in (*spec.compare.values(), *spec.sweep.listed()):
        yield from assignments.items()
    for path, values in (spec.decide.variables if spec.decide else {}).items():
        yield from ((path, value) for value in values)


def canonical_yaml(spec: StudySpec) -> str:
    """The study as YAML that `load_study` reads back to the same study."""
    return yaml_text(canonical(spec))


def yaml_text(data: dict[str, Any]) -> str:
    """Plain data as YAML, its keys in their order."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.representer.sort_base_mapping_type_on_output = False
    yaml.allow_unicode = True
    yaml.width = 120
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()


def study_hash(spec: StudySpec) -> str:
    """SHA-256 of the canonical study without its title and notes, which change no result."""
    data = {key: value for key, value in canonical(spec).items() if key not in ("title", "notes")}
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def design_hash(spec: StudySpec) -> str:
    """`study_hash` without the seed and without how often: studies that share it have the same designs and rows.

    So rows of two studies with one design hash and one seed can be joined.
    """
    data = {key: value for key, value in canonical(spec).items() if key not in ("title", "notes")}
    data["run"] = {key: value for key, value in data["run"].items() if key in _ROWS_HANG_ON}
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def explain(loaded: LoadedStudy) -> list[Explained]:
    """Every value of the study, in the order of the models, with where it comes from; a class of a mix is one value."""
    spec = loaded.spec
    rows = []
    for part in type(spec).model_fields:
        if part == "protection":
            rows += _protection(loaded)
        elif part not in _VARIED:
            rows += _cluster(spec) if part == "cluster" else _field(spec, part, "")
        if part == "failures" and spec.failures.mix:
            rows += _mix_rows(spec.failures.mix)
        if part in ("failures", "fleet"):
            rows += implied(spec, part)
    rows = [row._replace(origin=NOMINAL) if row.path in spec.uncertain else row for row in rows]
    return rows + [Explained(f"uncertain.{path}", str(law), law.source) for path, law in spec.uncertain.items()]


def _cluster(spec: StudySpec) -> list[Explained]:
    """The cluster, without the short form of the spares where these are said at length."""
    return _fields(spec.cluster, "cluster", skip=_SHORT_FORM if spec.fleet.spares is not None else set())


def _protection(loaded: LoadedStudy) -> list[Explained]:
    """The tiers; what a named system gives with how its file came by it."""
    rows = [row for tier in loaded.spec.protection for row in _tier_rows(tier)] or [_nothing(loaded.spec)]
    given = loaded.tree.data.get("protection")
    if not names_system(given):
        return rows
    name = system_of(given)
    sources = origins(given)
    named = [row._replace(origin=sources.get(row.path.removeprefix("protection."), row.origin)) for row in rows]
    return [Explained("protection", f"system {name}", " ".join(system(name).line.split())), *named]


def _nothing(spec: StudySpec) -> Explained:
    return Explained("protection", "none", GIVEN if "protection" in spec.model_fields_set else "default: nothing")


def _tier_rows(tier: Tier) -> list[Explained]:
    path = f"protection.{tier.label}"
    return _fields(tier, path, skip={"kind", *tier.inapplicable()}) or [Explained(path, "no settings", GIVEN)]


def _mix_rows(name: str) -> list[Explained]:
    named = mix(name)
    title = Explained(f"failures.{name}", named.title, " ".join(f"{named.source} {named.notes}".split()))
    return [title, *(_class_row(name, one) for one in named.classes)]


def _class_row(name: str, one: FailureClassSpec) -> Explained:
    per_job = f" on {one.gpus} GPUs" if one.gpus else ""
    parts = [f"{one.scope}", f"{units.format(one.rate, 'rate')}{per_job}", str(one.law), f"clock {one.clock}"]
    parts += [f"exposure {one.exposure}", one.after_repair]
    parts += [] if "detect" in one.unused() else [f"detect {one.detect}"]
    if one.scope == "memory":
        parts += [f"contained {one.contained}", f"rows {[list(pair) for pair in one.rows]}", one.rows_to_pages]
        parts += [f"lands {one.lands}", f"uncontained {one.uncontained_action}"]
    parts += [f"action {one.action}", f"process {'survives' if one.process_survives else 'dies'}"]
    parts += [f"repair {one.repair}"] if one.repair else []
    parts += [f"evict {'yes' if one.evict_on_detect else 'no'}"] if one.scope == "silent" else []
    parts += [str(law) for law in (one.frailty, one.batch, one.common_cause, one.recurrence, one.latent) if law]
    parts += [f"drift {show_steps(one.drift)}"] if one.drift else []
    parts += [f"slower by {one.slower:g}"] if one.slower else []
    if one.stop is not None:
        parts += [f"notice {units.format(one.notice or 0.0, 'time')}, stop {one.stop}"]
    return Explained(f"failures.{name}.{one.name}", ", ".join(parts), " ".join(one.source.split()))


def _fields(model: Model, path: str, *, skip: set[str]) -> list[Explained]:
    return [row for name in type(model).model_fields if name not in skip for row in _field(model, name, f"{path}.")]


def _field(model: Model, name: str, prefix: str) -> list[Explained]:
    info = type(model).model_fields[name]
    value, path = getattr(model, name), f"{prefix}{info.alias or name}"
    source = info.json_schema_extra.get("source") if isinstance(info.json_schema_extra, dict) else None
    origin = GIVEN if name in model.model_fields_set else str(source or "")
    if isinstance(value, Model) and not isinstance(value, LawSpec | LifetimeSpec | GapSpec):
        return _fields(value, path, skip=set())
    if isinstance(value, tuple) and value and isinstance(value[0], FailureClassSpec | StageSpec):
        strays = [one.unused() if isinstance(one, FailureClassSpec) else set() for one in value]
        pairs = zip(value, strays, strict=True)
        return [row for one, stray in pairs for row in _fields(one, f"{path}.{one.name}", skip={"name", *stray})]
    if origin != GIVEN and (source is None or (value in ((), {}) and name != "rows")):
        return []
    return [Explained(path, _text(model, name, value), origin)]


def _text(model: Model, name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, LawSpec | LifetimeSpec | GapSpec):
        return str(value)
    if name == "drift":
        return show_steps(value)
    dumped = model.model_dump(mode="json", include={name})[name]
    if isinstance(dumped, bool):
        return "true" if dumped else "false"
    if isinstance(dumped, float):
        return units.format(dumped, "count")
    if isinstance(dumped, dict):
        return ", ".join(f"{key} {bound}" for key, bound in dumped.items())
    return " ".join(str(dumped).split())
