"""The command `gemsim`: finds the command asked for, and turns every error into a line and an exit code.

0 done, 1 a fault of gemsim or a published check that fails, 2 something to put right in what was asked, 3 some design
points failed, 130 stopped by Ctrl-C, 143 stopped by SIGTERM.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemsim import __version__
from gemsim.cli.stops import Stops
from gemsim.errors import GemsimError, PointFailed, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "check": "Print a study fully resolved, with the source of every value; run nothing.",
    "recommend": "Find the design to run: screened by the closed form, confirmed by the engine.",
    "sweep": "Simulate every design point of a study and say which protects best.",
    "report": "Write a sweep as one HTML page with figures.",
    "merge": "Join the runs of one study that were made in several folders.",
    "sensitivity": "Say which uncertain inputs decide the answer for one design.",
    "explain": "Explain one design point: where its time goes and why, to check by hand.",
    "timeline": "Tell what happened in one run, event by event, as text, tables and a picture.",
    "systems": "List the named systems, or show one with the source of every constant.",
    "validate": "Set published outcomes beside ours; exit 1 if a check fails.",
    "calibrate": "Measure what coding costs on this machine, as a profile.",
    "bench": "Time the engine on this machine, beside the goals.",
    "backtest": "Fit the first part of a run's log, predict the rest, and judge.",
    "schema": "Print the JSON Schema of a study, for editors.",
    "completion": "Print what makes a shell complete gemsim's commands.",
    "losses": "How likely a run loses everything, down to 1e-9, beside the closed form.",
    "fit": "Fit failure laws to a log, and check that they make logs like it.",
}
DONE, FAULT, ASKED_WRONG, POINTS_FAILED = 0, 1, 2, 3
CHECK_FAILED = FAULT
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EIO}  # with no name of a file: stdout


class LazyGroup(click.Group):
    """Knows its commands by name alone, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one command that is asked for."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"gemsim.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands, again without loading them; options as any command."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=what) for name, what in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer an unknown name with the nearest known one."""
        known = (
            ctx.resilient_parsing or not args or args[0] in self.list_commands(ctx)
        )  # a shell that completes is told nothing
        if not known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"no such command ({args[0]}); the commands are {', '.join(COMMANDS)}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


EXAMPLES = """\b
Examples:
  gemsim sweep studies/widths.yaml --quick   # the main job: which stripe width, in seconds
  gemsim check studies/widths.yaml           # every input with its source; runs nothing
  gemsim systems gemini                      # a published system that a study may name
How to write a study: docs/study.md.
"""


@click.command(
    cls=LazyGroup, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="gemsim", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """How to protect the state of a large training job: simulation with the closed form beside it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `--debug` is understood anywhere in it."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    _open_closed_streams()
    with Stops(to_the_end=arguments is None) as stops, closing_stderr():
        try:
            asked = [word for word in words if word != "--debug"]
            result: Any = cli.main(asked, prog_name="gemsim", standalone_mode=False)
            sys.stdout.flush()
        except BrokenPipeError:
            reader_gone()
            return DONE
        except BaseException as error:
            if debug and not isinstance(error, click.ClickException):
                traceback.print_exc()
            return _answer(error, debug=debug, stopped=stops.code)
    return result if isinstance(result, int) else DONE


def _answer(error: BaseException, *, debug: bool, stopped: int) -> int:
    """Say what went wrong, in lines a user can act on, and return the exit code."""
    if isinstance(error, click.Abort | KeyboardInterrupt):
        stop = error.__cause__ if isinstance(error, click.Abort) else error
        _say(f"gemsim: {stop or 'stopped'}" if str(stop or "") else "gemsim: stopped")
        return stopped
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(file=shown)
        _say(printable(shown.getvalue()).removesuffix("\n"))
        return error.exit_code
    if isinstance(error, GemsimError):
        _say(str(error))
        return POINTS_FAILED if isinstance(error, PointFailed) else ASKED_WRONG
    if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
        reader_gone()
        _say(f"gemsim: what is printed cannot be written ({error.strerror}); free its disk or send it elsewhere")
        return ASKED_WRONG
    if not isinstance(error, Exception):
        raise error
    hint = "" if debug else "; run again with --debug for the traceback"
    what = printable(f"{type(error).__name__}: {error}")
    _say(f"gemsim: internal error at {_place(error)}: {what}{hint}")
    return FAULT


def _say(text: str) -> None:
    """On stderr, if anyone reads it: the exit code says it all the same."""
    with suppress(OSError):
        click.echo(text, err=True)


def _place(error: Exception) -> str:
    """File and line of the innermost frame of gemsim's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}gemsim{os.sep}" in frame.filename] or frames
    frame = ours[-1]
    parts = Path(frame.filename).parts
    start = len(parts) - 1 - parts[::-1].index("gemsim") if "gemsim" in parts else -1
    return f"{'/'.join(parts[start:])}:{frame.lineno}"


def reader_gone() -> None:
    """The reader of our output (`| head`) has left: say nothing, and keep Python from flushing into it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def closing_stderr() -> Iterator[None]:
    """What stderr could not take is dropped at the end: Python would try once more at exit, and exit with 120."""
    try:
        yield
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _open_closed_streams() -> None:
    """Where a caller has closed stdout or stderr (`>&-`), nothing else may get its descriptor: a file of ours would."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
