"""A report to files: one page that needs no other, and each figure as SVG and PNG."""

from __future__ import annotations

import re
from pathlib import Path

from gemsim.results.figures.looks import GRID, INK, PAPER, SERIES, SOFT
from gemsim.results.figures.timeline import COLOURS
from gemsim.results.folder import write_bytes, write_text
from gemsim.results.timeline import WORK
from gemsim.study.report import PAGE
from gemsim.study.report.content import Report

SMALLEST, LARGEST = 1.1, 1.5  # CSS pixels for a point of a figure: its 9 points stay between 10 and 14 pixels
FIGURES = "figures"
_VARIABLES = {INK: "ink", SOFT: "soft", GRID: "grid", PAPER: "paper"} | {
    colour: f"series-{place}" for place, colour in enumerate(SERIES)
}
_VARIABLES |= {
    COLOURS[name]: name for name in (WORK, "waiting", "other")
}  # those that the dark would swallow, or glare


def write_report(report: Report, folder: Path) -> Path:
    """Write `report` into `folder` and return the path of its page. ResultsError where it cannot be written."""
    for figure in report.figures:
        write_bytes(folder / FIGURES / f"{figure.name}.svg", figure.svg)
        write_bytes(folder / FIGURES / f"{figure.name}.png", figure.png)
    write_text(folder / PAGE, html_of(report))
    return folder / PAGE


def html_of(report: Report) -> str:
    """The page as text; everything that stands in a study is text in it, never markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("gemsim.study.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    pictures = {figure.name: Markup(inline(figure.svg.decode(), figure.name)) for figure in report.figures}
    style = Markup(loader.get_source(environment, "report.css")[0])
    page = environment.get_template("report.html").render(report=report, pictures=pictures, style=style)
    # A list of runs that was tampered with may hold half a character, which no file in UTF-8 can.
    return re.sub(r"\n\s*\n+", "\n", page).encode("utf-8", "replace").decode()


def inline(svg: str, name: str) -> str:
    """An SVG file as a part of a page: no preamble, its ids its own, its size that of its box, colours of the page."""
    start = svg.index("<svg")
    text = re.sub(r"<metadata>.*?</metadata>", "", svg[start:], flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)  # would hold for the whole page, which has it
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"font(-family)?: ([\d.]+px )?'[^;\"]*", lambda found: _font(found[2]), text)
    opening = text[: text.index(">") + 1]
    wide = float(re.findall(r'\swidth="([\d.]+)', opening)[0])
    box = f'style="min-width: {wide * SMALLEST:.0f}px; max-width: {wide * LARGEST:.0f}px"'
    kept = re.sub(r'\s(width|height)="[^"]*"', "", opening)[:-1]
    words = f'{kept} {box} aria-labelledby="{name}-seen" role="img" focusable="false">'
    text = words + text[len(opening) :]
    for colour, variable in _VARIABLES.items():
        text = re.sub(re.escape(colour), f"var(--{variable})", text, flags=re.IGNORECASE)
    return text


def _font(size: str | None) -> str:
    """The size of a text without its family: a page has a typeface of its own."""
    return f"font-size: {size.strip()}" if size else "font-family: inherit"
