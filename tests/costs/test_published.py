"""The shipped numbers from papers: totals, rates and laws agree with their sources, and each class names its own."""

from __future__ import annotations

import pytest

from gemsim.spec import catalog
from gemsim.spec.failures import FailureClassSpec, mix

DAY = 86400.0
LLAMA_COUNTS = {
    "faulty_gpu": 148, "hbm3": 72, "software_bug": 54, "network": 35, "host_maintenance": 32, "sram": 19, "gsp": 17,
    "nic": 7, "nccl_watchdog": 7, "silent_corruption": 6, "thermal": 6, "ssd": 3, "power_supply": 3, "chassis": 2,
    "io_board": 2, "dependency": 2, "cpu": 2, "system_memory": 2,
}  # fmt: skip
CLASSES = [(name, one) for name in catalog.mix_names() for one in mix(name).classes]


def per_job(one: FailureClassSpec, gpus: int) -> float:
    """Events per second of a job on this many GPUs, eight to a node."""
    return one.job_rate(gpus=gpus, gpus_per_node=8)


def test_llama3_is_419_interruptions_in_54_days_by_count() -> None:
    counts = {one.name: per_job(one, 16384) * 54 * DAY for one in mix("llama3-2024").classes}
    assert counts == pytest.approx(LLAMA_COUNTS)
    assert sum(counts.values()) == pytest.approx(419)


def test_llama3_has_47_planned_stops_among_466_interruptions() -> None:
    """All classes of the mix without them, and one more."""
    *others, planned = mix("llama3-2024-planned").classes
    assert tuple(others) == mix("llama3-2024").classes
    assert planned.scope == "planned"
    assert per_job(planned, 16384) * 54 * DAY == pytest.approx(47)
    total = sum(per_job(one, 16384) for one in (*others, planned))
    assert total * 54 * DAY == pytest.approx(466)
    assert 1 / total / 3600 == pytest.approx(2.78, abs=0.005)


def test_rsc_projections_of_the_paper() -> None:
    hours = {gpus: 1 / per_job(mix("rsc-1").classes[0], gpus) / 3600 for gpus in (16384, 131072)}
    assert hours[16384] == pytest.approx(1.80, abs=0.005)
    assert hours[131072] == pytest.approx(0.225, abs=0.001)
    assert per_job(mix("rsc-2").classes[0], 8000) * DAY == pytest.approx(2.34)


@pytest.mark.parametrize(
    ("name", "gpus", "days", "events", "contained"),
    [("delta-a100-memory", 448, 895, 34, 13 / 24), ("delta-h100-memory", 608, 146, 24, 14 / 33)],
)
def test_delta_rates_give_back_the_counts(name: str, gpus: int, days: int, events: int, contained: float) -> None:
    (one,) = mix(name).classes
    # Within 0.2 %: the windows are printed in whole days.
    assert per_job(one, gpus) * days * DAY == pytest.approx(events, rel=2e-3)
    assert one.contained == pytest.approx(contained, abs=1e-4)
    assert one.lands == "all"


def test_the_burst_law_fits_the_figures_it_is_derived_from() -> None:
    (hbm,) = (one for one in mix("llama3-2024").classes if one.scope == "memory")
    law = dict(hbm.rows)
    assert sum(law.values()) == pytest.approx(1)
    assert law[1] == pytest.approx(0.929)
    assert law[1] + law[2] == pytest.approx(0.972)
    assert sum(rows * share for rows, share in law.items()) == pytest.approx(2.35, abs=0.005)
    assert max(law) == 63
    assert sum(share for rows, share in law.items() if rows < 62) < 0.99 <= 1 - law[63]


@pytest.mark.parametrize(("name", "one"), CLASSES, ids=[f"{name}-{one.name}" for name, one in CLASSES])
def test_every_class_names_its_source_and_its_assumptions(name: str, one: FailureClassSpec) -> None:
    assert any(named in one.source for named in ("Table 5", "arXiv", "doi 10.", "LA-UR"))
    assert "ssumption" in one.source or "Detection" in one.source
    assert "arXiv" in mix(name).source or "LA-UR" in mix(name).source


@pytest.mark.parametrize("name", catalog.gpu_names())
def test_every_gpu_type_holds_together(name: str) -> None:
    entry = catalog.gpu(name)
    assert entry.memory == int(name.split("-")[1].removesuffix("gb")) * 2**30
    assert entry.hbm_bandwidth > entry.nvlink_bandwidth
    assert "datasheet" in entry.source
