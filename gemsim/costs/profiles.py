"""Calibration profiles: how fast a device codes, as a share of its own copy bandwidth, and where each number is from.

A profile is `calibration/profiles/DEVICE/DATE/profile.json`. DATE is a day for a measured one and the word `modelled`
for one that rests on a model; `source` says the same inside the file, and every output that uses it repeats it.
Measured ones carry a fit for each entry, t = t0 + bytes / bandwidth; `gemsim calibrate` writes them.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gemsim import resources
from gemsim.errors import ProfileError, show
from gemsim.files import first_of, read_file

Op = Literal["encode", "decode", "update"]
Outside = Literal["extrapolate", "refuse"]

STRICT = " strict"  # `profile: NAME strict` in a study: refuse what the profile does not hold
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
LARGEST = 64 * 2**20  # bytes of a profile
_MOST = 4  # no kernel moves more than this multiple of what a plain copy does: beyond it the measurement is at fault


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Point(_Part):
    """One entry: bytes read and written per second over the copy bandwidth, with the band it is trusted to.

    `rows` is m for encode and update, the number of lost shards for decode. `field` is the bits of the field, 1 for
    XOR. `k` is None where the entry holds for every width. The rest is of measured entries: seconds = t0 + bytes /
    bandwidth for `smallest` to `largest` bytes read and written. Their band holds nine of ten measured times, t0
    included; `residual` is the largest relative distance of a size's median from the fit.
    """

    op: Op
    field: Literal[1, 8, 16]
    k: int | None = Field(ge=1)
    rows: int = Field(ge=1)
    ratio: float = Field(gt=0, le=_MOST)
    low: float = Field(gt=0, le=_MOST)
    high: float = Field(gt=0, le=_MOST)
    t0: float | None = Field(default=None, ge=0)
    bandwidth: float | None = Field(default=None, gt=0)
    residual: float | None = Field(default=None, ge=0)
    samples: int | None = Field(default=None, ge=1)
    smallest: int | None = Field(default=None, ge=1)
    largest: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.ratio <= self.high:
            raise ValueError(f"ratio {self.ratio} is outside its band {self.low} to {self.high}")
        if (self.t0 is None) != (self.bandwidth is None):
            raise ValueError("t0 and bandwidth belong together")
        return self


class Profile(_Part):
    """The speeds of one device. `copy_bandwidth` counts bytes read plus bytes written per second."""

    format: Literal[1]
    device: str
    date: str
    source: Literal["modelled", "measured"]
    copy_bandwidth: float = Field(gt=0)
    launch: float = Field(ge=0)  # seconds to start one kernel
    provenance: dict[str, str]
    points: tuple[Point, ...] = Field(min_length=1)
    conditions: str = ""  # what disturbed the measurement, such as a shared machine
    unfinished: str = ""  # what of the planned grid was not measured, and why
    ceilings: dict[str, float] = Field(default_factory=dict)  # bytes/s; seconds for launches
    outside: Outside = "extrapolate"  # what a look-up beyond the entries does
    decode_reads: Literal["survivors", "k"] = "survivors"  # shards that a rebuild of Reed-Solomon reads

    @model_validator(mode="after")
    def _dated(self) -> Self:
        if not _NAME.fullmatch(self.device):  # it names a folder
            raise ValueError(f"device {show(self.device)} is no name of letters, digits, dots, dashes")
        dated = _DAY.fullmatch(self.date) is not None
        if (self.source == "modelled") != (self.date == "modelled") or (self.source == "measured") != dated:
            raise ValueError(f"date {self.date!r} does not go with source {self.source!r}")
        if not self.provenance:
            raise ValueError("provenance is empty: say where each number is from")
        for point in self.points:
            if point.bandwidth and abs(point.bandwidth / self.copy_bandwidth / point.ratio - 1) > 1e-3:
                raise ValueError(f"ratio {point.ratio} is not bandwidth {point.bandwidth} over the copy bandwidth")
        return self

    @property
    def kind(self) -> str:
        """`modelled` or `measured`: what an output that rests on this profile must say."""
        return self.source

    @property
    def id(self) -> str:
        """DEVICE/DATE and the start of a hash of the content, so that an edited profile is another profile."""
        digest = hashlib.sha256(self.model_dump_json(exclude_defaults=True).encode()).hexdigest()
        return f"{self.device}/{self.date}#{digest[:12]}"


def load_profile(name: str, folder: str = "") -> Profile:
    """The profile DEVICE/DATE, or DEVICE for its newest measured one and, before there is one, the modelled one.

    A path to a folder DEVICE/DATE, or to the profile.json in it, also names one: from `folder`, that of the study that
    names it, else from the working folder. With " strict" behind the name,
    look-ups beyond its entries are refused. Raises ProfileError when there is none (with the close match) or its file
    cannot be used.
    """
    if name.endswith(STRICT):
        return load_profile(name.removesuffix(STRICT), folder).model_copy(update={"outside": "refuse"})
    return _read(profile_path(name, folder))


def profile_path(name: str, folder: str = "") -> Path:
    """The file of a profile, by the names that `load_profile` takes. Raises ProfileError where there is none."""
    dates = _dates(name)
    measured = [date for date in dates if date != "modelled"]
    if dates:
        return resources.profiles() / name / (measured or dates)[-1] / "profile.json"
    known = profile_names()
    if name in known:
        return resources.profiles() / name / "profile.json"
    file = name if Path(name).name == "profile.json" else os.path.join(name, "profile.json")
    found = first_of(file, (Path(folder), Path()))
    if found is not None:
        return found
    devices = sorted({each.partition("/")[0] for each in known})
    match = difflib.get_close_matches(name.lower(), devices + known, n=1, cutoff=0.5)
    hint = f"; did you mean '{match[0]}'?" if match else ""
    raise ProfileError(f"no calibration profile {show(name)}; one of {', '.join(devices)}{hint}")


def _dates(device: str) -> list[str]:
    """The profiles of a device, oldest first; none for what is no such name."""
    if not _NAME.fullmatch(device):
        return []
    return sorted(path.parent.name for path in (resources.profiles() / device).glob("*/profile.json"))


def profile_names() -> list[str]:
    """All profiles as DEVICE/DATE."""
    root = resources.profiles()
    return sorted(path.parent.relative_to(root).as_posix() for path in root.glob("*/*/profile.json"))


def read_profile(path: Path) -> Profile:
    """The profile in this file, which lies in DEVICE/DATE. Raises ProfileError."""
    try:
        profile = Profile.model_validate_json(read_file(path, most=LARGEST))
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ProfileError(f"{path}: {place or 'profile'}: {first['msg']} ({error.error_count()} wrong)") from error
    if (profile.device, profile.date) != (path.parent.parent.name, path.parent.name):
        raise ProfileError(f"{path}: says it is {profile.device}/{profile.date}")
    return profile


_read = cache(read_profile)
