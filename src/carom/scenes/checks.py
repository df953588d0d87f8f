"""Checks of the parameters of a scene: each says what it got and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ProblemError


def whole(name: str, value: int, low: int) -> int:
    """A whole number from `low` up."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ProblemError(name, value, f"a whole number from {low} up")
    return int(value)


def positive(name: str, value: float) -> float:
    return _real(name, value, "a finite number above 0", lambda v: v > 0.0)


def at_least(name: str, value: float, low: float) -> float:
    return _real(name, value, f"a finite number from {low:g} up", lambda v: v >= low)


def between(name: str, value: float, low: float, high: float) -> float:
    return _real(name, value, f"a number from {low:g} to {high:g}", lambda v: low <= v <= high)


def finite(name: str, value: float) -> float:
    return _real(name, value, "a finite number", lambda v: True)


def _real(name: str, value: Any, expected: str, good: Callable[[float], bool]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(name, value, expected) from None
    if isinstance(value, bool) or not np.isfinite(number) or not good(number):
        raise ProblemError(name, value, expected)
    return number


def sizes(name: str, value: Any) -> tuple[float, float, float]:
    """Three numbers above 0."""
    try:
        x, y, z = value
    except (TypeError, ValueError):
        raise ProblemError(name, value, "three numbers above 0") from None
    return positive(name, x), positive(name, y), positive(name, z)


def three(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite numbers: a vector."""
    try:
        x, y, z = value
    except (TypeError, ValueError):
        raise ProblemError(name, value, "three finite numbers") from None
    return finite(name, x), finite(name, y), finite(name, z)
