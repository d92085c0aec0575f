"""The words on unlike devices, common failures, spares, repair and checks: paths, defaults, and what they imply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gemsim.errors import StudyError
from gemsim.scenario import build
from gemsim.spec.failures import FailureClassSpec, FailuresSpec, mix
from gemsim.spec.fleet import FleetSpec
from gemsim.spec.loading import LoadedStudy, load_study, parse_study, resolve_point
from gemsim.spec.messages import model_at
from gemsim.spec.paths import LISTS, fields_of, normalised
from gemsim.spec.printing import canonical, canonical_yaml, explain, study_hash
from gemsim.spec.replay import ReplaySpec
from gemsim.spec.types import Model
from gemsim.spec.yaml import read_tree

VALID = Path(__file__).parent / "valid"


@pytest.fixture(scope="module")
def fleet() -> LoadedStudy:
    return load_study(VALID / "fleet.yaml")


def rows(loaded: LoadedStudy) -> dict[str, tuple[str, str]]:
    return {row.path: (row.value, row.origin) for row in explain(loaded)}


def keys_of(model: type[Model]) -> Iterator[tuple[type[Model], str]]:
    """All keys of a model and of those below it."""
    for key, below in fields_of(model).items():
        yield model, key
        yield from keys_of(below) if below else ()


def keys_in(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[type[Model] | None, str]]:
    """All keys of a raw study, each with the model that reads it."""
    for key, below in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        if isinstance(tree, dict):
            yield model_at(path), str(key)
        yield from keys_in(below, (*path, key))


def test_every_key_of_failures_and_fleet_stands_in_a_valid_case() -> None:
    found = set[tuple[type[Model] | None, str]]()
    for path in VALID.glob("*.yaml"):
        found |= set(keys_in(normalised(read_tree(path.read_bytes(), "f").data)))
    known = set(keys_of(FailuresSpec)) | set(keys_of(FleetSpec))
    for model, _ in LISTS.values():
        known |= set(keys_of(model))
    known -= {(FailuresSpec, "replay"), *keys_of(ReplaySpec)}  # needs a log: tests/logs/test_replay_study.py
    assert {f"{model.__name__}.{key}" for model, key in known - found} == set()


def test_a_stage_is_found_by_name_and_by_number(fleet: LoadedStudy) -> None:
    spec = resolve_point(
        fleet,
        {
            "fleet.repair.stages.manual.crews": 7,
            "fleet.repair.stages.0.time.mean": "1 h",
            "fleet.repair.stages.automatic.silent": "5 %",
            "fleet.spares.activation.warm": "1 min",
            "failures.classes.servers.frailty.multiplier": 3,
            "failures.classes.1.common_cause.beta": 0.2,
        },
    )
    repair, spares = spec.fleet.repair, spec.fleet.spares
    assert repair is not None
    assert spares is not None
    assert [(one.time.mean, one.silent, one.crews) for one in repair.stages] == [(3600, 0.05, 0), (172_800, 0.2, 7)]
    assert (spares.activation.hot, spares.activation.warm) == (0, 60)
    servers, gpus = spec.failures.classes[:2]
    assert servers.frailty is not None
    assert gpus.common_cause is not None
    assert (servers.frailty.multiplier, gpus.common_cause.beta) == (3, 0.2)


def test_null_takes_a_part_of_the_fleet_away(fleet: LoadedStudy) -> None:
    spec = resolve_point(fleet, {"fleet.retire": None, "fleet.checks": None, "fleet.repair": None})
    assert (spec.fleet.retire, spec.fleet.checks, spec.fleet.repair) == (None, None, None)
    assert parse_study((VALID / "minimal.yaml").read_bytes() + b"fleet:\n", "f").spec.fleet == FleetSpec()


def test_a_class_needs_no_repair_of_its_own_where_the_fleet_has_stages(fleet: LoadedStudy) -> None:
    text = (VALID / "fleet.yaml").read_text().replace("action: replace,\n       repair: 4 h}", "action: replace}")
    text = text.replace("action: replace, repair: 2.2 h,", "action: replace,").replace(
        "action: replace, repair: 4 h}", "action: replace}"
    )
    with pytest.raises(StudyError) as caught:  # the variant without stages lacks them
        parse_study(text.encode(), "f")
    assert {problem.what.split(": ")[-1] for problem in caught.value.problems} == {"missing for action replace"}
    loaded = parse_study(text.replace("{repair: null, retire: null,", "{retire: null,").encode(), "f")
    assert [one.name for one in loaded.spec.failures.classes if one.repair is None and one.action == "replace"] == [
        "servers", "gpus", "joint", "slow-node",
    ]  # fmt: skip
    assert rows(fleet)["fleet.repair.replaces"] == (
        "the repair times of servers, gpus, joint, slow-node",
        "derived: these are not used",
    )
    assert "fleet.repair.replaces" not in rows(loaded)


def test_a_study_without_a_fleet_keeps_its_canonical_form_and_the_short_form_of_spares() -> None:
    loaded = load_study(VALID / "minimal.yaml")
    assert "fleet" not in canonical(loaded.spec)
    assert "spare_nodes" in canonical(loaded.spec)["cluster"]
    found = rows(loaded)
    assert found["fleet.spares"] == ("–", "cluster.spare_nodes, all hot")
    assert found["fleet.repair"] == ("–", "the time of each failure's class")


def test_the_short_form_of_spares_is_gone_where_the_long_one_is_given(fleet: LoadedStudy) -> None:
    assert not any(path.startswith("cluster.spare_") for path in rows(fleet))
    text = canonical_yaml(fleet.spec)
    assert "spare_nodes" not in text
    both = parse_study(text.replace("cluster:\n", "cluster:\n  spare_activation: 7 min\n").encode(), "f")
    assert rows(both)["cluster.spare_activation"] == ("not used", "fleet.spares.activation is")
    assert study_hash(both.spec) == study_hash(fleet.spec)


def test_every_default_of_a_fleet_has_its_source() -> None:
    text = (VALID / "minimal.yaml").read_text() + (
        "fleet: {spares: {}, repair: {stages: [{name: a, time: 2 h}], parts: {needed: 1, stock: 0, lead: 1 d}}, "
        "retire: {after: 3, within: 7 d}, checks: {every: 1 h, finds: 0}}\n"
    )
    found = rows(parse_study(text.encode(), "f"))
    assert found["fleet.spares.hot"] == ("0", "assumption")
    assert found["fleet.spares.activation.cold"] == ("30 min", "assumption")
    assert found["fleet.repair.stages.a.time"] == ("fixed 2 h", "given")
    assert found["fleet.repair.stages.a.crews"] == ("0", "no limit")
    assert found["fleet.retire.restock"] == ("–", "no new node comes")
    assert found["fleet.checks.false_positives"] == ("0", "assumption: no healthy node is taken out")
    assert all(origin for path, (_, origin) in found.items() if path.startswith("fleet."))


def test_what_follows_is_said_in_words(fleet: LoadedStudy) -> None:
    found = rows(fleet)
    assert found["failures.gpus+power"] == (
        "0.1 of the failures of gpus: all 256 GPUs of a power domain at once",
        "derived from common_cause: a class of its own; the other 0.9 stay gpus, one by one",
    )
    assert found["failures.servers.starts"] == (
        "1.09 nodes at one instant on average",  # 0.95 + 2 × 0.03 + 4 × 0.02
        "derived; starts come at the rate / 1.09",
    )
    assert (
        found["failures.joint.starts"][0] == "8.2 nodes at one instant on average; cut at the 64 that the job has there"
    )
    assert found["failures.frailty.reaches"][0] == (
        "of hbm3, gpus, again, slow-node; not of servers, joint, feed, maintenance"
    )
    assert (
        found["failures.drift.reaches"][0]
        == "of hbm3, gpus, again, joint, feed, slow-node; not of servers, maintenance"
    )
    # 64 nodes × 24 checks a day × 1e-5
    assert found["failures.false_alarm"][0] == "0.01536 healthy nodes of the job per day are taken out"
    assert found["failures.drift"] == ("0.6 from 0 s, 1.4 from 29 d", "given")


def test_a_gamma_law_for_all_leaves_classes_with_batches_as_they_are(fleet: LoadedStudy) -> None:
    by_name = {one.name: one for one in fleet.spec.failures.resolved()}
    assert by_name["joint"].frailty is None
    assert by_name["hbm3"].frailty == fleet.spec.failures.frailty
    lemons = resolve_point(
        fleet, {"failures.frailty": {"kind": "lemons", "shape": None, "share": 0.1, "multiplier": 2}}
    )
    joint = next(one for one in lemons.failures.resolved() if one.name == "joint")
    assert joint.frailty == lemons.failures.frailty


def test_a_class_of_a_mix_shows_what_is_unlike_and_what_follows() -> None:
    text = (VALID / "minimal.yaml").read_text().replace("failures: llama3-2024", "failures: lanl-18")
    found = rows(parse_study(text.encode(), "f"))
    for one in mix("lanl-18").classes:
        value = found[f"failures.lanl-18.{one.name}"][0]
        for law, words in ((one.frailty, "frailty gamma (shape "), (one.batch, "batches of [[")):
            assert (words in value) == (law is not None)
            assert law is None or str(law) in value
        assert one.recurrence is None or f"again with {one.recurrence.again:g} after " in value


@pytest.mark.parametrize("clock", ["gpu", "node"])
def test_a_batch_may_be_as_large_as_its_domain(clock: str) -> None:
    size = {"gpu": 16, "node": 2}[clock]  # two nodes of eight GPUs in a rack
    text = (
        "title: t\ncluster: {gpus: 64, gpu: h100-80gb, storage: {write: 2 TB/s, read: 7 TB/s}}\n"
        "workload: {parameters: 7e9, parallel: {data: 64}, step: 1 s}\nrun: {horizon: 1 d}\n"
        f"failures: {{classes: [{{name: a, scope: node, clock: {clock}, rate: 1 / node d, detect: 1 s, action: reboot, "
        "batch: {sizes: [[SIZE, 1]], within: rack}}]}\n"
    )
    spec = parse_study(text.replace("SIZE", str(size)).encode(), "f").spec
    assert isinstance(spec.failures.classes[0], FailureClassSpec)
    with pytest.raises(StudyError, match=f"a batch of {size + 1} {clock}s is larger than its rack"):
        parse_study(text.replace("SIZE", str(size + 1)).encode(), "f")


def test_a_tray_of_spares_counts_as_a_node() -> None:
    """As with cluster.replace: the same nodes beside the job."""
    text = (VALID / "minimal.yaml").read_text().replace("70e9", "7e9") + "fleet: {spares: {hot: 2, unit: UNIT}}\n"
    built = [
        build(resolve_point(parse_study(text.replace("UNIT", unit).encode(), "f"), {})) for unit in ("node", "tray")
    ]
    assert built[0].id == built[1].id
