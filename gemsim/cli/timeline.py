"""`gemsim timeline`: what happened in one run, event by event, as text, tables and a picture."""

from __future__ import annotations

from pathlib import Path

import click

from gemsim.cli.example import study_argument
from gemsim.cli.options import seed_option

EXAMPLES = """\b
Examples:
  gemsim timeline studies/gem.yaml --quick --point 1
  gemsim timeline studies/widths.yaml --quick --point 3 --replication 1 --out out/timeline
  gemsim timeline studies/trainingcxl.yaml --quick --point 1 --full
"""


@click.command(epilog=EXAMPLES)
@study_argument
@click.argument("choice", nargs=-1, metavar="[PATH=VALUE]...")
@click.option("--point", type=int, metavar="N", help="The N-th design point, in the order of summary.csv.")
@click.option("--replication", type=click.IntRange(0), default=0, metavar="N", help="Which run, from 0 (default).")
@click.option("--quick", is_flag=True, help="Of the study's small version.")
@seed_option
@click.option("--full", is_flag=True, help="Tell every event, however many.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for text, CSV, picture and trace.")
def timeline(
    study: Path,
    choice: tuple[str, ...],
    point: int | None,
    replication: int,
    quick: bool,
    seed: int | None,
    full: bool,
    out: Path | None,
) -> None:
    """Tell what happened in one run of one design point of STUDY: failures, recoveries, waits, and where the time went.

    It is the run that a sweep makes for this point and replication. PATH=VALUE chooses among the design points
    (variant=NAME among those of compare), or changes what is not swept. With --out also timeline.txt (every event),
    timeline.csv, spans.csv, timeline.svg, timeline.png, and timeline.json to open at ui.perfetto.dev.
    """
    from gemsim.cli.sweep import width
    from gemsim.results.timeline_text import to_text
    from gemsim.spec.loading import load_study
    from gemsim.study.choosing import choose_point
    from gemsim.study.timeline import recorded, write

    loaded = load_study(study, quick=quick)
    design = choose_point(loaded, number=point, words=choice)
    found = recorded(loaded, design, seed=seed, replication=replication)
    if out is not None:
        write(found, out)
    click.echo(to_text(found, width=width(), full=full), nl=False)
    if out is not None:
        click.echo(
            f"Written to {out}: timeline.txt, timeline.csv, spans.csv, timeline.svg, timeline.png, timeline.json"
        )
