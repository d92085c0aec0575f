"""What the groups of a sweep are called on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gemsim.results.summary import job_named
from gemsim.study.advice import Group
from gemsim.study.design import short_names

LONGEST_SECTION = 24  # characters of a section that tells groups apart


def titles_of(groups: Sequence[Group]) -> list[str]:
    """What tells the groups apart: the fewest leading axes, by their short names.

    Where all variants are called "job: system", the job stands in the title for the sections that make it.
    """
    keys = [dict(group.key) for group in groups]
    paths = list(dict.fromkeys(path for key in keys for path in key))
    names = short_names(paths)
    values = [tuple(key.get(path, "") for path in paths) for key in keys]
    enough = next((n for n in range(len(paths) + 1) if len({v[:n] for v in values}) == len(groups)), len(paths))
    told = [path for n, path in enumerate(paths) if n < enough or _differs(keys, path)]
    jobs = [job_of(group) for group in groups]
    if all(jobs):
        told = [path for path in told if not any(key.get(path, "").startswith("{") for key in keys)]
    shown = [", ".join(f"{names[p]} = {_number(key[p])}" for p in told if p in key) for key in keys]
    if all(jobs):
        shown = [": ".join(filter(None, both)) for both in zip(jobs, shown, strict=True)]
    return [title or ("as written" if len(groups) > 1 else "All points") for title in shown]


def job_of(group: Group) -> str:
    """The word before ": " that the names of all variants of a group share; else nothing."""
    jobs = {job_named(point.variant) for point in group.points}
    return jobs.pop() if len(jobs) == 1 else ""


def _differs(keys: Sequence[Mapping[str, str]], path: str) -> bool:
    """The restart mode decides so much that it is named wherever it differs."""
    return path.startswith("restart") and len({key.get(path, "") for key in keys}) > 1


def _number(text: str) -> str:
    """A swept value as short as it can be written; of a section, its beginning."""
    if text.startswith("{") and len(text) > LONGEST_SECTION:
        return f"{text[:LONGEST_SECTION]}…"
    try:
        short = f"{float(text):g}"
    except ValueError:
        return text
    return short if float(short) == float(text) else text
