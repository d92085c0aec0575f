"""The page in a real browser: nothing to complain of, nothing fetched, no overflow, the answer on the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gemsim.study.report.page import report_of
from gemsim.study.report.write import write_report
from tests.report.browser import Browser, browser, missing, must
from tests.report.sweeps import study, swept

GROUPS = """\
sweep:
  grid: {protection.stripe.k: [2, 4], protection.stripe.m: [0, 1, 2]}
  zip: {restart: [holder, in_process, holder], cluster.storage.write: [100 GB/s, 100 GB/s, 80 GB/s]}
"""  # groups with long names


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    swept(folder, study(GROUPS))
    return write_report(report_of(folder), folder)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if missing() and must():
        pytest.fail(f"{missing()}, and GEMSIM_BROWSER=required")
    if missing():
        pytest.skip(missing())
    with browser() as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overflows_is_fetched_or_complained_of(chromium: Browser, page: Path, width: int, dark: bool) -> None:
    chromium.show(page, width=width, dark=dark)
    assert chromium.ask("document.documentElement.scrollWidth") == width
    wide = (
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1"
        " && !e.closest('.scroll') && !e.closest('pre')).length"
    )
    assert chromium.ask(wide) == 0
    assert chromium.complaints() == []
    elsewhere = [url for url in chromium.asked_for() if not url.startswith(("file://", "data:"))]
    assert elsewhere == []
    assert chromium.ask("performance.getEntriesByType('resource').length") == 0


def test_the_answer_lies_within_the_first_screen(chromium: Browser, page: Path) -> None:
    chromium.show(page)
    assert chromium.ask("document.getElementById('answer').getBoundingClientRect().bottom") <= 800
    assert chromium.ask("document.querySelector('h1').getBoundingClientRect().top") >= 0
    assert "Best: m=0: ETTR 0.99" in chromium.ask("document.querySelector('.sentence').innerText")


def test_the_page_turns_dark_and_its_figures_with_it(chromium: Browser, page: Path) -> None:
    shades = []
    for dark in (False, True):
        chromium.show(page, dark=dark)
        ink = "getComputedStyle(document.querySelector('#figure-ettr svg text')).fill"
        shades.append((chromium.ask("getComputedStyle(document.body).backgroundColor"), chromium.ask(ink)))
    assert [_bright(paper) for paper, _ in shades] == [True, False]
    assert [_bright(ink) for _, ink in shades] == [False, True]


def _bright(colour: str) -> bool:
    """Of "rgb(r, g, b)"."""
    parts = [float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    return sum(parts) > 3 * 128


def test_text_in_figures_can_be_read(chromium: Browser, page: Path) -> None:
    for width in (1280, 400):
        chromium.show(page, width=width)
        heights = chromium.ask(
            "[...document.querySelectorAll('figure svg text')].filter(t => t.textContent.trim()).map("
            "t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)"
        )
        assert min(heights) >= 8.5  # CSS pixels


def test_no_label_of_a_figure_is_cut_off(chromium: Browser, page: Path) -> None:
    chromium.show(page)
    cut = chromium.ask(
        "[...document.querySelectorAll('figure:not(.own) svg')]"
        ".flatMap(s => [...s.querySelectorAll('text')].filter(t => {"
        "const a = t.getBoundingClientRect(), b = s.getBoundingClientRect();"
        "return a.left < b.left - 2 || a.right > b.right + 2 || a.top < b.top - 2 || a.bottom > b.bottom + 2; })"
        ".map(t => t.textContent))"
    )
    assert cut == []


def test_it_prints_on_paper_without_losing_columns(chromium: Browser, page: Path, tmp_path: Path) -> None:
    chromium.show(page)
    chromium.printed(tmp_path / "page.pdf")
    content = (tmp_path / "page.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= content.count(b"/Type /Page\n") <= 20
