"""`gemsim systems`: the named systems, and for one of them its tiers, costs, constants with sources, and unknowns."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gemsim.spec.systems import Constant, System


NARROW = 120  # columns, below which a source stands under what the system does

EXAMPLES = """\b
Examples:
  gemsim systems
  gemsim systems gemini
  gemsim systems gem --json
"""


def _begin_so(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names for a shell to complete, by the files alone: to read them would take too long."""
    from gemsim import resources

    names = sorted(path.stem for path in (resources.published() / "systems").glob("*.yaml"))
    return [name for name in names if name.startswith(incomplete)]


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False, shell_complete=_begin_so)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def systems(name: str | None, as_json: bool) -> None:
    """List the named systems that `protection:` may name, or show all about system NAME."""
    from gemsim.errors import ValueRefused
    from gemsim.spec import catalog
    from gemsim.spec.systems import system

    if name is None:
        found = {one: system(one) for one in catalog.system_names()}
        if as_json:
            click.echo(json.dumps([_plain(one, it) for one, it in found.items()], indent=2, ensure_ascii=False))
        else:
            _list(found)
        return
    try:
        one = system(name)
    except ValueRefused as refused:
        raise click.UsageError(str(refused)) from refused
    if as_json:
        click.echo(json.dumps(_plain(name, one), indent=2, ensure_ascii=False))
    else:
        _show(name, one)


def _plain(name: str, one: System) -> dict[str, Any]:
    """A system as data: its file, its name and what keeps a study from using it."""
    return {"name": name, **one.model_dump(mode="json"), "usable": not one.missing, "missing": list(one.missing)}


def _list(found: dict[str, System]) -> None:
    """A table on a terminal; elsewhere tab-separated lines of name, line and source."""
    if not sys.stdout.isatty():
        for name, one in found.items():
            click.echo(f"{name}\t{one.line}{_lacking(one)}\t{one.source}")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    narrow = console.width < NARROW
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("system", "what it does, and its source") if narrow else ("system", "what it does", "source"):
        table.add_column(heading, overflow="fold")
    for name, one in found.items():
        what = one.line + _lacking(one)
        table.add_row(name, *([f"{what}\n[dim]{escape(one.source)}"] if narrow else [what, escape(one.source)]))
    console.print(table)
    click.echo("\ngemsim systems NAME: tiers, constants with sources, assumptions, unknowns.")


def _lacking(one: System) -> str:
    return f" (not usable yet: the tier {', '.join(one.missing)} is not built)" if one.missing else ""


def _show(name: str, one: System) -> None:
    click.echo(f"{one.title}\n{one.source}\nread: {one.covered}\n")
    _paragraph(one.mechanism)
    _section("Costs", [f"adds: {one.costs.adds}", f"loses: {one.costs.loses}", f"recovers in: {one.costs.recovers_in}"])
    _section("Tiers" + _lacking(one), [_tier(tier) for tier in one.protection])
    _section("Constants", [_constant(it) for it in one.constants if it.read != "assumption"])
    _section("Assumptions", [_constant(it) for it in one.assumptions])
    _section("Most sensitive to", [one.most_sensitive])
    _section("Unknown", one.unknown)
    _section("Not modelled", one.not_modelled)
    click.echo("\nIn a study" + (f" (see studies/{one.study}):" if one.study else ":"))
    for line in (f"protection: {name}", *(f"{key}: {value}" for key, value in one.settings.items())):
        click.echo(f"  {line}")
    if one.settings:
        click.echo("  # the name sets the tiers only; the other lines are what the system assumes beside them")


def _tier(tier: dict[str, Any]) -> str:
    kind, settings = next(iter(tier.items()))
    return f"{kind}: " + "{" + ", ".join(f"{key}: {value}" for key, value in (settings or {}).items()) + "}"


def _constant(it: Constant) -> str:
    value = it.value if not isinstance(it.value, bool) else str(it.value).lower()
    sets = f" -> {', '.join(it.sets)}" if it.sets else ""
    source = f" ({it.source})" if it.source else ""
    return f"{it.name}: {value}{f' {it.unit}' if it.unit else ''}{sets}; {it.read}: {it.at}{source}"


def _section(title: str, lines: Any) -> None:
    if not lines:
        return
    click.echo(f"\n{title}")
    for line in lines:
        _paragraph(str(line), first="  - ", rest="    ")


def _paragraph(text: str, *, first: str = "", rest: str = "") -> None:
    width = max(80, min(shutil.get_terminal_size((120, 24)).columns, 140))
    click.echo(
        textwrap.fill(
            " ".join(text.split()),
            width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
