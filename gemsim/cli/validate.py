"""`gemsim validate`: what papers published beside what gemsim computes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import click

from gemsim.cli.main import CHECK_FAILED, DONE

EXAMPLES = """\b
Examples:
  gemsim validate --quick
  gemsim validate --only G15   # GEMINI's figure 15 alone
  gemsim validate --quick --json
  gemsim validate --sets gem.csv   # every set of assumptions on GEM, met or not
"""


@click.command(epilog=EXAMPLES)
@click.option("--quick", is_flag=True, help="Fewer simulated failures, in seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects instead of the table.")
@click.option("--only", default="", metavar="PREFIX", help="Only the checks whose id begins so, e.g. G15.")
@click.option("--sets", type=click.Path(path_type=Path), metavar="CSV", help="Write all sets of assumptions on GEM.")
def validate(quick: bool, as_json: bool, only: str, sets: Path | None) -> int:
    """Set published outcomes beside ours, with the closed form and the engine; exit 1 if a check fails.

    Published numbers lie in calibration/published/papers, each with its source; nothing that computes ours reads them.
    """
    from gemsim.results.folder import write_text
    from gemsim.results.table import to_csv
    from gemsim.study.validate.gem import gem_report
    from gemsim.study.validate.gem_text import render_gem
    from gemsim.study.validate.run import run
    from gemsim.study.validate.table import headline, objects, render

    checks = run(quick=quick, only=only)
    shown = not as_json and any(check.id.startswith("GEM.") for check in checks)
    report = gem_report(quick=quick) if shown or sets is not None else []
    if sets is not None:
        write_text(sets, to_csv([row for row in report if row["section"] == "set"]))
    if as_json:
        click.echo(json.dumps(objects(checks), indent=1, ensure_ascii=False))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        click.echo(render(checks, quick=quick, width=width, styled=sys.stdout.isatty()), nl=False)
        if shown:
            click.echo("\n".join([*render_gem(report), "", *headline(checks)]))
    return CHECK_FAILED if any(check.verdict == "fail" for check in checks) else DONE
