"""The undo log: timelines worked by hand, what it survives, engine beside twin, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from gemsim.analytic.run import predict
from gemsim.engine.run import simulate
from gemsim.errors import Infeasible
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.pool import Pool, restored, resumes_exactly
from gemsim.protection.tier import Moment, Plan
from gemsim.protection.undo_log import UndoLog
from gemsim.scenario import Scenario
from tests import statcheck
from tests.engine import small
from tests.engine.small import DETECT, PROCESS, STEP, Hit, checkpoint, expect, recovered, run

RESTART = PROCESS + small.COMMUNICATOR + small.WARMUP
REPLAY = 2.0
# figure 12 in seconds and stretched: without logging a batch takes 3 + 4 + 3 = 10 s, the step of the small job
PHASES = {
    "lookup": "2 s", "bottom_forward": "3 s", "interaction": "4 s", "update": "3 s", "bottom_backward": "2 s",
    "embedding_log": "1 s", "mlp_log": "4 s", "correction": "1 s",
}  # fmt: skip
REMOTE = checkpoint()


def undo(variant: str, **keys: Any) -> dict[str, Any]:
    return {"undo_log": {"variant": variant, "replay": f"{REPLAY} s", **keys}}


def job(*tiers: dict[str, Any], mode: str = "all_processes", **changes: Any) -> Scenario:
    return small.scenario(*tiers, mode=mode, **{"workload__phases": PHASES, **changes})


ADDED = {"cxl": 0.0, "cxl_b": 1.0, "cxl_d": 5.0}  # the log's 5 s, less the interaction's 4; the whole save


@pytest.mark.parametrize(("variant", "added"), ADDED.items())
def test_without_failures_a_run_costs_what_logging_adds(variant: str, added: float) -> None:
    row = run(job(undo(variant), run__horizon=f"{100 * (STEP + added)} s"))
    expect(row, productive=100 * STEP, overhead=100 * added)
    assert row["at_risk_s"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("variant", ADDED)
def test_after_a_power_cut_in_the_update_that_batch_is_run_again(variant: str) -> None:
    """Three batches are done; the cut comes 9 s into the work of the fourth, inside its update (8.5 to 10 s)."""
    pace = STEP + ADDED[variant]
    at = 3 * pace + 0.95 * pace
    row = run(job(undo(variant), run__horizon=f"{at + DETECT + RESTART + REPLAY + pace} s"), Hit("software", at))
    expect(
        row,
        productive=4 * STEP,
        overhead=(at + pace) * ADDED[variant] / pace,
        wasted=0.95 * STEP,
        detection=DETECT,
        restart=RESTART,
        recovery=REPLAY,
    )
    assert recovered(row) == {"undo_log": 1}
    assert row["rollbacks"] == row["fallbacks"] == row["unrecoverable"] == 0


def test_a_save_after_the_update_loses_the_whole_batch_when_cut_within_it() -> None:
    """CXL-D goes back to what the batch before had saved, from its own save too: 14.5 s of 15 are run again, of
    CXL-B's batch never more than 11."""
    at = 2 * 15.0 + 14.5
    row = run(job(undo("cxl_d"), run__horizon=f"{at + DETECT + RESTART + REPLAY} s"), Hit("software", at))
    assert row["productive_s"] == pytest.approx(2 * STEP)
    assert row["wasted_s"] == pytest.approx(14.5 * STEP / 15.0)
    worst = run(job(undo("cxl_b"), run__horizon="200 s"), Hit("software", 11.0 - 1e-3))
    assert worst["wasted_s"] == pytest.approx(STEP, abs=2e-3)


@pytest.mark.parametrize("name", ["gpu", "node", "rack", "reboot", "reset_gpu", "sram", "software", "link"])
@pytest.mark.parametrize("mode", ["all_processes", "holder", "in_process", "in_place"])
def test_nothing_but_corruption_goes_past_the_pool(name: str, mode: str) -> None:
    """At 25 s of running, half a batch into the third, each loss costs that half: no host or power takes the pool."""
    row = run(job(undo("cxl"), REMOTE, mode=mode, run__horizon="2000 s"), Hit(name, 25.0))
    assert row["wasted_s"] == pytest.approx(5.0)
    assert row["rollbacks"] == row["fallbacks"] == 0


def test_in_place_a_hit_inside_the_update_rolls_back_to_the_start_of_the_batch() -> None:
    """Nothing exits: the pause and the replay, and the 9.5 s of the batch are run again."""
    row = run(job(undo("cxl"), mode="in_place", run__horizon="200 s"), Hit("page", 29.5, region="weights"))
    assert recovered(row) == {"undo_log": 1}
    assert row["wasted_s"] == pytest.approx(9.5)
    assert row["recovery_s"] == pytest.approx(small.PAUSE + REPLAY)
    assert row["restart_s"] == 0.0


def test_corrupt_state_goes_past_the_log_to_a_checkpoint() -> None:
    """The corruption at 130 s is found at 430 s; the log holds it too, the save at 100 s of work does not."""
    row = run(job(undo("cxl"), REMOTE, run__horizon="1000 s"), Hit("silent", 130.0))
    assert recovered(row) == {"checkpoint": 1}
    assert row["rollbacks"] == 1


def test_a_roll_back_in_place_forgets_no_corruption() -> None:
    """A page lost at 129.5 s takes the job to the start of its batch, not past the corruption of 105 s."""
    of = job(undo("cxl"), REMOTE, mode="in_place", run__horizon="1000 s")
    row = run(of, Hit("silent", 105.0), Hit("page", 132.5, region="weights"))
    assert recovered(row) == {"undo_log": 1, "checkpoint": 1}


def test_a_failure_during_the_replay_starts_it_again() -> None:
    at = 25.0
    again = at + DETECT + RESTART + 1.0
    of = job(undo("cxl"), run__horizon="500 s")
    row = run(of, Hit("software", at), Hit("node", again))
    assert row["wasted_s"] == pytest.approx(5.0)
    assert recovered(row) == {"undo_log": 2}


def test_resuming_one_batch_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: after a cut in its update a batch counts as done."""

    def late(self: UndoLog, damage: Damage, moment: Moment, platform: object) -> Plan:
        return Plan(self.name, moment.version + 1, seconds=self.replay)

    monkeypatch.setattr(UndoLog, "recover", late)
    with pytest.raises(AssertionError):
        test_after_a_power_cut_in_the_update_that_batch_is_run_again("cxl")


def test_survives_all_but_corruption() -> None:
    tier = job(undo("cxl")).tiers[0]
    platform = job(undo("cxl")).platform
    kinds = ("pages", "process", "gpu", "node", "rack", "switch", "nothing", "corrupt")
    assert [kind for kind in kinds if not tier.survives(Nature(kind), platform)] == ["corrupt"]


@pytest.mark.parametrize("variant", ADDED)
@pytest.mark.parametrize("mode", ["all_processes", "in_place"])
def test_engine_and_twin_agree(variant: str, mode: str) -> None:
    """30 failures a day; a batch lost more with each would be 35 x 1e-4."""
    hard = {"gpus": 16, "detect": f"{DETECT} s"}
    classes = [
        {"name": "gpu", "scope": "gpu", "action": "reset", "rate": "12 / d", **hard},
        {"name": "reboot", "scope": "node", "action": "reboot", "rate": "8 / d", **hard},
        {"name": "page", "scope": "memory", "action": "none", "contained": 0.8, "rate": "10 / d", **hard},
    ]
    of = job(undo(variant), mode=mode, failures__classes=classes, run__horizon="8 d")
    said = predict(of)
    assert said["analytic_error"] < 2e-4

    def draw(stage: int) -> list[float]:
        runs = [simulate(of, seed=stage, replication=n) for n in range(60)]
        return [row["productive_s"] / row["wall_s"] for row in runs]

    statcheck.mean_two_stage(draw, said["ettr_analytic"], detect=1.5e-3, alarm=statcheck.ALARM / 6)


def test_batches_that_do_not_fit_the_step_are_refused() -> None:
    with pytest.raises(Infeasible, match=r"workload.step is 12 s, but a batch takes 10 s .* write step: 10 s"):
        job(undo("cxl"), workload__step="12 s")
    with pytest.raises(Infeasible, match=r"needs the phases of a batch; write workload\.recommendation"):
        small.scenario(undo("cxl"))
    with pytest.raises(Infeasible, match="no phases of rm1 on ssd are published"):
        small.scenario(undo("ssd"), workload__recommendation="rm1")
    with pytest.raises(Infeasible, match="mlp_log_gap 1 of tier 'undo_log' is less than the"):
        job(undo("cxl", mlp_log_gap=1))
    with pytest.raises(ValueError, match="the phases of a batch twice"):
        small.spec(undo("cxl"), workload__phases=PHASES, workload__recommendation="rm1")
    with pytest.raises(ValueError, match="goes with variant cxl"):
        job(undo("cxl_b", mlp_log_gap=4))


def test_rm1_is_built_from_its_published_bars() -> None:
    """RM1 on CXL: 6.69 ms with a save of 1.64 after each batch, so 5.05 without."""
    keys: dict[str, Any] = {"workload__recommendation": "rm1", "workload__step": "5.05 ms", "workload__update": None}
    built = {v: small.scenario(undo(v), **keys) for v in ("cxl", "cxl_b", "cxl_d")}
    assert built["cxl"].platform.steps.update == pytest.approx(3.82e-3 * 2.7 / 3.3)
    added = {v: of.tiers[0].overhead().slower for v, of in built.items()}
    assert added == pytest.approx({"cxl": 0.0, "cxl_b": 0.41e-3, "cxl_d": 1.64e-3}, abs=1e-9)


ROWS = {1: 10, 2: 20, 3: 30, 4: 40}
CHANGES = [{1: 5, 2: 7}, {2: 1, 4: 9}, {1: 2}, {3: 8, 1: 1, 2: 2}, {4: 4}, {1: 1}]


@pytest.mark.parametrize("gap", [1, 2, 3, 100])
def test_a_cut_after_any_write_leaves_the_rows_that_the_batch_began_with(gap: int) -> None:
    good, oldest = resumes_exactly(CHANGES, ROWS, gap)
    assert good
    assert oldest <= gap


def test_restoring_without_looking_at_the_log_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rows as they are after the cut, half of them updated."""
    monkeypatch.setattr("gemsim.protection.pool.restored", lambda pool: (pool.finished, dict(pool.rows)))
    assert not resumes_exactly(CHANGES, ROWS, 1)[0]


def test_a_half_written_log_is_not_looked_at() -> None:
    assert restored(Pool({1: 5}, log={1: 3})) == (0, {1: 5})
    assert restored(Pool({1: 5}, log={1: 3}, flag=0)) == (0, {1: 3})
