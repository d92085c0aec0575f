"""Some hundreds of broken studies: each loads, or StudyError says why, in one line for each problem."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.errors import Problem, StudyError
from gemsim.spec.loading import parse_study

STUDIES = [path.read_bytes() for path in sorted((Path(__file__).parent / "valid").glob("*.yaml"))]
VALUES = [
    "", "~", "{}", "[]", "-1", "0", "1e400", ".nan", "-.inf", "true", "'", '"', "{", "[", "&a", "*a", "!x", "<<",
    "? ", "- ", ": ", "\t", "\x00", "\x85", "é", "x" * 3000, "9" * 5000, "3 h", "0.5 %", "a.b.c", "[[1, 1]]",
    "{a: {b: {c: []}}}", "[null]", "|", ">", "%", "@", "`", "#", "---", "...", "optimal", "stripe", "failures.classes",
    "2024-01-01", "0x", "null: null",
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
    "title", "cluster", "workload", "restart", "failures", "protection", "sweep", "compare", "require", "profile",
    "run", "quick",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(section=st.sampled_from(SECTIONS), value=PLAIN)
def test_any_value_of_a_section_loads_or_is_explained(section: str, value: object) -> None:
    """JSON is YAML, so any plain value can stand where a section stands."""
    kept = [line for line in STUDIES[-1].decode().splitlines() if not line.startswith(f"{section}:")]
    loads_or_explains("\n".join([*kept, f"{section}: {json.dumps(value)}"]).encode())
