"""Checkpoint traffic in the network's idle spans: which chunk goes when, and by how much an iteration grows.

Every GPU sends copies of its shard to peers over the network that training uses, and receives as much. A chunk that
arrives waits in a buffer in GPU memory until it has been copied to CPU memory. Source: Wang et al. (GEMINI, SOSP
2023), Algorithm 2. As in its text, a chunk lessens the span by its own time and copies - 1 copies are sent; the
printed listing takes the time of all that remains, and sends one copy too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

SCHEMES = ("gemini", "no_pipeline", "naive", "blocking")
MOST_CHUNKS = 1_000_000
ROUNDING = 1e-12  # relative


class Chunk(NamedTuple):
    """Bytes of one remote copy (numbered from 0) that go out together."""

    copy: int
    bytes: float


@dataclass(frozen=True, slots=True)
class Path:
    """How a chunk travels: network to the peer's GPU, then PCIe to its CPU memory. Bytes per second of one GPU."""

    bandwidth: float  # B: network, while training leaves it idle
    startup: float  # alpha, seconds for each chunk
    pcie: float  # GPU memory to CPU memory

    def seconds(self, size: float) -> float:
        """f(s) = alpha + s / B: a chunk on the network."""
        return self.startup + size / self.bandwidth


@dataclass(frozen=True, slots=True)
class Interleaving:
    """One iteration's traffic: chunks and network seconds by idle span, added seconds, reserved GPU memory.

    `blocking` has a span more than was given: the time after the step.
    """

    chunks: tuple[tuple[Chunk, ...], ...]
    used: tuple[float, ...]  # seconds from the start of each span to the end of its last chunk on the network
    added: float  # seconds by which the iteration grows
    buffer: float  # bytes of GPU memory, all buffers together

    @property
    def transfer(self) -> float:
        """Seconds of network that the checkpoint takes, waits for a free buffer included."""
        return sum(self.used)

    def out_of_memory(self, free: float) -> bool:
        """Whether the buffers are more than the free bytes of a GPU."""
        return self.buffer > free


def interleave(
    scheme: str,
    spans: Sequence[float],
    size: float,
    *,
    copies: int,
    path: Path,
    reserved: float,
    buffers: int,
    caution: float = 1.0,
    busy: float = inf,
) -> Interleaving:
    """Send `copies` - 1 copies of `size` bytes in the idle `spans` (seconds, in order) of one iteration.

    gemini: `buffers` sub-buffers share the `reserved` bytes, so that one is copied to CPU memory while the next is
    filled. no_pipeline: one buffer of `reserved` bytes; the network waits for its copy. naive: one chunk fills the
    largest span, whatever memory that takes. blocking: as gemini, but all of it after the step.

    `caution` (mu) is the share of each span that is planned for, as spans vary. The last span is taken as endless:
    what passes its true length is added to the iteration. Buffers left full at the end of a span drain while training
    uses the network (assumption: that lasts longer than the copy of the buffers). The local copy over PCIe runs in
    the `busy` seconds of training traffic; what does not fit there is added.

    Raises ValueError for input without meaning and for more than a million chunks.
    """
    _check(scheme, spans, size, copies=copies, path=path, reserved=reserved, buffers=buffers, caution=caution)
    planned = [caution * span for span in spans] or [0.0]
    count, each = (buffers, reserved / buffers) if scheme in ("gemini", "blocking") else (1, reserved)
    if scheme == "naive":
        each = _largest(planned, size, path)
    if scheme == "blocking":
        planned, spans = [*(0.0 for _ in planned), inf], [*(spans or [0.0]), 0.0]
    planned[-1] = inf
    if (copies - 1) * size / each > MOST_CHUNKS:
        raise ValueError(f"more than {MOST_CHUNKS} chunks of {each:.3g} bytes: larger buffers are needed")
    chunks, used = _fill(planned, size, copies - 1, _Buffers(count, each, path))
    late = max(0.0, used[-1] - (spans[-1] if spans else 0.0))
    local = max(0.0, size / path.pcie - busy)
    return Interleaving(chunks, used, late + local, count * each if copies > 1 else 0.0)


def _largest(planned: Sequence[float], size: float, path: Path) -> float:
    """What the longest span carries in one chunk; a copy in one piece where no span is longer than the start-up."""
    fits = (max(planned) - path.startup) * path.bandwidth
    return min(size, fits) if fits > 0.0 else size


@dataclass(slots=True)
class _Buffers:
    """The receiver's buffers during one span: when the network and the copies before it are done."""

    count: int
    each: float
    path: Path

    def start(self, network: float, copied: Sequence[float]) -> float:
        """Earliest second for the next chunk: the network is free and so is a buffer."""
        return max(network, copied[-self.count]) if len(copied) >= self.count else network

    def copy_end(self, arrived: float, size: float, copied: Sequence[float]) -> float:
        """When a chunk is in CPU memory: copies follow one another over PCIe."""
        return max(arrived, copied[-1] if copied else 0.0) + size / self.path.pcie


def _fill(
    planned: Sequence[float], size: float, copies: int, buffers: _Buffers
) -> tuple[tuple[tuple[Chunk, ...], ...], tuple[float, ...]]:
    """Chunks and network seconds of each span; a chunk holds bytes of one copy only."""
    path, copy, left = buffers.path, 0, size
    plan: list[tuple[Chunk, ...]] = []
    used: list[float] = []
    for span in planned:
        chunks: list[Chunk] = []
        copied: list[float] = []
        network = 0.0
        while copy < copies:
            start = buffers.start(network, copied)
            fits = min(left, buffers.each, (span - start - path.startup) * path.bandwidth)
            if fits <= ROUNDING * size:
                break
            chunks.append(Chunk(copy, fits))
            network = start + path.seconds(fits)
            copied.append(buffers.copy_end(network, fits, copied))
            left -= fits
            if left <= ROUNDING * size:  # repeated subtraction may leave a crumb
                copy, left = copy + 1, size
        plan.append(tuple(chunks))
        used.append(network)
    return tuple(plan), tuple(used)


def _check(
    scheme: str,
    spans: Sequence[float],
    size: float,
    *,
    copies: int,
    path: Path,
    reserved: float,
    buffers: int,
    caution: float,
) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, not {scheme!r}")
    if not (size > 0.0 and reserved > 0.0 and path.bandwidth > 0.0 and path.pcie > 0.0):
        raise ValueError("size, buffers and bandwidths must be positive")
    if any(not span >= 0.0 for span in spans) or not path.startup >= 0.0:
        raise ValueError("idle spans and the start-up must not be negative")
    if copies < 1 or buffers < 1 or not 0.0 < caution <= 1.0:
        raise ValueError(f"need copies, buffers >= 1 and caution in (0, 1], not {copies}, {buffers}, {caution}")
