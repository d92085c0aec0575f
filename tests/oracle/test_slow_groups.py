"""The engine against the slow simulator of replica groups, for any groups, capacity and list of failures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine import small
from tests.oracle.setup_groups import Failure, World
from tests.oracle.slow_groups import SlowGroups

GPUS = 16
LAYOUTS: dict[int, dict[str, Any]] = {
    2: {"tensor": 8, "data": 2, "shard": "none"},
    4: {"tensor": 4, "data": 4, "shard": "none"},
    8: {"tensor": 2, "data": 8, "shard": "none"},
}
DOMAIN = {"gpu": "node", "node": "node", "reboot": "node", "silent": "node", "rack": "rack"}
REPLACED = ("gpu", "node", "rack", "silent")
DEVICE = {"reset_gpu": small.RESET, "sram": small.RESET, "reboot": small.REBOOT}
NAMES = (*DOMAIN, "reset_gpu", "sram", "link", "software", "page")


@dataclass(frozen=True)
class Case:
    """What is drawn: the shape of the job, its tiers' times, and (class, time, GPU) of each failure."""

    groups: int
    per_node: int
    rack: int
    by_node: bool
    minimum: int
    stall: float
    catch_up: float
    catch_up_stall: float
    join_timeout: float
    discard: bool
    bubbles: float
    quorum: float
    spares: int
    in_place: bool
    horizon: float
    work_steps: int
    every: int
    lag: float
    hits: tuple[tuple[str, float, int], ...]

    def row(self) -> small.Row:
        """The engine's row."""
        keys: dict[str, Any] = {"minimum": self.minimum, "discard": "step" if self.discard else "nothing"}
        for name in ("stall", "catch_up", "catch_up_stall", "quorum"):
            keys[name] = f"{getattr(self, name)} s"
        if self.by_node:
            keys |= {"out": "node", "bubbles": self.bubbles}
        if self.join_timeout < inf:
            keys["join_timeout"] = f"{self.join_timeout} s"
        saves = {"interval": f"{10 * self.every} s"}
        mode = {"mode": "async", "write": f"{self.lag} s", "blocked": f"{small.BLOCKED} s"} if self.lag else {}
        tiers = [{"replica_group": keys}] + ([small.checkpoint(**mode, **saves)] if self.every else [])
        steps = {"steps": self.work_steps, "max_wall": f"{self.horizon} s"}
        of = small.scenario(
            *tiers,
            mode="in_place" if self.in_place else "in_process",
            cluster__gpus_per_node=self.per_node,
            cluster__nodes_per_rack=self.rack,
            cluster__spare_nodes=self.spares,
            workload__parallel=LAYOUTS[self.groups],
            run=steps if self.work_steps else {"horizon": f"{self.horizon} s"},
        )
        clocks = {kind.name: kind.clock for kind in of.classes}
        units = [gpu // self.per_node if clocks[name] == "node" else gpu for name, _, gpu in self.hits]
        return small.run(of, *(small.Hit(h[0], h[1], unit) for h, unit in zip(self.hits, units, strict=True)))

    def world(self) -> World:
        """The same job as the slow simulator takes it."""
        size = GPUS // self.groups
        most = (GPUS - self.minimum * size) // self.per_node if self.by_node else self.groups - self.minimum
        return World(
            gpus=GPUS, per_node=self.per_node, groups=self.groups, by_node=self.by_node,
            unit=self.per_node if self.by_node else size, most_out=most, stall=self.stall, catch_up=self.catch_up,
            catch_up_stall=self.catch_up_stall, join_timeout=self.join_timeout, discard=self.discard,
            bubbles=self.bubbles if self.by_node else 0.0, step=small.STEP + self.quorum, useful=small.STEP,
            update=small.UPDATE, skew=small.SKEW, spares=self.spares, activation=small.ACTIVATION,
            process=small.PROCESS, communicator=small.COMMUNICATOR, warmup=small.WARMUP, pause=small.PAUSE,
            reset=small.RESET, in_place=self.in_place, horizon=self.horizon, work_steps=self.work_steps,
            every=self.every, blocked=small.BLOCKED, lag=self.lag, read=small.READ,
        )  # fmt: skip

    def failure(self, name: str, when: float, gpu: int) -> Failure:
        """One failure as the slow simulator takes it."""
        size = {"node": self.per_node, "rack": self.per_node * self.rack}.get(DOMAIN.get(name, ""), 1)
        if name in ("node", "reboot", "link"):  # node clocks: their first GPU
            gpu = gpu // self.per_node * self.per_node
        begin = gpu // size * size
        struck = range(begin, min(begin + size, GPUS))
        return Failure(
            when, running=name == "software", struck=struck, lost=name != "link",
            nodes=len({one // self.per_node for one in struck}) if name in REPLACED else 0, repair=small.REPAIR,
            detect=300.0 if name == "silent" else small.DETECT, device=DEVICE.get(name, 0.0),
            rejoins=name in (*REPLACED, "reboot"), remap=name == "page", lives=name == "page" and self.in_place,
            silent=name == "silent", on_node=name not in ("software", "rack"),
        )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Case:
    groups, per_node = draw(st.sampled_from([(g, n) for g in LAYOUTS for n in (1, 2, 4) if n <= GPUS // g]))
    horizon = draw(st.sampled_from([400.37, 1500.37, 5000.37]))
    when = st.floats(0.0, horizon).map(lambda time: round(time, 3) + 0.000531)  # on no boundary of a step
    return Case(
        groups=groups,
        per_node=per_node,
        rack=draw(st.sampled_from([1, 2])),
        by_node=draw(st.booleans()),
        minimum=draw(st.integers(1, groups)),
        stall=draw(st.sampled_from([0.0, 3.0, 30.0, 200.0])),
        catch_up=draw(st.sampled_from([0.0, 6.0, 100.0, 600.0])),
        catch_up_stall=draw(st.sampled_from([0.0, 0.0, 5.0, 40.0])),
        join_timeout=draw(st.sampled_from([inf, inf, 50.0])),
        discard=draw(st.booleans()),
        bubbles=draw(st.sampled_from([0.0, 0.1, 0.2])),
        quorum=draw(st.sampled_from([0.0, 1.0])),
        spares=draw(st.sampled_from([0, 1, 8])),
        in_place=draw(st.booleans()),
        horizon=horizon,
        work_steps=draw(st.sampled_from([0, 0, 30, 100])),
        every=draw(st.sampled_from([0, 5, 10, 25])),
        lag=draw(st.sampled_from([0.0, 40.0])),
        hits=tuple(  # nor on one of a step that an earlier failure has begun anew: there both answers are right
            (name, time + 0.000037 * place, gpu)
            for place, (name, time, gpu) in enumerate(
                draw(st.lists(st.tuples(st.sampled_from(NAMES), when, st.integers(0, 15)), max_size=12))
            )
        ),
    )


def compare(case: Case) -> None:
    """Every column, count and the work at risk to a microsecond."""
    slow = SlowGroups(case.world(), [case.failure(*hit) for hit in case.hits])
    slow.run()
    row = case.row()
    told = {f"{name}_s": slow.seconds[name] for name in ("productive", "overhead", "detection", "wasted")}
    told |= {f"{name}_s": slow.seconds[name] for name in ("recovery", "restart", "waiting", "degraded")}
    told |= {"wall_s": slow.wall, "at_risk_s": slow.at_risk, "failures": slow.failures}
    told |= {"rollbacks": slow.rollbacks, "fallbacks": slow.fallbacks}
    assert {name: row[name] for name in told} == pytest.approx(told, abs=2e-6)
    assert json.loads(row["by_tier"]) == slow.recovered_by
    assert sum(cost for _, cost in json.loads(row["by_class"]).values()) == pytest.approx(row["cost_failures_s"])
    told = json.loads(row["lost_by_class"])
    assert sum(sum(tiers.values()) for tiers in told.values()) == pytest.approx(row["cost_failures_s"])


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_the_engine_is_the_slow_simulator(case: Case) -> None:
    compare(case)
