"""What is left of a run whose job now and then starts again from nothing: the work since the last such start.

One idea: these starts are a Poisson process, and what the job has at the end is what it did in the age of that process,
cut off at the length of the run.
"""

from __future__ import annotations

from gemsim.protection.arrays import either, expm1

SEEN = 1e-6  # starts per run below which none is
UNSURE = 0.05  # of the rate of failures that no tier recovers: they end a recovery that has already begun


def kept(starts: float) -> float:
    """Share of a run's work that is there at its end, with x starts from nothing on average: (1 - e^-x) / x.

    Kind: exact for a Poisson process of starts that take no time.
    """
    return either(starts > SEEN, lambda: -expm1(-starts) / starts, lambda: 1.0 - starts / 2.0)


def doubt(starts: float, unsure: float) -> float:
    """By how much `kept` may be off where the number of starts is off by the share `unsure`."""
    return abs(kept(starts * (1.0 - unsure)) - kept(starts * (1.0 + unsure))) / 2.0
