"""How far a run is: errors alone when quiet, plain lines in a notebook, else what the command shows."""

from __future__ import annotations

import sys

from gemsim.study.progress import Lines, Reporter, reporter


def reporting(label: str, *, quiet: bool) -> Reporter:
    """Where a run says how far it is. A notebook shows stderr as if it were an error, so its lines go to stdout."""
    if _in_notebook() and not quiet:
        return Lines(label, sys.stdout)
    return reporter(label, quiet=quiet)


def _in_notebook() -> bool:
    """Whether output goes to a Jupyter kernel, which wraps stdout in a stream of its own."""
    return type(sys.stdout).__module__.partition(".")[0] == "ipykernel"
