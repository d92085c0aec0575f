"""What NVRTC makes of the text, run on the CPU: CUDA's own reading of it must give the reference's bytes too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gemsim_kernels import cuda_text
from tests.kernels.gpu_text import checks, nvrtc, ptx
from tests.kernels.gpu_text.checks import LAYOUTS, Case
from tests.kernels.gpu_text.shim import COMPILER, Shim
from tests.kernels.gpu_text.sides import OnCpu, shared_folder

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no g++ to run PTX with: apt install g++"),
    pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.MISSING),
]
CASES = [
    Case(5, 1),
    Case(7, 2),
    Case(9, 3),
    Case(6, 4),
    Case(11, 8),
    Case(5, 2, 16),
    Case(6, 6, 16),
    Case(5, 3, matrix="cauchy"),
]


@pytest.fixture(scope="session")
def side(tmp_path_factory: pytest.TempPathFactory) -> OnCpu:
    return OnCpu(Shim(shared_folder(tmp_path_factory, "ptx"), ptx.source, "-O1"))


LONG = {Case(11, 8), Case(6, 6, 16)}  # built for 10 s, and of the kind of 6 + 4 and 5 + 2


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case), marks=[pytest.mark.long] if case in LONG else []) for case in CASES]
)
def test_every_operation(side: OnCpu, case: Case, rng: np.random.Generator) -> None:
    for layout in LAYOUTS:
        checks.check_encode(side, case, layout, rng)
        lost = rng.choice(case.k + case.m, case.m, replace=False).tolist()
        checks.check_decode(side, case, layout, rng, lost)
        checks.check_update(side, case, layout, rng, [0, 3])


def test_a_selector_cut_to_three_bits_is_noticed(side: OnCpu, rng: np.random.Generator, monkeypatch: Any) -> None:
    """The fault that a shim on the CPU cannot see: `__byte_perm` where the sign must be replicated."""
    whole = cuda_text.text

    def cut(kernel: Any) -> str:
        return whole(kernel).replace("prmt(x, 0u, 0xba98u)", "__byte_perm(x, 0u, 0xba98u)")

    monkeypatch.setattr(cuda_text, "text", cut)
    nvrtc.compiled.cache_clear()
    faulty = OnCpu(Shim(side.shim.folder, ptx.source, "-O1"))
    with pytest.raises(AssertionError, match="Mismatched elements"):
        checks.check_encode(faulty, Case(5, 2), "strided", rng)
    nvrtc.compiled.cache_clear()
