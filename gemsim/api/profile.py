"""A calibration profile in a program: what coding costs on a device, whether it was measured, and every repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal

import pandas as pd

from gemsim.api import html
from gemsim.api.frames import frame
from gemsim.costs import profiles
from gemsim.costs.calibrate import read_samples
from gemsim.costs.kernels import decode_seconds, encode_seconds
from gemsim.costs.profiles import profile_path
from gemsim.errors import ProfileError

POINTS = {
    "op": "text",
    "field": "bit",
    "k": "1",
    "rows": "1",
    "ratio": "1",
    "low": "1",
    "high": "1",
    "throughput": "B/s",
    "throughput_lo": "B/s",
    "throughput_hi": "B/s",
    "t0": "s",
    "residual": "1",
    "samples": "1",
    "smallest": "B",
    "largest": "B",
}
SAMPLES = {
    "op": "text",
    "field": "bit",
    "family": "text",
    "k": "1",
    "m": "1",
    "rows": "1",
    "shard_bytes": "B",
    "stripes": "1",
    "layout": "text",
    "bytes_moved": "B",
    "verified": "text",
    "repeat": "1",
    "seconds": "s",
    "throughput": "B/s",
}
COSTS = {"op": "text", "k": "1", "m": "1", "bytes": "B", "seconds": "s",
         "seconds_lo": "s", "seconds_hi": "s", "note": "text"}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Profile:
    """The speed of coding on one device. `kind` says whether it was measured or is modelled."""

    found: profiles.Profile
    name: str

    @property
    def kind(self) -> Literal["modelled", "measured"]:
        """`modelled` or `measured`: what every output that rests on it says."""
        return self.found.source

    @property
    def copy_bandwidth(self) -> float:
        """Bytes read plus bytes written per second by a plain copy."""
        return self.found.copy_bandwidth

    @property
    def provenance(self) -> dict[str, str]:
        """Where each number is from."""
        return dict(self.found.provenance)

    @property
    def points(self) -> pd.DataFrame:
        """An entry a row: `ratio` of the copy bandwidth with its band (`low`, `high`), the same as `throughput` in
        bytes read and written per second, and of measured ones the fit: `t0`, `residual`, sizes. `rows` is m for
        encode and update, the number of lost shards for decode; `k` is NaN where the entry holds for every width."""
        return frame(self._points(), POINTS)

    @property
    def samples(self) -> pd.DataFrame:
        """Every repeat of every timing, a row each. Raises ProfileError for a modelled profile: nothing was timed."""
        if self.kind == "modelled":
            raise ProfileError(f"profile {self.found.id} is modelled, not measured, so there are no samples")
        series = read_samples(profile_path(self.name).parent / "samples.csv")
        rows = (
            {**{name: getattr(one, name) for name in SAMPLES if hasattr(one, name)}, "bytes_moved": one.moved,
             "repeat": repeat, "seconds": seconds, "throughput": one.moved / seconds if one.moved else None}
            for one in series
            for repeat, seconds in enumerate(one.seconds)
        )  # fmt: skip
        return frame(rows, SAMPLES)

    def cost(self, *, k: int, m: int, bytes: float, lost: int = 0) -> pd.DataFrame:
        """Seconds to encode `bytes` of data as k + m, with their band, and where shards are `lost` to rebuild chunks of
        `bytes` / k. `note` says modelled or measured, and EXTRAPOLATED beyond the entries.

        >>> import gemsim as gs
        >>> gs.load_profile("nvidia-h100").cost(k=32, m=1, bytes=6.6e9)["note"][0]
        'modelled, not measured'
        """
        found = [("encode", encode_seconds(self.found, k=k, m=m, data_bytes=bytes))]
        if lost:
            found.append(("decode", decode_seconds(self.found, k=k, m=m, lost=lost, chunk_bytes=bytes / k)))
        rows = (
            {"op": op, "k": k, "m": m, "bytes": float(bytes), "seconds": one.seconds, "seconds_lo": one.lo,
             "seconds_hi": one.hi, "note": one.note}
            for op, one in found
        )  # fmt: skip
        return frame(rows, COSTS)

    def _points(self) -> Iterator[dict[str, Any]]:
        copy = self.found.copy_bandwidth
        for one in self.found.points:
            speeds = {"throughput": one.ratio, "throughput_lo": one.low, "throughput_hi": one.high}
            yield {**one.model_dump(), **{name: ratio * copy for name, ratio in speeds.items()}}

    def __repr__(self) -> str:
        return f"Profile({', '.join(f'{name}: {value}' for name, value in self._facts())})"

    def _repr_html_(self) -> str:
        sources = [(f"source of {name}", value) for name, value in self.provenance.items()]
        return html.facts([*self._facts(), *sources])

    def _facts(self) -> list[tuple[str, str]]:
        pairs = [
            ("profile", self.found.id),
            ("kind", "measured" if self.kind == "measured" else "modelled, not measured"),
            ("copy bandwidth", f"{self.copy_bandwidth / 1e9:.4g} GB/s"),
            ("entries", str(len(self.found.points))),
            ("conditions", self.found.conditions),
            ("unfinished", self.found.unfinished),
        ]
        return [(name, value) for name, value in pairs if value]


def load_profile(name: str | PathLike[str]) -> Profile:
    """The profile DEVICE/DATE, or DEVICE for its newest measured one and, before there is one, the modelled one; or
    that of a folder DEVICE/DATE. With " strict" behind the name, costs beyond its entries are refused.

    Raises ProfileError when there is none, with the close match.

    >>> import gemsim as gs
    >>> gs.load_profile("nvidia-h200").kind
    'modelled'
    """
    found = profiles.load_profile(fspath(name))
    return Profile(found, fspath(name).removesuffix(profiles.STRICT))
