"""YAML 1.2 to plain data, with the position of every key and value, and every structural problem at once.

Nothing but text, numbers, true, false, null, lists and mappings is made: no tag is obeyed. Size, depth and the
expansion of aliases are limited.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from gemsim.errors import Problem, show

Path = tuple[str | int, ...]
Position = tuple[int, int]

LARGEST = 250_000
DEEPEST = 40
MOST_VALUES = 100_000
_TAG = "tag:yaml.org,2002:"
# What an escape ("\x1b") can put into a text, and no terminal, picture or page can bear: controls but line break and
# tab, halves of characters, what is no character, and marks that turn the direction of all that follows.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@dataclass
class Tree:
    """A file as plain data; `values` and `keys` map a path to the line and column of its value and of its key.

    `faults` are the paths of the problems: what is there is None, and says nothing about the study. `nominal` are
    values of uncertain inputs, by dotted path, that the file does not write.
    """

    file: str
    data: Any = None
    values: dict[Path, Position] = field(default_factory=dict)
    keys: dict[Path, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    faults: list[Path] = field(default_factory=list)
    nominal: dict[str, Any] = field(default_factory=dict)
    folder: str = ""  # where relative names of files in it start

    def where(self, path: Path, *, key: bool = False) -> str:
        """`file:line:col` of a path (of its key if asked), or of the nearest part of it that is in the file."""
        for end in range(len(path), -1, -1):
            at = path[:end]
            found = (self.keys.get(at) if key else None) or self.values.get(at)
            if found:
                return f"{self.file}:{found[0]}:{found[1]}"
        return f"{self.file}:1:1"

    def complain(self, position: Position, path: Path, what: str, allowed: str = "", todo: str = "") -> None:
        """Note a problem at a line and column."""
        self.faults.append(path)
        self.problems.append(Problem(f"{self.file}:{position[0]}:{position[1]}", dotted(path), what, allowed, todo))


def dotted(path: Path) -> str:
    """A path as it is shown: keys joined by dots (long ones cut), list places in brackets."""
    keys = [f"[{part}]" if isinstance(part, int) else f".{part if len(part) <= 60 else show(part)}" for part in path]
    return "".join(keys).removeprefix(".")


def read_tree(raw: bytes, file: str) -> Tree:
    """The tree of a file's bytes: what is wrong is in `problems`; `data` is None where nothing can be read."""
    tree = Tree(file)
    text = _decode(raw, tree)
    node = _compose(text, tree) if text is not None else None
    if node is not None:
        builder = _Builder(tree)
        tree.data = builder.build(node, (), ())
    return tree


def _decode(raw: bytes, tree: Tree) -> str | None:
    if len(raw) > LARGEST:
        tree.complain((1, 1), (), f"the file is too large ({len(raw)} bytes)", f"at most {LARGEST} bytes")
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        position = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        tree.complain(
            position, (), f"not UTF-8 text (byte 0x{raw[error.start]:02x})", "UTF-8", "save the file as UTF-8"
        )
        return None
    if not text.strip():
        tree.complain((1, 1), (), "the file is empty", "a study: a mapping with title, cluster, workload, …")
        return None
    return text


def _compose(text: str, tree: Tree) -> Node | None:
    """The node graph, or None with a problem noted. Depth is looked at first: composing recurses, scanning does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _too_deep(text, tree):
                return None
            node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        tree.complain(position, (), f"not YAML ({_one_line(error)})", "YAML 1.2", _syntax_advice(text, position))
        return None
    except ReaderError as error:
        before = text[: error.position]
        position = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        tree.complain(position, (), f"a control character ({text[error.position]!r})", "printable text")
        return None
    except (YAMLError, ValueError, RecursionError) as error:
        tree.complain((1, 1), (), f"not YAML ({_one_line(error)})", "YAML 1.2")
        return None
    if node is None:
        tree.complain((1, 1), (), "the file holds no study", "a mapping with title, cluster, workload, …")
    return node


def _too_deep(text: str, tree: Tree) -> bool:
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST:
            mark = event.start_mark
            tree.complain(
                (mark.line + 1, mark.column + 1),
                (),
                f"nested too deep (more than {DEEPEST})",
                f"at most {DEEPEST} levels",
            )
            return True
    return False


def _one_line(error: Exception) -> str:
    text = getattr(error, "problem", None) or str(error)
    return " ".join(str(text).split())[:120]


def _syntax_advice(text: str, position: Position) -> str:
    lines = text.splitlines()
    line = lines[position[0] - 1] if position[0] <= len(lines) else ""
    if "\t" in line:
        return "indent with spaces, not tabs"
    return "quote a text that holds ': ' or starts with a special character; check brackets and indentation"


class _Builder:
    """Builds plain data from nodes; stops with one problem when aliases expand beyond MOST_VALUES."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.count = 0

    def build(self, node: Node, path: Path, above: tuple[int, ...]) -> Any:
        position = node.start_mark.line + 1, node.start_mark.column + 1
        if isinstance(node, ScalarNode) and node.value == "" and path in self.tree.keys:
            position = self.tree.keys[path]  # an empty value begins where the next key stands
        self.tree.values[path] = position
        self.count += 1
        if self.count >= MOST_VALUES:
            if self.count == MOST_VALUES:
                self.tree.complain(
                    position,
                    path,
                    f"more than {MOST_VALUES} values once aliases are expanded",
                    "fewer",
                    "write values out",
                )
            return None
        if id(node) in above:
            self.tree.complain(position, path, "an alias that contains itself", "no loops", "write the values out")
            return None
        if isinstance(node, ScalarNode):
            return self.scalar(node, path, position)
        expected = f"{_TAG}{'seq' if isinstance(node, SequenceNode) else 'map'}"
        if str(node.tag) != expected:
            self.tree.complain(
                position, path, f"a tag ({show(str(node.tag))})", "plain YAML without tags", "remove the tag"
            )
            return None
        above = (*above, id(node))
        if isinstance(node, SequenceNode):
            return [self.build(child, (*path, at), above) for at, child in enumerate(node.value)]
        assert isinstance(node, MappingNode)
        return self.mapping(node, path, above)

    def mapping(self, node: MappingNode, path: Path, above: tuple[int, ...]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            position = key_node.start_mark.line + 1, key_node.start_mark.column + 1
            key = key_node.value if isinstance(key_node, ScalarNode) else None
            if not isinstance(key, str) or str(key_node.tag) != f"{_TAG}str":
                allowed = "keys are text; merge keys (<<) are not supported" if key == "<<" else "keys are text"
                self.tree.complain(
                    position, path, f"not a key ({show(key) if key is not None else 'a collection'})", allowed
                )
                continue
            if key in data:
                first = self.tree.keys[(*path, key)]
                self.tree.complain(
                    position, (*path, key), f"a second time (first on line {first[0]})", "each key once", "remove one"
                )
                continue
            if not self.shown(key, path, position):
                continue
            self.tree.keys[(*path, key)] = position
            data[key] = self.build(value_node, (*path, key), above)
        return data

    def scalar(self, node: ScalarNode, path: Path, position: Position) -> Any:
        tag = str(node.tag).removeprefix(_TAG)
        text: str = node.value
        try:
            if tag == "int":
                number = int(text, 0 if text[:2] in ("0x", "0o") else 10)
                return number if float(number) else 0  # none that no float can hold
            if tag == "float":
                return self.finite(text, path, position)
        except (ValueError, OverflowError):
            self.tree.complain(position, path, f"not a number ({show(text)})", "a plain number such as 8 or 1e9")
            return None
        if tag in ("null", "bool"):
            return None if tag == "null" else text.lower() == "true"
        if tag in ("str", "timestamp"):
            return text if self.shown(text, path, position) else None
        self.tree.complain(
            position, path, f"a tag ({show(str(node.tag))})", "plain YAML without tags", "remove the tag"
        )
        return None

    def shown(self, text: str, path: Path, position: Position) -> bool:
        """Whether a text can be shown anywhere; the problem is noted where not."""
        found = _STEERING.search(text)
        if found:
            self.tree.complain(position, path, f"a control character ({found[0]!r})", "printable text", "remove it")
        return found is None

    def finite(self, text: str, path: Path, position: Position) -> float | None:
        number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        if math.isfinite(number):
            return number
        self.tree.complain(
            position, path, f"not a finite number ({text})", "finite numbers only", "write the number meant"
        )
        return None
