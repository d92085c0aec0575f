"""The answer to "what should I run?", as a value; and the same for a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import gemsim
from gemsim.engine.rare import RareLosses
from gemsim.results.estimate import Interval
from gemsim.scenario.model import MODEL_VERSION
from gemsim.spec.study import Requirement
from gemsim.study.recommend.breakeven import BreakEven, Change
from gemsim.study.recommend.confirm import Confirmed, Verdict
from gemsim.study.recommend.constraints import Miss, Shadow
from gemsim.study.recommend.front import screened_by
from gemsim.study.recommend.hangs import Hangs
from gemsim.study.recommend.measure import Measure
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import Screened

FORMAT = 1  # of recommend.json
ENDS = {"value": "", "lo": "_lo", "hi": "_hi"}
FRONT = ("ettr_analytic", "memory_overhead", "step_overhead", "spare_nodes", "value")


@dataclass(frozen=True, slots=True)
class Short:
    """Nothing meets the bounds: the design that comes nearest, and what it misses."""

    variant: str
    values: Mapping[str, Any]
    misses: tuple[Miss, ...]
    by: str  # the closed form, or the engine


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """All that a recommendation found. `verdict` is None where nothing met the bounds in the screening.

    `facts`: title, study, study_hash, seed, most (replications). `seconds`: wall time by stage.
    """

    facts: Mapping[str, Any]
    sought: Sought
    require: Mapping[str, Requirement]
    table: Screened
    feasible: int
    front: Sequence[int]  # rows of the table
    shadows: Sequence[Shadow]
    verdict: Verdict | None
    intervals: Mapping[
        str, Mapping[str, float]
    ]  # of each confirmed design, by id: tier to seconds of work between saves
    short: Short | None = None
    rare: RareLosses | None = None  # of the choice, where the study bounds it and it can happen
    hangs: Hangs = field(default_factory=Hangs)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def choice(self) -> Confirmed | None:
        """What to run."""
        verdict = self.verdict
        return None if verdict is None or verdict.choice is None else verdict.designs[verdict.choice]

    @property
    def runner_up(self) -> Confirmed | None:
        """The best of the others that meet the bounds."""
        verdict = self.verdict
        return None if verdict is None or verdict.runner_up is None else verdict.designs[verdict.runner_up]

    @property
    def told_apart(self) -> bool:
        """Whether choice and runner-up differ by more than what counts as a tie."""
        verdict = self.verdict
        return verdict is not None and verdict.runner_up is not None and verdict.runner_up not in verdict.tied

    @property
    def deviating(self) -> Confirmed | None:
        """The confirmed design at which closed form and engine differ most."""
        found = [] if self.verdict is None else [one for one in self.verdict.designs if one.deviation == one.deviation]
        return max(found, key=lambda one: abs(one.deviation), default=None)

    @property
    def failed(self) -> Sequence[Confirmed]:
        """Designs that could not be simulated."""
        return [] if self.verdict is None else [one for one in self.verdict.designs if one.failed]


def to_json(answer: Answer) -> dict[str, Any]:
    """Plain data (docs/decide.md has the schema): numbers in SI, None where a number is not known."""
    table, verdict, sought = answer.table, answer.verdict, answer.sought
    found = {
        "format": FORMAT,
        "gemsim": gemsim.__version__,
        "model_version": MODEL_VERSION,
        **answer.facts,
        "objective": {"kind": sought.kind, "probability": sought.probability, "unit": sought.unit},
        "require": {name: {"op": bound.op, "value": bound.value} for name, bound in answer.require.items()},
        "profiles": [{"name": n, "kind": _kind(m)} for n, m in sorted(table.profiles.items())],
        "screened": {
            "points": table.points,
            "structures": len(table.structures),
            "with_numbers": len(table.flat),
            "one_design_again": table.joined,
            "meeting_bounds": answer.feasible,
            "infeasible": dict(table.infeasible.most_common()),
            "no_closed_form": dict(table.uncovered.most_common()),
            "bound_unknown": unknown(answer),
        },
        "choice": None if verdict is None else verdict.choice,
        "runner_up": None if verdict is None else verdict.runner_up,
        "difference": None if verdict is None or verdict.difference is None else _interval(verdict.difference),
        "unrecoverable_probability": None if answer.rare is None else asdict(answer.rare),
        "told_apart": answer.told_apart,
        "tied": [] if verdict is None else list(verdict.tied),
        "settled": verdict is not None and verdict.settled,
        "replications": 0 if verdict is None else verdict.replications,
        "confirmed": [] if verdict is None else [_design(answer, one) for one in verdict.designs],
        "front": [_of_front(answer, row) for row in answer.front],
        "constraints": [_shadow(answer, one) for one in answer.shadows],
        "nearest": None if answer.short is None else _short(answer.short),
        "break_even": [_move(one) for one in answer.hangs.moves],
        "no_break_even": answer.hangs.unmoved,
        "measure_next": [_measure(one) for one in answer.hangs.measures],
        "largest_deviation": None if answer.deviating is None else _deviation(answer.deviating),
        "seconds": dict(answer.seconds),
    }
    cleaned = _plain(found)
    assert isinstance(cleaned, dict)
    return cleaned


def unknown(answer: Answer) -> dict[str, int]:
    """Columns of bounds to how many points lack a closed form of them while they have one of time: these miss it."""
    names = ((column, screened_by(column, answer.sought)) for column in answer.require)
    forms = [(column, name) for column, name in names if name is not None and name.endswith("_analytic")]
    counts = {column: int(np.isnan(answer.table.columns[name]).sum()) for column, name in forms}
    return {column: count for column, count in counts.items() if count}


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: None stands for a number that is not known, text for one without end."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _kind(modelled: bool) -> str:
    return "modelled" if modelled else "measured"


def _interval(one: Interval) -> dict[str, float]:
    return {"value": one.value, "lo": one.lo, "hi": one.hi}


def _design(answer: Answer, one: Confirmed) -> dict[str, Any]:
    row = one.row
    return {
        "variant": one.design.variant,
        "values": dict(one.design.values),
        "why": one.design.why,
        "point": one.id,
        "objective": {**_interval(one.value), "closed_form": one.twin, "unit": answer.sought.unit},
        "ettr": {**_interval(one.ettr), "closed_form": row["ettr_analytic"], "kind": row["analytic_kind"],
                 "stated_error": row["analytic_error"]},
        "intervals_s": dict(answer.intervals.get(one.id, {})),
        **{name: row[name] for name in ("memory_overhead", "step_overhead", "spare_nodes", "survivable_burst_pages")},
        "unrecoverable": {"closed_form": row["unrecoverable_analytic"], "unit": "1 / run",
                          **{end: row[f"unrecoverable_per_run{tail}"] for end, tail in ENDS.items()}},
        "meets_bounds": one.meets,
        "failed": one.failed,
    }  # fmt: skip


def _of_front(answer: Answer, row: int) -> dict[str, Any]:
    table = answer.table
    structure = table.structures[table.structure[row]]
    numbers = {name: float(table.columns[name][row]) for name in FRONT}
    return {"variant": structure.variant, "values": structure.values(int(table.flat[row])), **numbers}


def _shadow(answer: Answer, one: Shadow) -> dict[str, Any]:
    design = None if one.row is None else _of_front(answer, one.row)
    return {"column": one.column, "bound": one.bound, "judged": one.judged, "costs": one.costs, "without": one.without,
            "unit": answer.sought.unit, "design_without": design}  # fmt: skip


def _short(one: Short) -> dict[str, Any]:
    missed = [{"column": miss.column, "bound": miss.bound, "value": miss.value} for miss in one.misses]
    return {"variant": one.variant, "values": dict(one.values), "misses": missed, "by": one.by}


def _move(one: BreakEven) -> dict[str, Any]:
    given = one.input
    return {"input": given.path, "unit": UNITS[given.dimension], "value": given.value, "from": given.low,
            "to": given.high, "below": _change(one.below), "above": _change(one.above),
            "form_ends": one.open}  # fmt: skip


UNITS = {"time": "s", "bytes": "B", "bandwidth": "B/s", "share": "1", "count": "1", "rate": "1/s", "price": "currency"}


def _change(one: Change | None) -> dict[str, Any] | None:
    return None if one is None else {"value": one.value, "factor": one.factor, "to": one.to, "forced": one.forced}


def _measure(one: Measure) -> dict[str, Any]:
    return {"input": one.input.path, "unit": UNITS[one.input.dimension], "low": one.range.low, "high": one.range.high,
            "source": one.range.source, "change": one.change, "to": one.to, "regret": one.regret}  # fmt: skip


def _deviation(one: Confirmed) -> dict[str, Any]:
    return {"point": one.id, "ettr_engine_less_closed_form": one.deviation, "stated_error": one.row["analytic_error"]}
