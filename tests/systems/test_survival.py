"""What each system survives: every loss of some of eight hosts, every pair of pages, and what else its tier is for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations

import pytest

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, PageHit
from gemsim.protection.decide import decide
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import PageStripe
from gemsim.protection.tier import Moment
from gemsim.scenario import Scenario
from gemsim.spec.catalog import system_names
from tests.engine.small import Hit, recovered, run
from tests.systems.small import job

Gone = frozenset[int]
ALL = [frozenset(gone) for count in range(1, 9) for gone in combinations(range(8), count)]
"""Every loss of one host to all of them."""
EVEN, ODD = frozenset({0, 2, 4, 6}), frozenset({1, 3, 5, 7})


def within(gone: Gone, first: int, size: int) -> int:
    """How many of a set of hosts are gone."""
    return len(gone & set(range(first, first + size)))


def partners(gone: Gone, size: int) -> bool:
    """Whether a host and the next one round its set are both gone."""
    return any(host in gone and host - host % size + (host + 1) % size in gone for host in range(8))


def fti(gone: Gone) -> str:
    if not partners(gone, 4):
        return "l2"
    return "l3" if max(within(gone, 0, 4), within(gone, 4, 4)) <= 2 else "l4"


def gemini(gone: Gone) -> str:
    """Hosts 2 i and 2 i + 1 hold each other's copies."""
    return "remote" if any({host, host + 1} <= gone for host in EVEN) else "replica"


def peers(gone: Gone) -> bool:
    """A copy of the model lies on hosts 2 i and 2 i + 1: a half must be left on an even host and one on an odd."""
    return not (gone >= EVEN or gone >= ODD)


def a_group(gone: Gone) -> str:
    return "replica_group" if any(not {host, host + 1} & gone for host in EVEN) else "remote"


def by_node(gone: Gone) -> str:
    return "replica_group" if peers(gone) else "remote"


RESTORES: dict[str, Callable[[Gone], str]] = {
    **dict.fromkeys(("strawman", "highfreq", "checkfreq", "check_n_run"), lambda gone: "checkpoint"),
    "concordia": lambda gone: "remote",
    "gemini": gemini,
    "moevement": gemini,
    "eccheck": lambda gone: "coded" if len(gone) <= 2 else "remote",
    "scr_single": lambda gone: "remote",
    "scr_partner": lambda gone: "remote" if partners(gone, 8) else "cache",
    "scr_xor": lambda gone: "cache" if len(gone) <= 1 else "remote",
    "scr_rs": lambda gone: "cache" if len(gone) <= 2 else "remote",
    "veloc": lambda gone: "coded" if len(gone) <= 1 else "persistent",
    "fti": fti,
    "ecrec": lambda gone: "stripe" if max(within(gone, 0, 4), within(gone, 4, 4)) <= 1 else "remote",  # 4 + 1 over 8
    "just_in_time": lambda gone: "peer_copy" if peers(gone) else "rare",
    "mindio": lambda gone: "peer_copy" if peers(gone) else "fallback",
    "ft_hsdp": a_group,
    "torchft": a_group,
    "oobleck": by_node,
    "recycle": by_node,
    "gem": lambda gone: "fallback",
    "trainingcxl": lambda gone: "undo_log",  # the pool is not in the hosts
}


@cache
def built(system: str) -> Scenario:
    return job(system)


def moment(of: Scenario, out: tuple[range, ...] = ()) -> Moment:
    """In the middle of a step, with a version in every tier that keeps any."""
    saved = {tier.number: 90 for tier in of.tiers if isinstance(tier, Checkpoint)}
    return Moment(100, of.platform.steps.length / 2, 0, saved=saved, out=out)


def restored(of: Scenario, gone: Gone, out: tuple[range, ...] = ()) -> str:
    """Who recovers when these hosts are lost and replaced; with `out`, blocks of GPUs that were out before."""
    nodes = frozenset(("node", host) for host in gone)
    everyone = of.restart.mode == "all_processes"
    mode = "all_processes" if everyone else "in_process"
    damage = Damage(
        lost=nodes, hosts=gone, disks=gone, all_gpu_memory=everyone, alive=False, restart=mode, replaced=True,
        struck=nodes,
    )  # fmt: skip
    return decide(of.tiers, damage, moment(of, out), of.platform).plan.tier


def check_hosts(system: str) -> None:
    """All 255 losses of the eight hosts."""
    for gone in ALL:
        assert restored(built(system), gone) == RESTORES[system](gone), sorted(gone)


def check_one_after_the_other(system: str) -> None:
    """The same for groups that are out when the last host is lost."""
    tier, grid = built(system).tiers[0], built(system).platform.grid
    assert isinstance(tier, ReplicaGroup)
    for gone in ALL:
        last = max(gone)
        units = tier.units_of(frozenset(("node", host) for host in gone - {last}), grid)
        out = tuple(tier.members(unit, grid) for unit in sorted(units))
        assert restored(built(system), frozenset({last}), out) == RESTORES[system](gone), sorted(gone)


def by_pages(*pages: tuple[int, int]) -> str:
    """Who recovers in GEM when these (GPU, page) are lost in place, out of 10,849 pages and 85 of parity."""
    of = built("gem")
    hits = tuple(PageHit(gpu, "weights", 1, "same_page", (page + 0.5) / (10_849 + 85)) for gpu, page in pages)
    return decide(of.tiers, Damage(pages=hits), moment(of), of.platform).plan.tier


def check_pages() -> None:
    """One page, and with it every other up to two rounds of the 85 stripes away, on one GPU or two; a lost GPU."""
    for first in (0, 5_000, 10_700):
        for page in range(first, first + 2 * 85 + 1):
            torn = page != first and (page - first) % 85 == 0
            assert by_pages((0, first), (0, page)) == ("fallback" if torn else "stripe"), page
            assert by_pages((0, first), (1, page)) == "stripe", page
    tier = built("gem").tiers[1]
    assert isinstance(tier, PageStripe)
    assert tier.stripes.stripes == 85
    for hit in (Hit("page", 5_005.0, 0), Hit("gpu", 5_005.0)):
        assert recovered(run(job("gem", mode="all_processes"), hit)) == {"fallback": 1}
    assert recovered(run(job("gem"), Hit("page", 5_005.0))) == {"stripe": 1}
    assert recovered(run(job("gem"), Hit("gpu", 5_005.0))) == {"fallback": 1}


def check_pool() -> None:
    """The log outlives processes, hosts and all of them at once, but takes in what is silently wrong."""
    for name, who in (("any", "undo_log"), ("host", "undo_log"), ("all", "undo_log"), ("silent", "remote")):
        assert recovered(run(job("trainingcxl"), Hit(name, 11_000.0))) == {who: 1}, name


def test_every_system_is_here() -> None:
    assert set(RESTORES) == set(system_names())


@pytest.mark.parametrize("system", RESTORES)
def test_every_loss_of_hosts(system: str) -> None:
    check_hosts(system)


@pytest.mark.parametrize("system", ["ft_hsdp", "torchft", "oobleck", "recycle"])
def test_every_loss_of_hosts_one_after_the_other(system: str) -> None:
    check_one_after_the_other(system)


def test_the_last_holder_of_a_stage_is_hit_while_the_others_are_out() -> None:
    """Oobleck: each host is back 119 s after it was hit; the even hosts are gone together, and the odd ones live on."""
    three = [Hit("host", 3_700.0 + 38 * number, host) for number, host in enumerate((0, 2, 4))]
    assert recovered(run(job("oobleck"), *three, Hit("host", 3_814.0, 5))) == {"replica_group": 4}
    assert recovered(run(job("oobleck"), *three, Hit("host", 3_814.0, 6))) == {"replica_group": 3, "remote": 1}


def test_pages_of_gem() -> None:
    check_pages()


def test_pool_of_trainingcxl() -> None:
    check_pool()


def test_a_lost_process_leaves_every_cache() -> None:
    """No scheme of SCR loses more than another, but for its own writes."""
    single, coded = (run(job(name), Hit("any", 1_500.0))["wasted_s"] for name in ("scr_single", "scr_rs"))
    assert single == pytest.approx(coded, rel=0.2)
