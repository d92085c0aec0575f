"""Design points made real: each resolved, built, described, and asked for its closed form; equal designs once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gemsim.errors import GemsimError, NotCovered, StudyError, printable
from gemsim.results.costs import Bill
from gemsim.results.summary import Point
from gemsim.study.design import DesignPoint
from gemsim.study.tasks import Simulate

NO_FORM = "none"


@dataclass(frozen=True, slots=True)
class Model:
    """What a sweep needs of the model: a spec becomes a scenario with an `id`, is described, predicted, simulated."""

    build: Callable[[Any], Any]
    describe: Callable[[Any], Mapping[str, Any]]
    predict: Callable[[Any], Mapping[str, Any]]
    simulate: Simulate
    bill: Callable[[Any, Any], Bill | None] = lambda spec, scenario: None  # what the GPUs of a point cost


def realise(
    designs: Sequence[DesignPoint], resolve: Callable[[Mapping[str, Any]], Any], model: Model
) -> tuple[list[Point], dict[str, Any], dict[str, Exception]]:
    """The points of the table, the distinct scenarios by id in the order of their first point, and what went wrong.

    A point that cannot exist, or whose values do not go together, carries the reason instead of an id. Any other
    exception is a fault of ours: it is kept by a made-up id of that point, and the other points go on.
    """
    points: list[Point] = []
    scenarios: dict[str, Any] = {}
    known: dict[str, Point] = {}
    faults: dict[str, Exception] = {}
    for design in designs:
        bare = Point(design.index, design.columns, design.variant, design.group, protection=design.protection)
        try:
            spec = resolve(design.assignments)
            scenario = model.build(spec)
            id_ = str(scenario.id)
            if id_ not in known:
                known[id_] = replace(bare, id=id_, static=model.describe(scenario), twin=_twin(model, scenario))
                scenarios[id_] = scenario
            bill = model.bill(spec, scenario)
            points.append(replace(bare, id=id_, static=known[id_].static, twin=known[id_].twin, bill=bill))
        except GemsimError as error:
            points.append(replace(bare, reason=reason_of(error)))
        except Exception as error:
            points.append(replace(bare, id=f"fault-{design.index}"))
            faults[points[-1].id] = error
    return points, scenarios, faults


def _twin(model: Model, scenario: Any) -> Mapping[str, Any]:
    try:
        return model.predict(scenario)
    except NotCovered as error:
        return {"analytic_kind": NO_FORM, "analytic_note": error.reason}
    except ArithmeticError as error:  # a number beside the simulated one must not take that along
        note = f"the closed form broke down ({type(error).__name__}: {error}): a fault of gemsim's, please report it"
        return {"analytic_kind": NO_FORM, "analytic_note": note}


def reason_of(error: GemsimError) -> str:
    """One line; of a study's problems the place in the file is left out, since the table is not the file."""
    if isinstance(error, StudyError):
        told = "; ".join(f"{problem.path}: {problem.what}; {problem.allowed}" for problem in error.problems)
        return printable(told, keep="")
    return " ".join(str(error).split())
