"""Where the recommendation meets the model: the closed forms over arrays and of losses, beside what a sweep uses."""

from __future__ import annotations

import math

from gemsim.analytic.losses import losses
from gemsim.analytic.screen import screen
from gemsim.errors import NotCovered
from gemsim.scenario import Scenario, build, describe
from gemsim.study.recommend.screen import Tools


def lost_per_run(scenario: Scenario) -> float:
    """Unrecoverable losses per run; NaN where no form holds them, which meets no bound."""
    try:
        return losses(scenario).per_run
    except NotCovered:
        return math.nan


TOOLS = Tools(build=build, describe=describe, screen=screen, losses=lost_per_run)
