"""`gemsim explain`: which point is meant, a page that adds up and can be done again by hand, and the same as data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gemsim.cli.main import ASKED_WRONG, DONE, main
from gemsim.spec.loading import LoadedStudy, load_study, parse_study
from gemsim.study.choosing import choose_point
from gemsim.study.explain import Explanation, as_data
from gemsim.study.explained import render
from gemsim.study.plan import explained
from tests.analytic.by_hand import by_hand, ettr_by_hand, standing_by_hand, struck_by_hand
from tests.faults import must_reject, replaced

ROOT = Path(__file__).parents[2]
SMALL = """\
title: A small job
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 4, storage: {write: 20 GB/s, read: 20 GB/s}}
workload: {parameters: 7e9, parallel: {tensor: 8, data: 8, shard: optimizer}, step: 2 s}
restart: in_place
failures: {mix: llama3-2024, scale: 400}
protection:
  - retry: {}
  - stripe: {layout: gpu, k: 8, m: 1}
  - checkpoint: {target: remote, mode: async, blocked: 1 s, interval: optimal}
sweep: {grid: {protection.stripe.k: [8, 16], restart: [in_place, all_processes]}}
compare:
  as it is: {}
  store alone: {protection: [{checkpoint: {target: remote, mode: sync, interval: 10 min}}]}
run: {horizon: 4 d, replications: 6, seed: 5}
"""


def small() -> LoadedStudy:
    return parse_study(SMALL.encode(), "small.yaml")


def one(*words: str, replications: int | None = None, loaded: LoadedStudy | None = None) -> Explanation:
    loaded = loaded or small()
    return explained(loaded, choose_point(loaded, number=None, words=words), seed=None, replications=replications)


# ---------------------------------------------------------------- which point


@pytest.mark.parametrize(
    ("words", "variant", "k", "restart"),
    [
        (["k=16", "restart=all_processes", "variant=as it is"], "as it is", 16, "all_processes"),
        (["protection.stripe.k=8", "restart=in_place"], "as it is", 8, "in_place"),
        (["variant=store alone", "restart=in_place"], "store alone", "", "in_place"),
    ],
)
def test_words_choose_a_design_point(words: list[str], variant: str, k: object, restart: str) -> None:
    design = choose_point(small(), number=None, words=words)
    assert (design.variant, design.columns["protection.stripe.k"], design.columns["restart"]) == (variant, k, restart)


def test_a_number_is_a_row_of_the_summary() -> None:
    assert choose_point(small(), number=1, words=[]).index == 0
    assert choose_point(small(), number=6, words=[]).variant == "store alone"


def test_a_path_that_is_not_swept_is_put_in() -> None:
    design = choose_point(small(), number=1, words=["failures.scale=2", "run.horizon=1 d"])
    assert design.assignments["failures.scale"] == 2
    assert explained(small(), design, seed=1, replications=1).scenario.horizon == 86_400.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "small.yaml: 6 design points are left, and one is wanted; choose by variant='as it is' | "
             "'store alone'; k=8 | 16; restart=in_place | all_processes; or by --point 1 to 6"),
        (["k=9"], "small.yaml: no design point has k=9; 8 | 16"),
        (["variant=none"], "no design point has variant=none; 'as it is' | 'store alone'"),
        (["k"], "not a choice ('k'); path=value, such as restart=in_place; or give --point N"),
        (["k=8", "restart=in_place", "protection.stripe.x=3"], "no such"),
    ],
)  # fmt: skip
def test_what_chooses_none_or_several_is_answered_in_a_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    assert main(["explain", str(path), *words]) == ASKED_WRONG
    shown = capsys.readouterr().err
    assert said in shown.replace(str(path), "small.yaml")
    assert "Traceback" not in shown


def test_a_number_beyond_the_last_point_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    assert main(["explain", str(path), "--point", "7"]) == ASKED_WRONG
    assert "no such design point (7); 1 to 6" in capsys.readouterr().err


# ---------------------------------------------------------------- the page


NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"


def columns_of(page: str) -> dict[str, list[float]]:
    """The table of interruptions, or both of its halves, by the letters of its columns."""
    text = page[page.index("The sum by hand") :]
    column: dict[str, list[float]] = {}
    for heads in re.findall(r"(?m)^ *D, s .*$", text):
        block = text[text.index(heads) + len(heads) :].split("\n\n")[0]
        names = [name.strip() for name in re.split(r"  +", heads.strip())]
        if any(" S(D)" in name for name in names):
            raise AssertionError(f"columns run together: {names}")
        rows = [[float(cell) for cell in line.split()] for line in block.splitlines() if re.match(r" *[\d.]", line)]
        column |= {name.partition(":")[0]: [row[i] for row in rows] for i, name in enumerate(names)}
    return column


def printed(page: str) -> tuple[dict[str, float], list[tuple[float, float, float, float]], list[float], list[float]]:
    """The lines by symbol, the table of interruptions (D, b, k, a), its S and its P: read from the page alone."""
    text = page[page.index("The sum by hand") :]
    lines = {m[1]: float(m[2]) for m in re.finditer(rf"(?m)^ ?(\w+)  +\S.* {NUMBER}(?: /?s)?$", text)}
    column = columns_of(page)
    nothing = [0.0] * len(column["D, s"])
    table = list(zip(column["D, s"], column["b"], column.get("k", nothing), column.get("a", nothing), strict=True))
    return lines, table, column["S(D), s"], column.get("P(D)", nothing)


CHOICES = [
    ("variant=as it is", "k=8", "restart=in_place"),
    ("variant=as it is", "k=8", "restart=all_processes"),
    ("variant=store alone", "restart=in_place"),
]


def check_by_hand(*words: str) -> None:
    """What is printed gives what is printed: S, P, W, B and in the end ETTR, to the last digit of it."""
    lines, table, standing, struck = printed(render(one(*words, replications=1)))
    assert ettr_by_hand(lines) == pytest.approx(lines["ETTR"], abs=1.5e-6)
    assert standing == pytest.approx(standing_by_hand(table), rel=2e-6)
    if any(struck):
        assert struck == pytest.approx(struck_by_hand(table), rel=1e-5)
    every = zip(table, standing, struck, strict=True)
    assert 1.0 + sum((b + k + a) * s for (_, b, k, a), s, _ in every) == pytest.approx(lines["W"], rel=1e-6)
    every = zip(table, standing, struck, strict=True)
    assert sum(b + (k + a) * p for (_, b, k, a), _, p in every) == pytest.approx(lines["B"], rel=1e-5)
    known = {**lines, **by_hand(lines)}
    assert {name: lines[name] for name in ("U", "G", "R")} == pytest.approx(
        {name: known[name] for name in ("U", "G", "R")}
    )
    assert lines["tau"] == pytest.approx(lines["n"] * lines["p"], rel=1e-8)


@pytest.mark.parametrize("words", CHOICES, ids=" ".join)
def test_the_printed_sum_can_be_done_with_a_pocket_calculator(words: tuple[str, ...]) -> None:
    check_by_hand(*words)


PLANNED = """\
title: Stops that are planned, and a class on the clock of running time
cluster: {gpus: 64, gpus_per_node: 8, gpu: h100-80gb, spare_nodes: 4, storage: {write: 20 GB/s, read: 20 GB/s}}
workload: {parameters: 7e9, parallel: {tensor: 8, data: 8, shard: optimizer}, step: 2 s}
restart: all_processes
failures:
  classes:
    - {name: node, scope: node, rate: 8 / 1 d, gpus: 64, detect: 10 s, action: reboot}
    - {name: soft, scope: process, rate: 4 / 1 d, gpus: 64, detect: 30 s, action: restart_app, exposure: running}
    - {name: service, scope: planned, rate: 1 / 1 d, gpus: 64, action: reboot, notice: 10 min, stop: 2 h}
protection: [{checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 1 h}}]
run: {horizon: 4 d, replications: 2, seed: 5}
"""


def test_planned_stops_and_clocks_of_running_time_are_in_the_printed_sum() -> None:
    found = one(loaded=parse_study(PLANNED.encode(), "planned.yaml"))
    page = render(found)
    lines, table, standing, struck = printed(page)
    assert lines["D_p"] == pytest.approx(2 / 24)
    aside = columns_of(page)["b*"]
    assert sum(b for _, b, _, _ in table) + sum(aside) == pytest.approx(lines["b"], rel=1e-6) == 12 / 86400
    met = 1.0 + sum((b + k + a + more) * s for (_, b, k, a), more, s in zip(table, aside, standing, strict=True))
    assert met * (1.0 + lines["D_p"]) == pytest.approx(lines["W"], rel=1e-6)
    assert standing == pytest.approx(standing_by_hand(table), rel=2e-6)
    assert struck == pytest.approx(struck_by_hand(table), rel=1e-5)
    assert ettr_by_hand(lines) == pytest.approx(lines["ETTR"], abs=1.5e-6)


def test_without_parts_the_closed_form_of_the_whole_stands_there_and_planned_stops_are_no_failures() -> None:
    page = " ".join(render(one(loaded=parse_study(PLANNED.encode(), "planned.yaml"))).split())
    assert "Stops by failures: 12 a day" in page
    assert "The closed form has no parts here: planned stops" in page
    (kept,) = re.findall(r"productive: ETTR +[\d.]+ % +[\d.]+ +[\d.]+ % +([\d.]+) %", page)
    (ettr,) = re.findall(r"ETTR closed form .*? ([01]\.\d{6})", page)
    assert float(kept) == pytest.approx(100.0 * float(ettr), abs=0.006)


def test_a_printed_number_that_is_off_is_noticed() -> None:
    must_reject(
        lambda: check_by_hand(*CHOICES[0]),
        replaced("gemsim.analytic.formula:write_lag_factor", lambda original: lambda b, g: original(b, g) * 1.0001),
    )


def test_a_narrow_page_cuts_no_number_of_the_table() -> None:
    found = one(loaded=parse_study(PLANNED.encode(), "planned.yaml"), replications=1)
    assert columns_of(render(found, width=80)) == columns_of(render(found, width=120))


@pytest.mark.parametrize("words", CHOICES, ids=" ".join)
def test_what_is_taken_and_what_is_left_is_the_whole_run(words: tuple[str, ...]) -> None:
    found = one(*words)
    assert sum(share.simulated.value for share in found.by_failure) + found.ettr.value == pytest.approx(1.0, abs=1e-9)
    assert sum(share.simulated.value for share in found.by_column) == pytest.approx(1.0, abs=1e-9)
    closed = sum(share.form or 0.0 for share in found.by_failure)
    assert 1.0 - closed == pytest.approx(found.twin["ettr_analytic"], abs=1e-9)
    assert sum(share.form or 0.0 for share in found.by_column) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_fits(width: int) -> None:
    page = render(one(*CHOICES[0]), width=width)
    assert max(map(len, page.splitlines())) <= width
    assert "…" not in page


def test_the_page_says_what_it_must() -> None:
    page = render(one(*CHOICES[0]))
    text = " ".join(page.split())
    for part in ("A small job", "k=8 restart=in_place", "retry > stripe", "MTBF", "faulty_gpu", "pages: weights",
                 "the whole run", "cost when nothing fails", "productive: ETTR", "wasted", "Young", "Daly",
                 "exact optimum", "availability-optimal", "Meta's ETTR estimator", "GEMINI's wasted time",
                 "published linear", "leaves out", "ETTR at this interval"):  # fmt: skip
        assert part in text, part


def test_without_a_closed_form_the_reason_stands_there_and_the_engine_alone() -> None:
    stop = {"name": "plan", "scope": "slow", "rate": "1 / 1 d", "gpus": 64, "slower": 0.1, "detect": "20 min",
            "action": "replace", "repair": "1 h"}  # fmt: skip
    words = (*CHOICES[0], f"failures.classes={json.dumps([stop])}")
    found = one(*words, replications=2)
    assert found.formula is None
    page = render(found)
    assert "The sum by hand: there is none" in page
    assert "plan: scope slow is not in the closed form" in page
    assert "Models by name" not in page
    left = 1.0 - sum(share.simulated.value for share in found.by_failure)
    assert left == pytest.approx(found.ettr.value, abs=1e-9)


def test_a_rate_that_steps_shows_the_longest_of_its_stretches() -> None:
    soft = {"name": "soft", "scope": "process", "rate": "6 / 400 d", "gpus": 64, "action": "restart_app",
            "detect": "5 s", "exposure": "wall", "drift": [["0 d", 3], ["1 d", 1]]}  # fmt: skip
    words = (*CHOICES[0], f"failures={json.dumps({'classes': [soft]})}")
    found = one(*words, replications=1)
    assert found.stretches == 2
    assert "this is the longest of 2 stretches" in render(found)
    lines, *_ = printed(render(found))
    assert ettr_by_hand(lines) == pytest.approx(lines["ETTR"], abs=1.5e-6)


def test_uncertain_inputs_are_told_to_stand_at_their_nominal_values() -> None:
    loaded = parse_study(SMALL.replace("step: 2 s", 'step: "1.9 s .. 2.1 s"').encode(), "small.yaml")
    found = one(*CHOICES[0], replications=1, loaded=loaded)
    assert found.scenario.useful_step == pytest.approx(2.0, abs=0.01)
    assert "Uncertain inputs stand at their nominal values here: workload.step." in " ".join(render(found).split())


# ---------------------------------------------------------------- the command


def test_the_command_prints_the_page_and_writes_the_same_as_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "small.yaml", tmp_path / "explained.json"
    path.write_text(SMALL)
    words = ["k=8", "restart=in_place", "--replications", "3", "--json", str(out)]
    assert main(["explain", str(path), *words]) == DONE
    shown = capsys.readouterr().out
    data = json.loads(out.read_text())
    assert data["replications"] == 3
    lines, *_ = printed(shown)
    assert {line["symbol"] for line in data["formula"]} == set(lines)
    assert data["formula"][-1]["value"] == pytest.approx(lines["ETTR"], abs=1e-6)
    assert sum(share["simulated"]["value"] for share in data["by_column"]) == pytest.approx(1.0)
    assert f"{data['ettr']['value']:.4f}" in shown
    assert data["named"]["young"]["source"]
    assert data == json.loads(json.dumps(as_data(one("k=8", "restart=in_place", replications=3)), allow_nan=False))


def test_a_point_that_cannot_exist_is_answered_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    assert main(["explain", str(path), "k=8", "restart=in_place", "protection.checkpoint.interval=1 s"]) == ASKED_WRONG
    assert "saves pile up" in capsys.readouterr().err


def test_shipped_studies_can_be_explained() -> None:
    loaded = load_study(ROOT / "studies" / "gem.yaml", quick=True)
    design = choose_point(loaded, number=None, words=["variant=remote hourly"])
    page = render(explained(loaded, design, seed=None, replications=2))
    assert "remote" in page
    assert max(map(len, page.splitlines())) <= 100
