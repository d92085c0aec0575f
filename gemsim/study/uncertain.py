"""Draws of the uncertain inputs of a study, and what the closed form says of a design over them.

A Latin hypercube with a random stream of its own for each path: draws belong to the study and its seed alone, so that
all designs see the same, and another uncertain input leaves those of the others as they were.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gemsim.errors import GemsimError, Infeasible, NotCovered, StudyError
from gemsim.failures.streams import generator
from gemsim.results.inputs import Inputs
from gemsim.results.summary import Point
from gemsim.spec.loading import LoadedStudy, applies, resolve_point
from gemsim.study.design import DesignPoint
from gemsim.study.points import Model

DRAWS = 256  # of a sweep (of a quick one LEAST_DRAWS), while draws × designs stay within MOST
LEAST_DRAWS = 64
MOST = 4096  # closed forms for the draws of one sweep: some 15 s
_SHOWN = 3
Draw = dict[str, Any]


def draws(loaded: LoadedStudy, *, number: int, seed: int) -> list[Draw]:
    """`number` assignments of all uncertain inputs: a Latin hypercube over their laws (McKay and others, 1979)."""
    laws = loaded.spec.uncertain
    chances = {path: _hypercube(number, seed, path) for path in laws}
    return [
        {path: law.value(law.quantile(float(chances[path][row]))) for path, law in laws.items()}
        for row in range(number)
    ]


def _hypercube(number: int, seed: int, path: str) -> Any:
    """One value in each of `number` equal parts of [0, 1], in random order."""
    stream = generator(seed, 0, "uncertain", path)
    return (stream.permutation(number) + stream.random(number)) / number


def undecided(loaded: LoadedStudy, assignments: Mapping[str, Any]) -> tuple[str, ...]:
    """The uncertain inputs that a design leaves uncertain: it neither lacks them nor writes a value of its own."""
    return tuple(
        path
        for path in loaded.spec.uncertain
        if not any(_sets(one, value, path) for one, value in assignments.items())
        and applies(replace(loaded, partial=loaded.partial | {path}), assignments, path)
    )


def _sets(at: str, value: Any, path: str) -> bool:
    """Whether a value put at `at` decides what stands at `path`; a whole protection is looked up by `applies`."""
    if at == path:
        return True
    rest = path.removeprefix(f"{at}.")
    for key in rest.split(".") if rest != path else ():
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return rest != path


@dataclass
class Tried:
    """Runs without a number, by reason; the reasons are kept in the words of the first of their kind."""

    runs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """All of them."""
        return self.reasons.total()

    def note(self, error: Exception) -> None:
        """Count one; reasons that differ in numbers alone are one reason."""
        text = _reason(error)
        kind = re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "#", text)
        self.reasons[kind] += 1
        self.words.setdefault(kind, text)

    def said(self) -> list[str]:
        """Each reason with its count, the most frequent first."""
        return [f"{count} × {self.words[kind]}" for kind, count in self.reasons.most_common()]


def _reason(error: Exception) -> str:
    """Which kind of failure, and why, in one line."""
    if isinstance(error, StudyError):
        return f"refused: {error.problems[0].what} ({error.problems[0].path})"
    kind = {Infeasible: "infeasible", NotCovered: "no closed form"}
    name = next((word for of, word in kind.items() if isinstance(error, of)), "the closed form broke down")
    return f"{name}: {' '.join(str(error).split()) or type(error).__name__}"


def outcome(answer: Callable[[Mapping[str, Any]], float], assignments: Mapping[str, Any], tried: Tried) -> float:
    """One run; NaN where it has no number, with the reason counted in `tried`."""
    tried.runs += 1
    try:
        return answer(assignments)
    except (GemsimError, ArithmeticError) as error:
        tried.note(error)
        return np.nan


def closed_form(loaded: LoadedStudy, model: Model, assignments: Mapping[str, Any]) -> float:
    """ETTR of a design in closed form. Raises NotCovered, Infeasible or StudyError."""
    value: float = model.predict(model.build(resolve_point(loaded, assignments)))["ettr_analytic"]
    return value


def over_inputs(
    loaded: LoadedStudy,
    model: Model,
    seed: int,
    points: Sequence[Point],
    designs: Sequence[DesignPoint],
    *,
    wanted: int | None = None,
) -> list[Point]:
    """The points of a sweep, each with its closed form over the same draws of the inputs; equal designs once.

    `wanted` draws (DRAWS unless given), but no more than MOST closed forms in all: with many designs the draws are
    fewer, and with more than MOST / LEAST_DRAWS designs there are none, which the note says. Where the closed form has
    no answer for the design itself nothing is drawn, and nothing is simulated instead.
    """
    distinct = {point.id: design for point, design in zip(points, designs, strict=True) if point.id and point.twin}
    number = min(wanted or DRAWS, MOST // max(len(distinct), 1))
    if number < LEAST_DRAWS:
        many = f"{len(distinct)} designs are more than {MOST // LEAST_DRAWS}"
        note = f"not drawn: {many}; gemsim sensitivity --point takes one"
        found = {id_: Inputs(np.empty(0), note) for id_ in distinct}
    else:
        sample = draws(loaded, number=number, seed=seed)
        nominal = {point.id: point for point in points}
        found = {id_: _over(loaded, model, nominal[id_], one, sample) for id_, one in distinct.items()}
    return [replace(point, inputs=found.get(point.id)) for point in points]


def _over(loaded: LoadedStudy, model: Model, point: Point, design: DesignPoint, sample: Sequence[Draw]) -> Inputs:
    if point.twin.get("ettr_analytic") is None:
        return Inputs(np.empty(0), f"no closed form, nothing drawn: {point.twin.get('analytic_note', '')}")
    tried, left = Tried(), undecided(loaded, design.assignments)
    values = [
        outcome(
            lambda assigned: closed_form(loaded, model, assigned),
            {**design.assignments, **{path: draw[path] for path in left}},
            tried,
        )
        for draw in sample
    ]
    return Inputs(np.array(values), "; ".join(tried.said()[:_SHOWN]))
