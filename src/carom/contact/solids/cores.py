"""Convex forms as cores with a radius round them: a sphere is a point, a capsule a segment, the rest has no radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...solvers.rows import Floats, Ints
from ...world import CAPSULE, CUBOID, CYLINDER, SPHERE
from .poses import point_world, to_local


class Cores(NamedTuple):
    """What convex pairs read of Solids: few arrays, since they are handed from kernel to kernel."""

    kind: NDArray[np.int8]  # (f,)
    size: Floats  # (f, 3)
    vertex_ptr: Ints  # (f + 1,)
    vertex: Floats  # (k, 3)
    face_ptr: Ints  # (f + 1,)
    face_normal: Floats  # (faces, 3)
    face_offset: Floats  # (faces,)
    loop_ptr: Ints  # (faces + 1,)
    loop: Ints

@njit(cache=True, nogil=True, error_model="numpy")
def cores_of(solids):
    return Cores(
        solids.kind,
        solids.size,
        solids.vertex_ptr,
        solids.vertex,
        solids.face_ptr,
        solids.face_normal,
        solids.face_offset,
        solids.loop_ptr,
        solids.loop,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def roundness(cores, form):
    """Radius round the core."""
    kind = cores.kind[form]
    return cores.size[form, 0] if kind == SPHERE or kind == CAPSULE else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def farthest_corner(vertex, low, high, x, y, z):
    """The row of the corner farthest along a direction; the first of equals."""
    best, top = -np.inf, low
    for i in range(low, high):
        height = vertex[i, 0] * x + vertex[i, 1] * y + vertex[i, 2] * z
        if height > best:
            best, top = height, i
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def support(cores, form, pose, k, dx, dy, dz):
    """A point of the core farthest along d, in the world."""
    x, y, z = to_local(pose, k, dx, dy, dz)
    kind = cores.kind[form]
    a, b, c = cores.size[form, 0], cores.size[form, 1], cores.size[form, 2]
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
        i = farthest_corner(cores.vertex, cores.vertex_ptr[form], cores.vertex_ptr[form + 1], x, y, z)
        x, y, z = cores.vertex[i, 0], cores.vertex[i, 1], cores.vertex[i, 2]
    return point_world(pose, k, x, y, z)


@njit(cache=True, nogil=True, error_model="numpy")
def difference(cores, fa, fb, pose, ka, kb, dx, dy, dz):
    """The point of the difference b - a of two cores that is farthest along d."""
    bx, by, bz = support(cores, fb, pose, kb, dx, dy, dz)
    ax, ay, az = support(cores, fa, pose, ka, -dx, -dy, -dz)
    return bx - ax, by - ay, bz - az
