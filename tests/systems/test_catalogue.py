"""The named systems: what their files must hold, and what stands in a study in place of a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gemsim import resources, scenario
from gemsim.errors import ProfileError, StudyError, ValueRefused
from gemsim.spec import catalog, systems
from gemsim.spec.loading import load_study, parse_study, resolve_point
from gemsim.spec.printing import canonical, explain, study_hash
from gemsim.spec.protection.kinds import NOT_BUILT
from gemsim.spec.yaml import read_tree

NAMES = catalog.system_names()
FAMILIES = "gem gemini strawman highfreq trainingcxl checkfreq check_n_run ecrec eccheck just_in_time ft_hsdp torchft"
FAMILIES += " oobleck recycle scr_single scr_partner scr_xor scr_rs fti veloc mindio moevement concordia"
STUDY = """
title: case
cluster: {gpus: 64, gpu: h100-80gb, storage: {write: 2 TB/s, read: 7 TB/s}}
workload: {parameters: 13e9, parallel: {tensor: 8, data: 8}, step: 20 s}
restart: in_place
failures: llama3-2024
protection: PROTECTION
run: {horizon: 54 d}
"""
WRITTEN = """
  - retry: {granularity: mixed}
  - stripe: {layout: gpu, k: 64, m: 1, mapping: interleaved, cadence: 1, encode: serial}
  - checkpoint: {name: fallback, target: remote, mode: async, blocked: 1 s, interval: optimal, keep: 7 d}
"""
GOOD: dict[str, Any] = {
    "title": "T",
    "line": "L",
    "source": "S",
    "covered": "abstract",
    "mechanism": "M",
    "costs": {"adds": "a", "loses": "l", "recovers_in": "r"},
    "protection": [{"checkpoint": {"target": "remote", "mode": "sync", "interval": "1 h"}}],
    "constants": [
        {"name": "c", "value": 1, "read": "text", "at": "p. 1", "sets": ["checkpoint.target", "checkpoint.mode"]},
        {"name": "i", "value": 1, "read": "assumption", "at": "why", "sets": ["checkpoint.interval"]},
    ],
    "most_sensitive": "i",
    "study": "",
}


def named(protection: str) -> Any:
    """The study with that protection, loaded."""
    return parse_study(STUDY.replace("PROTECTION", protection).encode(), "case.yaml")


def test_all_are_there() -> None:
    assert sorted(FAMILIES.split()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_says_all_that_it_must(name: str) -> None:
    one = systems.system(name)
    assert len(one.mechanism.split(". ")) >= 2
    assert len(one.most_sensitive) > 40
    assert not one.missing
    study = resources.studies() / one.study
    assert name in load_study(study).spec.compare
    assert one.source.startswith("http") or name == "gem"


@pytest.mark.parametrize("name", NAMES)
def test_only_an_assumption_lacks_a_place_in_a_source(name: str) -> None:
    for one in systems.system(name).constants:
        assert one.at
        if one.read in ("assumption", "derived"):
            assert len(one.at) > 3, one.name


def test_gem_has_from_its_abstract_only_what_is_in_it() -> None:
    read = {one.name for one in systems.system("gem").constants if one.read != "assumption"}
    assert read == {"additional GPU memory", "cut of time wasted by GPU memory failures", "what is coded", "retry"}


def test_a_name_stands_for_its_tiers() -> None:
    short, long = named("{system: gem, stripe: {k: 64}}"), named(WRITTEN)
    assert study_hash(short.spec) == study_hash(long.spec)
    ids = {scenario.build(resolve_point(one, {"protection.stripe.m": 2})).id for one in (short, long)}
    assert len(ids) == 1
    assert canonical(short.spec)["protection"] == canonical(long.spec)["protection"]


def test_a_name_sets_the_tiers_alone() -> None:
    spec = parse_study(STUDY.replace("PROTECTION", "gemini").encode(), "case.yaml").spec
    assert spec.restart.mode == "in_place"
    assert [tier.label for tier in spec.protection] == ["replica", "remote"]


def test_what_a_variant_or_a_sweep_names_is_in_the_hash() -> None:
    text = STUDY.replace("PROTECTION", "gem") + "compare: {a: {}, b: {protection: WHAT}}\n"
    hashes = {study_hash(parse_study(text.replace("WHAT", one).encode(), "x").spec) for one in ("gemini", "checkfreq")}
    assert len(hashes) == 2
    spec = parse_study(
        (STUDY.replace("PROTECTION", "gem") + "sweep: {grid: {protection: [gem, gemini]}}").encode(), "x"
    )
    assert [len(one) for one in canonical(spec.spec)["sweep"]["grid"]["protection"]] == [3, 2]


def test_each_setting_has_its_origin() -> None:
    rows = {row.path: row.origin for row in explain(named("{system: gem, stripe: {k: 64}}"))}
    assert rows["protection.stripe.k"] == "given"
    assert rows["protection.stripe.m"] == "system gem: assumption, the least; XOR, any width"
    assert rows["protection.retry.granularity"] == "system gem: abstract"
    assert rows["protection.stripe.copy"] == "assumption"


@pytest.mark.parametrize(
    ("protection", "place", "part"),
    [
        ("gemm", "7:13", "did you mean 'gem'?"),
        ("{system: gem, stripe: {k: 0}}", "7:39", "out of range (0)"),
        ("{system: gem, fall: {keep: 3}}", "7:33", "did you mean 'fallback'?"),
        ("[gem]", "7:14", "write protection: gem"),
        ("[{system: gem, stripe: {k: 64}}]", "7:14", "write protection: {system: gem}, without the list"),
        ("[{system: gemm}]", "7:14", "did you mean 'gem'?"),
    ],
)
def test_a_fault_is_shown_where_it_stands(protection: str, place: str, part: str) -> None:
    with pytest.raises(StudyError) as caught:
        named(protection)
    (problem,) = caught.value.problems
    assert (problem.where, part in str(problem)) == (f"case.yaml:{place}", True), str(problem)


def test_a_swept_setting_of_a_tier_that_the_system_lacks(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the tiers are replica, remote"):
        parse_study((STUDY.replace("PROTECTION", "gemini") + "sweep: {grid: {protection.stripe.k: [3]}}").encode(), "x")


def test_null_takes_a_setting_of_the_system_away() -> None:
    """The gap of the MLP log goes with the relaxed variant alone."""
    own = {"variant": "cxl_b", "mlp_log_gap": None}
    assert systems.expand({"system": "trainingcxl", "undo_log": own})[0] == {"undo_log": {"variant": "cxl_b"}}


def test_a_study_may_rename_a_tier() -> None:
    loaded = named("{system: gemini, replica: {name: cpu, copies: 3}}")
    assert [tier.label for tier in loaded.spec.protection] == ["cpu", "remote"]
    rows = {row.path: row.origin for row in explain(loaded)}
    assert rows["protection.cpu.placement"].startswith("system gemini: text")
    assert rows["protection.cpu.copies"] == "given"
    with pytest.raises(StudyError, match=r"case\.yaml:7:59: protection\.replica\.copies"):
        named("{system: gemini, replica: {name: cpu, copies: 0}}")


def written(folder: Path, **changes: Any) -> Path:
    """A system's file with some of its parts changed; None removes one."""
    import json

    data = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    path = folder / "one.yaml"
    path.write_text(json.dumps(data))
    assert not read_tree(path.read_bytes(), "x").problems
    return path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    assert systems._system(written(tmp_path)).missing == ()


CONSTANTS = GOOD["constants"]
CHECKPOINT = GOOD["protection"][0]["checkpoint"]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"protection": [{"chekpoint": CHECKPOINT}]}, "unknown tier ('chekpoint')"),
        ({"protection": [{"checkpoint": {**CHECKPOINT, "targets": "x"}}]}, "targets"),
        ({"constants": [{**CONSTANTS[0], "at": ""}, CONSTANTS[1]]}, "'c' has no source"),
        ({"constants": [{**CONSTANTS[0], "read": "heard"}, CONSTANTS[1]]}, "read"),
        ({"constants": [{**CONSTANTS[0], "read": "figure"}, CONSTANTS[1]]}, "'c' is read off a figure"),
        ({"constants": CONSTANTS[:1]}, "protection.checkpoint.interval: no constant gives it"),
        ({"constants": [*CONSTANTS, {**CONSTANTS[0], "sets": ["checkpoint.part"]}]}, "checkpoint.part: no tier has it"),
        ({"most_sensitive": None}, "most_sensitive"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, changes: dict[str, Any], part: str) -> None:
    with pytest.raises(ProfileError, match=r"one\.yaml") as caught:
        systems._system(written(tmp_path, **changes))
    assert part in str(caught.value)


def test_a_system_whose_tier_is_not_built_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOT_BUILT, "stripe", "use checkpoint")
    systems._system.cache_clear()
    try:
        with pytest.raises(ValueRefused, match="system gem cannot be used in this version: it needs the tier stripe"):
            systems.expand("gem")
        with pytest.raises(StudyError, match="needs the tier stripe, which is not built"):
            named("gem")
    finally:
        systems._system.cache_clear()
