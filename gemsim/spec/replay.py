"""failures.replay: a log of failures in place of laws. The log is read where the study is checked, once per content."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import PrivateAttr, model_validator

from gemsim import units
from gemsim.errors import ValueRefused, show
from gemsim.failures.laws import Duration, duration
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.load import Request, observe
from gemsim.failures.logs.read import NAMES, Where
from gemsim.failures.logs.replay import caution, usual_block
from gemsim.failures.logs.times import window_hours
from gemsim.failures.logs.trace import Replay, digest, merged, repair_law
from gemsim.files import first_of
from gemsim.spec.beside import folder_of_study, folders, refuse_outside
from gemsim.spec.laws import LawSpec
from gemsim.spec.types import Model, PositiveTime, SelfRead, Time, WholeNumber, assumed, sourced

TRACES = "GEMSIM_TRACES"  # environment: a folder in which logs are looked for
HOUR = 3600.0
_LAWLIKE = ("mix", "classes", "scale", "contained", "lands", "rows", "law", "frailty", "drift")


class WindowText(SelfRead):
    """A length, or FROM to TO in times of the log or ISO 8601; kept as it is written."""

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueRefused(f"not a window ({show(value)})", "a length such as '348 d', or 'FROM to TO'")
        try:
            length = window_hours(value)[1]
        except ValueRefused as refused:
            what = refused.what.removeprefix("--window: ")
            raise ValueRefused(what, refused.allowed, refused.todo) from refused
        if length <= 0.0:
            raise ValueRefused(f"the window is empty ({show(value)})", "a positive length")
        return value

    def form(self) -> dict[str, Any]:
        return {"type": "string", "examples": ["348 d"]}


class WhereText(SelfRead):
    """Filters: {column: value}, {column: [value, value]}; a `!` behind the column leaves these rows out."""

    def read(self, value: Any) -> tuple[Where, ...]:
        if isinstance(value, tuple) and all(isinstance(one, Where) for one in value):
            return value
        if not isinstance(value, dict):
            raise ValueRefused(f"not a mapping ({show(value)})", "columns with the values to keep")
        return tuple(self._one(column, wanted) for column, wanted in value.items())

    def _one(self, column: Any, wanted: Any) -> Where:
        values = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        bad = [one for one in values if isinstance(one, bool) or not isinstance(one, (str, int))]
        if bad or not values or not isinstance(column, str) or not column.rstrip("!").strip():
            todo = "quote what is a date, a decimal or a word such as yes"
            raise ValueRefused(f"{show(column)}: not a text of the log ({show(wanted)})", "a value, or a list", todo)
        return Where(column.removesuffix("!").strip(), tuple(str(one) for one in values), not column.endswith("!"))

    def write(self, value: tuple[Where, ...]) -> dict[str, Any]:
        return {
            one.column + ("" if one.keep else "!"): one.values[0] if len(one.values) == 1 else list(one.values)
            for one in value
        }

    def form(self) -> dict[str, Any]:
        return {"type": "object"}


class ColumnsText(SelfRead):
    """Names of the file's columns: {ours: theirs}."""

    def read(self, value: Any) -> tuple[tuple[str, str], ...]:
        pairs = value.items() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
        for ours, theirs in pairs:
            if ours not in NAMES or not isinstance(theirs, str) or not theirs:
                raise ValueRefused(f"not a pair of names ({show(ours)}: {show(theirs)})", f"of {', '.join(NAMES)}")
        if not isinstance(value, (dict, tuple)):
            raise ValueRefused(f"not a mapping ({show(value)})", f"{', '.join(NAMES)} with names of the file")
        return tuple(pairs)

    def write(self, value: tuple[tuple[str, str], ...]) -> dict[str, str]:
        return dict(value)

    def form(self) -> dict[str, Any]:
        names = {name: {"type": "string", "minLength": 1} for name in NAMES}
        return {"type": "object", "additionalProperties": False, "properties": names}


class LogName(SelfRead):
    """A path that is text."""

    def read(self, value: Any) -> str:
        if isinstance(value, str) and value.strip():
            return value
        raise ValueRefused(f"not a file name ({show(value)})", "a failure log, a CSV file")

    def form(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


class Observed(NamedTuple):
    """A log as it is replayed, and what its reading needed."""

    request: Request  # nodes and window resolved
    sha256: str
    log: Log


class ReplaySpec(Model):
    """Runs made of blocks of a log. Each component of the log is a class of failures of nodes, on the wall clock."""

    log: Annotated[str, LogName()]
    nodes: Annotated[int, WholeNumber(1, 10**7)] | None = sourced("meta.json beside the log", None)
    window: Annotated[str, WindowText()] | None = sourced("meta.json beside the log", None)
    where: Annotated[tuple[Where, ...], WhereText()] = sourced("all rows", ())
    columns: Annotated[tuple[tuple[str, str], ...], ColumnsText()] = sourced("the names of gemsim", ())
    merge: Time = assumed("0 s", "no outage repeats another")
    block: PositiveTime | None = assumed(None, "60 d, but at most a sixth of the window")
    keep_nodes: bool = sourced("who is where in the log says nothing of the job", False)
    scope: Literal["node", "gpu", "link", "process"] = assumed("node", "a log gives outages, not scopes")
    action: Literal["restart_app", "drain_and_reset", "reset", "reboot", "replace"] = assumed("replace")
    detect: LawSpec = assumed("10 s", "a log of outages does not say how soon they were seen")
    repair: LawSpec | None = sourced("the down times of the log", None)
    _folder: str = PrivateAttr(default_factory=folder_of_study)

    @model_validator(mode="after")
    def _readable(self) -> Self:
        found = self.observed()
        if self.block is not None and self.block > found.log.window_h * HOUR:
            window = units.format(found.log.window_h * HOUR, "time")
            what = f"a block of {units.format(self.block, 'time')} is longer than the window of the log"
            raise ValueRefused(what, f"at most {window}", "write a shorter block", at=("block",))
        return self

    def observed(self) -> Observed:
        """The log, from memory where it is known. Raises ValueRefused at `log`."""
        try:
            path = _found(self.log, self._folder)
            begin, length, origin = window_hours(self.window) if self.window else (None, None, None)
            request = Request(
                path, columns=self.columns, where=self.where, nodes=self.nodes, begin_h=begin, window_h=length,
                origin=origin,
            )  # fmt: skip
            return _observed(request, self.merge / HOUR, _stamp(path), _stamp(path.parent / "meta.json"))
        except ValueRefused as refused:
            parts = (_plain(part) for part in (refused.what, refused.allowed, refused.todo))
            raise ValueRefused(*parts, at=("log",)) from refused

    def plan(self, reserved: tuple[str, ...]) -> Replay:
        """What the engine needs to replay it; no class gets one of the `reserved` names."""
        request, sha256, log = self.observed()
        assert request.nodes is not None
        assert request.window_h is not None
        return Replay(
            path=str(request.path), sha256=sha256, columns=request.columns, where=request.where, nodes=request.nodes,
            begin_h=request.begin_h, window_h=request.window_h, origin=request.origin, merge_h=self.merge / HOUR,
            block_h=self._block(log), permute=not self.keep_nodes, names=_names(log, reserved), unknown=self._unknown(),
        )  # fmt: skip

    def classes(self, reserved: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
        """The keys of a failure class for each component of the log, those of most failures first."""
        log = self.observed().log
        rows = []
        for number, name in enumerate(_names(log, reserved)):
            part = log.only(log.kind == number)
            if not len(part.time_h):
                continue
            law = repair_law(part.downtime_h, self._unknown()) if self.action == "replace" else None
            known = int((~np.isnan(part.downtime_h)).sum())
            source = (
                f"{self.log}: {len(part.time_h)} events '{log.kinds[number]}' in {log.window_h:,.0f} h on"
                f" {log.nodes:,} nodes, {known} with a down time"
            )
            keys: dict[str, Any] = {
                "name": name, "scope": self.scope, "clock": "node", "exposure": "wall", "detect": self.detect,
                "rate": units.Rate(len(part.time_h) / (part.node_hours * HOUR), "node"), "action": self.action,
                "source": source,
            }  # fmt: skip
            rows.append((-len(part.time_h), keys if law is None else keys | {"repair": _spec(law)}))
        return tuple(keys for _, keys in sorted(rows, key=lambda row: row[0]))

    def note(self) -> str:
        """What a reader of the numbers must be told."""
        log = self.observed().log
        return caution(log.window_h, self._block(log))

    def _block(self, log: Log) -> float:
        """Hours."""
        return usual_block(log.window_h) if self.block is None else self.block / HOUR

    def refuse_unknown(self, *, at: tuple[str, ...]) -> None:
        """Raises ValueRefused where a node is replaced and nothing says how long until it is back."""
        log = self.observed().log
        count = int(np.isnan(log.downtime_h).sum())
        if self.action == "replace" and self.repair is None and count:
            what = f"missing, and {count} of {len(log.time_h)} outages of the log do not say how long they lasted"
            raise ValueRefused(what, "the law of these", "add e.g. repair: 2.2 h, or fleet.repair", at=at)

    def _unknown(self) -> Duration | None:
        law = self.repair
        return None if law is None or self.action != "replace" else duration(law.kind, law.mean, law.sigma)


def refuse_beside(failures: Model) -> None:
    """Raises ValueRefused for keys of laws beside a replay."""
    for key in _LAWLIKE:
        if getattr(failures, key) not in (None, (), 1.0):
            what = "does not go with replay: the log says what fails, and when"
            raise ValueRefused(what, "replay alone, or mix and classes", f"remove {key}, or replay", at=(key,))


def _spec(law: Duration) -> LawSpec:
    sigma = law.sigma if law.kind == "lognormal" else None
    return LawSpec.model_validate({"kind": law.kind, "mean": units.format(law.mean, "time"), "sigma": sigma})


def _found(name: str, of_study: str) -> Path:
    """The file of this name from the folder of the study, else from the current one, else from the folder of logs."""
    refuse_outside(name)
    folder = os.environ.get(TRACES, "")
    found = first_of(name, (*folders(of_study), *([Path(folder)] if folder else [])))
    if found is not None:
        return found
    where = f"the folder named by {TRACES} ({'not set' if not folder else show(folder)})"
    allowed = f"a failure log, from the study's folder, from the current one or from {where}"
    raise ValueRefused(f"no such file ({show(name)})", allowed, f"name the file, or set {TRACES}")


def _stamp(path: Path) -> tuple[int, int]:
    """What changes with a file's content; zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _observed(request: Request, merge_h: float, file: tuple[int, int], beside: tuple[int, int]) -> Observed:
    """Read once for each state of the file and of what lies beside it."""
    sha256 = digest(request.path)
    found = observe(request)
    if found.nodes is None:
        raise ValueRefused(
            f"{request.path}: the number of nodes is not known", "all nodes observed, which no log shows",
            "add nodes, or put a meta.json beside the log",
        )  # fmt: skip
    if found.window_h is None:
        raise ValueRefused(
            f"{request.path}: the observed window is not known", "the time during which every failure was logged",
            "add window, or put a meta.json beside the log",
        )  # fmt: skip
    log = merged(found.log(), merge_h)
    resolved = Request(
        request.path, columns=request.columns, where=request.where, nodes=found.nodes, begin_h=found.begin_h,
        window_h=found.window_h, origin=request.origin,
    )  # fmt: skip
    _refuse_absurd(request.path, log)
    return Observed(resolved, sha256, log)


def _refuse_absurd(path: Path, log: Log) -> None:
    """Numbers that no study can hold: a wrong unit of time."""
    if len(log.time_h) > log.node_hours * HOUR:
        raise ValueRefused(f"{path}: more than one failure per node and second", "fewer", "times are in hours")


def _names(log: Log, reserved: Iterable[str]) -> tuple[str, ...]:
    from gemsim.failures.logs.section import slug

    taken = set(reserved)
    return tuple(slug(kind, taken) for kind in log.kinds)


def _plain(text: str) -> str:
    """A message of `gemsim fit` without the dashes of its options."""
    return re.sub(r"--(?=[a-z])", "", text)
