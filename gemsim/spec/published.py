"""What papers print, read from calibration/published/papers: inputs, which a computation may see, and outcomes.

Outcomes are what is judged, and no computation sees them. Each number has its unit, its source and how it was read;
here it becomes an SI float (a % a share).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from gemsim import resources
from gemsim.errors import ProfileError, ValueRefused, show
from gemsim.spec.tolerance import Tolerance
from gemsim.spec.yaml import Tree, read_tree
from gemsim.units import UNITS

Value = float | bool | str | tuple[float, ...]
"""A number in SI, true or false, a text (for what cannot be compared), or several numbers."""

_READ = ("text", "table", "abstract", "figure", "derived", "third party", "assumption")
_CLASSES = ("A", "B", "C")
_KINDS = ("independent", "calibrated", "identity")
_OTHER: dict[str, int | Fraction] = {
    "1": 1,
    "x": 1,
    "pp": Fraction(1, 100),
    "1/s": 1,
    "1/h": Fraction(1, 3600),
    "1/d": Fraction(1, 86400),
}
_UNITS: dict[str, Fraction] = {
    **{unit: Fraction(size) for unit, size in _OTHER.items()},
    **{unit: size for sizes in UNITS.values() for unit, size in sizes.items()},
    **{unit: Fraction(1) for unit in ("W", "J")},
}
_INPUT_KEYS = {"value", "unit", "read", "at", "band", "source", "note"}
_OUTCOME_KEYS = _INPUT_KEYS | {"tolerance", "class", "kind", "scenario", "differs"}


class Inputs:
    """The inputs of a paper as attributes, in SI: `inputs.iteration` is 62.0. An unknown name is a ProfileError."""

    def __init__(self, values: Mapping[str, Any], file: str) -> None:
        self._values = dict(values)
        self._file = file

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._values:
            raise ProfileError(f"{self._file}: inputs: no key {name}; the keys are {', '.join(self._values)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One published result. `value` and `band` (the reading error of a figure) in SI; `unit` is how it is shown."""

    id: str
    value: Value
    unit: str
    read: str
    source: str
    band: float | None
    tolerance: Tolerance
    judged: str
    """A: must match; B: must match within the tolerance; C: shown only."""
    kind: str
    """independent; calibrated (a constant was fitted to the same paper); identity (a check of transcription)."""
    scenario: str
    note: str
    differs: bool = False
    """Whether a correct simulator must disagree with print, for the reason in a note."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One file of published numbers."""

    title: str
    source: str
    inputs: Inputs
    outcomes: dict[str, Outcome]


def size_of(unit: str) -> float:
    """What one of a unit is in SI; a % or a pp is 0.01. Raises ValueRefused."""
    if unit not in _UNITS:
        near = difflib.get_close_matches(unit, _UNITS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else ""
        raise ValueRefused(f"unknown unit ({show(unit)})", "1, x, %, pp, 1/d, a time, a size or a bandwidth", hint)
    return float(_UNITS[unit])


def names() -> list[str]:
    """The papers there are."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def paper(name: str) -> Paper:
    """Read a paper by the name of its file. Raises ProfileError: one line for each thing wrong, with its place."""
    return read_paper(_folder() / f"{name}.yaml")


def _folder() -> Path:
    return resources.published() / "papers"


@cache
def read_paper(path: Path) -> Paper:
    """Read the file of a paper. Raises ProfileError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read ({error.strerror})") from error
    tree = read_tree(raw, path.name)
    reader = _Reader(tree)
    read = reader.paper() if not tree.problems else None
    if read is None or tree.problems:
        raise ProfileError("\n".join(str(problem) for problem in tree.problems))
    return read


class _Reader:
    """Turns a tree into a Paper; all that is wrong goes to the problems of the tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.source = ""

    def wrong(self, path: tuple[str | int, ...], what: str, allowed: str = "", todo: str = "") -> None:
        place = self.tree.where(path, key=True).rsplit(":", 2)
        self.tree.complain((int(place[1]), int(place[2])), path, what, allowed, todo)

    def paper(self) -> Paper:
        data = self.mapping(self.tree.data, (), {"title", "source", "inputs", "outcomes"}, {"title", "source"})
        self.source = str(data.get("source", ""))
        given = self.mapping(data.get("inputs") or {}, ("inputs",))
        judged = self.mapping(data.get("outcomes") or {}, ("outcomes",))
        inputs = {name: self.input(entry, ("inputs", name)) for name, entry in given.items()}
        outcomes = {name: self.outcome(name, entry, ("outcomes", name)) for name, entry in judged.items()}
        found = {name: outcome for name, outcome in outcomes.items() if outcome is not None}
        return Paper(str(data.get("title", "")), self.source, Inputs(inputs, self.tree.file), found)

    def mapping(
        self, data: Any, path: tuple[str, ...], known: set[str] | None = None, needed: set[str] | None = None
    ) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.wrong(path, f"not a mapping ({show(data)})", "a mapping of keys")
            return {}
        for key in [] if known is None else data:
            if key not in (known or ()):
                self.wrong((*path, key), f"unknown key ({show(key)})", f"one of {', '.join(sorted(known or ()))}")
        for key in sorted((needed or set()) - set(data)):
            self.wrong(path, f"{key} is missing", "required", f"add {key}")
        return data

    def input(self, entry: Any, path: tuple[str, ...]) -> Any:
        data = self.mapping(entry, path, _INPUT_KEYS, {"value", "unit", "read"})
        if not {"value", "unit", "read"} <= set(data):
            return None
        self.word(data["read"], _READ, (*path, "read"))
        if data["read"] == "figure" and "band" not in data:
            self.wrong(path, "band is missing", "a figure has the error it was read with", "add band, in the same unit")
        if not _is_number(data.get("band", 0)):
            self.wrong((*path, "band"), f"not a number ({show(data['band'])})", "the error of the reading")
        return self.scaled(data["value"], self.size(data, path), (*path, "value"))

    def outcome(self, name: str, entry: Any, path: tuple[str, ...]) -> Outcome | None:
        before = len(self.tree.problems)
        needed = {"value", "unit", "read", "tolerance", "class", "kind", "scenario"}
        data = self.mapping(entry, path, _OUTCOME_KEYS, needed)
        if len(self.tree.problems) > before:
            return None
        value = self.input({key: data[key] for key in data if key in _INPUT_KEYS}, path)
        size = self.size(data, path)
        self.word(data["class"], _CLASSES, (*path, "class"))
        self.word(data["kind"], _KINDS, (*path, "kind"))
        if not isinstance(data.get("differs", False), bool):
            self.wrong((*path, "differs"), f"not true or false ({show(data['differs'])})")
        tolerance = self.tried(lambda: Tolerance.read(str(data["tolerance"]), size), (*path, "tolerance"))
        if len(self.tree.problems) > before or not isinstance(tolerance, Tolerance):
            return None
        if (tolerance.form == "none") != (data["class"] == "C"):
            self.wrong((*path, "tolerance"), f"{show(tolerance.text)} in class {data['class']}", "none in class C only")
        band = data.get("band")
        return Outcome(
            id=name,
            value=tuple(value) if isinstance(value, list) else value,
            unit=str(data["unit"]),
            read=data["read"],
            source=", ".join(str(part) for part in (data.get("source", self.source), data.get("at")) if part),
            band=None if band is None else float(band) * size,
            tolerance=tolerance,
            judged=data["class"],
            kind=data["kind"],
            scenario=str(data["scenario"]),
            note=str(data.get("note", "")),
            differs=bool(data.get("differs", False)),
        )

    def word(self, value: Any, allowed: tuple[str, ...], path: tuple[str, ...]) -> None:
        if value not in allowed:
            self.wrong(path, f"not known ({show(value)})", f"one of {', '.join(allowed)}")

    def size(self, data: Mapping[str, Any], path: tuple[str, ...]) -> float:
        found = self.tried(lambda: size_of(str(data["unit"])), (*path, "unit"))
        return found if isinstance(found, float) else 1.0

    def tried(self, make: Callable[[], Any], path: tuple[str, ...]) -> Any:
        try:
            return make()
        except ValueRefused as error:
            self.wrong(path, error.what, error.allowed, error.todo)
            return None

    def scaled(self, value: Any, size: float, path: tuple[str | int, ...]) -> Any:
        """The numbers in a value in SI. An input is numbers in lists and mappings; an outcome may be true or a text."""
        judged, whole = path[0] == "outcomes", path[-1] == "value"
        if isinstance(value, dict) and not judged:
            return {key: self.scaled(inner, size, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list) and (whole or not judged):
            return tuple(self.scaled(inner, size, (*path, place)) for place, inner in enumerate(value))
        if _is_number(value):
            return value * size
        if judged and not (whole and isinstance(value, bool | str)):
            self.wrong(path, f"not a value ({show(value)})", "a number, true, false, a text or a list of numbers")
        elif not judged:
            self.wrong(path, f"not a number ({show(value)})", "a number, or a list or mapping of numbers")
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
