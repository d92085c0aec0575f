"""Recommendation training in a study: the phases of one batch, by hand or those of TrainingCXL's models RM1 to RM4.

The published bars give sums of phases, not each of them; how a bar is cut is an assumption and does not change the
period of a batch on the hardware that it was measured on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gemsim.errors import ValueRefused
from gemsim.spec.published import Inputs, paper
from gemsim.spec.types import Model, PositiveTime, Time, assumed, sourced

MODELS = ("rm1", "rm2", "rm3", "rm4")
Recommendation = Literal["rm1", "rm2", "rm3", "rm4"]
HARDWARE = {"cxl": "cxl_d", "cxl_b": "cxl_d", "cxl_d": "cxl_d", "pcie": "pcie", "pmem": "pmem"}
"""Variant -> the published bars of its hardware with a redo checkpoint. Those of ssd are not to scale."""


class PhasesSpec(Model):
    """Seconds of each phase of one batch; a transfer, a correction or a log that is not given takes none."""

    lookup: PositiveTime
    lookup_after_write: Time | None = sourced("as lookup", None)
    bottom_forward: Time
    interaction: PositiveTime
    update: PositiveTime
    bottom_backward: Time
    embedding_log: Time = assumed("0 s")
    mlp_log: Time = assumed("0 s")
    correction: Time = assumed("0 s")
    to_gpu: Time = assumed("0 s")
    to_memory: Time = assumed("0 s")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of figure 11, seconds."""

    embedding: float
    transfer: float
    bottom: float  # what of the bottom MLP is not hidden
    top: float
    checkpoint: float

    @property
    def total(self) -> float:
        """Seconds of one batch."""
        return self.embedding + self.transfer + self.bottom + self.top + self.checkpoint


def bar(inputs: Inputs, hardware: str, model: str) -> Bar:
    """The published bar of a model on pmem, pcie, cxl_d, cxl_b or cxl."""
    place = MODELS.index(model)
    return Bar(*(getattr(inputs, hardware)[part][place] for part in Bar.__slots__))


def published_phases(model: str, variant: str) -> PhasesSpec:
    """The phases of RM1 to RM4 on the hardware of a variant. Raises ValueRefused for ssd."""
    if variant not in HARDWARE:
        raise ValueRefused(
            f"no phases of {model} on {variant} are published (its bars are not drawn to scale)",
            f"variants {', '.join(HARDWARE)}",
            "give workload.phases",
        )
    return phases_of(paper("training_cxl").inputs, model, HARDWARE[variant])


def phases_of(inputs: Inputs, model: str, hardware: str) -> PhasesSpec:
    """A bar cut into phases in the proportions of figure 12, which shows RM1 only.

    On cxl_d the bar's embedding part holds the longer of lookup and bottom MLP; with software transfers it holds lookup
    and update, and the bottom MLP is hidden but for what the bar shows.
    """
    one, cut = bar(inputs, hardware, model), inputs.figure_12
    log = inputs.embedding_log[MODELS.index(model)]
    forward = cut["bottom_forward"] / (cut["bottom_forward"] + cut["bottom_backward"]) * one.bottom
    if hardware == "cxl_d":
        whole = cut["bottom_forward"] + cut["update"]
        lead, lookup = cut["bottom_forward"] / whole * one.embedding, cut["lookup"] / whole * one.embedding
    else:
        whole = cut["lookup"] + cut["update"]
        lead = lookup = cut["lookup"] / whole * one.embedding
    update, moved = one.embedding - lead, one.transfer / 2
    hidden = one.bottom == 0.0
    backward = min(update, cut["bottom_backward"] / cut["bottom_forward"] * lead) if hidden else update + moved
    return PhasesSpec.model_construct(
        lookup=lookup,
        lookup_after_write=lookup,
        bottom_forward=lead if hidden else lead + moved + forward,
        interaction=one.top,
        update=update,
        bottom_backward=backward if hidden else backward + one.bottom - forward,
        embedding_log=min(log, one.checkpoint),
        mlp_log=max(0.0, one.checkpoint - log),
        correction=lookup * cut["correction"] / cut["lookup"],
        to_gpu=moved,
        to_memory=moved,
    )
