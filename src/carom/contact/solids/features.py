"""The feature of a form that faces along a normal: a corner, an edge, or a face with all its corners.

Which of them it is depends on how far the other corners lie behind the foremost one: those within a narrow band count.
So an edge that is a little tilted is still an edge with two ends, of which both may touch within the step.

A cylinder shows its cap as eight points that are fixed on the rim, and the true foremost point if it is tilted; its
side as a segment; else the foremost point of a rim. Points of the last three kinds are no material points: they keep
their place while the cylinder rolls. They are `rim` points, and lie at `rho` from a point of the axis along `out`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...solvers.rows import Floats, Ints
from ...world import CUBOID, CYLINDER, HULL, SPHERE
from .poses import point_world, to_local, to_world

RIM = 8  # fixed points on the rim of a cap
UPRIGHT = 1e-4  # sine of the tilt below which a cap has no foremost point


class Feature(NamedTuple):
    """One form's feature, in the world."""

    at: Floats  # (m, 3) points of the core
    code: Ints  # (m,) lasting name of each
    rim: NDArray[np.bool_]  # (m,)
    flat: Floats  # (m, 2) coordinates across the normal
    side: Floats  # (m, m) distance from each edge of the other feature, positive inside
    taken: NDArray[np.bool_]  # (m,) already part of a contact
    face: Floats  # (3,) outward normal, if there are three points or more
    axis: Floats  # (3,) of a cylinder
    out: Floats  # (3,) unit vector across the axis towards the other body
    number: Floats  # (2,) radius round the core, rho


@njit(cache=True, nogil=True, error_model="numpy")
def new_feature(most):
    """Room for a feature of up to `most` points."""
    return Feature(
        np.empty((most, 3)),
        np.empty(most, np.int64),
        np.empty(most, np.bool_),
        np.empty((most, 2)),
        np.empty((most, most)),
        np.empty(most, np.bool_),
        np.zeros(3),
        np.zeros(3),
        np.zeros(3),
        np.zeros(2),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def most_points(solids):
    """The largest number of points that a feature can have."""
    most = RIM + 1
    for j in range(len(solids.loop_ptr) - 1):
        most = max(most, solids.loop_ptr[j + 1] - solids.loop_ptr[j])
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def _put(feature, n, pose, k, x, y, z, code, rim):
    feature.at[n, 0], feature.at[n, 1], feature.at[n, 2] = point_world(pose, k, x, y, z)
    feature.code[n] = code
    feature.rim[n] = rim


@njit(cache=True, nogil=True, error_model="numpy")
def _put_cuboid(size, form, pose, k, corner, n, feature):
    """Corner number `corner` of a cuboid: bits 1, 2, 4 are set on the positive sides."""
    a, b, c = size[form, 0], size[form, 1], size[form, 2]
    x, y, z = (a if corner & 1 else -a), (b if corner & 2 else -b), (c if corner & 4 else -c)
    _put(feature, n, pose, k, x, y, z, corner, False)


@njit(cache=True, nogil=True, error_model="numpy")
def _cuboid(size, form, pose, k, x, y, z, band, feature):
    """Corner, edge or face of a cuboid; (x, y, z) is the normal in its frame."""
    corner = (1 if x >= 0.0 else 0) | (2 if y >= 0.0 else 0) | (4 if z >= 0.0 else 0)
    x, y, z = abs(x), abs(y), abs(z)
    # A step along an edge falls behind by 2 size |n|: which ones stay within the band?
    bits = 1 if 2.0 * size[form, 0] * x <= band else 0
    bits |= 2 if 2.0 * size[form, 1] * y <= band else 0
    bits |= 4 if 2.0 * size[form, 2] * z <= band else 0
    if bits == 7:  # a speck: its foremost face
        bits = 3 if z >= x and z >= y else (5 if y >= x else 6)
    _put_cuboid(size, form, pose, k, corner, 0, feature)
    if bits == 0:
        return 1
    if bits == 1 or bits == 2 or bits == 4:
        _put_cuboid(size, form, pose, k, corner ^ bits, 1, feature)
        return 2
    one = 1 if bits & 1 else 2
    _put_cuboid(size, form, pose, k, corner ^ one, 1, feature)
    _put_cuboid(size, form, pose, k, corner ^ bits, 2, feature)
    _put_cuboid(size, form, pose, k, corner ^ bits ^ one, 3, feature)
    axis = 2 if bits == 3 else (1 if bits == 5 else 0)
    sign = 1.0 if corner & (1 << axis) else -1.0
    for i in range(3):
        feature.face[i] = sign * pose[k, 3 + 3 * i + axis]
    return 4


@njit(cache=True, nogil=True, error_model="numpy")
def _hull(cores, form, pose, k, x, y, z, band, feature):
    """Corner, edge or face of a hull; (x, y, z) is the normal in its frame."""
    vertex, low, high = cores.vertex, cores.vertex_ptr[form], cores.vertex_ptr[form + 1]
    top, best = low, -np.inf
    for i in range(low, high):
        height = vertex[i, 0] * x + vertex[i, 1] * y + vertex[i, 2] * z
        if height > best:
            best, top = height, i
    near, other = 0, top
    for i in range(low, high):
        if vertex[i, 0] * x + vertex[i, 1] * y + vertex[i, 2] * z >= best - band:
            near += 1
            if i != top:
                other = i
    if near <= 2:
        _put(feature, 0, pose, k, vertex[top, 0], vertex[top, 1], vertex[top, 2], top - low, False)
        if near == 2:
            _put(feature, 1, pose, k, vertex[other, 0], vertex[other, 1], vertex[other, 2], other - low, False)
        return near
    normal, face, cosine = cores.face_normal, cores.face_ptr[form], -np.inf
    for j in range(cores.face_ptr[form], cores.face_ptr[form + 1]):
        c = normal[j, 0] * x + normal[j, 1] * y + normal[j, 2] * z
        if c > cosine:
            cosine, face = c, j
    feature.face[0], feature.face[1], feature.face[2] = to_world(
        pose, k, normal[face, 0], normal[face, 1], normal[face, 2]
    )
    start, end = cores.loop_ptr[face], cores.loop_ptr[face + 1]
    for m in range(start, end):
        i = low + cores.loop[m]
        _put(feature, m - start, pose, k, vertex[i, 0], vertex[i, 1], vertex[i, 2], cores.loop[m], False)
    return end - start


@njit(cache=True, nogil=True, error_model="numpy")
def _cap(radius, height, pose, k, x, y, across, feature):
    """Eight points of the rim at angles fixed to the cap, and the foremost one among them in its place."""
    n, up = 0, 1.0 if height > 0.0 else -1.0
    feature.face[0], feature.face[1], feature.face[2] = to_world(pose, k, 0.0, 0.0, up)
    code = 16 if up > 0.0 else 32
    tilted = across > UPRIGHT
    angle = np.arctan2(y, x) if tilted else 0.0
    if angle < -1e-6:
        angle += 2.0 * np.pi
    step = 2.0 * np.pi / RIM
    for i in range(RIM):
        if not tilted or abs(angle - i * step) > 1e-6:
            _put(feature, n, pose, k, radius * np.cos(i * step), radius * np.sin(i * step), height, code + i, False)
            n += 1
        if tilted and i * step - 1e-6 <= angle < (i + 1) * step - 1e-6:
            _put(feature, n, pose, k, radius * x / across, radius * y / across, height, code + RIM, True)
            n += 1
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _cylinder(cores, form, pose, k, x, y, z, band, feature):
    """Cap, side or rim point of a cylinder; (x, y, z) is the normal in its frame."""
    radius, half = cores.size[form, 0], cores.size[form, 1]
    across = np.sqrt(x * x + y * y)
    height = half if z >= 0.0 else -half
    feature.number[1] = radius
    feature.axis[0], feature.axis[1], feature.axis[2] = to_world(pose, k, 0.0, 0.0, 1.0)
    if across > 0.0:
        feature.out[0], feature.out[1], feature.out[2] = to_world(pose, k, x / across, y / across, 0.0)
    if 2.0 * radius * across <= band:
        return _cap(radius, height, pose, k, x, y, across, feature)
    px, py = radius * x / across, radius * y / across
    _put(feature, 0, pose, k, px, py, height, 1 if height > 0.0 else 2, True)
    if 2.0 * half * abs(z) <= band:
        _put(feature, 1, pose, k, px, py, -height, 2 if height > 0.0 else 1, True)
        return 2
    return 1


@njit(cache=True, nogil=True, error_model="numpy")
def facing(cores, form, pose, k, nx, ny, nz, band, feature):
    """Fills `feature` with the one that faces along n; returns the number of its points."""
    x, y, z = to_local(pose, k, nx, ny, nz)
    kind = cores.kind[form]
    feature.number[0], feature.number[1] = 0.0, 0.0
    if kind == CUBOID:
        return _cuboid(cores.size, form, pose, k, x, y, z, band, feature)
    if kind == HULL:
        return _hull(cores, form, pose, k, x, y, z, band, feature)
    if kind == CYLINDER:
        return _cylinder(cores, form, pose, k, x, y, z, band, feature)
    feature.number[0] = cores.size[form, 0]
    if kind == SPHERE:
        _put(feature, 0, pose, k, 0.0, 0.0, 0.0, 0, False)
        return 1
    half = cores.size[form, 1]  # CAPSULE
    end = half if z >= 0.0 else -half
    _put(feature, 0, pose, k, 0.0, 0.0, end, 0 if end > 0.0 else 1, False)
    if 2.0 * half * abs(z) > band:
        return 1
    _put(feature, 1, pose, k, 0.0, 0.0, -end, 1 if end > 0.0 else 0, False)
    return 2
