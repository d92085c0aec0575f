"""A study file to a checked study: all that is wrong with it at once, each with file:line:col.

The file is read to a raw tree with positions; models check the tree; every swept path and value, every variant of
`compare` and the `quick` form are tried once before anything runs. A design point is the raw tree with values put in,
checked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from gemsim.errors import Problem, StudyError, ValueRefused, show
from gemsim.files import read_file
from gemsim.spec.axes import check_axes
from gemsim.spec.draft import Draft, in_order, point_of
from gemsim.spec.lifting import lift
from gemsim.spec.quick import with_quick, without_quick
from gemsim.spec.study import StudySpec
from gemsim.spec.tried import place_of
from gemsim.spec.yaml import Path, Position, Tree, dotted, read_tree

MOST_READ = 64 * 2**20  # bytes: a file beyond is not even read to be refused


@dataclass(frozen=True, slots=True)
class LoadedStudy:
    """A study that has passed all checks, with the raw tree and the positions that later errors point to.

    `partial` holds the swept paths that only some variants of `compare` have, `content` the file as it was read.
    """

    path: FilePath
    tree: Tree
    spec: StudySpec
    partial: frozenset[str] = field(default_factory=frozenset)
    has_quick: bool = False  # whether the file has a `quick` section
    content: bytes = field(default=b"", repr=False)

    @property
    def raw(self) -> dict[str, Any]:
        """The study as plain data."""
        return dict(self.tree.data)

    @property
    def positions(self) -> dict[Path, Position]:
        """The line and column of the value at each path."""
        return self.tree.values

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """The assignments of each variant of `compare`; a study without one has the variant "" that changes nothing."""
        return self.spec.compare or {"": {}}


def load_study(path: str | FilePath, *, quick: bool = False) -> LoadedStudy:
    """Read and check a study; with `quick`, its `quick` section laid over it. Raises StudyError with every problem."""
    file = FilePath(path)
    try:
        content = read_file(file, most=MOST_READ)
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise StudyError([Problem(str(path), "", what, "a YAML file", "check the name")]) from error
    return parse_study(content, file, quick=quick)


def parse_study(
    content: bytes, file: str | FilePath, *, quick: bool = False, folder: str | FilePath | None = None
) -> LoadedStudy:
    """`load_study` of bytes already read; `file` is the name shown in problems, `folder` (of `file` unless given) where
    the relative names of files in the study start."""
    tree = read_tree(content, str(file))
    tree.folder = str(FilePath(file).parent if folder is None else folder)
    if not isinstance(tree.data, dict):
        if not tree.problems:
            tree.complain(
                (1, 1), (), f"not a mapping ({show(tree.data)})", "a mapping with title, cluster, workload, …"
            )
        raise StudyError(tree.problems)
    laws = lift(tree)
    problems, checked, known = list(tree.problems), [], frozenset[str]()
    for form in (without_quick(tree), with_quick(tree)):
        spec, found = Draft(form).check()
        found_paths, partial, more = check_axes(form, spec, known)
        spec = _without_axes(spec, known - found_paths)
        known = found_paths
        problems += form.problems + found + more
        checked.append((form, spec, partial))
    form, spec, partial = checked[quick]
    if problems or spec is None:
        raise StudyError(in_order(problems))
    spec = spec.model_copy(update={"uncertain": laws})
    return LoadedStudy(FilePath(file), form, spec, partial, bool(tree.data.get("quick")), content)


def _without_axes(spec: StudySpec | None, paths: frozenset[str]) -> StudySpec | None:
    """A quick form without the swept paths that none of the variants it keeps has."""
    if spec is None or not paths:
        return spec
    changes: dict[str, Any] = {"sweep": spec.sweep.without(paths)}
    if spec.decide is not None:
        kept = {path: values for path, values in spec.decide.variables.items() if path not in paths}
        changes["decide"] = spec.decide.model_copy(update={"variables": kept})
    return spec.model_copy(update=changes)


def resolve_point(loaded: LoadedStudy, assignments: Mapping[str, Any]) -> StudySpec:
    """The study with values put at paths, in the order given: a variant of `compare` first, then swept values.

    A mapping is merged over a section and all else replaces what was there; text for `restart` or `failures` sets the
    mode or the mix. A path in `loaded.partial` is left out where the variant lacks it. Raises StudyError, which names
    the swept value and its position.
    """
    draft = Draft(loaded.tree, point_of(loaded.tree.data))
    problems = []
    for path, value in assignments.items():
        source = _source(loaded.tree.data, path, value)
        try:
            draft.put(path, value, source)
        except ValueRefused as refused:
            if path not in loaded.partial:
                where = loaded.tree.where(source, key=True)
                problems.append(Problem(where, dotted(source), refused.what, refused.allowed, refused.todo))
    spec, found = draft.check(loaded.spec)
    if problems or found or spec is None:
        raise StudyError(in_order(problems + found))
    return spec


def applies(loaded: LoadedStudy, assignments: Mapping[str, Any], path: str) -> bool:
    """Whether a swept path exists once `assignments` (a variant of `compare`) are made."""
    if path not in loaded.partial:
        return True
    draft = Draft(loaded.tree, point_of(loaded.tree.data))
    try:
        for one, value in assignments.items():
            draft.put(one, value, (one,))
        draft.put(path, None, (path,))
    except ValueRefused:
        return False
    return True


def _source(data: dict[str, Any], path: str, value: Any) -> Path:
    """Where in the file an assignment stands: in a swept list, a decision variable or a variant; else its own path."""
    swept = place_of(data.get("sweep"), path, value)
    if swept is not None:
        return swept
    decided = ((data.get("decide") or {}).get("variables") or {}).get(path)
    if decided is not None:
        at = decided.index(value) if isinstance(decided, list) and value in decided else None
        return ("decide", "variables", path) if at is None else ("decide", "variables", path, at)
    for name, overrides in (data.get("compare") or {}).items():
        if path in overrides and overrides[path] == value:
            return ("compare", name, path)
    return tuple(path.split("."))
