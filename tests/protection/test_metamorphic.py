"""More protection never does worse on the same damage: decisions at any moment, compared between designs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import MODES, Damage, Nature, PageHit, consequence
from gemsim.protection.decide import Decision, decide, first_covering
from gemsim.protection.retry import GRANULES, Retry
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import HELD, START, Moment, Tier
from gemsim.scenario import Scenario
from tests.engine.small import NODES, PEERS, RETRY, STRIPE, checkpoint, scenario

REGIONS = ("weights", "moments", "gradients", "activations", "workspace", "buffers")
TIERS = [RETRY, STRIPE, NODES, checkpoint("cpu_memory", name="near"), checkpoint(name="far")]


@lru_cache
def base() -> Scenario:
    """All tiers at once, on a job of four nodes."""
    return scenario(*TIERS)


page_hits = st.builds(
    PageHit,
    st.integers(0, 15),
    st.sampled_from(REGIONS),
    st.integers(1, 4000),
    st.sampled_from(["adjacent_pages", "same_page", "scattered"]),
    st.floats(0, 0.9999),
)


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """One to three failures under one restart mode, together."""
    mode = draw(st.sampled_from(MODES))
    total = Damage()
    for _ in range(draw(st.integers(1, 3))):
        hit = draw(page_hits)
        kind = draw(st.sampled_from(["pages", "pages", "gpu", "node", "rack", "process", "nothing"]))
        nature = Nature(kind, hit.region if kind == "pages" else "")
        action = draw(st.sampled_from(["none", "restart_app", "drain_and_reset", "reset", "reboot", "replace"]))
        total = total.join(
            consequence(
                mode=mode,
                nature=nature,
                action=action,
                gpu=hit.gpu,
                grid=base().platform.grid,
                hit=hit if kind == "pages" else None,
                survives=draw(st.booleans()),
                replace_unit=draw(st.sampled_from(["gpu", "node", "rack"])),
            )
        )
    if draw(st.integers(0, 9)) == 0:
        total = total.join(Damage(alive=False, corrupt_since=0.0))
    return total


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    """Anywhere in a step or in a stall; stores hold some older version or none."""
    version = draw(st.integers(0, 40))
    stall = draw(st.sampled_from([-1, -1, -1, 1, 2, 3, 4]))
    far = draw(st.integers(0, version))
    saved = {3: draw(st.integers(far, version)), 4: far}  # the first of the list holds what is newer
    saved = {number: saved[number] for number in draw(st.sampled_from([(), (4,), (3, 4)]))}
    within = draw(st.floats(0, 9.999)) if stall < 0 else 0.0
    ahead = frozenset(n for n in (1, 2, 3, 4) if 0 < stall < n)
    return Moment(version, within, 0, stall, draw(st.floats(0, 0.99)) if stall > 0 else 0.0, saved, ahead=ahead)


def choose(tiers: list[Tier], damage: Damage, moment: Moment) -> Decision:
    return decide(tiers, damage, moment, base().platform)


def kept(decision: Decision, moment: Moment) -> int:
    """The version that the job goes on from."""
    return moment.version if decision.plan.version is None else decision.plan.version


def with_parity(tier: Tier, m: int) -> Tier:
    """The same stripe with another m, at the same cost."""
    assert isinstance(tier, MemberStripe)
    return replace(tier, stripes=replace(tier.stripes, m=m))


@settings(max_examples=400)
@given(damages(), moments(), st.integers(1, 4), st.sampled_from(["interleaved", "contiguous"]))
def test_more_parity_in_a_gpu_never_loses_more(damage: Damage, moment: Moment, m: int, mapping: str) -> None:
    """Same place of the burst: more parity pages lengthen the stripe, so the place is kept as a page index."""
    tiers = list(base().tiers)
    assert isinstance(tiers[1], PageStripe)
    few, more = (
        replace(tiers[1], stripes=replace(tiers[1].stripes, m=number, mapping=mapping)) for number in (m, m + 1)
    )
    ratio = few.stripes.total / more.stripes.total
    moved = replace(damage, pages=tuple(replace(h, place=(h.place * ratio)) for h in damage.pages))
    if any(h.to_pages == "scattered" for h in damage.pages):
        return  # other pages are drawn where there are more to draw from
    worse = choose([tiers[0], few, *tiers[2:]], damage, moment)
    better = choose([tiers[0], more, *tiers[2:]], moved, moment)
    assert kept(better, moment) >= kept(worse, moment)


@settings(max_examples=400)
@given(damages(), moments())
def test_more_parity_across_nodes_never_loses_more(damage: Damage, moment: Moment) -> None:
    """One group of four nodes in both."""
    tiers = list(base().tiers)
    worse = choose(tiers, damage, moment)
    better = choose([*tiers[:2], with_parity(tiers[2], 2), *tiers[3:]], damage, moment)
    assert kept(better, moment) >= kept(worse, moment)


@settings(max_examples=400)
@given(damages(), moments(), st.integers(0, 4))
def test_one_more_tier_at_the_end_never_loses_more(damage: Damage, moment: Moment, count: int) -> None:
    tiers = list(base().tiers)
    worse = choose(tiers[:count], damage, moment)
    better = choose(tiers[: count + 1], damage, moment)
    assert kept(better, moment) >= kept(worse, moment)
    if worse.plan.tier not in (START, HELD):  # a retry takes over from the state itself
        assert better.plan.tier == worse.plan.tier


@settings(max_examples=400)
@given(damages(), moments())
def test_a_finer_retry_never_does_more_again(damage: Damage, moment: Moment) -> None:
    decisions = [
        choose([Retry(0, "retry", granularity), *base().tiers[1:]], damage, moment)
        for granularity in ("mixed", *GRANULES)
    ]
    again = [(-kept(d, moment), d.plan.redo if kept(d, moment) == moment.version else 0.0) for d in decisions]
    for finer, coarser in pairwise(again):
        assert finer[0] <= coarser[0]
        if finer[0] == coarser[0] and decisions[0].plan.version is None:
            assert finer[1] <= coarser[1] + 1e-9


@settings(max_examples=400)
@given(damages(), damages(), moments())
def test_more_damage_never_keeps_more(first: Damage, second: Damage, moment: Moment) -> None:
    tiers = list(base().tiers)
    assert kept(choose(tiers, first.join(second), moment), moment) <= kept(choose(tiers, first, moment), moment)


@settings(max_examples=200)
@given(damages(), damages(), damages())
def test_damage_adds_up_in_any_order(a: Damage, b: Damage, c: Damage) -> None:
    def content(damage: Damage) -> Damage:
        return replace(damage, pages=tuple(sorted(damage.pages, key=repr)))

    assert content(a.join(b)) == content(b.join(a))
    assert a.join(b).join(c) == a.join(b.join(c))
    assert Damage().join(a) == a


@settings(max_examples=300)
@given(damages(), moments())
def test_nothing_is_recovered_from_memory_that_is_gone(damage: Damage, moment: Moment) -> None:
    tiers = list(base().tiers)
    decision = choose(tiers, damage, moment)
    chosen = next((t for t in tiers if t.name == decision.plan.tier), None)
    if damage.all_gpu_memory or damage.corrupt_since is not None:
        assert chosen is None or isinstance(chosen, Checkpoint)
        assert decision.plan.version is not None
    if damage.memory_lost:
        assert not isinstance(chosen, PageStripe)
    if not damage.alive:
        assert not isinstance(chosen, Retry)
    assert decision.plan.redo <= moment.within


@pytest.mark.parametrize(
    ("nature", "first"),
    [
        (Nature("pages", "activations"), "retry"),
        (Nature("pages", "context"), "near"),
        (Nature("pages", "weights"), "peer_copy"),
        (Nature("gpu", "weights"), "peer_copy"),
        (Nature("rack"), "peer_copy"),
        (Nature("process"), "peer_copy"),
        (Nature("nothing"), "near"),
        (Nature("corrupt"), "near"),
    ],
)
def test_the_first_tier_whose_column_covers_a_loss(nature: Nature, first: str) -> None:
    """Whatever the restart mode: what a fall-back is measured from."""
    of = scenario(RETRY, PEERS, STRIPE, *TIERS[2:])
    number = first_covering(of.tiers, nature, of.platform)
    assert number is not None
    assert of.tiers[number].name == first
    assert first_covering(of.tiers[:1], Nature("gpu"), of.platform) is None


def test_columns_of_stripes() -> None:
    of = base()
    inside, across = of.tiers[1], of.tiers[2]
    for kind in ("gpu", "node", "rack", "switch", "process", "nothing", "corrupt"):
        assert not inside.survives(Nature(kind, "weights"), of.platform)
        assert across.survives(Nature(kind, "weights"), of.platform) == (kind not in ("nothing", "corrupt"))
    for tier in (inside, across):
        assert tier.survives(Nature("pages", "weights"), of.platform)
        assert not tier.survives(Nature("pages", "activations"), of.platform)
