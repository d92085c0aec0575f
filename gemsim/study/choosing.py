"""One design point of a study, by its number or by values at its paths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gemsim.errors import Problem, StudyError, show
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.study.design import DesignPoint, designs_of, short_names, size_of
from gemsim.study.design import show as text_of

VARIANT = "variant"  # what chooses a variant of `compare`
SHOWN = 6  # values of an axis that a message names
MOST_SHOWN = 120  # characters of a word that is told again


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: `name` a swept path (or the end of one), `variant`, or any path of the study; its value."""

    name: str
    value: str


def wanted(words: Sequence[str]) -> list[Wanted]:
    """`path=value` words, read. Raises StudyError."""
    found = []
    for word in words:
        name, is_, value = word.partition("=")
        if not (name and is_ and value):
            raise _refused(
                "", f"not a choice ({show(word)})", "path=value, such as restart=in_place", "or give --point N"
            )
        found.append(Wanted(name.strip(), value.strip()))
    return found


def choose_point(loaded: LoadedStudy, *, number: int | None, words: Sequence[str]) -> DesignPoint:
    """The one design point that `number` (from 1, in the order of summary.csv) or the words choose.

    A word for a path that the study does not sweep puts that value there. Raises StudyError where that leaves none or
    several.
    """
    designs = designs_of(loaded)
    put = dict[str, Any]()
    names = short_names(list(designs[0].columns))
    if number is not None:
        if not 1 <= number <= len(designs):
            raise _refused(loaded, f"no such design point ({number})", f"1 to {len(designs)}", "see gemsim check")
        designs = [designs[number - 1]]
    for one in wanted(words):
        if one.name == VARIANT:
            designs = _of(loaded, designs, one, {design.index: design.variant for design in designs})
            continue
        path = _axis(names, one.name)
        if path is None:
            put[one.name] = _value(one.value)
        else:
            designs = _of(loaded, designs, one, {design.index: design.columns[path] for design in designs})
    if put:
        resolve_point(loaded, {**designs[0].assignments, **put})  # what cannot be is said first
    if len(designs) > 1:
        raise _refused(
            loaded,
            f"{len(designs)} design points are left, and one is wanted",
            f"choose by {'; '.join(_left(designs, names))}",
            f"or by --point 1 to {len(designs_of(loaded))}",
        )
    return replace(designs[0], assignments={**designs[0].assignments, **put})


def _axis(names: Mapping[str, str], name: str) -> str | None:
    """The swept path of this name: itself, or the only one that ends so."""
    ends = [path for path in names if f".{path}".endswith(f".{name}")]
    return name if name in names else ends[0] if len(ends) == 1 else None


def _of(loaded: LoadedStudy, designs: Sequence[DesignPoint], one: Wanted, held: Mapping[int, Any]) -> list[DesignPoint]:
    """The designs that hold this value. Raises StudyError with those that there are."""
    found = [design for design in designs if _same(held[design.index], one.value)]
    if not found:
        known = _some(dict.fromkeys(text_of(value) for value in held.values() if value != ""))
        raise _refused(
            loaded,
            f"no design point has {f'{one.name}={one.value}'[:MOST_SHOWN]}",
            known or "it has no such axis",
            "",
        )
    return found


def _same(held: Any, asked: str) -> bool:
    """Equal as text, or as quantities."""
    if text_of(held) == asked:
        return True
    sizes = size_of(held), size_of(_value(asked))
    return None not in sizes and sizes[0] == sizes[1]


def _value(text: str) -> Any:
    """A number or a list where it reads as one, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _left(designs: Sequence[DesignPoint], names: Mapping[str, str]) -> list[str]:
    """What still differs, with its values."""
    found = []
    variants = dict.fromkeys(design.variant for design in designs)
    if len(variants) > 1:
        found.append(f"{VARIANT}={_some(variants)}")
    for path, name in names.items():
        values = dict.fromkeys(text_of(d.columns[path]) for d in designs if d.columns[path] != "")
        if len(values) > 1:
            found.append(f"{name}={_some(values)}")
    return found


def _some(values: Iterable[str]) -> str:
    every = list(values)
    more = [f"{len(every) - SHOWN} more"] if len(every) > SHOWN else []
    return " | ".join([*(repr(one) if " " in one else one for one in every[:SHOWN]), *more])


def _refused(loaded: LoadedStudy | str, what: str, allowed: str, todo: str) -> StudyError:
    where = loaded if isinstance(loaded, str) else f"{loaded.path}"
    return StudyError([Problem(where, "", what, allowed, todo)])
