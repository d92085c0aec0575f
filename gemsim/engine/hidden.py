"""What has struck unseen: silent corruptions, and slow nodes, at whose pace all others go until they are found."""

from __future__ import annotations

from collections.abc import Iterable

from gemsim.failures.trace import Event


class Hidden:
    """Failures between their stroke and their detection."""

    def __init__(self) -> None:
        self.gpus: dict[Event, int] = {}
        self.slow: dict[Event, tuple[float, int]] = {}  # event -> (share of the job's speed that it costs, its node)

    def add(self, event: Event, gpu: int, slower: float, node: int) -> None:
        """A failure begins; `slower` is 0 for what costs no speed."""
        self.gpus[event] = gpu
        if slower:
            self.slow[event] = (slower, node)

    def find(self, event: Event) -> tuple[int, int]:
        """The GPU of a failure that is detected now, and the node that was slow (-1: none); it holds up nobody any more
        once it is dealt with."""
        _, node = self.slow.pop(event, (0.0, -1))
        return self.gpus.pop(event), node

    def leave(self, nodes: Iterable[int]) -> None:
        """These nodes have left the job, slow or not."""
        gone = set(nodes)
        for event in [event for event, (_, node) in self.slow.items() if node in gone]:
            del self.slow[event]
            del self.gpus[event]

    def slowest(self) -> tuple[float, int]:
        """(share of the speed lost, failure class) of the slowest node; needs one."""
        event = max(self.slow, key=lambda one: self.slow[one][0])
        return self.slow[event][0], event.index
