"""Where spares stand that are spread over the racks of the job, and which failures reach them there.

A node keeps its rack for good, so that its number says where it stands: nodes of the job fill racks in order, those
beside it take turns over the same racks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gemsim.failures.classes import FailureClass
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Grid
from gemsim.protection.losses import Keeper, partners
from gemsim.protection.stripe import MemberStripe
from gemsim.protection.tier import Tier
from gemsim.scenario.blind import WIDER, is_placed, seconds_of_a_run
from gemsim.scenario.fleet import FleetPlan
from gemsim.scenario.model import Scenario

MOST_PLACES = 500
SPARES_NOTE = "Spares: "  # how what is said of spares begins
NAMES = {"rack": "rack", "switch": "switch", "power": "power domain"}


def whole_domain(kind: FailureClass) -> str:
    """The kind of domain that every failure of a class strikes whole; "" for none.

    A common cause of nodes or GPUs that are replaced is one: it takes all of a domain, and so what else stands there.
    Smaller batches strike as many as they say, and spares have batches of their own.
    """
    if kind.scope in WIDER:
        return kind.scope
    batch = kind.batch
    if batch is None or batch.within not in WIDER or not kind.fails_idle:
        return ""
    whole = all(size >= batch.domain for size, share in batch.sizes if share > 0.0)
    return batch.within if whole else ""


def takes_spares(kind: FailureClass) -> bool:
    """Whether the spares that stand by in the domain leave with it: what is reset or rebooted is back as soon as the
    job's own nodes are."""
    return bool(whole_domain(kind)) and kind.action_of(contained=False) == "replace"


def effective(plan: FleetPlan, classes: Sequence[FailureClass]) -> FleetPlan:
    """The plan; where no failure strikes a whole domain it does not matter where spares stand, and they are apart."""
    if plan.spares.placed == "apart" or any(map(whole_domain, classes)):
        return plan
    return replace(plan, spares=replace(plan.spares, placed="apart"))


def turns(grid: Grid) -> tuple[int, ...]:
    """Racks of the job in the order in which spares take them, one each, and then anew: two that follow each other are
    as far apart as can be, in different power domains and behind different switches."""
    inner, outer = sorted(-(-grid.size(unit) // grid.per_rack) for unit in ("switch", "power"))
    return tuple(sorted(range(grid.count("rack")), key=lambda r: (r % outer % inner, r % outer // inner, r // outer)))


def racks_in(grid: Grid, unit: str, number: int) -> range:
    """Racks of the job in one domain."""
    block = grid.members(unit, number)
    return range(block.start // grid.per_rack, -(-block.stop // grid.per_rack))


def in_each(grid: Grid, unit: str, spares: int) -> list[int]:
    """How many of so many spares stand in each domain of a kind."""
    order = turns(grid)
    held = Counter(order[spare % len(order)] for spare in range(spares))
    return [sum(held[rack] for rack in racks_in(grid, unit, number)) for number in range(grid.count(unit))]


def taken_rate(kind: FailureClass, grid: Grid, spares: int) -> float:
    """Spares per second that a class takes with domains of the job while so many stand by, powered."""
    if not takes_spares(kind):
        return 0.0
    if kind.scope not in WIDER:
        return kind.rate / kind.units * spares  # each device has a failure of its own in what takes its domain
    unit = kind.scope
    held = in_each(grid, unit, spares)
    return kind.rate * sum(len(grid.members(unit, n)) * count for n, count in enumerate(held)) / grid.gpus


def spares_said(scenario: Scenario) -> list[str]:
    """What the place of the spares costs, or saves, in one line; nothing where no failure could take one."""
    plan, grid = scenario.fleet.spares, scenario.platform.grid
    powered = plan.hot + plan.warm
    kinds = [kind for kind in scenario.classes if takes_spares(kind)]
    if plan.placed == "spread" and not (kinds and powered):
        return _all_stay(scenario)
    if not kinds or not powered or plan.unit > 1 or scenario.replace_unit == "rack":
        return []
    domains = [unit for unit in WIDER if unit in map(whole_domain, kinds)]
    most = [f"a failed {NAMES[unit]} {{}} up to {max(in_each(grid, unit, powered))}" for unit in domains]
    per_run = sum(taken_rate(kind, grid, powered) for kind in kinds) * seconds_of_a_run(scenario)
    rate = f"of the {powered} that stand by with it, about {per_run:.3g} spares per run as long as all do"
    if plan.placed == "spread":
        text = " and ".join(most).format(*["takes"] * len(most))
        return [f"{SPARES_NOTE}spread over the racks of the job, where {text} {rate}.{_met(scenario)} Write "
                "fleet.spares.placed: apart if they stand in racks of their own: then none of this"]  # fmt: skip
    text = " and ".join(most).format(*["would take"] * len(most))
    names = " or ".join(NAMES[unit] for unit in domains)
    return [f"{SPARES_NOTE}in racks of their own, which no failed {names} of the job reaches (assumption). Spread over "
            f"those of the job (fleet.spares.placed: spread), {text} {rate}"]  # fmt: skip


def _all_stay(scenario: Scenario) -> list[str]:
    """Spares among the racks of the job that none of its failures takes."""
    plan = scenario.fleet.spares
    beside, units = plan.nodes + plan.borrow, [unit for unit in WIDER if unit in map(whole_domain, scenario.classes)]
    if not beside or not units:
        return []
    where = " or ".join(name for name, nodes in (("off", plan.cold), ("in other jobs", plan.borrow)) if nodes)
    why = f"they are {where}" if any(map(takes_spares, scenario.classes)) else "no node is replaced after it"
    names = " or ".join(NAMES[unit] for unit in units)
    text = f"spread over the racks of the job, where a failed {names} takes none of the {beside} that stand there"
    return [f"{SPARES_NOTE}{text}: {why}.{_met(scenario)}"]


def _met(scenario: Scenario) -> str:
    """How often a replacement puts two members or copies, laid out apart, into one domain that can fail."""
    units = [unit for unit in WIDER if unit in map(whole_domain, scenario.classes)]
    share, name, unit = max(
        ((shares_domain(scenario, tier, unit), tier.name, unit) for tier in scenario.tiers for unit in units),
        default=(0.0, "", ""),
    )
    if share == 0.0:
        return ""
    said = f"{100.0 * share:.2g} % of replacements put two members or copies of {name} into one {NAMES[unit]}"
    return f" {said} while all do."


def shares_domain(scenario: Scenario, tier: Tier, unit: str) -> float:
    """Share of places whose replacement comes to stand in a domain with another holder of its stripe, set or shard; 0
    where these are not laid out apart by that kind. Of the kind that is taken first any spare is as likely to be next,
    but that those of a place's own rack come before; over places at even distances where there are many."""
    grid, plan = scenario.platform.grid, scenario.fleet.spares
    keeper: Keeper
    if isinstance(tier, MemberStripe):
        keeper = tier.stripes
    elif isinstance(tier, Checkpoint) and is_placed(tier):
        keeper = tier.where(grid.count("node"))
    else:
        return 0.0
    spares = plan.hot or plan.warm or plan.cold or plan.borrow
    if not spares:
        return 0.0
    per_rack, size = grid.per_rack // grid.per_node, grid.size(unit) // grid.per_node
    one_by_one = spares == plan.borrow and not plan.nodes  # borrowed nodes come in turn, whichever place they are for
    near = in_each(grid, "rack", 0 if one_by_one else spares)
    held = in_each(grid, unit, spares)
    places = range(0, grid.count("node"), -(-grid.count("node") // MOST_PLACES))
    met = 0
    for place in places:
        with_it = {other // size for other in partners(keeper, grid, place) if other != place}
        if place // size in with_it:
            return 0.0
        met += 0 if near[place // per_rack] else sum(held[domain] for domain in with_it)
    return met / spares / len(places)
