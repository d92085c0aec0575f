"""`gemsim check` on good and bad studies: what it prints, its exit code, and that it runs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gemsim.cli.main import main

HERE = Path(__file__).parent
EXAMPLE = HERE / "valid" / "example.yaml"


def test_every_value_has_its_source_and_what_follows_is_derived(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # what is wrapped, and where, is the terminal's affair
    assert main(["check", str(EXAMPLE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: " ".join(line.split()) for line in lines if line.startswith("  ") and line[2] != " "}
    assert rows["cluster.gpus"] == "cluster.gpus 16384 given"
    assert rows["cluster.gpus_per_node"] == "cluster.gpus_per_node 8 given"
    assert rows["restart.pause"] == "restart.pause 10 s assumption: stop, isolate, decode, resume"
    assert rows["protection.stripe.buckets"] == "protection.stripe.buckets 1 assumption"
    assert "Table 5: GPU HBM3 memory, 72 of 419" in rows["failures.llama3-2024.hbm3"]
    assert rows["memory.weights"].startswith("memory.weights")
    assert rows["step.flops"].startswith("step.flops not checked")
    assert "modelled, not measured" in rows["profile"]
    assert rows["memory_overhead"].endswith("share (1 is all)")
    assert rows["blind_falls_per_run"] == "blind_falls_per_run does not apply count"
    assert any(line.startswith("Design points: 240: ") for line in lines)
    assert rows["runs"].endswith("64 replications")
    assert any(line.split()[:4] == ["failures", "per", "run", "419"] for line in lines)


def test_quick_checks_the_small_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(HERE / "valid" / "every_key.yaml"), "--quick"]) == 0
    assert "run.replications" in capsys.readouterr().out


def test_step_time_is_set_against_the_arithmetic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = EXAMPLE.read_text().replace("  layers: 126\n", "  layers: 126\n  tokens_per_step: 16e6\n")
    (tmp_path / "s.yaml").write_text(text)
    assert main(["check", str(tmp_path / "s.yaml")]) == 0
    assert "395.5 TFLOP/s per GPU, 40% of peak" in capsys.readouterr().out
    (tmp_path / "s.yaml").write_text(text.replace("step: 6 s", "step: 2 s"))
    assert main(["check", str(tmp_path / "s.yaml")]) == 0
    assert "1.187 PFLOP/s per GPU, 120% of peak" in (shown := capsys.readouterr().out)
    assert "IMPOSSIBLE" in shown


def test_a_point_that_cannot_exist_is_listed_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = EXAMPLE.read_text().replace("[8, 16, 32, 64, 128, 256, 512, 1024]", "[8, 1000000]")
    (tmp_path / "s.yaml").write_text(text)
    assert main(["check", str(tmp_path / "s.yaml")]) == 0
    out = capsys.readouterr().out
    assert "Design points: 60: " in out
    assert " infeasible: " in out


def test_a_study_that_cannot_exist_as_written_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = EXAMPLE.read_text().replace("k: 32, m: 1", "k: 1000000, m: 1").split("sweep:")[0]
    (tmp_path / "s.yaml").write_text(text + "run: {horizon: 54 d}\n")
    assert main(["check", str(tmp_path / "s.yaml")]) == 0
    out = capsys.readouterr().out
    assert "the study as written cannot exist: " in out
    assert "nothing can be run" in out


def test_a_bad_study_gives_all_its_problems_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    bad = HERE / "invalid" / "many_at_once.yaml"
    assert main(["check", str(bad)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 6
    assert all(line.startswith(f"{bad}:") for line in shown.err.splitlines())


def test_a_missing_file_and_an_unknown_profile_give_a_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "nowhere.yaml"]) == 2
    assert "nowhere.yaml: cannot be read" in capsys.readouterr().err
    (tmp_path / "s.yaml").write_text(EXAMPLE.read_text().replace("profile: nvidia-h100", "profile: nvidia-z100"))
    assert main(["check", str(tmp_path / "s.yaml")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_nothing_is_run() -> None:
    script = (
        "import sys; from gemsim.cli.main import main; code = main(['check', sys.argv[1]]);"
        "sys.exit(code or ('simpy' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(EXAMPLE)], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


PLANNED = """title: stops
cluster: {{gpus: {gpus}, gpu: h100-80gb, storage: {{write: 2 TB/s, read: 7 TB/s}}}}
workload: {{parameters: 7e9, parallel: {{tensor: 8, data: {data}}}, step: 5 s}}
failures: {{mix: llama3-2024-planned}}
run: {{horizon: 54 d}}
"""


def test_a_plan_of_stops_that_is_scaled_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for gpus, scaled in ((512, True), (16_384, False)):
        (tmp_path / "s.yaml").write_text(PLANNED.format(gpus=gpus, data=gpus // 8))
        assert main(["check", str(tmp_path / "s.yaml")]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert ("47 / 54 d on 16,384 GPUs are scaled to 0.0272 per day on 512, as failures are" in shown) == scaled
