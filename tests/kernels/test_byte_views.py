"""Arrays are protected in their own memory, or refused with the line to write."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gemsim_kernels.byte_views import BadState
from gemsim_kernels.protected_state import ProtectedState


class Foreign:
    """What torch looks like to others: DLPack and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any], *, device: int = 1, fails: str = "") -> None:
        self.array, self.device, self.fails = array, device, fails

    def __dlpack__(self, **more: Any) -> Any:
        if self.fails:
            raise BufferError(self.fails)
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def detach(self) -> Foreign:
        return self

    def view(self, _: Any) -> Foreign:
        return Foreign(self.array)


def test_foreign_arrays_are_rebuilt_in_their_own_memory(rng: np.random.Generator) -> None:
    array = rng.integers(0, 256, 100, dtype=np.uint8)
    before = array.copy()
    protected = ProtectedState({"w": Foreign(array)}, 4, 1, chunk_bytes=16)
    array[20:30] = 0
    protected.rebuild([("w", 20, 30)])
    assert np.array_equal(array, before)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that passes for torch where types are looked up."""
    module = ModuleType("torch")
    vars(module).update(Tensor=Foreign, uint8="uint8")
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_torch_types_that_dlpack_cannot_name_are_viewed_as_bytes(rng: np.random.Generator, torch: ModuleType) -> None:
    array = rng.integers(0, 256, 100, dtype=np.uint8)
    protected = ProtectedState({"w": Foreign(array, fails="bfloat16 is not supported")}, 4, 1, chunk_bytes=16)
    assert protected.overhead.state == 100
    del torch


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "no arrays were given"),
    ({"w": [1, 2]}, r"w: a list, not an array; write: w = numpy.asarray\(w\)"),
    ({"w": np.array([None])}, "w: holds Python objects"),
    ({"w": np.zeros((4, 4))[:, ::2]}, r"w: its bytes are not side by side .*w = w.copy\(\)"),
    ({"w": read_only(np.zeros(4))}, r"w: is read-only, .*w = w.copy\(\)"),
    ({"w": Foreign(np.zeros(4), fails="no bf16")}, r"no bf16.*w = w.detach\(\).contiguous\(\).view\(torch.uint8\)"),
    ({"w": Foreign(np.zeros(4), device=10)}, "w: is on a device of DLPack type 10; allowed: host memory and CUDA"),
]


@pytest.mark.parametrize(("arrays", "words"), REFUSED)
def test_what_cannot_be_protected_in_place_is_refused(arrays: dict[str, Any], words: str) -> None:
    with pytest.raises(BadState, match=words):
        ProtectedState(arrays, 4, 2)


def test_tied_arrays_are_refused() -> None:
    base = np.zeros(100)
    with pytest.raises(BadState, match="w and head share memory"):
        ProtectedState({"w": base, "head": base[50:]}, 4, 2)


def test_column_major_and_scalars_are_taken_as_they_lie(rng: np.random.Generator) -> None:
    arrays = {"f": np.asfortranarray(rng.random((5, 7))), "s": np.array(3.5), "none": np.zeros((0, 4))}
    before = arrays["f"].copy()
    protected = ProtectedState(arrays, 3, 1, chunk_bytes=64)
    arrays["f"].T.reshape(-1).view(np.uint8)[8:16] = 0
    protected.rebuild([("f", 8, 16)])
    assert np.array_equal(arrays["f"], before)
