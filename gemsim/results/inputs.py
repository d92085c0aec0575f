"""What the uncertainty of the inputs does to a number, beside what the sample of replications does.

The two are never joined: more replications narrow the one and leave the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

INPUT_COLUMNS = (
    *("ettr_input_lo", "ettr_input_hi", "ettr_diff_input_lo", "ettr_diff_input_hi"),
    *("input_draws", "input_failures", "input_note"),
)
MOST_FAILED = 0.1  # share of draws without a number above which no range of the rest is given
_ENDS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Inputs:
    """ETTR in closed form for each draw of the uncertain inputs, NaN where a draw has none; `note` says why."""

    ettr: Floats
    note: str = ""

    @property
    def failed(self) -> int:
        """Draws without a number."""
        return int(np.isnan(self.ettr).sum())


def central(values: Floats) -> tuple[float | None, float | None]:
    """The central 95 % range of the draws that have a number; none where more than a tenth has not."""
    known = values[~np.isnan(values)]
    if not len(known) or len(known) < (1.0 - MOST_FAILED) * len(values):
        return None, None
    low, high = np.quantile(known, _ENDS)
    return float(low), float(high)


def input_columns(inputs: Inputs | None) -> dict[str, Any]:
    """The columns of one design; nothing where the study has no uncertain inputs."""
    if inputs is None:
        return {}
    low, high = central(inputs.ettr)
    counted: dict[str, Any] = {"input_draws": len(inputs.ettr), "input_failures": inputs.failed}
    return {"ettr_input_lo": low, "ettr_input_hi": high, "input_note": inputs.note} | counted


def input_difference(inputs: Inputs | None, reference: Inputs | None) -> dict[str, Any]:
    """The range of the difference to a reference, draw by draw: both saw the same."""
    if inputs is None or reference is None or len(inputs.ettr) != len(reference.ettr):
        return {}
    low, high = central(inputs.ettr - reference.ettr)
    return {"ettr_diff_input_lo": low, "ettr_diff_input_hi": high}
