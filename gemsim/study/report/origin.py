"""Where a report's numbers are from: study, seed, profiles, versions, every run, and the command to make them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from gemsim.results.provenance import runs_of
from gemsim.study.report.answer import source_lines
from gemsim.study.report.content import NUMERIC, Grid, Origin, Part
from gemsim.study.report.view import View

HEADINGS = ("when (UTC)", "rows added", "seed", "replications", "gemsim", "python", "command")


def origin_of(view: View) -> Origin:
    """What the folder records of itself."""
    plan, folder = view.result.plan, view.result.folder
    runs = runs_of(folder / "provenance.json")
    last: Mapping[str, Any] = runs[-1] if runs else {}
    known = last.get("packages")
    packages = ", ".join(f"{name} {version}" for name, version in (known if isinstance(known, dict) else {}).items())
    facts = [
        ("study", f"{last.get('study', '')}{' (its quick form)' if plan.facts.get('quick') else ''}"),
        ("hash of the resolved study", str(plan.facts.get("study_hash", ""))),
        ("seed", str(plan.seed)),
        ("replications asked for", str(plan.replications)),
        *(("costs", line.removeprefix("Costs: ")) for line in source_lines(view)),
        ("gemsim", str(last.get("gemsim", ""))),
        ("python, packages", ", ".join(filter(None, (str(last.get("python", "")), packages)))),
    ]
    rows = [_run(run) for run in runs]
    grid = Grid("All runs that added to this folder", HEADINGS, ("", *[NUMERIC] * 3, "", "", ""), [Part("", rows)])
    return Origin([one for one in facts if one[1]], _again(view), _typed(last), plan.study_text, grid)


def _run(run: Mapping[str, Any]) -> list[str]:
    fields = ("when", "rows_added", "seed", "replications", "gemsim", "python")
    return [*(str(run.get(name, "")) for name in fields), _typed(run)]


def _typed(run: Mapping[str, Any]) -> str:
    """A run's command as it was typed."""
    words = run.get("command", [])
    return shlex.join(str(word) for word in words) if isinstance(words, list) else str(words)


def _again(view: View) -> str:
    """A command that makes the rows again from the study that the folder keeps."""
    plan = view.result.plan
    quick = " --quick" if plan.facts.get("quick") else ""
    return f"gemsim sweep source.yaml{quick} --seed {plan.seed} --replications {plan.replications} --out again"
