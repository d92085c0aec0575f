"""GEMINI's Figure 15: effective time against software failures, by linear accounting, exactly and simulated.

One idea: all three protections are a checkpoint of the whole job, apart in four numbers: work between saves, time a
save blocks, time until it counts, and time lost at a failure before training goes on.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from math import ceil

from gemsim.analytic.first_order import SECONDS_PER_DAY, published_linear
from gemsim.analytic.renewal import general_ettr
from gemsim.scenario import Scenario
from gemsim.spec.published import Inputs
from gemsim.study.validate.checks import Engine, Ours, Rows
from gemsim.study.validate.simulate import long_run, scenario_of
from gemsim.units import format as text

ABOVE = "print is linear, ours the exact renewal form"

STUDY = """
title: a checkpointed job with software failures
cluster: {{gpus: 128, gpu: a100-40gb, cpu_memory: 1152 GB, storage: {{write: 20 Gb/s, read: 20 Gb/s}}}}
workload:
  {{parameters: 100e9, parallel: {{data: 128, shard: full}}, step: {step}, update: 0 s, skew: 0 s, layers: 124}}
restart: {{mode: all_processes, process: 0 s, communicator: 0 s, warmup: {warmup}}}
failures:
  classes:
    - {{name: software, scope: process, rate: {rate!r} / 1 d, gpus: 128, detect: {detect}, action: restart_app,
       exposure: wall}}
protection:
  - checkpoint:
      {{target: {target}, mode: async, blocked: {blocked}, write: {lag}, read: {read}, interval: {interval}}}
run: {{horizon: 100 d, replications: 1}}
"""


@dataclass(frozen=True, slots=True)
class Saving:
    """How one system saves and comes back, in seconds; `base` is its published ratio without failures."""

    target: str
    steps: int
    """A save's interval in steps; the step is chosen so that the interval is `work`."""
    work: float
    blocked: float
    lag: float
    """From the end of blocking until the copy counts."""
    detect: float
    restart: float
    read: float
    base: float
    wasted: float
    """Seconds of progress and retrieval that linear accounting charges to a failure."""

    @property
    def down(self) -> float:
        """Seconds from a failure to training, which a further failure starts again."""
        return self.detect + self.restart + self.read

    @property
    def charged(self) -> float:
        """Seconds of a failure by linear accounting."""
        return self.wasted + self.detect + self.restart

    def linear(self, per_day: float) -> float:
        """The ratio as print has it."""
        return published_linear(self.base, [(per_day / SECONDS_PER_DAY, self.charged)])

    def exact(self, per_day: float) -> float:
        """The renewal form."""
        classes = [(per_day / SECONDS_PER_DAY, self.down)]
        return general_ettr(self.work, self.blocked, restarting=classes, write_lag=self.lag)

    def engine(self, per_day: float, name: str, *, quick: bool) -> Engine:
        """Simulated, beside `exact`. The seed follows from the name, so that no two checks move together."""
        found = long_run(self.scenario(per_day), quick=quick, seed=zlib.crc32(name.encode()))
        return Engine(found.mean, found.error, self.exact(per_day))

    def scenario(self, per_day: float) -> Scenario:
        """The study of it, with so many failures of the job a day."""
        study = STUDY.format(
            step=text(self.work / self.steps, "time"),
            interval=text(self.work, "time"),
            target=self.target,
            rate=per_day,
            **{key: text(getattr(self, key), "time") for key in ("detect", "blocked", "lag", "read")},
            warmup=text(self.restart, "time"),
        )
        return scenario_of(study)


def systems(inputs: Inputs) -> dict[str, Saving]:
    """GEMINI and its two baselines. Average losses are Eq. 1: save + half an interval + retrieval."""
    iteration, serialise, transfer = inputs.iteration, inputs.serialise, inputs.transfer
    period = inputs.highfreq_iterations * iteration
    remote = {"target": "remote", "lag": transfer, "read": transfer, "detect": inputs.detection}
    restart = inputs.warmup
    return {
        "gemini": Saving(
            target="cpu_memory", steps=1, work=iteration, blocked=0.0, lag=iteration, detect=inputs.detection,
            restart=inputs.serialise_replicas + inputs.warmup, read=0.0, base=1.0, wasted=1.5 * iteration,
        ),
        "highfreq": Saving(
            **remote, steps=9, work=period - serialise, blocked=serialise, restart=restart,
            base=1.0 - serialise / period, wasted=2.0 * transfer + period / 2.0,
        ),
        "strawman": Saving(
            **remote, steps=180, work=inputs.strawman_interval, blocked=0.0, restart=restart,
            base=1.0, wasted=2.0 * transfer + inputs.strawman_interval / 2.0,
        ),
    }  # fmt: skip


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """G15 and G16."""
    found: Rows = {}
    each = systems(inputs)
    daily = [n * inputs.instance_failures * SECONDS_PER_DAY for n in inputs.instances]
    points = [("G15", per_day * SECONDS_PER_DAY, per_day * SECONDS_PER_DAY) for per_day in inputs.failures]
    points += [("G16", n, per_day) for n, per_day in zip(inputs.instances, daily, strict=True)]
    for name, system in each.items():
        for check, place, per_day in points:
            key = f"{check}.{name}.{place:g}"
            found[key] = _point(system, per_day, key, quick=quick)
    top = daily[-1]
    best, second = each["gemini"], each["highfreq"]
    found["G16.effective"] = Ours(best.exact(top), linear=best.linear(top))
    found["G16.ratio"] = Ours(
        best.exact(top) / second.exact(top), linear=best.linear(top) / second.linear(top), note=ABOVE
    )
    gone = ceil(each["strawman"].base / (inputs.instance_failures * each["strawman"].charged))
    left = each["strawman"].exact(gone * inputs.instance_failures * SECONDS_PER_DAY)
    found["G16.none"] = Ours(
        "never", linear=float(gone), note=f"{ABOVE}: {left:.3f} there, as a failure cannot take more than was done"
    )
    return found


def _point(system: Saving, per_day: float, key: str, *, quick: bool) -> Ours:
    exact, linear = system.exact(per_day), system.linear(per_day)
    note = f"{ABOVE}: {exact - linear:+.3f}" if abs(exact - linear) > 0.01 else ""
    return Ours(exact, linear=linear, engine=system.engine(per_day, key, quick=quick), note=note)
