"""Convex shapes as values: a core with a radius around it, and the support function of cores.

The core of a sphere is a point, that of a capsule a segment; other shapes are their own core, with radius zero. A
convex solid of revolution about z with two flat ends and a straight side is described by its two rims: all contact
kernels ask `has_rims` and `rims` about it, and only the distances of `point_distance` depend on its kind. A strictly
convex core touches with one point, the foremost one along the normal: kernels ask `is_smooth` and `foremost_point`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, SPHERE
from ..geometry.vectors import Pose, Vec3, dot, norm, row3, to_local
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .poses import world_point

AXIS_ENDS, SPREAD = 6, 14  # directions of `spread_direction`: along the axes, and all of them


class Core(NamedTuple):
    """A convex shape in its own frame; the arrays are views of the table of shapes, and empty for round shapes."""

    kind: int  # SPHERE .. ELLIPSOID
    size: Vec3  # see Shapes3D
    radius: float  # around the core
    reach: float  # largest distance of the shape from its origin
    vertex: Floats  # (k, 3)
    face_normal: Floats  # (faces, 3) outward
    face_offset: Floats  # (faces,)
    loop_ptr: Ints  # (faces + 1,) vertices of a face: loop[loop_ptr[j]:loop_ptr[j+1]]
    loop: Ints


class Part(NamedTuple):
    """A convex shape at a place in the world."""

    core: Core
    pose: Pose


class Rims(NamedTuple):
    """Radius and z of the upper and of the lower rim of a shape with rims."""

    top: float
    high: float
    bottom: float
    low: float


@kernel(inline="always")
def core_of(shapes, f):
    """The convex shape f of a table of shapes."""
    kind, size = int(shapes.kind[f]), row3(shapes.size, f)
    first, last = shapes.face_ptr[f], shapes.face_ptr[f + 1]
    return Core(
        kind,
        size,
        size.x if is_rounded(kind) else 0.0,
        shapes.reach[f],
        shapes.vertex[shapes.vertex_ptr[f] : shapes.vertex_ptr[f + 1]],
        shapes.face_normal[first:last],
        shapes.face_offset[first:last],
        shapes.loop_ptr[first : last + 1],
        shapes.loop,
    )


@kernel
def is_rounded(kind):
    """Whether shapes of this kind are a point or segment with a radius around it."""
    return kind in (SPHERE, CAPSULE)


@kernel
def has_rims(kind):
    """Whether shapes of a kind have flat ends and a straight side, all round about z."""
    return kind in (CYLINDER, CONE)


@kernel
def is_smooth(kind):
    """Whether cores of this kind are strictly convex, so that a direction has one foremost point."""
    return kind in (SPHERE, ELLIPSOID)


@kernel
def rims(kind, size):
    """The rims of a shape of a kind that has them."""
    a, b, c = size[0], size[1], size[2]
    if kind == CONE:  # the origin is the center of mass: see carom.geometry.solids
        share = (a * a + 2.0 * a * c + 3.0 * c * c) / (2.0 * (a * a + a * c + c * c))
        return Rims(c, (2.0 - share) * b, a, -share * b)
    return Rims(a, b, a, -b)


@kernel
def is_curved(core):
    """Whether the core has a curved surface: the differences of such cores have no flat faces to settle on."""
    return has_rims(core.kind) or core.kind == ELLIPSOID


@kernel
def foremost_vertex(vertex, d):
    """The row of the vertex farthest along d; the first of equal ones."""
    best, top = -np.inf, 0
    for i in range(len(vertex)):
        height = dot(row3(vertex, i), d)
        if height > best:
            best, top = height, i
    return top


@kernel
def foremost_point(kind, size, vertex, d):
    """A point of a core that is farthest along d, both in the frame of the shape.

    It takes three fields of the core, because passing on all of them costs more than the search.
    """
    if kind == SPHERE:
        return Vec3(0.0, 0.0, 0.0)
    if kind == BOX:
        return Vec3(
            size.x if d.x >= 0.0 else -size.x, size.y if d.y >= 0.0 else -size.y, size.z if d.z >= 0.0 else -size.z
        )
    if kind == CAPSULE:
        return Vec3(0.0, 0.0, size.y if d.z >= 0.0 else -size.y)
    if has_rims(kind):
        ends, across = rims(kind, size), np.sqrt(d.x * d.x + d.y * d.y)
        upper = (ends.top - ends.bottom) * across + (ends.high - ends.low) * d.z >= 0.0
        radius, z = (ends.top, ends.high) if upper else (ends.bottom, ends.low)
        return Vec3(radius * d.x / across, radius * d.y / across, z) if across > 0.0 else Vec3(0.0, 0.0, z)
    if kind == ELLIPSOID:  # the foremost point of the unit ball along the stretched direction, stretched
        a = Vec3(size.x * d.x, size.y * d.y, size.z * d.z)
        length = norm(a)
        a = a / length if length > 0.0 else Vec3(1.0, 0.0, 0.0)
        return Vec3(size.x * a.x, size.y * a.y, size.z * a.z)
    return row3(vertex, foremost_vertex(vertex, d))


@kernel
def spread_direction(k):
    """Unit vector k of SPREAD: both ends of the axes, then the diagonals of the octants."""
    if k < 6:
        sign = 1.0 if k % 2 == 0 else -1.0
        return Vec3(sign if k < 2 else 0.0, sign if 2 <= k < 4 else 0.0, sign if k >= 4 else 0.0)
    part = np.sqrt(1.0 / 3.0)
    return Vec3(part if k & 1 else -part, part if k & 2 else -part, part if k & 4 else -part)


@kernel(inline="always")
def support(part, d):
    """Support function: a point of the core that is farthest along d, in the frame of the world."""
    core, pose = part.core, part.pose
    return world_point(pose, foremost_point(core.kind, core.size, core.vertex, to_local(pose.turn, d)))


@kernel(inline="always")
def difference(a, b, d):
    """Support function of the Minkowski difference b - a of the cores of two parts."""
    return support(b, d) - support(a, -d)
