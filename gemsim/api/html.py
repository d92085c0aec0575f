"""Small pieces of HTML for notebooks: everything is escaped, nothing is styled beyond a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """What is known, one thing a row."""
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in pairs
    )
    return f"<table><tbody>{body}</tbody></table>"


def head(text: str) -> str:
    """A line in bold."""
    return f"<p><b>{escape(text)}</b></p>"


def lines(texts: Iterable[str]) -> str:
    """A paragraph for each."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)
