"""What a run costs in GPU-hours, money, energy and CO2, by the categories of the ledgers.

The job's ledger says what each second went to, the fleet's how many GPUs were reserved meanwhile. A price is a factor
on that, so nothing here is simulated, and what has no price is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from gemsim.results import estimate
from gemsim.results.estimate import Floats, Interval
from gemsim.results.ledger import LEDGER

HOUR = 3600.0
SPARES = ("spares_hot", "spares_warm", "spares_cold")
CATEGORIES = (*LEDGER, *SPARES, "repair")
USEFUL = "productive"
BUSY = ("productive", "overhead", "wasted")  # the GPUs of the job work; in all else of its ledger they wait
VACANT_IN = (
    "waiting",
    "degraded",
    "detection",
    "restart",
)  # what the job does while places stand empty, likeliest first
PER_RUN = (
    *("lost_gpu_h_per_run", "cost_per_run", "lost_cost_per_run"),
    *("energy_kwh_per_run", "lost_kwh_per_run", "co2_kg_per_run"),
)
COLUMNS = (
    *(f"{name}{end}" for name in PER_RUN for end in ("", "_lo", "_hi")),
    *("lost_gpu_h_per_failure", "lost_cost_per_failure", "lost_kwh_per_failure"),
    *("cost_per_useful_gpu_hour", "cost_per_useful_gpu_hour_lo", "cost_per_useful_gpu_hour_hi"),
    *("cost_per_useful_gpu_hour_analytic", "cost_diff", "cost_diff_lo", "cost_diff_hi"),
)
MEASURES = ("gpu_h", "cost", "energy_kwh", "co2_kg")

Run = Mapping[str, Floats]
ByCategory = dict[str, Floats]


@dataclass(frozen=True, slots=True)
class Watts:
    """Watts of one GPU by what it does, its share of the node around it and of the building included."""

    busy: float
    waiting: float
    idle: float  # hot and warm spares
    off: float  # cold spares
    repair: float
    assumed: tuple[str, ...] = ()  # which of these nobody gave and no source has

    def of(self, category: str) -> float:
        """Watts in a category of `CATEGORIES`."""
        named = {"spares_hot": self.idle, "spares_warm": self.idle, "spares_cold": self.off, "repair": self.repair}
        return named.get(category, self.busy if category in BUSY else self.waiting)


@dataclass(frozen=True, slots=True)
class Bill:
    """Prices of one design: of a GPU-hour and a kWh in `currency`, kg of CO2 of a kWh. None: not given."""

    gpus: int  # of the job
    spare_gpus: int
    currency: str = ""
    gpu_hour: float | None = None
    spare_gpu_hour: float | None = None
    repair_gpu_hour: float | None = None
    watts: Watts | None = None
    kwh: float | None = None
    carbon: float | None = None

    @property
    def given(self) -> bool:
        """Whether there is anything to say beside GPU-hours."""
        return self.priced or self.watts is not None

    @property
    def priced(self) -> bool:
        """Whether there is money in it."""
        return self.gpu_hour is not None or self.kwh is not None

    def price(self, category: str) -> float:
        """Of a GPU-hour of a category; 0 where only energy is paid."""
        price = {"repair": self.repair_gpu_hour}.get(category, self.spare_gpu_hour if category in SPARES else None)
        return (self.gpu_hour if price is None else price) or 0.0


class Billed(Protocol):
    """A point of the summary, with its bill."""

    @property
    def index(self) -> int:
        """Of its row."""

    @property
    def id(self) -> str:
        """Of its design."""

    @property
    def variant(self) -> str:
        """Its name in compare."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """What it varies."""

    @property
    def bill(self) -> Bill | None:
        """Its prices."""


def useful_gpu_hour(
    price: ArrayLike, *, gpus: ArrayLike, spare_gpus: ArrayLike, ettr: ArrayLike, spare_price: ArrayLike | None = None
) -> Floats:
    """Cost of a useful GPU-hour in closed form: all that is reserved, over the productive part; works on arrays.

    price · (gpus + spares) / (gpus · ETTR), spares at `spare_price` if that is another. inf where the ETTR is 0.
    """
    spares = np.asarray(price if spare_price is None else spare_price, dtype=np.float64)
    paid = np.asarray(price, dtype=np.float64) * np.asarray(gpus, dtype=np.float64) + spares * np.asarray(spare_gpus)
    with np.errstate(divide="ignore"):
        found: Floats = paid / (np.asarray(gpus, dtype=np.float64) * np.asarray(ettr, dtype=np.float64))
    return found


def gpu_hours(run: Run, gpus: int) -> ByCategory:
    """GPU-hours of each replication by category; their sum is what was reserved.

    A second of the job counts for each of its `gpus`, less those of places that nobody stands in: these are taken off
    what the job does meanwhile, its waiting first. The node that has left is in repair and counted there. Nodes beyond
    the job's places, which start while others still stand there, wait.
    """
    found = {name: run[f"{name}_s"] * gpus / HOUR for name in LEDGER}
    empty = (gpus * run["wall_s"] - run["gpu_s_job"]) / HOUR
    found["waiting"] = found["waiting"] + np.maximum(-empty, 0.0)  # others start for places that are not left yet
    vacant = np.maximum(empty, 0.0)
    for name in (*VACANT_IN, *(one for one in LEDGER if one not in VACANT_IN)):
        taken = np.minimum(vacant, np.maximum(found[name], 0.0))
        found[name] = found[name] - taken
        vacant = vacant - taken
    found |= {name: run[f"gpu_s_{name.removeprefix('spares_')}"] / HOUR for name in SPARES}
    return found | {"repair": run["gpu_s_repair"] / HOUR}


def kilowatt_hours(hours: ByCategory, watts: Watts) -> ByCategory:
    """kWh by category."""
    return {name: spent * watts.of(name) / 1000.0 for name, spent in hours.items()}


def money(hours: ByCategory, bill: Bill) -> ByCategory:
    """Amounts by category: GPU-hours at their price, and the energy on top where that is paid for."""
    found = {name: spent * bill.price(name) for name, spent in hours.items()}
    if bill.kwh is not None and bill.watts is not None:
        energy = kilowatt_hours(hours, bill.watts)
        found = {name: spent + energy[name] * bill.kwh for name, spent in found.items()}
    return found


def measures(run: Run, bill: Bill) -> dict[str, ByCategory]:
    """GPU-hours, money, kWh and kg of CO2 by category, as far as they are known."""
    found = {"gpu_h": gpu_hours(run, bill.gpus)}
    if bill.priced:
        found["cost"] = money(found["gpu_h"], bill)
    if bill.watts is not None:
        found["energy_kwh"] = kilowatt_hours(found["gpu_h"], bill.watts)
        if bill.carbon is not None:
            found["co2_kg"] = {name: spent * bill.carbon for name, spent in found["energy_kwh"].items()}
    return found


def total(spent: ByCategory) -> Floats:
    """All categories together, by replication."""
    found: Floats = np.sum([*spent.values()], axis=0)
    return found


def lost(spent: ByCategory) -> Floats:
    """All but what was productive, by replication: spares and protection included."""
    found: Floats = np.sum([one for name, one in spent.items() if name != USEFUL], axis=0)
    return found


def summary(run: Run, bill: Bill, *, ettr_analytic: float | None) -> dict[str, Any]:
    """The columns of one design that are known; intervals are Student's, of the ratio the jackknife's."""
    found = measures(run, bill)
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= _lost("lost_gpu_h", found["gpu_h"], run)
    if "cost" in found:
        row |= _bounds("cost_per_run", estimate.mean_interval(total(found["cost"])))
        row |= _lost("lost_cost", found["cost"], run)
        useful = found["gpu_h"][USEFUL]
        row |= _bounds("cost_per_useful_gpu_hour", estimate.ratio_interval(total(found["cost"]), useful))
        row["cost_per_useful_gpu_hour_analytic"] = closed_form(bill, ettr_analytic)
    if "energy_kwh" in found:
        row |= _bounds("energy_kwh_per_run", estimate.mean_interval(total(found["energy_kwh"])))
        row |= _lost("lost_kwh", found["energy_kwh"], run)
    if "co2_kg" in found:
        row |= _bounds("co2_kg_per_run", estimate.mean_interval(total(found["co2_kg"])))
    return row


def closed_form(bill: Bill, ettr: float | None) -> float | None:
    """`useful_gpu_hour` of a bill; None where the ETTR has no form, or where what is paid hangs on more than that."""
    price, spare = bill.gpu_hour, bill.spare_gpu_hour
    spare = price if spare is None else spare
    apart = bill.repair_gpu_hour not in (None, spare)  # a node is in repair in a spare's stead
    if ettr is None or price is None or spare is None or bill.kwh is not None or apart:
        return None
    return float(useful_gpu_hour(price, gpus=bill.gpus, spare_gpus=bill.spare_gpus, ettr=ettr, spare_price=spare))


def apart(one: tuple[Run, Bill], reference: tuple[Run, Bill]) -> dict[str, float | None]:
    """What a useful GPU-hour costs more than in the reference, paired by replication; nothing without prices."""
    if not (one[1].priced and reference[1].priced):
        return {}
    here, there = [(total(found["cost"]), found["gpu_h"][USEFUL]) for found in (measures(*one), measures(*reference))]
    return _bounds("cost_diff", estimate.paired_ratio_interval(here, there))


def by_category(run: Run, bill: Bill) -> Iterator[dict[str, Any]]:
    """A row for each category: means per run, and sums over failures; what is not known is None."""
    found = measures(run, bill)
    failures = float(run["failures"].sum())
    for category in CATEGORIES:
        row: dict[str, Any] = {"category": category}
        for measure in MEASURES:
            spent = found[measure][category] if measure in found else None
            row[f"{measure}_per_run"] = None if spent is None else float(spent.mean())
            row[f"{measure}_per_failure"] = None if spent is None or not failures else float(spent.sum()) / failures
        yield row | {"currency": bill.currency or None}


def table(points: Sequence[Billed], runs: Mapping[str, Run]) -> list[dict[str, Any]]:
    """The costs of all designs that were simulated, by category."""
    found = []
    for point in points:
        run = runs.get(point.id)
        if point.bill is not None and run is not None and len(run["wall_s"]):
            name = {**point.columns, "variant": point.variant}
            found += [{**name, **one, "point": point.id} for one in by_category(run, point.bill)]
    return found


def mark(
    members: Sequence[Billed], rows: Sequence[dict[str, Any]], runs: Mapping[str, Run], reference: int | None
) -> None:
    """Write into the rows of a group what a useful GPU-hour costs more than at its reference (an index)."""
    best = next((point for point in members if point.index == reference), None)
    if best is None or best.bill is None:
        return
    for point in members:
        if rows[point.index]["ettr"] is not None and point.bill is not None:
            rows[point.index] |= apart((runs[point.id], point.bill), (runs[best.id], best.bill))


def _lost(name: str, spent: ByCategory, run: Run) -> dict[str, float | None]:
    """What was lost, per run with its interval and per failure."""
    gone = lost(spent)
    per_failure = estimate.ratio_interval(gone, run["failures"]).value
    return {**_bounds(f"{name}_per_run", estimate.mean_interval(gone)), f"{name}_per_failure": per_failure}


def _bounds(name: str, interval: Interval) -> dict[str, float | None]:
    return {name: interval.value, f"{name}_lo": interval.lo, f"{name}_hi": interval.hi}
