"""Arithmetic on one number or on an array of them: the standard library for the one, numpy for the other.

One idea: a form is written once. Where the steps between saves are an array (`analytic/screen`) the rates that follow
are arrays too, and pass through the same lines as single numbers. Types say float for both. What an array has not been
thought of for raises ("the truth value of an array is ambiguous"), it does not go on with a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

T = TypeVar("T")


def is_array(value: object) -> bool:
    """Whether a value stands for several design points."""
    return isinstance(value, np.ndarray)


def exp(value: Any) -> float:
    """e^value, inf where that is too large."""
    if is_array(value):
        return cast(float, np.exp(value))
    return math.exp(value) if value < 709.0 else math.inf


def expm1(value: Any) -> float:
    """e^value - 1, inf where that is too large."""
    if is_array(value):
        return cast(float, np.expm1(value))
    return math.expm1(value) if value < 709.0 else math.inf


def log1p(value: Any) -> float:
    """log(1 + value)."""
    return cast(float, np.log1p(value)) if is_array(value) else math.log1p(value)


def total(values: Iterable[Any]) -> float:
    """Their sum, of single numbers without rounding on the way."""
    listed = list(values)
    plain = sum(listed)
    return cast(float, plain) if is_array(plain) else math.fsum(listed)


def either(condition: Any, yes: Callable[[], T], no: Callable[[], T]) -> T:
    """`yes()` where the condition holds, else `no()`; of an array both are worked out, whatever they come to."""
    if not is_array(condition):
        return yes() if condition else no()
    if condition.all():
        return yes()
    return cast(T, np.where(condition, cast(Any, yes()), cast(Any, no()))) if condition.any() else no()


def whole(value: Any) -> int:
    """The nearest whole number, of halves the even one."""
    return cast(int, np.rint(value).astype(np.int64)) if is_array(value) else round(value)


def least(value: Any) -> float:
    """The smallest of all points; nan where one is."""
    return float(value.min()) if is_array(value) else value


def at_least(low: Any, value: Any) -> float:
    """The larger of two."""
    return cast(float, np.maximum(low, value) if is_array(low) or is_array(value) else max(low, value))


def at_most(high: Any, value: Any) -> float:
    """The smaller of two."""
    return cast(float, np.minimum(high, value) if is_array(high) or is_array(value) else min(high, value))


def anywhere(condition: Any) -> bool:
    """Whether the condition holds at any of the points."""
    return bool(condition.any()) if is_array(condition) else bool(condition)


def everywhere(condition: Any) -> bool:
    """Whether the condition holds at all of the points."""
    return bool(condition.all()) if is_array(condition) else bool(condition)
