"""Runs the GPU's launches on the CPU: the kernels' text, unchanged, behind a header that stands in for CUDA."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gemsim_kernels.cuda_kernel import ARGUMENTS, Kernel
from gemsim_kernels.cuda_text import text
from gemsim_kernels.gpu import CudaBackend
from gemsim_kernels.launches import Launch

HEADER = Path(__file__).with_name("shim.h")
COMPILER = shutil.which("g++")


def source(kernel: Kernel) -> str:
    """A C++ file that holds the kernel's text as it is, and a loop over its threads."""
    casts = ", ".join(f"({kind})a[{index}]" for index, (kind, _) in enumerate(ARGUMENTS))
    return (
        f'#include "{HEADER}"\n{text(kernel)}'
        'extern "C" void run(unsigned across, unsigned down, unsigned threads, const unsigned long long* a) {\n'
        f"  launch(across, down, threads, [&] {{ {kernel.name}({casts}); }});\n}}\n"
    )


class Shim:
    """Compiles kernels at first use, into `folder`, which several processes may share."""

    def __init__(self, folder: Path, source: Callable[[Kernel], str] = source, optimize: str = "-O2") -> None:
        self.folder, self.source, self.optimize = folder, source, optimize
        self.launched: list[Launch] = []
        self._libraries: dict[Kernel, Any] = {}

    def run(self, launches: Sequence[Launch], asked: str = "", device: int = 0) -> None:
        """Run the launches one after the other, to the end."""
        for launch in launches:
            library = self._library(launch.kernel)
            uploads = {name: np.ascontiguousarray(array) for name, array in launch.uploads.items()}
            addresses = {name: array.ctypes.data for name, array in uploads.items()}
            values = (ctypes.c_uint64 * len(ARGUMENTS))(*(value % 2**64 for value in launch.arguments(addresses)))
            library.run(*launch.grid, launch.block, values)
            assert library.misaligned_accesses() == 0, f"{launch.kernel.name}: a vector access was not aligned"
            self.launched.append(launch)

    def backend(self) -> CudaBackend:
        return CudaBackend(self.run, lambda stripes, device: np.ones(stripes, dtype=np.bool_))

    def _library(self, kernel: Kernel) -> Any:
        if kernel not in self._libraries:
            self._libraries[kernel] = ctypes.CDLL(str(self._built(kernel)))
        return self._libraries[kernel]

    def _built(self, kernel: Kernel) -> Path:
        content = self.source(kernel)
        digest = hashlib.sha256((content + HEADER.read_text(encoding="utf-8")).encode()).hexdigest()[:16]
        built = self.folder / f"{kernel.name}-{digest}.so"
        if not built.exists():
            mine = self.folder / f"{os.getpid()}-{built.name}"
            options = f"{self.optimize} -std=c++17 -fPIC -shared -w -x c++ - -o".split()
            command = [str(COMPILER), *options, str(mine)]
            done = subprocess.run(command, input=content, text=True, capture_output=True, check=False)
            assert done.returncode == 0, f"{kernel.name} does not compile for the CPU:\n{done.stderr[-3000:]}"
            mine.replace(built)
        return built
