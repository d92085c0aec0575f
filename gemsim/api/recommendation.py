"""What to run, from a program: the answer of `gemsim recommend` as frames, and the chosen design as a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from gemsim.api.frames import Swept, frame
from gemsim.api.given import jobs_of, seed_of, whole
from gemsim.api.progress import reporting
from gemsim.api.results import WIDTH
from gemsim.api.study import Study, as_study
from gemsim.spec.changed import one_point
from gemsim.study.plan import MODEL, default_folder, plan
from gemsim.study.recommend.answer import Answer, to_json
from gemsim.study.recommend.page import render
from gemsim.study.recommend.run import CONFIRMED
from gemsim.study.recommend.run import recommend as run
from gemsim.study.recommend.tools import TOOLS

ENDS = ("", "_lo", "_hi", "_closed_form")
KEYS = ("value", "lo", "hi", "closed_form")
FACTS = {"memory_overhead": "1", "step_overhead": "1", "spare_nodes": "1", "survivable_burst_pages": "1"}


@dataclass(frozen=True, repr=False, eq=False)
class Recommendation:
    """What to run, how surely, and what that hangs on. Frames say their units in `attrs["units"]`."""

    study: Study
    found: Answer
    folder: Path

    @property
    def answer(self) -> str:
        """The page that `gemsim recommend` prints."""
        return render(self.found, width=WIDTH)

    @cached_property
    def data(self) -> dict[str, Any]:
        """All of it as plain data, as in recommend.json (docs/decide.md has the schema)."""
        return to_json(self.found)

    @property
    def choice(self) -> Study | None:
        """The design to run, as a study of its own; None where nothing meets the bounds."""
        chosen = self.found.choice
        if chosen is None:
            return None
        return Study(one_point(self.study.loaded, chosen.design.assignments), self.study.quick)

    @property
    def confirmed(self) -> pd.DataFrame:
        """The designs that the engine was asked about, a row each: `variant`, the decision variables in SI, `objective`
        and `ettr` with `_lo`, `_hi`, `_closed_form`, what each costs, and whether it is the `choice` or `tied`."""
        designs = self.data["confirmed"]
        unit, swept = self.found.sought.unit, self._swept(designs)
        columns = {"variant": "text", **swept.units, "why": "text"}
        columns |= {f"objective{end}": unit for end in ENDS} | {f"ettr{end}": "1" for end in ENDS} | FACTS
        columns |= dict.fromkeys(("meets_bounds", "choice", "tied"), "true or false")
        columns |= {"failed": "text", "point": "scenario id"}
        return frame((self._design(at, one, swept) for at, one in enumerate(designs)), columns)

    @property
    def front(self) -> pd.DataFrame:
        """The screened designs that nothing beats at once in time, memory and cost, by the closed form."""
        designs = self.data["front"]
        swept = self._swept(designs)
        columns = {"variant": "text", **swept.units, "ettr_analytic": "1", "memory_overhead": "1"}
        columns |= {"step_overhead": "1", "spare_nodes": "1", "value": self.found.sought.unit}
        return frame(({**one, **swept.row(one["values"])} for one in designs), columns)

    @property
    def break_even(self) -> pd.DataFrame:
        """How far each input can move before another design is chosen: `below` and `above` are the values, NaN where
        it does not change within `from` and `to`. Values are in the `unit` of their row."""
        moves = self.data["break_even"]
        rows = ({**one, **{side: (one[side] or {}).get("value") for side in ("below", "above")}} for one in moves)
        numbers = dict.fromkeys(("value", "from", "to", "below", "above"), "column unit")
        return frame(rows, {"input": "text", "unit": "text", **numbers})

    @property
    def measure_next(self) -> pd.DataFrame:
        """The inputs worth measuring, the one that may cost most first: its range in the `unit` of its row, and what a
        wrong choice would cost (`regret`)."""
        numbers = {"low": "column unit", "high": "column unit", "regret": self.found.sought.unit}
        return frame(self.data["measure_next"], {"input": "text", "unit": "text", **numbers, "source": "text"})

    def _swept(self, designs: Sequence[Mapping[str, Any]]) -> Swept:
        paths = list(dict.fromkeys(path for one in designs for path in one["values"]))
        values = {path: [one["values"][path] for one in designs if path in one["values"]] for path in paths}
        return Swept(self.study.loaded, values)

    def _design(self, at: int, one: Mapping[str, Any], swept: Swept) -> dict[str, Any]:
        numbers = {
            f"{name}{end}": one[name].get(key)
            for name in ("objective", "ettr")
            for end, key in zip(ENDS, KEYS, strict=True)
        }
        marks = {"choice": at == self.data["choice"], "tied": at in self.data["tied"]}
        return {**one, **swept.row(one["values"]), **numbers, **marks}

    def __repr__(self) -> str:
        chosen = self.found.choice
        title = self.found.facts.get("title", "")
        if chosen is None:
            return f"Recommendation(title: {title}, nothing meets the bounds, folder: {self.folder})"
        values = " ".join(f"{path}={value}" for path, value in chosen.design.values.items())
        apart = "" if self.found.told_apart else ", tied with others"
        ettr = f"ETTR {chosen.ettr.value:.4f} (95 %: {chosen.ettr.lo:.4f} to {chosen.ettr.hi:.4f})"
        said = " ".join(filter(None, (chosen.design.variant, values)))
        return f"Recommendation(title: {title}, run: {said}, {ettr}{apart}, folder: {self.folder})"

    def _repr_html_(self) -> str:
        """The page up to the confirmed designs, as it stands on a terminal."""
        first = self.answer.split("\nConfirmed by the engine")[0]
        return f"<pre>{escape(first)}</pre>{self.confirmed.to_html(index=False, max_cols=12)}"


def recommend(
    study: Study | str | PathLike[str],
    *,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    replications: int | None = None,
    seed: int | None = None,
    confirm: int | None = None,
    quiet: bool = False,
) -> Recommendation:
    """Find the design to run among all that the study's `decide:` section allows, as `gemsim recommend` does.

    The closed form screens every point; the engine confirms `confirm` of them (default: 8) on the same failures, with
    more replications until the best is told or tied. `out`: default `out/STUDY-recommend` in the current folder.
    `jobs`, `replications` (to begin with), `seed`, `quiet`: as in `sweep`. A `sweep:` section is left aside.

    Raises StudyError, and GemsimError where the study decides nothing or no point can exist.

    >>> import gemsim as gs
    >>> gs.load_study("recommend", quick=True).loaded.spec.decide is not None
    True
    """
    asked = as_study(study)
    usual = default_folder(asked.path, quick=asked.quick)
    folder = Path(out) if out is not None else usual.with_name(f"{usual.name}-recommend")
    base = plan(asked.loaded, seed=seed_of(seed), replications=whole("replications", replications, least=2))
    number = whole("confirm", confirm, least=2) or CONFIRMED
    with reporting(asked.path.stem, quiet=quiet) as report:
        found = run(
            asked.loaded,
            TOOLS,
            MODEL,
            base,
            folder,
            jobs=jobs_of(jobs),
            report=report,
            number=number,
        )
    return Recommendation(asked, found, folder)
