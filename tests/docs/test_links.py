"""Links and anchors of all pages lead somewhere, and the README leads to all pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    lost = []
    for link in pages.links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in pages.anchors(target)):
            lost.append(link)
    assert lost == []


def test_every_page_is_named_by_the_readme() -> None:
    named = set(pages.links(pages.ROOT / "README.md"))
    assert {pages.name(page) for page in pages.PAGES} - {"README.md"} <= named


def test_a_lost_anchor_is_seen() -> None:
    """The planted fault: the slug of a heading with punctuation and code in it."""
    found = pages.anchors(pages.ROOT / "docs" / "faq.md")
    assert "what-is-notcovered-or-none-in-the-column-closed-form" in found
    assert "what-is-notcovered" not in found
