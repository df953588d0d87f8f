"""Parameters of scenes: what each may be stands in the signature of the function that makes the scene."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Annotated, Any, ParamSpec, get_type_hints

from .. import checks
from ..errors import ProblemError
from ..scene.model import Scene

P = ParamSpec("P")
Check = Callable[[str, Any], Any]
LARGEST_PARAMETER, SMALLEST_PARAMETER = 1e9, 1e-9  # in the units of a scene, whose bodies have a size of about 1


def declared(make: Callable[P, Scene]) -> Callable[P, Scene]:
    """Checks the parameters of a call as annotated, and records them, defaults included, in the scene that is made."""
    signature = inspect.signature(make)

    @functools.cache
    def declarations() -> dict[str, Check]:
        hints = get_type_hints(make, include_extras=True)
        return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Scene:
        call = signature.bind(*args, **kwargs)
        call.apply_defaults()
        given = dict(call.arguments)
        for name, check in declarations().items():
            call.arguments[name] = check(name, given[name])
        return make(*call.args, **call.kwargs).with_(parameters=given)

    return made


def whole(low: int) -> Check:
    """A whole number of at least `low`."""
    return functools.partial(checks.count, least=low)


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    found = checks.scalar(name, _number(name, value), 0.0, above=True)
    if found < SMALLEST_PARAMETER:
        raise ProblemError(name, value, f"a number from {SMALLEST_PARAMETER:g} up")
    return found


def between(low: float | None, high: float | None) -> Check:
    """A number from `low` to `high`."""
    return lambda name, value: checks.scalar(name, _number(name, value), low, high)


def at_least(low: float) -> Check:
    """A finite number of at least `low`."""
    return between(low, None)


def optional(check: Check) -> Check:
    """A value or None."""
    return lambda name, value: None if value is None else check(name, value)


def choice(known: Collection[str]) -> Check:
    """One of the known words."""
    return lambda name, value: checks.choice(name, value, known)


def _three(check: Check, expected: str) -> Check:
    def checked(name: str, value: Any) -> tuple[float, float, float]:
        if isinstance(value, (str, bytes)):
            raise ProblemError(name, value, expected)
        try:
            x, y, z = value
        except (TypeError, ValueError):
            raise ProblemError(name, value, expected) from None
        return check(name, x), check(name, y), check(name, z)

    return checked


def _number(name: str, value: Any) -> Any:
    """Refuses flags and text, which Python would convert to a number, and numbers whose squares could overflow."""
    if isinstance(value, (bool, str, bytes)):
        raise ProblemError(name, value, "a number")
    if isinstance(value, (int, float)) and LARGEST_PARAMETER < abs(value) < float("inf"):
        raise ProblemError(name, value, f"a number from {-LARGEST_PARAMETER:g} to {LARGEST_PARAMETER:g}")
    return value


Count = Annotated[int, whole(1)]
Several = Annotated[int, whole(2)]
Seed = Annotated[int, whole(0)]
Number = Annotated[float, between(None, None)]
Positive = Annotated[float, positive]
NotNegative = Annotated[float, at_least(0.0)]
Restitution = Annotated[float, between(0.0, 1.0)]
Text = Annotated[str, checks.text]
Flag = Annotated[bool, checks.flag]
Vector = Annotated[tuple[float, float, float], _three(between(None, None), "three finite numbers")]
Sizes = Annotated[tuple[float, float, float], _three(positive, "three numbers above 0")]
