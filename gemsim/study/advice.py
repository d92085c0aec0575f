"""What the numbers of a sweep allow one to say: sentences that follow from the summary and from nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.choice import TIE_BAND, TOO_WIDE, Choice
from gemsim.results.families import GroupKey
from gemsim.results.summary import BEYOND_PROFILE, Point, Require, Row, meets
from gemsim.study.design import size_of
from gemsim.study.shares import percent, points_of, range_of

CREDITED = {"held": "the state of living processes", "start": "nothing (from the start)"}  # where no tier recovered
EDGE = "the edge of the sweep: values beyond it might be better"
LARGEST_RECORDED_BURST = 63  # rows of one bank at one time: Calchas data set (github.com/wrl297/Calchas), 2022-2024


@dataclass(frozen=True, slots=True)
class Group:
    """One group of a sweep: the points that compete, with their rows; `names` shortens the swept paths."""

    key: GroupKey
    points: Sequence[Point]
    rows: Sequence[Row]  # of the whole table, by index
    choice: Choice
    within: Mapping[str, Choice]  # by variant
    require: Require
    names: Mapping[str, str]

    @property
    def designs(self) -> list[Row]:
        """The simulated designs, each once, in order."""
        seen: dict[str, Row] = {}
        for point in self.points:
            if self.rows[point.index]["ettr"] is not None:
                seen.setdefault(point.id, self.rows[point.index])
        return list(seen.values())

    @property
    def allowed(self) -> list[Row]:
        """The designs that meet what the study requires."""
        return [row for row in self.designs if meets(row, self.require)]

    @property
    def best(self) -> Row | None:
        """The row of the best design."""
        return None if self.choice.best is None else self.rows[self.choice.best]

    @property
    def reference(self) -> Row | None:
        """The row with the largest ETTR among those allowed."""
        return None if self.choice.reference is None else self.rows[self.choice.reference]

    def label(self, row: Row) -> str:
        """What tells a point from the others of its group."""
        return self._label(row, [row])

    def name(self, row: Row) -> str:
        """What tells a design from the others of its group, without the axes that do not matter to it (k at m = 0)."""
        return self._label(row, [self.rows[point.index] for point in self.points if point.id == row["point"]])

    def _label(self, row: Row, alike: Sequence[Row]) -> str:
        fixed = [path for path in self.axes if row[path] != "" and all(other[path] == row[path] for other in alike)]
        parts = (
            [row["variant"]] if row["variant"] and all(other["variant"] == row["variant"] for other in alike) else []
        )
        said = [row[path] if _speaks(row[path]) else f"{self.names[path]}={row[path]}" for path in fixed]
        return " ".join(parts + said) or "the study as it stands"

    @property
    def axes(self) -> list[str]:
        """The swept paths that differ within the group."""
        paths = list(self.points[0].columns)
        first = {path: str(self.points[0].columns[path]) for path in paths}
        return [path for path in paths if any(str(point.columns[path]) != first[path] for point in self.points)]


def _speaks(value: Any) -> bool:
    """A word says by itself which axis it is on; a number or a quantity does not."""
    return isinstance(value, str) and value.replace("_", "").isalpha() and value not in ("optimal", "none", "full")


def pages(row: Row) -> str:
    """The largest burst a design surely survives."""
    burst = row["survivable_burst_pages"]
    return "–" if burst is None else f"{burst:.0f}"


def verdict(group: Group) -> str:
    """The best design and why it is that one."""
    best, reference = group.best, group.reference
    if not group.designs:
        return "No best: no design of this group could be simulated."
    if reference is not None and best is None:
        return _no_choice(group, reference)
    if best is None or reference is None:
        asked = ", ".join(group.require)
        return f"No best: none of {len(group.designs)} simulated designs meets the requirement on {asked}."
    tied, allowed = len(group.choice.tied), len(group.allowed)
    if len(group.designs) == 1:
        return f"One design: ETTR {best['ettr']:.4f}; nothing to choose here."
    head = f"Best: {group.name(best)}: ETTR {best['ettr']:.4f}"
    if tied == 1:
        return f"{head}, the largest of {allowed}; no other is within the tie band."
    dearer = "" if best is reference else f" (the largest is {group.name(reference)}: {reference['ettr']:.4f})"
    memory, step = percent(best["memory_overhead"], 3), percent(best["step_overhead"], 3)
    return f"{head}{dearer}; {tied} of {allowed} tie, and it costs least: {memory} of memory, {step} more step time."


def _no_choice(group: Group, reference: Row) -> str:
    """The largest ETTR, and the cheaper design whose interval is too wide to be told from it, or to be as good."""
    assert group.choice.unsure is not None
    unsure = group.rows[group.choice.unsure]
    bounds = range_of(-unsure["ettr_diff_hi"], -unsure["ettr_diff_lo"])
    return (
        f"No choice: run more replications. The largest is {group.name(reference)}: ETTR {reference['ettr']:.4f}; "
        f"{group.name(unsure)} costs less, and how far it is behind ({points_of(-unsure['ettr_diff'])}, {bounds}) is "
        "too wide to choose by."
    )


def recovered(group: Group) -> list[str]:
    """Which share of the failures of the best design each of its tiers recovered, the largest first."""
    if group.best is None:
        return []
    counts: dict[str, int] = json.loads(group.best["recovered_by"])
    total = sum(counts.values())
    said = [f"{CREDITED.get(tier, tier)} {_portion(count / total)}" for tier, count in counts.items()]
    return [f"Its failures were recovered by: {', '.join(said)}."] if said else []


def _portion(share: float) -> str:
    """A share that is neither none nor all is not written as if it were."""
    if share < 1.0 and percent(share, 1) == "100.0 %":
        return "more than 99.9 %"
    return "less than 0.1 %" if percent(share, 1) == "0.0 %" else percent(share, 1)


def advice(group: Group) -> list[str]:
    """What decides between the designs of a group, and what follows from it."""
    if group.reference is None:
        return []
    if group.best is None:
        return _axes(group)
    decides = [_what_decides(group)] if len(group.designs) > 1 else []
    said = [*decides, *_noise(group), *_idle_code(group), *_burst(group), *_axes(group)]
    excluded = [row for row in group.designs if not meets(row, group.require)]
    if excluded:
        most = max(row["ettr_diff"] for row in excluded)
        gain = f"they offer at most {points_of(most)} more ETTR" if most > TIE_BAND else "none would be better"
        said.append(f"The requirement excludes {len(excluded)} of {len(group.designs)} designs; {gain}.")
    return said


def _noise(group: Group) -> list[str]:
    """Say where the intervals are too wide for the choice to mean much."""
    widths = [row["ettr_diff_hi"] - row["ettr_diff_lo"] for row in group.allowed if row["ettr_diff_lo"] is not None]
    widest = max((width / 2 for width in widths if not math.isnan(width)), default=0.0)
    if widest <= TOO_WIDE:
        return []
    return [f"The paired intervals reach ± {points_of(widest)}: too wide to choose by; run more replications."]


def _idle_code(group: Group) -> list[str]:
    """Where every process exits, memory is gone with it: say that no code in GPU memory could recover anything."""
    held = dict(group.key).get("restart", dict(group.key).get("restart.mode"))
    coded = [row for row in group.designs if row["memory_overhead"] > 0.0]
    if held != "all_processes" or not coded:
        return []
    return ["No code in GPU memory recovers anything here: every process exits and its memory is gone."]


def _what_decides(group: Group) -> str:
    assert group.best is not None
    allowed = group.allowed
    tied = len(group.choice.tied)
    gaps = {id(row): row["ettr_diff"] for row in allowed}
    spread = max(abs(gap) for gap in gaps.values())
    if len(allowed) == 1:
        return "One design only meets the requirement."
    if tied == len(allowed):
        flat = f"ETTR does not decide here: all {tied} designs are within {points_of(spread)} of the largest"
        bare = group.best["memory_overhead"] == 0.0 and any(row["memory_overhead"] > 0.0 for row in allowed)
        free = " The best spends no memory: here a code is paid for what it survives, not for ETTR." if bare else ""
        return f"{flat}, no more than chance or the tie band explains.{_fallbacks(allowed)}{free}"
    worst = min(allowed, key=lambda row: row["ettr_diff"])
    bounds = (
        "" if math.isnan(worst["ettr_diff_lo"]) else f", {range_of(-worst['ettr_diff_hi'], -worst['ettr_diff_lo'])}"
    )
    split = f"ETTR decides: between the largest and {group.name(worst)} lie {points_of(spread)}{bounds}"
    top = (
        "the best stands alone"
        if tied == 1
        else f"{tied} of {len(allowed)} designs tie at the top and there memory decides"
    )
    return f"{split}; {top}."


def _fallbacks(rows: Sequence[Row]) -> str:
    """What still differs where ETTR does not."""
    shares = [row["rollback_per_failure"] for row in rows if not math.isnan(row["rollback_per_failure"])]
    if not shares or percent(min(shares), 1) == percent(max(shares), 1):
        return " Choose by memory and by the burst to survive."
    span = f"from {percent(min(shares), 1)} to {percent(max(shares), 1)} of failures"
    return f" What differs is how many roll back to an older version ({span}), the burst survived, and the memory paid."


def _burst(group: Group) -> list[str]:
    """What the largest recorded burst costs in memory, where the designs differ in what they survive."""
    bursts = {row["survivable_burst_pages"] for row in group.designs if row["survivable_burst_pages"] is not None}
    if len(bursts) < 2:
        return []
    enough = [row for row in group.allowed if (row["survivable_burst_pages"] or 0) >= LARGEST_RECORDED_BURST]
    what = f"a burst of {LARGEST_RECORDED_BURST} adjacent pages (the largest recorded: rows in one bank, Calchas data)"
    if not enough:
        most = max(row["survivable_burst_pages"] or 0 for row in group.allowed)
        return [f"No allowed design survives {what}; the most is {most:.0f}."]
    least = min(enough, key=lambda row: row["memory_overhead"])
    return [f"To survive {what} takes {percent(least['memory_overhead'], 3)} of memory: {group.name(least)}."]


def _axes(group: Group) -> list[str]:
    """For each ordered axis of protection, in each variant: flat, an optimum inside, or better towards one end."""
    said = []
    for variant, choice in group.within.items():
        rows = [group.rows[point.index] for point in group.points if point.variant == variant]
        allowed = [row for row in rows if meets(row, group.require)]
        tied = {group.rows[index]["point"] for index in choice.tied}
        for path in group.axes:
            own = [
                row for row in allowed if f"{group.names[path]}=" in group.name(row)
            ]  # those that depend on the axis
            values = sorted(
                {row[path] for row in own if size_of(row[path]) is not None}, key=lambda v: size_of(v) or 0.0
            )
            if len(values) >= 3:
                tops = [max((r for r in own if r[path] == v), key=lambda r: float(r["ettr"])) for v in values]
                name = f"{variant}, {group.names[path]}" if variant else group.names[path]
                judged = " (of those that meet the requirement)" if len(allowed) < len(rows) else ""
                labels = [value if isinstance(value, str) else f"{value:g}" for value in values]
                said.append(f"{name}{judged}: {_shape(labels, tops, [row['point'] in tied for row in tops])}.")
    return said


def _shape(labels: Sequence[str], tops: Sequence[Row], tied: Sequence[bool]) -> str:
    """How the largest ETTR at each value of an axis runs along it; `tied` are those not told from the largest."""
    end = len(labels) - 1
    span = f"{tops[0]['ettr']:.4f} at {labels[0]}, {tops[end]['ettr']:.4f} at {labels[end]}"
    if all(tied):
        return f"ETTR is flat from {labels[0]} to {labels[end]}"
    top = max(range(len(labels)), key=lambda i: tops[i]["ettr"])
    good = [i for i, one in enumerate(tied) if one]
    first, last = good[0], good[-1]
    if first > 0 and last < end:
        best = f"{tops[top]['ettr']:.4f} at {labels[top]}"
        tie = f"; tied from {labels[first]} to {labels[last]}" if first != last else ""
        where = "has its optimum inside" if len(labels) > 3 else "is largest in the middle of three values"
        return f"ETTR {where}, {best} ({span}{tie})"
    if first > 0:
        where = f"at its end, {labels[end]}, {EDGE}" if first == end else f"from {labels[first]} up"
        return f"ETTR is best {where} ({span})"
    if last < end:
        start = f"at its start, {labels[0]}" + ("" if labels[0] in ("0", "1") else f", {EDGE}")  # no count is less
        where = start if last == 0 else f"up to {labels[last]}"
        return f"ETTR is best {where} ({span})"
    return f"ETTR has no single optimum along it ({span})"


def cautions(rows: Iterable[Row]) -> list[str]:
    """What stands against trusting the intervals, each kind once."""
    found = {part for row in rows if row["caution"] for part in row["caution"].split("; ")}
    return sorted(found - {BEYOND_PROFILE})  # said at greater length elsewhere
