"""The model finds what a log was drawn from, and simulates logs like it; the section says the same to a study."""

from __future__ import annotations

import dataclasses
import math
from functools import cache, partial

import numpy as np
import pytest
from ruamel.yaml import YAML

from gemsim.failures.laws import Lifetime, lifetime
from gemsim.failures.logs.chance import Joint
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.fit import Analysis, analyse, misses
from gemsim.failures.logs.model import JOINT, Model, Source, fit_model
from gemsim.failures.logs.recurrence import echoes
from gemsim.failures.logs.repair import repair_of
from gemsim.failures.logs.roundtrip import classes_of, round_trip, simulate
from gemsim.failures.logs.section import mix, section, slug
from gemsim.failures.logs.statistics import gap_shape
from gemsim.spec.failures import FailuresSpec, MixSpec
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.logs.synthetic import drawn, log_of

SEED = 5


@cache
def log() -> Log:
    return drawn(np.random.default_rng(SEED))


@cache
def analysis() -> Analysis:
    return analyse(log(), merge_h=0.0, simultaneous_h=0.0, replications=100, seed=SEED)


def source(**changes: object) -> Source:
    plain = Source(
        name="x", events=100, rate=1e-3, gamma_shape=math.inf, steps=(), sizes=(), spread_mean_h=0.0, spread_sigma=0.0,
        again=0.0, gap_shape=1.0, gap_mean_h=0.0, repair=repair_of(log_of([1.0, 2.0])),
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def counted(one: Source, stage: int = 0, *, logs: int = 40) -> list[float]:
    """Failures in each of some simulated logs of one class on 50 nodes over 2,000 h; a stage has logs of its own."""
    empty = log_of([1.0, 2.0], nodes=50, window=2000.0)
    model = Model((one,), Joint(0.1, 0.1, 0, 0.0, 1.0), (), 1.0, 24.0)
    first = stage * 10**6
    return [float(len(simulate(empty, model, seed=SEED, replication=first + number))) for number in range(logs)]


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"gamma_shape": 2.0, "again": 0.3, "gap_mean_h": 5.0}, {"again": 0.4, "gap_shape": 0.7, "gap_mean_h": 30.0},
        {"sizes": ((2, 0.5), (4, 0.5))}, {"steps": ((0.0, 0.5), (1000.0, 1.5))},
        {"sizes": ((2, 1.0),), "spread_mean_h": 0.01, "spread_sigma": 1.0},
    ],
    ids=["plain", "frailty and recurrence", "recurrence", "joint", "steps", "joint, spread"],
)  # fmt: skip
def test_a_simulated_class_has_its_rate_whatever_goes_with_it(changes: dict[str, object]) -> None:
    statcheck.mean_two_stage(partial(counted, source(**changes), logs=200), 100.0, detect=15.0)


def check_plain_rate() -> None:
    """The failures of an even class without anything else are Poisson of the rate asked."""
    statcheck.poisson_count(int(sum(counted(source()))), 4000.0, detect=0.12)


def check_rate_with_all() -> None:
    """A class with frailty and recurrence has the rate it is given: within 15 %."""
    one = source(gamma_shape=2.0, again=0.3, gap_mean_h=5.0)
    statcheck.mean_two_stage(partial(counted, one, logs=200), 100.0, detect=15.0)


def test_followers_that_are_forgotten_are_noticed() -> None:
    must_reject(check_rate_with_all, replaced("gemsim.failures.trace:Trace.follower", lambda _: lambda *_: None))


def test_a_plain_class_is_poisson_of_its_rate() -> None:
    check_plain_rate()


def test_a_rate_per_window_hour_is_noticed() -> None:
    # The healthy nodes forgotten: as many clocks as nodes struck.
    fault = replaced(
        "gemsim.failures.logs.roundtrip:classes_of",
        lambda make: lambda m, *, nodes, named: make(m, nodes=40, named=named),
    )
    must_reject(check_plain_rate, fault)


def test_recurrence_is_found_again_and_none_where_there_is_none() -> None:
    rng = np.random.default_rng(8)
    times, node = [], []
    for who in range(200):
        for at in rng.random(rng.poisson(5)) * 1000:
            while at < 1000:
                times.append(at)
                node.append(who)
                at = at + rng.exponential(3.0) if rng.random() < 0.4 else 1e9
    order = np.argsort(times)
    when, who_all = np.array(times)[order], np.array(node)[order]
    rates = np.full(200, len(times) / 200 / 1000)
    found = echoes(when, who_all, rates=rates, factor=np.ones(len(when)), window_h=1000.0, least_h=1e-3)
    assert found is not None
    assert found.again == pytest.approx(0.4, abs=0.06)
    assert found.mean_h == pytest.approx(3.0, rel=0.25)
    assert found.gain > 50
    assert found.background.sum() == pytest.approx(1000, rel=0.1)
    alone = np.sort(rng.random(1000) * 1000)
    none = echoes(
        alone, rng.integers(0, 200, 1000), rates=np.full(200, 5e-3), factor=np.ones(1000), window_h=1000.0, least_h=1e-3
    )
    assert none is None or none.gain < 6


def test_the_model_finds_what_the_log_was_drawn_from() -> None:
    model = fit_model(log())
    gpu = next(one for one in model.sources if one.name == "gpu")
    joint = next(one for one in model.sources if one.name == JOINT)
    assert gpu.events + joint.events == len(log().time_h)
    assert 0.5 < gpu.gamma_shape < 2.0
    assert gpu.again == pytest.approx(0.3, abs=0.1)
    assert dict(joint.sizes)[3] > 0.8  # the pairs are neighbours by chance, and left out
    assert len(model.drift) == 2
    assert model.drift[1][0] == pytest.approx(2000, abs=150)
    assert model.drift[0][1] == pytest.approx(0.5, abs=0.15)


def test_a_log_from_such_a_model_survives_the_round_trip() -> None:
    found = analysis()
    assert [f"{one.row} {one.name}" for one in misses(found)] == []
    assert found.replications == 100
    assert len(found.checks) == 6


def check_round_trip() -> None:
    """The log's own statistics lie within those of logs simulated from its first model, as logged."""
    checks = round_trip(log(), fit_model(log()), replications=100, seed=SEED)
    assert all(one.holds for one in checks[:3])


def test_the_first_model_of_a_log_drawn_from_it_suffices() -> None:
    check_round_trip()


def test_a_model_without_recurrence_is_noticed() -> None:
    must_reject(check_round_trip, replaced("gemsim.failures.logs.model:echoes", lambda _: lambda *_, **__: None))


def check_halves() -> None:
    """Simulated logs have the log's share of failures in the first half, where the rate was a third: within 5 %."""
    model = fit_model(log())
    logs = [simulate(log(), model, seed=SEED, replication=number) for number in range(60)]
    early = sum(int((one < 2000).sum()) for one in logs) / sum(len(one) for one in logs)
    assert abs(early - (log().time_h < 2000).mean()) < 0.05


def test_failures_come_when_the_log_has_them() -> None:
    check_halves()


def test_a_model_without_steps_is_noticed() -> None:
    fault = replaced("gemsim.failures.logs.steps:_partition", lambda _: lambda counts, _penalty: [0, len(counts)])
    must_reject(check_halves, fault)


def check_device_law() -> None:
    """The log's own statistics lie within those of logs made of one class without frailty, steps or joint starts."""
    plain = source(name="gpu", rate=len(log().time_h) / log().node_hours)
    model = dataclasses.replace(fit_model(log()), sources=(plain,))
    checks = round_trip(log(), model, replications=100, seed=SEED)
    assert all(one.holds for one in checks[:3])


@pytest.mark.parametrize("shape", [1.0, None], ids=["exponential", "the system's gap shape"])
def test_no_law_of_a_device_alone_makes_such_a_log(shape: float | None) -> None:
    """Neither the exponential nor the Weibull law of the system's gaps, given to every node."""
    taken = gap_shape(log().time_h) if shape is None else shape
    assert taken <= 1.0

    def weibull(_kind: str, mean: float) -> Lifetime:
        return lifetime("weibull", mean, taken)

    with replaced("gemsim.failures.logs.roundtrip:lifetime", lambda _: weibull), pytest.raises(AssertionError):
        check_device_law()


def test_the_section_is_read_by_a_study_and_says_the_same() -> None:
    found = analysis()
    text = section(found, source="a log", gpus=800)
    spec = FailuresSpec.model_validate(YAML(typ="safe").load(text)["failures"])
    ours = {
        slug(one.name, set()): kind
        for one, kind in zip(found.model.sources, classes_of(found.model, nodes=100), strict=True)
    }
    assert {one.name for one in spec.classes} == set(ours)
    for one in spec.resolved():
        kind = ours[one.name]
        assert one.rate.per == "node"
        assert one.rate.value == pytest.approx(1 / kind.lifetime.mean, rel=1e-9)
        assert one.repair is not None
        assert (one.frailty is None) == (kind.frailty is None)
        assert (one.recurrence is None) == (kind.recurrence is None)
        if kind.batch is not None:
            assert one.batch is not None


def test_a_mix_is_read_as_one_of_the_catalog() -> None:
    text = mix(analysis(), title="A log", source="a site", notes="by hand", gpus=800, cited="a site")
    spec = MixSpec.model_validate(YAML(typ="safe").load(text))
    assert spec.title == "A log"
    assert len(spec.classes) == len(analysis().model.sources)


def test_names_of_classes_are_made_fit() -> None:
    taken: set[str] = set()
    names = [slug(one, taken) for one in ("GPU", "gpu", "Not given", "3 phase", "", "Power  Supply!")]
    assert names == ["gpu", "gpu_2", "not_given", "class_3_phase", "class", "power_supply"]


def test_results_are_those_of_the_seed() -> None:
    again = analyse(log(), merge_h=0.0, simultaneous_h=0.0, replications=100, seed=SEED)
    assert again.checks == analysis().checks
