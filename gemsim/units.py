"""Text with a unit to SI floats and back: "3 h", "400 Gb/s", "141 GiB", "6.5 / 1000 node d".

b is a bit and B a byte; k, M, G, T, P count in thousands and Ki, Mi, Gi, Ti, Pi in 1,024s. A bare number where a unit
is needed is refused. Arithmetic is in fractions: a text means the float nearest to it, and `format` reads back exactly.
"""

from __future__ import annotations

import difflib
import math
import re
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple, overload

from gemsim.errors import UnitError, show

Dimension = Literal["time", "bytes", "bandwidth", "share", "count", "flops", "power", "carbon"]
Per = Literal["gpu", "node", "job"]


class Rate(NamedTuple):
    """Events per second for each `per` (a GPU, a node or the whole job)."""

    value: float
    per: Per


_TIME = {
    "us": Fraction(1, 1_000_000), "ms": Fraction(1, 1000), "s": Fraction(1),
    "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400),
}  # fmt: skip
_SI = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_BYTES = {f"{p}B": Fraction(n) for p, n in {**_SI, **_IEC}.items() if p != "E"}
_BITS = {f"{p}b": Fraction(n, 8) for p, n in _SI.items() if p != "E"}

UNITS: dict[str, dict[str, Fraction]] = {
    "time": _TIME,
    "bytes": {**_BYTES, **_BITS},
    "bandwidth": {f"{unit}/s": size for unit, size in {**_BYTES, **_BITS}.items()},
    "flops": {f"{p}FLOP/s": Fraction(n) for p, n in _SI.items()},
    "power": {"W": Fraction(1), "kW": Fraction(1000), "MW": Fraction(10**6)},
    "carbon": {"kg/J": Fraction(1), "g/kWh": Fraction(1, 3_600_000_000), "kg/kWh": Fraction(1, 3_600_000)},
    "share": {"%": Fraction(1, 100)},
    "count": {},
}
EXAMPLES = {
    "time": "3600 s", "bytes": "80 GiB", "bandwidth": "400 Gb/s", "flops": "400 TFLOP/s",
    "share": "0.5 %", "count": "8", "rate": "6.5 / 1000 node d", "power": "700 W", "carbon": "400 g/kWh",
}  # fmt: skip
_SHOWN = {
    "time": "a time in us, ms, s, min, h or d",
    "bytes": "a size in B, kB, MB, GB, TB, PB, KiB to PiB, or bits (b, kb, Mb, Gb)",
    "bandwidth": "a bandwidth such as GB/s, TB/s, GiB/s or Gb/s",
    "flops": "a speed in FLOP/s, GFLOP/s, TFLOP/s or PFLOP/s",
    "share": "a share: a number from 0 to 1, or a percentage such as 0.5 %",
    "count": "a plain number",
    "power": "a power in W, kW or MW",
    "carbon": "grams of CO2 for each kWh, in g/kWh or kg/kWh",
    "rate": "a rate: a count / a time (419 / 54 d), per device with gpu or node (6.5 / 1000 node d, 1 / 50677 gpu h)",
}
_WORDS = {  # what people write for a time
    **dict.fromkeys(("m", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
}
_ANY_TIME = 1000.0  # a bare number below may be in any unit of time
_BARE_WORTH = {
    "time": "s", "bytes": "B", "bandwidth": "GB/s", "flops": "TFLOP/s", "power": "W", "carbon": "g/kWh",
}  # fmt: skip
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*(.*)", re.DOTALL)
_RATE = re.compile(rf"({_NUMBER})\s*/\s*({_NUMBER})?\s*(?:(gpu|node|job)s?[\s·-]+)?([A-Za-z]+)", re.IGNORECASE)
_LONGEST = 64
_LONGEST_COUNT = 400  # days: a count of failures over more is written per second
_COUNT_DIGITS = 8


@overload
def parse(text: object, dimension: Literal["rate"]) -> Rate: ...
@overload
def parse(text: object, dimension: Dimension) -> float: ...
def parse(text: object, dimension: Dimension | Literal["rate"]) -> float | Rate:
    """The SI value of a text: seconds, bytes, bytes per second, FLOP per second, a share or a count.

    A "rate" gives `Rate(events per second, per what)`. Raises UnitError, which says what to write.
    """
    if dimension == "rate":
        return _parse_rate(text)
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return _bare(text, dimension)
    if not isinstance(text, str):
        raise UnitError(f"not a quantity ({show(text)})", _SHOWN[dimension], f"write e.g. '{EXAMPLES[dimension]}'")
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(f"cannot be read ({show(text)})", _SHOWN[dimension], _advice(text, dimension))
    number, unit = match[1], " ".join(match[2].split())
    if not unit:
        return _bare(float(number), dimension, number)
    if unit not in UNITS[dimension]:
        raise UnitError(f"unknown unit {show(unit)} ({show(text)})", _SHOWN[dimension], _advice(text, dimension, unit))
    return _finite(Fraction(number) * UNITS[dimension][unit], text, dimension)


def format(value: float | Rate, dimension: Dimension | Literal["rate"]) -> str:
    """The shortest text that `parse` reads back to exactly this value."""
    if isinstance(value, Rate):
        return _format_rate(value)
    if dimension == "rate":
        raise UnitError(f"not a rate ({value!r})", _SHOWN["rate"])
    bare = f"{value:.12g}" if float(f"{value:.12g}") == value else repr(float(value))
    if dimension == "count" or (dimension == "share" and value in (0.0, 1.0)):
        return bare
    texts = [_scaled(value, size, unit) for unit, size in reversed(_printed(dimension))]
    exact = [text for text in texts if text and parse(text, dimension) == value]
    fallback = bare if dimension == "share" else f"{float(value)!r} {_base(dimension)}"
    return min(exact, key=lambda text: (len(text.split()[0]), len(text)), default=fallback)


def brief(value: float, dimension: Dimension) -> str:
    """A text to read, of four significant digits: it need not read back to the same value."""
    if dimension == "count" or not math.isfinite(value):
        return f"{value:.4g}"
    if dimension == "share":
        return f"{100 * value:.4g} %"
    decimal = _decimal(dimension)
    fitting = ((unit, size) for unit, size in decimal if abs(value) >= size or (value == 0 and size == 1))
    unit, size = next(fitting, decimal[-1])
    return f"{float(f'{value / size:.4g}'):.12g} {unit}"


@cache
def _decimal(dimension: Dimension) -> list[tuple[str, float]]:
    """The units that are printed, but for those of powers of two, the largest first."""
    units = [(unit, float(size)) for unit, size in _printed(dimension) if not unit.endswith(("iB", "iB/s"))]
    return sorted(units, key=lambda pair: -pair[1])


def _printed(dimension: Dimension) -> list[tuple[str, Fraction]]:
    """The units that are printed: all but bits."""
    return [(unit, size) for unit, size in UNITS[dimension].items() if not unit.lstrip("kMGTP").startswith("b")]


def _scaled(value: float, size: Fraction, unit: str) -> str:
    number = value / float(size)
    inside = 1 <= abs(number) < 1e5 or (value == 0 and size == 1) or unit == "%"
    return f"{number:.12g} {unit}" if inside else ""


def _base(dimension: str) -> str:
    return next(unit for unit, size in UNITS[dimension].items() if size == 1)


def _bare(number: float, dimension: Dimension, written: str = "") -> float:
    if dimension in ("share", "count"):
        return _finite(number, number, dimension)
    text = written or show(number)
    unit = _base(dimension) if abs(number) >= 1e6 else _BARE_WORTH[dimension]
    any_ = dimension == "time" and abs(number) < _ANY_TIME
    todo = f"write '{text} s', '{text} min', '{text} h' or '{text} d'" if any_ else f"write e.g. '{text} {unit}'"
    raise UnitError(f"has no unit ({text})", _SHOWN[dimension], todo)


def _finite(value: Fraction | float, shown: object, dimension: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UnitError(f"not a finite number ({show(shown)})", _SHOWN[dimension])
    return number


def _advice(text: str, dimension: str, unit: str = "") -> str:
    if re.fullmatch(r"\s*\d{1,3}([,_ ]\d{3})+(\.\d+)?\s*\S*", text):
        return f"write the number without separators: '{re.sub('[,_]|(?<=[0-9]) (?=[0-9])', '', text).strip()}'"
    word = _WORDS.get(unit.lower(), "") if dimension == "time" else ""
    nearest = word or _nearest(unit, list(UNITS.get(dimension, ())))
    if nearest:
        return f"did you mean '{text.strip()[: -len(unit)].strip()} {nearest}'?"
    return f"write e.g. '{EXAMPLES[dimension]}'"


def _nearest(unit: str, known: list[str]) -> str:
    """The known unit most like a wrong one: with /s added or taken away, then in other case, then misspelt."""
    other = unit.removesuffix("/s") if unit.endswith("/s") else f"{unit}/s"
    if not unit or other in known:
        return other if unit else ""
    close = difflib.get_close_matches(unit.lower(), {name.lower() for name in known}, n=1, cutoff=0.6)
    return max(
        (name for name in known if close and name.lower() == close[0]), key=lambda name: _alike(unit, name), default=""
    )


def _alike(first: str, second: str) -> int:
    return sum(a == b for a, b in zip(reversed(first), reversed(second), strict=False))


def _parse_rate(text: object) -> Rate:
    if not isinstance(text, str):
        raise UnitError(f"has no unit ({show(text)})", _SHOWN["rate"], f"write e.g. '{EXAMPLES['rate']}'")
    match = _RATE.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    unit = match[4] if match else ""
    if match is None or unit not in _TIME:
        raise UnitError(f"cannot be read ({show(text)})", _SHOWN["rate"], f"write e.g. '{EXAMPLES['rate']}'")
    span = Fraction(match[2] or "1") * _TIME[unit]
    if span <= 0:
        raise UnitError(f"is over no time ({show(text)})", _SHOWN["rate"], f"write e.g. '{EXAMPLES['rate']}'")
    per: Per = {"gpu": "gpu", "node": "node"}.get((match[3] or "job").lower(), "job")  # type: ignore[assignment]
    return Rate(_finite(Fraction(match[1]) / span, text, "rate"), per)


def _format_rate(rate: Rate) -> str:
    unit = "" if rate.per == "job" else f"{rate.per} "
    spans = (1000, 1) if 0 < rate.value * 86400 < 0.1 else (1,)
    texts = [f"{rate.value * 86400 * span:.6g} / {span} {unit}d" for span in spans]
    texts += [f"1 / {1 / rate.value / 3600:.7g} {unit}h"] if rate.value > 1e-15 and unit else []
    texts += [f"{round(rate.value * 86400 * span)} / {span} {unit}d" for span in range(2, _LONGEST_COUNT)]
    for text in texts:
        short = text.replace("/ 1 ", "/ ")
        if len(short.split("/")[0].strip()) <= _COUNT_DIGITS and parse(short, "rate") == rate:
            return short
    return f"{rate.value!r} / {unit}s"
