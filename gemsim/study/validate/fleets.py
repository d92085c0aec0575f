"""R1 to R21: what fleets and their papers report beside first order, the exact renewal form and the engine.

Print follows first-order accounting, so it is judged against that; the engine is judged against the exact form. Counts
are identities: the rate was taken from them, so they test the failure injector alone.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

from gemsim.analytic import first_order
from gemsim.analytic.run import predict
from gemsim.failures.trace import draw_trace
from gemsim.scenario import Scenario, describe
from gemsim.spec.published import Inputs
from gemsim.study.validate import fleet_memory, fleet_pools
from gemsim.study.validate.checks import Engine, Ours, Rows, one_number
from gemsim.study.validate.fleet_jobs import job, seconds
from gemsim.study.validate.gem_sets import memory_cut
from gemsim.study.validate.gem_worlds import LARGEST, Assumed
from gemsim.study.validate.gem_worlds import job as gem_job
from gemsim.study.validate.simulate import SEED, long_run

DAY, HOUR = 86_400.0, 3_600.0
PER_NODE = 8


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """All reference scenarios; `quick` shortens the simulations."""
    return {
        **_counts(inputs, quick=quick),
        **_projections(inputs),
        **_rsc(inputs, quick=quick),
        **_hsdp(inputs, quick=quick),
        **_bounds(inputs),
        **_gem(),
        **fleet_memory.rows(inputs, quick=quick),
        **fleet_pools.rows(inputs, quick=quick),
    }


def _counted(scenario: Scenario, *, quick: bool) -> Engine:
    """Failures in a run as the failure injector draws them, beside rate × horizon."""
    replications = 50 if quick else 200
    counts = []
    for number in range(replications):
        trace = draw_trace(scenario.classes, horizon=scenario.horizon, seed=SEED, replication=number)
        events = (*trace.wall, *trace.running)
        counts.append(sum(event.unit < scenario.classes[event.index].units for event in events))
    sample = np.array(counts, dtype=float)
    exact = sum(kind.rate for kind in scenario.classes) * scenario.horizon
    return Engine(float(sample.mean()), float(sample.std(ddof=1)) / sqrt(replications), exact)


def _counts(inputs: Inputs, *, quick: bool) -> Rows:
    llama = job(
        gpus=int(inputs.llama_gpus),
        failures="{mix: llama3-2024}",
        step="100 s",
        run__horizon=seconds(inputs.llama_window),
    )
    found = {"R1.count": _identity(llama, quick=quick), "R1.effective": _llama_share(llama)}
    gap = inputs.crusoe_window / inputs.crusoe_failures
    found["R20"] = Ours(gap, note=f"{inputs.crusoe_gpus * gap / HOUR:,.0f} GPU-hours for each")
    opt = inputs.opt_gpus * inputs.opt_window / DAY / PER_NODE * inputs.rsc1
    own = "14 per 1000 node-days in this run against 6.5 in RSC-1 and 3.8 in Llama 3: a young fleet"
    found["R15"] = Ours(opt * DAY, note=f"at RSC-1's rate; {own}")
    return found


def _identity(scenario: Scenario, *, quick: bool) -> Ours:
    engine = _counted(scenario, quick=quick)
    return Ours(float(engine.exact or 0.0), engine=engine, note="the input is the count")


def _llama_share(counted: Scenario) -> Ours:
    allowed = 0.1 * counted.horizon / sum(kind.rate * counted.horizon for kind in counted.classes)
    built = job(
        gpus=counted.platform.grid.gpus,
        failures="{mix: llama3-2024}",
        restart__process="60 s",
        restart__warmup="30 s",
        restart__communicator="17 s",
        protection__checkpoint__interval="30 min",
    )
    note = "30-min saves without cost and restarts of 107 s are assumptions; > 90 % allows"
    return Ours(float(predict(built)["ettr_analytic"]), note=f"{note} {allowed / 60:.1f} min for each")


def _gap(per_node: float, gpus: float) -> float:
    """Seconds between failures of a job at a rate for each node and second."""
    return 1.0 / first_order.fleet_rate(per_node * DAY * 1000.0, gpus / PER_NODE)


def _projections(inputs: Inputs) -> Rows:
    return {f"R2.{gpus}": Ours(_gap(inputs.rsc1, gpus)) for gpus in (16_384, 131_072)}


def _rsc(inputs: Inputs, *, quick: bool) -> Rows:
    """R4 to R7: a job on RSC's nodes, saves each `tau` that block for `delta`, restarts that can fail."""
    slow = first_order.fleet_rate(inputs.rsc1 * DAY * 1000.0, 12_000 / PER_NODE)
    rare = slow / (inputs.rsc1 * DAY * 1000.0)  # one failure per 1000 node-days
    young, wait = first_order.young_interval, inputs.restart
    cases = {
        "R4.60min": (16_000, inputs.rsc1, 3600.0, 0.0, wait),
        "R4.5min": (16_000, inputs.rsc1, 300.0, 0.0, wait),
        "R5": (8_000, inputs.rsc1, 1800.0, 0.0, wait + 60.0),
        "R6.base": (12_000, inputs.rsc1, young(inputs.write, slow), inputs.write, wait),
        "R6.rate": (12_000, 0.001 / DAY, young(inputs.write, rare), inputs.write, wait),
        "R6.write": (12_000, inputs.rsc1, young(10.0, slow), 10.0, wait),
    }
    found = {name: _one_job(*case, quick=quick) for name, case in cases.items()}
    for name, parts in {
        "R4": ("R4.60min", "R4.5min"),
        "R5": ("R5",),
        "R6": ("R6.base", "R6.rate", "R6.write"),
    }.items():
        for form, values in {
            "linear": tuple(one_number(found[part].linear) for part in parts),
            "exact": tuple(one_number(found[part].value) for part in parts),
        }.items():
            found[f"{name}.{form}"] = Ours(values if len(values) > 1 else values[0])
    return found | {"R7": _large(inputs)}


def _one_job(gpus: int, per_node: float, tau: float, delta: float, restart: float, *, quick: bool) -> Ours:
    rate = first_order.fleet_rate(per_node * DAY * 1000.0, gpus / PER_NODE)
    one = f"{{name: node, scope: node, rate: {per_node * DAY * 1000.0!r} / 1000 node d, detect: 0 s, action: replace, "
    built = job(
        gpus=gpus,
        failures=f"{{classes: [{one}repair: 2.2 h}}]}}",
        restart__warmup=seconds(restart),
        protection__checkpoint__interval=seconds(tau),
        protection__checkpoint__blocked=seconds(delta),
    )
    linear = first_order.meta_ettr(tau, delta, rate=rate, restart=restart)
    note = "first order charges each failure in full; a failure cannot lose work that was not yet done again"
    exact = float(predict(built)["ettr_analytic"])
    return Ours(exact, linear=linear, engine=long_run(built, quick=quick), note=note)


def _large(inputs: Inputs) -> Ours:
    """R7 in closed form: three cases at 100,000 GPUs."""
    values, linear = [], []
    for per_node, tau, restart in (
        (inputs.rsc1, 420.0, inputs.restart),
        (inputs.rsc2, 1260.0, inputs.restart),
        (inputs.rsc2, 120.0, 120.0),
    ):
        rate = 1.0 / _gap(per_node, inputs.large)
        linear.append(first_order.meta_ettr(tau, 0.0, rate=rate, restart=restart))
        values.append(rate * tau * exp(-rate * restart) / (exp(rate * tau) - 1.0))
    note = "restarts of 5 min in the first two (assumption); the second is off even in first order: other inputs"
    return Ours(tuple(values), linear=tuple(linear), note=note)


def _hsdp(inputs: Inputs, *, quick: bool) -> Rows:
    """R9 and R10: a stall for each failure, no work lost, hazard in wall time; and the lost capacity of R10."""
    rate, whole = 1.0 / inputs.hsdp_gap, {"R9": inputs.hsdp_stall[0], "R10": inputs.hsdp_stall[1]}
    found: Rows = {}
    for name, stall in whole.items():
        one = f"{{name: any, scope: process, rate: 1 / {inputs.hsdp_gap!r} s, gpus: 98304, detect: 0 s, "
        built = job(
            gpus=98_304,
            failures=f"{{classes: [{one}action: restart_app, exposure: wall}}]}}",
            step="1 s",
            restart__warmup=seconds(stall),
        )
        exact, linear = exp(-rate * stall), first_order.published_linear(1.0, [(rate, stall)])
        run = long_run(built, quick=quick)
        engine = Engine(run.mean, run.error, float(predict(built)["ettr_analytic"]))
        note = "1 - stall / gap charges failures within a stall in full; with the hazard in wall time exp(-stall / gap)"
        found[name] = Ours(exact, linear=linear, engine=engine, note=note)
        found[f"{name}.exact"] = Ours(exact, engine=engine if name == "R10" else None)  # R10 itself is only shown
    found["R10.linear"] = Ours(one_number(found["R10"].linear))
    found["R10.capacity"] = _groups_out(inputs, quick=quick)
    return found


def _groups_out(inputs: Inputs, *, quick: bool) -> Ours:
    """R10 with a group out for as long as leaves the given number out on average: linear, and by the tier."""
    outage = inputs.hsdp_groups_out * inputs.hsdp_gap
    stall, groups = inputs.hsdp_stall[1], int(inputs.hsdp_groups)
    one = f"{{name: any, scope: gpu, rate: 1 / {inputs.hsdp_gap!r} s, gpus: 98304, detect: 0 s, action: restart_app}}"
    tier = {"out": "group", "stall": seconds(stall), "discard": "nothing", "catch_up": "0 s"}
    saves = {"target": "remote", "mode": "async", "blocked": "0 s", "write": "0 s", "read": "0 s", "interval": "1 s"}
    built = job(
        gpus=98_304,
        failures=f"{{classes: [{one}]}}",
        step="1 s",
        workload__parallel__replicas=groups,
        restart={"mode": "in_process", "warmup": seconds(outage)},
        protection=[{"replica_group": tier}, {"checkpoint": saves}],
    )
    linear = first_order.published_linear(1.0, [(1.0 / inputs.hsdp_gap, stall)])
    note = (
        f"0.48 of {groups} groups out is an outage of {outage / 60.0:.1f} min for each failure; the tier has the "
        "hazard in wall time and part of the outage within the stall, so it stays above"
    )
    return Ours(
        float(predict(built)["ettr_analytic"]),
        linear=linear * (1.0 - inputs.hsdp_groups_out / groups),
        engine=long_run(built, quick=quick),
        note=note,
    )


def _bounds(inputs: Inputs) -> Rows:
    """R11, R13 and R14: shown beside print, since a needed input is not published."""
    shipped = inputs.megascale_lost * inputs.megascale_repairs / inputs.megascale_window
    pods = inputs.pods_interruptions * inputs.pods_lost
    last = inputs.fireflyer_interval + inputs.fireflyer_node / inputs.fireflyer_rate
    pods_note = f"and 3 % of the time in which a slice is out, which is not published: down to {0.97 * (1 - pods):.3f}"
    return {
        "R11": Ours(1.0 - shipped, note="25 min for each of 100 repairs in four weeks (assumption)"),
        "R13": Ours(1.0 - pods, note=pods_note),
        "R14": Ours(last, note="interval and write time, of at most the GPU memory of a node at 10 GiB/s"),
    }


def _gem() -> Rows:
    """R21: one of the jobs of the report on GEM, beside hourly remote saves."""
    measured, all_of_them = (Assumed(contained=share) for share in (0.424, 1.0))
    cuts = [memory_cut(LARGEST, one, "hourly", "hourly").code for one in (measured, all_of_them)]
    memory = describe(gem_job(LARGEST, measured.plain, "hourly", gem=True))["memory_overhead"]
    note = f"{LARGEST}, by the code alone, 42 % contained (Delta); {cuts[1]:.1%} with all contained (assumption)"
    return {
        "R21.cut": Ours(cuts[0], note=note),
        "R21.memory": Ours(float(memory), note="the k that 0.3 % asks for, so it is met by construction"),
    }
