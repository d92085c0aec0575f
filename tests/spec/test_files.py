"""Files that are no study at all: bytes, size, depth, aliases, syntax; one clear line each, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemsim.errors import StudyError
from gemsim.spec import yaml
from gemsim.spec.loading import load_study, parse_study

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(f'*{a}' for _ in range(10))}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (b"", "f:1:1: the file is empty"),
        (b" \n\n", "f:1:1: the file is empty"),
        (b"# nothing but a comment\n", "f:1:1: the file holds no study"),
        (b"title: a\nnotes: \xff\n", "f:2:8: not UTF-8 text (byte 0xff); UTF-8; save the file as UTF-8"),
        ("title: a\n".encode("utf-16"), "f:1:1: not UTF-8 text"),
        (b"title: a\x00b\n", "f:1:9: a control character"),
        (b"just words\n", "f:1:1: not a mapping ('just words')"),
        (b"- a\n- b\n", "f:1:1: not a mapping"),
        (b"null\n", "f:1:1: not a mapping (nothing)"),
        (b"a: [1, 2\nb: 3\n", "not YAML"),
        (b"a: b: c\n", "f:1:5: not YAML"),
        (b"a: 'open\n", "not YAML"),
        (
            b"a:\n\tb: 1\n",
            "f:2:1: not YAML (found character '\\t' that cannot start any token); YAML 1.2; indent with spaces",
        ),
        (b"%YAML 9.9\n---\na: 1\n", "not YAML"),
        (b"a: " + b"[" * 5000 + b"\n", "f:1:43: nested too deep (more than 40)"),
        (b"".join(b" " * n + b"a:\n" for n in range(60)), "nested too deep"),
        (b"a: x\n" * 300_000, "f:1:1: the file is too large (1500000 bytes); at most 250000 bytes"),
        (BOMB.encode(), "more than 100000 values once aliases are expanded"),
        (b"? [a, b]\n: 1\n", "not a key (a collection)"),
        (b"&a a: &b [*b]\n", "an alias that contains itself"),
        (b"a: !!binary aGVsbG8=\n", "a tag ('tag:yaml.org,2002:binary')"),
        (b"a: !!set {x, y}\n", "a tag ('tag:yaml.org,2002:set')"),
        (b"a: !!int x\n", "not a number ('x')"),
        (b"a: !!python/object/apply:os.system ['true']\n", "a tag"),
    ],
)
def test_what_is_no_study_is_said_in_one_line(content: bytes, fragment: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(content, "f")
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.problems)
    assert any(fragment in line for line in lines), lines


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, Path("\0")):
        with pytest.raises(StudyError, match="cannot be read"):
            load_study(path)


def test_yaml_is_read_by_version_1_2() -> None:
    tree = yaml.read_tree(
        b"a: no\nb: 1e3\nc: 010\nd: 0x10\ne: 1:30\nf: 2024-01-01\ng: ~\nh: True\ni: 12e03\nj: -3\n", "f"
    )
    assert not tree.problems
    assert tree.data == {
        "a": "no", "b": 1000.0, "c": 10, "d": 16, "e": "1:30",
        "f": "2024-01-01", "g": None, "h": True, "i": 12000.0, "j": -3,
    }  # fmt: skip


def test_positions_are_of_keys_and_values() -> None:
    tree = yaml.read_tree(b"\xef\xbb\xbfa:\n  b: [1, {c: 2}]\nd:\ne: &x 5\nf: *x\n", "f")
    assert tree.keys["a", "b"] == (2, 3)
    assert tree.values["a", "b", 1, "c"] == (2, 14)
    assert tree.values["d",] == (3, 1)
    assert tree.data["f"] == 5
    assert tree.where(("a", "b", "c")) == "f:2:6"
    assert tree.where(("a", "b", "c"), key=True) == "f:2:3"
    assert tree.where(("nowhere",)) == "f:1:1"
