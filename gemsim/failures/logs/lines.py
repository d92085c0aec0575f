"""Where in a CSV file something stands, for messages: read again, and only when there is something to say."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import show

_NAME = re.compile(r"[A-Za-z_][\w .%/()#-]{0,39}")
_SHOWN = 12


def headings(names: Sequence[str]) -> str:
    """The columns of a file in a message; what is no name stays untold, for the file may be none of ours."""
    told = [name for name in names if _NAME.fullmatch(name)][:_SHOWN]
    more = ", …" if len(told) < len(names) else ""
    return f"the columns are {show(', '.join(told) + more)}" if told else "its first line holds no names of columns"


@dataclass(frozen=True, slots=True)
class Place:
    """A file and which of its rows were kept: row 0 is the first below the heading."""

    path: Path
    at: NDArray[np.int64]

    def line(self, number: int) -> str:
        """ "line 12": where the kept row `number` begins."""
        row = int(self.at[number])
        found = next((line for place, (line, _) in enumerate(_rows(self.path)) if place == row + 1), None)
        return f"row {row + 1}" if found is None else f"line {found}"


def ragged(path: Path) -> str:
    """What is wrong with the first row that has more or fewer columns than the heading; "" if none has."""
    rows = _rows(path)
    width = next(rows, (0, 0))[1]
    return next((f"line {line} has {many} columns, the heading {width}" for line, many in rows if many != width), "")


def _rows(path: Path) -> Iterator[tuple[int, int]]:
    """(line on which it begins, columns) of each row, the heading first. Empty lines are none."""
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as stream:
        reader, before = csv.reader(stream), 0
        try:
            for fields in reader:
                if fields:
                    yield before + 1, len(fields)
                before = reader.line_num
        except csv.Error:
            return
