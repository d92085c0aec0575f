"""Some hundreds of broken studies: each loads, or StudyError says why, in one line for each problem."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.errors import Problem, StudyError
from gemsim.spec import yaml
from gemsim.spec.draft import Draft, point_of
from gemsim.spec.implied import implied
from gemsim.spec.loading import parse_study
from gemsim.spec.printing import canonical, study_hash

VALID = Path(__file__).parent / "valid"
STUDIES = [path.read_bytes() for path in sorted(VALID.glob("*.yaml"))]
VALUES = [
    "", "~", "{}", "[]", "-1", "0", "1e400", ".nan", "-.inf", "true", "'", '"', "{", "[", "&a", "*a", "!x", "<<",
    "? ", "- ", ": ", "\t", "\x00", "\x85", "é", "x" * 3000, "9" * 5000, "3 h", "0.5 %", "a.b.c", "[[1, 1]]",
    "{a: {b: {c: []}}}", "[null]", "|", ">", "%", "@", "`", "#", "---", "...", "optimal", "stripe", "failures.classes",
    "2024-01-01", "0x", "null: null", "1 .. 2", "beta(14, 19)", "gamma from 3 events in 9 d", "1 min ± 20 %",
]  # fmt: skip


def loads_or_explains(content: bytes) -> None:
    problems = problems_of(content)
    lines = [line for problem in problems for line in str(problem).splitlines()]
    assert len(lines) == len(problems), lines
    assert all(line.startswith("study.yaml:") and len(line) < 1000 for line in lines), lines


def problems_of(content: bytes) -> list[Problem]:
    try:
        parse_study(content, "study.yaml")
    except StudyError as error:
        return error.problems or [Problem("", "", "no problem is told")]
    return []


def mutated(text: bytes, draw: random.Random) -> bytes:
    """One to three changes: a value or key replaced, a line cut, doubled, moved or indented, bytes damaged."""
    for _ in range(draw.randint(1, 3)):
        lines = text.split(b"\n")
        at = draw.randrange(len(lines))
        kind = draw.randrange(7)
        value = draw.choice(VALUES).encode()
        if kind == 0:
            head, colon, _ = lines[at].rpartition(b": ")
            lines[at] = head + colon + value
        elif kind == 1:
            words = lines[at].split(b" ")
            words[draw.randrange(len(words))] = value
            lines[at] = b" ".join(words)
        elif kind == 2:
            del lines[at]
        elif kind == 3:
            lines.insert(draw.randrange(len(lines)), lines[at])
        elif kind == 4:
            lines[at] = b" " * draw.randint(1, 4) + lines[at]
        elif kind == 5:
            cut = draw.randrange(len(text) + 1)
            lines = (text[:cut] + bytes([draw.randrange(256)]) + text[cut + draw.randint(0, 3) :]).split(b"\n")
        else:
            words = lines[at].split(b" ")
            one, other = draw.randrange(len(words)), draw.randrange(len(words))
            words[one], words[other] = words[other], words[one]
            lines[at] = b" ".join(words)
        text = b"\n".join(lines)
    return text


@pytest.mark.parametrize("seed", range(20))
def test_a_mutated_study_loads_or_is_explained(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(20):
        loads_or_explains(mutated(draw.choice(STUDIES), draw))


KEYS = ("mode", "k", "mix", "grid", "name", "stripe")
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["mode", "k", "mix", "grid", "name"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SECTIONS = (
    "title", "cluster", "workload", "restart", "failures", "fleet", "protection", "sweep", "compare", "require",
    "profile", "run", "quick", "uncertain",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(section=st.sampled_from(SECTIONS), value=PLAIN)
def test_any_value_of_a_section_loads_or_is_explained(section: str, value: object) -> None:
    """JSON is YAML, so any plain value can stand where a section stands."""
    kept = [line for line in STUDIES[-1].decode().splitlines() if not line.startswith(f"{section}:")]
    loads_or_explains("\n".join([*kept, f"{section}: {json.dumps(value)}"]).encode())


FLEET = yaml.read_tree((VALID / "fleet.yaml").read_bytes(), "study.yaml")
KEYS_OF_A_FLEET = (
    "gamma", "lemons", "kind", "shape", "share", "sizes", "within", "beta", "again", "gap", "mean", "hot", "stages",
    "name", "time", "crews", "needed", "after", "score", "every", "finds", "cluster", "rack", "good",
)  # fmt: skip
WORDS = st.none() | st.sampled_from([-1, 0, 0.5, 1, 2, 1e300, True, *VALUES, *KEYS_OF_A_FLEET])
OF_A_FLEET = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS_OF_A_FLEET), inner, max_size=4),
    max_leaves=8,
)


def places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of a tree below its top."""
    for key, below in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*path, key)
        yield from places(below, (*path, key))


PLACES = [
    (section, *path) for section in ("failures", "fleet") for path in places(FLEET.data[section]) if path != ("mix",)
]


def altered(place: tuple[str | int, ...], *value: object) -> dict[str, Any]:
    """The study of a fleet, not swept, with another value at a place, or without that key."""
    tree = copy.deepcopy(point_of(FLEET.data))
    at: Any = tree
    for key in place[:-1]:
        at = at[key]
    if value:
        at[place[-1]] = value[0]
    else:
        del at[place[-1]]
    return tree


def reads_back_or_explains(raw: dict[str, Any]) -> None:
    """What passes all checks prints, and reads back to the same study; what does not is said in single lines."""
    spec, problems = Draft(FLEET, raw).check()
    if spec is None:
        assert problems
        for line in map(str, problems):
            assert line.startswith("study.yaml:")
            assert "\n" not in line
            assert len(line) < 1000
        return
    again, found = Draft(FLEET, canonical(spec)).check()
    assert not found
    assert again is not None
    assert study_hash(again) == study_hash(spec)
    assert all(row.value and row.origin for part in ("failures", "fleet") for row in implied(spec, part))


@settings(max_examples=400, deadline=None)
@given(place=st.sampled_from(PLACES), value=OF_A_FLEET)
def test_any_value_at_any_place_of_a_fleet_reads_back_or_is_explained(
    place: tuple[str | int, ...], value: object
) -> None:
    reads_back_or_explains(altered(place, value))


def test_a_fleet_without_any_one_key_reads_back_or_is_explained() -> None:
    for place in PLACES:
        reads_back_or_explains(altered(place))
