"""`gemsim sensitivity`: which uncertain inputs decide the answer for one design."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemsim.cli.example import study_argument
from gemsim.cli.main import DONE
from gemsim.cli.options import seed_option

if TYPE_CHECKING:
    from gemsim.spec.loading import LoadedStudy
    from gemsim.spec.uncertain import Law
    from gemsim.study.sensitivity.answers import Answer
    from gemsim.study.sensitivity.run import Sensitivity

EXAMPLES = """\b
Examples:
  gemsim sensitivity studies/uncertain.yaml
  gemsim sensitivity studies/uncertain.yaml --quick --out out/sensitivity
  gemsim sensitivity studies/widths.yaml --vary "20 %" k=32 m=1 mapping=interleaved restart=in_place lands=used
  gemsim sensitivity studies/uncertain.yaml --output wasted_s_per_failure --json
"""
QUICK_ROWS, QUICK_WALKS = 64, 8
ENGINE_ROWS, ENGINE_WALKS = 16, 4


@click.command(epilog=EXAMPLES)
@study_argument
@click.argument("choice", nargs=-1, metavar="[PATH=VALUE]...")
@click.option("--point", type=int, metavar="N", help="The N-th design point (default: the study as it stands).")
@click.option("--output", default="ettr", show_default=True, metavar="COLUMN", help="The number that is explained.")
@click.option("--samples", type=click.IntRange(2, 2**16), help="Rows of the Sobol' indices (default: 256).")
@click.option("--vary", metavar="SHARE", help="Vary all inputs marked assumption by this share, e.g. '20 %'.")
@click.option("--engine", is_flag=True, help="Simulate, on common failures, in place of the closed form (slow).")
@click.option("--replications", type=click.IntRange(2), default=8, show_default=True, help="Of each run of --engine.")
@click.option("--quick", is_flag=True, help="The study's small version, and fewer runs.")
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder for sensitivity.json and tornado.svg.")
@click.option("--json", "as_json", is_flag=True, help="Print an object instead of the page.")
def sensitivity(
    study: Path, choice: tuple[str, ...], point: int | None, output: str, samples: int | None, vary: str | None,
    engine: bool, replications: int, quick: bool, seed: int | None, out: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Rank the uncertain inputs of STUDY by what they do to one output of one design.

    Screens all inputs (Morris), shares the variance out among those that matter (Sobol'), and sets each alone to its
    5 % and 95 % quantile (a tornado). Inputs are uncertain where the study writes a law, such as beta(14, 19), in the
    place of a value or under uncertain:. PATH=VALUE chooses among the design points, as for gemsim explain.
    """
    from gemsim.spec.loading import load_study
    from gemsim.study.choosing import choose_point
    from gemsim.study.labels import AS_IT_STANDS, label
    from gemsim.study.sensitivity.run import analyse

    loaded = load_study(study, quick=quick)
    name, base = AS_IT_STANDS, dict[str, Any]()
    if choice or point is not None:
        design = choose_point(loaded, number=point, words=choice)
        name, base = label(design), dict(design.assignments)
    laws = _laws(loaded, base, vary)
    seed = loaded.spec.run.seed if seed is None else seed
    answer = _answer(loaded, output, engine, seed, replications)
    rows, walks = (ENGINE_ROWS, ENGINE_WALKS) if engine else (QUICK_ROWS, QUICK_WALKS) if quick else (None, None)
    sizes = {key: given for key, given in (("rows", samples or rows), ("walks", walks)) if given is not None}
    found = analyse(answer, laws, base=base, seed=seed, report=_say, **sizes)
    _show(found, f"{loaded.spec.title} ({name})", as_json=as_json, out=out)
    return DONE


def _laws(loaded: LoadedStudy, base: Mapping[str, Any], vary: str | None) -> dict[str, Law]:
    """The uncertain inputs of one design. Raises ValueRefused where there are none."""
    from gemsim import units
    from gemsim.errors import UnitError, ValueRefused, show
    from gemsim.study.sensitivity.vary import varied
    from gemsim.study.uncertain import undecided

    laws = {path: loaded.spec.uncertain[path] for path in undecided(loaded, base)}
    if vary is not None:
        try:
            share = units.parse(vary, "share")
        except UnitError as error:
            raise ValueRefused(f"--vary: {error}") from error
        if not 0.0 < share < 1.0:
            raise ValueRefused(f"--vary: not between 0 and 100 % ({show(vary)})", "a share such as '20 %'")
        more, left = varied(loaded, share)
        laws |= {path: law for path, law in more.items() if path not in base}
        _say(f"varied by {units.brief(share, 'share')}: {', '.join(more) or 'nothing'}")
        for line in left:
            _say(f"left out: {line}")
    if not laws:
        allowed = "laws in the place of values, such as contained: beta(14, 19), pause: 5 s .. 30 s"
        todo = "write some, or take --vary 20% for all inputs marked assumption"
        raise ValueRefused(f"{loaded.path}: no input of this design is uncertain", allowed, todo)
    return laws


def _answer(loaded: LoadedStudy, output: str, engine: bool, seed: int, replications: int) -> Answer:
    from gemsim.study.plan import MODEL
    from gemsim.study.sensitivity.answers import ClosedForm, Replications

    if engine:
        return Replications(loaded, MODEL, output, seed=seed, replications=replications)
    return ClosedForm(loaded, MODEL, output)


def _show(found: Sensitivity, title: str, *, as_json: bool, out: Path | None) -> None:
    from gemsim.results.figures.tornado import tornado_figure
    from gemsim.results.folder import json_text, locked, write_bytes, write_text
    from gemsim.study.sensitivity.page import as_object, bars, render

    text = json_text({"title": title, **as_object(found)})
    if out is not None:
        picture = tornado_figure(bars(found), title=title, output=found.output, nominal=found.nominal)
        with locked(out):
            write_text(out / "sensitivity.json", text)
            write_bytes(out / "tornado.svg", picture)
    width = max(120, min(shutil.get_terminal_size((120, 24)).columns, 140))
    click.echo(text if as_json else render(found, title=title, width=width, styled=sys.stdout.isatty()), nl=False)
    if out is not None and not as_json:
        click.echo(f"written: {out / 'sensitivity.json'}, {out / 'tornado.svg'}")


def _say(line: str) -> None:
    click.echo(line, err=True)
