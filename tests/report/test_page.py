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
from gemsim.study.report import designs, over, standing, words
from gemsim.study.report.answer import answer_of
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


def test_the_first_screen_has_the_price_of_a_study_with_prices(tmp_path: Path) -> None:
    result = swept(tmp_path, study(f"{WIDTHS}\nprices: {{gpu_hour: 2.50 USD}}"))
    facts = {fact.label: f"{fact.value} ({fact.beside})" for fact in report_of(tmp_path).answer.facts}
    shown = re.search(r"(\S+ USD) per useful GPU-hour (\(95 %: .*?; closed form .*?\))", render(result, width=4000))
    assert shown is not None
    assert facts["Useful GPU-hour"] == f"{shown[1]} {shown[2]}"


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
    view = view_of(tmp_path)
    assert title in [draw(view).title for draw in (over.curves, over.heat, standing.apart)]


@pytest.mark.long
@pytest.mark.parametrize(("axes", "title"), OTHERS)
def test_other_axes_have_whole_pages(axes: str, title: str, tmp_path: Path) -> None:
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


SYSTEMS = """\
compare:
  "small: a": {restart: in_process, workload: {step: 8 s}}
  "small: b": {restart: holder, workload: {step: 8 s}}
  "large: a": {restart: in_process, workload: {step: 16 s}}
  "large: b": {restart: holder, workload: {step: 16 s}}
"""


def test_systems_open_with_how_they_rank_on_each_job(tmp_path: Path) -> None:
    result = swept(tmp_path, study(SYSTEMS, replications=2))
    answer = answer_of(view_of(tmp_path))
    ettr = {str(row["variant"]): row["ettr"] for row in result.summary.rows}
    assert answer.groups is not None
    (part,) = answer.groups.parts
    for place, job in enumerate(("small", "large")):
        ranked = sorted((name for name in ettr if name.startswith(job)), key=lambda name: -ettr[name])
        assert [row[1 + 3 * place] for row in part.rows] == [name.partition(": ")[2] for name in ranked]
        assert f"on {job} {ranked[0].partition(': ')[2]} ({ettr[ranked[0]]:.4f}" in answer.sentence
        assert part.rows[0][3 + 3 * place] == "largest"


def test_a_stopped_sweep_is_shown_by_what_every_design_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gemsim.study.report.page.FIGURES", ())
    result = swept(tmp_path, study(replications=4))
    (part,) = (tmp_path / "rows").glob("*.parquet")
    table = pq.read_table(part)
    ids, numbers = table["point"].to_pylist(), table["replication"].to_pylist()
    one = result.points[1].id
    kept = [i for i, (id_, n) in enumerate(zip(ids, numbers, strict=True)) if id_ != one or n in (0, 1, 3)]
    pq.write_table(table.take(kept), part)
    report = report_of(tmp_path)
    assert report.halted.startswith(
        "Not finished: 19 of 20 (95.0 %) replications are here, 4 of 5 designs are complete"
    )
    assert "the first 2 replications" in report.halted
    assert report.halted in html_of(report)
    assert report.designs is not None
    assert {row[-1] for part in report.designs.parts for row in part.rows} == {"2"}
    short = swept(tmp_path / "two", study(replications=2))
    assert [row["ettr"] for row in view_of(tmp_path).rows] == [row["ettr"] for row in short.summary.rows]


def test_one_replication_of_some_designs_alone_compares_nothing_that_lacks(tmp_path: Path) -> None:
    result = swept(tmp_path, study(replications=4))
    (part,) = (tmp_path / "rows").glob("*.parquet")
    table = pq.read_table(part)
    one = result.points[1].id
    pq.write_table(table.filter([id_ != one for id_ in table["point"].to_pylist()]), part)
    view = view_of(tmp_path)
    assert view.far is not None
    assert "Only designs that are complete have numbers below" in view.far.text
    assert {row[-1] for part in designs.designs_of(view).parts for row in part.rows} == {"4", ""}


def test_what_the_requirement_excludes_is_said_where_it_is_drawn(tmp_path: Path) -> None:
    swept(tmp_path, study(WIDTHS + '\nrequire: {memory_overhead: "<= 3 %"}', replications=2))
    view = view_of(tmp_path)
    out = sum("requirement" in row[0] for part in designs.designs_of(view).parts for row in part.rows)
    told, mapped = standing.apart(view), over.heat(view)
    assert out > 0
    assert isinstance(told, Figure)
    assert isinstance(mapped, Figure)
    assert f"({out} more do not meet the requirement)" in told.seen
    assert b"does not meet the requirement" in told.svg
    assert "× does not meet the requirement" in mapped.seen
    tied = next(fact for fact in answer_of(view).facts if fact.label.startswith("Tied"))
    assert f"{out} more do not meet the requirement" in tied.beside


def test_the_closed_form_has_its_kind_in_the_picture(report: Report) -> None:
    (drawn,) = [figure for figure in report.figures if figure.name == "ettr"]
    assert re.search(r"hollow ones the closed form \((exact|first order|bound)", drawn.seen)
    assert re.search(rb"closed form \((exact|first order|bound)", drawn.svg)


def test_no_code_leaves_out_the_roofline_and_work_to_do_has_its_time(tmp_path: Path) -> None:
    text = study("", replications=2).replace("horizon: 300 d", "steps: 400000")
    text = text.replace("  - stripe: {layout: nodes, k: 4, m: 1, cadence: 4, copy: snapshot}\n", "")
    swept(tmp_path, text)
    report = report_of(tmp_path)
    assert names(report.figures) == {"lost", "timeline"}
    assert "Speed of coding: no design holds a code" in left(report)
    assert report.counted.startswith("1 point, 1 distinct design, ")
    assert any(fact.label == "Wall time" and "until the work is done" in fact.beside for fact in report.answer.facts)


def test_all_that_is_lost_is_the_rest_of_the_wall_time(widths: Path) -> None:
    view = view_of(widths)
    assert view.shown is not None
    run = view.runs[view.shown["point"]]
    parts, whole = standing._shares(run), standing._all_lost(run)
    assert sum(one.value for one in parts.values()) == pytest.approx(whole.value, abs=1e-9)
    assert whole.value == pytest.approx(1.0 - view.shown["ettr"], abs=1e-12)
    assert whole.half_width == pytest.approx((view.shown["ettr_hi"] - view.shown["ettr_lo"]) / 2, rel=1e-6)


def test_counts_have_no_powers_of_ten() -> None:
    row = {"failures": 1221.0, "failures_lo": 1180.4, "failures_hi": 1260.1}
    assert words.count(row, "failures") == "1,221\n1,180 to 1,260"
    assert (
        words.count({"failures": 999.7, "failures_lo": 999.7, "failures_hi": 0.25}, "failures")
        == "999.7\n1,000 to 0.25"
    )
