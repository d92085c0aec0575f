"""How long a batch of recommendation training takes under each way of logging: a max-plus recurrence of its phases.

A phase starts when all that it waits for has ended (max) and lasts its seconds (plus). The variants of TrainingCXL
(IEEE Micro 43(2), 2023) differ in what waits for what. Three resources work side by side: the GPU, the compute beside
the memory pool (or the host), and the link between them. No batch begins before the last one has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf

REDO = ("ssd", "pmem", "pcie", "cxl_d")
"""Variants that save what a batch changed after it, on the critical path."""
VARIANTS = (*REDO, "cxl_b", "cxl")


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of each phase of one batch when nothing holds it up.

    `lookup_after_write`: the lookup straight after an update, which reads rows that are still being written.
    `correction`: of a lookup that was made with the rows of the batch before. `to_gpu` and `to_memory` are transfers by
    software; hardware that moves data by itself (cxl, cxl_b, cxl_d) has none.
    """

    lookup: float
    lookup_after_write: float
    bottom_forward: float
    interaction: float  # feature interaction and top MLP, forward and backward
    update: float  # of the embedding rows
    bottom_backward: float
    embedding_log: float
    mlp_log: float
    correction: float = 0.0
    to_gpu: float = 0.0
    to_memory: float = 0.0

    @property
    def checkpoint(self) -> float:
        """All that is saved for one batch: embedding rows and MLP parameters."""
        return self.embedding_log + self.mlp_log

    @property
    def unlogged(self) -> Phases:
        """The same batch with nothing saved."""
        return replace(self, embedding_log=0.0, mlp_log=0.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """When the phases of one batch end, in seconds; `logged`: seconds of MLP log written in it.

    `next_lookup`: end of the next batch's lookup where it is made ahead, else infinite.
    """

    start: float
    lookup: float
    forward: float
    interaction: float
    backward: float
    log: float
    correction: float
    next_lookup: float
    update: float
    logged: float
    end: float


def batches(variant: str, phases: Phases, count: int) -> list[Batch]:
    """The first `count` batches from time 0. The first finds no row in the course of being written."""
    found: list[Batch] = []
    for _ in range(count):
        found.append(_following(variant, phases, found[-1] if found else None))
    return found


def period(variant: str, phases: Phases) -> float:
    """Seconds from batch to batch in the steady state.

    Since a batch begins when the last has ended, all that it takes over is one time, and the second batch is as long as
    any later one.
    """
    first, second = batches(variant, phases, 2)
    return second.end - first.end


def log_seconds(variant: str, phases: Phases) -> float:
    """Seconds that logging adds to each batch."""
    return max(0.0, period(variant, phases) - period(variant, phases.unlogged))


def least_gap(variant: str, phases: Phases) -> float:
    """Batches over which the MLP log has to be spread at least: 1 where it is written with every batch.

    In `cxl` it is written only while the GPU is busy with feature interaction and top MLP and the memory has nothing
    else to do; infinite where that leaves it no time.
    """
    if variant != "cxl" or phases.mlp_log == 0.0:
        return 1
    room = batches(variant, phases, 2)[1].logged
    return max(1, ceil(phases.mlp_log / room - 1e-9)) if room > 0.0 else inf


def _following(variant: str, phases: Phases, before: Batch | None) -> Batch:
    start = 0.0 if before is None else before.end
    if variant == "cxl":
        return _relaxed(phases, start, before)
    if variant == "cxl_b":
        return _batch_aware(phases, start, before)
    if variant in REDO:
        return _redo(phases, start, moved=variant != "cxl_d")
    raise ValueError(f"no variant {variant!r}; one of {', '.join(VARIANTS)}")


def _redo(phases: Phases, start: float, *, moved: bool) -> Batch:
    """Save after the update; the save parts the update from the next lookup, so that no row is still being written."""
    to_gpu, to_memory = (phases.to_gpu, phases.to_memory) if moved else (0.0, 0.0)
    lookup = start + phases.lookup
    forward = start + phases.bottom_forward
    interaction = max(lookup + to_gpu, forward) + phases.interaction
    backward = interaction + phases.bottom_backward
    update = interaction + to_memory + phases.update
    end = max(update, backward) + phases.checkpoint
    return Batch(start, lookup, forward, interaction, backward, end, lookup, inf, update, phases.mlp_log, end)


def _batch_aware(phases: Phases, start: float, before: Batch | None) -> Batch:
    """Old rows and MLP parameters are logged from the start of the interaction; what changes them waits for the log.

    That is the update, and the backward of the bottom MLP (else the bars of RM3 and RM4 would show no checkpoint).
    """
    lookup = start + (phases.lookup if before is None else phases.lookup_after_write)
    forward = start + phases.bottom_forward
    ready = max(lookup, forward)
    interaction, log = ready + phases.interaction, ready + phases.checkpoint
    changes = max(interaction, log)
    backward, update = changes + phases.bottom_backward, changes + phases.update
    end = max(update, backward)
    return Batch(start, lookup, forward, interaction, backward, log, lookup, inf, update, phases.mlp_log, end)


def _relaxed(phases: Phases, start: float, before: Batch | None) -> Batch:
    """The memory logs the rows, corrects this batch's lookup and makes the next one's; what time is left until the
    interaction ends goes to the MLP log.

    The correction does not hold up the interaction: in the published timeline both begin at the same time. Held up, a
    batch of figure 12 would take 5.35 ms instead of 4.9.
    """
    lookup = start + phases.lookup if before is None else before.next_lookup
    forward = start + phases.bottom_forward
    ready = max(lookup, forward)
    interaction = ready + phases.interaction
    backward = interaction + phases.bottom_backward
    log = max(start, lookup) + phases.embedding_log
    correction = log if before is None else log + phases.correction
    ahead = correction + phases.lookup
    logged = max(0.0, interaction - max(ahead, ready))
    update = max(interaction, ahead) + phases.update
    return Batch(
        start, lookup, forward, interaction, backward, log, correction, ahead, update, logged, max(update, backward)
    )
