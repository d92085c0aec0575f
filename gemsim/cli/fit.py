"""`gemsim fit`: what a failure log says, and a failures section that makes logs like it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemsim.cli.main import DONE

if TYPE_CHECKING:
    from gemsim.failures.logs.clean import Log
    from gemsim.failures.logs.meta import Meta

EXAMPLES = """\b
Examples:
  gemsim fit outages.csv --nodes 400 --window "348 d"
  gemsim fit outages.csv --nodes 400 --window "348 d" --merge "1 h" --simultaneous "10 min" --out out/fit
  gemsim fit events.csv --where system=18   # nodes and window from a meta.json beside the log
  gemsim fit log.csv --nodes 64 --window "2024-03-01T00:00Z to 2024-06-01T00:00Z" --columns start=begin,node=host
  gemsim fit lost.csv --where trace=p3 --exposure add_remove.csv   # spot nodes that come and go
"""
LARGEST_NODES = 10**7


def _nodes(_ctx: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """A whole number of nodes; anything else is one line."""
    from gemsim.errors import ValueRefused, show

    if text is None:
        return None
    number = int(text) if text.strip().isdecimal() else 0
    if not 1 <= number <= LARGEST_NODES:
        raise ValueRefused(
            f"--nodes: not a number of nodes ({show(text)})", f"a whole number from 1 to {LARGEST_NODES:,}",
            "count all nodes observed, the healthy ones too",
        )  # fmt: skip
    return number


@click.command(epilog=EXAMPLES)
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--nodes", "-n", callback=_nodes, metavar="INTEGER", help="Nodes observed, healthy ones included.")
@click.option(
    "--window", help="Time observed: '348 d', or 'FROM to TO' as times of the log (FROM may be negative) or ISO 8601."
)
@click.option(
    "--columns", multiple=True, metavar="OURS=COLUMN", help="Names of the log's columns, e.g. time_h=T,node=host."
)
@click.option(
    "--where", multiple=True, metavar="COLUMN=VALUE", help="Only these rows (repeatable; VALUE,VALUE; != leaves out)."
)
@click.option(
    "--by", default="component", show_default=True, metavar="COLUMN", help="Column whose values are the classes."
)
@click.option("--merge", metavar="TIME", help="Repeats on one node within this count once (default: off).")
@click.option("--simultaneous", metavar="TIME", help="Starts within this count once in row 3 (default: exactly equal).")
@click.option(
    "--exposure", type=click.Path(path_type=Path), help="CSV of nodes that join and leave (time_h, node, event)."
)
@click.option(
    "--gpus-per-node", type=click.IntRange(1, 1024), help="For a log without node names (default: meta.json, or 8)."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for failures.yaml, fit.json, fit.svg, fit.png.")
@click.option("--json", "as_json", is_flag=True, help="Print an object instead of the tables.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the round trip.")
@click.option(
    "--replications", type=click.IntRange(100, 10_000), default=200, show_default=True, help="Of the round trip."
)
def fit(
    log: Path, nodes: int | None, window: str | None, columns: tuple[str, ...], where: tuple[str, ...], by: str,
    merge: str | None, simultaneous: str | None, exposure: Path | None, gpus_per_node: int | None, out: Path | None,
    as_json: bool, seed: int, replications: int,
) -> int:  # fmt: skip
    """Fit failure laws to LOG, a CSV file with one line per failure.

    Columns: time_h (start, hours) or start (ISO 8601), node, component, downtime_h; foreign ones are ignored. Prints
    the system's statistics, each class, and whether logs simulated from the fitted section look like this one. The
    number of nodes must be given, for healthy ones are in no log; it and the window may stand in a meta.json beside
    LOG.
    """
    from gemsim.failures.logs.fit import analyse
    from gemsim.failures.logs.report import as_object, render

    merge_h = _hours("--merge", merge)
    cleaned, meta = _load(log, nodes, window, columns, where, by, exposure, merge_h)
    analysis = analyse(
        cleaned, merge_h=merge_h, simultaneous_h=_hours("--simultaneous", simultaneous),
        replications=replications, seed=seed,
    )  # fmt: skip
    shown = as_object(analysis)
    text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
    written = []
    if out is not None:
        from gemsim.failures.logs.section import section

        gpus = cleaned.nodes * (gpus_per_node or meta.gpus_per_node or 8)
        yaml = section(analysis, source=meta.name or log.name, gpus=gpus)
        if not cleaned.named and not (gpus_per_node or meta.gpus_per_node):
            yaml = yaml.replace(f"gpus: {gpus}", f"gpus: {gpus}  # assumption: 8 GPUs per node", 1)
        written = _write(out, yaml, text, analysis)
    click.echo(text if as_json else render(analysis), nl=False)
    if written and not as_json:
        click.echo("\nwritten: " + ", ".join(str(path) for path in written))
    return DONE


def _load(
    path: Path, nodes: int | None, window: str | None, columns: tuple[str, ...], where: tuple[str, ...], by: str,
    exposure: Path | None, merge_h: float,
) -> tuple[Log, Meta]:  # fmt: skip
    """The cleaned log and what lies beside it; what the command line says comes first."""
    from gemsim.failures.logs.load import Request, observe
    from gemsim.failures.logs.read import parse_columns, parse_where
    from gemsim.failures.logs.times import window_hours

    begin, length, origin = window_hours(window) if window else (None, None, None)
    found = observe(
        Request(
            path, columns=tuple(parse_columns(columns).items()), where=parse_where(where), by=by, nodes=nodes,
            begin_h=begin, window_h=length, origin=origin, exposure=exposure,
        )
    )  # fmt: skip
    return found.log(merge_h), found.meta


def _hours(option: str, text: str | None) -> float:
    from gemsim import units
    from gemsim.errors import UnitError, ValueRefused

    if text is None:
        return 0.0
    try:
        seconds = units.parse(text, "time")
    except UnitError as error:
        raise ValueRefused(f"{option}: {error}") from error
    if seconds < 0:
        raise ValueRefused(f"{option}: negative ({text})", "a time such as '10 min'")
    return seconds / 3600.0


def _write(folder: Path, yaml: str, text: str, analysis: object) -> list[Path]:
    """Everything is made before anything is written, and each file appears whole."""
    from gemsim.failures.logs.fit import Analysis
    from gemsim.results.figures.fit import fit_figure
    from gemsim.results.folder import locked, write_bytes

    assert isinstance(analysis, Analysis)
    svg, png = fit_figure(analysis)
    files = {"failures.yaml": yaml.encode(), "fit.json": text.encode(), "fit.svg": svg, "fit.png": png}
    with locked(folder):
        for name, content in files.items():
            write_bytes(folder / name, content)
    return [folder / name for name in files]
