"""`gemsim losses`: how likely a run loses everything, so that the job starts again from zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gemsim.cli.example import study_argument

EXAMPLES = """\b
Examples:
  gemsim losses studies/systems/gemini.yaml variant=strawman protection.checkpoint.invalid=1e-6
  gemsim losses studies/systems/gemini.yaml --precision 0.1 --most 120 --json losses.json
"""


@click.command(epilog=EXAMPLES)
@study_argument
@click.option("--quick", is_flag=True, help="The study's small version.")
@click.argument("choice", nargs=-1, metavar="[PATH=VALUE]...")
@click.option("--point", type=int, metavar="N", help="The N-th design point alone, in the order of summary.csv.")
@click.option("--precision", type=float, default=0.2, show_default=True, help="Half-width over the value to stop at.")
@click.option(
    "--most", type=click.FloatRange(0.1), default=60.0, show_default=True, help="Seconds for each point at most."
)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write all numbers to this file too.")
def losses(
    study: Path,
    choice: tuple[str, ...],
    quick: bool,
    point: int | None,
    precision: float,
    most: float,
    file: Path | None,
) -> None:
    """P(a run loses everything) of each design of STUDY, with its interval, down to 1e-9, beside the closed form.

    A loss is a failure that no tier recovers. The engine forces further failures before the first is recovered and
    weights them, so that losses too rare to be met in plain runs are met. It stops at the precision and 30 losses, or
    at the time. PATH=VALUE chooses a design point, or changes what is not swept.
    """
    from gemsim.results.folder import json_text, write_text
    from gemsim.spec.loading import load_study
    from gemsim.study.rare import lines, rare_of

    loaded = load_study(study, quick=quick)
    click.echo(f"{loaded.spec.title}\nP(a run loses everything and starts from zero); nines of its not happening\n")
    facts: list[dict[str, Any]] = []
    for found in rare_of(loaded, point=point, words=choice, precision=precision, most_seconds=most):
        click.echo("\n".join(lines(found)))
        facts.append(found.facts())
    if file is not None:
        write_text(file, json_text(facts))
