"""The solids that a few sizes describe: sphere, box, capsule, cylinder, cone and ellipsoid.

One entry of `SOLIDS` has all that the rest of the package asks about such a solid outside of contact kernels: its
volume, moments and bounds, its support function, and a triangulated surface for drawing. All are given in the frame of
the solid, whose origin is its center of mass; capsule, cylinder and cone lie along z.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..solvers.rows import Floats, Ints
from .hulls import box, fans
from .rotations import turned_back
from .shapes import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL, SPHERE, Placed, Shape, Shapes3D
from .surfaces import icosphere, joined, revolved

Size = Floats | tuple[float, float, float]
Triangles = tuple[Floats, Ints]  # vertices (k, 3), faces (f, 3) counterclockwise from outside

_SPHERE_LEVEL = 4  # 5,120 triangles
_ARC = 9  # points on the quarter circle of a capsule's end


def sphere(radius: float) -> Shape:
    """A sphere."""
    return Shape(
        kind=SPHERE,
        size=(radius, 0.0, 0.0),
        reach=radius,
        inner=radius,
        volume=4.0 / 3.0 * np.pi * radius**3,
        inertia=0.4 * radius**2 * np.eye(3),
    )


def cylinder(radius: float, length: float) -> Shape:
    """A circular cylinder along z."""
    across = radius**2 / 4.0 + length**2 / 12.0
    return Shape(
        kind=CYLINDER,
        size=(radius, 0.5 * length, 0.0),
        reach=float(np.hypot(radius, 0.5 * length)),
        inner=min(radius, 0.5 * length),
        volume=np.pi * radius**2 * length,
        inertia=np.diag([across, across, radius**2 / 2.0]),
    )


def capsule(radius: float, length: float) -> Shape:
    """A cylinder along z with two half spheres, whose centers of mass lie 3/8 of the radius beyond its ends."""
    half = 0.5 * length
    tube, caps = np.pi * radius**2 * length, 4.0 / 3.0 * np.pi * radius**3
    volume = tube + caps
    along = tube * radius**2 / 2.0 + caps * 0.4 * radius**2
    # Two half spheres about their common plane have 2/5 r^2; shifted to the ends: + h^2 + 3/4 r h.
    across = tube * (radius**2 / 4.0 + length**2 / 12.0)
    across += caps * (0.4 * radius**2 + half**2 + 0.75 * radius * half)
    return Shape(
        kind=CAPSULE,
        size=(radius, half, 0.0),
        reach=half + radius,
        inner=radius,
        volume=volume,
        inertia=np.diag([across, across, along]) / volume,
    )


def cone(radius: float, length: float, top_radius: float = 0.0) -> Shape:
    """A circular cone along z with its base at the lower z, cut off where its radius is `top_radius`."""
    r, t = radius, top_radius
    size, square = (r, 0.5 * length, t), r * r + r * t + t * t  # square / 3: mean squared radius
    high, low = _cone_ends(size)
    along = 0.3 * (r**4 + r**3 * t + r**2 * t**2 + r * t**3 + t**4) / square
    # The mean of the squared height over the base, minus the square of the mean.
    across = 0.5 * along + 0.1 * length**2 * (r * r + 3.0 * r * t + 6.0 * t * t) / square - low * low
    slant = np.hypot(length, r - t)
    normal = np.array([length, 0.0, r - t]) / slant  # of the side
    return Shape(
        kind=CONE,
        size=size,
        reach=float(max(np.hypot(r, low), np.hypot(t, high))),
        inner=0.5 * min(length, _cone_support(size, normal) + _cone_support(size, -normal)),
        volume=np.pi * length * square / 3.0,
        inertia=np.diag([across, across, along]),
    )


def _cone_ends(size: Size) -> tuple[float, float]:
    """z of the top and of the base of a cone, about its center of mass; as `carom.contact.support.rims`."""
    r, half, t = (float(s) for s in size)
    share = (r * r + 2.0 * r * t + 3.0 * t * t) / (2.0 * (r * r + r * t + t * t))
    return (2.0 - share) * half, -share * half


def _cone_support(size: Size, d: Floats) -> float:
    high, low = _cone_ends(size)
    across = float(np.hypot(d[0], d[1]))
    return max(float(size[2]) * across + high * float(d[2]), float(size[0]) * across + low * float(d[2]))


def ellipsoid(half_axes: Floats) -> Shape:
    """An ellipsoid with half axes along x, y and z: a unit ball, stretched along its axes."""
    a, b, c = (float(s) for s in half_axes)
    return Shape(
        kind=ELLIPSOID,
        size=(a, b, c),
        reach=max(a, b, c),
        inner=min(a, b, c),
        volume=4.0 / 3.0 * np.pi * a * b * c,
        inertia=0.2 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b]),
    )


def _ellipsoid_surface(size: Size) -> Triangles:
    vertices, faces = icosphere(1.0, _SPHERE_LEVEL)
    return vertices * np.asarray(size), faces


def _box_surface(size: Size) -> Triangles:
    shape = box(2.0 * np.asarray(size))
    return shape.vertices, fans(shape.loops)


def _cylinder_surface(size: Size) -> Triangles:
    radius, half, _ = size
    corners = [(0.0, half), (radius, half), (radius, -half), (0.0, -half)]
    return joined([revolved(np.array(line)) for line in pairwise(corners)])


def _cone_surface(size: Size) -> Triangles:
    (radius, _, top), (high, low) = size, _cone_ends(size)
    corners = [(0.0, high), (top, high), (radius, low), (0.0, low)]
    return joined([revolved(np.array(line)) for line in pairwise(corners) if line[0] != line[1]])


def _capsule_surface(size: Size) -> Triangles:
    radius, half, _ = size
    angle = np.linspace(0.5 * np.pi, 0.0, _ARC)
    top = np.stack([radius * np.cos(angle), half + radius * np.sin(angle)], axis=1)
    return revolved(np.concatenate([top, (top * [1.0, -1.0])[::-1]]))


class Solid(NamedTuple):
    """One kind of solid."""

    name: str  # the `kind` of its declaration in a scene, whose fields are the arguments of `make`
    make: Callable[..., Shape]
    support: Callable[[Size, Floats], float]  # (size, direction) -> largest direction . x over the solid
    surface: Callable[[Size], Triangles]


SOLIDS: dict[int, Solid] = {
    SPHERE: Solid(
        "sphere",
        sphere,
        lambda size, d: float(size[0]),
        lambda size: icosphere(float(size[0]), _SPHERE_LEVEL),
    ),
    BOX: Solid(
        "box",
        box,
        lambda size, d: float(np.abs(d) @ np.asarray(size)),
        _box_surface,
    ),
    CAPSULE: Solid(
        "capsule",
        capsule,
        lambda size, d: float(size[0]) + float(size[1]) * abs(float(d[2])),
        _capsule_surface,
    ),
    CYLINDER: Solid(
        "cylinder",
        cylinder,
        lambda size, d: float(size[0]) * float(np.hypot(d[0], d[1])) + float(size[1]) * abs(float(d[2])),
        _cylinder_surface,
    ),
    CONE: Solid("cone", cone, _cone_support, _cone_surface),
    ELLIPSOID: Solid(
        "ellipsoid",
        ellipsoid,
        lambda size, d: float(np.linalg.norm(np.asarray(size) * d)),
        _ellipsoid_surface,
    ),
}


SOLID_NAMES = {solid.name: kind for kind, solid in SOLIDS.items()}


def make_solid(name: str, **sizes: float | Floats) -> Shape:
    """The shape of the solid that a declaration calls `name`; `sizes` are the fields of the declaration."""
    return SOLIDS[SOLID_NAMES[name]].make(**sizes)


def support(shape: Shape, direction: Floats) -> float:
    """Largest `direction . x` over all points x of a shape, in its own frame."""
    if shape.kind in SOLIDS:
        return SOLIDS[shape.kind].support(shape.size, direction)
    return float((shape.vertices @ direction).max())


def surface(shapes: Shapes3D, number: int) -> Triangles:
    """A triangulated surface of one shape of a table, in its own frame, for drawing.

    The tables have no triangles of meshes; `carom.scene.parts.load_mesh` reads them from the declaration.
    """
    kind = int(shapes.kind[number])
    if kind in SOLIDS:
        return SOLIDS[kind].surface(shapes.size[number])
    if kind != HULL:
        raise ValueError("the surface of a mesh is not part of the tables")
    vertices = shapes.vertex[shapes.vertex_ptr[number] : shapes.vertex_ptr[number + 1]]
    faces = range(shapes.face_ptr[number], shapes.face_ptr[number + 1])
    return vertices, fans([shapes.loop[shapes.loop_ptr[j] : shapes.loop_ptr[j + 1]] for j in faces])


class Extent:
    """Extent of n bodies in 3D. With `orientation` (4,) they are all turned by it; None: each has its own."""

    def __init__(
        self, parts: Sequence[tuple[Shape, Placed]], radius: Floats, orientation: Floats | None, is_round: bool
    ) -> None:
        self.parts, self.radius, self.round = parts, radius, is_round
        self.orientation = None if orientation is None else orientation[None]

    def reach(self, direction: Floats) -> Floats:
        """(n,) largest `direction . x` over each body, about its center of mass; `direction` is a unit vector."""
        if self.round or self.orientation is None:
            return self.radius
        own = turned_back(self.orientation, np.ascontiguousarray(direction)[None])[0]
        far = max(float(p.place @ own) + support(shape, p.turn.T @ own) for shape, p in self.parts)
        return np.full(len(self.radius), far)

    @property
    def extent(self) -> tuple[float, ...]:
        """Widths along x, y and z of the largest body."""
        if self.round or self.orientation is None:
            return (self.diameter,) * 3
        return tuple(float((self.reach(axis) + self.reach(-axis))[0]) for axis in np.eye(3))

    @property
    def diameter(self) -> float:
        """Of the largest sphere around a body."""
        return 2.0 * float(self.radius.max())
