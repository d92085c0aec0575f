"""The study of a command: a file, or by name one that comes with gemsim, so that a new install has some to run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]


def study_argument(command: Command) -> Command:
    """Gives a command the argument STUDY and, in its place, `--example NAME`; it gets the path of either."""

    @functools.wraps(command)
    def called(*, study: Path | None, example: str | None, **others: Any) -> Any:
        if example is not None and study is not None:
            others["choice"] = (_choice(study, others), *others.get("choice", ()))
        return command(study=study if example is None else path_of(example), **others)

    option = click.option(
        "--example", metavar="NAME", is_eager=True, help="A shipped study in place of STUDY: widths, gem, …"
    )
    argument = click.argument(
        "study", type=click.Path(path_type=Path), required=False, metavar="STUDY", callback=_one_of_them
    )
    return option(argument(called))


def _one_of_them(context: click.Context, argument: click.Parameter, study: Path | None) -> Path | None:
    """Refused by the parser, as any argument that is missing; --example is read before."""
    if study is None and context.params.get("example") is None and not context.resilient_parsing:
        raise click.MissingParameter("A file, or --example NAME.", context, argument, "'STUDY'", "argument")
    return study


def _choice(study: Path, others: dict[str, Any]) -> str:
    """What stands where STUDY would is the first of the choices, for commands that have any."""
    if "choice" in others and "=" in str(study):
        return str(study)
    raise click.UsageError(f"STUDY ({study}) and --example: give one of them")


def path_of(name: str) -> Path:
    """The file of a shipped study. Raises ValueRefused where there is none of that name."""
    from gemsim.errors import ValueRefused, show

    known = names()
    if name in known:
        return known[name]
    from gemsim.spec.types import closest

    what, allowed = f"--example: no such study ({show(name)})", f"one of {', '.join(known)}"
    raise ValueRefused(what, allowed, closest(name, known))


def names() -> dict[str, Path]:
    """The shipped studies by name: widths, systems/gemini, …"""
    from gemsim import resources

    root = resources.studies()
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.yaml"))}
