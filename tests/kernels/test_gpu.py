"""The checks of the CUDA backend on a GPU, as users call it: through CuPy arrays and streams. `pytest -m gpu`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from gemsim_kernels import Code
from gemsim_kernels.backends import NoBackend
from gemsim_kernels.gpu import GpuError
from gemsim_kernels.gpu_reasons import NoGpu, usable_cupy
from tests.kernels.gpu_text import checks
from tests.kernels.gpu_text.checks import FAMILIES, GENERIC, LAYOUTS, Case
from tests.kernels.gpu_text.sides import OnGpu

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="session")
def side() -> OnGpu:
    """CuPy where a GPU can be used; otherwise the tests skip, with the reason that a user would be given."""
    try:
        return OnGpu(usable_cupy(0))
    except NoGpu as error:
        pytest.skip(" ".join(str(error).split()))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", [*FAMILIES, *GENERIC], ids=str)
def test_encode(side: OnGpu, case: Case, layout: checks.LayoutName, rng: np.random.Generator) -> None:
    checks.check_encode(side, case, layout, rng)


@pytest.mark.parametrize("case", [*FAMILIES, *GENERIC], ids=str)
def test_decode(side: OnGpu, case: Case, rng: np.random.Generator) -> None:
    for count in range(1, case.m + 1):
        if isinstance(case.matrix, int) and count > 1:
            break  # a random matrix is not MDS
        for layout in LAYOUTS:
            lost = rng.choice(case.k + case.m, count, replace=False).tolist()
            checks.check_decode(side, case, layout, rng, lost)


@pytest.mark.parametrize("case", [*FAMILIES, *GENERIC], ids=str)
def test_update(side: OnGpu, case: Case, rng: np.random.Generator) -> None:
    index = rng.choice(case.k, min(case.k, 3), replace=False).tolist()
    for layout in LAYOUTS:
        checks.check_update(side, case, layout, rng, index)


@pytest.mark.parametrize("case", [case for case in FAMILIES if case.k <= 17], ids=str)
def test_verify(side: OnGpu, case: Case, rng: np.random.Generator) -> None:
    for layout in LAYOUTS:
        checks.check_verify(side, case, layout, rng)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 511, 512, 513, 1023, 1025, 8191, 8208, (1 << 20) + 16])
@pytest.mark.parametrize("case", [Case(3, 1), Case(3, 2), Case(3, 4), Case(3, 2, 16)], ids=str)
def test_every_length(side: OnGpu, case: Case, n: int, rng: np.random.Generator) -> None:
    for layout in LAYOUTS:
        checks.check_encode(side, case, layout, rng, n=n, stripes=3)
        checks.check_decode(side, case, layout, rng, [case.k - 1], n=n, stripes=1)


def test_more_stripes_than_a_grid_is_high(side: OnGpu, rng: np.random.Generator) -> None:
    checks.check_encode(side, Case(2, 1), "strided", rng, stripes=65_539, n=16)


def _slow(cupy: Any) -> Any:
    """A kernel that keeps its stream busy for about a tenth of a second."""
    code = """extern "C" __global__ void wait(long long ticks) {
      const long long begun = clock64();
      while (clock64() - begun < ticks) {}
    }"""
    kernel = cupy.RawKernel(code, "wait")
    return lambda: kernel((1,), (1,), (np.int64(200_000_000),))


def test_nothing_waits_for_the_stream(side: OnGpu, rng: np.random.Generator) -> None:
    """Every call returns while a kernel before it still runs: the first use compiles, so only the second counts."""
    cupy = side.cupy
    data = cupy.asarray(rng.integers(0, 256, (8, 1 << 16), dtype=np.uint8))
    code, wait = Code(8, 4), _slow(cupy)
    parity = cupy.empty((4, 1 << 16), dtype=np.uint8)
    out = cupy.empty((2, 1 << 16), dtype=np.uint8)
    stream = cupy.cuda.Stream(non_blocking=True)

    def calls(lost: list[int]) -> None:
        code.encode(data, parity, stream=stream)
        code.update(parity, 1, data[0], data[1], stream=stream)
        code.verify(data, parity, stream=stream)
        code.decode([None if i in lost else s for i, s in enumerate([*data, *parity])], lost, out, stream=stream)

    calls([0, 3])
    stream.synchronize()
    with stream:
        wait()
        begun = time.perf_counter()
        calls([1, 2])  # other tables: they are uploaded anew, and that must not wait either
        taken = time.perf_counter() - begun
        assert not stream.done, f"the stream had ended {taken:.3f} s later: something waited for it"
    stream.synchronize()


def test_work_goes_to_the_stream_given(side: OnGpu, rng: np.random.Generator) -> None:
    """Behind a kernel on the same stream that fills the data, the parity is that of the data it left."""
    cupy = side.cupy
    host = rng.integers(0, 256, (5, 1 << 18), dtype=np.uint8)
    data, wait = cupy.zeros(host.shape, dtype=np.uint8), _slow(cupy)
    source = cupy.asarray(host)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    with stream:
        wait()
        data[...] = source
    parity = Code(5, 2).encode(data, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(parity), Code(5, 2, backend="reference").encode(host))


def test_a_graph_can_be_captured_after_a_first_call(side: OnGpu, rng: np.random.Generator) -> None:
    cupy = side.cupy
    host = rng.integers(0, 256, (6, 1 << 12), dtype=np.uint8)
    data, parity = cupy.asarray(host), cupy.empty((4, 1 << 12), dtype=np.uint8)
    code, stream = Code(6, 4), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    code.encode(data, parity, stream=stream)
    stream.synchronize()
    parity[...] = 0
    cupy.cuda.get_current_stream().synchronize()
    with stream:
        stream.begin_capture()
        code.encode(data, parity, stream=stream)
        graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(parity), Code(6, 4, backend="reference").encode(host))


def test_host_and_device_arrays_are_not_mixed(side: OnGpu) -> None:
    data = side.cupy.zeros((4, 64), dtype=np.uint8)
    with pytest.raises((ValueError, NoBackend, GpuError)):
        Code(4, 2).encode(data, np.zeros((2, 64), dtype=np.uint8))
