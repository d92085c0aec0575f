"""How sure a design is, in words: what the sample leaves open and what the inputs leave open, apart."""

from __future__ import annotations

from collections.abc import Iterator

from gemsim.study.advice import Group


def certainty(group: Group) -> Iterator[str]:
    """Lines on the best design, or on the one of largest ETTR; none where the study has no uncertain inputs."""
    row = group.best or group.reference
    if row is None or row.get("input_draws") is None:
        return
    half = "" if row["ettr_lo"] is None else f"sampling ± {(row['ettr_hi'] - row['ettr_lo']) / 2:.4f}, "
    failed, note = row["input_failures"], row["input_note"]
    if row["ettr_input_lo"] is None:
        yield f"Certainty of ETTR: {half}inputs: no range. {note}"
        return
    drawn = f"95 %, closed form over {row['input_draws']} draws"
    without = f", {failed} of them without an answer and left out ({note})" if failed else ""
    reach = f"{row['ettr_input_lo']:.4f} .. {row['ettr_input_hi']:.4f}"
    yield f"Certainty of ETTR: {half}inputs {reach} ({drawn}{without})."
    yield from _rivals(group)


def _rivals(group: Group) -> Iterator[str]:
    """How many others the inputs could put ahead; all designs saw the same draws."""
    others = [row for row in group.allowed if row is not group.reference and row.get("ettr_diff_input_hi") is not None]
    ahead = [row for row in others if row["ettr_diff_input_hi"] > 2.0 * (row["analytic_error"] or 0.0)]
    if others and not ahead:
        yield "Over the draws of the inputs no other design comes out ahead of the one with the largest ETTR."
    if ahead:
        names = ", ".join(group.name(row) for row in ahead[:3]) + (", …" if len(ahead) > 3 else "")
        count = f"{len(ahead)} of {len(others)} others"
        yield f"Over the draws of the inputs {count} can come out ahead of the largest ETTR: {names}."
