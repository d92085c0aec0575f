"""A stand-in for CuPy over NumPy arrays, so that what only a GPU machine runs is at least run: it times nothing."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np


class Event:
    """A moment."""

    at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        pass


class Stream:
    """Runs everything at once; what it captures has been run already, and replays nothing."""

    def __init__(self, *, non_blocking: bool = False) -> None:
        self.capturing = False

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        assert not self.capturing

    def begin_capture(self) -> None:
        assert not self.capturing
        self.capturing = True

    def end_capture(self) -> SimpleNamespace:
        assert self.capturing
        self.capturing = False
        return SimpleNamespace(launch=lambda stream: time.sleep(1e-6))


class Device:
    """The only GPU."""

    id, compute_capability, pci_bus_id = 0, "90", "0000:00:00.0"

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def use(self) -> None:
        pass


class RawModule:
    """Compiles nothing; its kernels do nothing."""

    def __init__(self, *, code: str, options: tuple[str, ...], backend: str) -> None:
        assert 'extern "C"' in code
        assert (options, backend) == (("-std=c++17",), "nvrtc")

    def get_function(self, _: str) -> Any:
        return lambda grid, block, arguments: None


def make(**more: Any) -> Any:
    """The module, with some of `runtime` replaced."""
    runtime = {
        "getDeviceProperties": lambda index: {
            "name": b"NVIDIA H100 80GB HBM3", "l2CacheSize": 1 << 17, "multiProcessorCount": 4,
            "totalGlobalMem": 1 << 30, "memoryBusWidth": 5120,
        },
        "memGetInfo": lambda: (1 << 30, 1 << 30),
        "runtimeGetVersion": lambda: 13000,
        "driverGetVersion": lambda: 13000,
        "getDeviceCount": lambda: 1,
        "deviceSynchronize": lambda: None,
    } | more  # fmt: skip
    cuda = SimpleNamespace(
        Event=Event,
        Stream=Stream,
        get_current_stream=Stream,
        Device=Device,
        runtime=SimpleNamespace(**runtime),
        nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
        get_elapsed_time=lambda start, stop: (stop.at - start.at) * 1e3,
    )
    names = ("ones", "empty", "zeros", "asarray", "copyto")
    return SimpleNamespace(
        __version__="0", cuda=cuda, RawModule=RawModule, asnumpy=lambda array: array,
        **{name: getattr(np, name) for name in names},
    )  # fmt: skip
