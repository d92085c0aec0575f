"""GEM: its claim beside what the simulator finds, over named models, sets of assumptions and baselines.

The claim is not judged: the paper's text is not to be had, and the answer hangs on assumptions. The report names those
under which it is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from math import floor
from typing import Any

from gemsim.results.estimate import t_quantile
from gemsim.scenario import describe
from gemsim.scenario.state import memory
from gemsim.spec.models import model_names, named_model
from gemsim.spec.published import Inputs, paper
from gemsim.spec.study import StudySpec
from gemsim.study.validate.checks import Engine, Ours, Rows
from gemsim.study.validate.gem_axes import REFERENCE, swings
from gemsim.study.validate.gem_costs import loss, steady_seconds
from gemsim.study.validate.gem_sets import PAIRS, all_cut, lost, mean_cut, memory_cut, patterns, sets
from gemsim.study.validate.gem_sim import simulated
from gemsim.study.validate.gem_worlds import BASELINES, LARGEST, MIX, Assumed, job
from gemsim_kernels.codes import CodeLimit, family

QUICK_MODELS = ("llama-7b", "deepseek-v3-671b", "llama3-405b")
FAULTS = ("cpu", "hourly")  # baselines of the simulated cuts
Report = list[dict[str, Any]]


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """The checks of the paper file `gem`."""
    models = QUICK_MODELS if quick else tuple(model_names())
    against = ("hourly", "hourly")
    mean = mean_cut(models, REFERENCE, *against)
    shares = {name: getattr(inputs, name)[0] / getattr(inputs, name)[1] for name in ("delta_h100", "delta_a100")}
    measured = mean_cut(models, replace(REFERENCE, contained=shares["delta_a100"]), *against).total
    runs = _replications(quick=quick)
    run = simulated(LARGEST, REFERENCE, *against, replications=runs)
    part, whole = all_cut(LARGEST, REFERENCE, *against)
    overheads = [describe(job(one, replace(REFERENCE, overhead=inputs.overhead), "hourly", gem=True)) for one in models]
    bounds = {name: _bound(models, share) for name, share in shares.items()}
    return {
        "GEM.average": Ours(
            mean.total,
            engine=Engine(run.memory.value, run.memory.half_width / t_quantile(runs), None),
            note=(
                "assumed: every memory error contained and on coded bytes, repaired in place in 10 + 10 s; "
                f"{measured:.1%} with {shares['delta_a100']:.0%} contained; the engine ran the 405B job; the report "
                "below has the sets"
            ),
        ),
        "GEM.k": Ours(tuple(m / inputs.overhead for m in (1, 2, 3, 4))),
        "GEM.memory": Ours(sum(one["memory_overhead"] for one in overheads) / len(overheads)),
        "GEM.bound.h100": Ours(bounds["delta_h100"]),
        "GEM.bound.a100": Ours(bounds["delta_a100"]),
        "GEM.all": Ours(
            part, note=f"{whole:.1%} with what the restart in place does for other failures, encoding paid"
        ),
    }


def _replications(*, quick: bool) -> int:
    return 4 if quick else 6


def _bound(models: Sequence[str], contained: float) -> float:
    """The largest first term of the cut over restart modes, pauses, where errors land, baselines and models."""
    tried = [
        replace(REFERENCE, contained=contained, mode=mode, pause=pause, lands=lands)
        for mode in ("in_place", "holder")
        for pause in (0.0, 10.0)
        for lands in ("critical", "used")
    ]
    return max(memory_cut(model, one, *pair).code for model in models for one in tried for pair in PAIRS)


def gem_report(*, quick: bool) -> Report:
    """Rows as plain data, each with its `section`: model, set, pattern, simulated or swing. Shares are of 1."""
    models = QUICK_MODELS if quick else tuple(model_names())
    report = [_model(name) for name in models]
    report += _sets(models, quick=quick)
    report += _simulated(models, quick=quick)
    for baseline in FAULTS:
        for one in swings(models, baseline):
            report.append({"section": "swing", **asdict(one), "swing": one.swing})
    return report


def _model(name: str) -> dict[str, Any]:
    """A named model's job: coded share, the k that 0.3 % of memory asks for, and the claim's assumptions at work."""
    named = named_model(name)
    study = StudySpec.model_validate(
        {**named.study(), "title": name, "failures": {"mix": MIX}, "run": {"horizon": "1 d"}}
    )
    held = memory(study)
    coded = held.coded / held.capacity
    mine = loss(lost(name, REFERENCE, "hourly", gem=True), REFERENCE.classes)
    built = job(name, REFERENCE, "hourly", gem=True)
    return {
        "section": "model",
        "model": name,
        "kind": named.kind,
        "gpus": study.cluster.gpus,
        "parameters": study.workload.parameters,
        "step_s": named.step,
        "profile": built.profile,
        "modelled": built.modelled,
        "coded_share": coded,
        "k": {m: _width(coded, m, REFERENCE.overhead) for m in (1, 2, 3, 4)},
        "memory_overhead": describe(built)["memory_overhead"],
        "survivable_burst_pages": describe(built)["survivable_burst_pages"],
        "decoded": mine.share,
        "steady_s": steady_seconds(built, mine.rate),
        "lost_s": {
            saves: loss(lost(name, REFERENCE, saves, gem=False), REFERENCE.classes).seconds for saves in BASELINES
        },
    }


def _width(coded: float, m: int, overhead: float) -> str:
    """k = f m / overhead with the field of its code, or that none covers it."""
    k = max(1, -floor(-coded * m / overhead + 1e-9))
    try:
        bits = family(k, m).field_bits
    except CodeLimit:
        return f"{k} (no code)"
    return f"{k}" + ("" if bits <= 8 else f" (GF(2^{bits}))")


def _sets(models: Sequence[str], *, quick: bool) -> Report:
    """All sets of assumptions against all pairs of baseline and fall-back, and the met ones as patterns.

    `by` code: the term of repairs in place reaches the claim alone; both: together with the fall-back's.
    """
    claim = paper("gem").inputs.claim
    found: Report = []
    for pair in PAIRS:
        means = [mean_cut(models, one, *pair) for one in sets(quick=quick)]
        found += [{"section": "set", **one.row(), "claim": claim, "met": one.total >= claim} for one in means]
        reached = [one for one in means if one.total >= claim]
        alone = [one for one in reached if one.total - one.of_fallback >= claim]
        for kind, met in (("code", alone), ("both", reached if len(reached) > len(alone) else [])):
            found += [
                {"section": "pattern", "baseline": pair[0], "fallback": pair[1], "by": kind, **pattern}
                for pattern in patterns([one.assumed for one in met], quick=quick)
            ]
    return found


def _simulated(models: Sequence[str], *, quick: bool) -> Report:
    """The engine's cut with measured containment, and with all contained for the largest job."""
    good, all_events = paper("gem").inputs.delta_a100
    measured = replace(REFERENCE, contained=good / all_events)
    cases: list[tuple[str, Assumed]] = [(model, measured) for model in (models[-1:] if quick else models)]
    cases.append((LARGEST, REFERENCE))
    found = []
    for model, assumed in cases:
        for baseline in FAULTS:
            run = simulated(model, assumed, baseline, baseline, replications=_replications(quick=quick))
            part, whole = all_cut(model, assumed, baseline, baseline)
            found.append(
                {
                    "section": "simulated",
                    "model": model,
                    "baseline": baseline,
                    "contained": assumed.contained,
                    "code": run.closed.code,
                    "of_fallback": run.closed.fallback,
                    "cut": run.closed.total,
                    "simulated": tuple(run.memory),
                    "failures": run.failures,
                    "all_at_memory": part,
                    "all": whole,
                    "all_simulated": tuple(run.everything),
                }
            )
    return found
