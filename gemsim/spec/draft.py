"""A raw study with values put in, and where in the file each came from; a check gives a spec or problems."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from gemsim.errors import Problem, ValueRefused
from gemsim.spec.across import refuse_batches, refuse_remaps, refuse_repairs, refuse_spares, refuse_unknown_repairs
from gemsim.spec.beside import beside
from gemsim.spec.cluster import ClusterSpec
from gemsim.spec.failures import FailureClassSpec, FailuresSpec
from gemsim.spec.fleet import FleetSpec, SparesSpec
from gemsim.spec.messages import Finding, findings, renamed
from gemsim.spec.paths import assign, locate, normalised
from gemsim.spec.protection.kinds import refuse_labels
from gemsim.spec.study import StudySpec, Tiers, refuse_layout
from gemsim.spec.systems import moved
from gemsim.spec.workload import ParallelSpec
from gemsim.spec.yaml import Path, Tree, dotted


def point_of(raw: dict[str, Any]) -> dict[str, Any]:
    """A raw study without what it varies: the raw form of a design point."""
    varied = ("sweep", "compare", "decide", "quick", "uncertain")
    return {key: value for key, value in raw.items() if key not in varied}


def in_order(problems: list[Problem]) -> list[Problem]:
    """By place in the file; at one place only the first found, which the others follow from."""
    first: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        first.setdefault((problem.where, problem.path), problem)
    return sorted(first.values(), key=lambda problem: [int(n) for n in problem.where.rsplit(":", 2)[1:]])


class Draft:
    """The raw tree of one design point in the making; uncertain inputs have their nominal values unless told not to."""

    def __init__(self, tree: Tree, raw: dict[str, Any] | None = None, *, settle: bool = True) -> None:
        self.tree = tree
        given = tree.data if raw is None else raw
        self.raw = normalised(given)
        self.named = _named(given.get("protection"), ("protection",))
        self.origins: list[tuple[Path, Path]] = []
        for path, value in tree.nominal.items() if settle else ():
            assign(self.raw, locate(self.raw, path), value)

    def put(self, path: str, value: Any, source: Path) -> None:
        """Put a value at a path; `source` is its place in the file. Raises ValueRefused where there is no such path."""
        place = locate(self.raw, path)
        assign(self.raw, place, value)
        self.origins.append((place, source))
        if place == ("protection",):
            self.origins += _named(value, source)

    def check(self, known: StudySpec | None = None) -> tuple[StudySpec | None, list[Problem]]:
        """The spec and no problems, or None and all that is wrong. `known`: of the tree without what was put in; its
        sections are not read again where nothing was."""
        with beside(self.tree.folder):
            return self._check(known)

    def _check(self, known: StudySpec | None) -> tuple[StudySpec | None, list[Problem]]:
        if known is not None:
            try:
                return StudySpec.model_validate(self._read(known)), []
            except ValidationError:
                pass  # what is wrong is found in the plain tree
        try:
            return StudySpec.model_validate(self.raw), []
        except ValidationError as error:
            found = findings(error)
        repaired, moved = renamed(self.raw, found)
        found = [one for one in found if one.path not in moved]
        if moved:
            try:
                StudySpec.model_validate(normalised(repaired))
            except ValidationError as error:
                found += [
                    Finding(_back(one.path, moved), one.refused, at_key=one.at_key)
                    for one in findings(error)
                    if not (one.refused.at and one.path in moved)  # follows from where the key would stand
                ]
        found += _across(self.raw)
        problems = [self.problem(one) for one in found if not self._follows(one.path)]
        return None, in_order(problems)

    def _read(self, known: StudySpec) -> dict[str, Any]:
        """The raw tree, with the sections and tiers that are as they were in the place of what they were read from."""
        changed = {place[:1] for place, _ in self.origins}
        raw = {key: value if (key,) in changed else getattr(known, key) for key, value in self.raw.items()}
        tiers = self.raw.get("protection")
        if ("protection",) in changed and isinstance(tiers, list) and len(tiers) == len(known.protection):
            whole = any(len(place) < 2 for place, _ in self.origins if place[0] == "protection")
            touched = {place[1] for place, _ in self.origins if place[0] == "protection" and len(place) > 1}
            if not whole:
                raw["protection"] = [tier if at in touched else known.protection[at] for at, tier in enumerate(tiers)]
        return raw

    def _follows(self, path: Path) -> bool:
        """Whether a finding follows from a fault of the file itself at, above or below its path."""
        pairs = [(path[: len(fault)], fault[: len(path)]) for fault in self.tree.faults if fault and path]
        return any(ours == theirs for ours, theirs in pairs)

    def problem(self, finding: Finding) -> Problem:
        """A finding with its place in the file: that of the value put in, where it is at or under one."""
        at, refused = finding.path, finding.refused
        for place, source in (*reversed(self.origins), *self.named):
            if at[: len(place)] == place:
                at = source + at[len(place) :]
                break
        else:
            if self.origins:
                at, refused = self.origins[0][1], self._with_values(refused, at)
        where = self.tree.where(at, key=finding.at_key)
        return Problem(where, dotted(at), refused.what, refused.allowed, refused.todo)

    def _with_values(self, refused: ValueRefused, at: Path) -> ValueRefused:
        """The same, saying where in the design point it arises: the cause is a value put in elsewhere."""
        return ValueRefused(f"{dotted(at)}: {refused.what}" if at else refused.what, refused.allowed, refused.todo)


def _named(value: Any, source: Path) -> list[tuple[Path, Path]]:
    """Where the settings that change a named system came to lie in the tiers written out."""
    return [(("protection", *place), (*source, *at)) for place, at in moved(value)]


def _back(path: Path, moved: dict[Path, Path]) -> Path:
    """A path in a repaired tree as it is in the file."""
    for new, old in moved.items():
        if path[: len(new)] == new:
            return old + path[len(new) :]
    return path


def _across(raw: dict[str, Any]) -> list[Finding]:
    """The checks across sections, made also where other parts of the study are at fault."""
    found = []
    for check in (_layout, _labels, _spares, _batches, _repairs, _remaps, _unknown_repairs):
        try:
            check(raw)
        except ValueRefused as refused:
            found.append(Finding(refused.at, refused))
        except (ValidationError, KeyError, TypeError):
            continue  # the parts themselves are at fault, which is reported already
    return found


def _layout(raw: dict[str, Any]) -> None:
    cluster = ClusterSpec.model_validate(raw["cluster"])
    refuse_layout(cluster.gpus, ParallelSpec.model_validate(raw["workload"]["parallel"]))


def _labels(raw: dict[str, Any]) -> None:
    refuse_labels(TypeAdapter(Tiers).validate_python(raw["protection"]))


def _spares(raw: dict[str, Any]) -> None:
    refuse_spares(SparesSpec.model_validate(raw["fleet"]["spares"]), ClusterSpec.model_validate(raw["cluster"]))


def _batches(raw: dict[str, Any]) -> None:
    refuse_batches(_classes(raw), ClusterSpec.model_validate(raw["cluster"]))


def _repairs(raw: dict[str, Any]) -> None:
    refuse_repairs(_classes(raw), FleetSpec.model_validate(raw.get("fleet", {})))


def _remaps(raw: dict[str, Any]) -> None:
    refuse_remaps(FailuresSpec.model_validate(raw["failures"]), FleetSpec.model_validate(raw.get("fleet", {})))


def _unknown_repairs(raw: dict[str, Any]) -> None:
    failures = FailuresSpec.model_validate(raw["failures"])
    refuse_unknown_repairs(failures, FleetSpec.model_validate(raw.get("fleet", {})))


def _classes(raw: dict[str, Any]) -> tuple[FailureClassSpec, ...]:
    return tuple(FailureClassSpec.model_validate(one) for one in raw["failures"]["classes"])
