"""What a study's prices come to: the bill of each point, and what the page says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gemsim.results.costs import USEFUL, Bill, Watts
from gemsim.results.summary import Row
from gemsim.scenario import Scenario
from gemsim.spec import catalog
from gemsim.spec.prices import PowerSpec
from gemsim.spec.study import StudySpec
from gemsim.study.advice import Group
from gemsim.study.shares import percent

WAITING, IDLE = 0.3, 0.1  # shares of the board power, assumptions of spec/prices
JOULES = 3.6e6  # of a kWh
SHOWN = 4  # groups; the others are in summary.csv


def bill_of(spec: StudySpec, scenario: Scenario) -> Bill:
    """The prices of one design, with its GPUs; those of a job without prices have its GPUs alone."""
    grid, prices = scenario.platform.grid, spec.prices
    spares = scenario.spare_nodes * min(grid.per_node, grid.gpus)
    if prices is None:
        return Bill(grid.gpus, spares)
    hour = None if prices.gpu_hour is None else prices.gpu_hour.amount
    spare = hour if prices.spare_gpu_hour is None else prices.spare_gpu_hour.amount
    return Bill(
        grid.gpus, spares, prices.currency,
        gpu_hour=hour,
        spare_gpu_hour=spare,
        repair_gpu_hour=spare if prices.repair_gpu_hour is None else prices.repair_gpu_hour.amount,
        watts=None if prices.power is None else _watts(prices.power, spec, prices.pue),
        kwh=None if prices.energy is None else prices.energy.amount,
        carbon=None if prices.carbon is None else prices.carbon * JOULES,
    )  # fmt: skip


def _watts(power: PowerSpec, spec: StudySpec, pue: float) -> Watts:
    """Watts of one GPU with its share of the host, times the building's overhead."""
    board = catalog.gpu(spec.cluster.gpu).tdp
    host = power.host / spec.cluster.gpus_per_node
    idle = IDLE * board if power.idle is None else power.idle
    return Watts(
        busy=pue * ((board if power.busy is None else power.busy) + host),
        waiting=pue * ((WAITING * board if power.waiting is None else power.waiting) + host),
        idle=pue * (idle + host),
        off=pue * power.off,
        repair=pue * ((idle if power.repair is None else power.repair) + host),
        assumed=tuple(name for name in ("waiting", "idle", "repair") if getattr(power, name) is None),
    )


def bills(groups: Sequence[Group], titles: Sequence[str], costs: Sequence[Row]) -> Iterator[str]:
    """What the best design of each group costs, what of that is lost and to what, and what its runner-up costs more."""
    priced = [one for one in zip(groups, titles, strict=True) if _taken(one[0]) is not None and _bill(one[0]).given]
    if not priced:
        return
    yield ""
    yield "Money and energy"
    for group, title in priced[:SHOWN]:
        if len(groups) > 1:
            yield f"  {title}"
        yield from (f"  {line}" for line in _lines(group, costs))
    if len(priced) > SHOWN:
        yield f"  {len(priced) - SHOWN} other groups: summary.csv and costs.csv."
    yield from (f"  {line}" for line in _unknown(_bill(priced[0][0])))


def _taken(group: Group) -> Row | None:
    """The best design of a group, or its reference where none is best."""
    return group.best or group.reference


def _bill(group: Group) -> Bill:
    row = _taken(group)
    found = next((point.bill for point in group.points if row is not None and group.rows[point.index] is row), None)
    return found or Bill(0, 0)


def hourly(group: Group) -> tuple[str, str] | None:
    """What a useful GPU-hour of its best design costs, and how surely; None without prices."""
    row, bill = _taken(group), _bill(group)
    if row is None or not bill.priced:
        return None
    low, high = row["cost_per_useful_gpu_hour_lo"], row["cost_per_useful_gpu_hour_hi"]
    form = row["cost_per_useful_gpu_hour_analytic"]
    beside = "" if form is None else f"; closed form {form:.4g}"
    spread = "" if low is None or math.isnan(low) else f"95 %: {low:.4g} to {high:.4g}{beside}"
    return f"{row['cost_per_useful_gpu_hour']:.4g} {bill.currency}", spread


def _lines(group: Group, costs: Sequence[Row]) -> Iterator[str]:
    row, bill = _taken(group), _bill(group)
    assert row is not None
    own = [one for one in costs if all(one[key] == row[key] for key in ("point", "variant", *group.names))]
    unit = bill.currency
    yield f"{group.name(row)}:"
    hour = hourly(group)
    if hour is not None:
        price, spread = hour
        yield f"  {price} per useful GPU-hour{f' ({spread})' if spread else ''}."
        yield (
            f"  A run costs {_amount(row['cost_per_run'])} {unit}; {_amount(row['lost_cost_per_run'])} {unit} of it "
            f"({percent(row['lost_cost_per_run'] / row['cost_per_run'], 1)}) is lost{_parts(own, 'cost_per_run')}."
        )
        yield from _beside(group, row, unit)
    yield (
        f"  {_amount(row['lost_gpu_h_per_run'])} GPU-hours are lost per run"
        + ("" if math.isnan(row["lost_gpu_h_per_failure"]) else f", {row['lost_gpu_h_per_failure']:.4g} per failure")
        + "."
    )
    if bill.watts is not None:
        carbon = "" if row["co2_kg_per_run"] is None else f", {_amount(row['co2_kg_per_run'])} kg of CO2"
        gone = f"{_amount(row['lost_kwh_per_run'])} kWh of it is lost{_parts(own, 'energy_kwh_per_run')}"
        yield f"  A run takes {_amount(row['energy_kwh_per_run'])} kWh{carbon}; {gone}."


def _parts(costs: Sequence[Row], column: str) -> str:
    """What is lost by category, the largest first, as shares of it; those under 1 % together."""
    lost = {row["category"]: row[column] for row in costs if row["category"] != USEFUL and row[column]}
    whole = sum(lost.values())
    if whole <= 0.0:
        return ""
    large = {name: spent for name, spent in sorted(lost.items(), key=lambda one: -one[1]) if spent >= 0.01 * whole}
    named = [f"{name.replace('_', ' ')} {percent(spent / whole, 0)}" for name, spent in large.items()]
    return f": {', '.join(named)}"


def _beside(group: Group, row: Row, unit: str) -> Iterator[str]:
    """The paired difference to the reference, or of the best of all others where this is the reference."""
    reference = group.reference
    if reference is not None and reference["point"] != row["point"]:
        value, low, high, other = row["cost_diff"], row["cost_diff_lo"], row["cost_diff_hi"], reference
    else:
        others = [one for one in group.allowed if one["point"] != row["point"] and one["cost_diff"] is not None]
        if not others:
            return
        other = min(others, key=lambda one: float(one["cost_per_useful_gpu_hour"]))
        value, low, high = -other["cost_diff"], -other["cost_diff_hi"], -other["cost_diff_lo"]
    known = low is not None and not math.isnan(low)
    spread = f" (95 % of the difference: {low:+.4g} to {high:+.4g})" if known else ""
    which = "dearer" if value > 0.0 else "cheaper"
    sure = ", which may be chance" if known and low <= 0.0 <= high else ""
    less = f"{abs(value):.4g} {unit} per useful GPU-hour {which}" if value else "the same cost"
    yield f"  Against {group.name(other)}, on the same failures: {less}{sure}{spread}."


def _unknown(bill: Bill) -> Iterator[str]:
    """What was not asked for, and so is not computed."""
    if bill.watts is not None:
        yield _powers(bill.watts)
    missing = [
        *(["money (prices.gpu_hour)"] if not bill.priced else []),
        *(["energy (prices.power)"] if bill.watts is None else []),
        *(["CO2 (prices.carbon)"] if bill.carbon is None else []),
    ]
    if missing:
        yield f"Not given and so not computed: {', '.join(missing)}."
    yield "All categories of all designs: costs.csv."


def _powers(watts: Watts) -> str:
    """The powers that the energy rests on, and which of them are assumptions."""
    names = ("busy", "waiting", "idle", "off", "repair")
    told = ", ".join(f"{name} {getattr(watts, name):.4g}" for name in names)
    doubt = f"; {', '.join(watts.assumed)}: assumed shares of the board power" if watts.assumed else ""
    return f"Watts of a GPU with its host and building: {told}{doubt} (gemsim check says where each is from)."


def _amount(number: float) -> str:
    """A large number to read: four digits, in thousands where it has more."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
