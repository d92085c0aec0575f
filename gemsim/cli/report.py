"""`gemsim report`: a sweep as one page for the browser, with its figures."""

from __future__ import annotations

from pathlib import Path

import click

EXAMPLES = """\b
Examples:
  gemsim report out/widths-quick
  gemsim report out/widths --out shared/widths
"""


@click.command(epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the page (default: DIR).")
def report(folder: Path, out: Path | None) -> None:
    """Write the sweep in DIR as DIR/report.html, one page that needs no network, and its figures.

    DIR is the folder that gemsim sweep wrote. Nothing is simulated but one replication that is drawn over time.
    """
    from gemsim.study.report.page import report_of
    from gemsim.study.report.write import FIGURES, write_report

    made = report_of(folder)
    page = write_report(made, out or folder)
    about = f"{made.answer.about}: " if made.answer.about else ""
    click.echo(f"{page}: the page; {page.parent / FIGURES}: {len(made.figures)} figures, each as SVG and PNG.")
    click.echo(f"{about}{made.answer.sentence}")
