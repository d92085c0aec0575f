"""What a report says and shows: the words of the terminal, everything that is missing, text that stays text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gemsim.cli.main import main
from gemsim.results.figures import looks
from gemsim.study.conclude import FAILED
from gemsim.study.report import designs
from gemsim.study.report.content import Figure, Left, Report
from gemsim.study.report.course import course
from gemsim.study.report.page import report_of
from gemsim.study.report.view import view_of
from gemsim.study.report.write import html_of, write_report
from gemsim.study.terminal import render
from tests.report.sweeps import TITLE, WIDTHS, study, swept

EVERY = {"ettr", "lost", "front", "differences", "heat", "timeline", "roofline"}
VOID = {"meta", "link", "br"}


@pytest.fixture(scope="module")
def widths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("widths")
    swept(folder, study())
    return folder


@pytest.fixture(scope="module")
def report(widths: Path) -> Report:
    return report_of(widths)


@pytest.fixture(scope="module")
def page(report: Report, widths: Path) -> str:
    return write_report(report, widths).read_text(encoding="utf-8")


def names(figures: Sequence[Figure]) -> set[str]:
    return {figure.name for figure in figures}


def left(report: Report) -> str:
    return "; ".join(f"{one.title}: {one.why}" for one in report.left)


def test_the_first_screen_says_what_the_terminal_says(widths: Path, report: Report) -> None:
    result = swept(widths, study())
    page = " ".join(render(result, width=4000).split())
    assert report.title == TITLE
    assert report.answer.sentence in page
    assert report.answer.sentence.startswith("Best: m=0: ETTR 0.99")
    assert all(line in page for told in report.told for line in told.lines)
    facts = {fact.label: f"{fact.value} {fact.beside}" for fact in report.answer.facts}
    assert re.search(r"0\.99\d\d 95 %: 0\.\d{4} to ", facts["ETTR, simulated"])
    assert re.search(r"0\.99\d\d (exact|first order|bound)", facts["Closed form"])
    assert facts["Costs"].startswith("modelled not measured")
    assert facts["Replications"].startswith("3 ")
    assert "few replications" in report.answer.cautions[0]


def test_every_figure_is_in_the_page_and_in_a_file(widths: Path, report: Report, page: str) -> None:
    assert names(report.figures) == EVERY
    for figure in report.figures:
        assert (widths / "figures" / f"{figure.name}.svg").read_bytes().startswith(b"<?xml")
        assert (widths / "figures" / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
        assert f'aria-labelledby="{figure.name}-seen"' in page
    assert page.count("<svg") == len(report.figures)


def test_the_same_folder_gives_the_same_bytes(widths: Path, page: str, tmp_path: Path) -> None:
    again = write_report(report_of(widths), tmp_path)
    assert again.read_text(encoding="utf-8") == page
    for picture in (widths / "figures").iterdir():
        assert picture.read_bytes() == (tmp_path / "figures" / picture.name).read_bytes()


def test_the_page_asks_for_nothing(page: str) -> None:
    assert "default-src 'none'" in page
    found = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', page)
    assert [address for address in found if not address.startswith(("#", "data:"))] == []
    assert "<script" not in page
    assert "@import" not in page


class _Nesting(HTMLParser):
    """Which tags are open, and the ids seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_its_headings_are_said(page: str) -> None:
    parser = _Nesting()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert '<html lang="en">' in page
    assert page.count("<h1>") == 1
    assert not re.findall(r"<th(?![^>]*scope=)[ >]", page)
    wanted = re.findall(r'(?:aria-labelledby="|xlink:href="#)([^"]+)"', page)
    assert set(wanted) <= set(parser.ids)


def test_what_stands_in_a_study_is_text(tmp_path: Path) -> None:
    bad = '<script>alert(1)</script> & "q" $x$'
    compare = f"compare: {{{json.dumps(bad)}: {{restart: holder}}, plain: {{restart: in_process}}}}\n{WIDTHS}"
    swept(tmp_path, study(compare, title=json.dumps(bad), replications=1))
    page = html_of(report_of(tmp_path))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;q&#34; $x$" in page


def test_one_design_leaves_out_what_compares(tmp_path: Path) -> None:
    swept(tmp_path, study(""))
    report = report_of(tmp_path)
    assert report.answer.sentence.startswith("One design: ETTR")
    assert names(report.figures) == {"lost", "timeline", "roofline"}
    assert "How far the designs are apart: one design only" in left(report)
    assert "Not drawn" in html_of(report)


def test_one_replication_has_no_interval(tmp_path: Path) -> None:
    swept(tmp_path, study(replications=1))
    report = report_of(tmp_path)
    assert names(report.figures) == EVERY
    assert report.answer.facts[0].beside == "one replication: no interval"
    seen = {figure.name: figure.seen for figure in report.figures}
    assert "no intervals" in seen["ettr"]
    assert "gives no interval" in seen["differences"]
    assert not re.search(r"\bnan\b", re.sub(r"<svg.*?</svg>", "", html_of(report), flags=re.DOTALL))


def test_a_failed_point_is_named_and_has_no_numbers(tmp_path: Path) -> None:
    result = swept(tmp_path, study())
    (tmp_path / FAILED).parent.mkdir(exist_ok=True)
    (tmp_path / FAILED).write_text(json.dumps({result.points[1].id: "failed; in replication 0: ValueError: <b>boom"}))
    report = report_of(tmp_path)
    assert any("k=2 protection.stripe.m=1: failed; in replication 0" in line for line in report.missing)
    assert report.designs is not None
    (row,) = [row for part in report.designs.parts for row in part.rows if row[0] == "k=2 m=1"]
    assert row[1:3] == ["failed", ""]
    assert "<b>" not in html_of(report)


def test_nothing_simulated_is_said(tmp_path: Path) -> None:
    result = swept(tmp_path, study("", replications=1))
    (tmp_path / FAILED).parent.mkdir(exist_ok=True)
    (tmp_path / FAILED).write_text(json.dumps({result.points[0].id: "failed: it died"}))
    report = report_of(tmp_path)
    assert report.answer.sentence == "Nothing to compare: no design could be simulated."
    assert names(report.figures) <= {"roofline"}
    assert any("it died" in line for line in report.missing)
    html_of(report)


def test_a_sweep_that_was_stopped_says_how_far_it_came(tmp_path: Path) -> None:
    swept(tmp_path, study(WIDTHS, replications=4))
    part = max((tmp_path / "rows").glob("*.parquet"), key=lambda path: pq.read_table(path)["replication"][-1].as_py())
    table = pq.read_table(part)
    pq.write_table(table.slice(0, table.num_rows - 3), part)  # the last replications of some designs are gone
    report = report_of(tmp_path)
    assert any("4 replications" in line or "without numbers" in line for line in report.missing)
    assert "<svg" in html_of(report)


def test_infeasible_points_carry_their_reason(tmp_path: Path) -> None:
    swept(tmp_path, study("sweep: {grid: {protection.stripe.k: [2, 4, 5000]}}", replications=2))
    report = report_of(tmp_path)
    assert any("5000 + 1 members are more than" in line for line in report.missing)
    assert report.designs is not None
    assert [row[1] for part in report.designs.parts for row in part.rows if "5000" in row[0]] == ["infeasible"]


def test_rows_that_this_version_would_not_make_are_not_drawn_over_time(widths: Path) -> None:
    view = view_of(widths)
    row = view.shown
    assert row is not None
    view.runs[row["point"]]["productive_s"] += 1.0
    found = course(view)
    assert isinstance(found, Left)
    assert "is not the one of the sweep" in found.why


def test_a_requirement_that_none_meets_is_said(tmp_path: Path) -> None:
    swept(tmp_path, study(WIDTHS + '\nrequire: {ettr: ">= 99.99999 %"}', replications=2))
    report = report_of(tmp_path)
    assert report.answer.sentence.startswith("No best: none of 5 simulated designs meets the requirement on ettr")
    assert "no design meets the requirement" in left(report)
    html_of(report)


OTHERS = [
    ("grid: {protection.checkpoint.blocked: [1 s, 2 s, 8 s], workload.step: [4 s, 8 s]}", "ETTR over blocked"),
    ("grid: {protection.stripe.k: [2, 4, 7], protection.stripe.cadence: [1, 4, 16]}", "ETTR over k and cadence"),
    ("zip: {cluster.gpus: [64, 128, 256], workload.parallel.data: [64, 128, 256]}", "ETTR over gpus"),
    ("grid: {cluster.spare_nodes: [0, 1, 2]}", "How far the designs are apart"),
    ("grid: {protection.stripe.copy: [in_place, snapshot]}", "How far the designs are apart"),
]


@pytest.mark.parametrize(("axes", "title"), OTHERS)
def test_other_axes_are_drawn_too(axes: str, title: str, tmp_path: Path) -> None:
    swept(tmp_path, study(f"sweep: {{{axes}}}", replications=2))
    report = report_of(tmp_path)
    assert title in [figure.title for figure in report.figures]
    html_of(report)


def test_a_large_sweep_shows_the_designs_that_decide(widths: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of(widths)
    monkeypatch.setattr(designs, "FULL", 5)
    (part,) = designs.designs_of(view).parts
    assert [row[0] for row in part.rows] == ["m=0 (best)", "k=2 m=1 (largest ETTR)", "k=4 m=2 (smallest ETTR)"]
    assert "All 6 points are in summary.csv" in designs.designs_of(view).notes[0]


def test_the_command_says_where_the_page_is_and_the_answer(widths: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(widths)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith(f"{widths}/report.html: the page; ")
    assert printed[1].startswith("Best: m=0: ETTR 0.99")
    assert len(printed) == 2


def test_a_folder_without_a_sweep_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "holds no sweep" in error
    assert error.count("\n") == 1


def test_the_colours_are_those_of_the_palette_for_the_colour_blind() -> None:
    import seaborn as sns

    palette = sns.color_palette("colorblind").as_hex()
    assert set(looks.SERIES) <= set(palette)
    assert len(set(zip(looks.SERIES, looks.MARKERS, strict=True))) == looks.MOST
    assert len(set(looks.MARKERS)) == looks.MOST  # colour is never the only sign


def test_drawn_jobs_are_counted_over_and_none_is_judged_alone(tmp_path: Path) -> None:
    drawn = "sobol: {number: 4, seed: 1, over: {failures.scale: {from: 1, to: 8}}}"
    result = swept(tmp_path, study(f"sweep: {{grid: {{protection.stripe.m: [0, 1]}}, {drawn}}}"))
    report = report_of(tmp_path)
    page = " ".join(render(result, width=4000).split())
    assert re.match(r"m=\d is best in \d of 4 drawn jobs", report.answer.sentence)
    assert report.answer.about == ""
    assert all(" ".join(line.split()) in page for line in report.answer.why)
    assert report.answer.groups is not None
    assert report.answer.groups.caption == "Designs, over the jobs in which they were simulated"
    assert not report.told
