"""Write docs/study.md: every key of a study with its unit, default and source, from the models that read it.

python docs/make_reference.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.allowed import ALLOWED
from gemsim.costs.profiles import load_profile, profile_names
from gemsim.spec import catalog
from gemsim.spec.cluster import ClusterSpec, DiskSpec, StorageSpec
from gemsim.spec.decide import DecideSpec
from gemsim.spec.failures import FailureClassSpec, FailuresSpec, mix
from gemsim.spec.fleet import (
    ActivationSpec,
    ChecksSpec,
    FleetSpec,
    PartsSpec,
    RepairSpec,
    RetireSpec,
    SparesSpec,
    StageSpec,
)
from gemsim.spec.laws import (
    BatchSpec,
    CommonCauseSpec,
    FrailtySpec,
    GapSpec,
    LatentSpec,
    LawSpec,
    LifetimeSpec,
    RecurrenceSpec,
)
from gemsim.spec.meanings import MEANINGS
from gemsim.spec.paths import submodel
from gemsim.spec.prices import PowerSpec, PricesSpec
from gemsim.spec.protection.kinds import NOT_BUILT, TIERS
from gemsim.spec.recommendation import PhasesSpec
from gemsim.spec.replay import ReplaySpec
from gemsim.spec.restart import RestartSpec
from gemsim.spec.run import RunSpec
from gemsim.spec.sampled import SampleSpec, SobolSpec
from gemsim.spec.study import StudySpec
from gemsim.spec.swept import SweepSpec
from gemsim.spec.systems import system
from gemsim.spec.types import Model, Quantity, SelfRead, WholeNumber
from gemsim.spec.workload import BytesSpec, ExpertsSpec, MemorySpec, ParallelSpec, WorkloadSpec
from gemsim.units import brief

HERE = Path(__file__).resolve().parent
TARGET = HERE / "study.md"
INTRO = HERE / "study_intro.md"

UNITS = {
    "time": "time: `90 s`, `10 min`, `3 h`, `7 d`",
    "bytes": "bytes: `2 GiB`, `2 TB`",
    "bandwidth": "bandwidth: `400 Gb/s`, `5 GB/s`",
    "share": "share: `0.5 %` or `0.005`",
    "count": "number",
    "flops": "FLOP/s: `400 TFLOP/s`",
    "rate": "rate: `419 / 54 d`, `6.5 / 1000 node d`, `1 / 50677 gpu h`",
    "keep": "time, or a whole number",
    "interval": "time, or `optimal`",
    "spans": "whole number, or a list of times",
    "power": "power: `700 W`, `4.6 kW`",
    "carbon": "CO2 for each kWh: `400 g/kWh`",
    "price": "amount and currency: `2.50 USD`",
}
SECTIONS: tuple[tuple[str, str, type[Model]], ...] = (
    ("The study", "", StudySpec),
    ("cluster", "cluster", ClusterSpec),
    ("cluster.disk", "cluster.disk", DiskSpec),
    ("cluster.storage", "cluster.storage", StorageSpec),
    ("workload", "workload", WorkloadSpec),
    ("workload.bytes", "workload.bytes", BytesSpec),
    ("workload.parallel", "workload.parallel", ParallelSpec),
    ("workload.experts", "workload.experts", ExpertsSpec),
    ("workload.phases", "workload.phases", PhasesSpec),
    ("workload.memory", "workload.memory", MemorySpec),
    ("restart", "restart", RestartSpec),
    ("failures", "failures", FailuresSpec),
    ("failures.frailty (frailty of a class is the same)", "failures.frailty", FrailtySpec),
    ("A class in failures.classes", "failures.classes", FailureClassSpec),
    ("law of a class (failures.law is the same)", "failures.classes.law", LifetimeSpec),
    ("latent of a class", "failures.classes.latent", LatentSpec),
    ("detect, repair and stop of a class, and read of latent", "failures.classes.detect", LawSpec),
    ("batch of a class", "failures.classes.batch", BatchSpec),
    ("common_cause of a class", "failures.classes.common_cause", CommonCauseSpec),
    ("recurrence of a class", "failures.classes.recurrence", RecurrenceSpec),
    ("gap of a recurrence", "failures.classes.recurrence.gap", GapSpec),
    ("failures.replay", "failures.replay", ReplaySpec),
    ("fleet", "fleet", FleetSpec),
    ("fleet.spares", "fleet.spares", SparesSpec),
    ("fleet.spares.activation", "fleet.spares.activation", ActivationSpec),
    ("fleet.repair", "fleet.repair", RepairSpec),
    ("A stage in fleet.repair.stages", "fleet.repair.stages", StageSpec),
    ("fleet.repair.parts", "fleet.repair.parts", PartsSpec),
    ("fleet.retire", "fleet.retire", RetireSpec),
    ("fleet.checks", "fleet.checks", ChecksSpec),
    *((f"protection: {kind}", f"protection.{kind}", model) for kind, model in TIERS.items()),
    ("prices", "prices", PricesSpec),
    ("prices.power", "prices.power", PowerSpec),
    ("sweep", "sweep", SweepSpec),
    ("sweep.latin_hypercube", "sweep.latin_hypercube", SampleSpec),
    ("sweep.sobol", "sweep.sobol", SobolSpec),
    ("decide", "decide", DecideSpec),
    ("run", "run", RunSpec),
)


def every_key() -> Iterator[tuple[str, str, FieldInfo]]:
    """Every key as (section prefix, path in MEANINGS, field)."""
    for _, prefix, model in SECTIONS:
        for name, info in fields(model):
            yield prefix, meaning_path(prefix, name), info


def fields(model: type[Model]) -> Iterator[tuple[str, FieldInfo]]:
    """Keys of one model as they stand in a file; the kind of a tier is its own key."""
    for name, info in model.model_fields.items():
        if name != "kind" or model not in TIERS.values():
            yield info.alias or name, info


def meaning_path(prefix: str, name: str) -> str:
    """Where MEANINGS keeps a key; the name of a tier and the keys of a sample mean the same for all kinds."""
    if prefix.startswith("protection.") and name == "name":
        return "tier.name"
    if prefix in ("sweep.latin_hypercube", "sweep.sobol"):
        return f"sample.{name}"
    return f"{prefix}.{name}" if prefix else name


def allowed(path: str, info: FieldInfo) -> str:
    """What may be written: the unit, the words, or the range."""
    if path in ALLOWED:
        return ALLOWED[path]
    below = submodel(info.annotation)
    if below is not None:
        return "see below"
    found = list(_parts(info.annotation)) + list(info.metadata)
    for part in found:
        if isinstance(part, WholeNumber):
            return f"whole number from {part.low}" + (f" to {part.high}" if part.high < 10_000 else "")
        if isinstance(part, Quantity) or (isinstance(part, SelfRead) and part.dimension):
            return UNITS[part.dimension]
        if get_origin(part) is Literal:
            return ", ".join(f"`{word}`" for word in get_args(part))
        if part is bool:
            return "`true`, `false`"
    return "name" if path.endswith("name") else "see below"


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and all that is nested in it."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _parts(part)


def default(info: FieldInfo) -> str:
    """The default as it would be written; a dash where there is none or it is derived."""
    if info.is_required():
        return "**required**"
    if info.default_factory is not None or info.default in (None, (), ""):
        return "–"
    if isinstance(info.default, bool):
        return f"`{str(info.default).lower()}`"
    if isinstance(info.default, tuple):
        return f"`{[list(pair) for pair in info.default]}`"
    return f"`{info.default:g}`" if isinstance(info.default, float) else f"`{info.default}`"


def source(info: FieldInfo) -> str:
    """Where the default is from."""
    extra = info.json_schema_extra
    return str(extra.get("source", "")) if isinstance(extra, dict) else ""


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table, its first row the head."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [lines[0], "| " + " | ".join("---" for _ in rows[0]) + " |", *lines[1:], ""]


def _section(title: str, prefix: str, model: type[Model]) -> list[str]:
    rows: list[tuple[str, ...]] = [("key", "what may be written", "default", "source of the default", "meaning")]
    for name, info in fields(model):
        path = meaning_path(prefix, name)
        rows.append((f"`{name}`", allowed(path, info), default(info), source(info), MEANINGS[path]))
    if len(rows) == 1:
        return [f"## {title}", "", "No settings.", ""]
    return [f"## {title}", "", *table(rows)]


def _gpus() -> list[str]:
    rows: list[tuple[str, ...]] = [("`cluster.gpu`", "memory", "HBM", "NVLink", "dense BF16", "power", "source")]
    for name in catalog.gpu_names():
        one = catalog.gpu(name)
        speeds = (brief(one.hbm_bandwidth, "bandwidth"), brief(one.nvlink_bandwidth, "bandwidth"))
        source = " ".join(one.source.split())
        rows.append(
            (
                f"`{name}`",
                brief(one.memory, "bytes"),
                *speeds,
                brief(one.peak_flops, "flops"),
                brief(one.tdp, "power"),
                source,
            )
        )
    return ["## GPU types", "", *table(rows)]


def _mixes() -> list[str]:
    rows: list[tuple[str, ...]] = [("`failures.mix`", "what it is", "classes")]
    for name in catalog.mix_names():
        one = mix(name)
        rows.append((f"`{name}`", one.title, ", ".join(each.name for each in one.classes)))
    note = "The files are in `calibration/published/failures/`; `gemsim check` prints each class with its source."
    return ["## Failure mixes", "", *table(rows), note, ""]


def _profiles() -> list[str]:
    kinds = {"modelled": "modelled, not measured", "measured": "measured"}
    known = [(f"`{name}`", kinds[load_profile(name).kind]) for name in profile_names()]
    rows: list[tuple[str, ...]] = [("`profile`", "what it rests on"), *known]
    note = (
        "The device alone names its newest measured profile and, while there is none, the modelled one. A path to a "
        "folder DEVICE/DATE, as `gemsim calibrate` writes it, is a profile too. `NAME strict` refuses design points "
        "that it does not hold, instead of extrapolating."
    )
    return ["## Calibration profiles", "", *table(rows), note, ""]


def _not_built() -> list[str]:
    if not NOT_BUILT:
        return []
    rows: list[tuple[str, ...]] = [("tier", "what to use meanwhile"), *((f"`{k}`", v) for k, v in NOT_BUILT.items())]
    return ["## Tiers that are not built yet", "", "A study that names one is refused.", "", *table(rows)]


def _systems() -> list[str]:
    found = [(name, system(name)) for name in catalog.system_names()]
    rows: list[tuple[str, ...]] = [("`protection`", "what it is", "tiers")]
    rows += [
        (f"`{name}`", one.line, ", ".join(kind for tier in one.protection for kind in tier)) for name, one in found
    ]
    note = (
        "A named system stands for its tiers: `protection: gem`. `protection: {system: gem, stripe: {k: 64}}` changes "
        "settings by the label of the tier, and `protection.stripe.k` can be swept. Restart mode and all else stay as "
        "the study writes them; `gemsim systems gem` prints what the system assumes, and the source of each constant."
    )
    return ["## Named systems", "", note, "", *table(rows), ""]


def reference() -> str:
    """The text of docs/study.md."""
    lines = [INTRO.read_text(encoding="utf-8").rstrip(), ""]
    for title, prefix, model in SECTIONS:
        lines += _section(title, prefix, model)
    lines += [*_systems(), *_gpus(), *_mixes(), *_profiles(), *_not_built()]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    print(f"wrote {TARGET}")
