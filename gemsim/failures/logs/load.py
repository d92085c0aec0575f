"""A log with what is known of how it was observed: what was asked for first, then what lies beside the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gemsim.errors import ValueRefused
from gemsim.failures.logs.clean import LONGEST_H, Log, clean
from gemsim.failures.logs.exposure import Exposure, read_exposure
from gemsim.failures.logs.meta import Meta, read_meta
from gemsim.failures.logs.read import Rows, Where, read_log


@dataclass(frozen=True, slots=True)
class Request:
    """Which rows of which file, and what is said of the observation; None: as a meta.json beside the file has it."""

    path: Path
    columns: tuple[tuple[str, str], ...] = ()  # our name, the file's
    where: tuple[Where, ...] = ()
    by: str = "component"
    nodes: int | None = None
    begin_h: float | None = None
    window_h: float | None = None
    origin: str | None = None  # ISO time of hour 0, where the log has absolute times
    exposure: Path | None = None  # nodes that join and leave; looked for beside the log too


@dataclass(frozen=True, slots=True)
class Observation:
    """Rows with the nodes and the window in which they were seen; None where nothing says it."""

    rows: Rows
    meta: Meta
    nodes: int | None
    begin_h: float | None
    window_h: float | None
    exposure: Exposure | None

    def log(self, merge_h: float = 0.0) -> Log:
        """The cleaned log, with notes for repeats merged within `merge_h`. Raises ValueRefused for what cannot be
        counted."""
        return clean(
            self.rows, nodes=self.nodes, begin_h=self.begin_h, window_h=self.window_h, exposure=self.exposure,
            merge_h=merge_h,
        )  # fmt: skip


def observe(request: Request) -> Observation:
    """Read the rows asked for and what lies beside them. Raises ValueRefused, also for a log that is no measure of a
    rate."""
    rows = read_log(
        request.path, columns=dict(request.columns), where=request.where, by=request.by, origin=request.origin
    )
    needed = request.nodes is None or request.window_h is None
    meta = read_meta(request.path, request.where, needed=needed)
    if meta.refused:
        raise ValueRefused(
            f"{request.path}: its {rows.read} rows cannot give a rate, for its meta.json calls it '{meta.refused}'",
            "a rate needs a log that holds every failure of its window",
            "use this one for what a failure cost, not for how often it comes",
        )  # fmt: skip
    begin = meta.begin_h if request.begin_h is None else request.begin_h
    length = request.window_h
    if length is None and meta.end_h is not None:
        length = meta.end_h - (begin or 0.0)
    if length is not None and length > LONGEST_H:
        raise ValueRefused(
            f"{request.path}: observed for {length:.6g} h",
            f"at most {LONGEST_H:.6g} h, a century",
            "mend --window or meta.json",
        )
    there = None
    if request.exposure is not None:
        there = _exposure(request, begin or 0.0, length)
        length = there.end_h - (begin or 0.0) if length is None else length
    return Observation(rows, meta, request.nodes or meta.nodes, begin, length, there)


def _exposure(request: Request, start: float, length: float | None) -> Exposure:
    named = request.exposure
    assert named is not None
    beside = named if named.is_file() or named.is_absolute() else request.path.parent / named
    end = start + length if length is not None else None
    return read_exposure(beside, where=request.where, begin_h=start, end_h=end)
