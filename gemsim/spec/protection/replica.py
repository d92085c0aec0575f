"""`replica` in a study."""

from __future__ import annotations

from typing import Annotated, Literal

from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import (
    KeepFor,
    PositiveBytes,
    PositiveShare,
    Share,
    Time,
    Whole,
    WholeNumber,
    assumed,
    sourced,
)

_GEMINI = "GEMINI (Wang et al. 2023)"


class ReplicaSpec(Tier):
    """Copies of the state in the CPU memory of this and other hosts, sent in the network's idle spans; times in
    seconds, None: derived."""

    kind: Literal["replica"] = "replica"
    copies: Annotated[int, WholeNumber(1, 64)] = sourced(_GEMINI, 2)
    placement: Literal["mixed", "group", "ring"] = sourced(f"{_GEMINI}, Algorithm 1", "mixed")
    domain: Literal["node", "rack", "switch", "power"] = sourced(_GEMINI, "node")
    every: Whole = sourced(f"{_GEMINI}: every iteration", 1)
    interleave: Literal["gemini", "no_pipeline", "blocking", "naive"] = sourced(f"{_GEMINI}, Algorithm 2", "gemini")
    buffers: Annotated[int, WholeNumber(1, 1024)] = sourced(_GEMINI, 4)
    buffer: PositiveBytes = sourced(_GEMINI, "128 MB")
    startup: Time = assumed("20 us", "not published")
    mu: PositiveShare = assumed("90 %", "not published; spans vary by under 10 %, GEMINI")
    blocked: Time | None = sourced("derived from bytes, links and idle spans", None)
    write: Time | None = sourced(f"{_GEMINI}: the step after the save", None)
    read: Time | None = sourced("derived from bytes over PCIe", None)
    fetch: Time | None = sourced("derived from bytes over the network and PCIe", None)
    keep: KeepFor = sourced(f"{_GEMINI}: one complete, one in progress", 1)
    invalid: Share = assumed(0, "every copy is good")
    notice: Time = assumed("0 s", "a bad copy is noticed at once")

    def inapplicable(self) -> dict[str, str]:
        found = {}
        if self.interleave == "blocking":
            found["write"] = "interleave gemini, no_pipeline or naive"
        if self.interleave == "naive":
            found["buffer"] = "interleave gemini, no_pipeline or blocking"
        if self.interleave in ("naive", "no_pipeline"):
            found["buffers"] = "interleave gemini or blocking"
        return found
