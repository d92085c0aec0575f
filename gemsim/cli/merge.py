"""`gemsim merge`: join runs of one study that were made on several hosts."""

from __future__ import annotations

from pathlib import Path

import click

EXAMPLES = """\b
Examples:
  gemsim merge out/host1 out/host2 --out out/widths
  gemsim merge out/shard-* --out out/widths
"""


@click.command(epilog=EXAMPLES)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of the joined results.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but errors.")
def merge(folders: tuple[Path, ...], out: Path, quiet: bool) -> int:
    """Join the runs of one study in the folders DIR... into one, and say what all of them show together.

    They must share the study and the seed; the number of replications may differ. Nothing is simulated and no DIR is
    changed. Exit code 3 if a design has failed or lacks replications.
    """
    from gemsim.cli.sweep import show
    from gemsim.study.merge import merge as join
    from gemsim.study.progress import reporter

    with reporter("merge", quiet=quiet) as report:
        result = join(folders, out, report=report)
    return show(result)
