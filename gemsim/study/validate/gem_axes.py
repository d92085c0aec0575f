"""Which assumption moves GEM's cut most: one at a time about a reference, ranked by the size of the swing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gemsim.study.validate.gem_sets import mean_cut
from gemsim.study.validate.gem_worlds import Assumed

REFERENCE = Assumed()
_LONG = {"mapping": "contiguous"}
_LOOSE = {"rows": "scattered"}
SWINGS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "P(contained)": ({"contained": 0.42}, {"contained": 1.0}, "0.42", "1"),
    "process restart": ({"mode": "all_processes"}, {}, "all processes", "in place"),
    "process restart, memory held": ({"mode": "holder"}, {}, "holder", "in place"),
    "where errors land": ({"lands": "used"}, {}, "used bytes", "coded bytes"),
    "vulnerable window": ({"update": 0.1}, {"update": 0.0}, "10 % of step", "encode only"),
    "pause": ({"pause": 60.0}, {"pause": 1.0}, "60 s", "1 s"),
    "detection": ({"detect": 60.0}, {"detect": 1.0}, "60 s", "1 s"),
    "mapping": (_LONG, {}, "contiguous", "interleaved"),
    "burst tail, interleaved": ({}, {"tail": False}, "63 rows", "1 row"),
    "burst tail, contiguous": (_LONG, {**_LONG, "tail": False}, "63 rows", "1 row"),
    "rows of a burst": (_LOOSE, {}, "scattered", "adjacent"),
    "page size, adjacent rows": ({}, {"page": "4 KiB"}, "2 MiB", "4 KiB"),
    "page size, scattered rows": (_LOOSE, {**_LOOSE, "page": "4 KiB"}, "2 MiB", "4 KiB"),
    "m, contiguous": (_LONG, {**_LONG, "m": 4}, "1", "4"),
    "SRAM errors counted": ({"sram": True}, {}, "yes", "no"),
    "encoding counted": ({"steady": True}, {}, "yes", "no"),
    "baseline restarts": ({"base_mode": "in_place"}, {}, "in place", "all processes"),
}


@dataclass(frozen=True, slots=True)
class Swing:
    """The mean cut at both ends of one assumption, against the same baseline that GEM falls back to."""

    axis: str
    baseline: str
    low: str
    high: str
    cut_low: float
    cut_high: float

    @property
    def swing(self) -> float:
        """From the low end to the high end."""
        return self.cut_high - self.cut_low


def swings(models: Sequence[str], baseline: str) -> list[Swing]:
    """All axes, the widest swing first."""
    found = []
    for axis, (low, high, low_name, high_name) in SWINGS.items():
        ends = [mean_cut(models, replace(REFERENCE, **changes), baseline, baseline).total for changes in (low, high)]
        found.append(Swing(axis, baseline, low_name, high_name, *ends))
    return sorted(found, key=lambda one: -abs(one.swing))
