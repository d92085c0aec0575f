"""The report on GEM: the cut by hand, what a memory failure costs by hand, the engine beside it, and planted faults."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gemsim.failures.classes import FailureClass
from gemsim.protection import reach
from gemsim.protection.kinds import Job, kinds_of
from gemsim.results.estimate import t_quantile
from gemsim.scenario import build, describe
from gemsim.scenario.state import memory, update_seconds
from gemsim.spec import catalog
from gemsim.spec.models import model_names, named_model
from gemsim.spec.published import paper
from gemsim.spec.study import StudySpec
from gemsim.study.validate import gem, gem_sets, gem_sim, gem_worlds
from gemsim.study.validate.gem_costs import Loss, cut, loss, mean_lost, prices
from gemsim.study.validate.gem_sets import PAIRS, all_cut, mean_cut, memory_cut, patterns, sets
from gemsim.study.validate.gem_sim import simulated
from gemsim.study.validate.gem_text import WIDTH, render_gem
from gemsim.study.validate.gem_worlds import Assumed, job
from gemsim_kernels.codes import family

MEMORY = ("hbm3",)
DETECT, RESET, PROCESS, WARMUP, PAUSE = 10.0, 60.0, 60.0, 30.0, 10.0


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Nothing that was computed under a planted fault is kept."""
    caches = (gem_worlds.job, gem_sets.lost, gem_sim.simulated)
    for one in caches:
        one.cache_clear()
    yield
    for one in caches:
        one.cache_clear()


def study(name: str) -> StudySpec:
    raw = {**named_model(name).study(), "title": name, "failures": {"mix": "llama3-2024"}, "run": {"horizon": "1 d"}}
    return StudySpec.model_validate(raw)


# The named models


@pytest.mark.parametrize("name", model_names())
def test_a_model_fits_and_its_step_follows_its_arithmetic(name: str) -> None:
    named, spec = named_model(name), study(name)
    held = memory(spec)
    work = spec.workload
    speed = 6 * work.active_parameters * (work.tokens_per_step or 0) / (spec.cluster.gpus * work.step)
    assert speed / catalog.gpu(spec.cluster.gpu).peak_flops == pytest.approx(named.mfu, rel=1e-5)
    assert 0.3 < named.mfu < 0.45
    assert held.bytes_of("free") > 0.003 * held.capacity
    unique = sum(r.bytes * spec.cluster.gpus / r.copies for r in held.regions if r.critical)
    assert unique == pytest.approx(work.parameters * (work.bytes.weight + work.bytes.optimizer))
    assert named.source
    assert (named.kind == "moe") == (work.experts is not None)
    assert spec.cluster.spare_nodes >= max(4, spec.cluster.nodes // 50)


def test_the_models_span_what_the_report_says() -> None:
    specs = [study(name) for name in model_names()]
    sizes = sorted(spec.workload.parameters for spec in specs)
    assert len(specs) >= 6
    assert sizes[0] < 7.1e9
    assert sizes[-1] > 1e12
    assert {spec.cluster.gpus for spec in specs} >= {64, 16384}
    assert {named_model(name).kind for name in model_names()} == {"dense", "moe"}


@pytest.mark.parametrize(
    ("name", "seconds", "within"),
    [("deepseek-v3-671b", 62914560 / 2048 / (1e12 / (180e3 * 3600)), 0.02), ("llama3-405b", 5.93, 0.01),
     ("gpt3-175b", 3145728 * 34 * 86400 / 300e9, 0.01), ("megatron-1t", 6291456 * 84 * 86400 / 450e9, 0.01)],
)  # fmt: skip
def test_steps_are_those_that_the_papers_imply(name: str, seconds: float, within: float) -> None:
    """GPU hours for a trillion tokens, TFLOP/s per GPU, days for so many tokens."""
    assert named_model(name).step == pytest.approx(seconds, rel=within)


# The cut


def test_the_cut_by_hand() -> None:
    """Half repaired at 20 of 200 s, half left to a copy at 100 s: 0.5 x 0.9 + 0.5 x 0.5; 10 s of encoding cost 0.05."""
    ours = Loss(rate=1e-5, seconds=60.0, share=0.5, repaired=20.0, fallen=100.0)
    found = cut(ours, Loss(1e-5, 200.0, 0.0, 0.0, 200.0), steady=10.0)
    assert (found.code, found.fallback, found.steady) == pytest.approx((0.45, 0.25, 0.05))
    assert found.total == pytest.approx(1 - 60 / 200)


@pytest.mark.parametrize(("cycle", "lag", "rate"), [(100.0, 0.0, 1e-9), (100.0, 30.0, 1e-3), (50.0, 170.0, 0.02)])
def test_the_work_lost_by_numerical_integration(cycle: float, lag: float, rate: float) -> None:
    """A life begins with a finished copy; the copy of what was done at n cycles is finished `lag` later."""
    if rate < 1e-6:
        assert mean_lost(cycle, lag, rate) == pytest.approx(cycle / 2 + lag, rel=1e-6)
        return
    at = (np.arange(4_000_000) + 0.5) * (40.0 / rate / 4_000_000)
    lost = at - np.maximum(0.0, np.floor((at - lag) / cycle) * cycle)
    weight = rate * np.exp(-rate * at)
    assert mean_lost(cycle, lag, rate) == pytest.approx(float((lost * weight).sum() / weight.sum()), rel=1e-4)


def test_the_two_forms_of_the_work_lost_meet() -> None:
    for cycle, lag in ((100.0, 20.0), (3600.0, 5.0)):
        rate = 1e-4 / cycle
        below, above = mean_lost(cycle, lag, rate * 0.999), mean_lost(cycle, lag, rate * 1.001)
        assert below == pytest.approx(above, rel=1e-6)


def test_what_a_memory_failure_costs_by_hand() -> None:
    """Repaired: detection and pause. Hourly: reset (a pending remap is served), restart, read, half an hour. CPU
    memory: half a step instead."""
    model = "deepseek-v3-671b"
    spec, all_contained = study(model), Assumed()
    step = named_model(model).step
    restart = PROCESS + WARMUP + 17.0 * (2048 / 16384) ** 1.376
    state = 671e9 * 10
    repaired = loss(prices(job(model, all_contained, "hourly", gem=True)), MEMORY)
    assert repaired.repaired == pytest.approx(DETECT + PAUSE, abs=0.02)  # and the kernel that is run again
    hourly = loss(prices(job(model, all_contained, "hourly", gem=False)), MEMORY)
    half_hour = round(3600 / step) * step / 2
    standing = DETECT + RESET + restart + state / 880e9
    assert hourly.seconds == pytest.approx(standing + half_hour + state / 256e9, rel=0.01)
    cpu = loss(prices(job(model, all_contained, "cpu", gem=False)), MEMORY)
    part = state / 2048
    assert cpu.seconds == pytest.approx(DETECT + RESET + restart + step / 2 + 2 * part / 50e9, rel=1e-3)
    window = update_seconds(spec, memory(spec)) / step
    assert 1 - repaired.share == pytest.approx(window, rel=0.06)  # and 2 ms of encoding


def test_all_processes_restarted_saves_nothing() -> None:
    for pair in PAIRS[:4]:
        assert mean_cut(gem.QUICK_MODELS, Assumed(mode="all_processes"), *pair).code == 0.0


def test_the_terms_add_up_to_one_minus_the_ratio() -> None:
    for assumed in (Assumed(contained=0.54), Assumed(contained=0.9, lands="used", mapping="contiguous", sram=True)):
        for pair in PAIRS:
            ours = loss(prices(job("llama3-405b", assumed.plain, pair[1], gem=True)), assumed.classes)
            base = loss(prices(job("llama3-405b", assumed.plain, pair[0], gem=False)), assumed.classes)
            found = memory_cut("llama3-405b", assumed, *pair)
            assert found.total == pytest.approx(1 - ours.seconds / base.seconds, abs=1e-9)


def test_sram_errors_count_as_memory_failures_that_no_code_touches() -> None:
    """72 HBM and 19 SRAM errors in the mix: P falls to 72 / 91 of what it was."""
    without, with_sram = (
        loss(prices(job("llama3-405b", Assumed(), "hourly", gem=True)), Assumed(sram=sram).classes)
        for sram in (False, True)
    )
    assert with_sram.share == pytest.approx(without.share * 72 / 91)


# Widths


def test_the_width_that_a_share_of_memory_asks_for() -> None:
    """All memory coded: 333 m. 38 % with m = 2 is the last that GF(2^8) covers."""
    assert [gem._width(1.0, m, 0.003) for m in (1, 2, 3, 4)] == [
        "334",
        "667 (GF(2^16))",
        "1000 (GF(2^16))",
        "1334 (GF(2^16))",
    ]
    assert gem._width(0.3825, 2, 0.003) == "255"
    assert gem._width(0.384, 2, 0.003) == "256 (GF(2^16))"
    assert family(255, 2).field_bits == 8


@pytest.mark.parametrize("name", model_names())
@pytest.mark.parametrize("m", [1, 4])
def test_parity_takes_what_is_asked(name: str, m: int) -> None:
    built = job(name, Assumed(m=m), "hourly", gem=True)
    assert 0.0028 < describe(built)["memory_overhead"] <= 0.003 + m * 2**21 / built.platform.memory.capacity


# The engine


@pytest.mark.parametrize("baseline", ["cpu", "hourly"])
def test_the_engine_finds_the_cut_of_the_closed_form(baseline: str) -> None:
    """All contained, so that no luck of containment is in it; within four standard errors."""
    runs = 8
    found = simulated("llama3-405b", Assumed(), baseline, baseline, replications=runs)
    error = found.memory.half_width / t_quantile(runs)
    assert error < 0.01
    assert found.failures > 400
    assert abs(found.memory.value - found.closed.total) < 4 * error + 0.002  # failures that meet a recovery
    _, whole = all_cut("llama3-405b", Assumed(), baseline, baseline)
    assert abs(found.everything.value - whole) < 4 * found.everything.half_width / t_quantile(runs)


def test_a_pause_forgotten_in_the_closed_form_is_caught(monkeypatch: pytest.MonkeyPatch, forgetful: None) -> None:
    wrong = gem_worlds.job

    def without_pause(model: str, assumed: Assumed, saves: str, **keys: Any) -> Any:
        return wrong(model, replace(assumed, pause=0.0), saves, **keys)

    monkeypatch.setattr(gem_sets, "job", without_pause)
    found = simulated("llama3-405b", Assumed(), "cpu", "cpu", replications=8)
    assert abs(found.memory.value - found.closed.total) > 4 * found.memory.half_width / t_quantile(8) + 0.002


# The report


def _ignoring_containment(of: Job, kind: FailureClass) -> Any:
    return kinds_of(of, dataclasses.replace(kind, contained=1.0) if kind.scope == "memory" else kind)


def test_no_repair_in_place_exceeds_what_is_contained(forgetful: None) -> None:
    for contained in (0.42, 0.54):
        assert 0.95 * contained < gem._bound(("megatron-1t", "llama3-405b"), contained) <= contained


def test_containment_ignored_is_caught(monkeypatch: pytest.MonkeyPatch, forgetful: None) -> None:
    monkeypatch.setattr(reach, "kinds_of", _ignoring_containment)
    assert gem._bound(("megatron-1t",), 0.42) > 0.42


def test_the_claim_needs_what_the_report_names() -> None:
    """Nearly all errors contained, the process alive; against hourly saves then yes, against CPU memory never."""
    models, claim = tuple(model_names()), 0.966
    assert mean_cut(models, Assumed(), "hourly", "hourly").total >= claim
    for worse in ({"contained": 0.9}, {"mode": "holder"}, {"mode": "all_processes"}, {"pause": 60.0}, {"sram": True}):
        assert mean_cut(models, replace(Assumed(), **worse), "hourly", "hourly").total < claim
    assert mean_cut(models, Assumed(pause=1.0), "cpu", "cpu").total < claim
    assert mean_cut(models, Assumed(contained=0.54), "3-hourly", "cpu").total >= claim  # the fall-back's doing
    assert mean_cut(models, Assumed(contained=0.54), "3-hourly", "cpu").code < 0.54


def test_patterns_hold_every_set_once_and_no_other() -> None:
    everything = sets(quick=False)
    rng = np.random.default_rng(1)
    chosen = [one for one in everything if (one.contained == 1.0 and one.pause < 60.0) or rng.random() < 0.02]
    found = patterns(chosen, quick=False)
    covered = [
        one for pattern in found for one in everything if all(getattr(one, axis) in v for axis, v in pattern.items())
    ]
    assert len(covered) == len(chosen)
    assert set(covered) == set(chosen)
    assert len(found) < len(chosen) / 3


def test_the_quick_report_reads_well() -> None:
    lines = render_gem(gem.gem_report(quick=True))
    text = " ".join(" ".join(lines).split())
    assert max(len(line) for line in lines) <= WIDTH
    for words in (
        "llama3-405b",
        "by the code: contained 1; restart in place",
        "met by no set",
        "P(contained)",
        "P-term",
    ):
        assert words in text


def test_rows_are_those_of_the_paper_and_read_no_outcome() -> None:
    published = paper("gem")
    found = gem.rows(published.inputs, quick=True)
    assert set(found) == set(published.outcomes)
    assert found["GEM.memory"].value == pytest.approx(0.003, abs=1e-4)


def test_a_study_of_a_named_model_is_built() -> None:
    assert build(study("mixtral-8x22b")).platform.memory.bytes_of("expert_moments") > 0
