"""R3, R8, R12 and R18: what bad nodes explain of RSC's numbers, and how many spares two fleets need.

All are shown, not judged: a needed input is not published. What is assumed is in the note of the row.
"""

from __future__ import annotations

from math import log1p

from gemsim.analytic import first_order, frailty, spares
from gemsim.analytic.run import predict
from gemsim.failures.classes import Frailty
from gemsim.spec.published import Inputs
from gemsim.study.validate.checks import Ours, Rows
from gemsim.study.validate.fleet_jobs import job

DAY = 86_400.0
PER_NODE = 8


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """All in closed form; `quick` makes no difference."""
    return {**_small_jobs(inputs), "R8": _removal(inputs), **_byterobust(inputs), **_delta(inputs)}


def lemons(inputs: Inputs) -> Frailty:
    """RSC's bad nodes: the multiplier that gives both shares of failed jobs, of the smallest size counted."""
    before, after = inputs.lemon_before, inputs.lemon_after
    nodes = int(inputs.lemon_gpus) // PER_NODE
    found = frailty.multiplier_of_removal(nodes, before=before, after=after, lemons=inputs.lemon_share)
    return Frailty("lemons", share=inputs.lemon_share, multiplier=found)


def _removal(inputs: Inputs) -> Ours:
    law = lemons(inputs)
    nodes = int(inputs.lemon_gpus) // PER_NODE
    good = -log1p(-inputs.lemon_after) / nodes
    values = tuple(
        frailty.job_fails(nodes, good, lemons=share, multiplier=law.multiplier) for share in (law.share, 0.0)
    )
    most = frailty.worst(law, law.share)
    note = (
        f"a bad node fails {law.multiplier:.0f} times as often: fitted to both numbers, for jobs of {nodes} nodes; "
        f"{most:.0%} of failures are then on 1.2 % of nodes. Were all nodes alike, taking some out would change nothing"
    )
    return Ours(values, note=note)


def _small_jobs(inputs: Inputs) -> Rows:
    """Small jobs meet the lemons of R8, large ones run without, at the rate of R2: nothing is fitted to R3."""
    worse = lemons(inputs).mean
    found: Rows = {}
    for gpus in (8, 1_024, 4_096):
        linear = 1.0 / first_order.fleet_rate(inputs.rsc1 * DAY * 1000.0, gpus / PER_NODE)
        meets = gpus <= inputs.lemon_small
        note = f"if jobs up to 1,024 GPUs meet the bad nodes of R8 ({worse:.2f} times the rate) and larger ones do not"
        bound = "; drawn at random, unlike nodes can only make small jobs look better than linear, so it takes a choice"
        found[f"R3.{gpus}"] = Ours(linear / worse if meets else linear, linear=linear, note=note + bound)
    return found


def _byterobust(inputs: Inputs) -> Rows:
    built = job(
        gpus=int(inputs.byterobust_gpus),
        failures="{mix: llama3-2024}",
        restart__process="60 s",
        restart__warmup="30 s",
        restart__communicator="10 s",
        protection=[
            {
                "checkpoint": {
                    "name": "cpu",
                    "target": "cpu_memory",
                    "mode": "async",
                    "blocked": "0 s",
                    "write": "1 s",
                    "interval": "10 s",
                    "keep": 2,
                }
            },
            {"checkpoint": {"target": "remote", "mode": "async", "blocked": "1 s", "interval": "10 min"}},
        ],
    )
    note = "incidents are not published: at Llama 3's rates, restarts of 100 s, remote saves each 10 min (assumptions)"
    machines = int(inputs.byterobust_machines)
    broken = sum(kind.rate for kind in built.classes) / built.platform.grid.count("node")  # per machine and second
    out = broken * inputs.byterobust_repair
    needed = spares.spares_among(machines, out / (1.0 + out), confidence=0.99)
    four = out_of_action(machines, 4, 0.99)
    own = (
        f"P99 of a binomial over {machines} machines: {needed} at Llama 3's rate and a repair of "
        f"{inputs.byterobust_repair / 3600:.1f} h (assumptions); 4 is right where a machine is out {four[0]:.2%} to "
        f"{four[1]:.2%} of the time"
    )
    return {
        "R12": Ours(float(predict(built)["ettr_analytic"]), note=note),
        "R12.spares": Ours(float(needed), note=own),
    }


def out_of_action(machines: int, number: int, confidence: float) -> tuple[float, float]:
    """Between which shares of time out of action `number` is the fewest spares that suffice with `confidence`."""

    def largest(count: int) -> float:
        low, high = 0.0, 0.5
        while high - low > 1e-9:
            middle = (low + high) / 2.0
            good = spares.short_among(machines, count, middle) <= 1.0 - confidence
            low, high = (middle, high) if good else (low, middle)
        return low

    return largest(number - 1), largest(number)


def _delta(inputs: Inputs) -> Rows:
    """Delta: GPUs out at a time by M/G/inf, for both recoveries, beside its own percentages of 608 GPUs."""
    rate, level = 1.0 / inputs.delta_system_gap, 0.999
    needed = [spares.spares_needed(rate, seconds, confidence=level) for seconds in (inputs.delta_repair, 300.0)]
    gpus = inputs.delta_gpus[0]
    note = "M/G/inf: GPUs out at a time are Poisson with mean recovery / time between errors"
    most = f"{needed[0] / gpus:.1%} of the fleet, not 5 %, which takes another model of a job"
    return {
        "R18": Ours(float(needed[0]), note=f"{note}; {most}"),
        "R18.fast": Ours(float(needed[1]), note=f"the same at 5 min: {needed[1] / gpus:.1%} of the fleet, not 2 %"),
    }
