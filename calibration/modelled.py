"""Writes the modelled profiles, calibration/profiles/DEVICE/modelled/profile.json: `python calibration/modelled.py`.

The ratios are the goals set for the coding kernels before any of them ran on a GPU ("must", with the band up to
"good"), derived from instruction counts of compiled kernels against the memory bound. Measured profiles replace them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROFILES = Path(__file__).parent / "profiles"
WIDEST = 247  # the widest stripe for which throughput was modelled

# op, field bits, rows (m, or lost chunks), narrowest k, must, good
RATIOS: list[tuple[str, int, int, int | None, float, float]] = [
    ("encode", 1, 1, 4, 0.93, 0.97),
    *(("encode", bits, m, 4, 0.90, 0.95) for bits in (8, 16) for m in (2, 3)),
    ("encode", 8, 4, 16, 0.85, 0.92),
    ("encode", 8, 6, 32, 0.75, 0.88),
    ("encode", 8, 8, 32, 0.62, 0.75),
    ("decode", 1, 1, 4, 0.90, 0.95),
    *(("decode", bits, lost, 4, 0.90, 0.95) for bits in (8, 16) for lost in (1, 2, 3)),
    ("decode", 8, 4, 16, 0.85, 0.92),
    ("decode", 8, 6, 32, 0.75, 0.88),
    ("decode", 8, 8, 32, 0.62, 0.75),
    ("update", 1, 1, None, 0.85, 0.92),
    *(("update", 8, m, None, 0.85, 0.92) for m in (2, 8)),
]

# copy bandwidth in bytes read plus written per second, and where it is from
DEVICES = {
    "nvidia-h200": (4.3e12, "seen on an H200 elsewhere, not by this project; 90 % of the datasheet's 4.8 TB/s"),
    "nvidia-h100": (3.0e12, "assumption: 90 % of the datasheet's 3.35 TB/s (SXM5 80GB), the share seen on an H200"),
    "nvidia-a100": (1.75e12, "assumption: 86 % of the datasheet's 2.039 TB/s (SXM4 80GB)"),
}


def profile(device: str) -> dict[str, Any]:
    """The modelled profile of a device as plain data."""
    bandwidth, origin = DEVICES[device]
    return {
        "format": 1,
        "device": device,
        "date": "modelled",
        "source": "modelled",
        "copy_bandwidth": bandwidth,
        "launch": 1e-5,
        "provenance": {
            "copy_bandwidth": origin,
            "launch": "assumption: 10 us, the upper end of what starting a kernel from Python takes",
            "ratio": "model: instruction counts of kernels compiled for sm_90 against an H200's memory bound, "
            "taken over to the other devices, which have more arithmetic per byte of memory traffic",
            "high": "the ratio the kernels should reach; ratio is the one they must",
            "low": "assumption: as far below the ratio as high is above it",
            "field 16": "P+Q and P+Q+R over GF(2^16): the same instruction count as over GF(2^8)",
            "decode rows 4 to 8": "assumption: as encode, the kernel being the same",
        },
        "points": [point for entry in RATIOS for point in _points(*entry)],
    }


def _points(op: str, field: int, rows: int, narrowest: int | None, must: float, good: float) -> list[dict[str, Any]]:
    """The model gives one ratio for all widths of an entry, so its two ends say everything; an update has no width."""
    band = {"ratio": must, "low": round(2 * must - good, 4), "high": good}
    widths = [None] if narrowest is None else [narrowest, WIDEST]
    return [{"op": op, "field": field, "k": k, "rows": rows, **band} for k in widths]


def text(data: dict[str, Any]) -> str:
    """The file's text: one line for each point."""
    head = json.dumps({key: value for key, value in data.items() if key != "points"}, indent=2)
    points = ",\n".join(f"    {json.dumps(point)}" for point in data["points"])
    return f'{head.removesuffix("}").rstrip()},\n  "points": [\n{points}\n  ]\n}}\n'


def main() -> None:
    """Write all of them."""
    for device in DEVICES:
        path = PROFILES / device / "modelled" / "profile.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(profile(device)))


if __name__ == "__main__":
    main()
