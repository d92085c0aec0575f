"""Design points: paths, short forms, merging, variants, the quick form, and errors that name the swept value."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gemsim.errors import StudyError, ValueRefused
from gemsim.spec.loading import LoadedStudy, applies, load_study, parse_study, resolve_point
from gemsim.spec.paths import locate, normalised
from gemsim.spec.printing import study_hash
from gemsim.spec.protection.checkpoint import CheckpointSpec
from gemsim.spec.protection.stripe import StripeSpec
from gemsim.spec.study import StudySpec

VALID = Path(__file__).parent / "valid"


@pytest.fixture(scope="module")
def every() -> LoadedStudy:
    return load_study(VALID / "every_key.yaml")


def tier(spec: StudySpec, label: str) -> object:
    return next(one for one in spec.protection if one.label == label)


def test_values_are_si_floats(every: LoadedStudy) -> None:
    spec = every.spec
    assert spec.cluster.nic == 25e9
    assert spec.cluster.cpu_memory == 2**40
    assert spec.workload.update == 0.12
    assert spec.run.max_wall == 864_000
    assert spec.failures.page == 65_536
    assert spec.failures.contained == 0.5
    assert spec.require["cost_s_per_failure"].met(599.9)
    assert not spec.require["cost_s_per_failure"].met(math.nan)


def test_a_tier_is_found_by_name_and_by_unique_kind(every: LoadedStudy) -> None:
    spec = resolve_point(every, {"protection.outer.k": 7, "protection.retry.granularity": "step"})
    outer, inner = tier(spec, "outer"), tier(spec, "inner")
    assert isinstance(outer, StripeSpec)
    assert isinstance(inner, StripeSpec)
    assert (outer.k, inner.k) == (7, 16)
    assert inner.copy_mode == "snapshot"


def test_text_for_restart_or_failures_sets_the_mode_or_the_mix_and_keeps_the_rest(every: LoadedStudy) -> None:
    spec = resolve_point(every, {"restart": "in_process", "failures": "llama3-2024"})
    assert spec.restart.mode == "in_process"
    assert spec.restart.process == 45
    assert spec.failures.mix == "llama3-2024"
    assert [one.name for one in spec.failures.classes] == ["burst", "bad-math", "feed", "maintenance", "slow-node"]


def test_a_mapping_is_merged_and_a_list_replaces(every: LoadedStudy) -> None:
    variants = every.variants
    slow = resolve_point(every, variants["slow store"])
    assert (slow.cluster.storage.write, slow.cluster.storage.read) == (2e9, 20e9)
    bare = resolve_point(every, variants["bare"])
    assert bare.protection == ()


def test_a_point_has_no_sweep_left_and_leaves_the_study_as_it_was(every: LoadedStudy) -> None:
    before = study_hash(every.spec)
    point = resolve_point(every, {"protection.inner.k": 8})
    assert not point.sweep.grid
    assert not point.compare
    assert resolve_point(every, {}).protection == every.spec.protection
    assert study_hash(load_study(every.path).spec) == before


def test_a_path_that_a_variant_lacks_does_not_apply_there(every: LoadedStudy) -> None:
    bare = every.variants["bare"]
    assert not applies(every, bare, "protection.inner.k")
    assert applies(every, every.variants["slow store"], "protection.inner.k")
    assert resolve_point(every, {**bare, "protection.inner.k": 8}).protection == ()


def test_the_quick_form_replaces_lists_keeps_variants_and_merges_the_rest(every: LoadedStudy) -> None:
    quick = load_study(every.path, quick=True)
    assert list(quick.variants) == ["bare"]
    assert quick.spec.run.replications == 2
    assert quick.spec.run.steps == 100_000
    assert quick.spec.sweep.grid["failures"] == ("delta-a100-memory",)
    assert quick.spec.require["failures"].value == 0
    assert "protection.inner.k" not in quick.spec.sweep.grid
    assert every.spec.run.replications == 8


def test_a_law_in_short_form_is_written_out_before_a_path_goes_into_it(every: LoadedStudy) -> None:
    spec = resolve_point(every, {"failures.classes.burst.repair.mean": "20 min"})
    repair = spec.failures.classes[0].repair
    assert repair is not None
    assert (repair.kind, repair.mean) == ("fixed", 1200)


def test_overrides_reach_the_classes_they_fit(every: LoadedStudy) -> None:
    memory, burst, bad = every.spec.failures.resolved()[:3]
    assert memory.contained == burst.contained == 0.5
    assert memory.lands == burst.lands == "critical"
    assert memory.rows_to_pages == "same_page"
    assert bad.contained is None
    assert {one.law.kind for one in (memory, burst, bad)} == {"weibull"}
    assert burst.rate.value == pytest.approx(2 * 2.3 / 1000 / 86_400)
    assert burst.job_rate(gpus=64, gpus_per_node=8) == pytest.approx(8 * burst.rate.value)
    assert bad.job_rate(gpus=64, gpus_per_node=8) == pytest.approx(2 * 6 / 54 / 86_400 / 256)


def test_an_error_of_a_point_names_the_swept_value_and_its_place(every: LoadedStudy) -> None:
    with pytest.raises(StudyError) as caught:
        resolve_point(every, {"cluster.gpus": 128})
    (problem,) = caught.value.problems
    line = every.path.read_text().splitlines().index("    cluster.gpus: [64, 128]") + 1
    assert problem.where == f"{every.path}:{line}:24"
    assert problem.path == "sweep.zip.cluster.gpus[1]"
    assert problem.what.startswith("workload.parallel: the layout uses other than all GPUs")


def test_a_value_made_by_a_caller_is_refused_at_its_path(every: LoadedStudy) -> None:
    with pytest.raises(StudyError) as caught:
        resolve_point(every, {"protection.far.blocked": "fast", "protection.far.k": 3})
    shown = [str(problem).split(": ", 1)[1] for problem in caught.value.problems]
    assert shown[0].startswith("protection.far.k: no such path ('protection.far.k'); protection.far has name, target,")
    assert shown[1].startswith("protection.far.blocked: cannot be read ('fast')")


@pytest.mark.parametrize(
    "path", ["", ".", "protection.", "protection.inner.", "failures.classes.x.rate", "title", "sweep.grid", "quick"]
)
def test_paths_that_are_none(every: LoadedStudy, path: str) -> None:
    with pytest.raises(ValueRefused):
        locate(normalised(every.raw), path)


def test_two_equal_checkpoints_cannot_be_told_apart() -> None:
    text = (VALID / "minimal.yaml").read_text() + (
        "protection:\n  - checkpoint: {target: disk, mode: sync, interval: 1 h}\n"
        "  - checkpoint: {name: far, target: remote, mode: sync, interval: 1 h}\n"
    )
    loaded = parse_study(text.encode(), "f")
    far = resolve_point(loaded, {"protection.far.keep": 3}).protection[1]
    assert isinstance(far, CheckpointSpec)
    assert far.keep.count == 3
    with pytest.raises(StudyError, match=r"candidates: the checkpoint without a name, protection\.far\.keep"):
        resolve_point(loaded, {"protection.checkpoint.keep": 3})
