"""Faults planted in each system's tiers: each check of the system then fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage
from gemsim.protection.layouts import MemberStripes, PageStripes
from gemsim.protection.peer_copy import PeerCopy
from gemsim.protection.placement import Coded, Copies
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Moment, Overhead, Plan, Platform
from gemsim.protection.undo_log import UndoLog
from gemsim.spec.catalog import system_names
from tests.systems import test_survival as survival
from tests.systems.small import CXL_B, caught
from tests.systems.test_overheads import check_overhead
from tests.systems.test_timelines import check_timeline

Check = Callable[[str], None]
Fault = Callable[[pytest.MonkeyPatch], None]
FaultOf = Callable[[type[Any], pytest.MonkeyPatch], None]
OWN: dict[str, type[Any]] = {
    "gem": PageStripe,
    "ecrec": MemberStripe,
    "trainingcxl": UndoLog,
    **dict.fromkeys(("just_in_time", "mindio"), PeerCopy),
    **dict.fromkeys(("ft_hsdp", "torchft", "oobleck", "recycle"), ReplicaGroup),
}
"""The tier that a system is known for, where it is not a checkpoint."""


def own(system: str) -> type[Any]:
    """The class of its tier."""
    return OWN.get(system.split(",")[0], Checkpoint)


def dearer(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """Each step takes 100 ms more."""
    honest = kind.overhead

    def overhead(tier: Any) -> Overhead:
        cost: Overhead = honest(tier)
        return replace(cost, slower=cost.slower + 0.1)

    patch.setattr(kind, "overhead", overhead)


def free(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """What is paid in normal running is forgotten."""
    honest = kind.overhead
    patch.setattr(kind, "overhead", lambda tier: replace(honest(tier), stall=0.0, slower=0.0))


def slower(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """A recovery takes 1 s more."""
    honest = kind.recover

    def recover(tier: Any, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        plan: Plan | None = honest(tier, damage, moment, platform)
        return plan and replace(plan, seconds=plan.seconds + 1.0, stall=plan.stall + 1.0)

    patch.setattr(kind, "recover", recover)


def older(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """A recovery gives up one step more."""
    honest = kind.recover

    def recover(tier: Any, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        plan: Plan | None = honest(tier, damage, moment, platform)
        if plan is None or plan.version is None:
            return plan and replace(plan, version=max(0, moment.version - 1), out=frozenset())
        return replace(plan, version=max(0, plan.version - 1))

    patch.setattr(kind, "recover", recover)


def without_the_last_host(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """It gives up where host 7 is among the lost."""
    honest = kind.recover

    def recover(tier: Any, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        plan: Plan | None = honest(tier, damage, moment, platform)
        return None if 7 in damage.hosts else plan

    patch.setattr(kind, "recover", recover)


def all_is_there(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """Whatever a code, a copy or a group has lost, it has not lost too much."""
    patch.setattr(Coded, "survives", lambda self, gone: True)
    patch.setattr(Copies, "survives", lambda self, gone: True)
    patch.setattr(MemberStripes, "worst_in_stripe", lambda self, gone: 1)
    patch.setattr(PeerCopy, "_copies_live", lambda *found: True)
    patch.setattr(ReplicaGroup, "_enough", lambda *found: True)
    patch.setattr(ReplicaGroup, "_copies_live", lambda *found: True)


def one_loss_more(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """A set makes up for a host more than its parity does."""
    honest = Coded.survives
    patch.setattr(Coded, "survives", lambda self, gone: honest(replace(self, losses=self.losses + 1), gone))


def only_those_hit_now(kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """What is out already counts as there."""
    honest = ReplicaGroup.recover

    def recover(tier: ReplicaGroup, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        return honest(tier, damage, replace(moment, out=()), platform)

    patch.setattr(ReplicaGroup, "recover", recover)


def no_lag(patch: pytest.MonkeyPatch) -> None:
    """A copy counts as complete when it begins."""
    honest = Checkpoint.overhead
    patch.setattr(Checkpoint, "overhead", lambda tier: replace(honest(tier), lag=0.0))


def one_page_more(patch: pytest.MonkeyPatch) -> None:
    """A stripe makes up for a page more than it has parity."""
    honest = PageStripes.worst_in_stripe
    patch.setattr(PageStripes, "worst_in_stripe", lambda self, lost: honest(self, lost) - 1)


def contiguous(patch: pytest.MonkeyPatch) -> None:
    """Pages in a row are in one stripe."""
    patch.setattr(PageStripes, "stripe_of", lambda self, page: page // 129)


def corruption_not_logged(patch: pytest.MonkeyPatch) -> None:
    """The log is taken for clean."""
    honest = UndoLog.recover

    def recover(tier: UndoLog, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        return honest(tier, replace(damage, corrupt_since=None), moment, platform)

    patch.setattr(UndoLog, "recover", recover)


FREE = {"strawman", "trainingcxl", "just_in_time", "mindio", "ft_hsdp", "torchft", "oobleck", "recycle"}
"""Systems whose own tier costs nothing: it cannot be forgotten."""
REMOTE_ONLY = {"strawman", "highfreq", "checkfreq", "check_n_run"}
SURVIVES_ALL = REMOTE_ONLY | {"gem", "trainingcxl"}  # GEM: by its fall-back alone
PLANTED: list[tuple[Check, FaultOf, set[str]]] = [
    (check_overhead, dearer, set(system_names()) | {CXL_B}),
    (check_overhead, free, set(system_names()) - FREE | {CXL_B}),
    (check_timeline, slower, set(system_names())),
    (check_timeline, older, set(system_names())),
    (survival.check_hosts, without_the_last_host, set(system_names()) - {"gem"}),
    (survival.check_hosts, all_is_there, set(system_names()) - SURVIVES_ALL),
    (survival.check_hosts, one_loss_more, {"scr_xor", "scr_rs", "eccheck", "veloc", "fti"}),
    (survival.check_one_after_the_other, only_those_hit_now, {"ft_hsdp", "torchft", "oobleck", "recycle"}),
]
CASES = [
    pytest.param(check, fault, system, id=f"{system}-{fault.__name__}")
    for check, fault, of in PLANTED
    for system in sorted(of)
]
SPECIAL: list[tuple[Callable[[], None], Fault]] = [
    (partial(check_timeline, "gemini"), no_lag),
    (partial(check_timeline, "moevement"), no_lag),
    (survival.check_pages, one_page_more),
    (survival.check_pages, contiguous),
    (partial(check_timeline, "gem"), contiguous),
    (survival.check_pool, corruption_not_logged),
    (partial(survival.check_hosts, "gem"), partial(without_the_last_host, Checkpoint)),
]


@pytest.mark.parametrize("check", [check_overhead, check_timeline])
def test_every_system_has_its_faults(check: Check) -> None:
    assert set().union(*(of for used, _, of in PLANTED if used is check)) - {CXL_B} == set(system_names())


def test_survival_of_every_system_has_its_faults() -> None:
    assert set().union(*(of for used, _, of in PLANTED if used is survival.check_hosts)) | {"gem"} == set(
        system_names()
    )


@pytest.mark.parametrize(("check", "fault", "system"), CASES)
def test_a_fault_in_the_tier_is_caught(check: Check, fault: FaultOf, system: str) -> None:
    caught(partial(check, system), partial(fault, own(system)))


@pytest.mark.parametrize(("check", "fault"), SPECIAL)
def test_a_fault_in_a_mechanism_is_caught(check: Callable[[], None], fault: Fault) -> None:
    caught(check, fault)
