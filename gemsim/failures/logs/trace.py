"""A replayed log as the trace of a replication: failures from blocks of the log, down times as repair marks.

Node i of the replay is place i of the job, the nodes beyond the job's are its spares. What the log does not say (where
in a node, how soon seen, ...) are marks of the usual streams, so that designs meet the same failures.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

import numpy as np

from gemsim.errors import ValueRefused
from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import Duration, duration
from gemsim.failures.logs.clean import Floats, Log, clean
from gemsim.failures.logs.read import LARGEST_BYTES, Where, read_log
from gemsim.failures.logs.replay import HOUR, Replayed, replay
from gemsim.failures.logs.statistics import merge_repeats
from gemsim.failures.streams import uniforms
from gemsim.failures.trace import Event, Trace, draw_trace
from gemsim.files import size_of

# In standard deviations. Between them a uniform of 53 bits gives each down time back to nine digits.
_LOW, _HIGH = -30.0, 4.5
_SIGMA = (0.01, 4.0)


@dataclass(frozen=True, slots=True)
class Replay:
    """A log to replay, read again wherever it is needed. Two replays of one content are equal, wherever it lies."""

    path: str = field(compare=False)  # absolute
    sha256: str  # of the file's bytes
    columns: tuple[tuple[str, str], ...]
    where: tuple[Where, ...]
    nodes: int
    begin_h: float | None
    window_h: float
    origin: str | None
    merge_h: float
    block_h: float
    permute: bool  # nodes of the log change places at random
    names: tuple[str, ...]  # failure class of each kind of the log
    unknown: Duration | None  # of outages whose down time is not known


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes. Raises ValueRefused."""
    try:
        size_of(path, most=LARGEST_BYTES)
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ValueRefused(f"{path}: cannot be read ({error.strerror})", "a CSV file") from error


def merged(found: Log, merge_h: float) -> Log:
    """The log with equal rows once, without the repeats of a node within `merge_h` hours of the last one kept."""
    found = found.once()
    if merge_h <= 0 or not found.named:
        return found
    return found.only(merge_repeats(found.time_h, found.node, merge_h))


@lru_cache(maxsize=4)
def the_log(source: Replay) -> Log:
    """The log of a replay, read once in each process. Raises ValueRefused when the file is not what it was."""
    path = Path(source.path)
    if digest(path) != source.sha256:
        raise ValueRefused(
            f"{path}: the log has changed since the study was read", "the same file for all replications", "run it anew"
        )
    rows = read_log(path, columns=dict(source.columns), where=source.where, origin=source.origin)
    found = clean(rows, nodes=source.nodes, begin_h=source.begin_h, window_h=source.window_h)
    return merged(found, source.merge_h)


def repair_law(down_h: Floats, unknown: Duration | None) -> Duration | None:
    """The law of seconds of a class with these down times in hours; nan is not known and follows `unknown`.

    A lognormal with the mean of the known ones and the sigma of their logarithms, widened where the longest or the
    shortest would lie too far out to be given back by a uniform. Fixed where all are 0; `unknown` where none is known.
    """
    known = down_h[~np.isnan(down_h)]
    if not len(known):
        return unknown
    above = known[known > 0]
    if not len(above):
        drawn = unknown is not None and len(known) < len(down_h) and unknown.mean > 0.0
        return duration("lognormal", unknown.mean, 1.0) if drawn and unknown else duration("fixed", 0.0)
    mean, logs = float(known.mean()), np.log(above)
    longest, shortest = float(logs.max()) - math.log(mean), float(logs.min()) - math.log(mean)
    least = _HIGH - math.sqrt(max(_HIGH * _HIGH - 2.0 * longest, 0.0))
    sigma = max(float(logs.std()), least, shortest / _LOW, _SIGMA[0])
    return duration("lognormal", mean * HOUR, min(sigma, _SIGMA[1]))


def share_below(law: Duration, seconds: float) -> float:
    """The uniform whose quantile under a lognormal law is `seconds`; a fixed law has but one, and any will do."""
    if law.kind == "fixed" or seconds <= 0.0:
        return 0.0
    z = math.log(seconds / law.mean) / law.sigma + law.sigma / 2.0
    return min(0.5 * math.erfc(-z / math.sqrt(2.0)), 1.0 - 2.0**-53)


def as_trace(
    source: Replay, classes: Sequence[FailureClass], *, horizon: float, seed: int, replication: int, stationary: bool
) -> Trace:
    """The failures of one replication up to `horizon` s: those of the log's classes replayed, any others drawn from
    their laws. More spares only append to those of each class, so that marks stay."""
    index_of = {kind.name: index for index, kind in enumerate(classes) if kind.name in source.names}
    log = the_log(source)
    own = [classes[index] for index in index_of.values()]
    nodes = max((kind.units + kind.spare_units for kind in own), default=1)
    run = replay(
        log, horizon=horizon, nodes=nodes, seed=seed, replication=replication, block_h=source.block_h,
        permute=source.permute,
    )  # fmt: skip
    trace = _drawn(classes, index_of, horizon, seed, replication, stationary)
    name_of = dict(zip(log.kinds, source.names, strict=True))
    by_class: dict[int, list[Replayed]] = {index: [] for index in index_of.values()}
    for one in run:
        index = index_of.get(name_of[one.kind])
        if index is not None and one.node < classes[index].units + classes[index].spare_units:
            by_class[index].append(one)
    for index, failures in by_class.items():
        units = classes[index].units
        spares = sorted((one for one in failures if one.node >= units), key=attrgetter("node", "time"))
        ordered = [one for one in failures if one.node < units] + spares
        trace.wall.extend(Event(one.time, index, number, one.node) for number, one in enumerate(ordered))
        trace.counts[index] = len(ordered)
        trace.set_marks(index, "repair", _repairs(source, classes[index], ordered, seed, replication))
    trace.wall.sort(key=attrgetter("time"))
    return trace


def _drawn(
    classes: Sequence[FailureClass], replayed: dict[str, int], horizon: float, seed: int, replication: int,
    stationary: bool,
) -> Trace:  # fmt: skip
    """A trace of all classes with the failures of those that are not in the log."""
    others = [index for index, kind in enumerate(classes) if kind.name not in replayed]
    laws = draw_trace(
        [classes[index] for index in others], horizon=horizon, seed=seed, replication=replication, stationary=stationary
    )
    wall, running = (
        [Event(e.time, others[e.index], e.number, e.unit, e.bound, e.again) for e in events]
        for events in (laws.wall, laws.running)
    )
    counts = [0] * len(classes)
    for index, count in zip(others, laws.counts, strict=True):
        counts[index] = count
    return Trace(tuple(classes), seed, replication, wall, running, counts)


def _repairs(
    source: Replay, kind: FailureClass, failures: Sequence[Replayed], seed: int, replication: int
) -> list[float]:
    """The mark `repair` of each failure: the uniform at which the law of the class gives its down time."""
    drawn = uniforms(seed, replication, kind.name, "repair", count=len(failures))
    marks = []
    for one, u in zip(failures, drawn, strict=True):
        seconds = one.downtime
        if seconds is None and source.unknown is not None and source.unknown != kind.repair:
            seconds = source.unknown.quantile(u)
        marks.append(u if seconds is None else share_below(kind.repair, seconds))
    return marks
