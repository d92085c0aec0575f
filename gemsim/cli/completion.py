"""`gemsim completion`: the lines that make a shell complete gemsim's commands, options, files and systems."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
ASKED_BY = "_GEMSIM_COMPLETE"  # the variable by which the shell then asks; click answers before any command is loaded

EXAMPLES = """\b
Examples:
  gemsim completion bash
  gemsim completion zsh
  gemsim completion fish
"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete gemsim's commands, options, files and the names of systems.

    \b
    To have it in every new shell:
      bash  echo 'source <(gemsim completion bash)' >> ~/.bashrc
      zsh   echo 'source <(gemsim completion zsh)' >> ~/.zshrc
      fish  gemsim completion fish > ~/.config/fish/completions/gemsim.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "gemsim", ASKED_BY).source())
