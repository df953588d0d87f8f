"""Point masses that stand for a brick: four corners, or points that match a homogeneous body's moments to degree 2.

Motion in the plane sees a rigid body's mass, center and polar moment alone, so points that match 1, x, y, x^2, xy and
y^2 move as the homogeneous brick does (section 8.1 of the collapse paper). A rectangle gets the product of two
Simpson rules, nine points: 1/36 of the mass in each corner, 4/36 in the middle of each side, 16/36 in the center.
Another polygon is cut into triangles about its centroid; 1/12 of a triangle's mass in each corner and 3/4 in its
centroid match it to degree 2, with all masses positive.

Bricks: convex polygons with a mass, their corners known as fractions too, and pins between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..geometry.polygons import convex_polygon
from ..solvers.rows import Floats
from .checks import choice, exact_number, flag, positive_number, shown, text

MASS_MODELS = ("uniform", "corners")
Point = tuple[Fraction, Fraction]


class MassProperties(NamedTuple):
    """Mass, center of mass, and moment of inertia about it."""

    mass: Fraction
    center: Point
    inertia: Fraction


class PointMasses(NamedTuple):
    """Points of a brick, its corners first and in their order, and the mass in each."""

    points: tuple[Point, ...]
    masses: tuple[Fraction, ...]


def point_masses(corners: Sequence[Point], density: Fraction, mass_model: str) -> PointMasses:
    """The points that carry the brick's mass. With "corners" all its mass is in the corners, in equal parts."""
    triangles = _fan(corners)
    mass = density * sum(area for area, _ in triangles)
    if mass_model == "corners":
        return PointMasses(tuple(corners), (mass / len(corners),) * len(corners))
    if _is_parallelogram(corners):
        return _simpson(corners, mass)
    return _triangles(corners, density)


def exact_properties(corners: Sequence[Point], density: Fraction, mass_model: str) -> MassProperties:
    """What the point masses add up to."""
    points, masses = point_masses(corners, density, mass_model)
    mass = sum(masses)
    cx = sum(m * x for m, (x, _) in zip(masses, points)) / mass
    cy = sum(m * y for m, (_, y) in zip(masses, points)) / mass
    inertia = sum(m * ((x - cx) ** 2 + (y - cy) ** 2) for m, (x, y) in zip(masses, points))
    return MassProperties(Fraction(mass), (Fraction(cx), Fraction(cy)), Fraction(inertia))


def _is_parallelogram(corners: Sequence[Point]) -> bool:
    """Whether the Simpson rule fits. Rounding in turned rectangles is below what a float can tell."""
    if len(corners) != 4:
        return False
    a, b, c, d = corners
    return all(abs(float(a[k] - b[k] + c[k] - d[k])) <= 1e-12 * _extent(corners) for k in (0, 1))


def _extent(corners: Sequence[Point]) -> float:
    return max(float(max(c[k] for c in corners) - min(c[k] for c in corners)) for k in (0, 1))


def _simpson(corners: Sequence[Point], mass: Fraction) -> PointMasses:
    sides = [_middle(a, b) for a, b in pairwise((*corners, corners[0]))]
    center = _middle(sides[0], sides[2])
    masses = (*(mass / 36,) * 4, *(mass / 9,) * 4, 4 * mass / 9)
    return PointMasses((*corners, *sides, center), masses)


def _triangles(corners: Sequence[Point], density: Fraction) -> PointMasses:
    """Corners, centroid of the whole, centroid of each triangle of the fan about it."""
    parts = _fan(corners)
    whole = sum(area for area, _ in parts)
    center = (
        Fraction(sum(area * c[0] for area, c in parts) / whole),
        Fraction(sum(area * c[1] for area, c in parts) / whole),
    )
    k = len(corners)
    masses, middles = [Fraction(0)] * (k + 1), list[Point]()
    for i in range(k):
        j = (i + 1) % k
        (ax, ay), (bx, by), (ox, oy) = corners[i], corners[j], center
        mass = density * ((ax - ox) * (by - oy) - (ay - oy) * (bx - ox)) / 2
        for corner in (i, j, k):
            masses[corner] += mass / 12
        middles.append(((ax + bx + ox) / 3, (ay + by + oy) / 3))
        masses.append(3 * mass / 4)
    return PointMasses((*corners, center, *middles), tuple(masses))


def _fan(corners: Sequence[Point]) -> list[tuple[Fraction, Point]]:
    """Area and centroid of the triangles about the first corner."""
    (ox, oy), out = corners[0], []
    for (ax, ay), (bx, by) in pairwise(corners[1:]):
        area = ((ax - ox) * (by - oy) - (ay - oy) * (bx - ox)) / 2
        out.append((area, ((ox + ax + bx) / 3, (oy + ay + by) / 3)))
    return out


def _middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


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
