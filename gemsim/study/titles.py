"""What the groups of a sweep are called on the page: by what differs between them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gemsim.results.summary import job_named
from gemsim.study.advice import Group
from gemsim.study.design import short_names

LONGEST_VALUE = 24  # characters of a value that is no plain word or number
SHOWN_KEYS = 3  # of a section that tells groups apart, unless these are alike

Keys = Sequence[Mapping[str, str]]


def titles_of(groups: Sequence[Group]) -> list[str]:
    """What tells the groups apart: the fewest leading axes, by their short names.

    Sections stand in a title by the name of the variant that writes them, where each group has one variant, else by
    their keys that differ. Where all variants are called "job: system", the job stands for the sections that make it.
    """
    keys = [dict(group.key) for group in groups]
    names, told = [job_of(group) for group in groups], _telling(keys)
    sections = any(_is_section(key.get(path, "")) for key in keys for path in told)
    if all(names):
        told = [path for path in told if not any(key.get(path, "").startswith("{") for key in keys)]
    elif sections and all(alone := [_variant(group) for group in groups]):
        names, told = alone, [path for path in told if path in groups[0].points[0].columns]
    else:
        names = [""] * len(groups)
    shown = [": ".join(filter(None, both)) for both in zip(names, said(keys, told), strict=True)]
    return [title or ("as written" if len(groups) > 1 else "All points") for title in shown]


def job_of(group: Group) -> str:
    """The word before ": " that the names of all variants of a group share; else nothing."""
    jobs = {job_named(point.variant) for point in group.points}
    return jobs.pop() if len(jobs) == 1 else ""


def said(keys: Keys, told: Sequence[str] | None = None) -> list[str]:
    """Each of `keys` as text, by the paths `told`, or by those that tell them apart."""
    paths = _telling(keys) if told is None else told
    names = short_names(list(dict.fromkeys(path for key in keys for path in key)))
    for most in (SHOWN_KEYS, None):
        shown = [", ".join(_part(names[p], p, key, keys, most) for p in paths if p in key) for key in keys]
        if len(set(shown)) == len(keys):
            break
    return shown


def _variant(group: Group) -> str:
    """The variant of a group that holds no other; else nothing."""
    found = {point.variant for point in group.points}
    return found.pop() if len(found) == 1 else ""


def _telling(keys: Keys) -> list[str]:
    paths = list(dict.fromkeys(path for key in keys for path in key))
    values = [tuple(key.get(path, "") for path in paths) for key in keys]
    enough = next((n for n in range(len(paths) + 1) if len({v[:n] for v in values}) == len(keys)), len(paths))
    return [path for n, path in enumerate(paths) if n < enough or _differs(keys, path)]


def _differs(keys: Keys, path: str) -> bool:
    """The restart mode decides so much that it is named wherever it differs."""
    return path.startswith("restart") and len({key.get(path, "") for key in keys}) > 1


def _is_section(text: str) -> bool:
    return text.startswith(("{", "["))


def _part(name: str, path: str, key: Mapping[str, str], keys: Keys, most: int | None) -> str:
    """One path of a title; of a section the keys in which it differs from the others, at most so many."""
    own = _leaves(key[path])
    if own is None:
        return f"{name} = {_number(key[path])}"
    all_ = [_leaves(other.get(path, "")) or {} for other in keys]
    differing = [leaf for leaf in own if any(other.get(leaf) != own[leaf] for other in all_)] or list(own)
    parts = [f"{name}.{leaf} = {_number(own[leaf])}" for leaf in differing[:most]]
    return ", ".join(parts) + ("…" if len(parts) < len(differing) else "")


def _leaves(text: str) -> dict[str, str] | None:
    """The values of a section by their dotted keys; None for what is no section."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        return None
    return dict(_flat(found, "")) if found else None


def _flat(section: Mapping[str, Any], lead: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in section.items():
        if isinstance(value, dict):
            pairs += _flat(value, f"{lead}{key}.")
        else:
            pairs.append((f"{lead}{key}", value if isinstance(value, str) else json.dumps(value)))
    return pairs


def _number(text: str) -> str:
    """A swept value as short as it can be written; of what is no word or number, its beginning."""
    if _is_section(text) and len(text) > LONGEST_VALUE:
        return f"{text[:LONGEST_VALUE]}…"
    try:
        short = f"{float(text):g}"
    except ValueError:
        return text
    return short if float(short) == float(text) else text
