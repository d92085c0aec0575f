"""The spare rows of GPU memory: which GPUs have run out of them, and so do not outlive their next reset."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gemsim.failures.memory import Geometry, RemapBook, strike_rows


class Rows:
    """The row remappers of all devices of a fleet of nodes with `per_node` GPUs."""

    def __init__(self, geometry: Geometry, per_node: int) -> None:
        self.book, self.per_node = RemapBook(geometry), per_node
        self.worn: set[int] = set()  # nodes in the job with a GPU that cannot remap another row

    def hit(self, gpu: int, rows: int, mark: Callable[[str], float]) -> bool:
        """Enter an error of so many rows of a device; True when it has no room to remap them."""
        refused = bool(strike_rows(self.book, gpu, rows, mark).refused)
        if refused:
            self.worn.add(gpu // self.per_node)
        return refused

    def serve(self, gpus: Iterable[int] | None = None) -> None:
        """A reset of these devices, or of all: rows that waited are swapped for their spares."""
        if gpus is None:
            self.book.serve_all()
            return
        for gpu in gpus:
            self.book.serve(gpu)

    def forget(self, node: int) -> None:
        """A node has left the job; comes it back, then with new memory."""
        self.worn.discard(node)
        for part in range(self.per_node):
            self.book.replaced(node * self.per_node + part)
