"""Point masses that stand for a brick: four corners, or points that match a homogeneous body's moments to degree 2.

Motion in the plane sees a rigid body's mass, center and polar moment alone, so points that match 1, x, y, x^2, xy and
y^2 move as the homogeneous brick does (section 8.1 of the collapse paper). A rectangle gets the product of two
Simpson rules, nine points: 1/36 of the mass in each corner, 4/36 in the middle of each side, 16/36 in the center.
Another polygon is cut into triangles about its centroid; 1/12 of a triangle's mass in each corner and 3/4 in its
centroid match it to degree 2, with all masses positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

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
