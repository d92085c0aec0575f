"""A study put to `gemsim explain`, and what stands on its page: what a user would read."""

from __future__ import annotations

import re
from typing import Any

from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from gemsim.study.choosing import choose_point
from gemsim.study.explained import render
from gemsim.study.plan import explained

DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0


def study(text: str, changes: dict[str, Any] | None = None) -> Scenario:
    """The scenario of a study, with values put in."""
    return build(resolve_point(parse_study(text.encode(), "case"), changes or {}))


def page(text: str, *words: str) -> str:
    """What `gemsim explain` prints of it, from two replications."""
    loaded = parse_study(text.encode(), "case")
    design = choose_point(loaded, number=None, words=words)
    return render(explained(loaded, design, seed=1, replications=2))


def shown(page: str, model: str, unit: str = "") -> float:
    """The number that a model by this name has on a page."""
    (found,) = re.findall(rf"(?m)^ {re.escape(model)}  .*?([\d.]+){f' {unit}' if unit else ''}(?:  |$)", page)
    return float(found)


def closed_form(page: str) -> float:
    """ETTR in closed form, as the last line of the sum has it."""
    (found,) = re.findall(r"(?m)^ ETTR .* ([\d.]+)$", page)
    return float(found)
