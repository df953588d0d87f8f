"""Sliders of the play page: numbers that a visitor may change, each with its limits, which requests must respect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import ProblemError

MAX_LAWS = 3  # side by side; more would be too small to read in a lecture hall


@dataclass(frozen=True)
class Slider:
    """One number from `low` to `high`. With `below` it must also be less than the value of that other slider."""

    name: str
    title: str
    low: float
    high: float
    value: float
    step: float = 0.05
    whole: bool = False
    below: str | None = None
    logarithmic: bool = False  # the position of the knob is the logarithm of the value
    decades: bool = False  # the knob of a logarithmic slider stops at powers of ten only

    def check(self, value: Any) -> float:
        """The value as a number within the limits; an int if it must be whole."""
        expected = f"{'a whole number' if self.whole else 'a number'} from {self.low:g} to {self.high:g}"
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < math.inf:
            raise ProblemError(self.name, value, expected)
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            raise ProblemError(self.name, value, expected)
        return int(value) if self.whole else float(value)

    def to_dict(self) -> dict[str, Any]:
        """The fields, for the page."""
        return asdict(self)


def checked(sliders: Sequence[Slider], given: Any) -> dict[str, float]:
    """Values of all sliders: the given ones, checked, and the defaults of the others."""
    if not isinstance(given, Mapping):
        raise ProblemError("parameters", given, "an object of names and numbers")
    known = {slider.name: slider for slider in sliders}
    for name in given:
        if name not in known:
            raise ProblemError.unknown("parameter", name, known)
    values = {name: slider.check(given.get(name, slider.value)) for name, slider in known.items()}
    for name, slider in known.items():
        if slider.below is not None and values[name] >= values[slider.below]:
            raise ProblemError(name, values[name], f"less than {slider.below} = {values[slider.below]:g}")
    return values


def whole(name: str, title: str, low: int, high: int, value: int, below: str | None = None) -> Slider:
    """A slider of whole numbers."""
    return Slider(name, title, low, high, value, 1, whole=True, below=below)


def mass(name: str, title: str) -> Slider:
    """A slider from a tenth to ten times the mass of the other bodies."""
    return Slider(name, title, 0.1, 10.0, 1.0, 0.01, logarithmic=True)


RESTITUTION = Slider("restitution", "restitution", 0.0, 1.0, 1.0)
FRICTION = Slider("friction", "friction", 0.0, 1.0, 0.0)


def at(slider: Slider, value: float) -> Slider:
    """The same slider with another default."""
    return replace(slider, value=value)


def chosen_laws(given: Any, known: Sequence[str]) -> list[str]:
    """One to three different names of registered laws."""
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_LAWS:
        raise ProblemError("laws", given, f"a list of one to {MAX_LAWS} names")
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise ProblemError.unknown("law", name, known)
    if len(set(given)) < len(given):
        raise ProblemError("laws", ", ".join(given), "different laws")
    return list(given)
