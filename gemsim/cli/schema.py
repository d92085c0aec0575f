"""`gemsim schema`: the JSON Schema of a study, with which an editor completes keys and marks what is wrong."""

from __future__ import annotations

from pathlib import Path

import click

EXAMPLES = """\b
Examples:
  gemsim schema
  gemsim schema --out gemsim.schema.json
"""


@click.command(epilog=EXAMPLES)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it to a file.")
def schema(out: Path | None) -> None:
    """Print the JSON Schema (draft 2020-12) of a study.

    Write the line `# yaml-language-server: $schema=gemsim.schema.json` at the head of a study, and an editor with the
    YAML language server shows the meaning of each key and marks what is wrong. `gemsim check` says more.
    """
    from gemsim.results.folder import json_text, write_text
    from gemsim.spec.schema import study_schema

    text = json_text(study_schema())
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text)
