"""A stop of its own for a row remap (`failures.remap: now`): what it takes from the job, how that comes back, its cost.

One idea: the GPU is reset, and a reset is a loss like any other. So the tiers are asked as after a failure, and only
where they would go back to an older version the job saves first, as before a planned stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature, consequence, together
from gemsim.protection.decide import decide
from gemsim.protection.stripe import MemberStripe
from gemsim.protection.tier import START, Moment, Plan
from gemsim.scenario.model import Scenario
from gemsim.units import brief as text

LOST = Nature("gpu")  # what a stop that resets GPUs destroys
REPLACED = Nature("node")  # and one that replaces what cannot be remapped


def served_at_once(damage: Damage) -> bool:
    """The hit process has died and its GPU's memory is gone: a reset there costs the wait alone, and no stop."""
    return not damage.alive and damage.memory_lost


def reset_of(scenario: Scenario, gpus: frozenset[int], *, worn: frozenset[int] = frozenset()) -> Damage:
    """What the reset of these GPUs takes, at the best that the restart mode can do; the `worn` are replaced."""
    return together(_one(scenario, gpu, "replace" if gpu in worn else "reset") for gpu in sorted(gpus))


def _one(scenario: Scenario, gpu: int, action: str) -> Damage:
    damage = consequence(
        mode=scenario.restart.mode,
        nature=LOST,
        action=action,
        gpu=gpu,
        grid=scenario.platform.grid,
        hit=None,
        survives=False,
        replace_unit=scenario.replace_unit,
    )
    return replace(damage, struck=damage.lost)


@dataclass(frozen=True, slots=True)
class WayBack:
    """How the job comes back from such a stop: by `plan`, after a save in `saver` if there is one."""

    plan: Plan
    saver: Checkpoint | None


def way_back(scenario: Scenario, damage: Damage, moment: Moment, nature: Nature = LOST) -> WayBack | None:
    """Nothing is saved where the present version comes back anyway; else it is, in the first tier that can.

    None where only the start of the job is left: no stop is made for that.
    """
    tiers, platform = scenario.tiers, scenario.platform
    plan = decide(tiers, damage, moment, platform).plan
    if plan.tier != START and plan.version in (None, moment.version):
        return WayBack(plan, None)
    saver = next((t for t in tiers if isinstance(t, Checkpoint) and t.survives(nature, platform)), None)
    if saver is not None:
        saved = replace(moment, saved={saver.number: moment.version}, missing={})
        after = saver.recover(damage, saved, platform)
        if after is not None:
            return WayBack(after, saver)
    return None if plan.tier == START else WayBack(plan, None)


@dataclass(frozen=True, slots=True)
class OwnStop:
    """Mean seconds of a stop between two steps, in order; `sure` where they do not depend on the moment."""

    save: float
    waiting: float
    restart: float
    restore: float
    tier: str
    sure: bool

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.save + self.waiting + self.restart + self.restore


def own_stop(scenario: Scenario) -> OwnStop | None:
    """What a stop for one GPU costs where no tier has saved the last step; None where no tier brings the job back."""
    damage = reset_of(scenario, frozenset({0}))
    stripes = [t.cadence for t in scenario.tiers if isinstance(t, MemberStripe)]
    older = {t.number: 0 for t in scenario.tiers if t.overhead().keeps_versions}
    way = way_back(scenario, damage, Moment(1, 0.0, 1, saved=older))
    if way is None:
        return None
    plan, restart = way.plan, scenario.restart
    if plan.out:
        return OwnStop(0.0, 0.0, plan.stall, 0.0, plan.tier, sure=False)
    return OwnStop(
        save=0.0 if way.saver is None else way.saver.blocked + way.saver.lag,
        waiting=restart.device_wait("reset"),
        restart=restart.seconds(damage),
        restore=plan.seconds + scenario.encode_anew,
        tier=plan.tier,
        sure=all(c.copy == "in_place" and c.every == 1 for c in stripes),
    )


def said_of_remaps(scenario: Scenario) -> list[str]:
    """When pending row remaps are served, and what a stop of its own costs; nothing where no class leaves any."""
    leaving = [kind for kind in scenario.classes if kind.contained > 0.0 and kind.action == "drain_and_reset"]
    if not leaving or scenario.restart.mode == "all_processes":  # all memory is filled anew, and the GPU reset before
        return []
    survives = scenario.restart.mode == "in_place" and any(kind.process_survives for kind in leaving)
    if scenario.remap_now and not survives and scenario.restart.mode != "holder":
        return [
            "Row remaps: within each recovery (remap: now): the hit process dies, and its GPU is reset before it starts"
        ]
    own = own_stop(scenario)
    when = "by a stop of their own (remap: now)" if scenario.remap_now else "at the next restart (remap: defer)"
    if own is None:
        only = ", so they wait for the next restart" if scenario.remap_now else ""
        return [f"Row remaps: {when}; after a stop of its own no tier could bring the job back{only}"]
    parts = [("save", own.save), ("reset", own.waiting), ("restart", own.restart), (f"{own.tier}", own.restore)]
    spent = ", ".join(f"{name} {text(seconds, 'time')}" for name, seconds in parts if seconds > 0.0)
    costs = "each costs" if scenario.remap_now else "one of its own would cost"
    return [f"Row remaps: {when}; {costs} {text(own.seconds, 'time')} ({spent})"]
