"""Seconds of encode, decode and delta update on one device: the bytes they must move over the speed its profile gives.

Between entries of a profile the ratio is interpolated and the band covers both neighbours. Beyond them the nearest
entry is taken, its band widened, and the note shouts that it was extrapolated; a strict profile refuses instead.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

from gemsim.costs.profiles import Op, Point, Profile
from gemsim.errors import NotMeasured, ProfileError
from gemsim_kernels import family
from gemsim_kernels.codes import Field

BEYOND_TABLE = 0.5  # assumption: past the table a kernel may run at half of the nearest entry's worst


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds with a band, and what they rest on ("modelled, not measured", "EXTRAPOLATED: ...")."""

    seconds: float
    lo: float
    hi: float
    note: str


@dataclass(frozen=True, slots=True)
class _Ratio:
    """Achieved share of copy bandwidth with its band; `beyond` says in what it lies outside the profile's entries.

    `t0` is the fitted start of one launch and None where the profile gives one for all; `largest` the most bytes that
    were timed.
    """

    value: float
    low: float
    high: float
    beyond: str = ""
    t0: float | None = None
    largest: float = math.inf


def encode_seconds(
    profile: Profile, *, k: int, m: int, data_bytes: float, field: Field = "auto", launches: int = 1
) -> Cost:
    """Compute the parity of `data_bytes` of data in k + m stripes: reads every data byte, writes m/k of that.

    `launches` kernels do it: stripes / stripes per launch. Raises CodeLimit where no code covers k + m, ProfileError
    where the profile has no entry near.
    """
    moved = data_bytes * (k + m) / k
    return _cost(profile, "encode", k=k, rows=m, m=m, moved=moved, field=field, launches=launches)


def decode_seconds(profile: Profile, *, k: int, m: int, lost: int, chunk_bytes: float, field: Field = "auto") -> Cost:
    """Rebuild `lost` chunks of one stripe: reads k others, or all k + m - lost where its kernels sum checks."""
    if not 0 <= lost <= m:
        raise ValueError(f"{lost} lost chunks of a stripe with m = {m}: at most m can be rebuilt")
    by_checks = profile.decode_reads == "survivors" and family(k, m, field).name == "rs"
    shards = k + m if by_checks else k + lost
    return _cost(profile, "decode", k=k, rows=lost, m=m, moved=chunk_bytes * shards, field=field)


def update_seconds(
    profile: Profile, *, k: int, m: int, touched: int, chunk_bytes: float, field: Field = "auto"
) -> Cost:
    """Bring the parity of one stripe up to date by the difference of `touched` chunks.

    Reads old and new of each, reads and writes m parities: less traffic than an encode while 2 * touched + m < k.
    """
    if not 0 <= touched <= k:
        raise ValueError(f"{touched} touched chunks of a stripe with k = {k}")
    moved = chunk_bytes * 2 * (touched + m) if touched else 0.0
    return _cost(profile, "update", k=k, rows=m, m=m, moved=moved, field=field)


def _cost(
    profile: Profile, op: Op, *, k: int, rows: int, m: int, moved: float, field: Field, launches: int = 1
) -> Cost:
    code = family(k, m, field)
    if rows == 0 or moved == 0:
        return Cost(0.0, 0.0, 0.0, "nothing to code")
    ratio = _ratio(profile, op, code.field_bits, k, rows)
    if ratio.beyond and profile.outside == "refuse":
        raise NotMeasured(
            f"profile {profile.device}/{profile.date} is strict and does not hold {op} at {k} + {m}: {ratio.beyond}; "
            "without 'strict' behind its name this is extrapolated and marked"
        )
    at_full_speed = moved / profile.copy_bandwidth
    start = launches * (profile.launch if ratio.t0 is None else ratio.t0)
    # The band of a measured entry holds whole times, start included; that of a modelled one its ratio alone.
    most, least = (1.0, 1.0) if ratio.t0 is None else (ratio.value / ratio.low, ratio.value / ratio.high)
    return Cost(
        start + at_full_speed / ratio.value,
        start * least + at_full_speed / ratio.high,
        start * most + at_full_speed / ratio.low,
        _note(profile, ratio, moved / launches),
    )


def _note(profile: Profile, ratio: _Ratio, moved: float) -> str:
    note = "measured" if profile.kind == "measured" else "modelled, not measured"
    if profile.conditions:
        note += f" ({profile.conditions})"
    if moved > ratio.largest:
        note += f"; linear beyond the {ratio.largest:.3g} bytes measured"
    return f"{note}; EXTRAPOLATED: {ratio.beyond}" if ratio.beyond else note


def _ratio(profile: Profile, op: Op, bits: int, k: int, rows: int) -> _Ratio:
    """The profile's ratio at (k, rows), interpolated over rows between the two nearest that it holds."""
    points = [point for point in profile.points if point.op == op and point.field == bits]
    held = sorted({point.rows for point in points})
    if not held or not held[0] <= rows <= held[-1]:
        return _other_field(profile, op, bits, k, rows)
    below = max(each for each in held if each <= rows)
    above = min(each for each in held if each >= rows)
    first = _at_width([point for point in points if point.rows == below], k)
    if above == below:
        return first
    second = _at_width([point for point in points if point.rows == above], k)
    return _between(first, second, (rows - below) / (above - below))


def _other_field(profile: Profile, op: Op, bits: int, k: int, rows: int) -> _Ratio:
    """GF(2^16) and XOR without entries of their own cost what GF(2^8) does at the same rows, marked extrapolated."""
    if bits == 8 or not any(point.op == op and point.field == 8 for point in profile.points):
        word = "lost chunks" if op == "decode" else "parity shards"
        raise ProfileError(f"profile {profile.device}/{profile.date} has no entry for {op} with {rows} {word}")
    found = _ratio(profile, op, 8, k, rows)
    if found.beyond:
        return found
    over = "XOR" if bits == 1 else f"GF(2^{bits})"
    return replace(found, low=found.low * BEYOND_TABLE, beyond=f"no entry over {over}, GF(2^8) taken")


def _at_width(points: list[Point], k: int) -> _Ratio:
    """The ratio at width k from entries that differ in k alone, interpolated over log k."""
    entries = {point.k: _entry(point) for point in points}
    if None in entries:
        return entries[None]
    widths = sorted(width for width in entries if width is not None)
    right = bisect_left(widths, k)
    if k in entries:
        return entries[k]
    if right in (0, len(widths)):
        edge = widths[0] if right == 0 else widths[-1]
        end = entries[edge]
        beyond = f"k = {k} is {'below' if right == 0 else 'beyond'} the table's {edge}"
        return replace(end, low=end.low * BEYOND_TABLE, beyond=beyond)
    below, above = widths[right - 1], widths[right]
    return _between(entries[below], entries[above], math.log(k / below) / math.log(above / below))


def _entry(point: Point) -> _Ratio:
    largest = math.inf if point.largest is None else point.largest
    return _Ratio(point.ratio, point.low, point.high, "", point.t0, largest)


def _between(first: _Ratio, second: _Ratio, share: float) -> _Ratio:
    value = first.value + (second.value - first.value) * share
    low, high = min(first.low, second.low), max(first.high, second.high)
    t0 = None if first.t0 is None or second.t0 is None else first.t0 + (second.t0 - first.t0) * share
    return _Ratio(value, low, high, first.beyond or second.beyond, t0, min(first.largest, second.largest))
