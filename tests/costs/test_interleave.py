"""Traffic in idle spans: span lists worked out by hand, and what holds for any list."""

from __future__ import annotations

from math import ceil, inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.costs import interleave as module
from gemsim.costs.interleave import SCHEMES, Chunk, Interleaving, Path, interleave

# 10 bytes a second on the network, 1 s to start a chunk, 20 bytes a second over PCIe
PATH = Path(10.0, 1.0, 20.0)


def send(scheme: str, spans: list[float], size: float, **keys: Any) -> Interleaving:
    """One remote copy in four sub-buffers of 20 bytes, unless told."""
    return interleave(scheme, spans, size, **{"path": PATH, "copies": 2, "reserved": 80.0, "buffers": 4, **keys})


def sizes(found: Interleaving) -> list[list[float]]:
    return [[chunk.bytes for chunk in span] for span in found.chunks]


def test_whole_chunks_and_what_the_rest_of_a_span_carries() -> None:
    # f(20) = 3 s: the first span takes two chunks and, in its last 2 s, 10 bytes; the second has the other 30
    found = send("gemini", [8.0, 9.0], 80.0)
    assert sizes(found) == [[20.0, 20.0, 10.0], [20.0, 10.0]]
    assert found.used == (8.0, 5.0)
    assert (found.added, found.buffer, found.transfer) == (0.0, 80.0, 13.0)


def test_a_span_no_longer_than_the_start_up_stays_empty() -> None:
    found = send("gemini", [1.0, 4.0, 20.0], 20.0)
    assert sizes(found) == [[], [20.0], []]
    assert found.used == (0.0, 3.0, 0.0)


def test_the_last_span_grows_the_iteration() -> None:
    # 40 bytes are left for the last span of 4 s: 6 s, so 2 s are added
    found = send("gemini", [6.0, 4.0], 80.0)
    assert sizes(found) == [[20.0, 20.0], [20.0, 20.0]]
    assert found.added == 2.0


def test_without_any_span_all_is_added() -> None:
    assert send("gemini", [], 40.0).added == 6.0


def test_two_remote_copies_never_share_a_chunk() -> None:
    found = send("gemini", [100.0], 30.0, copies=3)
    assert found.chunks == ((Chunk(0, 20.0), Chunk(0, 10.0), Chunk(1, 20.0), Chunk(1, 10.0)),)
    assert found.used == (10.0,)


def test_what_rounding_leaves_of_a_copy_does_not_hold_up_the_next() -> None:
    found = send("gemini", [100.0], 1.0, copies=3, reserved=0.4)  # ten times 0.1 taken from 1 leaves 1.4e-16
    assert [chunk.copy for chunk in found.chunks[0]] == [0] * 10 + [1] * 10


def test_one_copy_sends_nothing() -> None:
    found = send("gemini", [5.0], 30.0, copies=1)
    assert (found.chunks, found.used, found.added, found.buffer) == (((),), (0.0,), 0.0, 0.0)


def test_caution_plans_for_a_part_of_each_span_but_the_last() -> None:
    # half of 8 s: 20 bytes, and no more than the start-up is left
    found = send("gemini", [8.0, 9.0], 80.0, caution=0.5)
    assert sizes(found) == [[20.0], [20.0, 20.0, 20.0]]
    assert found.used == (3.0, 9.0)
    assert found.added == 0.0


def test_one_buffer_waits_for_its_copy() -> None:
    # 40 bytes: 5 s on the network, 2 s over PCIe, then the next: 5 + 2 + 5 + 2 + 5 = 19 s; four sub-buffers: 18 s
    found = send("no_pipeline", [10.0], 120.0, reserved=40.0)
    assert sizes(found) == [[40.0, 40.0, 40.0]]
    assert found.used == (19.0,)
    assert found.added == 9.0
    assert found.buffer == 40.0
    assert send("gemini", [10.0], 120.0).used == (18.0,)


def test_a_slow_pcie_holds_the_buffers() -> None:
    # two buffers of 20 bytes: 3 s on the network, 4 s over PCIe. Arrivals 3 and 6; the third needs the buffer that is
    # free at 7, and arrives at 10; the fourth waits for 11
    found = send("gemini", [50.0], 80.0, buffers=2, reserved=40.0, path=Path(10.0, 1.0, 5.0))
    assert found.used == (14.0,)


def test_naive_takes_the_memory_of_the_largest_span() -> None:
    found = send("naive", [4.0, 9.0, 5.0], 100.0)
    assert sizes(found) == [[30.0], [70.0], []]
    assert found.buffer == 80.0
    assert found.out_of_memory(79.0)
    assert not found.out_of_memory(80.0)
    assert send("naive", [0.5], 100.0).buffer == 100.0  # no span carries anything: one piece


def test_blocking_uses_no_span() -> None:
    found = send("blocking", [8.0, 9.0], 80.0)
    assert sizes(found) == [[], [], [20.0] * 4]
    assert found.added == 12.0


def test_a_local_copy_longer_than_the_busy_time_is_added() -> None:
    assert send("gemini", [20.0], 80.0, busy=3.0).added == 1.0
    assert send("gemini", [20.0], 80.0, busy=4.0).added == 0.0


@pytest.mark.parametrize(
    "keys",
    [
        {"copies": 0},
        {"buffers": 0},
        {"caution": 0.0},
        {"caution": 1.5},
        {"reserved": 0.0},
        {"path": Path(0.0, 1.0, 1.0)},
        {"path": Path(1.0, -1.0, 1.0)},
    ],
)
def test_input_without_meaning_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|need"):
        send("gemini", [5.0], 10.0, **keys)


def test_spans_sizes_schemes_and_chunks_without_end_are_refused() -> None:
    for scheme, spans, size, keys in (
        ("gemini", [-1.0], 10.0, {}),
        ("gemini", [1.0], 0.0, {}),
        ("other", [1.0], 10.0, {}),
        ("gemini", [1.0], 10.0, {"reserved": 1e-6}),
    ):
        with pytest.raises(ValueError, match=r"must|larger buffers"):
            send(scheme, spans, size, **keys)


def test_the_published_ablation() -> None:
    """GEMINI section 7.4: GPT-2 40B on 16 p3dn.24xlarge, where blocking adds 10.1 %, one buffer 3.5 %, GEMINI nothing.

    Published: step 43.5 s, idle 5.7 s with a largest span of 1.6 s, checkpoint 4.4 s in training (Fig. 13b), 128 MB,
    and that copies to CPU memory are as fast as the network. Derived: 12 bytes a parameter on 128 GPUs are 3.75 GB.
    Assumptions: start-up within the 4.4 s, the other spans equal. Their number is not published and decides what one
    buffer costs: nothing where a span is shorter than a chunk, 7 % in a single span.
    """
    size = 40e9 * 12 / 128
    measured = Path(size / 4.4, 0.0, size / 4.4)

    def share(scheme: str, spans: list[float]) -> float:
        return interleave(scheme, spans, size, copies=2, path=measured, reserved=128e6, buffers=4).added / 43.5

    for others in (5, 10, 20):
        spans = [1.6] + [4.1 / others] * others
        assert share("blocking", spans) == pytest.approx(0.101, abs=0.001)
        assert share("gemini", spans) == 0.0
        assert 0.02 < share("no_pipeline", spans) < 0.07
    assert share("no_pipeline", [5.7]) == pytest.approx((8.8 - 5.7) / 43.5, abs=0.005)
    line = Path(100e9 / 8 / 8, 0.0, 100e9 / 8 / 8)  # the paper sizes the buffer of the naive scheme by the line rate
    naive = interleave("naive", [1.6, 1.0, 1.6, 1.5], size, copies=2, path=line, reserved=128e6, buffers=4, caution=1.0)
    assert naive.out_of_memory(2e9)


# --- any list of spans -------------------------------------------------------------------------------------------

spans_of = st.lists(st.floats(0.0, 10.0), max_size=8)
cases = st.fixed_dictionaries(
    {
        "size": st.floats(1.0, 1000.0),
        "copies": st.integers(1, 4),
        "path": st.builds(Path, st.floats(1.0, 500.0), st.floats(0.0, 1.0), st.floats(1.0, 500.0)),
        "reserved": st.floats(8.0, 400.0),
        "buffers": st.integers(1, 8),
        "caution": st.floats(0.05, 1.0),
    }
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SCHEMES), spans_of, cases)
def test_what_holds_for_any_spans(scheme: str, spans: list[float], case: dict[str, Any]) -> None:
    check(scheme, spans, case)


def check(scheme: str, spans: list[float], case: dict[str, Any]) -> None:
    """Every byte once for each copy, no chunk above its buffer, no span but the last overfilled, the bound kept."""
    found = interleave(scheme, spans, **case)
    path: Path = case["path"]
    size, remote = case["size"], int(case["copies"]) - 1
    every = [chunk for span in found.chunks for chunk in span]
    for copy in range(remote):
        assert sum(c.bytes for c in every if c.copy == copy) == pytest.approx(size, rel=1e-9)
    assert {c.copy for c in every} <= set(range(remote))
    assert [c.copy for c in every] == sorted(c.copy for c in every)
    each = {"gemini": case["reserved"] / case["buffers"], "no_pipeline": case["reserved"]}
    each["blocking"], each["naive"] = each["gemini"], found.buffer
    assert all(0.0 < c.bytes <= each[scheme] for c in every)
    for span, chunks, used in list(zip(spans, found.chunks, found.used, strict=False))[:-1]:
        assert used <= case["caution"] * span * (1 + 1e-9)
        assert used >= sum(path.seconds(c.bytes) for c in chunks) * (1 - 1e-9)
    bound = remote * size / path.bandwidth + len(every) * path.startup - sum(spans)
    assert found.added >= max(0.0, bound) - 1e-9 * (size + 1)
    assert found.added >= remote * size / path.bandwidth - sum(spans) - 1e-9 * size


@settings(max_examples=100, deadline=None)
@given(spans_of, cases)
def test_more_buffers_of_one_size_never_take_longer(spans: list[float], case: dict[str, Any]) -> None:
    twice = {**case, "buffers": case["buffers"] * 2, "reserved": case["reserved"] * 2}
    one, two = (interleave("gemini", spans[:1], **keys) for keys in (case, twice))
    assert two.added <= one.added + 1e-9 * (1 + one.transfer)


@settings(max_examples=100, deadline=None)
@given(spans_of, cases)
def test_only_blocking_ignores_the_spans(spans: list[float], case: dict[str, Any]) -> None:
    blocking = interleave("blocking", spans, **case)
    assert blocking.added == interleave("blocking", [], **case).added
    free = Path(case["path"].bandwidth, case["path"].startup, inf)
    alone = interleave("blocking", [], **{**case, "path": free})
    chunks = (int(case["copies"]) - 1) * ceil(case["size"] / (case["reserved"] / case["buffers"]) * (1 - 1e-9))
    exact = (int(case["copies"]) - 1) * case["size"] / free.bandwidth + chunks * free.startup
    assert alone.added == pytest.approx(exact, rel=1e-6, abs=free.startup * (int(case["copies"]) - 1))


# --- faults that the checks above must catch ---------------------------------------------------------------------


def _caught(monkeypatch: pytest.MonkeyPatch, name: str, fault: object) -> None:
    case = {"size": 95.0, "copies": 3, "path": PATH, "reserved": 80.0, "buffers": 4, "caution": 0.9}
    check("gemini", [6.0, 8.0, 3.0], case)
    monkeypatch.setattr(module, name, fault)
    with pytest.raises(AssertionError):
        check("gemini", [6.0, 8.0, 3.0], case)


def test_a_buffer_bound_that_is_ignored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module._fill

    def unbounded(planned: list[float], size: float, copies: int, buffers: module._Buffers) -> object:
        return whole(planned, size, copies, module._Buffers(buffers.count, inf, buffers.path))

    _caught(monkeypatch, "_fill", unbounded)


def test_a_copy_too_many_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module._fill
    _caught(monkeypatch, "_fill", lambda planned, size, copies, buffers: whole(planned, size, copies + 1, buffers))


def test_forgotten_start_ups_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "seconds", lambda self, size: size / self.bandwidth)
    with pytest.raises(AssertionError):
        assert send("gemini", [8.0, 9.0], 80.0).used == (8.0, 5.0)
