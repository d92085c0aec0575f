"""What a measurement stands on: the machine, its software and its state, as names and texts.

Each fact is read on its own and left out, or says why, where a machine refuses it: virtual ones refuse some.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "llvmlite", "cupy-cuda12x", "cupy-cuda13x", "nvidia-ml-py", "nvidia-cuda-nvrtc")


def software_facts() -> dict[str, str]:
    """Versions, operating system and a hash of the kernels' source."""
    facts = {"python": platform.python_version(), "os": _os_name(), "kernel sources sha256": source_hash()}
    _try(facts, "git commit", _commit)
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            if name in ("numba", "nvidia-ml-py"):
                facts[name] = "absent"
    return facts


def _commit() -> str:
    """The commit of the checkout that this package lies in, with a + where files differ from it."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")


def source_hash() -> str:
    """SHA-256 over all files of this package that decide what a kernel does."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".py", ".cu", ".h", ".cuh") and not path.name.startswith("bench"):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def cpu_facts() -> dict[str, str]:
    """The processor, its caches and how busy the machine is."""
    facts = {
        "device name": cpu_name(),
        "cpu flags": " ".join(_coding_flags()) or "unknown",
        "cpus usable": str(usable_cpus()),
        "last-level cache": f"{last_level_cache()} bytes",
        "virtualisation": "yes" if "hypervisor" in _cpuinfo("flags").split() else "none seen",
    }
    return {**facts, **load("before")}


def load(when: str) -> dict[str, str]:
    """How many processes wanted a CPU over the last minute."""
    return {f"load {when}": f"{os.getloadavg()[0]:.2f}"} if hasattr(os, "getloadavg") else {}


def cpu_name() -> str:
    """The processor's name; with family and model where a virtual machine hides which one it is."""
    name = " ".join((_cpuinfo("model name") or platform.processor() or platform.machine()).split())
    if not re.search(r"\d", name):
        name += f" family {_cpuinfo('cpu family')} model {_cpuinfo('model')}"
    return name


def cpu_slug() -> str:
    """The folder of this processor's profiles."""
    plain = re.sub(r"\(r\)|\(tm\)|\bcpu\b|@.*|\d+-core|processor|\bfamily\b|\bmodel\b", " ", cpu_name().lower())
    return "cpu-" + re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def gpu_slug(name: str) -> str:
    """The folder of this GPU's profiles: "NVIDIA H100 80GB HBM3" is nvidia-h100, the NVL and PCIe kinds keep theirs."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    dropped = re.compile(r"sxm\d?|\d+gb|hbm\d\w*|graphics|gpu|tesla|geforce")
    return "-".join(word for word in words if not dropped.fullmatch(word))


def usable_cpus() -> int:
    """The CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def last_level_cache() -> int:
    """Bytes of the largest cache of the first CPU; 32 MiB where it cannot be read."""
    sizes = [1 << 15]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        match = re.fullmatch(r"(\d+)([KM])", _read(path))
        if match:
            sizes.append(int(match[1]) << (10 if match[2] == "K" else 20))
    return max(sizes) if len(sizes) > 1 else 32 << 20


def memory_bytes() -> int:
    """Bytes of main memory; 8 GiB where it cannot be read."""
    match = re.search(r"MemTotal:\s+(\d+) kB", _read(Path("/proc/meminfo")))
    return int(match[1]) << 10 if match else 8 << 30


def gpu_facts(cupy: Any, index: int) -> dict[str, str]:
    """The GPU as CUDA and NVML describe it."""
    with cupy.cuda.Device(index) as device:
        properties = cupy.cuda.runtime.getDeviceProperties(index)
        facts = {
            "device name": _decoded(properties["name"]),
            "compute capability": str(device.compute_capability),
            "multiprocessors": str(properties["multiProcessorCount"]),
            "L2 bytes": str(properties["l2CacheSize"]),
            "memory bytes": str(properties["totalGlobalMem"]),
        }
        _try(facts, "memory bus bits", lambda: properties["memoryBusWidth"])
        _try(facts, "CUDA driver version", cupy.cuda.runtime.driverGetVersion)
        _try(facts, "CUDA runtime version", cupy.cuda.runtime.runtimeGetVersion)
        _try(facts, "NVRTC version", lambda: ".".join(str(part) for part in cupy.cuda.nvrtc.getVersion()))
        facts.update(nvml_facts(str(device.pci_bus_id)))
    with suppress(KeyError, ValueError):  # two transfers a clock
        peak = 2e6 * float(facts["memory clock max MHz"]) * float(facts["memory bus bits"]) / 8
        facts["bandwidth by clock and bus"] = f"{peak:.4g} bytes/s"
    return facts


def nvml_facts(pci_bus_id: str) -> dict[str, str]:
    """Driver, clocks, limits and modes by NVML, or the reason why there are none."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id)
    except Exception as error:
        return {"nvml": f"not read: {type(error).__name__}: {error}"}
    facts: dict[str, str] = {}
    _try(facts, "driver", lambda: _decoded(nvml.nvmlSystemGetDriverVersion()))
    _try(facts, "uuid sha256", lambda: hashlib.sha256(str(nvml.nvmlDeviceGetUUID(handle)).encode()).hexdigest()[:16])
    _try(facts, "ECC mode (current, pending)", lambda: nvml.nvmlDeviceGetEccMode(handle))
    _try(facts, "MIG mode (current, pending)", lambda: nvml.nvmlDeviceGetMigMode(handle))
    _try(facts, "persistence mode", lambda: nvml.nvmlDeviceGetPersistenceMode(handle))
    _try(facts, "power limit mW", lambda: nvml.nvmlDeviceGetPowerManagementLimit(handle))
    _try(facts, "SM clock max MHz", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))
    _try(facts, "memory clock max MHz", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM))
    facts.update(nvml_state(pci_bus_id, "before"))
    return facts


def nvml_state(pci_bus_id: str, when: str) -> dict[str, str]:
    """Clocks, throttle reasons and temperature at this moment: `when` names it."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id)
    except Exception:
        return {}
    facts: dict[str, str] = {}
    _try(facts, f"SM clock MHz {when}", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
    _try(facts, f"memory clock MHz {when}", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))
    _try(facts, f"throttle reasons {when}", lambda: hex(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))
    _try(facts, f"temperature C {when}", lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
    return facts


def _try(facts: dict[str, str], name: str, read: Callable[[], Any]) -> None:
    try:
        facts[name] = str(read())
    except Exception as error:
        facts[name] = f"not read: {type(error).__name__}"


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def _coding_flags() -> list[str]:
    wanted = ("ssse3", "avx2", "avx512bw", "avx512vbmi", "gfni", "vpclmulqdq", "vaes", "asimd", "sve")
    present = set((_cpuinfo("flags") or _cpuinfo("Features")).split())
    return [flag for flag in wanted if flag in present]


def _cpuinfo(key: str) -> str:
    match = re.search(rf"^{re.escape(key)}\s*:\s*(.*)$", _read(Path("/proc/cpuinfo")), re.MULTILINE)
    return match[1] if match else ""


def _os_name() -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read(Path("/etc/os-release")), re.MULTILINE)
    return f"{match[1] if match else sys.platform}, {platform.system()} {platform.release()}"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
