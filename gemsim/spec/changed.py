"""A study with other values at some paths, as a study again: for those who change one in a program.

What is changed is the study as it was written, so that defaults which follow from other values follow the new ones. The
result is written out as YAML and read like any file, so it is checked by the same rules and can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gemsim.errors import Problem, StudyError, ValueRefused, show
from gemsim.spec.draft import point_of
from gemsim.spec.loading import LoadedStudy, parse_study
from gemsim.spec.paths import SECTIONS, assign, locate, normalised
from gemsim.spec.printing import yaml_text
from gemsim.spec.study import StudySpec
from gemsim.spec.types import closest

BY_KEY = (  # what stands below is one key, whatever dots it has
    *(("sweep", "grid"), ("sweep", "zip"), ("decide", "variables")),
    *(("require",), ("uncertain",), ("compare",)),
)
_OF_THE_RUN = ("run.seed", "run.replications")  # no axes, but a study may be given others
_WHOLE = tuple(name for name in StudySpec.model_fields if name not in SECTIONS and name != "quick")

Raw = dict[str, Any]


def changed(loaded: LoadedStudy, changes: Mapping[str, Any]) -> LoadedStudy:
    """`loaded` with each value put at its path, in order; None at a key of `require`, `sweep.grid`, … takes it out.

    A mapping takes the place of a section. A path that is swept or uncertain becomes fixed. The `quick` section is
    gone: it belongs to the study as it was. Raises StudyError with every problem, each with the file and the path.
    """
    data = normalised(loaded.raw)
    data.pop("quick", None)
    problems = []
    for path, value in changes.items():
        try:
            _put(data, path, plain(value))
        except ValueRefused as refused:
            problems.append(Problem(str(loaded.path), path, refused.what, refused.allowed, refused.todo))
    if problems:
        raise StudyError(problems)
    return _read(loaded, data)


def one_point(loaded: LoadedStudy, assignments: Mapping[str, Any]) -> LoadedStudy:
    """The study of one design point: `assignments` put in, nothing swept, compared or decided. Raises StudyError."""
    raw = loaded.raw
    data = normalised(point_of(raw))
    for path, value in assignments.items():
        assign(data, locate(data, path), value)
    laws = {path: law for path, law in (raw.get("uncertain") or {}).items() if path not in assignments}
    return _read(loaded, {**data, "uncertain": laws} if laws else data)


def plain(value: Any) -> Any:
    """A value as a file would hold it: numbers of NumPy become Python's. Raises ValueRefused for what no file holds."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple) or hasattr(value, "tolist"):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__name__
    raise ValueRefused(f"no value of a study ({kind} {show(value)})", "numbers, text, true, false, lists and mappings")


def _put(data: Raw, path: str, value: Any) -> None:
    for keyed in BY_KEY:
        head = f"{'.'.join(keyed)}."
        if path.startswith(head):
            return _put_key(data, keyed, path.removeprefix(head), value)
    if path.split(".")[0] in _WHOLE:
        return _put_whole(data, path, value)
    if path in _OF_THE_RUN:
        data.setdefault("run", {})[path.removeprefix("run.")] = value
        return None
    _refuse_compared(data, path)
    place = locate(data, path)
    assign(data, place, None)  # a mapping takes the place of what was there; a sweep would lay it over that
    assign(data, place, value)
    for axes in _axes(data):
        axes.pop(path, None)
    return None


def _put_key(data: Raw, keyed: tuple[str, ...], key: str, value: Any) -> None:
    at = data
    for part in keyed:
        if not isinstance(at.get(part), dict):
            at[part] = {}
        at = at[part]
    if value is not None:
        at[key] = value
    elif key in at:
        del at[key]
    else:
        allowed = f"{'.'.join(keyed)} has {', '.join(at) or 'nothing'}"
        raise ValueRefused(f"no such key to take out ({show(key)})", allowed, closest(key, list(at)))


def _put_whole(data: Raw, path: str, value: Any) -> None:
    """A section that is no part of the model, such as title, sweep or decide.objective, by its own keys."""
    *above, last = path.split(".")
    at: Any = data
    for part in above:
        at = at.setdefault(part, {})
        if not isinstance(at, dict):
            raise ValueRefused(f"no such path ({show(path)})", f"{part} has no keys")
    at[last] = value
    if value is None:
        del at[last]


def _refuse_compared(data: Raw, path: str) -> None:
    """Raises ValueRefused where a variant of `compare` writes what is to be changed, so that nothing would change."""
    for name, overrides in (data.get("compare") or {}).items():
        over = [one for one in overrides if path == one or path.startswith(f"{one}.")] if overrides else []
        if over:
            what = f"the variant {show(name)} of compare writes {over[0]} itself"
            raise ValueRefused(
                what, "a path that no variant writes", f"take one design first, or change compare.{name}"
            )


def _axes(data: Raw) -> list[Raw]:
    """Where a path may be given several values, or a law."""
    sweep, decide = data.get("sweep") or {}, data.get("decide") or {}
    found = [sweep.get("grid"), sweep.get("zip"), decide.get("variables"), data.get("uncertain")]
    return [one for one in found if isinstance(one, dict)]


def _read(loaded: LoadedStudy, data: Raw) -> LoadedStudy:
    """Lines and columns would be those of a text that nobody wrote, so problems name the file and the path alone."""
    content = yaml_text({key: value for key, value in data.items() if value not in ({}, None)}).encode()
    try:
        return parse_study(content, Path(loaded.path))
    except StudyError as error:
        raise StudyError(
            [Problem(str(loaded.path), one.path, one.what, one.allowed, one.todo) for one in error.problems]
        ) from error
