"""Joint starts beside chance: none are told in independent logs, coarse ones too; real ones are, by their number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.cli.main import main
from gemsim.failures.logs.chance import Joint, expected, find_joint
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.model import JOINT, fit_model
from gemsim.failures.logs.ticks import resolution
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.logs.synthetic import as_csv, log_of, write

Floats = NDArray[np.float64]

NODES, WINDOW = 500, 8000.0


def even(rng: np.random.Generator) -> tuple[Floats, float]:
    """A MTBF of 4 h."""
    return rng.random(rng.poisson(2000)) * WINDOW, 0.0


def hourly(rng: np.random.Generator) -> tuple[Floats, float]:
    """The same in whole hours."""
    return np.floor(even(rng)[0]), 1.0


def daily(rng: np.random.Generator) -> tuple[Floats, float]:
    """A whole day's tick, and an event on every second day."""
    return np.floor(rng.random(rng.poisson(160)) * WINDOW / 24.0) * 24.0, 24.0


def waves(rng: np.random.Generator) -> tuple[Floats, float]:
    """A rate that goes up and down by nine tenths within each day."""
    times = rng.random(rng.poisson(4000)) * WINDOW
    return times[rng.random(len(times)) * 2.0 < 1.0 + 0.9 * np.sin(times * 2.0 * np.pi / 24.0)], 0.0


def dense(rng: np.random.Generator) -> tuple[Floats, float]:
    """A fortnight in which as much fails as in the rest of the time."""
    return np.concatenate([rng.random(1000) * 7660.0, 7660.0 + rng.random(1000) * 340.0]), 0.0


def off_the_hour(rng: np.random.Generator) -> tuple[Floats, float]:
    """Whole hours on a clock that is seven minutes off."""
    times = even(rng)[0]
    return np.floor(times[times < WINDOW - 1.0]) + 7 / 60, -1.0


def full_days(rng: np.random.Generator) -> tuple[Floats, float]:
    """Whole days with six events each."""
    return np.floor(rng.random(rng.poisson(2000)) * WINDOW / 24.0) * 24.0, 24.0


def independent(make: Callable[[np.random.Generator], tuple[Floats, float]], seed: int) -> Log:
    rng = np.random.default_rng(seed)
    times, tick = make(rng)
    tick = resolution(times) if tick < 0.0 else tick
    return log_of(np.sort(times), node=rng.integers(0, NODES, len(times)), nodes=NODES, window=WINDOW, tick=tick)


@pytest.mark.parametrize("make", [even, hourly, daily, waves, dense, off_the_hour])
def test_independent_nodes_have_no_joint_starts(make: Callable[[np.random.Generator], tuple[Floats, float]]) -> None:
    """Told in no more than 2 logs in 100, and the number expected by chance is within 5 % of that seen."""
    found = [find_joint(independent(make, seed))[0] for seed in range(200)]
    # 16 of 200 at a share of 0.02 have a chance of 3e-6.
    assert sum(one.told for one in found) < 16
    seen, by_chance = sum(one.seen for one in found), sum(one.chance for one in found)
    assert by_chance == pytest.approx(seen, rel=0.05)


def test_ticks_that_are_all_full_tell_nothing() -> None:
    """Where each day has failures nobody can say how many meet by chance: there is no class of joint starts."""
    found = [find_joint(independent(full_days, seed))[0] for seed in range(50)]
    assert sum(one.told for one in found) == 0
    assert all(one.seen > 1000 for one in found)


def check_off_the_hour() -> None:
    joint, _, _ = find_joint(independent(off_the_hour, 3))
    assert joint.seen > 150
    assert not joint.told


def test_a_grid_that_does_not_begin_at_zero_is_seen() -> None:
    def from_zero(_: Callable[..., float]) -> Callable[..., float]:
        return lambda times: 1.0 if np.all(times == np.round(times)) else 1.0 / 60.0

    must_reject(check_off_the_hour, replaced("tests.logs.test_chance:resolution", from_zero))


def check_hourly_class() -> None:
    """A log of independent nodes in whole hours: no class of joint starts, however many start in one hour."""
    log = independent(hourly, 3)
    model = fit_model(log, recurring=False)
    assert model.joint.seen > 150
    assert [one.name for one in model.sources] == ["gpu"]
    assert model.sources[0].events == len(log.time_h)


def test_a_coarse_clock_makes_no_joint_starts() -> None:
    check_hourly_class()


def test_a_chance_that_knows_no_tick_is_noticed() -> None:
    fault = replaced("gemsim.failures.logs.chance:expected", lambda _: lambda *_: (0.0, 0))
    must_reject(check_hourly_class, fault)


def with_pairs(seed: int, *, pairs: int = 60, tick: float = 0.0) -> Log:
    """Independent starts and `pairs` of two nodes within minutes."""
    rng = np.random.default_rng(seed)
    first = rng.random(pairs) * (WINDOW - 1.0)
    times = np.concatenate([rng.random(2000) * WINDOW, first, first + rng.random(pairs) * 0.03])
    times = np.floor(times / tick) * tick if tick else times
    node = np.concatenate([rng.integers(0, NODES, 2000), rng.permutation(NODES)[: 2 * pairs]])
    order = np.argsort(times, kind="stable")
    return log_of(times[order], node=node[order], nodes=NODES, window=WINDOW, tick=tick)


def check_pairs() -> None:
    """Of 20 logs with 60 pairs each the class holds 60 pairs on average: what chance adds is left out."""
    pairs = 0
    for seed in range(20):
        joint, together, _ = find_joint(with_pairs(seed))
        assert joint.told
        pairs += int(together.sum()) // 2
    statcheck.poisson_count(pairs, 20 * 60.0, detect=0.25)


def test_what_strikes_nodes_together_is_found_by_its_number() -> None:
    check_pairs()


def test_chance_pairs_that_stay_are_noticed() -> None:
    fault = replaced(
        "gemsim.failures.logs.chance:_by_chance", lambda _: lambda _t, groups, *_: np.zeros(len(groups), bool)
    )
    must_reject(check_pairs, fault)


def test_the_class_and_the_rest_are_all_events() -> None:
    log = with_pairs(1)
    model = fit_model(log, recurring=False)
    joint = next(one for one in model.sources if one.name == JOINT)
    assert sum(one.events for one in model.sources) == len(log.time_h)
    nodes = sum(size * share for size, share in joint.sizes)
    assert nodes == pytest.approx(2.0, abs=0.1)
    followers = joint.events * (1.0 - 1.0 / nodes)
    assert followers == pytest.approx(model.joint.seen - round(model.joint.chance))


def test_one_start_of_many_nodes_is_told() -> None:
    """Eight nodes at one instant in a log of 40 events: no chance makes that."""
    rng = np.random.default_rng(2)
    times = np.sort(np.concatenate([rng.random(32) * WINDOW, np.full(8, 1234.5)]))
    joint, together, _ = find_joint(log_of(times, node=rng.permutation(NODES)[:40], nodes=NODES, window=WINDOW))
    assert (joint.seen, joint.told, int(together.sum())) == (7, True, 8)


def test_the_number_by_chance_is_that_of_the_exact_law() -> None:
    """Ticks: y events give 1 - exp(-y) groups; windows: y exp(-y). Both for many events at an even rate."""
    rng = np.random.default_rng(4)
    for rate in (0.02, 0.3, 1.5):
        ticks = np.unique(np.floor(rng.random(40_000) * 40_000 / rate))
        assert expected(ticks, 40_000 / rate, 0.0, 1.0)[0] == pytest.approx(40_000 - len(ticks), rel=0.05, abs=40)
    times = np.sort(rng.random(40_000) * 1e5)
    for within in (0.02, 0.3):
        firsts = times[np.concatenate([[True], np.diff(times) > within])]
        assert expected(firsts, 1e5, within, 0.0)[0] == pytest.approx(40_000 - len(firsts), rel=0.05)
    assert expected(times, 1e5, 0.0, 0.0) == (0.0, 0)


def test_it_is_said_in_one_line_and_a_coarse_clock_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, as_csv(independent(hourly, 3)))
    assert main(["fit", str(path), "--nodes", str(NODES), "--window", "8000 h", "--replications", "100"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "no class of joint starts: 2" in shown
    assert "one-sided binomial test: p = 0." in shown
    assert "not told from chance at 0.01" in shown
    assert "warning: all starts lie on a grid of 1 h, coarser than the 4." in shown
    assert "starts at one instant as one: MTBF h" in shown


def test_coarse_and_told_by_hand() -> None:
    assert Joint(0.1, 0.0, 5, 4.0, 0.4).coarse
    assert not Joint(0.1, 0.1, 5, 4.0, 0.4).told
    assert Joint(0.1, 0.1, 50, 4.0, 1e-9).told
