"""Named models: the published sizes of well-known models, each with a job that trains it, as the parts of a study.

The step time is derived from arithmetic and the share of the peak (MFU) that the job reaches, so that it follows the
model, the GPU and their number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from gemsim import resources
from gemsim.errors import ProfileError
from gemsim.spec import catalog
from gemsim.spec.cluster import ClusterSpec
from gemsim.spec.types import Model, Share, refuse_unknown
from gemsim.spec.workload import WorkloadSpec


class NamedModel(Model):
    """One entry of calibration/published/models.yaml; `workload` is as in a study, without its step time."""

    title: str
    kind: Literal["dense", "moe"]
    source: str
    notes: str = ""
    mfu: Share
    cluster: dict[str, Any]
    workload: dict[str, Any]

    @property
    def step(self) -> float:
        """Seconds of one step: 6 x active parameters x tokens / (GPUs x MFU x peak)."""
        cluster = ClusterSpec.model_validate(self.cluster)
        work = WorkloadSpec.model_validate({**self.workload, "step": "1 s"})
        speed = cluster.gpus * self.mfu * catalog.gpu(cluster.gpu).peak_flops
        return 6.0 * work.active_parameters * (work.tokens_per_step or 0.0) / speed

    def study(self) -> dict[str, Any]:
        """`cluster` and `workload` of a study, in a file's form."""
        return {"cluster": dict(self.cluster), "workload": {**self.workload, "step": f"{self.step:.6g} s"}}


def model_names() -> list[str]:
    """The named models, smallest job first, as in their file."""
    return list(_models(resources.published()))


def named_model(name: str) -> NamedModel:
    """A named model. Raises ValueRefused with the close match."""
    return _models(resources.published())[refuse_unknown(name, model_names(), "model")]


@cache
def _models(folder: Path) -> dict[str, NamedModel]:
    path = folder / "models.yaml"
    try:
        return {name: NamedModel.model_validate(entry) for name, entry in catalog.read_published(path).items()}
    except ValidationError as error:
        raise ProfileError(f"{path}: {error}") from error
