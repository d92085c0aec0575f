"""`gemsim validate`: what papers published beside what gemsim computes."""

from __future__ import annotations

import json
import shutil
import sys

import click

from gemsim.cli.main import CHECK_FAILED, DONE

EXAMPLES = """\b
Examples:
  gemsim validate --quick
  gemsim validate --only G15   # GEMINI's figure 15 alone
  gemsim validate --quick --json
"""


@click.command(epilog=EXAMPLES)
@click.option("--quick", is_flag=True, help="Fewer simulated failures, in seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects instead of the table.")
@click.option("--only", default="", metavar="PREFIX", help="Only the checks whose id begins so, e.g. G15.")
def validate(quick: bool, as_json: bool, only: str) -> int:
    """Set published outcomes beside ours, with the closed form and the engine; exit 1 if a check fails.

    Published numbers lie in calibration/published/papers, each with its source; nothing that computes ours reads them.
    """
    from gemsim.study.validate.gem import gem_report
    from gemsim.study.validate.gem_text import render_gem
    from gemsim.study.validate.run import run
    from gemsim.study.validate.table import headline, objects, render

    checks = run(quick=quick, only=only)
    if as_json:
        click.echo(json.dumps(objects(checks), indent=1, ensure_ascii=False))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        click.echo(render(checks, quick=quick, width=width, styled=sys.stdout.isatty()), nl=False)
        if any(check.id.startswith("GEM.") for check in checks):
            click.echo("\n".join([*render_gem(gem_report(quick=quick)), "", *headline(checks)]))
    return CHECK_FAILED if any(check.verdict == "fail" for check in checks) else DONE
