"""`gemsim check`: a study fully resolved, what follows from it, and what a sweep of it would cost; nothing is run."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemsim.cli.example import study_argument

if TYPE_CHECKING:
    from gemsim.scenario import Scenario
    from gemsim.spec.loading import LoadedStudy
    from gemsim.spec.study import StudySpec
    from gemsim.spec.swept import SweepSpec

Row = tuple[str, str, str]
_KIND = {True: "modelled, not measured", False: "measured"}
Point = tuple["StudySpec | None", "Scenario | None", str]


EXAMPLES = """\b
Examples:
  gemsim check --example widths
  gemsim check studies/widths.yaml
  gemsim check studies/systems.yaml --quick
"""


@click.command(epilog=EXAMPLES)
@study_argument
@click.option("--quick", is_flag=True, help="Check the study's small version.")
def check(study: Path, quick: bool) -> None:
    """Print STUDY fully resolved, with the source of every value, what follows from it and its design points.

    Nothing is run. All that is wrong with the study is reported at once, with exit code 2.
    """
    from gemsim.spec.loading import load_study
    from gemsim.spec.printing import explain, study_hash

    loaded = load_study(study, quick=quick)
    _section(f"{loaded.spec.title}", f"{study}{' (quick)' if quick else ''}, study {study_hash(loaded.spec)[:12]}")
    _table([(row.path, row.value, row.origin) for row in explain(loaded)])
    _derived(loaded.spec)
    points = _points(loaded)
    _design_points(loaded, points)
    _cost(loaded, points)


def _derived(spec: StudySpec) -> None:
    from gemsim import scenario
    from gemsim.analytic.unseen import said
    from gemsim.errors import Infeasible

    _section("Derived", "of the study as written, before anything is swept")
    try:
        built = scenario.build(spec)
    except Infeasible as error:
        click.echo(f"  the study as written cannot exist: {error.reason}")
        return
    facts = dict(scenario.describe(built))
    notes, kind = facts.pop("notes", None), _KIND[bool(facts.pop("modelled"))]
    columns = [(name, _plain(value), kind if name == "profile" else _unit(name)) for name, value in facts.items()]
    _table([*scenario.derived(built), _flops(spec), *columns])
    _bullets([*(notes or ()), *said(built), *_scaled(spec)])


def _scaled(spec: StudySpec) -> list[str]:
    """The plans of stops that were counted on a fleet of another size: they are scaled as failures are."""
    from gemsim import units

    notes, gpus = [], spec.cluster.gpus
    for one in spec.failures.resolved():
        if one.scope == "planned" and one.gpus not in (None, gpus) and one.rate.per == "job":
            counted = f"{units.format(one.rate, 'rate')} on {one.gpus:,} GPUs"
            often = f"{one.job_rate(gpus=gpus, gpus_per_node=spec.cluster.gpus_per_node) * 86400.0:.3g} per day"
            notes.append(
                f"failures.{one.name}: {counted} are scaled to {often} on {gpus:,}, as failures are; a plan of stops "
                "seldom follows the number of GPUs. If yours does not, write the class yourself, with its rate and "
                f"gpus: {gpus}, beside a mix that has none"
            )
    return notes


def _flops(spec: StudySpec) -> Row:
    """The step time against 6 × (active) parameters × tokens (forward and backward)."""
    from gemsim.spec.catalog import gpu
    from gemsim.units import brief

    job, source = spec.workload, "6 × parameters × tokens / (GPUs × step), against dense BF16"
    if job.tokens_per_step is None:
        return "step.flops", "not checked", f"tokens_per_step is not given; {source}"
    speed = 6 * job.active_parameters * job.tokens_per_step / (spec.cluster.gpus * job.step)
    peak = gpu(spec.cluster.gpu).peak_flops
    judged = f"IMPOSSIBLE: more than the {brief(peak, 'flops')} of the GPU. " if speed > peak else ""
    return "step.flops", f"{brief(speed, 'flops')} per GPU, {speed / peak:.0%} of peak", judged + source


def _points(loaded: LoadedStudy) -> list[Point]:
    """Each design point as its spec, its scenario and, where it cannot exist, the reason."""
    from gemsim import scenario
    from gemsim.errors import Infeasible, StudyError
    from gemsim.spec.loading import resolve_point
    from gemsim.study.design import designs_of

    points = list[Point]()
    for design in designs_of(loaded):
        point = None
        try:
            point = resolve_point(loaded, design.assignments)
            points.append((point, scenario.build(point), ""))
        except Infeasible as error:
            points.append((point, None, error.reason))
        except StudyError as error:
            points.append((point, None, "; ".join(f"{one.path}: {one.what}" for one in error.problems)))
    return points


def _design_points(loaded: LoadedStudy, points: list[Point]) -> None:
    sweep = loaded.spec.sweep
    feasible = [built for _, built, _ in points if built is not None]
    distinct = len({built.id for built in feasible})
    _section("Design points", f"{len(points)}: {len(feasible)} feasible, {len(points) - len(feasible)} infeasible")
    axes = _axes(sweep)
    axes += [("compare", ", ".join(loaded.spec.compare), "variants")] if loaded.spec.compare else []
    _table(axes)
    _bullets(sweep.notes)
    if distinct < len(feasible):
        same = "what changes nothing, such as k where m = 0, makes no new one"
        click.echo(f"  {len(feasible)} feasible points are {distinct} designs ({same})")
    _bullets(f"{count} infeasible: {reason}" for reason, count in Counter(r for _, _, r in points if r).most_common())


def _axes(sweep: SweepSpec, within: str = "") -> list[Row]:
    """The swept paths with their values, and the design that each stands in."""
    axes = [(path, ", ".join(map(str, values)), f"{within}grid") for path, values in sweep.grid.items()]
    axes += [(path, ", ".join(map(str, values)), f"{within}zip") for path, values in sweep.zip.items()]
    listed = [", ".join(f"{path} = {value}" for path, value in point.items()) for point in sweep.points]
    axes += [(f"point {number}", text, f"{within}points") for number, text in enumerate(listed, 1)]
    for kind, sample in (("latin_hypercube", sweep.latin_hypercube), ("sobol", sweep.sobol)):
        over = sample.over if sample else {}
        about = f"{within}{kind}, {sample.number} points, seed {sample.seed}" if sample else ""
        axes += [
            (path, ", ".join(map(str, one)) if isinstance(one, tuple) else str(one), about)
            for path, one in over.items()
        ]
    for number, block in enumerate(sweep.nested, 1):
        axes += _axes(block, f"{within}block {number}: ")
    return axes


def _cost(loaded: LoadedStudy, points: list[Point]) -> None:
    """What a sweep costs: it grows with the failures that are simulated."""
    distinct = {built.id: built for _, built, _ in points if built is not None}
    if not distinct:
        _section("Expected cost", "nothing can be run")
        return
    per_run = {id_: failures_per_run(built) for id_, built in distinct.items()}
    replications = loaded.spec.run.replications
    low, high = min(per_run.values()), max(per_run.values())
    each = _plain(low) if high < 1.01 * low else f"{_plain(low)} to {_plain(high)}"
    total = sum(per_run.values()) * replications
    _section("Expected cost", "")
    _table(
        [
            ("failures per run", each, "rates × horizon; before the time lost to restarts where exposure is running"),
            ("runs", f"{len(distinct) * replications:,}", f"{len(distinct)} designs × {replications} replications"),
            ("failures to simulate", f"{total:,.0f}", "the cost of a sweep grows with this number"),
        ]
    )


def failures_per_run(scenario: Scenario) -> float:
    """Expected failures of one run, what fails at one instant as one: rates times the horizon, or times the useful time
    of a work target (at least)."""
    from gemsim.scenario.blind import seconds_of_a_run

    return sum(kind.starts for kind in scenario.classes) * seconds_of_a_run(scenario)


def _section(title: str, note: str) -> None:
    click.echo(f"\n{title}" + (f": {note}" if note else ""))


def _bullets(notes: str | Iterable[str] | None) -> None:
    for note in [notes] if isinstance(notes, str) else notes or ():
        if note:
            click.echo(textwrap.fill(note, _width(), initial_indent="  - ", subsequent_indent="    "))


def _table(rows: Iterable[Row]) -> None:
    """Name, value and origin in three columns; long values and origins run on below their column."""
    rows = [(name, value, origin) for name, value, origin in rows]
    first = max((len(name) for name, _, _ in rows), default=0) + 2
    second = min(max((len(value) for _, value, _ in rows), default=0), 44) + 2
    third = max(_width() - 2 - first - second, 30)
    for name, value, origin in rows:
        values, origins = textwrap.wrap(value, second - 2) or [""], textwrap.wrap(origin, third) or [""]
        for at in range(max(len(values), len(origins))):
            cells = (name if at == 0 else "", *(column[at] if at < len(column) else "" for column in (values, origins)))
            click.echo(f"  {cells[0]:<{first}}{cells[1]:<{second}}{cells[2]}".rstrip())


def _unit(column: str) -> str:
    """What a column without a unit in its name counts in."""
    from gemsim.spec.columns import COLUMN_MEASURES

    return {"share": "share (1 is all)", "count": "count"}.get(COLUMN_MEASURES.get(column, ""), "")


def _plain(value: Any) -> str:
    if value is None:
        return "does not apply"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _width() -> int:
    return max(100, min(shutil.get_terminal_size((140, 24)).columns, 180))
