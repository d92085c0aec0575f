"""`retry` in a study."""

from __future__ import annotations

from typing import Literal

from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import sourced


class RetrySpec(Tier):
    """Re-execution in a living process, of the granule named or (mixed) the least that restores what was lost."""

    kind: Literal["retry"] = "retry"
    granularity: Literal["kernel", "layer", "microbatch", "step", "mixed"] = sourced(
        "the least granule of each region", "mixed"
    )
