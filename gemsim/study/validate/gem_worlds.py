"""The jobs that GEM's claim is tried on: a named model under a set of assumptions, with a baseline or with GEM.

The text of GEM's paper is not to be had: what is not in its abstract is an assumption, each a field of `Assumed`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import Any

from gemsim import scenario
from gemsim.scenario import Scenario
from gemsim.scenario.state import memory
from gemsim.spec.failures import FailuresSpec
from gemsim.spec.models import NamedModel, named_model
from gemsim.spec.study import StudySpec

MIX = "llama3-2024"
MEMORY, SRAM = "hbm3", "sram"
LARGEST = "llama3-405b"
BASELINES = {  # name -> how it saves
    "cpu": "CPU memory each step",
    "optimal": "remote, optimal",
    "hourly": "remote, hourly",
    "3-hourly": "remote, 3-hourly",
}


@dataclass(frozen=True, slots=True)
class Assumed:
    """One set of assumptions. `update` is a share of the step; None: derived. `tail`: bursts as measured, else one
    row."""

    lands: str = "critical"
    contained: float = 1.0
    pause: float = 10.0
    mapping: str = "interleaved"
    mode: str = "in_place"
    sram: bool = False
    steady: bool = False
    page: str = "2 MiB"
    rows: str = "adjacent_pages"
    update: float | None = None
    tail: bool = True
    detect: float | None = None
    base_mode: str = "all_processes"
    m: int = 1
    overhead: float = 0.003

    @property
    def plain(self) -> Assumed:
        """Without what makes no other job: how losses are counted, and what the restart mode leaves without effect."""
        of = replace(self, sram=False, steady=False)
        if of.mode != "in_place":
            of = replace(of, pause=10.0)
        return replace(of, mapping="interleaved") if of.mode == "all_processes" else of

    @property
    def classes(self) -> tuple[str, ...]:
        """The failure classes that count as memory failures."""
        return (MEMORY, SRAM) if self.sram else (MEMORY,)


def width(study: StudySpec, assumed: Assumed) -> int:
    """The k whose parity takes `overhead` of the GPU's memory: coded share x m / overhead, rounded up."""
    held = memory(study)
    return max(1, ceil(held.coded / held.capacity * assumed.m / assumed.overhead - 1e-9))


@lru_cache(maxsize=8192)
def job(model: str, assumed: Assumed, saves: str, *, gem: bool, horizon: float = 54 * 86400.0) -> Scenario:
    """A named model's job under plain assumptions: the baseline `saves`, or GEM that falls back to it."""
    named = named_model(model)
    tiers = _saves(named, saves)
    mode = assumed.mode if gem else assumed.base_mode
    study = _study(named, assumed, mode, tiers, horizon)
    if gem:
        stripe = {"layout": "gpu", "k": width(study, assumed), "m": assumed.m, "mapping": assumed.mapping}
        study = _study(named, assumed, mode, [{"retry": {}}, {"stripe": stripe}, *tiers], horizon)
    return scenario.build(study)


def _saves(named: NamedModel, saves: str) -> list[dict[str, Any]]:
    """The tiers of a baseline. CPU memory: as GEMINI, two copies each step, nothing blocked, remote every 3 h."""
    interval = {"optimal": "optimal", "hourly": "1 h"}.get(saves, "3 h")
    remote = {"target": "remote", "mode": "async", "blocked": "1 s", "interval": interval, "name": "remote"}
    if saves != "cpu":
        return [{"checkpoint": remote}]
    step = f"{named.step:.6g} s"
    near = {"target": "cpu_memory", "mode": "async", "blocked": "0 s", "interval": step, "keep": 2, "name": "cpu"}
    return [{"checkpoint": near}, {"checkpoint": remote}]


def _study(named: NamedModel, assumed: Assumed, mode: str, tiers: list[dict[str, Any]], horizon: float) -> StudySpec:
    raw = named.study()
    if assumed.update is not None:
        raw["workload"]["update"] = f"{assumed.update * named.step:.6g} s"
    failures = {"mix": MIX, "lands": assumed.lands, "contained": assumed.contained}
    failures |= {"page": assumed.page, "rows": assumed.rows}
    study = StudySpec.model_validate(
        {
            **raw,
            "title": named.title,
            "restart": {"mode": mode, "pause": f"{assumed.pause} s"},
            "failures": failures,
            "protection": tiers,
            "run": {"horizon": f"{horizon} s"},
        }
    )
    return study.model_copy(update={"failures": _changed(study.failures, assumed)})


def _changed(failures: FailuresSpec, assumed: Assumed) -> FailuresSpec:
    """The mix with another law of bursts or another detection of memory errors, where a set of assumptions asks."""
    if assumed.tail and assumed.detect is None:
        return failures
    changes: dict[str, Any] = {} if assumed.tail else {"rows": ((1, 1.0),)}
    kinds = []
    for one in failures.resolved():
        if one.name == MEMORY:
            seconds = one.detect.mean if assumed.detect is None else assumed.detect
            detect = one.detect.model_copy(update={"mean": seconds})
            one = one.model_copy(update={**changes, "detect": detect})
        kinds.append(one)
    return failures.model_copy(update={"mix": None, "classes": tuple(kinds)})
