"""Features of convex shapes: the vertex, edge or face that faces along a normal; and points that represent a shape.

The feature consists of all vertices that lie behind the foremost one by less than a narrow band. So an edge that is
slightly tilted is still an edge with two ends, of which both may touch within the step.

A flat round end (cap) is represented by eight fixed points on the rim, and the foremost point if it is tilted; a round
side by a segment; otherwise the foremost point of a rim is the feature. Points of the last three kinds are not material
points: they stay in place while the body rolls. They are `rim` points at distance `rho` from the axis along `out`.

Against a mesh, a shape without a table of points is represented by `Spots`: points of its core, rims and side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, HULL, MESH, SPHERE
from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .grid_distance import grid_distance
from .poses import mapped, point_world, to_local, to_world
from .support import FACES, FACES_END, HIGH, KIND, LOW, farthest_corner, has_rims, rims

RIM = 8  # fixed points on the rim of a cap, against convex shapes and boundaries
UPRIGHT = 1e-4  # sine of the tilt below which a cap or rim has no foremost point
CAP_TILT = 0.2  # sine of the tilt above which a small cap counts as a point
RIM_POINTS = 16  # points on each rim, against meshes
SPOTS = 65  # largest number of points of a capsule's core, or of a shape with rims
_TURNS = 3  # iterations for the foremost point of a rim
_NOWHERE = 1e100  # coordinate of points that do not count


# Columns of Features.point: place, coordinates across the normal, code for feature_id, `rho` of a rim point (0 for
# others), in use or not.
FLAT_U, FLAT_V, CODE, RHO, TAKEN, COLUMNS = 3, 4, 5, 6, 7, 8
# Entries of Features.data: outward normal of a face (with three points or more), axis of a solid of revolution, `out`,
# radius around the core, center of a cap, its radius (0 if it is not a cap).
FACE, AXIS, OUT, ROUND, CENTER, CAP, ENTRIES = 0, 3, 6, 9, 10, 13, 14


class Features(NamedTuple):
    """Features of both shapes of a pair, in the frame of the world: 0 of the first, 1 of the second."""

    point: Floats  # (2, m, COLUMNS) points of the cores
    side: Floats  # (2, m, m) their distances from the edges of the other feature, positive inside
    data: Floats  # (2, ENTRIES)


@kernel
def new_features(most):
    """Empty features of up to `most` points."""
    return Features(np.zeros((2, most, COLUMNS)), np.zeros((2, most, most)), np.zeros((2, ENTRIES)))


@kernel
def most_points(shapes):
    """The largest number of points that a feature can have."""
    most = RIM + 1
    for j in range(len(shapes.loop_ptr) - 1):
        most = max(most, shapes.loop_ptr[j + 1] - shapes.loop_ptr[j])
    return most


@kernel
def _put(f, w, n, pose, k, x, y, z, code, rho):
    f.point[w, n, 0], f.point[w, n, 1], f.point[w, n, 2] = point_world(pose, k, x, y, z)
    f.point[w, n, CODE], f.point[w, n, RHO] = code, rho


@kernel
def _put_vector(f, w, entry, pose, k, x, y, z):
    f.data[w, entry], f.data[w, entry + 1], f.data[w, entry + 2] = to_world(pose, k, x, y, z)


@kernel
def _box(table, shape, pose, k, x, y, z, band, f, w):
    """Vertex, edge or face of a box; (x, y, z) is the normal in its frame.

    Bits 1, 2, 4 of the number of a vertex are set on the positive sides.
    """
    a, b, c = table[shape, 1], table[shape, 2], table[shape, 3]
    corner = (1 if x >= 0.0 else 0) | (2 if y >= 0.0 else 0) | (4 if z >= 0.0 else 0)
    x, y, z = abs(x), abs(y), abs(z)
    # A neighbor along an edge lies behind by 2 size |n|: bits of the edges that stay within the band.
    bits = (1 if 2.0 * a * x <= band else 0) | (2 if 2.0 * b * y <= band else 0) | (4 if 2.0 * c * z <= band else 0)
    if bits == 7:  # a box smaller than the band: its foremost face
        bits = 3 if z >= x and z >= y else (5 if y >= x else 6)
    one = bits & -bits
    two = bits ^ one
    count = 1 if bits == 0 else (2 if two == 0 else 4)
    for n in range(count):
        at = corner ^ (one if n == 1 or n == 2 else 0) ^ (two if n >= 2 else 0)
        _put(f, w, n, pose, k, a if at & 1 else -a, b if at & 2 else -b, c if at & 4 else -c, at, 0.0)
    if count == 4:
        axis = 2 if bits == 3 else (1 if bits == 5 else 0)
        sign = 1.0 if corner & (1 << axis) else -1.0
        for i in range(3):
            f.data[w, FACE + i] = sign * pose[k, 3 + 3 * i + axis]
    return count


@kernel
def _hull(cores, shape, pose, k, x, y, z, band, f, w):
    """Vertex, edge or face of a hull; (x, y, z) is the normal in its frame."""
    vertex, low, high = cores.vertex, int(cores.table[shape, LOW]), int(cores.table[shape, HIGH])
    top = farthest_corner(vertex, low, high, x, y, z)
    edge = vertex[top, 0] * x + vertex[top, 1] * y + vertex[top, 2] * z - band
    near, other = 0, top
    for i in range(low, high):
        if vertex[i, 0] * x + vertex[i, 1] * y + vertex[i, 2] * z >= edge:
            near += 1
            if i != top:
                other = i
    start, end, face, cosine = 0, near, 0, -np.inf
    if near > 2:
        for j in range(int(cores.table[shape, FACES]), int(cores.table[shape, FACES_END])):
            c = cores.face[j, 0] * x + cores.face[j, 1] * y + cores.face[j, 2] * z
            if c > cosine:
                cosine, face = c, j
        _put_vector(f, w, FACE, pose, k, cores.face[face, 0], cores.face[face, 1], cores.face[face, 2])
        start, end = cores.loop_ptr[face], cores.loop_ptr[face + 1]
    for m in range(start, end):
        i = low + cores.loop[m] if near > 2 else (top if m == 0 else other)
        _put(f, w, m - start, pose, k, vertex[i, 0], vertex[i, 1], vertex[i, 2], i - low, 0.0)
    return end - start


@kernel
def _rimmed(table, shape, pose, k, x, y, z, band, f, w):
    """Cap, side or rim point of a shape with rims; (x, y, z) is the normal in its frame.

    A cap is eight points at fixed angles, and the foremost point in its place among them. A rim of radius 0 is a
    material point: its `rho` is 0.
    """
    top, high, bottom, low = rims(table[shape, KIND], table[shape, 1], table[shape, 2], table[shape, 3])
    across, wide = np.sqrt(x * x + y * y), max(top, bottom)
    lead = (top - bottom) * across + (high - low) * z  # of the foremost point of the upper rim over that of the lower
    up = 1.0 if lead >= 0.0 else -1.0
    radius, height = (top, high) if lead >= 0.0 else (bottom, low)
    _put_vector(f, w, AXIS, pose, k, 0.0, 0.0, 1.0)
    tilted = across > UPRIGHT
    px, py = (wide * x / across, wide * y / across) if across > 0.0 else (0.0, 0.0)
    _put_vector(f, w, OUT, pose, k, px / wide, py / wide, 0.0)
    side = abs(lead) <= band
    if side or radius == 0.0 or across > CAP_TILT or 2.0 * radius * across > band:
        for n in range(2 if side else 1):
            upper = (lead >= 0.0) == (n == 0)
            rho, z = (top, high) if upper else (bottom, low)
            px, py = (rho * x / across, rho * y / across) if across > 0.0 else (0.0, 0.0)
            _put(f, w, n, pose, k, px, py, z, 1 if upper else 2, rho)
        return 2 if side else 1
    px, py = (radius * x / across, radius * y / across) if across > 0.0 else (0.0, 0.0)
    _put_vector(f, w, FACE, pose, k, 0.0, 0.0, up)
    f.data[w, CAP] = radius
    for i in range(3):
        f.data[w, CENTER + i] = pose[k, i] + abs(height) * f.data[w, FACE + i]
    code, n, step = 16 if up > 0.0 else 32, 0, 2.0 * np.pi / RIM
    angle = np.arctan2(y, x) if tilted else -1.0
    if tilted and angle < -1e-6:
        angle += 2.0 * np.pi
    for i in range(2 * RIM):  # at each angle the fixed point, then the foremost one if it follows
        t = (i // 2) * step
        if i % 2 == 0 and abs(angle - t) > 1e-6:
            _put(f, w, n, pose, k, radius * np.cos(t), radius * np.sin(t), height, code + i // 2, 0.0)
            n += 1
        elif i % 2 == 1 and tilted and t - 1e-6 <= angle < t + step - 1e-6:
            _put(f, w, n, pose, k, px, py, height, code + RIM, radius)
            n += 1
    return n


@kernel
def facing(cores, shape, pose, k, nx, ny, nz, band, f, w):
    """Writes the feature that faces along n to feature w of `f`; returns the number of its points."""
    x, y, z = to_local(pose, k, nx, ny, nz)
    table = cores.table
    kind = table[shape, KIND]
    f.data[w, ROUND], f.data[w, CAP] = 0.0, 0.0
    if kind == BOX:
        return _box(table, shape, pose, k, x, y, z, band, f, w)
    if kind == HULL:
        return _hull(cores, shape, pose, k, x, y, z, band, f, w)
    if has_rims(kind):
        return _rimmed(table, shape, pose, k, x, y, z, band, f, w)
    f.data[w, ROUND] = table[shape, 1]
    _put_vector(f, w, AXIS, pose, k, 0.0, 0.0, 1.0)
    half = table[shape, 2] if kind == CAPSULE else 0.0
    count = 2 if kind == CAPSULE and 2.0 * half * abs(z) <= band else 1
    for n in range(count):
        upper = (z >= 0.0) == (n == 0)
        _put(f, w, n, pose, k, 0.0, 0.0, half if upper else -half, 0 if upper else 1, 0.0)
    return count


# ---- points that represent a shape against a mesh


class Spots(NamedTuple):
    """Points of a shape without a table of them: core of a capsule or sphere, rims and side of a shape with rims.

    Points on a round side are not material points: while the body rolls, they stay where it is nearest.
    """

    place: Floats  # (k, 3) at the start of the step
    later: Floats  # (k, 3) at its end
    normal: Floats  # (k, 3) outward
    link: Ints  # (k, 2) neighbors


@kernel
def put_spots(shapes, shape, spacing, spots):
    """Writes the points and neighbors of a sphere, capsule or shape with rims; returns (points, links, radius)."""
    kind = shapes.kind[shape]
    if kind == SPHERE:
        spots.place[0] = 0.0
        return 1, 0, shapes.size[shape, 0]
    if kind == CAPSULE:
        half = shapes.size[shape, 1]
        count = min(int(np.ceil(2.0 * half / spacing)) + 1, SPOTS)
        for k in range(count):
            spots.place[k, 0], spots.place[k, 1] = 0.0, 0.0
            spots.place[k, 2] = half * ((2 * k - (count - 1)) / (count - 1))
            if k:
                spots.link[k - 1, 0], spots.link[k - 1, 1] = k - 1, k
        return count, count - 1, shapes.size[shape, 0]
    top, high, bottom, low = rims(kind, shapes.size[shape, 0], shapes.size[shape, 1], shapes.size[shape, 2])
    slope = (high - low, bottom - top)
    for k in range(2 * RIM_POINTS):
        angle = 2.0 * np.pi * (k % RIM_POINTS) / RIM_POINTS
        radius, z, up = (top, high, 1.0) if k < RIM_POINTS else (bottom, low, -1.0)
        _put_rim(spots.place, spots.normal, k, radius, z, np.cos(angle), np.sin(angle), up, slope)
        if radius == 0.0 and k % RIM_POINTS > 0:  # one point is sufficient
            spots.place[k, 2] = _NOWHERE
        spots.later[k] = spots.place[k]
        spots.link[k, 0], spots.link[k, 1] = k, k + 1 if (k + 1) % RIM_POINTS else k + 1 - RIM_POINTS
    count = min(int(np.ceil((high - low) / spacing)) + 1, SPOTS - 2 * RIM_POINTS)
    for k in range(count - 1):
        spots.link[2 * RIM_POINTS + k, 0], spots.link[2 * RIM_POINTS + k, 1] = (
            2 * RIM_POINTS + k,
            2 * RIM_POINTS + k + 1,
        )
    return 2 * RIM_POINTS + count, 2 * RIM_POINTS + count - 1, 0.0


@kernel
def _put_rim(place, normal, k, radius, z, ux, uy, up, slope):
    """Writes a point of a round side in direction u, whose normal is along `slope` (outward, z).

    At a rim (`up` is 1 or -1, else 0) the outward direction is midway between side and cap, at a tip along z.
    """
    place[k, 0], place[k, 1], place[k, 2] = radius * ux, radius * uy, z
    length = np.sqrt(slope[0] * slope[0] + slope[1] * slope[1])
    across, along = (slope[0] / length, slope[1] / length + up) if radius > 0.0 else (0.0, up)
    length = np.sqrt(across * across + along * along)
    normal[k, 0], normal[k, 1], normal[k, 2] = across * ux / length, across * uy / length, along / length


@kernel
def put_front(shapes, shape, count, grid, m, margin, fixed, place, normal):
    """Writes the points from 2 RIM_POINTS on: where circles about the axis are nearest to the mesh of a grid.

    m maps the frame of the shape to the mesh's. A rim that lies flat has no such point. For any other rim the `fixed`
    points around it are disabled: they come down as the body rolls, but never below its side.
    """
    kind = shapes.kind[shape]
    top, high, bottom, low = rims(kind, shapes.size[shape, 0], shapes.size[shape, 1], shapes.size[shape, 2])
    half, middle, slope = 0.5 * (high - low), 0.5 * (high + low), (high - low, bottom - top)
    for k in range(2 * RIM_POINTS, count):
        part = (2 * (k - 2 * RIM_POINTS) - (count - 2 * RIM_POINTS - 1)) / (count - 2 * RIM_POINTS - 1)
        z, radius = middle + half * part, bottom + 0.5 * (1.0 + part) * (top - bottom)
        up = -1.0 if k == 2 * RIM_POINTS else (1.0 if k == count - 1 else 0.0)
        ux, uy, across = 0.0, 0.0, 0.0
        for _ in range(_TURNS):
            x, y, w = mapped(m, radius * ux, radius * uy, z)
            nx, ny, nz = grid_distance(grid, Vec3(x, y, w), False).normal
            x, y = m[0] * nx + m[3] * ny + m[6] * nz, m[1] * nx + m[4] * ny + m[7] * nz
            across = np.sqrt(x * x + y * y)
            if across < UPRIGHT:
                break
            ux, uy = -x / across, -y / across
        _put_rim(place, normal, k, radius if across >= UPRIGHT else _NOWHERE, z, ux, uy, up, slope)
        if across < UPRIGHT or radius == 0.0:
            place[k, 2] = _NOWHERE
        if 2.0 * radius * across > margin and (k == 2 * RIM_POINTS or k == count - 1):
            first = RIM_POINTS if k == 2 * RIM_POINTS else 0
            for i in range(first, first + RIM_POINTS):
                if place[i, 0] * ux + place[i, 1] * uy > 0.5 * radius:
                    fixed[i, 2] = _NOWHERE


@kernel
def put_box(shapes, shape, more, out):
    """Writes low and high corner of the bounding box of a shape in its own frame, enlarged by `more` on all sides."""
    kind, g = shapes.kind[shape], shapes.grid[shape]
    for axis in range(3):
        low, high = -shapes.reach[shape], shapes.reach[shape]
        if kind == BOX:
            low, high = -shapes.size[shape, axis], shapes.size[shape, axis]
        elif has_rims(kind):
            top, high, bottom, low = rims(kind, shapes.size[shape, 0], shapes.size[shape, 1], shapes.size[shape, 2])
            if axis < 2:
                high = max(top, bottom)
                low = -high
        elif kind == MESH:
            low = shapes.grid_low[g, axis]
            high = low + shapes.grid_spacing[g] * (shapes.grid_count[g, axis] - 1)
        out[axis], out[3 + axis] = low - more, high + more


# ---- points that represent a shape in the swept test against a mesh


@kernel
def sample_count(shapes, shape):
    """Number of points that represent a shape in the swept test: sample points, vertices, or a few on axis and rims."""
    kind = shapes.kind[shape]
    if kind == SPHERE:
        return 1
    if kind == CAPSULE:
        return 9
    if has_rims(kind):
        return 17
    return shapes.vertex_ptr[shape + 1] - shapes.vertex_ptr[shape]


@kernel
def sample_point(shapes, shape, k):
    """Sample point k of a shape, in its own frame, and the radius about it."""
    kind = shapes.kind[shape]
    a, b = shapes.size[shape, 0], shapes.size[shape, 1]
    if kind == SPHERE:
        return 0.0, 0.0, 0.0, a
    if kind == CAPSULE:
        return 0.0, 0.0, b * (0.25 * k - 1.0), a
    if has_rims(kind):
        if k == 16:
            return 0.0, 0.0, 0.0, 0.0
        angle = 0.25 * np.pi * (k % 8)
        top, high, bottom, low = rims(kind, a, b, shapes.size[shape, 2])
        radius, z = (top, high) if k < 8 else (bottom, low)
        return radius * np.cos(angle), radius * np.sin(angle), z, 0.0
    v = shapes.vertex[shapes.vertex_ptr[shape] + k]
    return v[0], v[1], v[2], 0.0
