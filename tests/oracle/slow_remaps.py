"""The slow engine's stops of their own for row remaps (`remap: now`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.setup import Failure, Save, Store
from tests.oracle.slow_choice import START, Choice, Loss, choose
from tests.oracle.slow_recovery import Course, effect, resume, stand, stand_through, waste

if TYPE_CHECKING:
    from tests.oracle.slow_engine import SlowJob


def serve_remaps(job: SlowJob) -> None:
    """As long as rows wait: save if nobody else has this version, reset their GPUs, restart, restore."""
    while job.remaps and job.setup.remap_now and job.wall < job.setup.horizon:
        served = len(job.remaps)
        resets = [effect(job.setup, Failure(job.wall, "gpu", "reset", gpu, 0.0)) for gpu in job.remaps]
        loss = Loss(gpus={gpu for done in resets for gpu in done.gpus}, alive=False, killed_at=job.wall)
        loss.everything = any(done.everything for done in resets)
        choice, saving, save = choose(job, loss), 0.0, None
        if choice.tier == START or choice.version not in (None, job.version):
            store = next((tier for tier in job.setup.tiers if isinstance(tier, Store)), None)
            if store is None and choice.tier == START:
                return
            if store is not None:
                saving = store.blocked + store.lag
                save = Save(job.version, job.wall, job.wall + saving)
                job.saves[store.name].append(save)
                choice = Choice(store.name, job.version, seconds=store.read, captured=job.wall)
                loss.killed_at = job.wall + saving
        job.stops += 1
        lost = waste(job, loss, choice)
        job.seconds["productive"] -= lost
        job.seconds["wasted"] += lost
        course = Course(
            saving=saving, device=job.setup.reset, restart=resets[0].restart,
            recovery=choice.seconds + job.setup.encode_anew,
        )  # fmt: skip
        failure, since, over = stand(job, course.plan(0.0))
        if over:
            resume(job, loss, choice)
        else:
            if save is not None and job.wall < save.usable:
                store_of(job, save).remove(save)
            stand_through(job, failure, since, loss, course, lost, stop=True)
        job.remaps = job.remaps[served:]


def store_of(job: SlowJob, save: Save) -> list[Save]:
    """Where a save lies."""
    return next(saves for saves in job.saves.values() if any(one is save for one in saves))
