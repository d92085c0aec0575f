"""A protected state comes back bit for bit from any loss its parity covers, and is not touched by one it cannot."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim_kernels import chunks as layouts
from gemsim_kernels.byte_views import BadState
from gemsim_kernels.codec import Code
from gemsim_kernels.codes import Field
from gemsim_kernels.matrices import TooManyLost
from gemsim_kernels.protected_state import Lost, ProtectedState, StaleParity

Arrays = dict[str, np.ndarray[Any, Any]]
DTYPES = ("uint8", "float16", "float32", "float64", "int64", "complex64", "bool", "S3")


def state(rng: np.random.Generator, *sizes: int, dtypes: tuple[str, ...] = DTYPES) -> Arrays:
    """Arrays of so many elements, of many dtypes; every other one with two dimensions."""
    found: Arrays = {}
    for index, size in enumerate(sizes):
        dtype = np.dtype(dtypes[index % len(dtypes)])
        raw = rng.integers(0, 2 if dtype.kind == "b" else 256, size * dtype.itemsize, dtype=np.uint8)
        array = raw.view(dtype)
        found[f"a{index}"] = array.reshape(2, -1) if index % 2 and size % 2 == 0 else array
    return found


def small(rng: np.random.Generator, k: int, m: int, **more: Any) -> tuple[Arrays, ProtectedState]:
    arrays = state(rng, 37, 10, 16, 1, 0, 5)
    return arrays, ProtectedState(arrays, k, m, backend="reference", **({"chunk_bytes": 16} | more))


def image(arrays: Arrays) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays.items()}


def flat(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.reshape(-1).view(np.uint8)


def wipe(arrays: Arrays, protected: ProtectedState, stripe: int, positions: tuple[int, ...]) -> list[Lost]:
    """Destroy the chunks at these positions of a stripe and say which bytes that were."""
    lost: list[Lost] = []
    members = protected.chunks.members(stripe)
    for position in positions:
        chunk = members[position]
        for piece in protected.chunks.pieces(chunk) if chunk is not None else ():
            flat(arrays[piece.name])[piece.start : piece.stop] ^= 0xFF
            lost.append((piece.name, piece.start, piece.stop))
    return lost


@pytest.mark.parametrize("layout", ["interleaved", "contiguous"])
@pytest.mark.parametrize(("k", "m"), [(3, 1), (4, 2), (5, 3), (3, 4)])
def test_every_pattern_of_every_stripe_comes_back(
    rng: np.random.Generator, k: int, m: int, layout: layouts.Layout
) -> None:
    arrays, protected = small(rng, k, m, layout=layout)
    before, parity = image(arrays), protected.parity.copy()
    for stripe in range(protected.chunks.stripes):
        for count in range(1, m + 1):
            for pattern in itertools.combinations(range(k + m), count):
                lost = wipe(arrays, protected, stripe, tuple(p for p in pattern if p < k))
                rows = [(stripe, p - k) for p in pattern if p >= k]
                for _, row in rows:
                    protected.parity[stripe, row] ^= 0xFF
                done = protected.rebuild(lost, lost_parity=rows)
                assert image(arrays) == before
                assert np.array_equal(protected.parity, parity)
                assert done.stripes == ((stripe,) if lost or rows else ())


@pytest.mark.parametrize("layout", ["interleaved", "contiguous"])
def test_more_than_m_lost_names_the_stripe_and_leaves_every_byte(
    rng: np.random.Generator, layout: layouts.Layout
) -> None:
    arrays, protected = small(rng, 4, 2, layout=layout)
    full = next(s for s in range(protected.chunks.stripes) if None not in protected.chunks.members(s))
    for pattern in itertools.combinations(range(4), 3):
        other = (full + 1) % protected.chunks.stripes
        lost = [*wipe(arrays, protected, full, pattern), *wipe(arrays, protected, other, (0,))]
        damaged, parity = image(arrays), protected.parity.copy()
        with pytest.raises(TooManyLost, match=rf"stripe {full}: 3 of its chunks are lost \(a.* m = 2; nothing was"):
            protected.rebuild(lost)
        assert image(arrays) == damaged
        assert np.array_equal(protected.parity, parity)
        wipe(arrays, protected, full, pattern)
        wipe(arrays, protected, other, (0,))


@settings(max_examples=40)
@given(data=st.data())
def test_any_state_any_covered_loss(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 90), min_size=1, max_size=6))
    k, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    arrays = state(np.random.default_rng(data.draw(st.integers(0, 99))), *sizes)
    layout: layouts.Layout = data.draw(st.sampled_from(["interleaved", "contiguous"]))
    field: Field = data.draw(st.sampled_from([8, 16]))
    chunk = data.draw(st.sampled_from([2, 6, 16, 40]))
    protected = ProtectedState(arrays, k, m, chunk_bytes=chunk, layout=layout, field=field)
    before, lost = image(arrays), []
    for stripe in range(protected.chunks.stripes):
        pattern = data.draw(st.lists(st.integers(0, k - 1), max_size=min(k, m), unique=True))
        lost += wipe(arrays, protected, stripe, tuple(pattern))
    assert protected.rebuild(lost).bytes == sum(stop - start for _, start, stop in lost)
    assert image(arrays) == before
    assert protected.verify() == []


def test_only_the_lost_bytes_are_written(rng: np.random.Generator) -> None:
    arrays, protected = small(rng, 4, 2)
    before = image(arrays)
    flat(arrays["a0"])[3:7] = 0
    assert protected.rebuild([("a0", 3, 7), ("a0", 5, 6)]).bytes == 4
    assert image(arrays) == before


def test_a_parity_that_does_not_fit_is_found_before_anything_is_written(rng: np.random.Generator) -> None:
    arrays, protected = small(rng, 4, 2)
    flat(arrays["a0"])[0] ^= 1  # changed, and not encoded again
    flat(arrays["a0"])[3:7] = 0
    damaged = image(arrays)
    with pytest.raises(StaleParity, match="bytes 0 to 3 of a0, said to be whole"):
        protected.rebuild([("a0", 3, 7)])
    assert image(arrays) == damaged


@pytest.mark.parametrize("layout", ["interleaved", "contiguous"])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_an_update_leaves_what_a_new_encode_gives(rng: np.random.Generator, layout: layouts.Layout, m: int) -> None:
    arrays, protected = small(rng, 4, m, layout=layout)
    with protected.updating(["a0", "a3"]):
        flat(arrays["a0"])[:] = rng.integers(0, 256, flat(arrays["a0"]).size, dtype=np.uint8)
        flat(arrays["a3"])[-1] ^= 7
    assert protected.verify() == []
    assert protected.staging_bytes(["a0"]) >= flat(arrays["a0"]).size


def test_an_update_that_raises_leaves_a_parity_that_fits(rng: np.random.Generator) -> None:
    arrays, protected = small(rng, 4, 2)

    def step() -> None:
        flat(arrays["a1"])[:9] = 0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), protected.updating(["a1"]):
        step()
    assert protected.verify() == []


def test_a_true_difference_keeps_damage_elsewhere_out_of_the_parity(rng: np.random.Generator) -> None:
    arrays, protected = small(rng, 4, 2)
    before = flat(arrays["a2"]).copy()
    with protected.updating(["a0"]):
        flat(arrays["a0"])[:20] += 1
        flat(arrays["a2"])[:] ^= 0xFF  # damage while the step ran
    protected.rebuild([("a2", 0, 64)])
    assert np.array_equal(flat(arrays["a2"]), before)


def test_what_is_being_updated_is_left_alone(rng: np.random.Generator) -> None:
    arrays, protected = small(rng, 4, 2)
    with protected.updating(["a0"]):
        for refused in (protected.encode, protected.verify, lambda: protected.rebuild([("a0", 0, 1)])):
            with pytest.raises(RuntimeError, match="being updated; leave `updating` first"):
                refused()
        with pytest.raises(RuntimeError, match="being updated already"), protected.updating(["a0"]):
            pass
    assert protected.verify() == []
    del arrays


def test_a_failed_update_makes_its_stripes_stale_until_encoded(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, protected = small(rng, 4, 2)

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("launch failed")

    with monkeypatch.context() as patch:
        patch.setattr(Code, "update", broken)
        with pytest.raises(OSError, match="launch failed"), protected.updating(["a0"]):
            pass
    for refused in (lambda: protected.rebuild([("a0", 0, 1)]), lambda: protected.updating(["a0"]).__enter__()):
        with pytest.raises(StaleParity, match="may be half written"):
            refused()
    protected.encode()
    assert protected.rebuild([("a0", 0, 1)]).chunks == 1
    del arrays


@pytest.mark.parametrize("layout", ["interleaved", "contiguous"])
def test_only_the_stripes_touched_are_encoded_again(rng: np.random.Generator, layout: layouts.Layout) -> None:
    arrays, protected = small(rng, 4, 2, layout=layout)
    for array in arrays.values():
        flat(array)[:] = rng.integers(0, 256, flat(array).size, dtype=np.uint8)
    touched = {protected.chunks.place(chunk)[0] for chunk in protected.chunks.covering("a1")}
    assert protected.encode(["a1"]) == len(touched) < protected.chunks.stripes
    assert set(protected.verify()) == set(range(protected.chunks.stripes)) - touched
    assert protected.encode("a4") == 0


@pytest.mark.parametrize("layout", ["interleaved", "contiguous"])
@pytest.mark.parametrize("sizes", [(4000,), (1600, 1600, 800), (4001, 3, 777), (100,) * 9])
def test_runs_of_stripes_give_the_parity_of_one_at_a_time(
    rng: np.random.Generator, layout: layouts.Layout, sizes: tuple[int, ...]
) -> None:
    arrays = state(rng, *sizes, dtypes=("uint8",))
    protected = ProtectedState(arrays, 3, 2, chunk_bytes=16, layout=layout)
    data = np.zeros((protected.chunks.stripes, 3, 16), dtype=np.uint8)
    for chunk in range(protected.chunks.count):
        for piece in protected.chunks.pieces(chunk):
            row = data[protected.chunks.place(chunk)]
            row[piece.at : piece.at + piece.stop - piece.start] = flat(arrays[piece.name])[piece.start : piece.stop]
    assert np.array_equal(Code(3, 2, backend="reference").encode(data), protected.parity)
    runs = list(protected._stripes.runs(range(protected.chunks.stripes)))
    assert [stripe for run, _ in runs for stripe in run] == list(range(protected.chunks.stripes))
    if len(sizes) == 1:
        assert len(runs) <= 4


@given(
    sizes=st.lists(st.integers(0, 200), min_size=1, max_size=8),
    k=st.integers(1, 5),
    chunk=st.sampled_from([1, 6, 16, 48]),
    layout=st.sampled_from(["interleaved", "contiguous"]),
)
def test_every_byte_lies_in_one_chunk_and_every_chunk_in_one_place(
    sizes: list[int], k: int, chunk: int, layout: layouts.Layout
) -> None:
    found = layouts.Chunks({f"a{i}": size for i, size in enumerate(sizes)}, k, chunk, layout)
    bytes_seen = [
        (piece.name, byte)
        for each in range(found.count)
        for piece in found.pieces(each)
        for byte in range(piece.start, piece.stop)
    ]
    assert sorted(bytes_seen) == sorted((f"a{i}", byte) for i, size in enumerate(sizes) for byte in range(size))
    members = [chunk for stripe in range(found.stripes) for chunk in found.members(stripe)]
    assert sorted(chunk for chunk in members if chunk is not None) == list(range(found.count))
    for each in range(found.count):
        stripe, position = found.place(each)
        assert found.members(stripe)[position] == each
        for piece in found.pieces(each):
            assert each in found.covering(piece.name, piece.start, piece.stop)
            assert 0 <= piece.at <= chunk - (piece.stop - piece.start)


def test_interleaved_neighbours_are_in_different_stripes(rng: np.random.Generator) -> None:
    found = layouts.Chunks({"a": 1600}, 4, 16, "interleaved")
    places = [found.place(chunk)[0] for chunk in range(found.count)]
    assert all(len(set(places[at : at + found.stripes])) == found.stripes for at in range(found.count - found.stripes))


def test_the_overhead_is_m_over_k_and_what_rounding_adds(rng: np.random.Generator) -> None:
    arrays = state(rng, 16 * 30, dtypes=("uint8",))
    overhead = ProtectedState(arrays, 10, 2, chunk_bytes=16).overhead
    assert (overhead.state, overhead.parity, overhead.stripes) == (480, 96, 3)
    assert overhead.share == 0.2
    assert "96 bytes of parity for 480 bytes of state (20.00%)" in str(overhead)


def test_questions_that_name_nothing_are_refused(rng: np.random.Generator) -> None:
    arrays, protected = small(rng, 4, 2)
    for lost, rows, words in (
        ([("b", 0, 1)], [], "no array 'b'; there are a0"),
        ([("a0", 0, 99)], [], "a0: no bytes 0 to 99; allowed: within 0 to 37"),
        ([], [(0, 2)], "no parity shard 2 of stripe 0"),
    ):
        with pytest.raises(BadState, match=words):
            protected.rebuild(lost, lost_parity=rows)
    with pytest.raises(BadState, match="chunk_bytes = 15; allowed: multiples of 2"):
        ProtectedState(arrays, 4, 2, field=16, chunk_bytes=15)
    with pytest.raises(BadState, match="no such layout"):
        ProtectedState(arrays, 4, 2, layout="striped")  # type: ignore[arg-type]
