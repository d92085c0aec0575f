"""`gemsim sweep`: run a study and say which design point protects best."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from gemsim.cli.example import study_argument
from gemsim.cli.main import DONE, POINTS_FAILED, reader_gone
from gemsim.cli.options import jobs_option, seed_option

if TYPE_CHECKING:
    from gemsim.spec.loading import LoadedStudy
    from gemsim.study.sweep import SweepResult

MOST_DIGITS = 9  # of a number of shares
OF_RUNS = ("seed", "replications", "limit", "fail_fast", "dask", "shard")

EXAMPLES = """\b
Examples:
  gemsim sweep --example widths --quick
  gemsim sweep studies/widths.yaml --quick
  gemsim sweep studies/systems/gemini.yaml --replications 64 --out out/gemini
  gemsim sweep studies/widths.yaml --limit "10 min" --fail-fast
  gemsim sweep studies/widths.yaml --dask tcp://10.0.0.1:8786
  gemsim sweep studies/widths.yaml --shard 3/200 --out out/widths-3
  gemsim sweep studies/widths.yaml --analytic
"""


def _seconds(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """A time with its unit, in seconds."""
    if text is None:
        return None
    from gemsim.errors import ValueRefused
    from gemsim.study.runner import limit_of

    try:
        return limit_of(text)
    except ValueRefused as error:
        raise click.BadParameter(str(error)) from None


def _share(context: click.Context, option: click.Parameter, text: str) -> tuple[int, int]:
    """I/N as two numbers."""
    share, slash, of = text.partition("/")
    counts = slash and all(part.isdecimal() and len(part) <= MOST_DIGITS for part in (share, of))
    if not (counts and 1 <= int(share) <= int(of)):
        raise click.BadParameter(f"'{text[:60]}' is no share; I/N with I from 1 to N, such as 3/200")
    return int(share), int(of)


@click.command(epilog=EXAMPLES)
@study_argument
@click.option("--quick", is_flag=True, help="Run the study's small version, in seconds.")
@jobs_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results (default: out/STUDY).")
@seed_option
@click.option("--replications", type=click.IntRange(1), help="Instead of the study's number.")
@click.option(
    "--limit",
    metavar="TIME",
    callback=_seconds,
    help="Longest time of a replication; then its worker is killed (default: 10 min, or 100 times the longest so far; "
    "with --jobs 1 none).",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first design point that fails.")
@click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler, by address or file.")
@click.option(
    "--shard", metavar="I/N", default="1/1", callback=_share, help="Run the I-th of N shares; gemsim merge joins them."
)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but errors.")
@click.option("--analytic", is_flag=True, help="The closed form of every design point; simulate nothing.")
def sweep(
    study: Path,
    quick: bool,
    jobs: int | None,
    out: Path | None,
    seed: int | None,
    replications: int | None,
    limit: float | None,
    fail_fast: bool,
    dask: str | None,
    shard: tuple[int, int],
    quiet: bool,
    analytic: bool,
) -> int:
    """Simulate every design point of STUDY and say which protects best.

    What the folder holds already is not run again, so a stopped sweep goes on where it was and a larger number of
    replications adds to it. A worker that dies or hangs costs its batch, which is run again; a design point that ends
    its worker twice is named in the table, and the others go on.
    """
    from gemsim.spec.loading import load_study
    from gemsim.study.executors import here_or_there
    from gemsim.study.machine import cpus
    from gemsim.study.plan import MODEL, default_folder, plan
    from gemsim.study.progress import reporter
    from gemsim.study.report import PAGE
    from gemsim.study.sweep import sweep as run

    if dask is not None and jobs is not None:
        raise click.UsageError("--jobs is for processes of this machine; with --dask the cluster says how many it has")
    if analytic:
        _refuse_runs()
    loaded = load_study(study, quick=quick)
    if analytic:
        return _analytic(loaded, out or default_folder(study, quick=quick), jobs or cpus())
    asked = plan(loaded, seed=seed, replications=replications, quick=quick)
    folder = out or default_folder(study, quick=quick, shard=shard)
    with reporter(study.stem, quiet=quiet) as report:
        if quick and not loaded.has_quick:
            report.say(f"{study}: has no `quick:` section, so the full study runs")
        if loaded.spec.decide is not None:
            report.say(f"{study}: `decide:` is for gemsim recommend and is left aside here")
        with here_or_there(dask, say=report.say) as make:
            result = run(
                *(asked, MODEL, folder),
                jobs=jobs or cpus(),
                report=report,
                make_executor=make,
                limit_s=limit,
                fail_fast=fail_fast,
                shard=shard,
            )
        if result.added and (folder / PAGE).is_file():
            report.say(f"{folder / PAGE} does not show the new replications yet; gemsim report {folder} does")
    return show(result) if shard == (1, 1) else _show_share(result, shard)


def show(result: SweepResult) -> int:
    """Print the page of a sweep and return the exit code."""
    from gemsim.study.terminal import render

    try:
        click.echo(render(result, width=width(), styled=sys.stdout.isatty()), nl=False)
    except BrokenPipeError:
        reader_gone()  # the exit code is that of the sweep all the same
    return POINTS_FAILED if result.failed or result.incomplete else DONE


def _show_share(result: SweepResult, shard: tuple[int, int]) -> int:
    """Where a share lies; there is no page, since its table is of a part of the replications."""
    share, of = shard
    what = f"share {share} of {of}: {result.added} replications added to {result.folder}"
    click.echo(f"{what}; `gemsim merge` joins the folders of all shares")
    return POINTS_FAILED if result.failed else DONE


def _refuse_runs() -> None:
    """Options that say how to simulate say nothing where nothing is simulated."""
    context = click.get_current_context()
    given = [name for name in OF_RUNS if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise click.UsageError(f"{names}: of replications, and --analytic runs none; leave one of them out")


def _analytic(loaded: LoadedStudy, folder: Path, jobs: int) -> int:
    """Every design point by its closed form: a file and a short page."""
    from gemsim.results.folder import write_text
    from gemsim.results.table import to_csv
    from gemsim.study.analytic import COMPUTED, closed_forms
    from gemsim.study.closed import render_closed
    from gemsim.study.design import designs_of

    rows, designs = closed_forms(loaded, jobs=jobs), designs_of(loaded)
    names = [*designs[0].columns, *COMPUTED]
    write_text(folder / "analytic.csv", to_csv([{name: row[name] for name in names} for row in rows]))
    click.echo(render_closed(loaded, designs, rows, width=width()), nl=False)
    click.echo(f"File: {folder / 'analytic.csv'} (all points).")
    return DONE


def width() -> int:
    """Of the page, in characters."""
    return max(80, min(shutil.get_terminal_size((100, 24)).columns, 120))
