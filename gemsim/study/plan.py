"""From a study file to what a sweep runs: the one place where spec, scenario, engine and twin meet."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from gemsim.analytic.losses import losses
from gemsim.analytic.optimum import HOPELESS, optimum
from gemsim.analytic.run import predict
from gemsim.analytic.unseen import said
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered
from gemsim.scenario import Scenario, build, describe
from gemsim.scenario.describe import outside
from gemsim.scenario.waiting import waits
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.printing import canonical_yaml, design_hash, study_hash
from gemsim.study.design import DesignPoint, designs_of, sampled_jobs, short_names
from gemsim.study.explain import Explanation, explain
from gemsim.study.money import bill_of
from gemsim.study.points import Model
from gemsim.study.remedies import remedies
from gemsim.study.stopping import rule_of
from gemsim.study.sweep import Plan
from gemsim.study.uncertain import LEAST_DRAWS, over_inputs


def described(scenario: Scenario) -> dict[str, Any]:
    """What can be said without running: the scenario's own columns and the best that periodic saving could do."""
    static, best = describe(scenario), optimum(scenario)
    notes = [*static["notes"], *said(scenario), *best.get("notes", [])]
    lost = losses_said(scenario)
    beside = {"outside": outside(scenario), "spare_nodes": scenario.fleet.spares.nodes, "waits": waits(scenario)}
    return {**static, **best, **lost, **beside, "notes": notes}


def losses_said(scenario: Scenario) -> dict[str, Any]:
    """Unrecoverable losses per run in closed form, as the summary's columns; the reason where there is none."""
    try:
        found = losses(scenario)
    except NotCovered as error:
        return {"unrecoverable_analytic": None, "unrecoverable_note": f"none: {error.reason}"}
    except ArithmeticError as error:  # a number beside the simulated one must not take that along
        note = (
            f"none: the closed form broke down ({type(error).__name__}: {error}): a fault of gemsim's, please report it"
        )
        return {"unrecoverable_analytic": None, "unrecoverable_note": note}
    return {"unrecoverable_analytic": found.per_run, "unrecoverable_note": f"{found.kind}, within {found.error:.2g}"}


MODEL = Model(build=build, describe=described, predict=predict, simulate=simulate, bill=bill_of)


def plan(loaded: LoadedStudy, *, seed: int | None, replications: int | None, quick: bool = False) -> Plan:
    """What `loaded` asks for; `seed` and `replications` stand in for the study's own where given, and a `quick` one
    draws its uncertain inputs seldom."""
    spec = loaded.spec
    run = spec.run.model_copy(
        update={
            "seed": spec.run.seed if seed is None else seed,
            "replications": spec.run.replications if replications is None else replications,
        }
    )
    spec = spec.model_copy(update={"run": run})
    wanted = LEAST_DRAWS if quick else None
    return Plan(
        designs=designs_of(loaded),
        resolve=partial(resolve_point, loaded),
        seed=run.seed,
        replications=run.replications,
        require=spec.require,
        study_text=canonical_yaml(spec),
        inputs=partial(over_inputs, loaded, MODEL, run.seed, wanted=wanted) if spec.uncertain else None,
        facts={
            "study": loaded.path.name,
            "study_folder": os.path.abspath(loaded.tree.folder),  # where relative names of files in the study start
            "quick": quick,
            "title": spec.title,
            "study_hash": study_hash(spec),
            "design_hash": design_hash(spec),
        },
        source=loaded.content,
        rule=rule_of(run),
        sampled=spec.sweep.sampled,
        jobs=sampled_jobs(loaded),
    )


def label_of(design: DesignPoint) -> str:
    """What distinguishes a design point: its variant, and its values of what is swept."""
    names = short_names(list(design.columns))
    swept = [f"{names[path]}={value}" for path, value in design.columns.items() if value != ""]
    return " ".join(([design.variant] if design.variant else []) + swept) or "the study as it stands"


def explained(loaded: LoadedStudy, design: DesignPoint, *, seed: int | None, replications: int | None) -> Explanation:
    """One design point explained. Raises Infeasible where it cannot exist."""
    scenario = build(resolve_point(loaded, design.assignments))
    run, about = loaded.spec.run, described(scenario)
    used = run.seed if seed is None else seed
    laws = loaded.spec.uncertain
    nominal = [f"Uncertain inputs stand at their nominal values here: {', '.join(laws)}"] if laws else []
    return explain(
        scenario,
        title=loaded.spec.title,
        label=label_of(design),
        seed=used,
        replications=run.replications if replications is None else replications,
        notes=[*about["notes"], *nominal],
        remedies=remedies(loaded, design.assignments, seed=used) if about.get("optimum_ettr", 1.0) < HOPELESS else (),
    )


def default_folder(study: Path, *, quick: bool, shard: tuple[int, int] = (1, 1)) -> Path:
    """Where the results of a study, or of a share of it, go unless told otherwise."""
    share = "" if shard == (1, 1) else f"-{shard[0]}-of-{shard[1]}"
    return Path("out") / f"{study.stem}{'-quick' if quick else ''}{share}"
