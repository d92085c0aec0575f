"""The schema for editors: valid by its own dialect, accepts every study that loads, refuses what is wrong in form."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gemsim import units
from gemsim.cli.main import main
from gemsim.errors import GemsimError
from gemsim.spec.loading import load_study, parse_study
from gemsim.spec.printing import canonical_yaml
from gemsim.spec.schema import DIALECT, study_schema
from gemsim.spec.yaml import read_tree

HERE = Path(__file__).parent
STUDIES = sorted((HERE.parents[1] / "studies").rglob("*.yaml"))
VALID = sorted((HERE / "valid").glob("*.yaml"))
INVALID = sorted((HERE / "invalid").glob("*.yaml"))
# What is wrong in form alone: keys, words, units, types, ranges of one value. The others take several keys together.
FORM = (
    "bandwidth_as_bytes", "bare_bandwidth", "bare_time", "batch_within_unknown", "checks_without_finds",
    "common_cause_beta", "common_cause_within_cluster", "compare_not_mapping", "decide_finish_without_chance",
    "decide_objective_unknown", "decide_range_key", "decide_range_open", "detect_missing", "drift_is_a_pair",
    "escalate_misspelt_at_the_last_stage", "fleet_is_text", "fleet_key_misspelt",
    "fleet_key_misspelt_and_value_wrong", "frailty_kind_unknown", "frailty_multiplier_below_one",
    "frailty_share_as_percent_number", "gpu_unknown", "horizon_and_steps", "horizon_nor_steps",
    "interval_unknown", "keep_zero", "key_missing", "key_misspelt_and_value_wrong", "key_misspelt_nested",
    "key_misspelt_top", "key_of_tier", "latent_bare_time", "latent_share_as_percent_number",
    "latent_without_read", "many_at_once", "min_events_few", "misdiagnosis",
    "mix_unknown", "mode_unknown", "nan", "nested_key_unknown", "points_twice", "points_wrong",
    "precision_column_unknown", "sample_keys", "sample_nothing", "sample_range_unknown",
    "number_absurd", "number_is_bool", "number_negative", "number_not_whole", "number_with_commas", "prices",
    "protect_unknown", "protection_not_list", "quick_key_unknown", "rate_bare", "rate_unreadable",
    "remap_misspelt", "require_not_a_bound", "require_of_what_is_judged_by_it", "require_unknown_column",
    "scope_unknown", "section_is_text", "share_too_large", "spares_activation_bare", "spares_half",
    "spares_key_misspelt", "spares_negative", "spares_unit_unknown", "stage_key_misspelt", "stage_without_time",
    "sweep_empty_list", "sweep_kind_unknown", "sweep_not_a_list", "system_as_tier", "system_tier_unknown",
    "system_unknown", "tier_settings_not_mapping", "tier_two_keys", "tier_unknown", "time_negative",
    "title_is_number", "uncertain_law_misspelt", "uncertain_not_a_mapping", "unit_wrong", "unit_wrong_case",
)  # fmt: skip


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(study_schema())


def faults(data: Any) -> list[str]:
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator().iter_errors(data)]


def tree(path: Path) -> Any:
    return read_tree(path.read_bytes(), str(path)).data


def nodes(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of the schema with its place."""
    if isinstance(node, dict):
        yield path, node
        for key, below in node.items():
            yield from nodes(below, f"{path}/{key}")
    elif isinstance(node, list):
        for number, below in enumerate(node):
            yield from nodes(below, f"{path}/{number}")


def test_it_is_a_schema_of_the_dialect_that_it_names() -> None:
    schema = study_schema()
    assert schema["$schema"] == DIALECT
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema


def test_editors_that_know_draft_7_alone_read_the_same() -> None:
    old = {**study_schema(), "$schema": "http://json-schema.org/draft-07/schema#"}
    jsonschema.Draft7Validator.check_schema(old)
    later = {"prefixItems", "unevaluatedProperties", "dependentRequired", "$defs", "$ref"}
    assert not later & {key for _, node in nodes(old) for key in node}


@pytest.mark.parametrize("path", [*STUDIES, *VALID], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_study_that_loads_is_accepted(path: Path) -> None:
    assert faults(tree(path)) == []


@pytest.mark.parametrize("path", [*STUDIES, *VALID], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_so_is_what_gemsim_prints(path: Path) -> None:
    """The canonical form, with every default written out."""
    if path.stem == "replay" and "GEMSIM_TRACES" not in os.environ:
        pytest.skip("needs the log")
    text = canonical_yaml(load_study(path).spec)
    assert faults(read_tree(text.encode(), "canonical.yaml").data) == []


@pytest.mark.parametrize("name", FORM)
def test_what_is_wrong_in_form_is_refused(name: str) -> None:
    assert faults(tree(HERE / "invalid" / f"{name}.yaml"))


def test_most_invalid_studies_of_one_value_are_refused() -> None:
    """Of all that can be read at all; the others need `gemsim check`."""
    read = [path for path in INVALID if not (found := read_tree(path.read_bytes(), "")).problems and found.data]
    assert sum(bool(faults(tree(path))) for path in read) >= len(FORM)
    assert len(FORM) > 0.35 * len(read)


@pytest.mark.parametrize(
    ("section", "short"),
    [
        ("restart", "in_place"), ("failures", "llama3-2024"), ("protection", "gem"), ("protection", ["retry"]),
        ("protection", [{"retry": None}]), ("protection", {"system": "gem", "stripe": {"k": 64}}),
        ("restart", {"pause": "5 s .. 30 s"}), ("failures", {"mix": "llama3-2024", "contained": "beta(14, 19)"}),
        ("fleet", None), ("sweep", {"grid": {"protection.stripe.k": [8]}}),
    ],
)  # fmt: skip
def test_short_forms(section: str, short: Any) -> None:
    data = {**tree(HERE / "valid" / "minimal.yaml"), section: short}
    assert faults(data) == []


@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        ("restart", "inplace"), ("failures", "llama"), ("protection", "gemm"), ("protection", ["retries"]),
        ("protection", [{"retry": {"granule": "step"}}]), ("protection", {"system": "gem", "strip": {}}),
        ("cluster", None), ("sweep", {"grid": {"protecton.stripe.k": [8]}}), ("extra", 1),
    ],
)  # fmt: skip
def test_short_forms_that_are_wrong(section: str, wrong: Any) -> None:
    data = {**tree(HERE / "valid" / "minimal.yaml"), section: wrong}
    assert faults(data)


def test_every_key_is_explained_and_none_is_open() -> None:
    for path, node in nodes(study_schema()):
        if "properties" not in node or "/if" in path:
            continue
        system = "system" in node["properties"] and "protection" in path
        assert node["additionalProperties"] is False, path
        for key, below in node["properties"].items():
            told = "description" in below or system or path.endswith("/quick") or "/require" in path
            assert told or "/items/anyOf/1" in path or "decide" in path or "replay" in path, f"{path}: {key}"


def test_defaults_pass_their_own_schema() -> None:
    for path, node in nodes(study_schema()):
        if isinstance(node.get("default"), str | int | float) and "type" in node | {"enum": 0}:
            assert jsonschema.Draft202012Validator(node).is_valid(node["default"]), path


@pytest.mark.parametrize("text", ["54 d", "0.5 %", "400 Gb/s", "419 / 54 d", "6.5 / 1000 node d", "141 GiB", "2 GB"])
def test_units_are_those_of_the_reader(text: str) -> None:
    """A pattern never refuses what the reader takes."""
    for path, node in nodes(study_schema()):
        example = node.get("examples", [None])[0]
        if "pattern" not in node or not isinstance(example, str):
            continue
        dimension = next((name for name, shown in units.EXAMPLES.items() if shown == example), None)
        try:
            units.parse(text, dimension)  # type: ignore[call-overload]
        except (GemsimError, KeyError):
            continue
        assert re.search(node["pattern"], text), path


def test_a_unit_that_is_new_would_be_noticed() -> None:
    data = copy.deepcopy(tree(HERE / "valid" / "minimal.yaml"))
    data["run"]["horizon"] = "3 fortnights"
    assert faults(data)
    with pytest.raises(GemsimError):
        parse_study(json.dumps(data).encode(), "study.yaml")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == study_schema()
    assert main(["schema", "--out", str(tmp_path / "a b" / "s.json")]) == 0
    assert json.loads((tmp_path / "a b" / "s.json").read_text()) == study_schema()
