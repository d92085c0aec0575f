"""Broken inputs from good ones: trees, tables and bytes changed at random, the same for the same seed.

A change either breaks what a reader relies on (syntax, types, encodings) or puts a value where it is legal and unusual,
so that what passes all checks reaches the engine too.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """YAML that is written as it stands: tags, anchors, numbers that JSON has not."""

    text: str


@dataclass(frozen=True, slots=True)
class Twice:
    """A key that is written a second time, with another value."""

    first: Any
    second: Any


NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 7, 0.5, 1e-9, 1e-300, 5e-324, 1e308, -1e308, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**9, 10**18,
    *map(Raw, ("-0", "-0.0", ".nan", ".inf", "-.inf", "1e400", "1_000", "0x10", "0o17", "1e", "+5", "1.", ".5")),
    Raw("1" + "0" * 400), Raw("9" * 5000), Raw("0." + "0" * 400 + "1"),
)  # fmt: skip
QUANTITIES = (
    "1 s", "0 s", "-1 s", "1 us", "1e-9 s", "100000 d", "36500 d", "1e308 d", "1e999 s", "3 h", "3h", "3 H", "1 m",
    "1 min", "1 B", "1 b", "1 PB", "1000000 PB", "1 B/s", "400 Gb/s", "1 PB/s", "1 Gb", "0 %", "0.5 %", "50 %", "100 %",
    "101 %", "1e-9 %", "1 / d", "1 / gpu d", "1 / 1e-300 s", "1e308 / us", "0 / d", "1 / 0 d", "6.5 / 1000 node d",
    "1 TFLOP/s", "700 W", "1,5 s", "1.500 s", "१ s", "∞ s", "1 µs", "1 s .. 2 s", "2 s .. 1 s", "beta(14, 19)",
    "beta(0, 0)", "beta(1e308, 1e-308)", "gamma from 3 events in 9 d", "gamma from 0 events in 1 us", "1 min ± 20 %",
    "optimal", "5 s ± 1e308 %",
)  # fmt: skip
TEXTS = (
    "", " ", "~", "null", "true", "yes", "a.b.c", "variant", "x" * 100, "x" * 20_000, "é" * 500, "\u202eabc\u202c",
    "\x1b[31mred",
    "\x00", "\x07", "\ud800", "\udfff\ud800", "\ufeff", "\u2028", "\x85", "a\nb", "a\tb", "a\rb", "\u017ftripe",
    "e\u0301" * 50,
    "../../../etc/passwd", "/etc/shadow", "/dev/zero", "/dev/stdin", "$HOME", "${PATH}", "~root", "%s%s%n",
    "{0.__class__}",
    "{{ 7 * 7 }}", "__import__('os').system('x')", "'; drop", "-", "?", "[", "]", "{", "&a", "*a", "!x", "<<", "@",
    "`", "|",
    "none", "all", "2024-01-01", "nan", "inf",
)  # fmt: skip
TAGS = tuple(
    map(
        Raw,
        (
            "!!python/object/apply:os.system ['touch fuzz-was-here']", "!!python/name:os.system",
            "!!python/object:os.PathLike {}",
            "!include other.yaml", "!include /etc/passwd", "!!binary aGVsbG8=", "!!set {a, b}", "!!omap [a: 1]",
            "!!str 5",
            "!!int '5'", "!!float 1", "!!timestamp 2024-01-01", "!<tag:example,2024:x> 1", "!!null ''", "!!map {}",
            "!!seq []",
            "&a [*a]", "*nowhere", "&a 1", "&a {b: *a}", "? {a: 1} : 2", "[1, 2", "{a: 1", "'", '"', "|\n  text",
            ">\n  folded",
            "%YAML 1.1", "--- 1", "... ", "# gone", "\t1", "@x", "`x`", "'a' b", "{<<: {a: 1}}", "{a: 1, a: 2}",
            "{1: 2}",
            "{null: 1}", "{true: 1}", "{[a]: 1}",
        ),
    )
)  # fmt: skip
HOSTILE_BYTES = (
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\r",
    b"\t",
    b"\x1a",
    b"\x85",
    b"\xf4\x90\x80\x80",
)


def bomb(levels: int) -> Raw:
    """Aliases that expand to 9 ** levels values: billion laughs."""
    lines = ["[&l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"&l{at} [{', '.join([f'*l{at - 1}'] * 9)}]" for at in range(1, levels)]
    return Raw(", ".join(lines) + "]")


def deep(levels: int, left: str = "[", right: str = "]") -> Raw:
    """A value within a value within …"""
    return Raw(left * levels + "1" + right * levels)


def write(value: Any, indent: int = 0) -> str:
    """A tree as YAML in block style; a leaf as JSON, which is YAML, or as it stands."""
    pad = " " * indent
    if isinstance(value, Mapping) and value:
        return "".join(_pair(pad, key, below, indent) for key, below in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}- {_leaf(one)}\n" for one in value)
    return f"{pad}{_leaf(value)}\n"


def _pair(pad: str, key: Any, below: Any, indent: int) -> str:
    if isinstance(below, Twice):
        return _pair(pad, key, below.first, indent) + _pair(pad, key, below.second, indent)
    name = key if isinstance(key, str) and re.fullmatch(r"[A-Za-z_][\w.]*|<<", key) else _leaf(key)
    if isinstance(below, Mapping) and below:
        return f"{pad}{name}:\n{write(below, indent + 2)}"
    return f"{pad}{name}: {_leaf(below)}\n"


def _leaf(value: Any) -> str:
    """In flow style, on one line."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Twice):
        return _leaf(value.first)
    if isinstance(value, Mapping):
        pairs = ((one, below.second if isinstance(below, Twice) else below) for one, below in value.items())
        return "{" + ", ".join(f"{_leaf(key)}: {_leaf(below)}" for key, below in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_leaf, value)) + "]"
    return json.dumps(value)


def places(tree: Any, path: Path = ()) -> Iterator[Path]:
    """Every place of a tree below its top."""
    for key, below in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*path, key)
        yield from places(below, (*path, key))


def at(tree: Any, path: Path) -> Any:
    """What stands at a place."""
    for key in path:
        tree = tree[key]
    return tree


@dataclass(frozen=True)
class Seeds:
    """Good trees, and every value they hold by the key it stands at: what is legal there, somewhere."""

    trees: tuple[dict[str, Any], ...]
    by_key: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, trees: Sequence[dict[str, Any]]) -> Seeds:
        """Collect the values of all trees."""
        found: dict[str, list[Any]] = {}
        for tree in trees:
            for path in places(tree):
                name = next((str(part) for part in reversed(path) if isinstance(part, str)), "").rpartition(".")[2]
                value = at(tree, path)
                if value not in found.setdefault(name, []):
                    found[name].append(value)
        return cls(tuple(trees), {name: tuple(values) for name, values in found.items()})


def hostile(draw: random.Random) -> Any:
    """A value that few places allow."""
    kind = draw.randrange(12)
    if kind < 3:
        return draw.choice(NUMBERS)
    if kind < 6:
        return draw.choice(QUANTITIES)
    if kind < 8:
        return draw.choice(TEXTS)
    if kind == 8:
        return draw.choice(TAGS)
    if kind == 9:
        return draw.choice((None, True, False, [], {}, [[]], {"": None}, [None], [1, [2, {}]], {"a": {"b": {}}}))
    if kind == 10:
        return draw.choice(
            (bomb(3), bomb(9), deep(30), deep(60), deep(3000), deep(30, "{a: ", "}"), deep(500, "{a: ", "}"))
        )
    return [draw.choice(NUMBERS), draw.choice(QUANTITIES), draw.choice(TEXTS)]


def nudged(value: Any, draw: random.Random) -> Any:
    """A value of the same form: another number before the unit, one more or less, a list cut or doubled."""
    factor = draw.choice((0, 0.1, 0.5, 0.999, 1.001, 2, 10, 1000, 1e6))
    if isinstance(value, bool) or value is None:
        return draw.choice((True, False, None))
    if isinstance(value, int):
        value = value if abs(value) < 2**64 else 1
        return draw.choice((value + 1, value - 1, value * 2, value // 2, 0, 1, int(value * factor)))
    if isinstance(value, float):
        return value * factor
    if isinstance(value, list):
        return draw.choice((value[::-1], value + value, value[:1], value[1:], [*value, hostile(draw)]))
    if isinstance(value, str):
        found = re.match(r"([\d.]+)(.*)", value, re.DOTALL)
        return (
            f"{float(found[1]) * factor:g}{found[2]}"
            if found and found[1].count(".") < 2 and found[1] != "."
            else value
        )
    return value


def _put(tree: Any, path: Path, value: Any) -> None:
    at(tree, path[:-1])[path[-1]] = value


def _changed(tree: Any, draw: random.Random, seeds: Seeds) -> None:
    """One change of a tree, in place."""
    found = list(places(tree))
    if not found:
        return
    path = draw.choice(found)
    value, above = at(tree, path), at(tree, path[:-1])
    name = next((str(part) for part in reversed(path) if isinstance(part, str)), "").rpartition(".")[2]
    kind = draw.randrange(14)
    if kind <= 1:
        _put(tree, path, hostile(draw))
    elif kind <= 5:
        _put(tree, path, nudged(value, draw))
    elif kind <= 9:
        _put(tree, path, copy.deepcopy(draw.choice(seeds.by_key.get(name, (None,)))))
    elif kind == 10:
        del above[path[-1]]
    elif kind == 11:
        other = draw.choice(found)
        _put(tree, path, copy.deepcopy(at(tree, other)))
    elif kind == 12 and isinstance(above, dict):
        _rename(above, path[-1], draw, seeds)
    elif isinstance(above, dict):
        _add(above, path[-1], value, draw, seeds)
    else:
        above.insert(0, copy.deepcopy(value))


def _rename(above: dict[Any, Any], key: Any, draw: random.Random, seeds: Seeds) -> None:
    word = str(key)
    cut = draw.randrange(len(word) + 1)
    new = draw.choice(
        (
            word[:cut] + word[cut + 1 :],
            word.upper(),
            f"{word}.{word}",
            *draw.sample(TEXTS, 3),
            draw.choice(list(seeds.by_key)),
        )
    )
    above[new] = above.pop(key)


def _add(above: dict[Any, Any], key: Any, value: Any, draw: random.Random, seeds: Seeds) -> None:
    """A key twice, a merge key, or a key of another place with a value it has there."""
    kind = draw.randrange(4)
    if kind == 0:
        above[key] = Twice(value, hostile(draw))
    elif kind == 1:
        above["<<"] = draw.choice((Raw("{a: 1}"), Raw("*a"), {"a": copy.deepcopy(value)}))
    else:
        name = draw.choice(list(seeds.by_key))
        above[name] = copy.deepcopy(draw.choice(seeds.by_key[name]))


def mutated_tree(draw: random.Random, seeds: Seeds) -> Any:
    """A good tree after one to three changes; one time in eight a section of another one is put in first."""
    tree = copy.deepcopy(draw.choice(seeds.trees))
    if draw.randrange(8) == 0:
        other = draw.choice(seeds.trees)
        section = draw.choice(list(other))
        tree[section] = copy.deepcopy(other[section])
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        _changed(tree, draw, seeds)
    return tree


def mutated_bytes(raw: bytes, draw: random.Random) -> bytes:
    """Text damaged as text: bytes, lines, line ends, encodings."""
    changes: tuple[Callable[[], bytes], ...] = (
        lambda: _spliced(raw, draw, draw.choice(HOSTILE_BYTES), 0),
        lambda: _spliced(raw, draw, bytes([draw.randrange(256)]), 1),
        lambda: raw[: draw.randrange(len(raw) + 1)],
        lambda: raw.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8"))),
        lambda: _lines(raw, draw),
        lambda: draw.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"%YAML 1.1\n---\n", b"---\n")) + raw,
        lambda: raw.decode("utf-8", "replace").encode(draw.choice(("utf-16", "utf-32", "latin-1", "cp037")), "replace"),
        lambda: raw.replace(b"  ", b"\t", draw.choice((1, -1))),
        lambda: raw * draw.choice((2, 50)),
    )
    return draw.choice(changes)()


def _spliced(raw: bytes, draw: random.Random, new: bytes, gone: int) -> bytes:
    for _ in range(draw.randint(1, 4)):
        cut = draw.randrange(len(raw) + 1)
        raw = raw[:cut] + new + raw[cut + gone :]
    return raw


def _lines(raw: bytes, draw: random.Random) -> bytes:
    """A line gone, doubled, moved, indented, or cut."""
    lines = raw.split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(5)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    elif kind == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 3:
        lines[one] = b" " * draw.randint(1, 5) + lines[one]
    else:
        lines[one] = lines[one][: draw.randrange(len(lines[one]) + 1)]
    return b"\n".join(lines)


CELLS = (
    "", " ", "nan", "inf", "-inf", "-1", "-0", "0", "1e308", "1e400", "-1e308", "9" * 400, "0x10", "1,5", "1e",
    "1_000", "1 h", "½",
    "2024-01-01", "2024-01-01T00:00Z", "2024-02-30T00:00Z", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00",
    "2024-13-01",
    "2024-01-01T00:00:00.123456789+25:00", "1700000000", "1700000000000", "x" * 5000, '"', '""', '"a', "'", "a;b",
    "a\tb", "#", "é",
    "\u202e", "\ufeff", "\x1b[31m", "²", "٣", "step", "failure", "restart", "save_end", "end", "run", "planned",
    "null", "true", "{}",
    "[1]", "NaN", "None",
)  # fmt: skip


def mutated_table(raw: bytes, draw: random.Random) -> bytes:
    """A table with cells, columns, rows or bytes changed."""
    if draw.randrange(4) == 0:
        return mutated_bytes(raw, draw)
    rows = [line.split(",") for line in raw.decode().splitlines()]
    for _ in range(draw.choice((1, 1, 2, 4))):
        row = rows[draw.randrange(len(rows))]
        cell = draw.randrange(len(row)) if row else 0
        kind = draw.randrange(9)
        if kind <= 3 and row:
            row[cell] = draw.choice(CELLS)
        elif kind == 4:
            row.append(draw.choice(CELLS))
        elif kind == 5 and row:
            row.pop(cell)
        elif kind == 6:
            column = draw.randrange(len(rows[0]) or 1)
            word = draw.choice(CELLS)
            rows[1:] = [[*one[:column], word, *one[column + 1 :]] for one in rows[1:]]
        elif kind == 7:
            draw.shuffle(rows)
        elif len(rows) > 2:
            begin = draw.randrange(1, len(rows))
            del rows[begin : begin + draw.choice((1, 3, 10**6))]
    return "\n".join(",".join(row) for row in rows).encode("utf-8", "surrogatepass") + draw.choice((b"\n", b""))


JSON_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, 1e308, -1e308, 5e-324, 10**400, 2**63, "", "x", "x" * 5000, "\ud800", "\u202e",
    "\x1b[31m",
    "../..", "/tmp/elsewhere", "measured", "modelled", "2024-01-01", [], {}, [[]], {"a": 1}, float("nan"),
    float("inf"), "1e5", "1",
)  # fmt: skip


def mutated_json(tree: Any, draw: random.Random) -> bytes:
    """JSON with values, keys or bytes changed."""
    tree = copy.deepcopy(tree)
    found = list(places(tree))
    for _ in range(draw.choice((1, 1, 2, 3))):
        path = draw.choice(found)
        try:
            above = at(tree, path[:-1])
            value = above[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # gone by an earlier change
        if isinstance(above, str):
            continue  # put by an earlier change where a list was
        kind = draw.randrange(7)
        if kind <= 2:
            above[path[-1]] = draw.choice(JSON_VALUES)
        elif kind == 3:
            del above[path[-1]]
        elif kind == 4:
            above[path[-1]] = nudged(value, draw)
        elif isinstance(above, dict):
            above[draw.choice(("x", "", "é", str(path[-1]).upper(), "points", "device"))] = copy.deepcopy(value)
        else:
            above.insert(0, draw.choice(JSON_VALUES))
    text = json.dumps(tree, default=lambda raw: raw.text)
    raw = text.encode()
    return mutated_bytes(raw, draw) if draw.randrange(5) == 0 else raw
