"""Laws of inputs: their quantiles against scipy, what stands for what in a study, and what is refused where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from gemsim import units
from gemsim.cli.main import main
from gemsim.errors import StudyError, ValueRefused
from gemsim.spec.loading import LoadedStudy, parse_study, resolve_point
from gemsim.spec.printing import canonical_yaml, study_hash
from gemsim.spec.types import Quantity, RateText, WholeNumber
from gemsim.spec.uncertain import Law, Slot, bound
from gemsim.spec.uncertain_text import read_law
from tests.faults import must_reject, replaced

TIME = Slot("time", Quantity("time", 0.0, 1e12))
SHARE = Slot("share", Quantity("share", 0.0, 1.0))
COUNT = Slot("count", Quantity("count", 0.0, 1e6))
RATE = Slot("rate", RateText())
WHOLE = Slot("count", WholeNumber(0, 100), whole=True)
DAY = 86400.0
P = (0.001, 0.025, 0.05, 0.3, 0.5, 0.9, 0.975, 0.999)
STUDY = """\
title: laws
cluster: {{gpus: 64, gpu: h100-80gb, spare_nodes: 2, storage: {{write: 2 TB/s, read: 7 TB/s}}}}
workload: {{parameters: 7e9, parallel: {{tensor: 8, data: 8}}, step: 20 s}}
restart: {{mode: in_place, process: {process}}}
failures: {{mix: llama3-2024, scale: {scale}}}
protection:
  - checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: 30 min}}
run: {{horizon: 54 d}}
"""


def study(process: str = "1 min", scale: str = "1", more: str = "") -> LoadedStudy:
    return parse_study((STUDY.format(process=process, scale=scale) + more).encode(), "study.yaml")


LAWS: list[tuple[str, Slot, Any]] = [
    ("5 min .. 10 min", TIME, stats.uniform(300, 300)),
    ("uniform(5 min, 10 min)", TIME, stats.uniform(300, 300)),
    ("10 min ± 20 %", TIME, stats.uniform(480, 240)),
    ("10 min +- 30 s", TIME, stats.uniform(570, 60)),
    ("loguniform(1 s, 100 s)", TIME, stats.loguniform(1, 100)),
    ("normal(10 min, 1 min)", TIME, stats.norm(600, 60)),
    ("lognormal(1 min, 2)", TIME, stats.lognorm(s=0.42140365, scale=60)),
    ("triangular(1 s, 2 s, 5 s)", TIME, stats.triang(c=0.25, loc=1, scale=4)),
    ("beta(14, 19)", SHARE, stats.beta(14, 19)),
    ("beta from 14 of 33", SHARE, stats.beta(14.5, 19.5)),
    ("30 % .. 0.5", SHARE, stats.uniform(0.3, 0.2)),
    ("gamma from 11 events in 54 d", RATE, stats.gamma(11.5, scale=1 / (54 * DAY))),
    ("gamma from 0 events in 1000 node d", RATE, stats.gamma(0.5, scale=1 / (1000 * DAY))),
    ("gamma from 419 events", COUNT, stats.gamma(419.5, scale=1 / 419)),
    ("gamma from 11 events in 54 d", TIME, stats.invgamma(11.5, scale=54 * DAY)),
]


@pytest.mark.parametrize(("text", "slot", "law"), LAWS, ids=[text for text, _, _ in LAWS])
def test_quantiles_are_those_of_scipy(text: str, slot: Slot, law: Any) -> None:
    fitted = bound(read_law(text), slot)
    assert [fitted.quantile(p) for p in P] == pytest.approx(law.ppf(P), rel=1e-6)
    assert fitted.nominal == pytest.approx(law.median(), rel=1e-6)


def test_a_count_of_events_is_jeffreys_posterior() -> None:
    """Mean (n + 1/2) / T; with Garwood's exact interval at n and n + 1 around it."""

    def check() -> None:
        fitted = bound(read_law("gamma from 11 events in 10 d"), RATE)
        low, high = (stats.chi2.ppf(p, 2 * n) / 2 / (10 * DAY) for p, n in ((0.025, 11), (0.975, 12)))
        assert low < fitted.quantile(0.025) < fitted.quantile(0.975) < high
        mean = sum(fitted.quantile((i + 0.5) / 4000) for i in range(4000)) / 4000
        assert mean == pytest.approx(11.5 / (10 * DAY), rel=1e-3)

    check()
    must_reject(check, replaced("gemsim.spec.uncertain_text:JEFFREYS", lambda half: 2 * half))


def test_the_error_factor_is_the_95_percent_quantile_over_the_median() -> None:
    fitted = bound(read_law("lognormal(10 min, 3)"), TIME)
    assert [fitted.quantile(p) / 600 for p in (0.05, 0.5, 0.95)] == pytest.approx([1 / 3, 1, 3])


@pytest.mark.parametrize("slot", [TIME, SHARE, COUNT, RATE], ids=["time", "share", "count", "rate"])
def test_a_drawn_value_reads_back_to_exactly_itself(slot: Slot) -> None:
    texts = {"time": "1 s .. 3 d", "rate": "1e-4 / node d .. 3 / node d"}
    fitted = bound(read_law(texts.get(slot.dimension, "0.1 .. 0.7")), slot)
    for p in (0.0, 0.1234567, 0.5, 0.987654321):
        number = fitted.quantile(p)
        assert slot.reader.read(fitted.value(number)) in (number, units.Rate(number, "node"))


def test_whole_numbers_are_drawn_evenly() -> None:
    fitted = bound(read_law("3 .. 6"), WHOLE)
    assert [fitted.quantile((i + 0.5) / 8) for i in range(8)] == [3, 3, 4, 4, 5, 5, 6, 6]
    assert (fitted.quantile(0.0), fitted.quantile(1.0), fitted.value(4.0)) == (3, 6, 4)


REFUSED = [
    ("0.5 .. 1.2", SHARE, "reaches 1.2"),
    ("normal(1 s, 1 s)", TIME, "reaches -"),
    ("beta(1, 2)", TIME, "another kind of number"),
    ("1 .. 2", TIME, "another kind of number"),
    ("gamma from 3 events", TIME, "what was watched"),
    ("gamma from 0 events", COUNT, "says nothing of a factor"),
    ("1.5 .. 3", WHOLE, "whole numbers"),
    ("lognormal(3, 2)", WHOLE, "whole numbers"),
]


@pytest.mark.parametrize(("text", "slot", "why"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_a_law_that_does_not_fit_its_field_is_refused(text: str, slot: Slot, why: str) -> None:
    with pytest.raises(ValueRefused, match=why):
        bound(read_law(text), slot)


@pytest.mark.parametrize(
    "text",
    ["beta(14)", "beta(0, 1)", "5 .. 10 min", "betta(1, 2)", "gamma(1, 2)", "2 .. 1", "lognormal(1, 0.5)", "1 ± 0 %",
     "1 .. 2 .. 3", "gamma from 1.5 events", "gamma from 3 events in 5 parsecs", "beta from 5 of 3", "", "x" * 500,
     "1 ±", "triangular(1, 5, 2)", "normal(1, 0)", "loguniform(0, 1)"],
)  # fmt: skip
def test_what_is_no_law_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueRefused) as caught:
        read_law(text)
    assert "\n" not in str(caught.value)
    assert caught.value.allowed


def test_a_law_in_the_place_of_a_value_is_lifted() -> None:
    loaded = study(process="20 s .. 40 s", scale="gamma from 419 events")
    assert list(loaded.spec.uncertain) == ["restart.process", "failures.scale"]
    assert loaded.spec.restart.process == 30.0
    assert loaded.spec.failures.scale == loaded.spec.uncertain["failures.scale"].quantile(0.5)
    assert loaded.tree.where(("uncertain", "restart.process")) == "study.yaml:4:36"


def test_the_nominal_value_is_the_one_written_else_the_median() -> None:
    written = study(process="1 min", more="uncertain: {restart.process: 50 s .. 2 min}\n")
    assert written.spec.uncertain["restart.process"].nominal == written.spec.restart.process == 60.0
    unwritten = study(more='uncertain: {failures.contained: "beta(14, 19)"}\n')
    assert unwritten.spec.failures.contained == pytest.approx(stats.beta(14, 19).median())
    assert resolve_point(unwritten, {"restart": "holder"}).failures.contained == unwritten.spec.failures.contained


def test_events_alone_are_of_the_rate_or_time_that_is_written() -> None:
    laws = study(more="uncertain: {restart.process: gamma from 11 events}\n").spec.uncertain
    expected = stats.invgamma(11.5, scale=60.0 * 11).ppf(P)
    assert [laws["restart.process"].quantile(p) for p in P] == pytest.approx(expected, rel=1e-6)


def test_a_design_point_has_no_laws_and_the_identity_of_a_plain_study() -> None:
    with_laws = resolve_point(study(process="40 s .. 80 s"), {})
    assert with_laws == resolve_point(study(process="60 s"), {})


def test_laws_are_part_of_hash_and_canonical_form() -> None:
    plain, one, other = study(process="60 s"), study(process="40 s .. 80 s"), study(process="50 s .. 70 s")
    assert len({study_hash(each.spec) for each in (plain, one, other)}) == 3
    assert "40 s .. 80 s" in canonical_yaml(one.spec)
    again = parse_study(canonical_yaml(one.spec).encode(), "again.yaml")
    assert {path: law.quantile(0.9) for path, law in again.spec.uncertain.items()} == {"restart.process": 76.0}


def test_every_law_survives_the_canonical_form() -> None:
    """Quantiles, not texts: a law must not depend on the nominal value that stands in its place then."""
    file = Path(__file__).parent / "valid" / "uncertain.yaml"
    loaded = parse_study(file.read_bytes(), file)
    again = parse_study(canonical_yaml(loaded.spec).encode(), "again.yaml")
    assert len(loaded.spec.uncertain) == 23
    for path, law in loaded.spec.uncertain.items():
        assert [again.spec.uncertain[path].quantile(p) for p in P] == [law.quantile(p) for p in P], path


def test_a_law_in_a_named_system_is_lifted() -> None:
    text = STUDY.split("protection:")[0].format(process="1 min", scale="1")
    text += 'protection: {system: gem, fallback: {blocked: "uniform(1 s, 3 s)"}}\nrun: {horizon: 54 d}\n'
    loaded = parse_study(text.encode(), "study.yaml")
    assert loaded.spec.uncertain["protection.fallback.blocked"].nominal == 2.0


def test_a_law_for_what_only_a_variant_has() -> None:
    more = (
        "compare:\n  far: {}\n  near:\n    protection: [{checkpoint: {name: near, target: cpu_memory, mode: async, "
        "blocked: 1 s, interval: 5 min}}]\nuncertain: {protection.near.blocked: 0.5 s .. 2 s}\n"
    )
    loaded = study(more=more)
    assert loaded.spec.uncertain["protection.near.blocked"].quantile(1.0) == 2.0


@pytest.mark.parametrize(
    "where", ["sweep: {grid: {failures.scale: [1, 1 .. 2]}}", "compare: {a: {failures.scale: 1 .. 2}}"]
)
def test_what_is_decided_takes_no_law(where: str) -> None:
    with pytest.raises(StudyError, match=r"study\.yaml:9:"):
        study(more=f"{where}\n")


def test_check_shows_each_law_with_its_range(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.format(process="20 s .. 40 s", scale="gamma from 419 events"))
    assert main(["check", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "uncertain.restart.process 20 s .. 40 s: 95 % 20.5 s .. 39.5 s," in shown
    assert "restart.process 30 s the nominal value of its law" in shown
    assert "gamma from 419 events: 95 % 0.9077 .. 1.099," in shown


def test_a_law_is_read_once() -> None:
    law = read_law("1 .. 2")
    assert isinstance(law, Law)
    assert read_law(law) is law


def test_a_class_of_a_named_mix_has_no_path_and_the_message_says_what_to_do() -> None:
    with pytest.raises(StudyError, match=r"no such path \('failures.network.rate'\).*failures\.classes\.NAME.*scale"):
        study(more="uncertain: {failures.network.rate: gamma from 35 events}\n")
