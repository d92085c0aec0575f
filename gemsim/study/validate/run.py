"""Which module computes the rows of which paper, and the run over all of them."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable

from gemsim.errors import ProfileError, ValueRefused, show
from gemsim.spec.published import paper
from gemsim.study.validate.checks import Rows
from gemsim.study.validate.judge import Check, judge

ROWS = {  # paper (a file of calibration/published/papers) -> module with `rows(inputs, *, quick)`
    "gemini": "gemini",
    "gem": "gem",
    "training_cxl": "training_cxl",
    "cases": "closed_forms",
    "fleets": "fleets",
    "relatives": "relatives",
}


def run(*, quick: bool = False, only: str = "") -> list[Check]:
    """Every check, or those whose id begins with `only`, paper by paper. Raises ValueRefused, ProfileError."""
    papers = {name: paper(name) for name in ROWS}
    ids = [one for published in papers.values() for one in published.outcomes]
    twice = sorted(one for one, count in Counter(ids).items() if count > 1)
    if twice:
        raise ProfileError(f"calibration/published/papers: an id in two files ({', '.join(twice)})")
    if not any(one.startswith(only) for one in ids):
        known = ", ".join(dict.fromkeys(one.split(".")[0] for one in ids))
        raise ValueRefused(f"--only: no check begins so ({show(only)})", f"ids begin with {known}")
    checks: list[Check] = []
    for name, published in papers.items():
        if any(one.startswith(only) for one in published.outcomes):
            ours = rows_of(name)(published.inputs, quick=quick)
            checks += [check for check in judge(published, ours) if check.id.startswith(only)]
    return checks


def rows_of(name: str) -> Callable[..., Rows]:
    """The function that computes the rows of a paper; imported when it is run."""
    function: Callable[..., Rows] = importlib.import_module(f"gemsim.study.validate.{ROWS[name]}").rows
    return function
