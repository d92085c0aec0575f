"""The CUDA backend without a GPU: what it says when CUDA refuses, and how it keeps what it uploads."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gemsim_kernels import gpu
from gemsim_kernels.backends import NoBackend
from gemsim_kernels.cuda_kernel import ARGUMENTS
from gemsim_kernels.gpu import Executor, GpuError
from gemsim_kernels.matrices import construct
from gemsim_kernels.plans import encode, update


class FakeCupy:
    """As much of CuPy as the executor touches; device memory is host memory."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails, self.launched, self.copies, self.freed = fails, [], 0, 0  # type: ignore[var-annotated]
        self.stream = SimpleNamespace(ptr=7, record=lambda: SimpleNamespace(done=True))
        self.cuda = SimpleNamespace(
            Device=lambda index: nullcontext(),
            get_current_stream=lambda: self.stream,
            alloc_pinned_memory=self._pinned,
        )

    def RawModule(self, code: str, options: tuple[str, ...], backend: str) -> Any:  # noqa: N802
        def function(grid: Any, block: Any, arguments: Any) -> None:
            if self.fails:
                raise self.fails
            self.launched.append((grid, block, arguments))

        return SimpleNamespace(get_function=lambda name: function)

    def empty(self, size: int, dtype: Any) -> Any:
        def copy(source: int, count: int, stream: Any) -> None:
            self.copies += 1

        data = SimpleNamespace(ptr=4096 * (self.copies + 1), copy_from_host_async=copy)
        return SimpleNamespace(size=size, data=data)

    def _pinned(self, size: int) -> Any:
        class Pinned(bytearray):
            ptr = 1

        return Pinned(size)


CODE = construct(4, 2)
DATA, PARITY = [(1 << 20 | index * 4096, 0) for index in range(4)], [(1 << 30, 0), (1 << 30 | 4096, 0)]


def test_arguments_have_the_widths_of_the_signature() -> None:
    fake = FakeCupy()
    Executor(fake).run(encode(CODE, DATA, PARITY, 1, 4096), "encode", 0)
    ((grid, block, arguments),) = fake.launched
    assert (grid, block) == ((1, 1), (256,))
    assert [type(value) for value in arguments] == [np.uint32 if kind == "u32" else np.uint64 for kind, _ in ARGUMENTS]
    assert fake.copies == 0


def test_what_was_uploaded_is_used_again() -> None:
    fake = FakeCupy()
    executor = Executor(fake)
    launches = update(CODE, [1], DATA[:1], DATA[1:2], PARITY, 1, 4096)
    for _ in range(3):
        executor.run(launches, "update", 0)
    assert fake.copies == 1
    assert len({arguments[3] for _, _, arguments in fake.launched}) == 1  # the table's address
    fake.stream = SimpleNamespace(ptr=8, record=fake.stream.record)
    executor.run(launches, "update", 0)
    assert fake.copies == 2  # another stream may run at any time, so it has its own


def test_the_oldest_uploads_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "KEPT_COUNT", 2)
    fake = FakeCupy()
    executor = Executor(fake)
    plans = [update(CODE, [index], DATA[:1], DATA[1:2], PARITY, 1, 4096) for index in range(3)]
    for plan in [*plans, plans[2], plans[0]]:
        executor.run(plan, "update", 0)
    assert fake.copies == 4


def test_an_error_of_cuda_says_what_was_asked() -> None:
    fake = FakeCupy()
    executor = Executor(fake)
    launches = encode(CODE, DATA, PARITY, 1, 4096)
    executor.run(launches, "encode, 4 + 2 pq", 3)
    fake.fails = RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")
    with pytest.raises(GpuError) as caught:
        executor.run(launches, "verify, 4 + 2 pq", 3)
    said = str(caught.value)
    assert said.startswith(
        "verify, 4 + 2 pq on GPU 3 failed (kernel horner8_0_1_store_strided, 1 x 1 blocks of 256 threads)"
    )
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in said
    assert "what was asked before, encode, 4 + 2 pq" in said


def test_shards_on_two_gpus_are_refused() -> None:
    views = [SimpleNamespace(device=SimpleNamespace(id=index)) for index in (0, 1)]
    with pytest.raises(GpuError, match=r"shards lie on GPUs \[0, 1\]"):
        gpu._device(views, [])


@pytest.mark.parametrize(
    ("wheels", "said"),
    [(["cupy-cuda12x", "cupy-cuda13x"], "pip uninstall cupy-cuda12x cupy-cuda13x"), ([], "CuPy cannot be imported")],
)
def test_a_broken_cupy_is_named(wheels: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise ImportError("No module named 'cupy'")

    monkeypatch.setattr(gpu, "installed_wheels", lambda: wheels)
    monkeypatch.setattr(gpu, "import_cupy", broken)
    gpu.backend.cache_clear()
    with pytest.raises(NoBackend, match=said):
        gpu.backend()
