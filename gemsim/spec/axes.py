"""Checks of what a study varies: each variant of `compare`, each swept path, each value alone, each row of `zip` and of
`points`, the ends of each range; each decision variable, and each of its values alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gemsim.errors import Problem, ValueRefused
from gemsim.spec.decide import VARIANTS, refuse_undecided, values_of
from gemsim.spec.draft import Draft, point_of
from gemsim.spec.paths import locate
from gemsim.spec.study import StudySpec
from gemsim.spec.tried import Row, key_of, rows_of
from gemsim.spec.yaml import Path, Tree, dotted

Axis = tuple[str, str]  # a path, and what the row puts above it, which may be what makes it one
_TRIED_AT_MOST = 5_000  # values × variants; those beyond are met when the sweep comes to them


def check_axes(
    tree: Tree, spec: StudySpec | None, elsewhere: frozenset[str] = frozenset()
) -> tuple[frozenset[str], frozenset[str], list[Problem]]:
    """The paths that some variant has, those that some variant lacks, and the problems of compare, sweep and decide.

    `elsewhere` are paths known to exist in another form of the study: a quick form may keep no variant that has them.
    With `spec` None (the study itself has problems) only the paths are looked up.
    """
    problems: list[Problem] = []
    drafts = [(name, draft) for name, draft in _variants(tree, problems, check=spec is not None)]
    found, lacking = _tried(tree, spec, drafts, list(rows_of(tree.data.get("sweep"))), elsewhere, problems)
    variables = _variables(tree)
    if variables:
        rows = _decided(tree, variables, problems)
        wider = _protections(tree, variables.get(VARIANTS), drafts, problems)
        more, less = _tried(tree, spec, wider, rows, elsewhere, problems)
        found, lacking = found | more, lacking | less
    return found, lacking, problems


def _tried(
    tree: Tree,
    spec: StudySpec | None,
    drafts: list[tuple[str, Draft]],
    rows: list[Row],
    elsewhere: frozenset[str],
    problems: list[Problem],
) -> tuple[frozenset[str], frozenset[str]]:
    """The paths of `rows` that some draft has, and those that some draft lacks; `problems` are added to."""
    before = len(problems)
    axes, found, refusals = _axes(rows), set[Axis](), dict[Axis, ValueRefused]()
    for _, draft in drafts:
        for axis, (_, above) in axes.items():
            try:
                locate(_with(tree, draft, above).raw if above else draft.raw, axis[0])
                found.add(axis)
            except ValueRefused as refused:
                refusals.setdefault(axis, refused)
    for axis, (source, _) in axes.items():
        if axis in refusals and axis not in found and axis[0] not in elsewhere:
            problems.append(_at(tree, key_of(axis[0], source), refusals[axis], at_key=True))
    if spec is not None and len(problems) == before:
        problems += _values(tree, [draft for _, draft in drafts], rows)
    return frozenset(path for path, _ in found), frozenset(path for path, _ in refusals)


def _variables(tree: Tree) -> dict[str, Any]:
    """The decision variables as they stand in the file; what is no mapping the models refuse."""
    decide = tree.data.get("decide")
    variables = decide.get("variables") if isinstance(decide, dict) else None
    return variables if isinstance(variables, dict) else {}


def _decided(tree: Tree, variables: dict[str, Any], problems: list[Problem]) -> list[Row]:
    """Each value of each decision variable, to be tried alone; whole protections are drafts of their own."""
    rows: list[Row] = []
    for path, given in variables.items():
        source: Path = ("decide", "variables", path)
        try:
            refuse_undecided(path)
            values = values_of(given)
        except ValueRefused as refused:
            problems.append(_at(tree, source, refused))
            continue
        if path != VARIANTS:
            rows += [[(path, value, (*source, at))] for at, value in enumerate(values)]
    return rows


def _protections(
    tree: Tree, given: Any, drafts: list[tuple[str, Draft]], problems: list[Problem]
) -> list[tuple[str, Draft]]:
    """The drafts with each protection that is to be decided put in; the drafts themselves where there is none."""
    found = []
    for name, draft in drafts:
        for at, value in enumerate(given if isinstance(given, list) else ()):
            source: Path = ("decide", "variables", VARIANTS, at)
            one = Draft(tree, draft.raw)
            try:
                one.put(VARIANTS, value, source)
            except ValueRefused as refused:
                problems.append(_at(tree, source, refused))
                continue
            problems += one.check()[1]
            found.append((f"{name} {at}", one))
    return found or drafts


def _at(tree: Tree, source: Path, refused: ValueRefused, *, at_key: bool = False) -> Problem:
    return Problem(tree.where(source, key=at_key), dotted(source), refused.what, refused.allowed, refused.todo)


def _variants(tree: Tree, problems: list[Problem], *, check: bool) -> Iterable[tuple[str, Draft]]:
    compare = tree.data.get("compare")
    if not isinstance(compare, dict) or not compare:
        yield "", Draft(tree, point_of(tree.data))
        return
    for name, overrides in compare.items():
        draft, before = Draft(tree, point_of(tree.data)), len(problems)
        for path, value in overrides.items() if isinstance(overrides, dict) else ():
            source: Path = ("compare", name, path)
            try:
                draft.put(path, value, source)
            except ValueRefused as refused:
                problems.append(_at(tree, source, refused, at_key=True))
        if check and len(problems) == before:
            problems += draft.check()[1]
        yield name, draft


def _axes(rows: list[Row]) -> dict[Axis, tuple[Path, Row]]:
    """The paths of `rows`, each where it stands first and with what its row puts above it."""
    first: dict[Axis, tuple[Path, Row]] = {}
    for row in rows:
        for path, _, source in row:
            above = [one for one in row if path.startswith(f"{one[0]}.")]
            first.setdefault((path, repr([value for _, value, _ in above])), (source, above))
    return first


def _with(tree: Tree, draft: Draft, row: Row) -> Draft:
    """A draft with a row put in, as far as it can be."""
    trial = Draft(tree, draft.raw, settle=False)
    for path, value, source in row:
        try:
            trial.put(path, value, source)
        except ValueRefused:
            continue
    return trial


def _values(tree: Tree, drafts: list[Draft], rows: list[Row]) -> list[Problem]:
    problems: dict[Problem, None] = {}
    for draft in drafts:
        for row in rows[: _TRIED_AT_MOST // len(drafts)]:
            trial = _with(tree, draft, row)
            if trial.origins:
                found = [_needs_section(tree, draft, row, one) or one for one in trial.check()[1]]
                problems.update(dict.fromkeys(found))
    return list(problems)


def _needs_section(tree: Tree, draft: Draft, row: Row, problem: Problem) -> Problem | None:
    """What a key missing beside a swept one comes to, where the study has not got their section; else None."""
    for path, _, source in row:
        section, _, key = path.rpartition(".")
        beside = problem.what.startswith(f"{section}.") and ": missing" in problem.what
        if not (section and beside) or _has(draft.raw, section):
            continue
        named = section.rpartition(".")[2]
        what, allowed = f"the study has no {section}, and {key} alone is none", "paths into what the study has"
        place = key_of(path, source)
        where, at = tree.where(place, key=True), dotted(place)
        return Problem(where, at, what, allowed, f"write {named} in the study first, then sweep {path}")
    return None


def _has(raw: Any, section: str) -> bool:
    """Whether a raw study has anything at a dotted path, or the path leads into a list."""
    for part in section.split("."):
        if isinstance(raw, list):
            return True
        raw = raw.get(part) if isinstance(raw, dict) else None
    return raw is not None
