"""One design point, frozen and hashed: what the engine runs and the twin computes."""

from gemsim.scenario.build import build
from gemsim.scenario.describe import derived, describe
from gemsim.scenario.model import Restart, Scenario

__all__ = ["Restart", "Scenario", "build", "derived", "describe"]
