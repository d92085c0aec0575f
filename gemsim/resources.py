"""Where the data that ships with gemsim lies: calibration profiles, published numbers, studies.

In a checkout (or an editable install) they are folders beside the package; a wheel carries copies inside it.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_data"
_CHECKOUT = {
    "profiles": _PACKAGE.parent / "calibration" / "profiles",
    "published": _PACKAGE.parent / "calibration" / "published",
    "studies": _PACKAGE.parent / "studies",
}


def profiles() -> Path:
    """The folder of calibration profiles: DEVICE/DATE/profile.json."""
    return _folder("profiles")


def published() -> Path:
    """The folder of numbers from papers: gpus.yaml and failures/NAME.yaml."""
    return _folder("published")


def studies() -> Path:
    """The folder of shipped studies."""
    return _folder("studies")


def _folder(name: str) -> Path:
    return _INSTALLED / name if _INSTALLED.is_dir() else _CHECKOUT[name]
