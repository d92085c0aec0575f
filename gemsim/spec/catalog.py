"""The published numbers that a study names: GPU types and failure mixes, read from calibration/published.

Each file carries its source. They are read once and checked with the models of a study.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gemsim import resources
from gemsim.errors import ProfileError
from gemsim.failures.memory import Geometry
from gemsim.spec.types import Bandwidth, Flops, Gpus, Model, PositiveBytes, Power
from gemsim.spec.yaml import read_tree


class HbmSpec(Model):
    """Stacks of one GPU, banks of all stacks together, and bytes of a row."""

    stacks: Gpus
    banks: Gpus
    row: PositiveBytes
    source: str


class GpuSpec(Model):
    """One GPU type: memory in bytes, bandwidths in bytes per second, dense BF16 speed in FLOP/s, most power in W."""

    memory: PositiveBytes
    hbm: HbmSpec
    hbm_bandwidth: Bandwidth
    nvlink_bandwidth: Bandwidth
    peak_flops: Flops
    tdp: Power
    source: str
    notes: str = ""

    @property
    def geometry(self) -> Geometry:
        """Its banks and rows; rows per bank are derived: memory over banks and bytes of a row."""
        rows = int(self.memory // (self.hbm.banks * self.hbm.row))
        return Geometry(self.hbm.stacks, self.hbm.banks, rows, int(self.hbm.row))


def gpu_names() -> list[str]:
    """The GPU types of the catalog."""
    return sorted(_gpus(resources.published()))


def gpu(name: str) -> GpuSpec:
    """The catalog's entry of a GPU type; KeyError when there is none."""
    return _gpus(resources.published())[name]


def mix_names() -> list[str]:
    """The failure mixes of the catalog."""
    return list(_names(resources.published() / "failures"))


def system_names() -> list[str]:
    """The named systems of the catalog."""
    return list(_names(resources.published() / "systems"))


@cache
def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


@cache
def _gpus(folder: Path) -> dict[str, GpuSpec]:
    try:
        return {name: GpuSpec.model_validate(entry) for name, entry in read_published(folder / "gpus.yaml").items()}
    except ValidationError as error:
        raise ProfileError(f"{folder / 'gpus.yaml'}: {error}") from error


def read_published(path: Path) -> dict[str, Any]:
    """A YAML file of calibration/published as plain data. Raises ProfileError when it is missing or not a mapping."""
    try:
        tree = read_tree(path.read_bytes(), str(path))
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read ({error.strerror})") from error
    if tree.problems or not isinstance(tree.data, dict):
        raise ProfileError(str(tree.problems[0]) if tree.problems else f"{path}: not a mapping")
    return tree.data
