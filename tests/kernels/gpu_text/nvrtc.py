"""CUDA's run-time compiler without a GPU or a driver: the library of the nvidia-cuda-nvrtc wheel, through ctypes."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gemsim_kernels import cuda_text
from gemsim_kernels.cuda_kernel import Kernel
from gemsim_kernels.gpu import OPTIONS

MISSING = "no NVRTC to compile with: pip install nvidia-cuda-nvrtc (no GPU needed)"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A CUBIN (sm_NN) or PTX (compute_NN), and the processor seconds that it took."""

    code: bytes
    seconds: float


def wheel_folders() -> list[Path]:
    """The folders of NVIDIA's wheels, one for each CUDA major version or component."""
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else [Path(root) for root in spec.submodule_search_locations or []]
    return [folder for root in roots for folder in sorted(root.iterdir(), reverse=True) if folder.is_dir()]


@cache
def library() -> ctypes.CDLL | None:
    """NVRTC from a wheel, or else from the system."""
    inside = [path for folder in wheel_folders() for path in sorted((folder / "lib").glob("libnvrtc.so.*"))]
    for name in [*map(str, inside), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def tool(name: str) -> str | None:
    """cuobjdump or nvdisasm, from a wheel or the system."""
    for folder in wheel_folders():
        path = folder / "bin" / name
        if path.exists() and os.access(path, os.X_OK):
            return str(path)
    return shutil.which(name)


@cache
def compiled(kernel: Kernel, architecture: str) -> Compiled:
    """The kernel's text as NVRTC makes it, with the options that the CUDA backend gives it."""
    nvrtc = library()
    assert nvrtc is not None, MISSING
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), cuda_text.text(kernel).encode(), f"{kernel.name}.cu".encode(), 0, None, None
    )
    options = [option.encode() for option in (*OPTIONS, f"-arch={architecture}")]
    begun = time.process_time()
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    seconds = time.process_time() - begun
    log = _fetch(nvrtc, program, "ProgramLog").rstrip(b"\0").decode()
    assert not failed, f"{kernel.name} for {architecture}:\n{log}"
    assert not log.strip(), f"{kernel.name} for {architecture} compiles with remarks:\n{log}"
    code = _fetch(nvrtc, program, "PTX" if architecture.startswith("compute") else "CUBIN")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return Compiled(code, seconds)


def _fetch(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw
