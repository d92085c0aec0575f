"""Errors in cold pages of a stripe inside each GPU: how often too many pile up before anyone reads them.

One idea: an error stays unseen until the next scrub, its own read, or a refill of memory, whichever is first. Its mean
time unseen makes an interval between scrubs that would leave as many unseen, and for that the forms of `latent` hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, inf, sqrt

from gemsim.analytic.expected import outcomes, standing_still
from gemsim.analytic.latent import loss_rate, met_at_random
from gemsim.analytic.refusals import refuse_latent
from gemsim.errors import NotCovered
from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import Duration
from gemsim.protection.kinds import Job
from gemsim.protection.reach import Branch, branches
from gemsim.protection.stripe import PageStripe
from gemsim.scenario import Scenario
from gemsim.scenario.blind import seconds_of_a_run
from gemsim.units import brief as text

CROWDED = 0.1  # hits on one GPU while one is unseen, from which first order ends
READS_MATTER = 0.95  # of the interval between scrubs: below it, an error is often read before
ALLOWED = 1e-6  # pile-ups per run that the advice on scrubs allows
ROUNDS = 30  # until the rate of roll-backs that are left stands still
_PARTS = 1024  # of the law of reads


@dataclass(frozen=True, slots=True)
class Cold:
    """What strikes the coded pages of one GPU. Rates per second."""

    stripe: PageStripe
    seen: float  # hits seen at once
    unseen: float  # the others
    hidden: float  # mean number of the others that are there and unseen
    spread: float  # stripes that hits with bursts of several pages share, over those of single pages

    @property
    def interval(self) -> float:
        """Seconds between scrubs that would leave as many unseen without reads or refills."""
        return 2.0 * self.hidden / self.unseen

    @property
    def falls(self) -> float:
        """Times per second that a stripe of the GPU is found with more than m lost pages. Kind: first order."""
        pages, m = self.stripe.stripes, self.stripe.stripes.m
        k = round(pages.total / pages.stripes) - m
        rate = self.unseen / pages.total
        if self.interval == 0.0:
            return 0.0
        alone = loss_rate(k, m, stripes=pages.stripes, rate=rate, interval=self.interval)
        met = self.seen * met_at_random(k, m, rate=rate, interval=self.interval, known=1)
        return min(self.seen + self.unseen, (alone + met) * self.spread)

    @property
    def unsure(self) -> float:
        """Relative error of `falls`, but for the start of a run."""
        crowd = (self.seen + self.unseen) * self.interval
        reads = self.stripe.stripes.m > 1 and self.interval < READS_MATTER * self.stripe.scrub
        return crowd + (1.0 if reads else 0.0)


@dataclass(frozen=True, slots=True)
class Moved:
    """Failures that fall to the next tier because others had piled up: `rate` per second of the job, its relative
    error, and the seconds that each then stands still."""

    rate: float = 0.0
    unsure: float = 0.0
    standing: float = 0.0

    def doubt(self, work: float) -> float:
        """Share of time that this may be off by, with so many seconds of work lost to each."""
        return self.rate * self.unsure * (work + self.standing)


NOTHING = Moved()


def piled_up(scenario: Scenario, found: tuple[Branch, ...]) -> tuple[tuple[Branch, ...], Moved]:
    """The outcomes, with those moved to the next tier that meet too many unseen errors. Raises NotCovered."""
    cold = _cold(scenario, found)
    if cold is None or cold.falls == 0.0:
        return found, NOTHING
    share = cold.falls / (cold.seen + cold.unseen)
    others = _without(scenario, cold.stripe)
    kept, moved = [], []
    for one in found:
        alike = [o for o in others if (o.kind, o.nature, o.action) == (one.kind, one.nature, one.action)]
        total = sum(o.rate for o in alike)
        if one.tier != cold.stripe.name or not _of_stripe(one, cold.stripe) or total == 0.0:
            kept.append(one)
            continue
        kept.append(replace(one, rate=one.rate * (1.0 - share)))
        moved += [replace(o, rate=one.rate * share * o.rate / total) for o in alike]
    standing = max((standing_still(scenario, one, reset=True) for one in moved), default=0.0)
    unsure = cold.unsure + cold.interval / seconds_of_a_run(scenario)
    return (*kept, *moved), Moved(sum(one.rate for one in moved), unsure, standing)


def noticed(scenario: Scenario, found: tuple[Branch, ...]) -> tuple[tuple[Branch, ...], Moved]:
    """The outcomes, less the latent errors that a roll-back writes over before anyone reads them; and these.

    They are failures, but stop nobody. A roll-back writes all memory anew, so the chance is the rate of roll-backs
    times the mean time unseen. First order where reads and roll-backs go on while the job stands still.
    """
    latent = [one for one in found if one.kind.latent and _in_state(scenario, one)]
    if not latent:
        return found, Moved()
    scrub = min((tier.scrub for tier in scenario.tiers if isinstance(tier, PageStripe)), default=inf)
    seen, refills = list(found), 0.0
    for _ in range(ROUNDS):
        refills = _refills(scenario, seen)
        seen = [_less(one, refills, scrub) if one in latent else one for one in found]
    gone = sum(one.rate for one in found) - sum(one.rate for one in seen)
    standing = sum(one.rate * standing_still(scenario, one, reset=True) for one in latent)
    total = sum(one.rate for one in found)
    return tuple(seen), Moved(gone, min(1.0, total * standing / sum(one.rate for one in latent)), standing)


def _refills(scenario: Scenario, found: Sequence[Branch]) -> float:
    """Times per second that all memory is written anew: roll-backs, and restarts of all, planned stops among them."""
    planned = sum(kind.rate for kind in scenario.classes if kind.scope == "planned")
    return planned + sum(one.rate for one in found if one.ending == "roll_back" or one.damage.all_gpu_memory)


def _in_state(scenario: Scenario, one: Branch) -> bool:
    state = {region.name for region in scenario.platform.memory.regions if region.critical}
    return one.nature.kind == "pages" and one.nature.region in state


def _less(one: Branch, refills: float, scrub: float) -> Branch:
    gone = one.kind.latent * refills * _time_unseen(one.kind.read, scrub, refills)
    return replace(one, rate=one.rate * (1.0 - gone))


def said(scenario: Scenario) -> list[str]:
    """For the reader of a study: pile-ups per run at its scrubs, and the scrubs that would make them rare."""
    if _latent(scenario) is None:
        return []
    try:
        for kind in scenario.classes:
            refuse_latent(scenario, kind)
        found = outcomes(scenario)
        cold = _cold(scenario, found)
    except NotCovered as error:
        return [f"Latent errors: how often they pile up is not in the closed form ({error})"]
    if cold is None:
        return []
    stripe, m = cold.stripe, cold.stripe.stripes.m
    scrubs = "without scrubs" if stripe.scrub == inf else f"at a scrub each {text(stripe.scrub, 'time')}"
    often = (
        f"Latent errors: {m + 1} or more lost pages pile up in a stripe of tier {stripe.name} "
        f"{_per_run(scenario, found, stripe.scrub):.2g} times per run {scrubs}"
    )
    return [f"{often}; {_advice(scenario, found)} (first order)"]


def _advice(scenario: Scenario, found: tuple[Branch, ...]) -> str:
    """The longest interval at which pile-ups are rare enough."""
    if _per_run(scenario, found, inf) <= ALLOWED:
        return f"{ALLOWED:g} per run needs no scrub"
    low, high = 1e-6, 1e12
    while high > 1.0001 * low:
        middle = sqrt(low * high)
        low, high = (middle, high) if _per_run(scenario, found, middle) <= ALLOWED else (low, middle)
    return f"{ALLOWED:g} per run takes a scrub each {text(low, 'time')}"


def _per_run(scenario: Scenario, found: Sequence[Branch], scrub: float) -> float:
    """Pile-ups in the job and run at this interval."""
    stripe = _latent(scenario)
    assert stripe is not None
    tiers = tuple(replace(stripe, scrub=scrub) if tier is stripe else tier for tier in scenario.tiers)
    cold = _cold(replace(scenario, tiers=tiers), found, crowded=inf)
    falls = 0.0 if cold is None else cold.falls
    return falls * scenario.platform.grid.gpus * seconds_of_a_run(scenario)


def hides(scenario: Scenario) -> bool:
    """Whether errors can lie unseen in a stripe."""
    return _latent(scenario) is not None


def _latent(scenario: Scenario) -> PageStripe | None:
    """The stripe inside each GPU in which errors can lie unseen."""
    if not any(kind.latent and kind.contained for kind in scenario.classes):
        return None
    return next((tier for tier in scenario.tiers if isinstance(tier, PageStripe)), None)


def _cold(scenario: Scenario, found: Sequence[Branch], crowded: float = CROWDED) -> Cold | None:
    """What strikes the coded pages of one GPU; None where nothing lies unseen in a stripe. Raises NotCovered."""
    stripe = _latent(scenario)
    if stripe is None:
        return None
    refills = _refills(scenario, found)
    rates = [(kind, _hits(scenario, kind, stripe)) for kind in scenario.classes if kind.scope == "memory"]
    unseen = sum(rate * kind.latent for kind, rate in rates)
    if unseen == 0.0:
        return None
    hidden = sum(rate * kind.latent * _time_unseen(kind.read, stripe.scrub, refills) for kind, rate in rates)
    seen = sum(rate * (1.0 - kind.latent) for kind, rate in rates)
    cold = Cold(stripe, seen, unseen, hidden, _spread(stripe, rates))
    if (seen + unseen) * cold.interval > crowded:
        raise NotCovered(
            f"latent errors: {(seen + unseen) * cold.interval:.2g} hits on a GPU while one is unseen; "
            f"first order needs {CROWDED} or less"
        )
    return cold


def _hits(scenario: Scenario, kind: FailureClass, stripe: PageStripe) -> float:
    """Contained hits per second on coded pages of one GPU."""
    landing = scenario.platform.memory.landing(kind.lands)
    share = sum(share for region, share in landing if region in stripe.regions)
    return kind.rate * kind.contained * share / scenario.platform.grid.gpus


@lru_cache(maxsize=4096)
def _time_unseen(read: Duration, scrub: float, refills: float) -> float:
    """Mean seconds until the read, the next scrub (at a random time before it) or a refill (at this rate)."""
    if read.kind == "fixed":
        return _until(min(read.mean, scrub), scrub, refills)
    quantiles = (read.quantile((i + 0.5) / _PARTS) for i in range(_PARTS))
    return sum(_until(min(one, scrub), scrub, refills) for one in quantiles) / _PARTS


def _until(end: float, scrub: float, refills: float) -> float:
    """The integral of (1 - x / scrub) e^(-refills x) up to `end`."""
    x = refills * end
    if x < 1e-4:
        first, second = end * (1.0 - x / 2.0), end * end * (0.5 - x / 3.0)
    else:
        first, second = (1.0 - exp(-x)) / refills, (1.0 - exp(-x) * (1.0 + x)) / refills**2
    return first - second / scrub


def _spread(stripe: PageStripe, rates: Sequence[tuple[FailureClass, float]]) -> float:
    """How many more stripes m + 1 bursts have in common than m + 1 single pages.

    Interleaved, a burst of r adjacent pages takes r adjacent stripes. Such bursts meet where they have one stripe more
    in common than pairs of neighbours: E[r]^(m + 1) - E[r - 1]^(m + 1). Scattered pages all meet apart: E[r]^(m + 1).
    """
    total = sum(rate for _, rate in rates)
    mean = sum(rate * _pages(kind, stripe) for kind, rate in rates) / total
    wide = [kind for kind, _ in rates if _pages(kind, stripe) > 1.0]
    adjacent = stripe.stripes.mapping == "interleaved" and all(k.rows_to_pages == "adjacent_pages" for k in wide)
    if wide and not adjacent and not all(kind.rows_to_pages == "scattered" for kind in wide):
        raise NotCovered(
            f"latent errors: bursts of {wide[0].name} in {wide[0].rows_to_pages} meet in {stripe.stripes.mapping} "
            "stripes as no closed form says"
        )
    power = stripe.stripes.m + 1
    return float(mean**power - ((mean - 1.0) ** power if adjacent else 0.0))


def _pages(kind: FailureClass, stripe: PageStripe) -> float:
    """Mean pages of a hit."""
    if kind.rows_to_pages == "same_page":
        return 1.0
    return sum(min(rows, stripe.stripes.total) * share for rows, share in kind.rows)


def _of_stripe(one: Branch, stripe: PageStripe) -> bool:
    return one.nature.kind == "pages" and one.nature.region in stripe.regions


def _without(scenario: Scenario, stripe: PageStripe) -> list[Branch]:
    """What hits on coded pages come to when this stripe cannot rebuild them."""
    of, tiers = scenario, tuple(tier for tier in scenario.tiers if tier is not stripe)
    kinds = tuple(kind for kind in of.classes if kind.scope == "memory")
    found = branches(Job(of.platform, of.timeline, tiers, kinds, of.restart.mode, of.replace_unit))
    return [one for one in found if _of_stripe(one, stripe)]
