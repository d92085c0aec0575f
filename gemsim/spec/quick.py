"""The `quick` section: a smaller form of the study, laid over it.

Swept and sampled paths and decision variables are replaced path by path; `zip`, `points` and `nested` as a whole, and a
design of the sweep may be null: left out. `compare` may name the variants to keep; `run` and `require` merge.
"""

from __future__ import annotations

import copy
from typing import Any

from gemsim.errors import show
from gemsim.spec.paths import merge
from gemsim.spec.types import closest
from gemsim.spec.yaml import Path, Tree

SAMPLES = ("latin_hypercube", "sobol")
KEYS = ("sweep", "compare", "decide", "run", "require")


def without_quick(tree: Tree) -> Tree:
    """The study as it is in full, its `quick` section left out."""
    data = {key: value for key, value in tree.data.items() if key != "quick"}
    return Tree(
        tree.file, data, dict(tree.values), dict(tree.keys), faults=list(tree.faults), nominal=tree.nominal,
        folder=tree.folder,
    )  # fmt: skip


def with_quick(tree: Tree) -> Tree:
    """The study with its `quick` section laid over it; problems with that section are noted in the new tree."""
    merged = without_quick(tree)
    merged.data = copy.deepcopy(merged.data)
    quick = {} if tree.data.get("quick") is None else tree.data["quick"]
    if not isinstance(quick, dict):
        merged.complain(
            tree.values["quick",], ("quick",), f"not a mapping ({show(quick)})", f"a mapping of {', '.join(KEYS)}"
        )
        return merged
    for key, value in quick.items():
        place: Path = ("quick", key)
        if key not in KEYS:
            merged.complain(
                tree.keys[place], place, f"unknown key ({show(key)})", f"one of {', '.join(KEYS)}", closest(key, KEYS)
            )
        elif key == "sweep" and isinstance(value, dict):
            _lay_sweep(merged, value)
        elif key == "decide" and isinstance(value, dict):
            _lay_decide(merged, value)
        elif key == "compare" and isinstance(value, list):
            _keep_variants(merged, value)
        elif isinstance(value, dict) and isinstance(merged.data.get(key), dict):
            merge(merged.data[key], value)
            _move(merged, place, (key,))
        else:
            merged.data[key] = copy.deepcopy(value)
            _move(merged, place, (key,))
    return merged


def _lay_sweep(merged: Tree, sweep: dict[str, Any]) -> None:
    base = merged.data.get("sweep")
    base = merged.data["sweep"] = base if isinstance(base, dict) else {}
    for kind, axes in sweep.items():
        if axes is None:
            base.pop(kind, None)
        elif kind == "grid" and isinstance(axes, dict) and isinstance(base.get("grid"), dict):
            base["grid"].update(copy.deepcopy(axes))
        elif kind in SAMPLES and isinstance(axes, dict) and isinstance(base.get(kind), dict):
            _lay_sample(base[kind], axes)
        else:
            base[kind] = copy.deepcopy(axes)
    _move(merged, ("quick", "sweep"), ("sweep",))


def _lay_sample(base: dict[str, Any], over: dict[str, Any]) -> None:
    """Another number or seed; what a path is drawn from is replaced, path by path."""
    for key, value in over.items():
        if key == "over" and isinstance(value, dict) and isinstance(base.get(key), dict):
            base[key].update(copy.deepcopy(value))
        else:
            base[key] = copy.deepcopy(value)


def _lay_decide(merged: Tree, decide: dict[str, Any]) -> None:
    base = merged.data.get("decide")
    base = merged.data["decide"] = base if isinstance(base, dict) else {}
    for key, value in decide.items():
        if key == "variables" and isinstance(value, dict) and isinstance(base.get(key), dict):
            base[key].update(copy.deepcopy(value))
        else:
            base[key] = copy.deepcopy(value)
    for key, value in decide.items():
        places: list[Path] = [(key, path) for path in value] if isinstance(value, dict) else [(key,)]
        for place in places:
            _forget(merged, ("decide", *place))
    _move(merged, ("quick", "decide"), ("decide",))


def _forget(merged: Tree, place: Path) -> None:
    """Drop the positions of what was replaced."""
    for table in (merged.values, merged.keys):
        for path in [path for path in table if path[: len(place)] == place]:
            del table[path]


def _keep_variants(merged: Tree, names: list[Any]) -> None:
    variants = merged.data.get("compare")
    variants = variants if isinstance(variants, dict) else {}
    for at, name in enumerate(names):
        if str(name) not in variants:
            place: Path = ("quick", "compare", at)
            allowed = f"one of {', '.join(variants)}" if variants else "the study compares nothing"
            merged.complain(
                merged.values[place], place, f"unknown variant ({show(name)})", allowed, closest(str(name), variants)
            )
    merged.data["compare"] = {name: value for name, value in variants.items() if name in names}


def _move(merged: Tree, old: Path, new: Path) -> None:
    """Let the positions of what was under `old` stand for what is now under `new`."""
    for table in (merged.values, merged.keys):
        for path in [path for path in table if path[: len(old)] == old]:
            table[new + path[len(old) :]] = table[path]
