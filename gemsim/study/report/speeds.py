"""How fast the study's device codes beside how fast it copies, from the profile that gave the sweep its costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gemsim.costs.kernels import Cost, decode_seconds, encode_seconds
from gemsim.costs.profiles import STRICT, Profile, load_profile
from gemsim.errors import GemsimError
from gemsim.results.figures.roofline import Speed, roofline_figure
from gemsim.study.report import axes
from gemsim.study.report.content import Figure, Left
from gemsim.study.report.view import View
from gemsim.units import brief

STATE = 2.0**30  # bytes of data coded at once: large enough that the start of a kernel does not count
MOST_ROWS = 4
USUAL = (1, 2, 4)  # parities shown where none are swept
WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256)


def roofline(view: View) -> Figure | Left:
    """Encode and decode in bytes read and written per second, under the copy bandwidth."""
    title = "Speed of coding"
    names = list(dict.fromkeys(str(row["profile"]) for row in view.rows if row["profile"]))
    if not names:
        return Left(title, "no design rests on a calibration profile")
    if not _coded(view):
        return Left(title, "no design holds a code")
    asked = names[0].partition("#")[0]
    try:
        known = {one.id: one for one in (load_profile(asked), load_profile(f"{asked}{STRICT}"))}
    except GemsimError as error:
        return Left(title, f"the profile of the sweep cannot be read here: {' '.join(str(error).split())}")
    if names[0] not in known:
        return Left(title, f"the profile {asked} is another one here ({min(known)}) than in the sweep ({names[0]})")
    profile = known[names[0]]
    swept, rows = _swept(view, ".k"), [m for m in _swept(view, ".m") if m > 0][:MOST_ROWS] or list(USUAL)
    widths = sorted({*WIDTHS, *(k for k in swept if k >= 1)})
    lines = [
        ("encode", [_line(profile, _encode, widths, m, f"m = {m}") for m in rows]),
        ("decode of m lost chunks", [_line(profile, _decode, widths, m, f"m = {m}") for m in rows]),
    ]
    lines = [(name, [one for one in own if one.k]) for name, own in lines]
    if not all(own for _, own in lines):
        return Left(title, f"the profile {asked} has no entries for encode and decode")
    return Figure(
        "roofline", f"{title}: {asked}, {_kind(profile)}", _seen(profile, lines), *roofline_figure(
            lines, copy=profile.copy_bandwidth, swept=swept,
        ), wide=True,
    )  # fmt: skip


def _coded(view: View) -> bool:
    """Whether a design may hold a code: one of GPU memory costs some, one elsewhere has no burst to tell."""
    rows = [row for row in view.rows if row["feasible"]]
    swept = _swept(view, ".k") or any(m > 0 for m in _swept(view, ".m"))
    return bool(swept) or any(row["memory_overhead"] or row["survivable_burst_pages"] is None for row in rows)


def _kind(profile: Profile) -> str:
    return "measured" if profile.source == "measured" else "modelled, not measured"


def _seen(profile: Profile, lines: Sequence[tuple[str, Sequence[Speed]]]) -> str:
    parts = []
    for name, own in lines:
        shares = [speed / profile.copy_bandwidth for one in own for speed in one.speed]
        parts.append(f"{name} {100 * min(shares):.0f} to {100 * max(shares):.0f} %")
    hollow = any(beyond for _, own in lines for one in own for beyond in one.beyond)
    said = " Hollow markers: EXTRAPOLATED beyond the profile." if hollow else ""
    copy = brief(profile.copy_bandwidth, "bandwidth")
    return (
        f"Bytes read and written per second while 1 GiB is coded, {_kind(profile)}, under the copy bandwidth of {copy}"
        f": {' and '.join(parts)} of it. Bands: what the profile trusts its entries to.{said}"
    )


def _encode(profile: Profile, k: int, m: int) -> tuple[Cost, float]:
    return encode_seconds(profile, k=k, m=m, data_bytes=STATE), STATE * (k + m) / k


def _decode(profile: Profile, k: int, m: int) -> tuple[Cost, float]:
    chunk = STATE / k
    return decode_seconds(profile, k=k, m=m, lost=m, chunk_bytes=chunk), chunk * (k + m)


def _line(
    profile: Profile, op: Callable[[Profile, int, int], tuple[Cost, float]], widths: Sequence[int], m: int, name: str
) -> Speed:
    """One line; widths that no code covers or the profile refuses are left out."""
    found = []
    for k in widths:
        try:
            cost, moved = op(profile, k, m)
        except (GemsimError, ValueError):
            continue
        found.append((k, moved / cost.seconds, moved / cost.hi, moved / cost.lo, "EXTRAPOLATED" in cost.note))
    return Speed(name, *(list(part) for part in zip(*found, strict=True))) if found else Speed(name, (), (), (), (), ())


def _swept(view: View, tail: str) -> list[int]:
    """The values of an axis of widths or parities."""
    found: set[int] = set()
    for path in view.result.points[0].columns:
        if path.endswith(tail):
            found |= {raw for raw in axes.values(view.result.points, path) if isinstance(raw, int)}
    return sorted(found)
