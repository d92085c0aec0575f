"""Without a usable GPU the reason is named, with what to install."""

from __future__ import annotations

from typing import Any

import pytest

from gemsim_kernels.gpu_reasons import Machine, NoGpu, usable_cupy
from tests.kernels import fake_cupy


def machine(
    *, driver: int | None = 13000, wheels: tuple[str, ...] = ("cupy-cuda13x",), cupy: Any = None, mig: bool = False
) -> Machine:
    def module() -> Any:
        if isinstance(cupy, Exception):
            raise cupy
        return fake_cupy.make() if cupy is None else cupy

    return Machine(lambda: driver, lambda: list(wheels), module, lambda: mig)


def raising(error: Exception) -> Any:
    def _raise(*_: Any, **__: Any) -> Any:
        raise error

    return _raise


def without_nvrtc() -> Any:
    cupy = fake_cupy.make()
    cupy.cuda.nvrtc.getVersion = raising(RuntimeError("libnvrtc.so.13 not found\nsearched in ..."))
    return cupy


def with_bad_compiler() -> Any:
    cupy = fake_cupy.make()
    cupy.RawModule = raising(RuntimeError("nvrtc: error: invalid value for --gpu-architecture"))
    return cupy


CASES: list[tuple[Machine, str]] = [
    (machine(driver=None), "no NVIDIA driver: libcuda.so.1 is not found. Install the driver"),
    (machine(driver=0), "the NVIDIA driver finds no GPU: see nvidia-smi"),
    (machine(driver=0, mig=True), "MIG is on and no instance of it is visible"),
    (machine(wheels=()), "CuPy is not installed: pip install 'gemsim[cuda13]'"),
    (machine(wheels=(), driver=12080), "CuPy is not installed: pip install 'gemsim[cuda12]'"),
    (
        machine(wheels=("cupy-cuda12x", "cupy-cuda13x")),
        "are both installed and share one folder, so neither can be trusted: pip uninstall cupy-cuda12x cupy-cuda13x",
    ),
    (machine(cupy=ImportError("libcudart.so.13")), "CuPy cannot be imported (ImportError: libcudart.so.13)"),
    (machine(driver=12040), "wrong toolkit: CuPy is built for CUDA 13, the driver offers 12.4."),
    (machine(cupy=fake_cupy.make(getDeviceCount=lambda: 0)), "there is no GPU 0; allowed: none is visible"),
    (machine(cupy=fake_cupy.make(getDeviceCount=lambda: 0), mig=True), "MIG is on"),
    (machine(cupy=fake_cupy.make(getDeviceCount=raising(OSError("cudaErrorNoDevice")))), "OSError: cudaErrorNoDevice"),
    (machine(cupy=without_nvrtc()), "(RuntimeError: libnvrtc.so.13 not found): pip install 'cupy-cuda13x[ctk]'"),
    (machine(cupy=with_bad_compiler()), "invalid value for --gpu-architecture): NVRTC, driver and GPU do not go"),
]


@pytest.mark.parametrize(("found", "words"), CASES)
def test_each_reason_is_named_with_what_to_do(found: Machine, words: str) -> None:
    with pytest.raises(NoGpu) as caught:
        usable_cupy(0, found)
    assert str(caught.value).startswith("GPU 0 cannot be used:\n  - ")
    assert words in str(caught.value)
    assert str(caught.value).count("\n") == 1


def test_several_reasons_are_all_named() -> None:
    with pytest.raises(NoGpu) as caught:
        usable_cupy(0, machine(driver=None, wheels=()))
    assert str(caught.value).count("\n  - ") == 2


def test_a_gpu_that_is_not_there_and_one_that_works() -> None:
    with pytest.raises(NoGpu, match="there is no GPU 1; allowed: 0 to 0"):
        usable_cupy(1, machine())
    cupy = fake_cupy.make()
    assert usable_cupy(0, machine(cupy=cupy)) is cupy


def test_hidden_gpus_are_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(NoGpu, match="CUDA_VISIBLE_DEVICES is ''"):
        usable_cupy(0, machine(driver=0))
