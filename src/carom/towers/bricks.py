"""Bricks, pins, and the point masses that represent a brick (section 8.1 of the paper).

Planar motion of a rigid body depends only on its mass, center of mass and polar moment of inertia. Point masses that
reproduce the integrals of 1, x, y, x^2, xy and y^2 over a homogeneous brick therefore move as the brick does. A
rectangle gets the product of two Simpson rules, nine points: 1/36 of the mass in each corner, 4/36 in the middle of
each side, 16/36 in the center. Any other polygon is divided into triangles about its centroid; 1/12 of the mass of a
triangle in each of its corners and 3/4 in its centroid are exact to degree 2, and all masses are positive.
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

from ..checks import check_fields, choice, exact_number, flag, positive_number, shown, text
from ..errors import ProblemError
from ..geometry.polygons import convex_polygon
from ..solvers.rows import Floats

MASS_MODELS = ("uniform", "corners")
SHAPES = {"rectangle": ("x", "y", "width", "height", "angle"), "polygon": ("corners",)}  # with their fields
MOST_BRICKS = 100_000  # per tower; making more would take minutes
Point = tuple[Fraction, Fraction]


def bricks_in_all(field: str, value: Any, number: int) -> None:
    """Rejects towers of too many bricks; `field` is the argument responsible for the number."""
    if number > MOST_BRICKS:
        raise ProblemError(field, shown(value), f"at most {MOST_BRICKS:,} bricks in all")


@dataclass(frozen=True, eq=False)
class Brick:
    """A convex polygon with counterclockwise corners. Lengths, masses and gravity are in any consistent units.

    `exact` holds the corners as fractions. Numbers given as int, Fraction or text ("1/6") keep their value; a float
    stands for its binary value.
    """

    exact: tuple[Point, ...]
    density: Fraction = Fraction(1)
    fixed: bool = False
    name: str = ""
    rectangle_size: tuple[float, float, float] | None = None  # width, height, angle; None for other polygons

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
        """A rectangle with center (x, y), rotated counterclockwise by `angle` radians."""
        cx, cy = exact_number(f"{where}.x", x), exact_number(f"{where}.y", y)
        w, h = (positive_number(f"{where}.{key}", value) for key, value in (("width", width), ("height", height)))
        turn = float(exact_number(f"{where}.angle", angle))
        a, b = w / 2, h / 2
        left, right, low, high = cx - a, cx + a, cy - b, cy + b
        corners: tuple[Point, ...] = ((left, low), (right, low), (right, high), (left, high))
        if turn:
            c, s = Fraction(math.cos(turn)), Fraction(math.sin(turn))
            half = ((-a, -b), (a, -b), (a, b), (-a, b))
            corners = tuple((cx + (c * p - s * q), cy + (s * p + c * q)) for p, q in half)
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
        """A strictly convex polygon with these corners, in either orientation."""
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
        """(k, 2) corners, counterclockwise."""
        return np.array([(float(x), float(y)) for x, y in self.exact])

    @cached_property
    def area(self) -> Fraction:
        """Area of the polygon."""
        return _twice_area(self.exact) / 2

    def moved(self, dx: Any, dy: Any = 0) -> Brick:
        """Returns the brick translated by (dx, dy)."""
        a, b = exact_number("dx", dx), exact_number("dy", dy)
        corners = tuple((x + a, y + b) for x, y in self.exact)
        return Brick(corners, self.density, self.fixed, self.name, self.rectangle_size)

    def properties(self, mass_model: str) -> MassProperties:
        """Mass, center of mass and moment of inertia as fractions."""
        return exact_properties(self.exact, self.density, check_mass_model(mass_model))


@dataclass(frozen=True)
class Pin:
    """A frictionless hinge that holds two bricks together at the point `at`; `second` = -1 is the ground.

    Two bricks that share a pin may overlap and have no contacts with each other.
    """

    first: int
    second: int
    at: tuple[float, float]


def brick_of(value: Any, where: str) -> Brick:
    """Converts a Brick, a tuple (x, y, width, height[, angle]), or a mapping with these keys or `corners`."""
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
    fields = dict(value)
    shape = fields.pop("shape", "polygon" if "corners" in fields else "rectangle")
    choice(f"{where}.shape", shape, tuple(SHAPES))
    names = SHAPES[shape]
    check_fields(fields, (*names, "shape", "density", "fixed", "name"), [n for n in names if n != "angle"], where)
    maker: Callable[..., Brick] = Brick.polygon if shape == "polygon" else Brick.rectangle
    return maker(**fields, where=where)


def check_mass_model(value: Any) -> str:
    """Validates the name of a mass model."""
    return choice("mass_model", value, MASS_MODELS)


def _common(where: str, density: Any, fixed: Any, name: Any) -> tuple[Fraction, bool, str]:
    """Validates the fields that all bricks have."""
    return positive_number(f"{where}.density", density), flag(f"{where}.fixed", fixed), text(f"{where}.name", name)


def _twice_area(corners: Sequence[Point]) -> Fraction:
    pairs = zip(corners, (*corners[1:], corners[0]))
    return sum(((x * v - u * y) for (x, y), (u, v) in pairs), Fraction(0))


# ---- point masses (section 8.1)


class MassProperties(NamedTuple):
    """Mass, center of mass, and moment of inertia about the center of mass."""

    mass: Fraction
    center: Point
    inertia: Fraction


class PointMasses(NamedTuple):
    """Points of a brick, starting with its corners in their order, and the mass of each."""

    points: tuple[Point, ...]
    masses: tuple[Fraction, ...]


def point_masses(corners: Sequence[Point], density: Fraction, mass_model: str) -> PointMasses:
    """The points that carry the mass of a brick, exact to degree 2 with the mass model "uniform".

    With "corners" the corners carry equal parts of the mass.
    """
    triangles = _fan(corners)
    mass = density * sum(area for area, _ in triangles)
    if mass_model == "corners":
        return PointMasses(tuple(corners), (mass / len(corners),) * len(corners))
    if _is_parallelogram(corners):
        return _simpson(corners, mass)
    return _triangles(corners, density)


def exact_properties(corners: Sequence[Point], density: Fraction, mass_model: str) -> MassProperties:
    """Mass properties of the point masses."""
    points, masses = point_masses(corners, density, mass_model)
    mass = sum(masses)
    cx = sum(m * x for m, (x, _) in zip(masses, points)) / mass
    cy = sum(m * y for m, (_, y) in zip(masses, points)) / mass
    inertia = sum(m * ((x - cx) ** 2 + (y - cy) ** 2) for m, (x, y) in zip(masses, points))
    return MassProperties(Fraction(mass), (Fraction(cx), Fraction(cy)), Fraction(inertia))


def _is_parallelogram(corners: Sequence[Point]) -> bool:
    """Whether the Simpson rule applies, up to the rounding of rotated rectangles."""
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
    """Corners, centroid of the polygon, and centroid of each triangle of the fan about it."""
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
    """Area and centroid of each triangle of the fan about the first corner."""
    (ox, oy), out = corners[0], []
    for (ax, ay), (bx, by) in pairwise(corners[1:]):
        area = ((ax - ox) * (by - oy) - (ay - oy) * (bx - ox)) / 2
        out.append((area, ((ox + ax + bx) / 3, (oy + ay + by) / 3)))
    return out


def _middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
