"""One failure, and what the job does about it, as an event of a timeline."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, nan

from gemsim.engine.job import Job
from gemsim.engine.recovery import Recovery
from gemsim.engine.strike import NO_WARNING, Strike
from gemsim.failures.trace import Event as Failure
from gemsim.protection.reasons import refusals
from gemsim.protection.tier import HELD, START
from gemsim.results.timeline import Event
from gemsim.units import brief


def failed(job: Job, event: Failure, now: float, kind: str, *, gpu: int | None, text: str = "") -> Event:
    """A failure of the trace, as far as it says itself what it is. `gpu`: of the job; None for none."""
    of, mark = job.scenario.classes[event.index], job.trace.mark
    memory = of.scope == "memory"
    return Event(
        at=now,
        kind=kind,
        text=text,
        name=of.name,
        scope=of.scope,
        gpu=gpu,
        node=None if gpu is None else gpu // job.fleet.per_host,
        region=job.striker.region(event, of),
        contained=mark(event, "contained") < of.contained if memory else None,
        rows=of.rows_hit(mark(event, "rows")) if memory else 0,
    )


def struck(job: Job, recovery: Recovery, strike: Strike, *, since: float | None, end: float, lost: float) -> Event:
    """A failure that the job has just taken in: what it did, and what the recovery now comes to, to wall time `end`.

    `since`: when it struck, if it was found later; `lost`: seconds of work that it adds to what is to be done again.
    """
    scope = job.scenario.classes[strike.event.index].scope
    kind = "planned" if scope == "planned" else "failure" if since is None else "found"
    kind = "remap" if strike.on_purpose else kind
    plan, first = recovery.plan, len(recovery.strikes) == 1
    refused = refusals(
        job.scenario.tiers, recovery.damage, recovery.moment, job.scenario.platform,
        nature=strike.nature, plan=plan, bad=recovery.fates,
    )  # fmt: skip
    words = [] if first else ["the recovery starts again"]
    words += _seen(strike, since)
    words.append(_plan(recovery))
    words += [f"{brief(lost, 'time')} of work to do again"] if lost > 0.0 else []
    words += [f"{brief(-lost, 'time')} of work need not be done again"] if lost < 0.0 else []
    words.append(f"{brief(end - strike.wall, 'time')} down" if end < inf else "down until a node can be had")
    return replace(
        failed(job, strike.event, strike.wall, kind, gpu=strike.gpu),
        text="; ".join(words),
        tier=plan.tier,
        version=recovery.version if recovery.rolls_back else None,
        refused=refused,
        lost=lost,
        since=_reached(job, recovery, strike),
        down=end - strike.wall,
        until=end,
    )


def _seen(strike: Strike, since: float | None) -> list[str]:
    if since is not None:
        return [f"unseen for {brief(strike.wall - since, 'time')}"]
    if strike.on_purpose or strike.notice == NO_WARNING:
        return []
    return ["found by a health check before it struck" if strike.notice == inf and not strike.stop else "announced"]


def _plan(recovery: Recovery) -> str:
    """Who brings the job back, to where."""
    plan = recovery.plan
    if plan.tier == START:
        return "nothing brings it back: from step 0 again"
    if plan.out:
        return f"{plan.tier}: the others go on without {len(plan.out)}"
    if plan.tier == HELD:
        return "the state itself is whole"
    return f"{plan.tier} to step {recovery.version:,}" + ("" if recovery.rolls_back else ", where it is")


def _reached(job: Job, recovery: Recovery, strike: Strike) -> float:
    """Wall time from which on the work is to be done again; nan where none is."""
    if not recovery.rolls_back:
        return strike.wall - recovery.plan.redo if recovery.plan.redo else nan
    killed = recovery.killed_at
    tier = next((one for one in job.scenario.tiers if one.name == recovery.plan.tier), None)
    if tier is None or killed is None:
        return 0.0
    when = job.stores.captured(tier, recovery.version, recovery.running, killed)
    return when if isfinite(when) else nan


def unheeded(job: Job, event: Failure, now: float, *, failures: int, idle: int) -> Event | None:
    """A failure that does nothing to the job yet. `failures`, `idle`: how many it added to these counts. None where it
    only waits for its time to come."""
    if idle:
        lost = job.fleet.lost
        node = "a node that stands by" if lost is None else f"node {lost[1]:,}, which stands by"
        return failed(job, event, now, "spare", gpu=None, text=f"{node} fails and goes to repair")
    kind = job.scenario.classes[event.index]
    if failures:
        gpu = job.hidden.gpus.get(event, job.unseen.gpus.get(event))
        slow = f"; all go slower by {brief(kind.slower, 'share')}" if kind.slower else ""
        return failed(job, event, now, "unseen", gpu=gpu, text=f"nobody notices yet{slow}")
    if event.again:
        return None
    text = "it strikes nobody of the job"
    if kind.scope == "memory" and job.striker.region(event, kind) == "free":
        text = "it hits free memory"
    return failed(job, event, now, "missed", gpu=None, text=text)
