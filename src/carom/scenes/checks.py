"""Checks of the parameters of a scene, and the record of them in the scene."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec

import numpy as np

from ..errors import ProblemError
from ..scene.checks import scalar
from ..scene.model import Scene

P = ParamSpec("P")
LARGEST_PARAMETER, SMALLEST_PARAMETER = 1e9, 1e-9  # in the units of a scene, whose bodies have a size of about 1


def recorded(make: Callable[P, Scene]) -> Callable[P, Scene]:
    """Records the parameters of a call, defaults included, in the scene that the function returns."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Scene:
        call = signature.bind(*args, **kwargs)
        call.apply_defaults()
        return make(*args, **kwargs).with_(parameters=dict(call.arguments))

    return made


def whole(name: str, value: int, low: int) -> int:
    """A whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ProblemError(name, value, f"a whole number from {low} up")
    return int(value)


def positive(name: str, value: float) -> float:
    """A finite number above 0."""
    found = scalar(name, _number(name, value), 0.0, above=True)
    if found < SMALLEST_PARAMETER:
        raise ProblemError(name, value, f"a number from {SMALLEST_PARAMETER:g} up")
    return found


def at_least(name: str, value: float, low: float) -> float:
    """A finite number of at least `low`."""
    return scalar(name, _number(name, value), low)


def between(name: str, value: float, low: float, high: float) -> float:
    """A number from `low` to `high`."""
    return scalar(name, _number(name, value), low, high)


def finite(name: str, value: float) -> float:
    """A finite number."""
    return scalar(name, _number(name, value))


def sizes(name: str, value: Any) -> tuple[float, float, float]:
    """Three numbers above 0."""
    x, y, z = _three(name, value, "three numbers above 0")
    return positive(name, x), positive(name, y), positive(name, z)


def three(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite numbers: a vector."""
    x, y, z = _three(name, value, "three finite numbers")
    return finite(name, x), finite(name, y), finite(name, z)


def _three(name: str, value: Any, expected: str) -> tuple[Any, Any, Any]:
    if isinstance(value, (str, bytes)):
        raise ProblemError(name, value, expected)
    try:
        x, y, z = value
    except (TypeError, ValueError):
        raise ProblemError(name, value, expected) from None
    return x, y, z


def choice(name: str, value: str, known: Iterable[str]) -> str:
    """One of the known words."""
    if not isinstance(value, str):
        raise ProblemError(name, value, f"one of {', '.join(known)}")
    if value not in known:
        raise ProblemError.unknown(name, value, known)
    return value


def text(name: str, value: str) -> str:
    """Text, which may be empty."""
    if not isinstance(value, str):
        raise ProblemError(name, value, "text")
    return value


def _number(name: str, value: Any) -> Any:
    """Refuses flags and text, which Python would convert to a number, and numbers whose squares could overflow."""
    if isinstance(value, (bool, str, bytes)):
        raise ProblemError(name, value, "a number")
    if isinstance(value, (int, float)) and LARGEST_PARAMETER < abs(value) < np.inf:
        raise ProblemError(name, value, f"a number from {-LARGEST_PARAMETER:g} to {LARGEST_PARAMETER:g}")
    return value
