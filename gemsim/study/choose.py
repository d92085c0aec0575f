"""One design point of a study, asked for by its number or by what it varies."""

from __future__ import annotations

from typing import Any

from gemsim.errors import ValueRefused, show
from gemsim.spec.loading import LoadedStudy
from gemsim.spec.types import closest
from gemsim.study.design import DesignPoint, designs_of

VARIANT = "variant"


def design_point(loaded: LoadedStudy, text: str | None) -> tuple[str, dict[str, Any]]:
    """(what it is called, its assignments) of the point that `text` names: a number from 1, or `k=32,m=1`.

    Names are swept paths or their last parts, and `variant`. Without text it is the study as it stands. Raises
    ValueRefused unless exactly one point fits.
    """
    if text is None:
        return "the study as it stands", {}
    designs = designs_of(loaded)
    if text.strip().isdecimal():
        number = int(text)
        if not 1 <= number <= len(designs):
            raise ValueRefused(f"--point: no such point ({text})", f"1 to {len(designs)}", "see gemsim sweep or check")
        return _named(designs[number - 1])
    fitting = designs
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise ValueRefused(f"--point: not NAME=VALUE ({show(part)})", "a number, or k=32,m=1", "")
        fitting = [one for one in fitting if _has(one, name, value)]
        if not fitting:
            raise _nothing(designs, name, value)
    distinct = {repr(sorted(one.assignments.items())): one for one in fitting}
    if len(distinct) > 1:
        apart = [key for key in fitting[0].columns if len({str(one.columns[key]) for one in fitting}) > 1]
        apart += [VARIANT] if len({one.variant for one in fitting}) > 1 else []
        raise ValueRefused(f"--point: {len(fitting)} points fit ({show(text)})", "one point", f"add {', '.join(apart)}")
    return _named(fitting[0])


def _has(design: DesignPoint, name: str, value: str) -> bool:
    if name == VARIANT:
        return design.variant == value
    return any(str(held) == value for path, held in design.columns.items() if f".{path}".endswith(f".{name}"))


def _nothing(designs: list[DesignPoint], name: str, value: str) -> ValueRefused:
    """What the sweep has instead."""
    known = list(dict.fromkeys(path for one in designs for path in one.columns))
    matching = [path for path in known if f".{path}".endswith(f".{name}")]
    values = list(dict.fromkeys(str(one.columns[path]) for one in designs for path in matching))
    if name == VARIANT:
        values = list(dict.fromkeys(one.variant for one in designs if one.variant))
    if values:
        return ValueRefused(f"--point: no point with {name}={value}", f"{name} is one of {', '.join(values)}", "")
    allowed = f"one of {', '.join(known)}" if known else "the study sweeps nothing"
    return ValueRefused(f"--point: nothing called {show(name)} is swept", allowed, closest(name, known))


def _named(design: DesignPoint) -> tuple[str, dict[str, Any]]:
    swept = [f"{path}={value}" for path, value in design.columns.items() if value != ""]
    name = ", ".join(([design.variant] if design.variant else []) + swept)
    return name or "the study as it stands", dict(design.assignments)
