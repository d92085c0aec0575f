"""What each study's notes claim, on a few of its points: by closed form, and by runs on the same failures."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest

from gemsim import scenario
from gemsim.errors import Infeasible
from gemsim.protection.kinds import Job
from gemsim.protection.reach import branches
from gemsim.protection.stripe import MemberStripe
from gemsim.scenario import Scenario, describe
from tests.studies.world import designs, ettr, matching, point, rows, spec, surely_above, twin

FEW = 12
ACROSS = "across nodes, snapshot"
GRANULES = ("mixed", "kernel", "layer", "microbatch", "step")


def by_tier(built: Scenario, *, seed: int) -> dict[str, int]:
    """How many failures each tier recovered over a few replications."""
    total: dict[str, int] = {}
    for row in rows(built, FEW, seed=seed):
        for tier, count in json.loads(row["by_tier"]).items():
            total[tier] = total.get(tier, 0) + count
    return total


def mean_redo(built: Scenario) -> float:
    """Mean seconds that a retry runs again, over the failures it recovers."""
    job = Job(built.platform, built.timeline, built.tiers, built.classes, built.restart.mode, built.replace_unit)
    retried = [one for one in branches(job) if one.tier == "retry"]
    return sum(one.rate * one.redo for one in retried) / sum(one.rate for one in retried)


def static(built: Scenario, name: str) -> float:
    """A column that needs no run."""
    return float(describe(built)[name])


class TestWidths:
    def test_interleaved_only_the_ratio_counts(self) -> None:
        narrow, wide = (point("widths", k=k, m=m, mapping="interleaved") for k, m in ((32, 1), (128, 4)))
        assert static(narrow, "memory_overhead") == pytest.approx(static(wide, "memory_overhead"), rel=0.02)
        assert static(narrow, "survivable_burst_pages") == pytest.approx(
            static(wide, "survivable_burst_pages"), rel=0.02
        )

    def test_contiguous_only_parity_counts(self) -> None:
        bursts = {
            k: static(point("widths", k=k, m=2, mapping="contiguous"), "survivable_burst_pages") for k in (8, 1024)
        }
        assert bursts == {8: 2, 1024: 2}

    @pytest.mark.parametrize("restart", ["all_processes", "holder", "in_place"])
    def test_ettr_hardly_moves(self, restart: str, seed: int) -> None:
        same = {"restart": restart, "lands": "used", "mapping": "interleaved"}
        runs = [ettr(rows(point("widths", k=k, m=m, **same), FEW, seed=seed)) for k, m in ((8, 0), (8, 4), (1024, 1))]
        assert max(abs(float((one - runs[0]).mean())) for one in runs) < 0.001

    def test_only_a_living_or_holding_process_lets_the_stripe_recover(self, seed: int) -> None:
        found = {
            mode: by_tier(point("widths", k=32, m=1, restart=mode, lands="used"), seed=seed).get("stripe", 0) / FEW
            for mode in ("all_processes", "holder", "in_place")
        }
        assert found["all_processes"] == 0
        assert 2 < found["holder"] < 7
        assert 2 < found["in_place"] < 7

    def test_bursts_fall_back_where_parity_is_short(self, seed: int) -> None:
        """Of memory errors on coded bytes 7 in 100 hit two pages or more, 2 in 100 more than 50."""
        same = {"restart": "in_place", "lands": "critical"}
        saved = [
            by_tier(point("widths", k=k, m=1, mapping=mapping, **same), seed=seed)["stripe"]
            for k, mapping in ((8, "interleaved"), (8, "contiguous"))
        ]
        assert saved[0] > saved[1]


class TestLayouts:
    def test_the_ladder_at_16_384_gpus(self, seed: int) -> None:
        """Retry and the in-GPU stripe bring nothing where the hit process dies; cross-rack and CPU memory do."""
        where = {"gpus": 16384, "write": "200 GB/s", "restart": "in_process"}
        names = ("store only", "retry", "in-GPU stripe", "cross-rack stripe", "CPU memory")
        store, retry, inside, across, cpu = (ettr(rows(point("layouts", n, **where), FEW, seed=seed)) for n in names)
        assert np.array_equal(store, retry)
        assert float((inside - store).mean()) <= 0
        assert surely_above(across, store)
        assert surely_above(cpu, store)

    def test_where_every_process_exits_only_stores_and_cpu_memory_help(self, seed: int) -> None:
        where = {"gpus": 16384, "restart": "all_processes"}
        both = by_tier(point("layouts", "both stripes", **where), seed=seed)
        assert set(both) == {"store"}
        store, cpu = (ettr(rows(point("layouts", n, **where), FEW, seed=seed)) for n in ("store only", "CPU memory"))
        assert surely_above(cpu, store)

    def test_the_layout_moves_ettr_by_points_at_131_072_gpus(self, seed: int) -> None:
        where = {"gpus": 131072, "write": "20 GB/s"}
        store = ettr(rows(point("layouts", "store only", **where), 4, seed=seed))
        across = ettr(rows(point("layouts", "cross-rack stripe", **where), 4, seed=seed))
        assert float((across - store).mean()) > 0.05

    def test_wider_stripes_pay_less_memory_and_rebuild_longer(self) -> None:
        stripes = [point("layouts", "cross-node stripe", k=k, m=1, cadence=4, gpus=16384) for k in (4, 8, 16, 32)]
        memory = [static(one, "memory_overhead") for one in stripes]
        assert memory == sorted(memory, reverse=True)
        values = [twin(one) for one in stripes]
        assert values == sorted(values, reverse=True)
        tiers = [one.tiers[0] for one in stripes]
        rebuild = [tier.rebuild_seconds(1) for tier in tiers if isinstance(tier, MemberStripe)]
        assert rebuild == pytest.approx([k * rebuild[0] / 4 for k in (4, 8, 16, 32)])

    def test_second_parity_pays_against_a_common_cause_only(self, seed: int) -> None:
        """At 131,072 GPUs and the slowest store; without the rack class it only costs, at any size."""
        where = {"cadence": 4, "k": 8, "gpus": 131072, "write": "20 GB/s"}
        one, two = (ettr(rows(point("layouts", "cross-node stripe", m=m, **where), 6, seed=seed)) for m in (1, 2))
        assert float((two - one).mean()) > 0.005
        small = {"cadence": 4, "k": 8, "gpus": 16384, "write": "2 TB/s"}
        bare = []
        for m in (1, 2):
            full = spec("layouts", next(matching("layouts", "cross-node stripe", {"m": m, **small})))
            alone = full.model_copy(update={"failures": full.failures.model_copy(update={"classes": ()})})
            bare.append(twin(scenario.build(alone)))
        assert bare[1] < bare[0]


class TestCadence:
    @pytest.mark.parametrize(("gpus", "idle"), [(16384, "0 s"), (65536, "0 s"), (65536, "120 ms")])
    def test_the_optimum_is_near_the_root_rule(self, gpus: int, idle: str) -> None:
        """The twin's best u against sqrt(2 c / lambda) / T: within a factor of two, the pace of the grid."""
        grid = (1, 2, 4, 8, 16, 32, 64)
        found = {u: twin(point("cadence", ACROSS, cadence=u, gpus=gpus, network_idle=idle)) for u in grid}
        best = max(found, key=found.__getitem__)
        one = point("cadence", ACROSS, cadence=2, gpus=gpus, network_idle=idle)
        stop = one.tiers[1].overhead().stall
        rate = sum(k.rate for k in one.classes if k.scope in ("gpu", "node", "link", "sram", "process", "memory"))
        rule = sqrt(2 * stop / rate) / one.useful_step
        assert best / 2 <= max(rule, 1.0) <= best * 2
        if idle == "0 s":
            assert grid[0] < best < grid[-1]

    def test_runs_confirm_the_optimum_inside(self, seed: int) -> None:
        runs = {u: ettr(rows(point("cadence", ACROSS, cadence=u, gpus=16384), FEW, seed=seed)) for u in (1, 8, 64)}
        assert surely_above(runs[8], runs[1])
        assert surely_above(runs[8], runs[64])

    @pytest.mark.parametrize(("gpus", "best"), [(16384, "off"), (65536, "one")])
    def test_in_place_is_every_step_or_not_at_all(self, gpus: int, best: str) -> None:
        where = {"gpus": gpus, "network_idle": "0 s"}
        values = [
            twin(point("cadence", "across nodes, in place", cadence=u, **where)) for u in (1, 2, 4, 8, 16, 32, 64)
        ]
        off = twin(point("cadence", "no code", **where))
        assert values == sorted(values, reverse=best == "one")
        assert (values[0] > off) == (best == "one")


class TestRetry:
    @pytest.mark.parametrize(("step", "half"), [("6 s", 3.0), ("60 s", 30.0)])
    def test_a_step_long_retry_redoes_half_a_step(self, step: str, half: float) -> None:
        """The least granule redoes none to speak of but for gradients and buffers, about a third of transient bytes."""
        redo = {g: mean_redo(point("retry", granularity=g, mix="llama3-2024", step=step)) for g in GRANULES}
        assert redo["mixed"] == redo["kernel"] <= redo["layer"] <= redo["microbatch"] < redo["step"]
        assert redo["step"] == pytest.approx(half, rel=0.03)
        assert 0.1 * half < redo["mixed"] < 0.5 * half

    def test_seconds_for_each_event(self, seed: int) -> None:
        """Memory errors alone, all contained, 60 s steps: a step-long retry costs many seconds more."""
        cost = {}
        for granule in ("mixed", "step"):
            found = rows(point("retry", granularity=granule, mix="delta-h100-memory", step="60 s"), FEW, seed=seed)
            cost[granule] = sum(row["cost_failures_s"] for row in found) / sum(row["failures"] for row in found)
        assert cost["mixed"] > 20
        assert cost["step"] - cost["mixed"] > 10

    def test_ettr_hardly_moves_on_the_full_mix(self, seed: int) -> None:
        same = {"mix": "llama3-2024", "step": "60 s"}
        runs = [ettr(rows(point("retry", granularity=g, **same), FEW, seed=seed)) for g in ("mixed", "step")]
        assert 0 <= float((runs[0] - runs[1]).mean()) < 0.0005


class TestZero3:
    def test_what_cannot_exist(self) -> None:
        with pytest.raises(Infeasible, match="more than the 913 pages"):
            point("zero3", gpus=512, k=1024, m=1)
        with pytest.raises(Infeasible, match="29207 pages"):
            point("zero3", gpus=16, k=32768, m=1)
        with pytest.raises(Infeasible, match="are free"):
            point("zero3", gpus=16, k=8, m=1)

    def test_the_touchable_share_falls_with_the_gpus_of_a_model(self, seed: int) -> None:
        share = {}
        for gpus, replications in ((16, 48), (512, 6)):
            built = point("zero3", gpus=gpus, k=256, m=1, mapping="interleaved")
            found = rows(built, replications, seed=seed)
            share[gpus] = sum(row["touch_failures"] for row in found) / sum(row["failures"] for row in found)
            memory = built.platform.memory
            expected = 72 / 419 * 0.45 * memory.critical / memory.used
            assert share[gpus] == pytest.approx(expected, rel=0.4)
        assert share[16] > 3 * share[512]

    def test_the_width_must_follow_the_size_of_the_state(self) -> None:
        """Under the memory bound the recorded burst of 63 pages is survived by other widths on 16 GPUs than on 512."""
        enough: dict[int, set[int]] = {16: set(), 512: set()}
        for design in designs("zero3"):
            try:
                built = scenario.build(spec("zero3", design))
            except Infeasible:
                continue
            if static(built, "survivable_burst_pages") >= 63 and static(built, "memory_overhead") <= 0.005:
                enough[built.platform.grid.gpus].add(design.columns["protection.stripe.k"])
        assert enough[16]
        assert enough[512]
        assert not enough[16] & enough[512]
