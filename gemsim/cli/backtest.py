"""`gemsim backtest`: a log of one's own run, its first part fitted, the rest predicted and judged."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemsim.cli.main import DONE

EXAMPLES = """\b
Examples:
  gemsim backtest studies/peers/airesim_default.yaml run.csv
  gemsim backtest studies/peers/airesim_default.yaml goodput.jsonl --split 0.3 --json backtest.json
  gemsim backtest studies/gem.yaml run.csv "variant=code, as contained in the field"
"""


@click.command(epilog=EXAMPLES)
@click.argument("study", type=click.Path(path_type=Path))
@click.argument("log", type=click.Path(path_type=Path))
@click.argument("choice", nargs=-1, metavar="[PATH=VALUE]...")
@click.option("--point", type=int, metavar="N", help="The N-th design point, in the order of summary.csv.")
@click.option("--split", type=float, default=0.5, show_default=True, help="Share of the wall time that is fitted.")
@click.option("--json", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write everything as JSON too.")
@click.option("--runs", type=click.IntRange(100, 100_000), default=1000, show_default=True, help="Of the prediction.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the prediction.")
def backtest(
    study: Path,
    log: Path,
    choice: tuple[str, ...],
    point: int | None,
    split: float,
    file: Path | None,
    runs: int,
    seed: int,
) -> int:
    """Set what STUDY predicts for the rest of LOG, with inputs fitted on its first part, beside what happened.

    LOG is a CSV table with the columns time, event and step, or the entries of ml-goodput-measurement as JSON lines or
    CSV: see docs/decide.md. PATH=VALUE chooses the design point that the job of the log is (variant=NAME among those
    of compare), or changes what is not swept.
    """
    from gemsim.cli.sweep import width
    from gemsim.results.folder import json_text, write_text
    from gemsim.spec.loading import load_study
    from gemsim.study.backtest.page import render
    from gemsim.study.backtest.run import as_object
    from gemsim.study.backtest.run import backtest as run
    from gemsim.study.choosing import choose_point

    loaded = load_study(study)
    design = choose_point(loaded, number=point, words=choice)
    found = run(loaded, log, share=split, runs=runs, seed=seed, design=design.assignments)
    if file is not None:
        write_text(file, json_text(as_object(found)))
    title = ": ".join(one for one in (loaded.spec.title, design.variant, " ".join(choice)) if one)
    click.echo(render(found, title=title, width=width(), styled=sys.stdout.isatty()), nl=False)
    return DONE
