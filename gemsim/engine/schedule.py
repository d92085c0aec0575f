"""Batches of recommendation training played by SimPy: the check of the max-plus recurrence in protection/batches.

GPU, memory and link are resources that processes hold; nothing here is computed from the recurrence. The MLP log of
`cxl` is a holder of the memory that the update turns out.
"""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from typing import Any

import simpy

from gemsim.protection.batches import REDO, VARIANTS, Batch, Phases

Steps = Generator[simpy.Event, Any, None]


def play(variant: str, phases: Phases, count: int) -> list[Batch]:
    """The first `count` batches from time 0, phase by phase."""
    if variant not in VARIANTS:
        raise ValueError(f"no variant {variant!r}; one of {', '.join(VARIANTS)}")
    env = simpy.Environment()
    machine = _Machine(env, variant, phases)
    env.run(until=env.process(machine.train(count)))
    return machine.done


class _Machine:
    """The resources, and the processes of the batch in progress."""

    def __init__(self, env: simpy.Environment, variant: str, phases: Phases) -> None:
        self.env, self.variant, self.phases = env, variant, phases
        self.gpu = simpy.Resource(env)
        self.link = simpy.Resource(env)
        self.memory = simpy.PreemptiveResource(env)
        self.done: list[Batch] = []
        self.looked_up: simpy.Event = env.event()  # of the next batch, where that is made ahead

    def train(self, count: int) -> Steps:
        """Batch after batch."""
        for number in range(count):
            yield self.env.process(self.batch(number))

    def batch(self, number: int) -> Steps:
        env = self.env
        self.at: dict[str, float] = {"start": env.now}
        self.logged = 0.0
        self.ready, self.top, self.saved = env.event(), env.event(), env.event()
        lookup = self.looked_up if self.variant == "cxl" and number else env.event()
        self.looked_up = env.event()
        self.at["ahead"] = inf
        moves = {"cxl": self.relaxed, "cxl_b": self.batch_aware}.get(self.variant, self.redo)
        last = [env.process(self.gpu_work(lookup)), env.process(moves(number, lookup))]
        yield env.all_of(last)
        if self.variant in REDO:
            yield from self.hold(self.memory, self.phases.checkpoint, "log")
        at = self.at
        self.done.append(
            Batch(
                at["start"], at["lookup"], at["forward"], at["interaction"], at["backward"], at["log"],
                at.get("correction", at["lookup"] if self.variant != "cxl" else at["log"]), at["ahead"], at["update"],
                self.logged, env.now,
            )
        )  # fmt: skip
        self.at = {"lookup": at["ahead"]}

    def gpu_work(self, lookup: simpy.Event) -> Steps:
        """Bottom MLP forward; when the rows are there too the interaction; then the bottom MLP backward."""
        yield from self.hold(self.gpu, self.phases.bottom_forward, "forward")
        yield lookup
        self.ready.succeed()
        yield from self.hold(self.gpu, self.phases.interaction, "interaction")
        self.top.succeed()
        if self.variant == "cxl_b":  # parameters change only when they have been logged
            yield self.saved
        yield from self.hold(self.gpu, self.phases.bottom_backward, "backward")

    def redo(self, number: int, lookup: simpy.Event) -> Steps:
        """The host or the memory looks up, sends, waits for the gradients, and updates."""
        moved = self.variant != "cxl_d"
        yield from self.hold(self.memory, self.phases.lookup, "lookup")
        if moved:
            yield from self.hold(self.link, self.phases.to_gpu)
        lookup.succeed()
        yield self.top
        if moved:
            yield from self.hold(self.link, self.phases.to_memory)
        yield from self.hold(self.memory, self.phases.update, "update")
        self.logged = self.phases.mlp_log

    def batch_aware(self, number: int, lookup: simpy.Event) -> Steps:
        """The log is written from the start of the interaction on; the update follows it and the gradients."""
        seconds = self.phases.lookup_after_write if number else self.phases.lookup
        yield from self.hold(self.memory, seconds, "lookup")
        lookup.succeed()
        yield self.ready
        yield from self.hold(self.memory, self.phases.embedding_log)
        yield from self.hold(self.memory, self.phases.mlp_log, "log")
        self.logged = self.phases.mlp_log
        self.saved.succeed()
        yield self.top
        yield from self.hold(self.memory, self.phases.update, "update")

    def relaxed(self, number: int, lookup: simpy.Event) -> Steps:
        """Log the rows, correct, look up ahead, and log MLP parameters until the gradients come."""
        if number:
            self.at["lookup"] = self.done[-1].next_lookup
        else:
            yield from self.hold(self.memory, self.phases.lookup, "lookup")
            lookup.succeed()
        yield from self.hold(self.memory, self.phases.embedding_log, "log")
        if number:
            yield from self.hold(self.memory, self.phases.correction, "correction")
        yield from self.hold(self.memory, self.phases.lookup, "ahead")
        self.looked_up.succeed()
        self.env.process(self.mlp_log())
        yield self.top
        yield from self.hold(self.memory, self.phases.update, "update")

    def mlp_log(self) -> Steps:
        """Hold the idle memory during the interaction, until the update wants it."""
        yield self.ready
        if self.top.triggered:
            return
        with self.memory.request(priority=1) as turn:
            yield turn
            begun = self.env.now
            try:
                yield self.env.timeout(inf)
            except simpy.Interrupt:
                self.logged = self.env.now - begun

    def hold(self, resource: simpy.Resource, seconds: float, name: str = "") -> Steps:
        """Use a resource for some time; note when that ended."""
        turn = resource.request(priority=0) if isinstance(resource, simpy.PreemptiveResource) else resource.request()
        with turn:
            yield turn
            yield self.env.timeout(seconds)
        if name:
            self.at[name] = self.env.now
