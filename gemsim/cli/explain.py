"""`gemsim explain`: one design point, where its time goes and why, to be checked by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemsim.cli.example import study_argument
from gemsim.cli.options import seed_option

EXAMPLES = """\b
Examples:
  gemsim explain studies/widths.yaml --quick k=16 m=1 mapping=interleaved restart=in_place lands=used
  gemsim explain studies/gem.yaml "variant=remote hourly" --json explained.json
  gemsim explain studies/retry.yaml --point 3 --replications 8
"""


@click.command(epilog=EXAMPLES)
@study_argument
@click.argument("choice", nargs=-1, metavar="[PATH=VALUE]...")
@click.option("--point", type=int, metavar="N", help="The N-th design point, in the order of summary.csv.")
@click.option("--quick", is_flag=True, help="Of the study's small version.")
@click.option("--replications", type=click.IntRange(1), help="Instead of the study's number.")
@seed_option
@click.option("--json", "out", type=click.Path(path_type=Path), metavar="FILE", help="Write the same as data.")
def explain(
    study: Path,
    choice: tuple[str, ...],
    point: int | None,
    quick: bool,
    replications: int | None,
    seed: int | None,
    out: Path | None,
) -> None:
    """Explain one design point of STUDY: its failures, where the time goes in closed form and simulated, the sum by
    hand, and what models known by name say.

    PATH=VALUE chooses among the design points (variant=NAME among those of compare), or changes what is not swept.
    """
    from gemsim.cli.sweep import width
    from gemsim.results.folder import json_text, write_text
    from gemsim.spec.loading import load_study
    from gemsim.study.choosing import choose_point
    from gemsim.study.explain import as_data
    from gemsim.study.explained import render
    from gemsim.study.plan import explained

    loaded = load_study(study, quick=quick)
    design = choose_point(loaded, number=point, words=choice)
    found = explained(loaded, design, seed=seed, replications=replications)
    if out is not None:
        write_text(out, json_text(as_data(found)))
    click.echo(render(found, width=width(), styled=sys.stdout.isatty()), nl=False)
