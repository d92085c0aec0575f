"""Where the laws of a study stand: those in the place of a value are lifted into `uncertain`, each fitted to its field.

The nominal value takes the place, so that all else sees a plain study.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from gemsim import units
from gemsim.errors import ValueRefused, show
from gemsim.spec.laws import LawSpec
from gemsim.spec.messages import model_at
from gemsim.spec.paths import SECTIONS, assign, child, locate, normalised, submodel
from gemsim.spec.tried import paths_of
from gemsim.spec.types import IntervalText, Keep, KeepText, Quantity, RateText, Time, WholeNumber
from gemsim.spec.uncertain import Law, Slot, bound
from gemsim.spec.uncertain_text import looks_like_law, read_law
from gemsim.spec.yaml import Path, Tree

UNCERTAIN = "uncertain"
_LISTED = (("failures", "classes"), ("fleet", "repair", "stages"))
_DECIDED = "a value that a sweep sets is decided, not uncertain"
Place = tuple[str | int, ...]


def lift(tree: Tree) -> dict[str, Law]:
    """The laws of a study by path. `tree` is changed: nominal values stand where laws stood, and `tree.nominal` holds
    those of inputs that the file does not write. What is wrong is noted in the tree."""
    data = tree.data
    if not isinstance(data, dict):
        return {}
    given = data.get(UNCERTAIN)
    section = given if isinstance(given, dict) else {}
    laws = _inline(tree)
    for path in [path for path in section if path in laws]:
        what, todo = f"{path} has a law in its own place too", "remove one of them"
        tree.complain(tree.keys[UNCERTAIN, path], (UNCERTAIN, path), what, "each input once", todo)
    raws = _forms(data)
    for path, value in section.items():
        if path not in laws and isinstance(path, str):
            _take(tree, laws, path, value, raws)
    for path in laws:
        _refuse_swept(tree, path, raws)
    if laws:
        data[UNCERTAIN] = {**section, **{path: law.text for path, law in laws.items()}}
    return laws


def _inline(tree: Tree) -> dict[str, Law]:
    """Take the laws out of the sections of the study."""
    raw, laws = normalised(tree.data), dict[str, Law]()
    for at, text in list(_texts({key: tree.data[key] for key in SECTIONS if key in tree.data}, ())):
        path = _dotted(tree.data, at)
        try:
            slot = None if path is None else slot_at(raw, path)
        except ValueRefused as refused:
            slot = None
            if "ambiguous" in refused.what:
                _complain(tree, at, refused)
        if slot is None or path is None:
            continue
        for table in (tree.keys, tree.values):
            table.setdefault((UNCERTAIN, path), tree.values[at])
        try:
            laws[path] = bound(read_law(text), slot)
            _put(tree.data, at, nominal(laws[path]))
        except ValueRefused as refused:
            _complain(tree, at, refused)
            _put(tree.data, at, None)
    return laws


def _take(tree: Tree, laws: dict[str, Law], path: str, value: Any, raws: list[dict[str, Any]]) -> None:
    """One entry of the section: fitted to the value that the study writes there, else its median is put there."""
    at = (UNCERTAIN, path)
    found = refusal = None
    for raw in raws:
        try:
            found = raw, slot_at(raw, path)
            break
        except ValueRefused as refused:
            refusal = refusal or refused
    if found is None:
        assert refusal is not None
        _complain(tree, at, refusal, key=True)
        return
    raw, slot = found
    try:
        if slot is None:
            raise ValueRefused("takes no law", "paths to numbers: times, rates, shares, sizes, factors")
        written = _written(raw, path, slot) if raw is raws[0] else None
        laws[path] = bound(read_law(value), slot, written)
        if written is None and raw is raws[0]:
            tree.nominal[path] = nominal(laws[path])
    except ValueRefused as refused:
        _complain(tree, at, refused)


def nominal(law: Law) -> Any:
    """The nominal value as it is written in a study."""
    dimension = law.dimension
    if law.whole or dimension in ("share", "count"):
        return law.value(law.nominal)
    if dimension == "rate":
        return units.format(units.Rate(law.nominal, law.per), "rate")
    return units.format(law.nominal, dimension)  # type: ignore[arg-type]


def slot_at(raw: dict[str, Any], path: str) -> Slot | None:
    """What the field at a path of a normalised study takes, None where it is no number. Raises ValueRefused."""
    place = locate(raw, path)
    model = model_at(place[:-1])
    if model is None:
        return None
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    info = fields.get(str(place[-1]))
    return None if info is None else _slot(info)


def dimension_at(data: dict[str, Any], path: str) -> str | None:
    """The dimension of the number at a path of a study or of one of its variants; None where no number stands."""
    for raw in _forms(data):
        try:
            slot = slot_at(raw, path)
        except ValueRefused:  # this variant has no such path
            continue
        return None if slot is None else slot.dimension
    return None


def _slot(info: FieldInfo) -> Slot | None:
    below = submodel(info.annotation)
    if below is not None:
        return Slot("time", get_args(Time)[1]) if below is LawSpec else None
    for part in (*info.metadata, *_parts(info.annotation)):
        if isinstance(part, Quantity):
            return Slot(part.dimension, part)
        if isinstance(part, WholeNumber):
            return Slot("count", part, whole=True)
        if isinstance(part, RateText | IntervalText | KeepText):
            return Slot("rate" if isinstance(part, RateText) else "time", part)
    return None


def _parts(annotation: Any) -> Iterator[Any]:
    """What an annotation is made of, the parts of unions too."""
    for part in get_args(annotation) if get_origin(annotation) is not None else ():
        yield part
        yield from _parts(part) if get_origin(part) is Annotated or get_args(part) else ()


def _written(raw: dict[str, Any], path: str, slot: Slot) -> float | units.Rate | None:
    """The value in SI that a study writes at a path; None where it writes none. Raises ValueRefused."""
    at: Any = raw
    place = locate(raw, path)
    for number, part in enumerate(place):
        if not isinstance(at, dict | list):
            at = at if at is not None and place[number:] == ("mean",) else None  # a plain time stands for its law
            break
        at = child(at, part)
    if at is None:
        return None
    if isinstance(at, dict) and at.get("kind", "fixed") == "fixed":
        at = at.get("mean")
    if isinstance(at, dict):
        raise ValueRefused("the study writes a law of times there", "its mean", f"write {path}.mean")
    value = slot.reader.read(at)
    value = value.seconds if isinstance(value, Keep) else value
    if not isinstance(value, int | float | units.Rate):
        raise ValueRefused(f"the study writes {show(at)} there, which is chosen and not uncertain", "a number", "")
    return value if isinstance(value, units.Rate) else float(value)


def _forms(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The study as it stands, and with each variant of `compare` laid over it."""
    base = normalised(data)
    forms, variants = [base], data.get("compare")
    for overrides in variants.values() if isinstance(variants, dict) else ():
        raw = normalised(base)
        try:
            for path, value in overrides.items():
                assign(raw, locate(raw, path), value)
        except (ValueRefused, AttributeError, TypeError, KeyError, IndexError):
            continue  # what is wrong with a variant is reported where variants are checked
        forms.append(raw)
    return forms


def _refuse_swept(tree: Tree, path: str, raws: list[dict[str, Any]]) -> None:
    """An input that is swept has no law."""
    for swept, kind in paths_of(tree.data.get("sweep")):
        if _same(raws, path, swept):
            where, todo = tree.keys.get((UNCERTAIN, path), (1, 1)), "remove it from one of them"
            tree.complain(where, (UNCERTAIN, path), f"{path} is swept too ({kind})", _DECIDED, todo)


def _same(raws: list[dict[str, Any]], one: str, other: str) -> bool:
    """Whether two paths name one place, in any form of the study."""
    for raw in raws if isinstance(other, str) else ():
        try:
            if locate(raw, one) == locate(raw, other):
                return True
        except ValueRefused:
            continue
    return False


def _texts(value: Any, at: Path) -> Iterator[tuple[Path, str]]:
    """Every text that reads as a law, with its place in the file."""
    if looks_like_law(value):
        yield at, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in pairs:
        yield from _texts(below, (*at, key))


def _dotted(data: Any, at: Path) -> str | None:
    """The path to a place of the file as a sweep would write it; None inside lists that paths do not enter."""
    if at[:1] == ("protection",) and len(at) > 2 and isinstance(at[1], int):
        settings = data["protection"][at[1]][at[2]]
        label = settings.get("name") if isinstance(settings, dict) else None
        parts: Path = ("protection", str(label or at[2]), *at[3:])
    else:
        parts = at
        for listed in _LISTED:
            if at[: len(listed)] == listed and len(at) > len(listed) and isinstance(at[len(listed)], int):
                parts = (*listed, _name(data, at[: len(listed) + 1]), *at[len(listed) + 1 :])
    return ".".join(parts) if all(isinstance(part, str) for part in parts) else None  # type: ignore[arg-type]


def _name(data: Any, at: Path) -> str:
    """What a part of a list is called: by its name, else by its number."""
    for part in at:
        data = data[part]
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) and name else str(at[-1])


def _put(data: Any, at: Path, value: Any) -> None:
    for part in at[:-1]:
        data = data[part]
    data[at[-1]] = value


def _complain(tree: Tree, at: Path, refused: ValueRefused, *, key: bool = False) -> None:
    place = (tree.keys if key else tree.values).get(at) or tree.values.get(at) or (1, 1)
    tree.complain(place, at, refused.what, refused.allowed, refused.todo)
