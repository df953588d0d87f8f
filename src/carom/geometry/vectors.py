"""Small vectors, rotation matrices and poses as values: named tuples of floats, with the arithmetic of vectors.

Numba keeps them in registers, so that a kernel takes and returns a point or a direction as one argument and formulas
read as formulas: `gap = dot(normal, b - a) - radius`. Components must be floats: `Vec3(1, 0.0, z)` is not a vector to
Numba, `Vec3(1.0, 0.0, z)` is. The same code runs uncompiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import kernel
from ..kernels.operators import vector_arithmetic, vector_products


class _Arithmetic:
    """Operators of vectors outside of kernels; `kernels.operators` has those inside."""

    __slots__ = ()
    __array_ufunc__ = None  # a NumPy number times a vector is a vector, not an array

    def __add__(self: Any, other: Any) -> Any:
        return type(self)(*(a + b for a, b in zip(self, other)))

    def __sub__(self: Any, other: Any) -> Any:
        return type(self)(*(a - b for a, b in zip(self, other)))

    def __neg__(self: Any) -> Any:
        return type(self)(*(-a for a in self))

    def __mul__(self: Any, factor: float) -> Any:
        return type(self)(*(a * factor for a in self))

    def __rmul__(self: Any, factor: float) -> Any:
        return type(self)(*(factor * a for a in self))

    def __truediv__(self: Any, divisor: float) -> Any:
        return type(self)(*(np.float64(a) / divisor for a in self))


class _Vec2(NamedTuple):
    x: float
    y: float


class _Vec3(NamedTuple):
    x: float
    y: float
    z: float


class Vec2(_Arithmetic, _Vec2):  # type: ignore[misc]
    """A point or a direction in the plane."""

    __slots__ = ()


class Vec3(_Arithmetic, _Vec3):  # type: ignore[misc]
    """A point or a direction in space."""

    __slots__ = ()


vector_arithmetic(Vec2, Vec3)


def dot(a: Any, b: Any) -> Any:
    """The scalar product of two vectors."""
    total = a[0] * b[0]
    for i in range(1, len(a)):
        total = total + a[i] * b[i]
    return total


def cross(a: Any, b: Any) -> Any:
    """The vector product in 3D; in 2D its component along the third axis."""
    if len(a) == 2:
        return a[0] * b[1] - a[1] * b[0]
    return type(a)(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


vector_products(dot, cross)


class Mat3(NamedTuple):
    """A rotation matrix, row by row: from the frame of a body to that of the world."""

    x: Vec3
    y: Vec3
    z: Vec3


class Pose(NamedTuple):
    """Place and rotation of a frame in the world."""

    position: Vec3
    turn: Mat3


@kernel(inline="always")
def norm(a):
    """The length of a vector."""
    return np.sqrt(dot(a, a))


@kernel(inline="always")
def perpendicular(a):
    """A vector of the plane, rotated counterclockwise by a right angle."""
    return Vec2(-a.y, a.x)


@kernel(inline="always")
def across(a):
    """A vector perpendicular to a vector of space, not of unit length."""
    if abs(a.x) <= abs(a.y) and abs(a.x) <= abs(a.z):
        return Vec3(0.0, a.z, -a.y)
    return Vec3(-a.z, 0.0, a.x) if abs(a.y) <= abs(a.z) else Vec3(a.y, -a.x, 0.0)


@kernel(inline="always")
def row2(table, i):
    """Row i of a table (m, 2 or more) as a vector of the plane."""
    return Vec2(table[i, 0], table[i, 1])


@kernel(inline="always")
def row3(table, i):
    """Row i of a table (m, 3 or more) as a vector of space."""
    return Vec3(table[i, 0], table[i, 1], table[i, 2])


@kernel(inline="always")
def put_row(table, i, a):
    """Writes a vector to the first components of row i of a table."""
    for k in range(len(a)):
        table[i, k] = a[k]


@kernel(inline="always")
def to_world(turn, a):
    """A direction, given in the frame of a body with the rotation matrix `turn`, in the frame of the world."""
    return Vec3(dot(turn.x, a), dot(turn.y, a), dot(turn.z, a))


@kernel(inline="always")
def to_local(turn, a):
    """A direction, given in the frame of the world, in the frame of a body with the rotation matrix `turn`."""
    return Vec3(
        turn.x.x * a.x + turn.y.x * a.y + turn.z.x * a.z,
        turn.x.y * a.x + turn.y.y * a.y + turn.z.y * a.z,
        turn.x.z * a.x + turn.y.z * a.y + turn.z.z * a.z,
    )


@kernel(inline="always")
def transposed(m):
    """The transpose of a matrix, for a rotation its inverse."""
    return Mat3(Vec3(m.x.x, m.y.x, m.z.x), Vec3(m.x.y, m.y.y, m.z.y), Vec3(m.x.z, m.y.z, m.z.z))


@kernel(inline="always")
def times(m, turn):
    """The product of two matrices."""
    return Mat3(
        m.x.x * turn.x + m.x.y * turn.y + m.x.z * turn.z,
        m.y.x * turn.x + m.y.y * turn.y + m.y.z * turn.z,
        m.z.x * turn.x + m.z.y * turn.y + m.z.z * turn.z,
    )
