"""Convex shapes as cores with a radius, and the support function of cores.

The core of a sphere is a point, that of a capsule a segment; other shapes are their own core, with radius zero. A
convex solid of revolution about z with two flat ends and a straight side is described by its two rims: all contact
kernels ask `has_rims` and `rims` about it, and only the distances of `point_distance` depend on its kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, CONE, CYLINDER, SPHERE
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .poses import point_world, to_local

# Columns of Cores.table.
KIND, SIZE, LOW, HIGH, FACES, FACES_END, REACH = 0, 1, 4, 5, 6, 7, 8


class Cores(NamedTuple):
    """The columns of Shapes3D that convex pairs need, in few arrays, since kernels pass them on to each other."""

    table: Floats  # (f, 9) kind, three sizes, range of vertices, range of faces, reach
    vertex: Floats  # (k, 3)
    face: Floats  # (faces, 4) outward normal, offset
    loop_ptr: Ints  # (faces + 1,)
    loop: Ints


@kernel
def cores_of(shapes):
    """The cores of all shapes of a table."""
    table = np.empty((len(shapes.kind), 9))
    for f in range(len(shapes.kind)):
        table[f, KIND], table[f, REACH] = shapes.kind[f], shapes.reach[f]
        table[f, LOW], table[f, HIGH] = shapes.vertex_ptr[f], shapes.vertex_ptr[f + 1]
        table[f, FACES], table[f, FACES_END] = shapes.face_ptr[f], shapes.face_ptr[f + 1]
        for i in range(3):
            table[f, SIZE + i] = shapes.size[f, i]
    face = np.empty((len(shapes.face_offset), 4))
    for j in range(len(face)):
        face[j, 3] = shapes.face_offset[j]
        for i in range(3):
            face[j, i] = shapes.face_normal[j, i]
    return Cores(table, shapes.vertex, face, shapes.loop_ptr, shapes.loop)


@kernel
def is_rounded(kind):
    """Whether shapes of this kind are a point or segment with a radius around it."""
    return kind in (SPHERE, CAPSULE)


@kernel
def roundness(cores, shape):
    """Radius around the core of a shape."""
    return cores.table[shape, SIZE] if is_rounded(cores.table[shape, KIND]) else 0.0


@kernel
def has_rims(kind):
    """Whether shapes of a kind have flat ends and a straight side, all round about z."""
    return kind in (CYLINDER, CONE)


@kernel
def rims(kind, a, b, c):
    """(radius, z) of the upper and then of the lower rim of a shape with rims, from its three sizes."""
    if kind == CONE:  # the origin is the center of mass: see carom.geometry.solids
        share = (a * a + 2.0 * a * c + 3.0 * c * c) / (2.0 * (a * a + a * c + c * c))
        return c, (2.0 - share) * b, a, -share * b
    return a, b, a, -b


@kernel
def is_curved(cores, shape):
    """Whether the core has a curved surface: the differences of such cores have no flat faces to settle on."""
    return has_rims(cores.table[shape, KIND])


@kernel
def farthest_corner(vertex, low, high, x, y, z):
    """The row of the vertex farthest along a direction; the first of equal ones."""
    best, top = -np.inf, low
    for i in range(low, high):
        height = vertex[i, 0] * x + vertex[i, 1] * y + vertex[i, 2] * z
        if height > best:
            best, top = height, i
    return top


@kernel
def support(cores, shape, pose, k, dx, dy, dz):
    """Support function: a point of the core that is farthest along d, in the frame of the world."""
    x, y, z = to_local(pose, k, dx, dy, dz)
    table = cores.table
    kind, a, b, c = table[shape, 0], table[shape, 1], table[shape, 2], table[shape, 3]
    if kind == SPHERE:
        x, y, z = 0.0, 0.0, 0.0
    elif kind == BOX:
        x, y, z = (a if x >= 0.0 else -a), (b if y >= 0.0 else -b), (c if z >= 0.0 else -c)
    elif kind == CAPSULE:
        x, y, z = 0.0, 0.0, (b if z >= 0.0 else -b)
    elif has_rims(kind):
        across = np.sqrt(x * x + y * y)
        top, high, bottom, low = rims(kind, a, b, c)
        upper = (top - bottom) * across + (high - low) * z >= 0.0
        radius, z = (top, high) if upper else (bottom, low)
        if across > 0.0:
            x, y = radius * x / across, radius * y / across
    else:
        i = farthest_corner(cores.vertex, int(table[shape, LOW]), int(table[shape, HIGH]), x, y, z)
        x, y, z = cores.vertex[i, 0], cores.vertex[i, 1], cores.vertex[i, 2]
    return point_world(pose, k, x, y, z)


@kernel
def difference(cores, fa, fb, pose, ka, kb, dx, dy, dz):
    """Support function of the Minkowski difference b - a of two cores."""
    bx, by, bz = support(cores, fb, pose, kb, dx, dy, dz)
    ax, ay, az = support(cores, fa, pose, ka, -dx, -dy, -dz)
    return bx - ax, by - ay, bz - az
