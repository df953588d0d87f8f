"""Bricks: convex polygons with a mass, their corners known as fractions too, and pins between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..geometry.polygons import convex_polygon
from ..solvers.rows import Floats
from .checks import choice, exact_number, flag, positive_number, shown, text
from .mass_models import MASS_MODELS, MassProperties, exact_properties

ExactPoint = tuple[Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class Brick:
    """A convex polygon, corners anticlockwise. Lengths, masses and gravity are in any consistent units.

    `exact` holds the corners as fractions. Numbers given as int, Fraction or text ("1/6") keep their value; a float
    stands for the binary number that it is.
    """

    exact: tuple[ExactPoint, ...]
    density: Fraction = Fraction(1)
    fixed: bool = False
    name: str = ""
    rectangle_size: tuple[float, float, float] | None = None  # width, height, angle of a rectangle

    @classmethod
    def rectangle(
        cls,
        x: Any,
        y: Any,
        width: Any,
        height: Any,
        angle: float = 0.0,
        *,
        density: Any = 1,
        fixed: bool = False,
        name: str = "",
        where: str = "brick",
    ) -> Brick:
        """A brick about its center (x, y), turned anticlockwise by `angle` radians."""
        cx, cy = exact_number(f"{where}.x", x), exact_number(f"{where}.y", y)
        w, h = (positive_number(f"{where}.{key}", value) for key, value in (("width", width), ("height", height)))
        turn = float(exact_number(f"{where}.angle", angle))
        half: tuple[ExactPoint, ...] = ((-w / 2, -h / 2), (w / 2, -h / 2), (w / 2, h / 2), (-w / 2, h / 2))
        if turn:
            c, s = Fraction(math.cos(turn)), Fraction(math.sin(turn))
            half = tuple((c * a - s * b, s * a + c * b) for a, b in half)
        corners = tuple((cx + a, cy + b) for a, b in half)
        size = (float(w), float(h), turn)
        return cls(corners, *_common(where, density, fixed, name), size)

    @classmethod
    def polygon(
        cls,
        corners: Sequence[Sequence[Any]],
        *,
        density: Any = 1,
        fixed: bool = False,
        name: str = "",
        where: str = "brick",
    ) -> Brick:
        """A strictly convex polygon with these corners, in either sense."""
        try:
            exact = [(exact_number(f"{where}.corners", x), exact_number(f"{where}.corners", y)) for x, y in corners]
        except (TypeError, ValueError) as error:
            if isinstance(error, ProblemError):
                raise
            raise ProblemError(f"{where}.corners", shown(corners), "at least three corners (x, y)") from None
        convex_polygon([(float(x), float(y)) for x, y in exact], f"{where}.corners")
        if _twice_area(exact) < 0:
            exact.reverse()
        return cls(tuple(exact), *_common(where, density, fixed, name))

    @cached_property
    def corners(self) -> Floats:
        """(k, 2) corners, anticlockwise."""
        return np.array([(float(x), float(y)) for x, y in self.exact])

    @cached_property
    def area(self) -> Fraction:
        return _twice_area(self.exact) / 2

    def moved(self, dx: Any, dy: Any = 0) -> Brick:
        """The same brick elsewhere."""
        a, b = exact_number("dx", dx), exact_number("dy", dy)
        corners = tuple((x + a, y + b) for x, y in self.exact)
        return Brick(corners, self.density, self.fixed, self.name, self.rectangle_size)

    def properties(self, mass_model: str) -> MassProperties:
        """Mass, center and moment of inertia, as fractions."""
        return exact_properties(self.exact, self.density, check_mass_model(mass_model))


@dataclass(frozen=True)
class Pin:
    """A hinge without friction that holds two bricks together at a point; `second` -1 is the ground.

    Two bricks with a pin between them may overlap, and do not touch otherwise.
    """

    first: int
    second: int
    at: tuple[float, float]


def brick_of(value: Any, where: str) -> Brick:
    """A brick from a Brick, a tuple (x, y, width, height[, angle]), or a mapping with these names or `corners`."""
    if isinstance(value, Brick):
        return value
    if isinstance(value, Mapping):
        return _from_mapping(value, where)
    try:
        numbers = tuple(value)
    except TypeError:
        numbers = ()
    if isinstance(value, str) or len(numbers) not in (4, 5):
        raise ProblemError(where, shown(value), "(x, y, width, height) or (x, y, width, height, angle), or a Brick")
    return Brick.rectangle(*numbers, where=where)


def _from_mapping(value: Mapping[str, Any], where: str) -> Brick:
    rest = dict(value)
    shape = rest.pop("shape", None)
    if shape is not None:
        choice(f"shape of {where}", shape, ("rectangle", "polygon"))
    maker: Callable[..., Brick] = Brick.rectangle
    names = {"x", "y", "width", "height", "angle"}
    if shape == "polygon" or (shape is None and "corners" in rest):
        maker, names = Brick.polygon, {"corners"}
    for name in rest:
        if name not in names | {"density", "fixed", "name"}:
            raise ProblemError.unknown(f"field of {where}", name, names | {"density", "fixed", "name"})
    for name in sorted(names - {"angle"} - set(rest)):
        raise ProblemError(f"{where}.{name}", None, "a value; it is missing")
    return maker(**rest, where=where)


def check_mass_model(value: Any) -> str:
    return choice("mass_model", value, MASS_MODELS)


def _common(where: str, density: Any, fixed: Any, name: Any) -> tuple[Fraction, bool, str]:
    """What every brick has, checked."""
    return positive_number(f"{where}.density", density), flag(f"{where}.fixed", fixed), text(f"{where}.name", name)


def _twice_area(corners: Sequence[ExactPoint]) -> Fraction:
    pairs = zip(corners, (*corners[1:], corners[0]))
    return sum(((x * v - u * y) for (x, y), (u, v) in pairs), Fraction(0))
