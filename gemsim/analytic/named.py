"""The models that people know by name, over plain numbers: what each gives, where it holds, and what it leaves out.

One idea: a dict of small functions with one vocabulary of facts (`FACTS`, SI), so that any model can be asked with
numbers of one's own (`NAMED["young"].of(save=40.0, rate=1 / 604_800)`) or with those of a scenario (`analytic.facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gemsim.analytic import first_order, markov, renewal, survival
from gemsim.errors import NotCovered

FACTS = {
    "save": "seconds that one save blocks the job",
    "interval": "running seconds between two saves, the save not included",
    "rate": "failures per second that roll back to these saves",
    "restart": "mean seconds from such a failure until the job runs again, waiting for hardware not included",
    "queue": "mean seconds of waiting for hardware",
    "recovery": "restart and queue together, detection in it",
    "mtbf": "mean seconds between failures that roll back",
    "written": "seconds from the beginning of a save until it can be used",
    "retrieval": "mean seconds to read the save back",
    "base": "effective time without failures, as a share",
    "charges": "(failures per second, seconds charged to each) of all classes",
    "milder": "(failures per second, seconds standing still) of failures that roll back nothing",
    "silent_rate": "silent corruptions per second",
    "latency": "mean seconds until one is found",
    "k": "data members of a stripe",
    "m": "parity members of a stripe",
    "member_rate": "failures per second of one member",
    "rebuild_rate": "1 / mean seconds until a lost member is rebuilt",
    "loss": "probability that one member is lost, each independently",
    "members": "members among which losses fall",
    "lost": "members or machines lost at once",
    "pages": "coded pages of a GPU",
    "page_k": "data pages of a stripe inside a GPU",
    "page_m": "parity pages of it",
    "rows": "adjacent pages of a burst",
    "mapping": "interleaved or contiguous",
    "machines": "machines that hold copies",
    "copies": "copies of each shard",
    "leaving": "nodes per second that leave for repair",
    "repair": "mean seconds of a repair",
    "needed": "nodes that must be up",
    "down_share": "share of the time that a node is down",
    "confidence": "probability that the spares are enough",
    "crews": "repair crews",
    "spares": "spare nodes",
}


class Named(NamedTuple):
    """A model by its usual name. `of` takes the facts `needs` by keyword; `unit`: s, share, count or nodes."""

    title: str
    gives: str
    unit: str
    kind: str  # exact | first_order | bound: of its own assumptions
    source: str
    valid: str
    leaves_out: str
    needs: tuple[str, ...]
    of: Callable[..., float]


def answers(facts: Mapping[str, Any]) -> dict[str, float | str]:
    """Every model whose needs are among `facts`: its number, or the reason why it has none there."""
    found: dict[str, float | str] = {}
    for name, model in NAMED.items():
        if all(need in facts for need in model.needs):
            try:
                found[name] = model.of(**{need: facts[need] for need in model.needs})
            except NotCovered as error:
                found[name] = error.reason
            except ValueError as error:
                found[name] = str(error)
    return found


def roll_back_ettr(*, interval: float, save: float, rate: float, recovery: float) -> float:
    """Daly's complete exponential model: every failure rolls back, and can strike the recovery. A share."""
    return renewal.roll_back_ettr(interval, save, rate=rate, restart=recovery)


def in_place_ettr(*, interval: float, save: float, rate: float, recovery: float, milder: renewal.Classes) -> float:
    """The same beside failures that are repaired in place, and start their stall again when hit. A share."""
    segment = renewal.in_place_segment(interval, save, in_place=milder, roll_back=rate, restart=recovery)
    return interval / segment


NAMED: dict[str, Named] = {
    "young": Named(
        "Young", "time between saves", "s", "first_order", "Young (1974): sqrt(2 d M)",
        "saves much shorter than the MTBF: 1.5 % too long at d/M = 0.001, 34 % at 1/3",
        "failures during saves and recoveries; a second failure before the first interval is over",
        ("save", "rate"), lambda save, rate: first_order.young_interval(save, rate),
    ),
    "daly": Named(
        "Daly", "time between saves", "s", "first_order", "Daly (2006), eq. 37", "saves < a third of the MTBF (0.3 %)",
        "repairs in place, writes in the background, more than one tier",
        ("save", "rate"), lambda save, rate: first_order.daly_interval(save, rate),
    ),
    "optimum": Named(
        "exact optimum", "time between saves", "s", "exact", "(1 + W0(-e^(-1 - d/M))) M: Herault and Robert (2015)",
        "exponential failures", "what the saves cost besides their blocked time",
        ("save", "rate"), lambda save, rate: renewal.optimal_interval(save, rate),
    ),
    "availability": Named(
        "availability-optimal", "time between saves, save included", "s", "first_order",
        "T_s + sqrt(2 (T_f + T_r) T_s + T_s^2), T_r with detection", "one failure in an interval at most",
        "failures during a recovery; half a cycle is redone after each failure, whatever its law",
        ("save", "mtbf", "recovery"),
        lambda save, mtbf, recovery: first_order.availability_interval(save, time_to_failure=mtbf, recovery=recovery),
    ),
    "roll_back": Named(
        "Daly, complete", "ETTR", "share", "exact", "Daly (2006); Herault and Robert (2015)", "exponential failures",
        "failures that are repaired in place; that a save is durable later than its block", (
            "interval", "save", "rate", "recovery"
        ), roll_back_ettr,
    ),
    "in_place": Named(
        "in place and roll-back", "ETTR", "share", "exact", "renewal form with competing risks",
        "exponential failures; a hit starts the stall anew", "restarts that keep the state; the longer of two stalls",
        ("interval", "save", "rate", "recovery", "milder"), in_place_ettr,
    ),
    "repairs_end": Named(
        "repairs that end", "L: P(no roll-back strikes a repair)", "share", "exact",
        "phi / (1 - a (1 - phi) / (a + b)), phi = e^(-(a + b) stall)", "a hit starts the stall anew",
        "that the longer of two stalls counts", ("rate", "milder"),
        lambda rate, milder: renewal.mean_stall_success(milder, roll_back=rate),
    ),
    "meta": Named(
        "Meta's ETTR estimator", "ETTR", "share", "first_order",
        "Kokolis et al. (HPCA 2025): 1 - rate (interval/2 + u0 + q) - d/interval", "waste well below one half",
        "that a failure cannot lose work which was not yet done again; repairs in place",
        ("interval", "save", "rate", "restart", "queue"),
        lambda interval, save, rate, restart, queue: first_order.meta_ettr(
            interval, save, rate=rate, restart=restart, queue=queue
        ),
    ),
    "published_linear": Named(
        "published linear", "ETTR", "share", "first_order", "GEMINI (SOSP 2023) Fig. 15; FT-HSDP (2026)",
        "waste well below one half", "that failures strike recoveries, and work lost once cannot be lost again",
        ("base", "charges"), lambda base, charges: first_order.published_linear(base, charges),
    ),
    "gemini_wasted": Named(
        "GEMINI's wasted time", "seconds per failure", "s", "first_order",
        "Wang et al. (SOSP 2023), Eq. 1: t_ckpt + 1/(2 f) + t_rtvl", "one failure in an interval at most",
        "detection, restart and replacement, by definition",
        ("written", "interval", "save", "retrieval"),
        lambda written, interval, save, retrieval: first_order.gemini_wasted(written, interval + save, retrieval),
    ),
    "silent": Named(
        "silent corruption", "share of time lost", "share", "first_order", "rate (latency + interval/2 + restart)",
        "rate x latency below 0.05", "checks that find it earlier",
        ("silent_rate", "latency", "interval", "recovery"),
        lambda silent_rate, latency, interval, recovery: first_order.silent_waste(
            silent_rate, latency=latency, tau=interval, restart=recovery
        ),
    ),
    "mttdl": Named(
        "MTTDL", "mean time to data loss of one stripe", "s", "exact", "Patterson, Gibson and Katz (1988); birth-death",
        "exponential failures and rebuilds", "losses at one instant; the vulnerable window of the state",
        ("k", "m", "member_rate", "rebuild_rate"),
        lambda k, m, member_rate, rebuild_rate: markov.mean_time_to_data_loss(
            k, m, failure_rate=member_rate, repair_rate=rebuild_rate
        ),
    ),
    "stripe_loss": Named(
        "stripe loss", "P(more than m of k + m lost)", "share", "exact", "binomial tail, any MDS code",
        "independent losses in one period", "the length of that period, and repair in it",
        ("k", "m", "loss"), lambda k, m, loss: survival.stripe_loss(k, m, loss),
    ),
    "lost_at_once": Named(
        "losses at once", "P(one stripe loses more than m)", "share", "exact", "hypergeometric tail",
        "any of the members is as likely", "domains", ("k", "m", "members", "lost"),
        lambda k, m, members, lost: survival.hypergeometric_tail(members, k + m, lost, m),
    ),
    "burst": Named(
        "burst in a GPU", "P(decodable)", "share", "exact", "enumeration of starts (GEM, mapping)",
        "its first page anywhere", "rows that are further apart than a page",
        ("pages", "page_k", "page_m", "rows", "mapping"),
        lambda pages, page_k, page_m, rows, mapping: survival.burst_outcome(
            pages, page_k, page_m, rows, mapping=mapping
        ).survive,
    ),
    "worst_burst": Named(
        "burst surely survived", "adjacent pages", "count", "exact", "m S interleaved, m contiguous", "adjacent pages",
        "chance", ("pages", "page_k", "page_m", "mapping"),
        lambda pages, page_k, page_m, mapping: survival.worst_burst(pages, page_k, page_m, mapping=mapping),
    ),
    "replicas": Named(
        "replicas", "P(every shard keeps a copy)", "share", "exact", "GEMINI's mixed placement, counted",
        "machines lost at one instant, any as likely", "racks", ("machines", "copies", "lost"),
        lambda machines, copies, lost: survival.replica_survival(machines, copies, lost).survive,
    ),
    "corollary_1": Named(
        "GEMINI, Corollary 1", "P(every shard keeps a copy)", "share", "bound", "Wang et al. (SOSP 2023)",
        "copies divide machines; exact for lost < 2 copies", "racks", ("machines", "copies", "lost"),
        lambda machines, copies, lost: survival.replica_bound(machines, copies, lost),
    ),
    "theorem_1": Named(
        "GEMINI, Theorem 1", "best of any placement", "share", "bound", "Wang et al. (SOSP 2023)",
        "as many machines lost as there are copies", "racks", ("machines", "copies"),
        lambda machines, copies: survival.replica_upper_bound(machines, copies),
    ),
    "spares_in_repair": Named(
        "spares, M/G/inf", "spare nodes", "nodes", "exact", "Palm (1943): broken nodes are Poisson",
        "independent failures, repairs that do not wait for each other", "joint failures", (
            "leaving", "repair", "confidence"
        ),
        lambda leaving, repair, confidence: markov.spares_for_repairs(leaving, repair, confidence=confidence),
    ),
    "spares_down": Named(
        "spares, binomial", "spare nodes", "nodes", "exact", "binomial tail over needed + spare nodes",
        "nodes down independently", "joint failures", ("needed", "down_share", "confidence"),
        lambda needed, down_share, confidence: markov.spares_for_units(needed, down_share, confidence=confidence),
    ),
    "crews": Named(
        "repair shop, M/M/c", "P(more in repair than spares)", "share", "exact", "Erlang (1917)", "exponential repairs",
        "nodes that come back broken", ("leaving", "repair", "crews", "spares"),
        lambda leaving, repair, crews, spares: markov.queue_tail(leaving, 1.0 / repair, crews=crews, more_than=spares),
    ),
}  # fmt: skip
