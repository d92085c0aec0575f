"""Ways to run the kernels that `checks` can drive: behind the shim on the CPU, or on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim_kernels import Code
from tests.kernels.gpu_text.shim import Shim


class OnCpu:
    """Codes whose CUDA backend launches through the shim."""

    def __init__(self, shim: Shim) -> None:
        self.shim = shim

    def code(self, k: int, m: int, **options: Any) -> Code:
        code = Code(k, m, **options)
        code._backend = lambda on_gpu: self.shim.backend()  # type: ignore[method-assign]
        return code

    def put(self, host: Any) -> Any:
        """A copy whose first byte is aligned as a GPU's allocation."""
        room = np.empty(host.size + 256, dtype=np.uint8)
        start = -room.ctypes.data % 256
        room[start : start + host.size] = host
        return room[start : start + host.size]

    def get(self, there: Any) -> Any:
        return there


class OnGpu:
    """Codes as a user has them, on CuPy arrays."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def code(self, k: int, m: int, **options: Any) -> Code:
        return Code(k, m, **options)

    def put(self, host: Any) -> Any:
        return self.cupy.asarray(host)

    def get(self, there: Any) -> Any:
        return self.cupy.asnumpy(there)


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of this run, the same for all the processes of a parallel one."""
    base = factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / name
    folder.mkdir(exist_ok=True)
    return folder
