"""Who may be credited with a recovery: every restart mode x kind of failure x tier, each cell argued from the model.

One tier alone protects the job. A cell has a letter for each restart mode in the order of MODES: T the tier brings the
state back, h the state itself is held, s nothing is left but the start of the job.
"""

from __future__ import annotations

from typing import Any

import pytest

from gemsim.scenario import Scenario
from tests.engine.small import NODES, PEERS, RETRY, STRIPE, Hit, checkpoint, recovered, run, scenario

MODES = ("all_processes", "holder", "in_process", "in_place")
GPU = 5  # in node 1 of rack 0

KINDS: dict[str, Hit] = {
    "weights": Hit("page", 0.0, GPU, "weights"),
    "moments": Hit("page", 0.0, GPU, "moments"),
    "burst": Hit("burst", 0.0, GPU, "moments"),
    "activations": Hit("page", 0.0, GPU, "activations"),
    "gradients": Hit("page", 0.0, GPU, "gradients"),
    "buffers": Hit("page", 0.0, GPU, "buffers"),
    "context": Hit("page", 0.0, GPU, "context"),
    "uncontained": Hit("page", 0.0, GPU, "weights", contained=False),
    "uncontained transient": Hit("page", 0.0, GPU, "activations", contained=False),
    "reset": Hit("reset_gpu", 0.0, GPU),
    "sram": Hit("sram", 0.0, GPU),
    "gpu": Hit("gpu", 0.0, GPU),  # the node goes with it
    "node": Hit("node", 0.0, 1),
    "reboot": Hit("reboot", 0.0, 1),
    "rack": Hit("rack", 0.0, GPU),
    "link": Hit("link", 0.0, 1),
    "software": Hit("software", 0.0, GPU),
    "silent": Hit("silent", 0.0, GPU),
}

# Without any tier: the holder keeps what a contained error leaves, living ranks what they hold, and no one else.
HELD = {
    **dict.fromkeys(KINDS, "ssss"),
    "activations": "shsh",
    "gradients": "shsh",
    "buffers": "shsh",
    "context": "shss",  # no process survives the loss of its context
    "link": "shhh",
    "software": "shss",  # in process, the failed rank loses its memory
}
# A retry needs a living process and intact critical state.
AGAIN = {**HELD, "activations": "shsT", "gradients": "shsT", "buffers": "shsT"}
# A peer copy reaches every rank that holds another copy: not when all processes exit, not past a silent corruption.
COPIED = dict.fromkeys(KINDS, "sTTT") | {
    "activations": "shTh",
    "gradients": "shTh",
    "buffers": "shTh",
    "context": "shTT",
    "link": "shhh",
    "software": "shTT",
    "silent": "ssss",
}
# Moments sharded over the data-parallel ranks have one copy: no lost GPU comes back, a page of weights does.
COPIED_IN_PART = {**HELD, "weights": "sTsT"}
# Inside one GPU: its own memory and a living or holder process; a contained error alone.
INSIDE = {**HELD, "weights": "sTsT", "moments": "sTsT", "burst": "sTsT"}
INSIDE_CONTIGUOUS = {**INSIDE, "burst": "ssss"}  # six adjacent pages, one parity
# Across nodes with m = 1: one node of the stripe, so no rack; every surviving member, so not when all processes exit.
ACROSS = {**COPIED, "rack": "ssss"}
STORED = dict.fromkeys(KINDS, "TTTT") | {
    "activations": "ThTh",
    "gradients": "ThTh",
    "buffers": "ThTh",
    "context": "ThTT",
    "link": "Thhh",
    "software": "ThTT",
}
# A replaced node takes its disk away, a rebooted one does not.
ON_DISK = {**STORED, "gpu": "ssss", "node": "ssss", "rack": "ssss", "silent": "ssss"}
IN_PAIRS = {**STORED, "rack": "ssss"}  # nodes 0 and 1 hold each other's copies, and are one rack
# Saved to the store before they exit: also where every rank does, and after a failure that lost nothing.
SAVED = {kind: "T" + letters[1:] for kind, letters in COPIED.items()} | {"silent": "ssss"}
# One group of four goes out: whatever it is, if ranks live on elsewhere; where the process lives and no state was lost,
# nobody need go. Without ranks that live on, what the holder keeps.
GROUPED = {kind: HELD[kind][:2] + "TT" for kind in KINDS} | {
    "activations": "shTh",
    "gradients": "shTh",
    "buffers": "shTh",
    "silent": "ssss",
}

TABLES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, str]]] = {
    "nothing": ([], {}, HELD),
    "retry": ([RETRY], {}, AGAIN),
    "retry of a step": ([{"retry": {"granularity": "step"}}], {}, AGAIN),
    "peer_copy": ([PEERS], {}, COPIED),
    "peer_copy through the store": ([{"peer_copy": {"via": "store"}}], {}, SAVED),
    "replica_group": ([{"replica_group": {"stall": "30 s"}}], {}, GROUPED),
    "replica_group, half of it left": ([{"replica_group": {"stall": "30 s", "minimum": 2}}], {}, GROUPED),
    "replica_group, all but one": (
        [{"replica_group": {"stall": "30 s", "minimum": 3}}],
        {},
        {**GROUPED, "rack": "ssss"},  # of two nodes, which are two groups
    ),
    "replica_group of nodes": ([{"replica_group": {"stall": "30 s", "out": "node"}}], {}, GROUPED),
    "peer_copy, moments sharded": ([PEERS], {"workload__parallel__shard": "optimizer"}, COPIED_IN_PART),
    "stripe in one GPU": ([STRIPE], {}, INSIDE),
    "stripe in one GPU, contiguous": (
        [{"stripe": {**STRIPE["stripe"], "mapping": "contiguous"}}],
        {},
        INSIDE_CONTIGUOUS,
    ),
    "stripe in one GPU, snapshot": ([{"stripe": {**STRIPE["stripe"], "copy": "snapshot", "cadence": 3}}], {}, INSIDE),
    "stripe across nodes": ([NODES], {}, ACROSS),
    "stripe across nodes, snapshot": (
        [{"stripe": {**NODES["stripe"], "copy": "snapshot", "cadence": 3}}],
        {"workload__parallel__shard": "optimizer"},
        ACROSS,
    ),
    "stripe across racks": ([{"stripe": {"layout": "racks", "k": 1, "m": 1}}], {}, {**ACROSS, "rack": "sTTT"}),
    "remote": ([checkpoint()], {}, STORED),
    "remote, asynchronous": ([checkpoint(mode="async")], {}, STORED),
    "disk": ([checkpoint("disk")], {}, ON_DISK),
    "cpu_memory": ([checkpoint("cpu_memory")], {}, IN_PAIRS),
    "cpu_memory, other racks": ([checkpoint("cpu_memory", domain="rack")], {}, STORED),
}


def hit_at(of: Scenario, kind: str, seconds: float, step: int = 24) -> str:
    """The letter of a failure `seconds` into that step (from 0), or into the stalls behind it."""
    hit = KINDS[kind]
    when = Hit(hit.name, of.timeline.start(step) + seconds, hit.unit, hit.region, hit.contained, hit.marks)
    ((name, count),) = recovered(run(of, when)).items()
    assert count == 1
    return {"held": "h", "start": "s"}.get(name, "T")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protection", TABLES)
def test_only_what_can_recover_is_credited(protection: str, kind: str) -> None:
    tiers, changes, table = TABLES[protection]
    found = [hit_at(scenario(*tiers, mode=mode, **changes), kind, 4.2) for mode in MODES]
    assert "".join(found) == table[kind]


# Where in the cycle: seconds into a step of 10 s whose last 1 s is the update; skew 0.5 s; 1 s of encode next.
COMPUTE, SKEWED, UPDATING, ENCODING = 4.2, 8.7, 9.5, 10.5
PHASES = (COMPUTE, SKEWED, UPDATING, ENCODING)
WINDOWS: list[tuple[str, list[dict[str, Any]], str, str, str]] = [
    # A lost chunk and all processes alive: from its update to its encode, no skew.
    ("chunk, alive", [RETRY, STRIPE], "in_place", "moments", "TTss"),
    ("chunk, no finer retry", [STRIPE], "in_place", "moments", "TTss"),
    # Process death: the whole of skew, update and encode.
    ("chunk, process dead", [STRIPE], "holder", "moments", "Tsss"),
    ("node lost", [NODES], "in_process", "node", "Tsss"),
    ("node lost, in place", [NODES], "in_place", "node", "Tsss"),
    # Transient losses in the update: nothing to go on from but for granules shorter than the step.
    ("gradients", [RETRY, STRIPE], "in_place", "gradients", "TTsT"),
    ("activations", [RETRY, STRIPE], "in_place", "activations", "TTTT"),
    ("a step of it", [{"retry": {"granularity": "step"}}, STRIPE], "in_place", "activations", "TTsT"),
    # The state itself, complete on every rank.
    ("held, process dead", [STRIPE], "holder", "software", "hssh"),
    ("held, in process", [STRIPE], "in_process", "link", "hssh"),
    ("held, alive", [STRIPE], "in_place", "activations", "hhsh"),
    # Peers are one step apart somewhere in the job during skew and update; with the encode done or not they agree.
    ("peers", [PEERS, STRIPE], "in_process", "gpu", "TssT"),
    # Two versions are kept: no window.
    ("snapshot", [{"stripe": {**STRIPE["stripe"], "copy": "snapshot"}}], "holder", "moments", "TTTT"),
    ("remote", [STRIPE, checkpoint()], "all_processes", "moments", "TTTT"),
]


@pytest.mark.parametrize(("tiers", "mode", "kind", "expected"), [w[1:] for w in WINDOWS], ids=[w[0] for w in WINDOWS])
def test_nothing_is_credited_inside_its_vulnerable_window(
    tiers: list[dict[str, Any]], mode: str, kind: str, expected: str
) -> None:
    of = scenario(*tiers, mode=mode)
    assert "".join(hit_at(of, kind, seconds) for seconds in PHASES) == expected


@pytest.mark.parametrize("bucket", range(4))
def test_buckets_open_one_after_the_other(bucket: int) -> None:
    """Update and encode last 2 s: with four buckets each chunk is between the two for 0.5 s."""
    of = scenario(RETRY, {"stripe": {**STRIPE["stripe"], "buckets": 4}})
    found = ""
    for window in range(4):
        when = of.timeline.start(24) + 9.0 + 0.5 * window + 0.25
        hit = Hit("page", when, GPU, "moments", marks={"place": (bucket + 0.5) / 4})
        found += "s" if "start" in recovered(run(of, hit)) else "T"
    assert found == "".join("s" if window == bucket else "T" for window in range(4))


def test_buckets_do_not_help_when_a_process_dies() -> None:
    of = scenario({"stripe": {**STRIPE["stripe"], "buckets": 4}}, mode="holder")
    assert "".join(hit_at(of, "moments", s) for s in PHASES) == "Tsss"


@pytest.mark.parametrize(
    ("tier", "mode", "kind"),
    [(STRIPE, "in_place", "moments"), (STRIPE, "holder", "moments"), (NODES, "in_process", "gpu")],
)
def test_parity_in_place_is_fresh_in_one_step_of_its_cadence(tier: dict[str, Any], mode: str, kind: str) -> None:
    of = scenario({"stripe": {**tier["stripe"], "cadence": 4}}, mode=mode)
    assert "".join(hit_at(of, kind, COMPUTE, step) for step in range(24, 32)) == "TsssTsss"
    kept = scenario({"stripe": {**tier["stripe"], "cadence": 4, "copy": "snapshot"}}, mode=mode, **SMALLER)
    assert "".join(hit_at(kept, kind, COMPUTE, step) for step in range(24, 32)) == "TTTTTTTT"


SMALLER = {"workload__parallel__shard": "optimizer"}


def test_an_overlapped_encode_is_open_until_it_ends_in_the_next_step() -> None:
    of = scenario({"stripe": {**STRIPE["stripe"], "encode": "overlap"}})
    encode, step = 1.0, of.timeline.step
    assert step > 10.0
    for seconds, letter in ((0.5 * encode, "s"), (1.5 * encode, "T"), (step - 1.5, "T"), (step - 0.5, "s")):
        assert hit_at(of, "moments", seconds, 4) == letter


@pytest.mark.parametrize("encode", ["serial", "overlap"])
def test_a_save_stall_is_inside_the_window_of_an_encode_that_comes_after_it(encode: str) -> None:
    """Overlapped, the encode waits for the next forward; serial, it came before the save."""
    of = scenario({"stripe": {**STRIPE["stripe"], "encode": encode}}, checkpoint("disk"), mode="holder")
    stall = of.timeline.done(10) + (1.1 if encode == "serial" else 0.1)  # 1.0 s of encode first
    row = run(of, Hit("page", stall, GPU, "moments"))
    assert recovered(row) == ({"stripe": 1} if encode == "serial" else {"checkpoint": 1})


def test_the_encode_of_an_earlier_stripe_leaves_a_later_one_stale() -> None:
    of = scenario(STRIPE, NODES, mode="in_process")
    assert [hit_at(of, "node", seconds) for seconds in (4.2, 10.5, 11.5)] == ["T", "s", "s"]
    assert hit_at(of, "node", 0.1, 25) == "T"


@pytest.mark.parametrize("action", ["none", "restart_app", "drain_and_reset", "reset"])
@pytest.mark.parametrize("mode", MODES)
def test_an_uncontained_error_loses_the_gpu_whatever_is_done_about_it(mode: str, action: str) -> None:
    of = scenario(RETRY, STRIPE, mode=mode, failures__classes=[page_class(uncontained_action=action)])
    assert [hit_at(of, kind, COMPUTE) for kind in ("uncontained", "uncontained transient")] == ["s", "s"]


def page_class(**changes: Any) -> dict[str, Any]:
    """The class `page` with some keys changed."""
    one = {"name": "page", "scope": "memory", "contained": 0.5, "action": "drain_and_reset", "detect": "4 s"}
    return {**one, "rate": "1 / 1000 d", "gpus": 16, **changes}


@pytest.mark.parametrize("mode", MODES)
def test_a_process_that_cannot_survive_is_never_repaired_in_place(mode: str) -> None:
    of = scenario(RETRY, STRIPE, mode=mode, failures__classes=[page_class(process_survives=False)])
    assert hit_at(of, "activations", COMPUTE) == {"holder": "h"}.get(mode, "s")
    assert hit_at(of, "weights", COMPUTE) == {"holder": "T"}.get(mode, "s")


def test_what_is_not_coded_is_not_rebuilt() -> None:
    """`protect: [weights]` with sharded moments: the moments of a lost GPU are nowhere, those of the weights are."""
    part: dict[str, Any] = {"workload__protect": ["weights"], "workload__parallel__shard": "optimizer"}
    of = scenario(NODES, mode="in_process", **part)
    assert hit_at(of, "node", COMPUTE) == "s"
    assert hit_at(scenario(NODES, **part), "moments", COMPUTE) == "s"
    assert hit_at(scenario(NODES, **part), "weights", COMPUTE) == "T"
    assert hit_at(scenario(STRIPE, **part), "moments", COMPUTE) == "s"
    unique: dict[str, Any] = {"workload__protect": "unique", "workload__parallel__shard": "optimizer"}
    assert (
        hit_at(scenario(NODES, mode="in_process", **unique), "node", COMPUTE) == "T"
    )  # weights from their live copies


def test_only_versions_older_than_a_corruption_are_good() -> None:
    of = scenario(STRIPE, {"stripe": {**NODES["stripe"]}}, checkpoint())
    save = of.timeline.done(20)
    before, after = (run(of, Hit("silent", save + shift, GPU)) for shift in (-0.5, 0.5))
    for row, version in ((before, 10), (after, 20)):
        assert recovered(row) == {"checkpoint": 1}
        reached = of.timeline.at(save + (-0.5 if row is before else 0.5) + 300.0)
        assert row["wasted_s"] == pytest.approx((reached.steps - version) * 10.0 + reached.within, abs=1e-6)
