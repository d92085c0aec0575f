"""From timings to a profile and back: what `gemsim_kernels.bench` measured, as samples.csv, and the fit of them.

`samples.csv` holds every repeat. All numbers of a measured profile.json follow from it alone; `check` refits them.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from gemsim.costs.fit import digits, fit, quantile
from gemsim.costs.profiles import LARGEST, Profile, read_profile
from gemsim.errors import ProfileError, printable, show
from gemsim.files import size_of

SCHEMA = "gemsim-bench 1"  # as gemsim_kernels.bench writes it
OPS = ("encode", "decode", "update")
LAUNCHES = ("launch", "graph_launch", "python_launch")  # ceilings in seconds; all other ceilings are in bytes/s
PLAIN = ("array", "stripes")  # layouts that the fit uses: others are variants, for comparison only
MOST_TOLD = 200  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Series:
    """One thing timed: a coding kernel at one shape or, with k = 0, a ceiling. Bytes are read and written per call."""

    op: str
    field: int
    family: str
    k: int
    m: int
    rows: int
    shard_bytes: int
    stripes: int
    layout: str
    bytes_read: int
    bytes_written: int
    verified: str  # yes | no | - (a ceiling)
    seconds: tuple[float, ...]

    @property
    def moved(self) -> int:
        """Bytes read plus bytes written by one call."""
        return self.bytes_read + self.bytes_written

    @property
    def median(self) -> float:
        """The median of the repeats, in seconds."""
        return quantile(self.seconds, 0.5)


_HEAD = [*(each.name for each in fields(Series) if each.name != "seconds"), "repeat", "seconds"]
_WHOLE = {each.name for each in fields(Series) if each.type == "int"}


def series_of(bench: Mapping[str, Any]) -> list[Series]:
    """What a bench's JSON holds. Raises ProfileError for any other file."""
    if bench.get("schema") != SCHEMA:
        raise ProfileError(f"not the output of gemsim_kernels.bench: schema is {bench.get('schema')!r}, not {SCHEMA!r}")
    rows = bench.get("series")
    if not isinstance(rows, list):
        raise ProfileError(f"a broken bench file: series is no list ({show(rows)}); measure again")
    found = [_series(one, f"a broken bench file: series {number}") for number, one in enumerate(rows, 1)]
    return [one for one in found if one.seconds]


def _series(given: Any, where: str) -> Series:
    """One series of plain data. Raises ProfileError, which begins with `where`."""
    if not isinstance(given, dict) or set(given) != {each.name for each in fields(Series)}:
        raise ProfileError(f"{where}: not an object with {', '.join(each.name for each in fields(Series))}")
    for name, value in given.items():
        if name in _WHOLE and (type(value) is not int or not 0 <= value < 2**63):
            raise ProfileError(f"{where}: {name} is no whole number ({show(value)})")
        if name not in _WHOLE and name != "seconds" and not _text(value):
            raise ProfileError(f"{where}: {name} is no text ({show(value)})")
    seconds = given["seconds"]
    bad = [one for one in seconds if not _timed(one)] if isinstance(seconds, list) else [seconds]
    if bad:
        raise ProfileError(f"{where}: seconds of one call are no time from 1 ps to 1e6 s ({show(bad[0])})")
    if given["op"] in OPS and 0 in (given["k"], given["rows"], given["bytes_read"] + given["bytes_written"]):
        raise ProfileError(f"{where}: {given['op']} of no shard or no byte")
    return Series(**{**given, "seconds": tuple(seconds)})


def _timed(value: Any) -> bool:
    return type(value) in (int, float) and 1e-12 <= value <= 1e6


def _text(value: Any) -> bool:
    """Whether it is text of one line that a file can hold."""
    return isinstance(value, str) and value.isprintable()


def samples_text(series: Iterable[Series]) -> str:
    """samples.csv: one line for every repeat."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_HEAD)
    for one in series:
        *head, seconds = astuple(one)
        writer.writerows([*head, at, repr(second)] for at, second in enumerate(seconds))
    return stream.getvalue()


def read_samples(path: Path) -> list[Series]:
    """The series of a samples.csv. Raises ProfileError."""
    repeats: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    try:
        size_of(path, most=LARGEST)
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.reader(stream)
            if next(reader, None) != _HEAD:
                raise ProfileError(f"{path}: the first line is not {','.join(_HEAD)}")
            for row in reader:
                head = tuple(int(cell) if name in _WHOLE else cell for name, cell in zip(_HEAD, row[:-2], strict=False))
                repeats[head].append(float(row[-1]))
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, IndexError, csv.Error) as error:
        raise ProfileError(f"{path}: a line that cannot be read ({show(str(error))})") from error
    names = _HEAD[:-2]
    return [
        _series({**dict(zip(names, head, strict=False)), "seconds": times}, f"{path}: series {number}")
        for number, (head, times) in enumerate(repeats.items(), 1)
    ]


def fitted(series: Sequence[Series]) -> dict[str, Any]:
    """The numbers of a profile that follow from its samples. Raises ProfileError without a copy bandwidth or an entry.

    A series whose bytes were wrong is left out.
    """
    ceilings = _ceilings(series)
    if "copy" not in ceilings:
        raise ProfileError("the copy bandwidth was not measured, so there is nothing to compare with: run it again")
    launch = ceilings.get("launch", 0.0)
    groups: dict[tuple[str, int, int, int], list[Series]] = defaultdict(list)
    for one in series:
        if one.op in OPS and one.verified == "yes" and one.layout in PLAIN:
            # The difference of a shard costs the same at every width.
            groups[one.op, one.field, one.rows, 0 if one.op == "update" else one.k].append(one)
    if not groups:
        raise ProfileError("no kernel was timed with verified bytes: nothing to fit")
    points = [_point(key, groups[key], ceilings["copy"], launch) for key in sorted(groups, key=_order)]
    return {"copy_bandwidth": ceilings["copy"], "launch": launch, "ceilings": ceilings, "points": points}


def _order(key: tuple[str, int, int, int]) -> tuple[int, int, int, int]:
    return OPS.index(key[0]), *key[1:]


def _ceilings(series: Iterable[Series]) -> dict[str, float]:
    """Of each ceiling the median at its largest size."""
    largest: dict[str, Series] = {}
    for one in series:
        if one.op not in OPS and (one.op not in largest or one.moved > largest[one.op].moved):
            largest[one.op] = one
    return {op: digits(one.median if op in LAUNCHES else one.moved / one.median) for op, one in sorted(largest.items())}


def _point(key: tuple[str, int, int, int], group: Sequence[Series], copy: float, launch: float) -> dict[str, Any]:
    op, bits, rows, k = key
    timed: dict[int, list[float]] = defaultdict(list)
    for one in group:
        timed[one.moved].extend(one.seconds)
    line = fit(timed, launch=launch)
    return {
        "op": op,
        "field": bits,
        "k": k or None,
        "rows": rows,
        "ratio": digits(line.bandwidth / copy),
        "low": digits(line.bandwidth / copy / line.slow),
        "high": digits(line.bandwidth / copy / line.quick),
        "t0": line.t0,
        "bandwidth": line.bandwidth,
        "residual": line.residual,
        "samples": line.samples,
        "smallest": min(timed),
        "largest": max(timed),
    }


def profile_data(bench: Mapping[str, Any], *, conditions: str = "") -> dict[str, Any]:
    """profile.json as plain data."""
    series = series_of(bench)
    _refuse_untold(bench)
    wrong = sum(one.verified == "no" for one in series)
    numbers = fitted(series)
    points = numbers.pop("points")
    return {
        "format": 1,
        "device": bench["device"],
        "date": bench["taken"][:10],
        "source": "measured",
        **numbers,
        "conditions": conditions,
        "decode_reads": bench["decode_reads"],
        "unfinished": bench["unfinished"] + (f"; {wrong} series with WRONG BYTES left out" if wrong else ""),
        "provenance": {
            "copy_bandwidth": "median copy at the largest size, bytes read plus written, repeated through the run",
            "points": "t = t0 + bytes / bandwidth, least squares of the relative error of the medians in samples.csv",
            "bytes": "shards read and written: encode k + m, decode those it reads + lost, update 2 (touched + m)",
            **{name: str(value) for name, value in bench["facts"].items()},
        },
        "points": points,
    }


def _refuse_untold(bench: Mapping[str, Any]) -> None:
    """Raises ProfileError where what stands beside the series is missing or is no text."""
    for name in ("device", "taken", "kind", "decode_reads", "unfinished"):
        if not _text(bench.get(name)):
            raise ProfileError(f"a broken bench file: {name} is no text ({show(bench.get(name))}); measure again")
    facts = bench.get("facts")
    if not isinstance(facts, dict) or not all(_text(name) and _text(str(value)) for name, value in facts.items()):
        raise ProfileError(f"a broken bench file: facts are no object of texts ({show(facts)}); measure again")


def profile_text(data: Mapping[str, Any]) -> str:
    """The file's text: one line for each point."""
    head = json.dumps({key: value for key, value in data.items() if key != "points"}, indent=2, ensure_ascii=False)
    points = ",\n".join(f"    {json.dumps(point)}" for point in data["points"])
    return f'{head.removesuffix("}").rstrip()},\n  "points": [\n{points}\n  ]\n}}\n'


def write_profile(root: Path, bench: Mapping[str, Any], *, conditions: str = "") -> Path:
    """Write ROOT/DEVICE/DATE/profile.json and samples.csv and return that folder. Raises ProfileError."""
    data = profile_data(bench, conditions=conditions)
    try:
        Profile.model_validate(data)
    except ValueError as error:
        raise ProfileError(f"the measurement makes no profile: {error}") from error
    folder = root / str(data["device"]) / str(data["date"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples.csv").write_text(samples_text(series_of(bench)))
    (folder / "profile.json").write_text(profile_text(data), encoding="utf-8")
    return folder


def check(path: Path) -> list[str]:
    """What in the profile.json at `path` does not follow from the samples.csv beside it; nothing where all is well.

    A modelled profile has no samples and needs only be readable. Raises ProfileError where one of them cannot be used.
    """
    profile = read_profile(path.resolve())
    if profile.kind == "modelled":
        return []
    again = fitted(read_samples(path.parent / "samples.csv"))
    data = json.loads(path.read_text(encoding="utf-8"))
    wrong = [
        f"{name}: the file says {_told(data.get(name))}, its samples give {_told(again[name])}"
        for name in ("copy_bandwidth", "launch", "ceilings")
        if data.get(name) != again[name]
    ]
    held, made = ({_name(point): point for point in points} for points in (data["points"], again["points"]))
    wrong += [f"{name}: no samples" for name in held if name not in made]
    wrong += [f"{name}: in the samples, not in the file" for name in made if name not in held]
    for name in held:
        if name in made and held[name] != made[name]:
            keys = [key for key in made[name] if held[name].get(key) != made[name][key]]
            wrong += [
                f"{name}: {key} is {_told(held[name].get(key))}, its samples give {_told(made[name][key])}"
                for key in keys
            ]
    return wrong


def _told(value: object) -> str:
    """A value with all its digits, cut where a file holds far more than any profile."""
    text = printable(" ".join(str(value).split()))
    return text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 3]}..."


def _name(point: Mapping[str, Any]) -> str:
    width = "any k" if point["k"] is None else f"k = {point['k']}"
    return f"{point['op']}, field {point['field']}, {width}, rows {point['rows']}"
