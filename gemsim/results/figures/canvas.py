"""An empty figure and the files that become of it: the same figure gives the same bytes, and no screen is needed."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A name from a study is text, whatever signs it has.
# A fixed salt here and no date below: nothing in the file but what is drawn. Text stays text.
_RULES: Any = {"svg.hashsalt": "gemsim", "svg.fonttype": "none", "text.parse_math": False, "font.size": 8}


@contextmanager
def canvas(width: float, height: float, **rules: Any) -> Iterator[Figure]:
    """A figure of `width` x `height` inches under the house's rules and `rules`; draw and save it within."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_RULES | rules):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def svg_of(figure: Figure) -> bytes:
    """The figure as SVG."""
    return _saved(figure, format="svg", metadata={"Date": None})


def png_of(figure: Figure) -> bytes:
    """The figure as PNG, 150 dots an inch."""
    return _saved(figure, format="png", dpi=150, metadata={"Software": None})


def _saved(figure: Figure, **how: Any) -> bytes:
    """A letter that the font lacks becomes a box: no reason to print a line of Python for each."""
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(content, **how)
    return content.getvalue()
