"""One back-test: the log cut in two, the first part fitted, the rest predicted and judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemsim.errors import ValueRefused
from gemsim.spec.loading import LoadedStudy
from gemsim.study.backtest.account import Account, account, merged
from gemsim.study.backtest.events import RunLog
from gemsim.study.backtest.fit import FEWEST, Fit, fit, split
from gemsim.study.backtest.judge import Change, Line, changes, judge
from gemsim.study.backtest.predict import Prediction, predict
from gemsim.study.backtest.read import read_run

RUNS = 1000


@dataclass(frozen=True, slots=True)
class BackTest:
    """All of it; `prediction` is None and `lines` empty where too few failures were seen to predict anything."""

    log: RunLog
    fitted: Fit
    first: Account
    rest: Account
    prediction: Prediction | None
    lines: list[Line]
    changes: list[Change]
    groups: Mapping[str, tuple[str, ...]]

    @property
    def held(self) -> bool:
        """Whether all numbers together are as predicted."""
        return all(line.inside_all for line in self.lines)

    @property
    def verdict(self) -> str:
        """held, missed, changed (the shares hold and an input has changed all the same), or too few failures."""
        if self.prediction is None:
            return "too few failures"
        if not self.held:
            return "missed"
        return "changed" if any(one.found for one in self.changes) else "held"


def backtest(
    loaded: LoadedStudy,
    path: Path,
    *,
    share: float,
    runs: int = RUNS,
    seed: int = 0,
    design: Mapping[str, Any] | None = None,
) -> BackTest:
    """Read, cut, fit, predict and judge; `design`: values at paths of the study.

    Raises ValueRefused for a log, GemsimError for a study that cannot be used.
    """
    if not 0.0 < share < 1.0:
        raise ValueRefused(f"--split: not a share ({share:g})", "more than 0 and less than 1")
    log = read_run(path)
    first, rest = split(log, share)
    fitted, before = fit(first)
    after = account(rest)
    groups = merged(log)
    prediction, lines = None, []
    if len(fitted.stood) >= FEWEST:
        wall = math.fsum(after.judged.values())
        prediction = predict(loaded, fitted, wall=wall, runs=runs, seed=seed, design=design or {})
        lines = judge(prediction, after, groups)
    return BackTest(log, fitted, before, after, prediction, lines, changes(before, after), groups)


def as_object(found: BackTest) -> dict[str, Any]:
    """The result as plain data; seconds, shares of the wall time, rates per second."""
    return {
        "log": str(found.log.path),
        "notes": [*found.log.notes, *(found.prediction.notes if found.prediction else ())],
        "merged": {name: list(group) for name, group in found.groups.items()},
        "first": _account(found.first),
        "rest": _account(found.rest),
        "inputs": {
            name: {key: getattr(one, key) for key in ("value", "lo", "hi", "events")}
            for name, one in inputs(found.fitted).items()
        },
        "ettr_analytic": found.prediction.ettr_analytic if found.prediction else None,
        "runs": len(found.prediction.failures) if found.prediction else 0,
        "lines": [
            {
                key: getattr(line, key)
                for key in ("name", "predicted", "lo", "hi", "lo_all", "hi_all", "actual", "inside")
            }
            for line in found.lines
        ],
        "changes": [
            {key: getattr(one, key) for key in ("name", "unit", "before", "after", "p", "found")}
            for one in found.changes
        ],
        "verdict": found.verdict,
    }


def inputs(fitted: Fit) -> dict[str, Any]:
    """The fitted inputs by name."""
    stages = {f"stop: {name}": one for name, one in fitted.parts.items() if one.value > 0.0}
    saves = {"save": fitted.save, "steps between saves": fitted.every, "step": fitted.step}
    stages = stages if len(stages) > 1 else {}
    return {"rate": fitted.rate, "stop": fitted.stand, **stages, **{k: v for k, v in saves.items() if v.events}}


def _account(found: Account) -> dict[str, Any]:
    told = {"wall_s": found.wall, "failures": len(found.failures), "planned": len(found.stops) - len(found.failures)}
    return {**told, **{f"{name}_s": seconds for name, seconds in found.seconds.items()}, "beyond_s": found.beyond}
