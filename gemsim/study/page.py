"""A page of text of a fixed width: lines that are wrapped, headings, tables with titles over their whole width."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

TITLE = "§"  # stands in a table for the title of a group


class Page:
    """Text of a fixed width, without trailing blanks."""

    def __init__(self, width: int, styled: bool) -> None:
        self._out = io.StringIO()
        self.width = width
        self._console = Console(file=self._out, width=width, force_terminal=styled, highlight=False)

    def say(self, *lines: str, indent: int = 0) -> None:
        """Lines, wrapped; what runs on is indented further."""
        for line in lines:
            lead = " " * (indent + len(line) - len(line.lstrip()))
            wrapped = textwrap.fill(
                line.strip(), self._console.width, initial_indent=lead, subsequent_indent=f"{lead}  "
            )
            self._console.print(Text(wrapped))

    def head(self, line: str) -> None:
        """A heading, set apart."""
        self._console.print(Text(f"\n{textwrap.fill(line, self._console.width)}", style="bold"))

    def show(self, table: Table, titles: Sequence[str] = ()) -> None:
        """A table; a row that holds only `TITLE` and a number becomes that title over the whole width."""
        start = self._out.tell()
        self._console.print(table)
        text = self._out.getvalue()[start:]
        self._out.seek(start)
        self._out.truncate()
        for number, title in enumerate(titles):
            line = rf"(?m)^.*{TITLE}{number}(?!\d).*$"
            short = textwrap.shorten(title, self._console.width - 1, placeholder="…")
            text = re.sub(line, f" {short}".replace("\\", r"\\"), text)
        self._out.write(text)

    @property
    def text(self) -> str:
        """All of it."""
        text = "\n".join(line.rstrip() for line in self._out.getvalue().splitlines())
        return re.sub(r"\n{3,}", "\n\n", text) + "\n"
