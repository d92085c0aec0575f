"""The text of the GPU's kernels, run on the CPU: the reference's bytes for every family, field, layout and loss."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim_kernels import Code
from gemsim_kernels.cuda_kernel import Kernel
from gemsim_kernels.cuda_text import text, words
from tests.kernels.gpu_text import checks
from tests.kernels.gpu_text.checks import FAMILIES, GENERIC, LAYOUTS, Case
from tests.kernels.gpu_text.shim import COMPILER, Shim, source
from tests.kernels.gpu_text.sides import OnCpu, shared_folder

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ to build the kernels' text with: apt install g++")


@pytest.fixture(scope="session")
def side(tmp_path_factory: pytest.TempPathFactory) -> OnCpu:
    """Kernels are built once and shared by the processes of a parallel run."""
    return OnCpu(Shim(shared_folder(tmp_path_factory, "kernels")))


def test_there_are_at_least_seventy_codes() -> None:
    assert len({(case.k, case.m) for case in [*FAMILIES, *GENERIC]}) >= 70


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", [*FAMILIES, *GENERIC], ids=str)
def test_encode(side: OnCpu, case: Case, layout: checks.LayoutName, rng: np.random.Generator) -> None:
    checks.check_encode(side, case, layout, rng)


@pytest.mark.parametrize("case", [*FAMILIES, *GENERIC], ids=str)
def test_decode_of_random_losses(side: OnCpu, case: Case, rng: np.random.Generator) -> None:
    for count in range(1, case.m + 1):
        if isinstance(case.matrix, int) and count > 1:
            break  # a random matrix is not MDS
        layout = LAYOUTS[int(rng.integers(3))]
        lost = rng.choice(case.k + case.m, count, replace=False).tolist()
        checks.check_decode(side, case, layout, rng, lost, n=1024 + 128, stripes=1 + int(rng.integers(2)))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("k", "m"), [(4, 1), (4, 2), (4, 3), (3, 4), (2, 5)])
def test_decode_of_every_loss(side: OnCpu, k: int, m: int, bits: Any, rng: np.random.Generator) -> None:
    for count in range(1, m + 1):
        for lost in combinations(range(k + m), count):
            order = rng.permutation(lost).tolist()
            wanted = order[: 1 + int(rng.integers(count))]
            checks.check_decode(
                side, Case(k, m, bits), "strided", rng, wanted, absent=order[len(wanted) :], stripes=1, n=80
            )


@pytest.mark.parametrize("case", [case for case in [*FAMILIES, *GENERIC] if case.k < 65], ids=str)
def test_update(side: OnCpu, case: Case, rng: np.random.Generator) -> None:
    count = int(rng.integers(1, min(case.k, 3) + 1))
    index = rng.choice(case.k, count, replace=False).tolist()
    checks.check_update(side, case, LAYOUTS[int(rng.integers(3))], rng, index, n=1024 + 48)


@pytest.mark.parametrize(
    "case", [Case(5, 1), Case(8, 2), Case(6, 3), Case(9, 4), Case(9, 6, 16), Case(4, 3, 16), Case(5, 9)], ids=str
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_verify(side: OnCpu, case: Case, layout: checks.LayoutName, rng: np.random.Generator) -> None:
    checks.check_verify(side, case, layout, rng)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 33, 511, 512, 513, 528, 1023, 1025, 2047, 8191, 8208])
@pytest.mark.parametrize("case", [Case(3, 1), Case(3, 2), Case(3, 4), Case(3, 2, 16), Case(3, 2, matrix=6)], ids=str)
def test_every_length(side: OnCpu, case: Case, n: int, rng: np.random.Generator) -> None:
    for layout in LAYOUTS:
        checks.check_encode(side, case, layout, rng, n=n, stripes=1 if n % 2 else 3)
        checks.check_decode(side, case, layout, rng, [case.k - 1], n=n, stripes=1)
        checks.check_update(side, case, layout, rng, [0], n=n, stripes=1)


def test_more_stripes_than_a_grid_is_high(side: OnCpu, rng: np.random.Generator) -> None:
    checks.check_encode(side, Case(2, 1), "strided", rng, stripes=65_539, n=16)
    assert side.shim.launched[-1].grid == (1, 65_535)


def test_stripes_may_run_backwards(side: OnCpu, rng: np.random.Generator) -> None:
    data = rng.integers(0, 256, (5, 4, 2048), dtype=np.uint8)
    whole, code = side.put(data.reshape(-1)).reshape(data.shape), side.code(4, 2)
    expected = Code(4, 2, backend="reference").encode(data[::-1, ::-1])
    np.testing.assert_array_equal(code.encode(whole[::-1, ::-1]), expected)


def test_no_byte_outside_a_shard_is_read(side: OnCpu, rng: np.random.Generator) -> None:
    """Shards end where readable memory ends: a read past them would end this process."""
    import ctypes
    import mmap

    room = mmap.mmap(-1, 4 * mmap.PAGESIZE)
    whole = np.frombuffer(room, dtype=np.uint8)
    guarded = whole[: 3 * mmap.PAGESIZE]
    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.c_void_p(whole.ctypes.data + guarded.size)
    assert libc.mprotect(address, mmap.PAGESIZE, 0) == 0
    try:
        for k, m in ((3, 1), (3, 2), (3, 3), (2, 4)):
            for n in (528, 1024 + 16, 1024 + 16 + 3):
                guarded[:] = rng.integers(0, 256, guarded.size, dtype=np.uint8)
                data = guarded[guarded.size - k * n :].reshape(k, n)
                expected = Code(k, m, backend="reference").encode(data)
                np.testing.assert_array_equal(side.code(k, m).encode(data), expected)
    finally:
        assert libc.mprotect(address, mmap.PAGESIZE, 3) == 0


FAULTS = [
    ("another polynomial", Case(5, 2), "encode", ("0x1d1d1d1d", "0x1b1b1b1b")),
    ("a vector past the end", Case(5, 4), "encode", ("at + 512u < end", "at + 512u <= end")),
    ("a byte past the end", Case(5, 2), "encode", ("if (place < end) p[place]", "if (place <= end) p[place]")),
    ("parities left out of the decode", Case(5, 2), "decode", ("if (flags & 2u)", "if (flags & 4u)")),
    ("one row of maps for all outputs", Case(5, 2), "decode", ("(u64)o * ", "0u * ")),
    ("the wrong stripe blamed", Case(5, 2), "verify", ("good[stripe] = 0", "good[0] = 0")),
    ("passes that do not add up", Case(5, 6, 16), "encode", ("if (flags & 1u)", "if (flags & 8u)")),
]


@pytest.mark.parametrize(("case", "operation", "change"), [fault[1:] for fault in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_planted_fault_is_noticed(
    side: OnCpu, case: Case, operation: str, change: tuple[str, str], rng: np.random.Generator
) -> None:
    faulty = OnCpu(Shim(side.shim.folder, lambda kernel: source(kernel).replace(*change), "-O0"))
    operations = {
        "encode": lambda layout: checks.check_encode(faulty, case, layout, rng),
        "decode": lambda layout: checks.check_decode(faulty, case, layout, rng, [0, 1]),
        "verify": lambda layout: checks.check_verify(faulty, case, layout, rng),
    }
    unnoticed = []
    for layout in LAYOUTS:
        try:
            operations[operation](layout)
        except AssertionError:
            continue
        unnoticed.append(layout)
    assert len(unnoticed) < len(LAYOUTS)


def test_the_text_keeps_to_what_a_cpu_can_run() -> None:
    kernel = text(Kernel("sliced", 8, (-2, -1, 0, 1), "parity"))
    assert not re.search(r"__shared__|__sync|__shfl|__ballot|atomic|#include", kernel)
    assert kernel.startswith(words())
    assert "__byte_perm(" not in kernel  # it clears the selector bits that replicate a sign


def test_launches_need_no_gpu_to_be_planned(side: OnCpu) -> None:
    """A stack of aligned shards takes one launch by strides, with nothing to upload."""
    side.shim.launched.clear()
    side.code(4, 2).encode(side.put(np.zeros(4 * 4096, dtype=np.uint8)).reshape(4, 4096))
    (launch,) = side.shim.launched
    assert launch.kernel.name == "horner8_0_1_store_strided"
    assert not launch.uploads
    assert Path(__file__).with_name("shim.h").exists()
