"""The ceiling: what share of the failures and of the lost time protection in GPU memory can touch at all."""

from __future__ import annotations

from collections.abc import Sequence

from gemsim.results.ledger import LOST_TO_FAILURES
from gemsim.results.summary import Row
from gemsim.study.advice import Group
from gemsim.study.shares import percent

SAME_INTERVAL = 1.25  # ratio of two intervals up to which fall-backs count as the same


def ceiling(group: Group) -> str:
    """How much protection in GPU memory can touch at all, and the result if it worked perfectly.

    All designs of a group meet the same failures, so among those with one fall-back outside GPU memory the largest loss
    is what there was to save, and the smallest untouched loss is what no such protection could have saved.
    """
    known = [row for row in _same_fallback(group) if row["touch_share_lost"] is not None and row["failures"] > 0]
    if not known:
        return "Ceiling: not known, since no failure was simulated."
    touched = max(row["touch_share_failures"] for row in known)
    if not touched > 0.0:
        return "Ceiling: no tier that works in GPU memory touches any of the failures here."
    perfect = max(row["ettr_perfect"] for row in known)
    most = max(row["ettr"] for row in known)
    lost = [sum(row[f"time_{name}"] for name in LOST_TO_FAILURES) for row in known]
    beyond = min(all_ * (1.0 - row["touch_share_lost"]) for all_, row in zip(lost, known, strict=True))
    saved = max(0.0, 1.0 - beyond / max(lost))
    share = f"at most {percent(touched, 1)} of failures and {percent(saved, 1)} of the time lost to failures"
    return f"Ceiling: tiers in GPU memory can touch {share}; ETTR would be at most {perfect:.4f} (here {most:.4f})."


def _same_fallback(group: Group) -> list[Row]:
    """The designs that keep state outside GPU memory as the best one does: the same tiers, at intervals as good as
    equal."""
    held = {point.id: point.static.get("outside", ()) for point in group.points}
    like = group.best or group.reference
    if like is None:
        return group.designs
    return [row for row in group.designs if _as_good_as_equal(held[row["point"]], held[like["point"]])]


def _as_good_as_equal(one: Sequence[tuple[str, float]], other: Sequence[tuple[str, float]]) -> bool:
    """Optimal intervals differ a little between designs."""
    if [kind for kind, _ in one] != [kind for kind, _ in other]:
        return False
    return all(max(a, b) <= SAME_INTERVAL * min(a, b) for (_, a), (_, b) in zip(one, other, strict=True))
