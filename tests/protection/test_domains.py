"""Failure domains: what a failure of each level takes, and which sets of units lost together a placement survives.

Everything is counted a second time GPU by GPU and set by set, over grids whose last domains are not full and whose
switches and power domains cut through each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import pytest

from gemsim.failures.classes import Batch, FailureClass, Recurrence
from gemsim.failures.draw import Draw
from gemsim.failures.laws import duration, lifetime
from gemsim.protection import batch, blocks
from gemsim.protection.batch import events, fate_of, struck_sets
from gemsim.protection.blocks import Keepers, places
from gemsim.protection.damage import Damage, Grid, Nature, consequence, nature_of, together
from gemsim.protection.kinds import Job, kinds_of
from gemsim.protection.layouts import MemberStripes
from gemsim.protection.losses import Keeper, displaced, harmless, survival
from gemsim.protection.placement import placement
from tests import statcheck
from tests.engine.small import NODES, checkpoint, scenario

ACTIONS = ("none", "restart_app", "drain_and_reset", "reset", "reboot", "replace")
SCOPES = ("sram", "gpu", "node", "rack", "switch", "power", "link", "process", "planned", "slow")
GRID = Grid(gpus=44, per_node=4, per_rack=8, per_switch=16, per_power=24)  # 11 nodes; feeds cut through switches


# --- what each level takes ---------------------------------------------------------------------------------------


def around(gpu: int, unit: str) -> set[int]:
    """GPUs of the job that share this domain with a GPU: by nodes, two to a rack, two racks to a switch, three to a
    feed."""
    nodes = [gpu_ // 4 for gpu_ in range(44)]
    racks = [node // 2 for node in nodes]
    label = {
        "gpu": list(range(44)),
        "node": nodes,
        "rack": racks,
        "switch": [rack // 2 for rack in racks],
        "power": [rack // 3 for rack in racks],
    }[unit]
    return {other for other in range(44) if label[other] == label[gpu]}


def expected(scope: str, action: str, gpu: int, unit: str) -> tuple[set[int], set[int], set[int]]:
    """(GPUs whose memory is gone, hosts, disks), one GPU at a time."""
    lost = set[int]()
    if scope in ("sram", "gpu"):
        lost |= around(gpu, "gpu")
    if scope in ("node", "rack", "power") or (scope == "switch" and action != "none"):
        lost |= around(gpu, scope)
    if scope in ("process", "planned"):  # its processes exit
        lost |= around(gpu, "gpu")
    if action == "reset":
        lost |= around(gpu, "gpu")
    if action == "reboot":
        lost |= around(gpu, "node")
    if action == "replace":
        lost |= around(gpu, unit)
    hosts = set[int]()
    if action == "reboot" or (action == "replace" and len(lost) > 1) or scope == "power":
        hosts = {gpu_ // 4 for gpu_ in lost}
    return lost, hosts, hosts if action == "replace" else set()


def taken(scope: str, action: str, gpu: int, unit: str, mode: str = "in_process") -> Damage:
    nature = nature_of(scope, contained=False, region="", action=action)
    return consequence(
        mode=mode, nature=nature, action=action, gpu=gpu, grid=GRID, hit=None, survives=False, replace_unit=unit
    )


def gpus_of(damage: Damage) -> set[int]:
    return {gpu for unit, number in damage.lost for gpu in GRID.members(unit, number)}


@pytest.mark.parametrize("unit", ["gpu", "node", "tray", "rack"])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("scope", SCOPES)
def test_every_level_takes_what_it_holds(scope: str, action: str, unit: str) -> None:
    for gpu in range(GRID.gpus):
        damage = taken(scope, action, gpu, unit)
        lost, hosts, disks = expected(scope, action, gpu, "node" if unit == "tray" else unit)
        assert gpus_of(damage) == lost, gpu
        assert (set(damage.hosts), set(damage.disks)) == (hosts, disks), gpu
        assert not damage.alive


def test_a_rack_that_forgets_a_node_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Grid.members

    def forgetful(self: Grid, unit: str, number: int) -> range:
        block = honest(self, unit, number)
        return block[: -self.per_node] if unit == "rack" else block

    monkeypatch.setattr(Grid, "members", forgetful)
    with pytest.raises(AssertionError):
        test_every_level_takes_what_it_holds("rack", "replace", "node")


def test_a_power_cut_takes_hosts_and_leaves_disks() -> None:
    """Whatever is done then, the nodes start anew; on the grid of `around` the first feed has six nodes."""
    for action in ("none", "restart_app", "reset", "reboot"):
        cut = taken("power", action, 5, "node")
        assert cut.hosts == frozenset(range(6))
        assert cut.disks == frozenset()
        assert cut.replaced
    assert taken("power", "reboot", 5, "node", mode="all_processes").all_gpu_memory


def test_what_a_power_cut_leaves_recovers() -> None:
    """Single copies on disk, nothing in CPU memory of one feed; the columns say so too."""
    for target, covers in (("disk", True), ("cpu_memory", False)):
        keys: dict[str, Any] = {} if target == "disk" else {"copies": 1}
        of = scenario(checkpoint(target, **keys), checkpoint(name="far"), mode="in_process")
        assert of.tiers[0].survives(Nature("power"), of.platform) == covers


def test_switches_and_feeds_that_overlap_count_each_gpu_once() -> None:
    both = taken("switch", "replace", 17, "node").join(taken("power", "reboot", 17, "node"))
    assert gpus_of(both) == set(range(24)) | set(range(16, 32))
    assert both.hosts == frozenset(range(8))
    assert both.disks == frozenset(range(4, 8))
    listed = [gpu for unit, number in both.lost for gpu in GRID.members(unit, number)]
    assert MemberStripes(GRID, "node", 10, 1).worst_in_stripe(listed) == 8


def test_domains_know_which_lie_in_which() -> None:
    wide = Grid(gpus=96, per_node=4, per_rack=8, per_switch=16, per_power=24)
    inside = {(a, b) for a in blocks_of(wide) for b in blocks_of(wide) if wide.within(a, b)}
    by_hand = {
        (a, b)
        for a in blocks_of(wide)
        for b in blocks_of(wide)
        if all(len({gpu // wide.size(b) for gpu in wide.members(a, number)}) == 1 for number in range(wide.count(a)))
    }
    assert inside == by_hand
    assert ("switch", "power") not in inside
    assert Grid(40, 4, 8, 16).within("switch", "power")  # no feeds given: one for all


def blocks_of(grid: Grid) -> tuple[str, ...]:
    return ("gpu", "node", "rack", "switch", "power")


# --- which sets of units lost together are survived ---------------------------------------------------------------


def survived(keeper: Keeper, grid: Grid, unit: str, gone: Iterable[int]) -> bool:
    """By asking stripe and placement themselves."""
    if isinstance(keeper, MemberStripes):
        return keeper.worst_in_stripe(gpu for one in gone for gpu in grid.members(unit, one)) <= keeper.m
    return keeper.survives(frozenset(gone))


def counted(keeper: Keeper, grid: Grid, unit: str, of: Sequence[int], most: int) -> list[int]:
    return [sum(survived(keeper, grid, unit, gone) for gone in combinations(of, j)) for j in range(most + 1)]


UNEVEN = [Grid(28, 4, 8, 16, 24), Grid(24, 2, 6, 12, 18), Grid(36, 4, 4, 12, 8)]


@pytest.mark.parametrize("grid", UNEVEN)
@pytest.mark.parametrize("members", ["gpu", "node", "rack"])
@pytest.mark.parametrize("unit", ["node", "rack"])
def test_stripes_survive_as_many_sets_as_counting_finds(grid: Grid, members: str, unit: str) -> None:
    for k, m in ((1, 1), (2, 1), (2, 2), (3, 1)):
        if k + m <= grid.count(members):
            stripes = MemberStripes(grid, members, k, m)
            units = range(grid.count(unit))
            for of in (units, units[1:-1]):
                assert harmless(stripes, grid, 4, unit=unit, of=of) == counted(stripes, grid, unit, of, 4), (k, m, of)


@pytest.mark.parametrize("kind", ["single", "ring", "group", "mixed", "partner", "xor", "rs"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_copies_and_parity_survive_as_many_sets_as_counting_finds(kind: str, stride: int) -> None:
    tried = 0
    for hosts in range(2, 14):
        for copies in (2, 3):
            try:
                where = placement(kind, hosts, copies=copies, size=4, losses=2, stride=stride)
            except ValueError:
                continue
            tried += 1
            for of in (range(hosts), range(hosts // 3, hosts - 1)):
                grid = Grid(hosts, 1, 2, 4, 6)
                assert harmless(where, grid, 5, of=of) == counted(where, grid, "node", of, 5), (hosts, copies, of)
    assert tried


def test_losses_within_a_rack_are_those_of_the_rack_of_a_unit_drawn_first() -> None:
    """A last rack with fewer nodes is drawn less often and loses all it has."""
    grid = Grid(44, 4, 12, 24, 12)  # racks of 3, 3, 3 and 2 nodes
    stripes = MemberStripes(grid, "node", 4, 1)
    total = Fraction(0)
    for rack in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]):
        sets = list(combinations(rack, min(3, len(rack))))
        good = sum(survived(stripes, grid, "node", gone) for gone in sets)
        total += Fraction(len(rack), 11) * Fraction(good, len(sets))
    assert survival(stripes, grid, 3, within="rack") == total
    assert survival(MemberStripes(grid, "rack", 3, 1), grid, 3, within="rack") == 1
    with pytest.raises(ValueError, match="more units"):
        survival(stripes, grid, 12)


def test_case_4_ten_plus_four_at_one_percent_is_6_7_nines() -> None:
    """Source: systemoverflow.com, choosing erasure coding schemes: print has 2e-8, the exact tail is 1.857e-7."""
    grid = Grid(14, 1, 14, 14, 14)
    good = harmless(MemberStripes(grid, "gpu", 10, 4), grid, 14, unit="gpu")
    p = Fraction(1, 100)
    tail = sum((comb(14, j) - good[j]) * p**j * (1 - p) ** (14 - j) for j in range(15))
    assert float(tail) == pytest.approx(1.857e-7, rel=1e-3)


def test_case_5_any_five_of_ten_plus_five_and_no_six() -> None:
    """Source: github.com/klauspost/reedsolomon/issues/299: all 3,003 patterns of five, whatever they mix."""
    grid = Grid(15, 1, 15, 15, 15)
    stripes = MemberStripes(grid, "gpu", 10, 5)
    assert harmless(stripes, grid, 6, unit="gpu") == [comb(15, j) for j in range(6)] + [0]
    assert counted(stripes, grid, "gpu", range(15), 6)[5:] == [3003, 0]


def test_case_6_a_replaced_node_takes_its_disk_and_what_is_coded_over_nodes_comes_back() -> None:
    """Source: github.com/ECP-VeloC/VELOC/issues/26: a single local copy falls to the next tier, a set rebuilds."""
    lost = taken("node", "replace", 0, "node")
    assert lost.disks == frozenset({0})
    assert not placement("single", 11).survives(lost.disks)
    assert placement("xor", 11, size=4).survives(lost.disks)


def test_case_12_only_the_pair_itself_may_fail() -> None:
    """Source: github.com/leobago/fti/issues/76: partner copies lose a shard to a neighbour pair only, RS to none of
    up to its parity, data or not."""
    partner = placement("partner", 8, size=4)
    fatal = [set(pair) for pair in combinations(range(8), 2) if not partner.survives(frozenset(pair))]
    rings = [{0, 1}, {1, 2}, {2, 3}, {0, 3}, {4, 5}, {5, 6}, {6, 7}, {4, 7}]
    assert sorted(map(sorted, fatal)) == sorted(map(sorted, rings))
    grid = Grid(8, 1, 2, 4, 6)
    assert harmless(placement("rs", 8, size=8, losses=3), grid, 4) == [1, 8, 28, 56, 0]


@pytest.mark.parametrize("domain", ["node", "rack", "switch", "power"])
def test_domains_that_are_not_full_keep_members_and_copies_apart(domain: str) -> None:
    """Eleven nodes: no two of a stripe, a set or a shard share a domain, however the last ones are cut."""
    keepers: list[Keeper] = [
        MemberStripes(GRID, domain, k, m) for k in (1, 2) for m in (1,) if k + m <= GRID.count(domain)
    ]
    stride = GRID.size(domain) // GRID.per_node
    kinds = ("ring", "mixed", "partner", "xor") if 11 // stride >= 2 else ()
    keepers += [placement(kind, 11, copies=2, size=2, stride=stride) for kind in kinds]
    assert keepers
    assert all(displaced(keeper, GRID, {}, apart=domain) == () for keeper in keepers)


# --- where a failure strikes ----------------------------------------------------------------------------------------


KEEPERS: list[Keeper] = [
    MemberStripes(GRID, "node", 2, 1),
    MemberStripes(GRID, "gpu", 6, 2),
    MemberStripes(GRID, "rack", 2, 1),
    placement("mixed", 11, copies=2),
    placement("partner", 11, size=3, stride=2),
    placement("rs", 11, size=5, losses=2),
]


@pytest.mark.parametrize("unit", ["node", "rack", "switch", "power"])
def test_places_weigh_domains_by_their_gpus(unit: str) -> None:
    """Every domain asked, one GPU after the other, against the few places that stand for all."""
    for keepers in combinations(KEEPERS, 2):
        by_hand: Counter[tuple[int, ...]] = Counter()
        for gpu in range(GRID.gpus):
            by_hand[fate_of((gpu,), GRID, unit, keepers)] += 1
        found: Counter[tuple[int, ...]] = Counter()
        for weight, gpu in places(GRID, unit, keepers=keepers, groups=(), copies=()):
            found[fate_of((gpu,), GRID, unit, keepers)] += round(weight * GRID.gpus)
        assert found == by_hand


def test_places_that_skip_domains_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The aliasing of evenly spaced domains with stripes: every other rack looks alike, those between do not."""
    monkeypatch.setattr(Grid, "count", lambda self, unit: max(1, -(-self.gpus // self.size(unit)) // 2))
    blocks.places.cache_clear()
    with pytest.raises(AssertionError):
        test_places_weigh_domains_by_their_gpus("rack")
    monkeypatch.undo()
    blocks.places.cache_clear()
    blocks._of_keeper.cache_clear()


# --- what is struck together ----------------------------------------------------------------------------------------


def drawn_as_the_trace(grid: Grid, unit: str, domain: int, size: int) -> dict[frozenset[int], Fraction]:
    """P(each set): a unit, each as likely, then others of its domain, each as likely."""
    units, found = grid.count(unit), dict[frozenset[int], Fraction]()
    for first in range(units):
        start = first // domain * domain
        others = [one for one in range(start, min(start + domain, units)) if one != first]
        picks = list(combinations(others, min(size - 1, len(others))))
        for more in picks:
            key = frozenset((first, *more))
            found[key] = found.get(key, Fraction(0)) + Fraction(1, units * len(picks))
    return found


def fates(
    sets: Iterable[tuple[float, tuple[int, ...]]], grid: Grid, taken: str, keepers: Keepers
) -> dict[object, float]:
    found: dict[object, float] = {}
    for weight, struck in sets:
        fate = fate_of(struck, grid, taken, keepers)
        found[fate] = found.get(fate, 0.0) + weight
    return found


@pytest.mark.parametrize(("unit", "taken_"), [("node", "node"), ("gpu", "node"), ("gpu", "gpu"), ("node", "rack")])
@pytest.mark.parametrize("within", ["rack", "switch", "power"])
def test_batches_in_a_domain_have_exact_shares(unit: str, taken_: str, within: str) -> None:
    keepers: Keepers = (KEEPERS[0], KEEPERS[3])
    domain = GRID.size(within) // GRID.size(unit)
    law = Batch(((2, 1.0),), within, domain)
    for size in (2, 3, domain) if domain <= 8 else (2, domain):
        if size > domain:
            continue
        found = fates(struck_sets(GRID, unit, taken_, batch=law, size=size, keepers=keepers), GRID, taken_, keepers)
        step = GRID.size(unit)
        drawn = drawn_as_the_trace(GRID, unit, domain, size)
        sets = ((float(p), tuple(number * step for number in key)) for key, p in drawn.items())
        by_hand = fates(sets, GRID, taken_, keepers)
        assert found == pytest.approx(by_hand)


def test_a_domain_that_strikes_as_if_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correlated failures treated as independent: all sets of the job in place of those of a rack."""
    honest = struck_sets
    anywhere = lambda grid, unit, taken, *, batch, size, keepers: honest(  # noqa: E731
        grid, unit, taken, batch=replace(batch, within="cluster"), size=size, keepers=keepers
    )
    monkeypatch.setitem(globals(), "struck_sets", anywhere)
    with pytest.raises(AssertionError):
        test_batches_in_a_domain_have_exact_shares("node", "node", "rack")


LARGE = Grid(gpus=1600, per_node=4, per_rack=8, per_switch=80, per_power=64)
ANYWHERE = Batch(((2, 1.0),), "cluster", 400)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize(
    "keeper",
    [MemberStripes(LARGE, "node", 8, 1), MemberStripes(LARGE, "gpu", 8, 4), MemberStripes(LARGE, "rack", 8, 2),
     placement("mixed", 400, copies=2), placement("rs", 400, size=8, losses=2, stride=2)],
)  # fmt: skip
def test_batches_anywhere_defeat_a_placement_with_the_exact_share(keeper: Keeper, size: int) -> None:
    """Far more sets than can be looked at: those that are survived have their share to the last digit.

    Where a node takes several members of a stripe, at most: what no example is found for counts as lost.
    """
    found = struck_sets(LARGE, "node", "node", batch=ANYWHERE, size=size, keepers=(keeper,))
    assert sum(weight for weight, _ in found) == pytest.approx(1.0)
    nodes = [(weight, [gpu // 4 for gpu in struck]) for weight, struck in found]
    good = sum(weight for weight, struck in nodes if survived(keeper, LARGE, "node", struck))
    exact = float(survival(keeper, LARGE, size))
    if isinstance(keeper, MemberStripes) and keeper.unit == "gpu":  # a node takes several members of a stripe
        assert 0.99 * exact < good <= exact * (1 + 1e-9)
    else:
        assert good == pytest.approx(exact, rel=1e-9)
    assert all(len(set(struck)) == size for _, struck in nodes)


def test_two_placements_lose_together_about_as_often_as_counting_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """To first order, by a fixed sample: within a quarter of what all 79,800 pairs give."""
    keepers: Keepers = (MemberStripes(LARGE, "node", 8, 1), placement("mixed", 400, copies=2))
    found = fates(struck_sets(LARGE, "node", "node", batch=ANYWHERE, size=2, keepers=keepers), LARGE, "node", keepers)
    exact: Counter[object] = Counter()
    for pair in combinations(range(400), 2):
        if pair[1] - pair[0] < 24:  # farther apart nothing meets
            exact[fate_of(tuple(4 * node for node in pair), LARGE, "node", keepers)] += 1
    del exact[1, 0]
    for fate, count in exact.items():
        assert found[fate] == pytest.approx(count / comb(400, 2), rel=0.25), fate
    assert set(found) == {*exact, (1, 0)}
    monkeypatch.setattr(batch, "ALL", 10**6)
    batch._in_domains.cache_clear()
    every = fates(
        struck_sets(LARGE, "node", "node", batch=ANYWHERE, size=2, keepers=keepers[1:]), LARGE, "node", keepers[1:]
    )
    assert every[1,] == pytest.approx(1 - float(survival(keepers[1], LARGE, 2)))
    batch._in_domains.cache_clear()


def kind(**changes: object) -> FailureClass:
    """Failures of whole nodes, ten a day in a job of 4 nodes."""
    base = FailureClass(
        "node", "node", lifetime("exponential", 4 * 8640.0, None), "node", 4, 0, "as_new", "wall",
        duration("fixed", 4.0), 0.0, ((1, 1.0),), "adjacent_pages", "used", "replace", "reset", False,
        duration("fixed", 500.0), True,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def test_starts_per_failure_are_those_of_the_trace() -> None:
    """0.7 x 1 + 0.3 x 2 units each: 1 / 1.3 starts per failure; what recurs follows alone."""
    law = Batch(((1, 0.7), (5, 0.3)), "rack", 2)
    assert dict(events(kind(batch=law))) == pytest.approx({1: 0.7 / 1.3, 2: 0.3 / 1.3})
    again = Recurrence(0.4, lifetime("exponential", 60.0, None))
    assert dict(events(kind(batch=law, recurrence=again))) == pytest.approx({1: 0.4 + 0.6 * 0.7 / 1.3, 2: 0.18 / 1.3})
    of = kind(batch=law)
    times, _ = Draw(of, 3e8, 1, 0, True).parts()[0][0]
    starts = Counter(Counter(times.tolist()).values())
    statcheck.binomial_count(starts[1], starts.total(), 0.7, detect=0.02)
    statcheck.poisson_count(starts.total(), 3e8 * of.rate / 1.3, detect=0.05)


def job(*tiers: dict[str, object]) -> Job:
    of = scenario(*tiers, checkpoint(name="far"), mode="in_process")
    return Job(of.platform, of.timeline, of.tiers, of.classes, "in_process", "node")


def test_a_common_cause_takes_the_whole_rack_at_once() -> None:
    """Nodes 0, 1 and 2, 3 share racks: a beta of a tenth within a rack takes two, whichever it is."""
    of = job(NODES)
    shared = kind(batch=Batch(((2, 1.0),), "rack", 2))
    found = list(kinds_of(of, shared))
    assert sum(share for share, *_ in found) == pytest.approx(0.5)  # one stop for two failures
    for _, _, damage, _ in found:
        assert damage.hosts in (frozenset({0, 1}), frozenset({2, 3}))
        assert {number // 2 for unit, number in damage.lost if unit == "node"} in ({0}, {1})
    alone = list(kinds_of(of, kind()))
    assert [(share, damage.hosts) for share, _, damage, _ in alone] == [(1.0, frozenset({0}))]


def test_batches_of_memory_failures_hit_as_many_gpus() -> None:
    of = job(NODES)
    hit = kind(
        name="page", scope="memory", clock="gpu", units=16, contained=1.0, action="drain_and_reset",
        batch=Batch(((3, 1.0),), "cluster", 16),
    )  # fmt: skip
    total = 0.0
    for share, _, damage, _ in kinds_of(of, hit):
        total += share
        assert len({number for _, number in damage.lost}) == 3
    assert total == pytest.approx(1 / 3)


def test_together_is_each_and_all() -> None:
    parts = [
        taken("node", "replace", 0, "node"),
        taken("gpu", "reset", 9, "node"),
        taken("power", "reboot", 30, "node"),
    ]
    joined = together(parts)
    assert gpus_of(joined) == set().union(*(gpus_of(part) for part in parts))
    assert joined.hosts == parts[0].hosts | parts[2].hosts
    assert joined.disks == parts[0].disks
    assert together([]) == Damage()


# --- spares that stand elsewhere ------------------------------------------------------------------------------------


def test_a_spare_in_another_rack_can_bring_two_members_together() -> None:
    """Racks of two nodes, a stripe over racks: node 0's place is taken by a spare in rack 1, where node 2 stands."""
    grid = Grid(32, 4, 8, 16, 32)  # nodes 0 to 7; spares 8 and up
    racks = MemberStripes(grid, "rack", 3, 1)
    assert displaced(racks, grid, {}, apart="rack") == ()
    assert displaced(racks, grid, {0: 8}, apart="rack") == ()  # a rack of its own
    assert displaced(racks, grid, {0: 8, 2: 9}, apart="rack") == ((0, 2, 4),)  # both in the first spare rack
    assert displaced(racks, grid, {0: 8, 1: 9}, apart="rack") == ()  # members of different stripes
    nodes = MemberStripes(grid, "node", 3, 1)
    assert displaced(nodes, grid, {}, apart="node") == ()
    assert len(displaced(nodes, grid, {}, apart="rack")) == 4  # blind as it is


def test_displaced_copies_and_sets() -> None:
    grid = Grid(32, 4, 8, 16, 32)
    pairs = placement("mixed", 8, copies=2, stride=2)  # 0 with 2, 1 with 3, 4 with 6, 5 with 7
    assert displaced(pairs, grid, {}, apart="rack") == ()
    assert displaced(pairs, grid, {2: 8, 0: 9}, apart="rack") == ((0, 2, 4),)
    assert displaced(pairs, grid, {2: 8, 4: 9}, apart="rack") == ()
    coded = placement("xor", 8, size=4, stride=2)
    assert displaced(coded, grid, {2: 8, 4: 9}, apart="rack") == ((2, 4, 4),)
