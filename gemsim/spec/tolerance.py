"""How far ours may be from print, as it is written: "exact", "± 1 %", "± 0.5 pp", "8 to 9", ">= 13", "none".

"in interval" turns it round: print, one outcome of chance, lies within the interval of ours.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gemsim.errors import ValueRefused, show

_EXACT = 1e-9
_NUMBER = r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_ABOUT = re.compile(rf"±\s*{_NUMBER}\s*(%|pp)?")
_WITHIN = re.compile(rf"{_NUMBER}\s+to\s+{_NUMBER}")
_LIMIT = re.compile(rf"(>=|<=)\s*{_NUMBER}")
_ALLOWED = (
    "exact, '± X' (unit of the value), '± X %' (relative), '± X pp', 'A to B', '>= X', '<= X', in interval or none"
)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What is allowed: `form` is exact, relative, absolute, within, interval or none; `low` and `high` in SI.

    (Those of a relative one are a share.)
    """

    text: str
    form: str
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def read(cls, text: str, size: float) -> Tolerance:
        """Read a tolerance of a value whose unit is `size` in SI. Raises ValueRefused."""
        text = text.strip()
        if text in ("exact", "none"):
            return cls(text, text, _EXACT, _EXACT)
        if text == "in interval":
            return cls(text, "interval")
        if found := _ABOUT.fullmatch(text):
            width, unit = float(found[1]), found[2]
            if unit == "%":
                return cls(text, "relative", width / 100, width / 100)
            width *= 0.01 if unit == "pp" else size
            return cls(text, "absolute", width, width)
        if (found := _WITHIN.fullmatch(text)) and float(found[1]) <= float(found[2]):
            return cls(text, "within", float(found[1]) * size, float(found[2]) * size)
        if found := _LIMIT.fullmatch(text):
            bound = float(found[2]) * size
            return cls(text, "within", bound, math.inf) if found[1] == ">=" else cls(text, "within", -math.inf, bound)
        raise ValueRefused(f"cannot be read ({show(text)})", _ALLOWED)

    def holds(self, ours: float, published: float) -> bool:
        """Whether one number of ours is near enough to a published one. A limit looks at ours alone; of an interval the
        judge knows more."""
        if self.form in ("none", "interval"):
            return True
        if self.form == "within":
            slack = 1e-12 * max(abs(ours), 1e-300)
            return self.low - slack <= ours <= self.high + slack
        allowed = self.low if self.form == "absolute" else self.low * abs(published)
        return abs(ours - published) <= allowed * (1 + 1e-9)
