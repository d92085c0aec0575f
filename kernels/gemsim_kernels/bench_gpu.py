"""One GPU under test: CUDA events, and graphs, so that kernels are timed and not the Python that launches them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from gemsim_kernels import bench_facts, gpu
from gemsim_kernels.bench_arms import CACHES, FEWEST_SETS, Call, Ceiling, places
from gemsim_kernels.codec import Code

_MIB = 1 << 20
_MOST_CAPTURED = 128  # the tables of so many calls stay on the device, as a replay must find them where they were

_TEXT = r"""
extern "C" __global__ void read16(const uint4* a, uint4* b, unsigned long long n) {
  uint4 s = {0, 0, 0, 0};
  unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n; i += step) {
    uint4 v = a[i]; s.x ^= v.x; s.y ^= v.y; s.z ^= v.z; s.w ^= v.w;
  }
  if (s.x == 0x5bd1e995u && s.y == 0x1b873593u && s.z == 0x85ebca6bu && s.w == 0xc2b2ae35u) b[0] = s;
}
extern "C" __global__ void copy16(const uint4* a, uint4* b, unsigned long long n) {
  unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n; i += step) b[i] = a[i];
}
extern "C" __global__ void nothing() {}
"""


class GpuArm:
    """GPU number `index`, which the caller has made the current device; everything runs on one stream of its own."""

    kind, decode_reads = "gpu", "survivors"

    def __init__(self, cupy: Any, index: int, *, pool_bytes: int | None = None) -> None:
        self.xp, self.index = cupy, index
        properties = cupy.cuda.runtime.getDeviceProperties(index)
        self.l2 = int(properties["l2CacheSize"])
        name = properties["name"]
        self.device = bench_facts.gpu_slug(name.decode() if isinstance(name, bytes) else str(name))
        self.bus = str(cupy.cuda.Device(index).pci_bus_id)
        self.multiprocessors = int(properties["multiProcessorCount"])
        free = int(cupy.cuda.runtime.memGetInfo()[0])
        wanted = max(CACHES * self.l2, 4 << 30) if pool_bytes is None else pool_bytes
        size = min(wanted, free // 4) // 4096 * 4096
        self.pool, self.out = self._random(size), cupy.ones(size // 2, dtype=np.uint8)
        self.reach = CACHES * self.l2
        large = size // FEWEST_SETS
        self.sizes: tuple[int, ...] = (large, large // 8, large // 64)
        cupy.cuda.get_current_stream().synchronize()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()  # also what checks the bytes
        self.start, self.stop = cupy.cuda.Event(), cupy.cuda.Event()
        self.graphs, self.uncaptured = 0, ""

    def _random(self, size: int) -> Any:
        """Random bytes without the random library: a block from the host, XORed with another constant each time."""
        block = min(size, 64 * _MIB)
        seed = np.frombuffer(np.random.default_rng(20260101).bytes(block), dtype=np.uint8)
        base, pool = self.xp.asarray(seed), self.xp.empty(size, dtype=np.uint8)
        for number, at in enumerate(range(0, size, block)):
            piece = pool[at : at + block]
            piece[...] = base[: piece.size] ^ np.uint8(157 * number % 256)
        return pool

    def code(self, k: int, m: int) -> Code:
        return Code(k, m)

    def seconds(self, calls: Sequence[Call], start: int, inner: int) -> float:
        self.start.record()
        for at in range(start, start + inner):
            calls[at % len(calls)]()
        self.stop.record()
        self.stop.synchronize()
        return float(self.xp.cuda.get_elapsed_time(self.start, self.stop)) / 1e3 / inner

    def inner(self, seconds: float) -> int:
        # The GPU waits for the first call of a series: with 3 ms of work that is less than 1 %.
        return max(3, min(64, round(3e-3 / max(seconds, 1e-7))))

    def batched(self, calls: Sequence[Call]) -> tuple[Sequence[Call], int]:
        """The calls as one graph; as they are where they cannot be captured."""
        calls = calls[:_MOST_CAPTURED]
        for call in calls:  # compiles, and uploads tables, neither of which a capture allows
            call()
        self.stream.synchronize()
        try:
            self.stream.begin_capture()
            try:
                for call in calls:
                    call()
            finally:
                graph = self.stream.end_capture()
        except Exception as error:
            self.uncaptured = f"{type(error).__name__}: {error}"
            return calls, 1
        self.graphs += 1
        return [partial(graph.launch, self.stream)], len(calls)

    def ceilings(self) -> Iterator[Ceiling]:
        module = self.xp.RawModule(code=_TEXT, options=("-std=c++17",), backend="nvrtc")
        grid, block = (self.multiprocessors * 16,), (256,)

        def kernel(name: str, source: Any, target: Any) -> Call:
            function, count = module.get_function(name), np.uint64(source.size // 16)
            return lambda: function(grid, block, (source, target, count))

        for size in self.sizes:
            half = size // 2
            sets = (places(pool, half, self.reach) for pool in (self.pool, self.out))
            pairs = list(zip(*sets, strict=False))
            yield Ceiling("copy", half, half, [partial(self.xp.copyto, b, a) for a, b in pairs])
            yield Ceiling("copy_kernel", half, half, [kernel("copy16", a, b) for a, b in pairs])
        large = self.sizes[0]
        yield Ceiling("read", large, 0, [kernel("read16", a, self.out) for a in places(self.pool, large)])
        writes = [piece.view(np.uint64) for piece in places(self.out, large // 2)]
        yield Ceiling("write", 0, large // 2, [partial(piece.fill, 90) for piece in writes])
        nothing = module.get_function("nothing")
        yield Ceiling("launch", 0, 0, [partial(nothing, (1,), (32,), ())])
        code, data, parity = self.code(64, 4), self.pool[: 64 * 256].reshape(64, 256), self.out[:1024].reshape(4, 256)
        yield Ceiling("python_launch", 0, 0, [partial(code.encode, data, parity)])
        with suppress(Exception):
            graphs, _ = self.batched([partial(nothing, (1,), (32,), ())])
            if self.graphs:
                yield Ceiling("graph_launch", 0, 0, graphs)
        yield from self._host_copies()

    def _host_copies(self) -> Iterator[Ceiling]:
        size = min(256 * _MIB, self.out.size)
        try:
            staging = importlib.import_module("cupyx").empty_pinned(size, dtype=np.uint8)
        except Exception:
            return
        staging[...] = 90
        target = self.out[:size]
        yield Ceiling("host_to_device", size, 0, [lambda: target.set(staging)])
        yield Ceiling("device_to_host", size, 0, [lambda: target.get(out=staging)])

    def host(self, array: Any) -> Any:
        return self.xp.asnumpy(array)

    def facts(self) -> dict[str, str]:
        return {
            **bench_facts.gpu_facts(self.xp, self.index),
            **bench_facts.software_facts(),
            "cupy": str(self.xp.__version__),
            "NVRTC options": " ".join(gpu.OPTIONS),
            "buffers": f"{self.pool.size} random bytes, {self.pool.size / max(self.l2, 1):.3g} × L2",
            "clock": "CUDA events round at least 3 ms of replayed graphs: the Python of a call is not in it, see the "
            "ceiling python_launch for that",
        }

    def state(self, when: str) -> dict[str, str]:
        facts = bench_facts.nvml_state(self.bus, when)
        if when == "after":
            facts |= {"graphs captured": str(self.graphs), **self._kernels()}
            if self.uncaptured:
                facts["graphs not captured"] = f"some calls were timed with their Python, as {self.uncaptured}"
        return facts

    def _kernels(self) -> dict[str, str]:
        """Of each kernel that ran: what the compiler made of it."""
        facts: dict[str, str] = {}
        with suppress(Exception):
            executor: Any = gpu.backend().run
            for (kernel, _), made in executor.__self__._functions.items():
                local, version = made.local_size_bytes, made.binary_version
                facts[f"kernel {kernel.name}"] = f"{made.num_regs} registers, {local} bytes local, binary {version}"
        return facts
