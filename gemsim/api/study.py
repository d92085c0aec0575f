"""A study in a program: read, looked at, changed. Changing gives another study, so that one can be kept beside it."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from gemsim import resources
from gemsim.api import html
from gemsim.api.frames import frame, swept_by
from gemsim.costs.profiles import load_profile
from gemsim.errors import GemsimError, Problem, StudyError, ValueRefused, show
from gemsim.spec.changed import changed, one_point
from gemsim.spec.loading import LoadedStudy
from gemsim.spec.loading import load_study as read
from gemsim.spec.printing import canonical_yaml
from gemsim.study.choosing import choose_point
from gemsim.study.design import designs_of, short_names


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Study:
    """A checked study. `load_study` makes one; it never changes."""

    loaded: LoadedStudy
    quick: bool = False

    @property
    def title(self) -> str:
        """The question it asks."""
        return self.loaded.spec.title

    @property
    def path(self) -> Path:
        """The file it was read from."""
        return self.loaded.path

    @property
    def seed(self) -> int:
        """The seed of its random streams."""
        return self.loaded.spec.run.seed

    @property
    def replications(self) -> int:
        """Runs of each design point."""
        return self.loaded.spec.run.replications

    @property
    def points(self) -> pd.DataFrame:
        """The design points, a row each, in the order of `sweep` and `predict`: `variant`, then the swept paths in SI.

        Whether one can exist is not known before it is built: see `predict`.
        """
        designs = designs_of(self.loaded)
        swept = swept_by(self.loaded, designs)
        rows = ({"variant": one.variant, **swept.row(one.columns)} for one in designs)
        return frame(rows, {"variant": "text", **swept.units})

    @property
    def text(self) -> str:
        """The study as YAML with every default written out, as `study.yaml` in an output folder has it."""
        return canonical_yaml(self.loaded.spec)

    def with_(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Study:
        """The study with other values at some paths, as they would stand in its file: numbers, or texts with a unit.

        Any path goes: of the model (`protection.stripe.k`), of the run (`run.seed`), `require.COLUMN`,
        `sweep.grid.PATH` (a list), `title`. A path that is swept or uncertain becomes fixed. None at `require.COLUMN`,
        `sweep.grid.PATH`, `compare.NAME` and the like takes it out. A mapping takes the place of a section; to change
        one key of it, give its path.

        Raises StudyError with every problem.

        >>> import gemsim as gs
        >>> study = gs.load_study("widths", quick=True)
        >>> fixed = study.with_({"protection.stripe.k": 32, "require.memory_overhead": "<= 1 %"})
        >>> len(study.points), len(fixed.points)
        (72, 24)
        """
        return Study(changed(self.loaded, {**(changes or {}), **more}), self.quick)

    def set(self, path: str, value: Any) -> Study:
        """`with_` of one path."""
        return self.with_({path: value})

    def point(self, *choice: str, index: int | None = None) -> Study:
        """The study of one design point, chosen as in `gemsim explain`: by `PATH=VALUE` (the end of a path will do,
        `variant=NAME` for one of `compare`), or by its `index` in `points`, from 0.

        Raises StudyError where that leaves none or several, ValueRefused for an index that is none.

        >>> import gemsim as gs
        >>> one = gs.load_study("widths", quick=True).point(
        ...     "k=16", "m=1", "mapping=interleaved", "restart=in_place", "lands=used")
        >>> len(one.points)
        1
        """
        design = choose_point(self.loaded, number=_number(self, choice, index), words=choice)
        return Study(one_point(self.loaded, design.assignments), self.quick)

    def __repr__(self) -> str:
        return f"Study({', '.join(f'{name}: {value}' for name, value in self._facts())})"

    def _repr_html_(self) -> str:
        return html.head(self.title) + html.facts(self._facts()[1:])

    def _facts(self) -> list[tuple[str, str]]:
        spec, designs = self.loaded.spec, designs_of(self.loaded)
        names = short_names(list(designs[0].columns))
        axes = [f"{names[path]} ({len({str(one.columns[path]) for one in designs} - {''})})" for path in names]
        pairs = [
            ("title", self.title),
            ("file", f"{self.path}{' (its quick form)' if self.quick else ''}"),
            ("job", f"{spec.cluster.gpus:,} {spec.cluster.gpu}"),
            ("design points", str(len(designs))),
            ("swept", ", ".join(axes)),
            ("compared", ", ".join(spec.compare)),
            ("replications", f"{self.replications}, seed {self.seed}"),
            ("costs", self._costs()),
        ]
        return [(name, value) for name, value in pairs if value]

    def _costs(self) -> str:
        """Which profile the costs of coding come from, and whether it was measured."""
        try:
            profile = load_profile(self.loaded.spec.profile)
        except GemsimError as error:
            return f"none: {error}"
        return f"profile {profile.id}, {'measured' if profile.kind == 'measured' else 'modelled, not measured'}"


def _number(study: Study, choice: tuple[str, ...], index: int | None) -> int | None:
    """The number of a design point from 1, as the command counts, from its index in `points`. Raises ValueRefused."""
    for word in choice:
        if not isinstance(word, str):
            raise ValueRefused(f"not a choice ({show(word)})", "texts such as 'k=16'; for a number write index=")
    if index is None:
        return None
    last = len(designs_of(study.loaded)) - 1
    if not 0 <= index <= last:
        raise ValueRefused(f"no such design point ({show(index)})", f"index from 0 to {last}, as in study.points")
    return index + 1


def load_study(path: str | PathLike[str], quick: bool = False) -> Study:
    """Read and check a study: a YAML file, or the name of one that ships with gemsim (`widths`, `systems/gemini`).

    With `quick` its `quick:` section is laid over it; one without such a section stays whole, with a warning. Raises
    StudyError with every problem, each with file, line and column.

    >>> import gemsim as gs
    >>> gs.load_study("widths", quick=True).replications
    4
    """
    loaded = read(_file(path), quick=quick)
    if quick and not loaded.has_quick:
        warnings.warn(f"{loaded.path}: has no `quick:` section, so this is the full study", stacklevel=2)
    return Study(loaded, quick and loaded.has_quick)


def as_study(study: Study | str | PathLike[str]) -> Study:
    """A study, or the one of this name."""
    return study if isinstance(study, Study) else load_study(study)


def shipped() -> dict[str, Path]:
    """The studies that ship with gemsim, by name."""
    root = resources.studies()
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def _file(path: str | PathLike[str]) -> Path:
    """A file that exists, else a shipped study. Raises StudyError for a bare name that is neither."""
    file = Path(path)
    if file.suffix in (".yaml", ".yml") or file.is_file():
        return file
    known = shipped()
    name = file.as_posix()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    allowed = f"a YAML file, or one of {', '.join(one for one in known if '/' not in one)}, …"
    todo = f"did you mean '{near[0]}'?" if near else ""
    raise StudyError([Problem(str(path), "", "no such study", allowed, todo)])
