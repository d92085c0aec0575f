"""Why a GPU cannot be used here, in words that end with what to install or change."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

WHEELS = ("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "cupy")
_PROBE = 'extern "C" __global__ void probe(unsigned* x) { x[0] = __byte_perm(x[0], 0u, 0xba98u); }'


class NoGpu(RuntimeError):
    """No GPU can be used: the message gives every reason found, one a line."""


def driver_version() -> int | None:
    """The CUDA version that the installed driver offers (13000 for 13.0), 0 if it finds no GPU, None without one."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        number = ctypes.c_int(0)
        library.cuDriverGetVersion(ctypes.byref(number))
        return number.value if library.cuInit(0) == 0 else 0
    except (OSError, AttributeError):
        return None


def installed_wheels() -> list[str]:
    """The CuPy packages that are installed."""
    found = []
    for name in WHEELS:
        try:
            version(name)
        except PackageNotFoundError:
            continue
        found.append(name)
    return found


def import_cupy() -> Any:
    """The module, which raises many kinds of error where it is broken."""
    return importlib.import_module("cupy")


def mig_mode() -> bool:
    """Whether the first GPU is split by MIG, as far as NVML says."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        return bool(nvml.nvmlDeviceGetMigMode(nvml.nvmlDeviceGetHandleByIndex(0))[0])
    except Exception:
        return False


@dataclass(frozen=True, slots=True)
class Machine:
    """What is looked at; tests put their own."""

    driver: Callable[[], int | None] = driver_version
    wheels: Callable[[], list[str]] = installed_wheels
    cupy: Callable[[], Any] = import_cupy
    mig: Callable[[], bool] = mig_mode


def usable_cupy(index: int, machine: Machine | None = None) -> Any:
    """CuPy, ready to launch a kernel on GPU number `index`. Raises NoGpu with every reason and what to do."""
    machine = machine or Machine()
    driver, wheels = machine.driver(), machine.wheels()
    extra = _extra(driver)
    reasons = [*_driver_reasons(driver, machine), *_wheel_reasons(wheels, extra)]
    if reasons:
        raise NoGpu(_said(index, reasons))
    try:
        cupy = machine.cupy()
    except Exception as error:
        todo = f"pip install --force-reinstall 'gemsim[{extra}]'"
        raise NoGpu(_said(index, [f"CuPy cannot be imported ({_line(error)}): {todo}"])) from error
    reasons = _device_reasons(cupy, index, driver or 0, machine) or _compiler_reasons(cupy, index, wheels)
    if reasons:
        raise NoGpu(_said(index, reasons))
    return cupy


def _said(index: int, reasons: list[str]) -> str:
    return "\n".join([f"GPU {index} cannot be used:", *(f"  - {reason}" for reason in reasons)])


def _extra(driver: int | None) -> str:
    return "cuda12" if driver and driver < 13000 else "cuda13"


def _driver_reasons(driver: int | None, machine: Machine) -> list[str]:
    if driver is None:
        return [
            "no NVIDIA driver: libcuda.so.1 is not found. Install the driver, or start the container with its GPUs "
            "(docker run --gpus all)"
        ]
    if driver == 0 and machine.mig():
        return ["MIG is on and no instance of it is visible: create one, or name it in CUDA_VISIBLE_DEVICES"]
    if driver == 0:
        return [f"the NVIDIA driver finds no GPU: see nvidia-smi{_hidden()}"]
    return []


def _wheel_reasons(wheels: list[str], extra: str) -> list[str]:
    if not wheels:
        return [f"CuPy is not installed: pip install 'gemsim[{extra}]'"]
    if len(wheels) > 1:
        return [
            f"{' and '.join(wheels)} are both installed and share one folder, so neither can be trusted: "
            f"pip uninstall {' '.join(wheels)}, then pip install 'gemsim[{extra}]'"
        ]
    return []


def _device_reasons(cupy: Any, index: int, driver: int, machine: Machine) -> list[str]:
    runtime = int(cupy.cuda.runtime.runtimeGetVersion())
    if runtime // 1000 > driver // 1000:
        return [
            f"wrong toolkit: CuPy is built for CUDA {runtime // 1000}, the driver offers {driver // 1000}."
            f"{driver % 1000 // 10}. Uninstall the CuPy that is there, then pip install 'gemsim[{_extra(driver)}]', or "
            "update the driver"
        ]
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return [f"CUDA finds no GPU ({_line(error)}){_hidden()}"]
    if count == 0 and machine.mig():
        return ["MIG is on and no instance of it is visible: create one, or name it in CUDA_VISIBLE_DEVICES"]
    if not 0 <= index < count:
        return [f"there is no GPU {index}; allowed: {f'0 to {count - 1}' if count else 'none is visible'}{_hidden()}"]
    return []


def _compiler_reasons(cupy: Any, index: int, wheels: list[str]) -> list[str]:
    """NVRTC must be there, know this GPU, and make what the driver loads: one small kernel proves all of it."""
    wheel = wheels[0] if wheels else "cupy"
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        return [f"no NVRTC, CUDA's run-time compiler ({_line(error)}): pip install '{wheel}[ctk]'"]
    try:
        with cupy.cuda.Device(index):
            module = cupy.RawModule(code=_PROBE, options=("-std=c++17",), backend="nvrtc")
            module.get_function("probe")((1,), (1,), (cupy.zeros(1, dtype="uint32"),))
            cupy.cuda.runtime.deviceSynchronize()
    except Exception as error:
        return [
            f"a kernel of one line cannot be compiled and run ({_line(error)}): NVRTC, driver and GPU do not go "
            f"together; pip install --force-reinstall '{wheel}[ctk]', or the wheel for the driver's CUDA"
        ]
    return []


def _hidden() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "" if visible is None else f"; CUDA_VISIBLE_DEVICES is {visible!r}"


def _line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
