"""On a GPU a protected state has the parity that it has on the host, and comes back in place. Needs pytest and cupy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gemsim_kernels.gpu_reasons import NoGpu, usable_cupy
from gemsim_kernels.matrices import TooManyLost
from gemsim_kernels.protected_state import ProtectedState

pytestmark = pytest.mark.gpu
SIZES = {"w": 300_001, "b": 17, "m": 65_536, "v": 4_099}
CODES = ((4, 1), (8, 2), (5, 4), (300, 2))


@pytest.fixture(scope="module")
def cupy() -> Any:
    """CuPy, or a skip that says why there is none."""
    try:
        return usable_cupy(0)
    except NoGpu as error:
        pytest.skip(" ".join(str(error).split()))


@pytest.fixture
def host() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {name: rng.integers(0, 256, 4 * size, dtype=np.uint8).view(np.float32) for name, size in SIZES.items()}


@pytest.mark.parametrize("layout", ["interleaved", "contiguous"])
@pytest.mark.parametrize(("k", "m"), CODES)
def test_parity_updates_and_rebuilds_are_those_of_the_host(
    cupy: Any, host: dict[str, Any], k: int, m: int, layout: Any
) -> None:
    there = {name: cupy.asarray(array) for name, array in host.items()}
    state, mirror = (ProtectedState(a, k, m, chunk_bytes=4096, layout=layout) for a in (there, host))
    assert np.array_equal(cupy.asnumpy(state.parity), mirror.parity)
    with state.updating(["w", "b"]), mirror.updating(["w", "b"]):
        for arrays in (there, host):
            arrays["w"].view(np.uint8)[5000:90_001] ^= 3
            arrays["b"].view(np.uint8)[1] ^= 1
    assert np.array_equal(cupy.asnumpy(state.parity), mirror.parity)
    assert state.verify() == []
    there["w"].view(np.uint8)[4200:4700] = 0
    there["v"].view(np.uint8)[:] ^= 255 if m > 1 else 0
    lost = [("w", 4200, 4700)] + ([("v", 0, 4096)] if m > 1 else [])
    if m > 1:
        there["v"].view(np.uint8)[4096:] ^= 255
    state.rebuild(lost)
    for name, array in host.items():
        assert np.array_equal(cupy.asnumpy(there[name].view(np.uint8)), array.view(np.uint8))


def test_too_much_lost_leaves_every_byte(cupy: Any, host: dict[str, Any]) -> None:
    there = {name: cupy.asarray(array) for name, array in host.items()}
    state = ProtectedState(there, 8, 2, chunk_bytes=4096)
    there["w"].view(np.uint8)[:] = 7
    before = {name: cupy.asnumpy(array.view(np.uint8)) for name, array in there.items()}
    with pytest.raises(TooManyLost, match="stripe 0"):
        state.rebuild([("w", 0, 4 * SIZES["w"])])
    for name, array in there.items():
        assert np.array_equal(cupy.asnumpy(array.view(np.uint8)), before[name])


def test_work_goes_to_the_current_stream(cupy: Any, host: dict[str, Any]) -> None:
    there = {name: cupy.asarray(array) for name, array in host.items()}
    with cupy.cuda.Stream(non_blocking=True) as stream:
        state = ProtectedState(there, 8, 2, chunk_bytes=4096)
        stream.synchronize()
    assert np.array_equal(cupy.asnumpy(state.parity), ProtectedState(host, 8, 2, chunk_bytes=4096).parity)
