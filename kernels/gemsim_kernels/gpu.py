"""The CUDA backend: compiles the generated text at first use and launches it on the current stream through CuPy.

Nothing here waits for the GPU. Tables and maps are small, kept on the device for each stream, and copied from pinned
memory when first needed; shards themselves are never copied and nothing else is allocated.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels import plans
from gemsim_kernels.backends import NoBackend
from gemsim_kernels.cuda_kernel import ARGUMENTS, Kernel
from gemsim_kernels.cuda_text import text
from gemsim_kernels.gpu_reasons import import_cupy, installed_wheels
from gemsim_kernels.launches import Launch
from gemsim_kernels.matrices import Construction
from gemsim_kernels.shards import Array, Rows, Views, address, starts, steps

OPTIONS = ("-std=c++17",)
KEPT_BYTES, KEPT_COUNT, KEPT_PLANS = 64 << 20, 512, 256  # of tables and maps on devices; of calls planned
_NARROW = np.uint32, np.uint64
_TYPES = tuple(_NARROW[kind != "u32"] for kind, _ in ARGUMENTS)


class GpuError(RuntimeError):
    """A kernel could not be compiled or launched: the message says what was asked, of which GPU, and CUDA's reason."""


class Executor:
    """Compiles kernels, keeps uploads and launches, on whichever device is current. One for a process."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._functions: dict[tuple[Kernel, int], Any] = {}
        self._kept: OrderedDict[tuple[int, int, bytes], tuple[Any, Any]] = OrderedDict()
        self._kept_bytes = 0
        self._copying: deque[tuple[Any, Any]] = deque()  # (event, pinned memory that must outlive its copy)
        self._recent: dict[int, str] = {}
        self._lock = threading.RLock()

    def run(self, launches: Sequence[Launch], asked: str, device: int) -> None:
        """Put the launches on the current stream of `device`. Raises GpuError."""
        doing = "no kernel was launched"
        try:
            with self._cupy.cuda.Device(device):
                stream = self._cupy.cuda.get_current_stream()
                for launch in launches:
                    doing = (
                        f"kernel {launch.kernel.name}, {launch.grid[0]} x {launch.grid[1]} blocks of "
                        f"{launch.block} threads"
                    )
                    self._launch(launch, device, stream)
        except Exception as error:
            raise GpuError(self._said(doing, asked, device, error)) from error
        self._recent[device] = asked

    def _launch(self, launch: Launch, device: int, stream: Any) -> None:
        with self._lock:
            function = self._function(launch.kernel, device)
            addresses = self._upload(launch, device, stream)
            values = zip(_TYPES, launch.arguments(addresses), strict=True)
            function(launch.grid, (launch.block,), tuple(kind(value % (1 << 64)) for kind, value in values))

    def _function(self, kernel: Kernel, device: int) -> Any:
        if (kernel, device) not in self._functions:
            module = self._cupy.RawModule(code=text(kernel), options=OPTIONS, backend="nvrtc")
            self._functions[kernel, device] = module.get_function(kernel.name)
        return self._functions[kernel, device]

    def _upload(self, launch: Launch, device: int, stream: Any) -> dict[str, int]:
        """Where each array lies on the device. A key holds its stream, so memory is reused in stream order only."""
        if not launch.uploads:
            return {}
        packed = launch.packed
        key = (device, int(stream.ptr), packed.digest)
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            there = self._copied(packed.blob, stream)
            self._kept[key] = (there, stream)  # the stream stays alive, so that its number stays its own
            self._kept_bytes += packed.blob.size
        while len(self._kept) > 1 and (self._kept_bytes > KEPT_BYTES or len(self._kept) > KEPT_COUNT):
            self._kept_bytes -= int(self._kept.popitem(last=False)[1][0].size)
        base = int(self._kept[key][0].data.ptr)
        return {name: base + start for name, start in packed.starts.items()}

    def _copied(self, blob: NDArray[np.uint8], stream: Any) -> Any:
        """The bytes on the device, copied in stream order; a copy from ordinary memory might wait for the stream."""
        while self._copying and self._copying[0][0].done:
            self._copying.popleft()
        pinned = self._cupy.cuda.alloc_pinned_memory(blob.size)
        np.frombuffer(pinned, dtype=np.uint8, count=blob.size)[:] = blob
        there = self._cupy.empty(blob.size, dtype=np.uint8)
        there.data.copy_from_host_async(pinned.ptr, blob.size, stream)
        self._copying.append((stream.record(), pinned))
        return there

    def _said(self, doing: str, asked: str, device: int, error: Exception) -> str:
        first = next((line for line in str(error).splitlines() if line.strip()), "no message")
        before = self._recent.get(device)
        earlier = f" CUDA reports late: the cause may be what was asked before, {before}." if before else ""
        return (
            f"{asked} on GPU {device} failed ({doing}): {type(error).__name__}: {first}.{earlier} "
            f"`python -m gemsim_kernels.bench --gpu {device}` says whether this GPU can be used, and what to install"
        )


@dataclass(frozen=True, slots=True)
class CudaBackend:
    """The codec's backend over a way to run launches: `Executor.run`, or the tests' on the CPU."""

    run: Callable[[Sequence[Launch], str, int], None]
    ones: Callable[[int, int], Array]  # (stripes, device) -> array of bool on the device, all true
    name: str = "cuda"
    _plans: OrderedDict[Any, list[Launch]] = field(default_factory=OrderedDict)

    def describe(self) -> str:
        return "cuda: kernels compiled by NVRTC at first use"

    def encode(self, code: Construction, data: Views, parity: Views, *, stream: Any = None) -> None:
        stripes, size = parity[0].shape
        reads, writes = _places(data), _places(parity)
        launches = self._planned(
            ("encode", code, *reads.key, *writes.key, stripes, size),
            lambda: plans.encode(code, reads.found, writes.found, stripes, size),
        )
        self.run(launches, _asked("encode", code, stripes, size), _device(data, parity))

    def rebuild(
        self,
        code: Construction,
        shards: Sequence[Array | None],
        lost: Sequence[int],
        missing: Sequence[int],
        out: Views,
        *,
        stream: Any = None,
    ) -> None:
        stripes, size = out[0].shape
        absent = set(missing)
        left = [None if index in absent else shard for index, shard in enumerate(shards)]
        reads, writes = _places(left), _places(out)
        launches = self._planned(
            ("rebuild", code, *reads.key, *writes.key, tuple(lost), tuple(missing), stripes, size),
            lambda: plans.rebuild(code, reads.found, lost, missing, writes.found, stripes, size),
        )
        self.run(launches, _asked(f"rebuild of shards {list(lost)}", code, stripes, size), _device(left, out))

    def update(
        self, code: Construction, index: Sequence[int], old: Views, new: Views, parity: Views, *, stream: Any = None
    ) -> None:
        stripes, size = parity[0].shape
        before, after, sums = _places(old), _places(new), _places(parity)
        launches = self._planned(
            ("update", code, tuple(index), *before.key, *after.key, *sums.key, stripes, size),
            lambda: plans.update(code, index, before.found, after.found, sums.found, stripes, size),
        )
        self.run(launches, _asked(f"update of shards {list(index)}", code, stripes, size), _device(old, new, parity))

    def verify(self, code: Construction, data: Views, parity: Views, *, stream: Any = None) -> Array:
        """One bool for each stripe, on the device; parities are compared as they are computed, without scratch."""
        stripes, size = parity[0].shape
        device = _device(data, parity)
        good = self.ones(stripes, device)
        reads, writes = _places(data), _places(parity)
        launches = plans.encode(code, reads.found, writes.found, stripes, size, good=address(good))
        self.run(launches, _asked("verify", code, stripes, size), device)
        return good

    def _planned(self, key: Any, make: Callable[[], list[Launch]]) -> list[Launch]:
        """Launches do not look at the bytes, so the same call on the same memory has the same ones."""
        found = self._plans.pop(key, None)
        if found is None:
            found = make()
        self._plans[key] = found
        if len(self._plans) > KEPT_PLANS:
            self._plans.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class _Places:
    key: tuple[bytes, bytes]
    found: list[Any]  # Place, or None where a shard is absent


def _places(views: Views) -> _Places:
    """Where shards lie, and the same as bytes to look up by."""
    present = views if isinstance(views, Rows) else [view for view in views if view is not None]
    begin, step = starts(present), steps(present)
    found = iter(zip(begin.tolist(), step.tolist(), strict=True))
    if len(present) == len(views):
        return _Places((begin.tobytes(), step.tobytes()), list(found))
    here = [view is not None for view in views]
    return _Places(
        (begin.tobytes() + bytes(here), step.tobytes()), [next(found) if is_here else None for is_here in here]
    )


def _device(*groups: Views) -> int:
    """The GPU that holds all of these. Raises GpuError."""
    arrays = [view for views in groups for view in ([views.stack] if isinstance(views, Rows) else views)]
    found = {int(getattr(getattr(array, "device", None), "id", 0)) for array in arrays if array is not None}
    if len(found) > 1:
        raise GpuError(f"shards lie on GPUs {sorted(found)}; allowed: all on one; copy them, or code each GPU's apart")
    return found.pop()


def _asked(what: str, code: Construction, stripes: int, size: int) -> str:
    return f"{what}, {code.k} + {code.m} {code.family.name} in GF(2^{code.bits}), {stripes} stripes of {size} bytes"


@cache
def backend() -> CudaBackend:
    """The backend on this machine's GPUs. Raises NoBackend where CuPy cannot be imported."""
    wheels = installed_wheels()
    if len(wheels) > 1:
        raise NoBackend(
            f"{' and '.join(wheels)} are both installed and share one folder, so neither can be trusted: "
            f"pip uninstall {' '.join(wheels)}, then install the one for the driver's CUDA"
        )
    try:
        cupy = import_cupy()
    except Exception as error:
        raise NoBackend(f"CuPy cannot be imported ({error}); install it with: pip install 'gemsim[cuda13]'") from error

    def ones(stripes: int, device: int) -> Array:
        with cupy.cuda.Device(device):
            return cupy.ones(stripes, dtype=np.bool_)

    return CudaBackend(Executor(cupy).run, ones)
