"""Convex forms as cores with a radius round them: a sphere is a point, a capsule a segment, the rest has no radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import CAPSULE, CUBOID, CYLINDER, SPHERE
from .poses import point_world, to_local

# Columns of Cores.shape.
KIND, SIZE, LOW, HIGH, FACES, FACES_END, REACH = 0, 1, 4, 5, 6, 7, 8


class Cores(NamedTuple):
    """What convex pairs read of Solids, in as few arrays as possible, since they are handed from kernel to kernel."""

    shape: Floats  # (f, 9) kind, three sizes, first and last corner, first and last face, reach
    vertex: Floats  # (k, 3)
    face: Floats  # (faces, 4) outward normal, offset
    loop_ptr: Ints  # (faces + 1,)
    loop: Ints


@kernel
def cores_of(solids):
    shape = np.empty((len(solids.kind), 9))
    for f in range(len(solids.kind)):
        shape[f, KIND], shape[f, REACH] = solids.kind[f], solids.reach[f]
        shape[f, LOW], shape[f, HIGH] = solids.vertex_ptr[f], solids.vertex_ptr[f + 1]
        shape[f, FACES], shape[f, FACES_END] = solids.face_ptr[f], solids.face_ptr[f + 1]
        for i in range(3):
            shape[f, SIZE + i] = solids.size[f, i]
    face = np.empty((len(solids.face_offset), 4))
    for j in range(len(face)):
        face[j, 3] = solids.face_offset[j]
        for i in range(3):
            face[j, i] = solids.face_normal[j, i]
    return Cores(shape, solids.vertex, face, solids.loop_ptr, solids.loop)


@kernel
def roundness(cores, form):
    """Radius round the core."""
    kind = cores.shape[form, KIND]
    return cores.shape[form, SIZE] if kind in (SPHERE, CAPSULE) else 0.0


@kernel
def farthest_corner(vertex, low, high, x, y, z):
    """The row of the corner farthest along a direction; the first of equals."""
    best, top = -np.inf, low
    for i in range(low, high):
        height = vertex[i, 0] * x + vertex[i, 1] * y + vertex[i, 2] * z
        if height > best:
            best, top = height, i
    return top


@kernel
def support(cores, form, pose, k, dx, dy, dz):
    """A point of the core farthest along d, in the world."""
    x, y, z = to_local(pose, k, dx, dy, dz)
    shape = cores.shape
    kind, a, b, c = shape[form, 0], shape[form, 1], shape[form, 2], shape[form, 3]
    if kind == SPHERE:
        x, y, z = 0.0, 0.0, 0.0
    elif kind == CUBOID:
        x, y, z = (a if x >= 0.0 else -a), (b if y >= 0.0 else -b), (c if z >= 0.0 else -c)
    elif kind == CAPSULE:
        x, y, z = 0.0, 0.0, (b if z >= 0.0 else -b)
    elif kind == CYLINDER:
        across = np.sqrt(x * x + y * y)
        if across > 0.0:
            x, y = a * x / across, a * y / across
        z = b if z >= 0.0 else -b
    else:
        i = farthest_corner(cores.vertex, int(shape[form, LOW]), int(shape[form, HIGH]), x, y, z)
        x, y, z = cores.vertex[i, 0], cores.vertex[i, 1], cores.vertex[i, 2]
    return point_world(pose, k, x, y, z)


@kernel
def difference(cores, fa, fb, pose, ka, kb, dx, dy, dz):
    """The point of the difference b - a of two cores that is farthest along d."""
    bx, by, bz = support(cores, fb, pose, kb, dx, dy, dz)
    ax, ay, az = support(cores, fa, pose, ka, -dx, -dy, -dz)
    return bx - ax, by - ay, bz - az
