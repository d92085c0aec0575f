"""ECRec, Oobleck, MoEvement, FT-HSDP, SCR and CheckFreq beside ours: mostly calibrated or shown, and marked so.

A point that a constant was fitted to is named in the file of the papers and is not judged.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import exp
from typing import Any

from gemsim.analytic import first_order
from gemsim.analytic.renewal import roll_back_ettr
from gemsim.engine.run import simulate
from gemsim.failures.trace import Event, Trace
from gemsim.protection.placement import placement
from gemsim.scenario import Scenario, describe
from gemsim.spec.published import Inputs
from gemsim.study.validate.checks import Ours, Rows
from gemsim.study.validate.simulate import scenario_of

GB, MINUTE, HOUR = 1e9, 60.0, 3600.0
PHASES = 24  # of a cycle in which a failure is tried; the mean is exact, as the loss grows linearly between them
STUDY = """
title: a small job
cluster: {gpus: 96, gpu: a100-80gb, spare_nodes: 4, storage: {write: 5 GB/s, read: 5 GB/s}}
workload:
  parameters: 13e9
  parallel: {tensor: 8, data: 12, shard: optimizer}
  step: STEP
  microbatches: 4
  layers: 40
restart: {mode: all_processes}
failures:
  classes:
    - {name: any, scope: process, rate: 1 / 1 d, gpus: 96, detect: 0 s, action: restart_app, exposure: wall}
protection: [{checkpoint: {target: remote, mode: async, blocked: 0 s, write: WRITE, read: 0 s, interval: INTERVAL}}]
run: {horizon: 30 d, replications: 1}
"""


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """All rows; nothing is sampled, so `quick` changes nothing."""
    return {
        **_ecrec_time(inputs),
        **_ecrec_recovery(inputs),
        **_ecrec_code(),
        **_oobleck(inputs),
        **_moevement(inputs),
        "M2": Ours(
            (run_again(20, 0) / 20, run_again(6, 6) / 6), note="mean over a save's cycle in the engine, no noise"
        ),
        **_hsdp(inputs),
        **_multilevel(inputs),
        "C1": _checkfreq(),
    }


def saves(*, step: float, interval: float, write: float, **changes: Any) -> Scenario:
    """A job that saves each `interval` seconds; changes by dotted path, with __ for the dot."""
    text = STUDY.replace("STEP", f"{step!r} s").replace("WRITE", f"{write!r} s").replace("INTERVAL", f"{interval!r} s")
    return scenario_of(text, {path.replace("__", "."): value for path, value in changes.items()})


def _ecrec_time(inputs: Inputs) -> Rows:
    """E1: pauses grow with the bytes written; coded updates cost one share of a step at every size and width."""
    largest = inputs.ecrec_sizes[-1]
    shares = {}
    for minutes in (30, 60):
        pauses = [inputs.ecrec_pause * size / largest for size in inputs.ecrec_sizes]
        shares[minutes] = [_share_of_saves(minutes * MINUTE, pause) for pause in pauses]
    return {
        "E1.checkpoint30": Ours(tuple(shares[30][:-1])),
        "E1.checkpoint60": Ours(tuple(shares[60])),
        "E1.ecrec": Ours(
            (inputs.ecrec_share,) * 3, note="formula alone: a stripe tier codes whole state, not the rows of an update"
        ),
    }


def _share_of_saves(interval: float, pause: float) -> float:
    """Share that synchronous saves add to the training time, from the timeline of a job that makes them."""
    store = {"target": "remote", "mode": "sync", "write": f"{pause!r} s", "interval": f"{interval!r} s"}
    built = saves(step=10.0, interval=interval, write=0.0, protection=[{"checkpoint": store}])
    return float(describe(built)["step_overhead"])


def _ecrec_recovery(inputs: Inputs) -> Rows:
    """E2: a rebuild reads k rows for each row lost; saves are read whole and half an interval is run again."""
    sizes, largest = inputs.ecrec_sizes, inputs.ecrec_sizes[-1]
    four = [inputs.ecrec_rebuild * size / largest for size in sizes]
    two = [seconds / 2.0 for seconds in four]
    read = [(inputs.ecrec_load - HOUR / 2.0) * size / largest for size in sizes]
    hourly, half = ([interval / 2.0 + seconds for seconds in read] for interval in (HOUR, HOUR / 2.0))
    ratios = [slow / fast for slow, fast in zip(hourly, four, strict=True)]
    return {
        "E2.rebuild": Ours((*four[:-1], *two)),
        "E2.checkpoint": Ours((*hourly[:-1], *half)),
        "E2.faster": Ours((min(ratios), max(ratios))),
        "E2.continue": Ours("not computed", unbuilt="needs parameter servers that read through a rebuild"),
    }


def _ecrec_code() -> Rows:
    """E3: a row and its one parity are written whatever k; a loss reads k shards."""
    from gemsim_kernels import Code

    codes = [Code(k, 1) for k in (2, 4)]
    return {
        "E3.updates": Ours(tuple(1.0 + code.m for code in codes)),
        "E3.memory": Ours(tuple(1.0 + code.m / code.k for code in codes)),
        "E3.reads": Ours(tuple(float(code.k) for code in codes)),
    }


def _oobleck(inputs: Inputs) -> Rows:
    """O1 with assumed stalls: no capacity lost, hazard in wall time."""
    varuna = [exp(-inputs.varuna_stall / gap) for gap in inputs.oobleck_gaps]
    oobleck = [exp(-inputs.oobleck_stall / gap) for gap in inputs.oobleck_gaps]
    assumed = "stalls of 5 min and 30 s are assumptions, and nodes that leave are not counted"
    return {
        "O1.order": Ours(all(a > b for a, b in zip(oobleck, varuna, strict=True)), note=assumed),
        "O1.varuna": Ours(
            (varuna[0], varuna[-1]), note=f"{assumed}; in print it collapses where a restart takes the gap"
        ),
        "O1.oobleck": Ours((oobleck[0], oobleck[-1]), note=assumed),
        "O1.ratio": Ours(oobleck[-1] / varuna[-1], note=f"{assumed}; print follows from Varuna's collapse"),
    }


def _moevement(inputs: Inputs) -> Rows:
    """M1: the paper's own product form as linear; ours is the exact renewal form of the same saves."""
    window = int(inputs.moe_window)
    plans = {
        "checkfreq": list(zip(inputs.moe_checkfreq, inputs.moe_checkfreq_cost, strict=True)),
        "gemini": list(zip(inputs.moe_gemini, inputs.moe_gemini_cost, strict=True)),
    }
    shares: dict[str, list[float]] = {}
    linear: dict[str, list[float]] = {}
    for name, plan in plans.items():
        work = [every * inputs.moe_step for every, _ in plan]
        pairs = list(zip(work, (cost for _, cost in plan), inputs.moe_gaps, strict=True))
        linear[name] = [1.0 / (1.0 + cost) / (1.0 + tau / 2.0 / gap) for tau, cost, gap in pairs]
        shares[name] = [roll_back_ettr(tau, cost * tau, rate=1.0 / gap) for tau, cost, gap in pairs]
    again = 1.5 * window * inputs.moe_step
    name = "moevement"
    shares[name] = [1.0 / (1.0 + inputs.moe_cost) * exp(-again / gap) for gap in inputs.moe_gaps]
    linear[name] = [1.0 / (1.0 + inputs.moe_cost) / (1.0 + again / gap) for gap in inputs.moe_gaps]
    note = "linear is the paper's product; ours the exact form of the same saves, without restart times"
    found = {f"M1.{name}": Ours(tuple(shares[name]), linear=tuple(linear[name]), note=note) for name in shares}
    order = zip(shares["moevement"], shares["gemini"], shares["checkfreq"], strict=True)
    return found | {"M1.order": Ours(all(a > b > c for a, b, c in order), note="at the measured intervals")}


def run_again(every: int, write: int, *, step: float = 2.0) -> float:
    """Mean steps run again per failure by saves each `every` steps that last `write` steps, from scripted failures."""
    cycle = every * step
    built = saves(step=step, interval=cycle, write=write * step)
    built = replace(built, horizon=100.0 * cycle)
    lost = 0.0
    for phase in range(PHASES):
        hit = Event((50 + (phase + 0.5) / PHASES) * cycle, 0, 0, 0)
        trace = Trace(built.classes, 0, 0, [hit], [], [1])
        lost += float(simulate(built, seed=0, replication=0, trace=trace)["wasted_s"]) / PHASES
    return lost / step


def _hsdp(inputs: Inputs) -> Rows:
    """F1: the same as R9 and R10, which also run the engine."""
    found = {}
    for name, stall in zip(("F1.before", "F1.after"), inputs.hsdp_stall, strict=True):
        linear = first_order.published_linear(1.0, [(1.0 / inputs.hsdp_gap, stall)])
        found[name] = Ours(exp(-stall / inputs.hsdp_gap), linear=linear, note="ours has the hazard in wall time")
    return found


def _multilevel(inputs: Inputs) -> Rows:
    """S1: storage and sure losses of the placements that the tiers use, by trying every loss within a set."""
    size, parity, group = int(inputs.scr_set), int(inputs.scr_parity), int(inputs.fti_group)
    kinds = ("single", "partner", "xor", "rs")
    placed = [placement(kind, size, size=size, losses=parity) for kind in kinds]
    half = placement("rs", group, size=group, losses=group // 2)
    return {
        "S1.storage": Ours(tuple(one.storage(1.0) for one in placed)),
        "S1.losses": Ours(tuple(float(_sure(one, size)) for one in placed)),
        "S1.fti": Ours(float(_sure(half, group))),
    }


def _sure(one: Any, hosts: int) -> int:
    """The largest number of hosts of a set such that any of them may be lost."""
    count = 0
    while all(one.survives(frozenset(gone)) for gone in combinations(range(hosts), count + 1)):
        count += 1
    return count


def _checkfreq() -> Ours:
    built = saves(step=3.0, interval=600.0, write=0.0, protection="checkfreq")
    return Ours(float(describe(built)["step_overhead"]), note="1 s each 10 min (assumptions) on 13B over 96 GPUs")
