"""Features of convex shapes: the vertex, edge or face that faces along a normal.

The feature consists of all vertices that lie behind the foremost one by less than a narrow band. So an edge that is
slightly tilted is still an edge with two ends, of which both may touch within the step.

A flat round end (cap) is represented by eight fixed points on the rim, and the foremost point if it is tilted; a round
side by a segment; otherwise the foremost point of a rim is the feature. Points of the last three kinds are not material
points: they stay in place while the body rolls. They are `rim` points at distance `rho` from the axis along `out`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, HULL
from ..geometry.vectors import Vec3, dot, row3, to_local, to_world
from ..kernels import kernel, lean
from ..solvers.rows import Floats
from .parts import foremost_vertex, has_rims, rims, world_point

RIM_FEATURES = 8  # fixed points on the rim of a cap, against convex shapes and boundaries
UPRIGHT_SINE = 1e-4  # sine of the tilt below which a cap or rim has no foremost point
FEATURE_BAND = 0.2  # largest depth of features, in half widths of the smaller body
CAP_TILT = 0.2  # sine of the tilt above which a small cap counts as a point


# Columns of Scratch.point: place, coordinates across the normal, code for the feature id, `rho` of a rim point (0 for
# others), whether it is a contact point already.
FLAT_U, FLAT_V, CODE, RHO, TAKEN, POINT_COLUMNS = 3, 4, 5, 6, 7, 8
PLACE_COLUMNS = 6  # a place on the first feature, and one on the second


class Scratch(NamedTuple):
    """Arrays for one pair of features at a time: 0 of the first part, 1 of the second."""

    point: Floats  # (2, m, POINT_COLUMNS) points of the cores
    side: Floats  # (2, m, m) their distances from the edges of the other feature, positive inside
    place: Floats  # (4 m, PLACE_COLUMNS) contact points: see `clipping`


class Feature(NamedTuple):
    """The feature of a part that faces along a normal, in the frame of the world: vertex, edge, or face."""

    which: int  # its points are Scratch.point[which]
    points: int  # of its points; three or more are a face
    radius: float  # around the core
    face: Vec3  # outward normal of a face
    axis: Vec3  # of a solid of revolution
    out: Vec3  # direction from the axis to the rim points
    center: Vec3  # of a cap
    cap: float  # radius of a cap; 0 without one


class Depth(NamedTuple):
    """How far behind the foremost vertex the vertices of a feature may lie."""

    now: float
    later: float  # of a box after the step; negative if that does not matter
    later_normal: Vec3  # the normal then, in the frame of the box
    tilt: float  # sine of the angle to the normal up to which a whole face of a box is a feature


@kernel(inline="always")
def plain_depth(depth):
    """The depth of features that depend on the present pose alone."""
    return Depth(depth, -1.0, Vec3(0.0, 0.0, 0.0), 0.0)


@kernel
def new_scratch(most):
    """Arrays for features of up to `most` points."""
    return Scratch(np.zeros((2, most, POINT_COLUMNS)), np.zeros((2, most, most)), np.zeros((4 * most, PLACE_COLUMNS)))


@kernel
def most_points(shapes):
    """The largest number of points that a feature can have."""
    most = RIM_FEATURES + 1
    for j in range(len(shapes.loop_ptr) - 1):
        most = max(most, shapes.loop_ptr[j + 1] - shapes.loop_ptr[j])
    return most


@kernel(inline="always")
def point_of(point, w, i):
    """Point i of feature w."""
    return Vec3(point[w, i, 0], point[w, i, 1], point[w, i, 2])


@lean
def _put(point, w, n, place, code, rho):
    """Writes point n of feature w."""
    point[w, n, 0], point[w, n, 1], point[w, n, 2] = place
    point[w, n, CODE], point[w, n, RHO] = code, rho


@kernel(inline="always")
def _flat_feature(which, count, face):
    """A feature of a polyhedron."""
    none = Vec3(0.0, 0.0, 0.0)
    return Feature(which, count, 0.0, face, none, none, none, 0.0)


@lean
def box_feature(size, pose, n, depth, point, w):
    """Vertex, edge or face of a box. Bits 1, 2, 4 of the number of a vertex are set on the positive sides.

    A face that is seen from the front counts, also of a box thinner than the depth. Where the normal changes sides
    within the step, both ends of an edge are part of the feature.
    """
    front, corner, bits = 0, 0, 0
    later = depth.later_normal if depth.later >= 0.0 else n
    for i in range(3):
        if abs(n[i]) + abs(later[i]) > abs(n[front]) + abs(later[front]):
            front = i
    for i in range(3):
        if n[i] >= 0.0:
            corner |= 1 << i
        # A neighbor along an edge lies behind by 2 size |n|.
        if i != front and (
            abs(n[i]) <= depth.tilt
            or 2.0 * size[i] * abs(n[i]) <= depth.now
            or 2.0 * size[i] * abs(later[i]) <= depth.later
            or (later[i] >= 0.0) != (n[i] >= 0.0)
        ):
            bits |= 1 << i
    one = bits & -bits
    two = bits ^ one
    count = 1 if bits == 0 else (2 if two == 0 else 4)
    for k in range(count):
        at = corner ^ (one if k == 1 or k == 2 else 0) ^ (two if k >= 2 else 0)
        x, y, z = size.x if at & 1 else -size.x, size.y if at & 2 else -size.y, size.z if at & 4 else -size.z
        _put(point, w, k, world_point(pose, Vec3(x, y, z)), at, 0.0)
    up, turn = 1.0 if n[front] >= 0.0 else -1.0, pose.turn
    return _flat_feature(w, count, Vec3(up * turn.x[front], up * turn.y[front], up * turn.z[front]))


@lean
def _hull(part, n, depth, point, w):
    """Vertex, edge or face of a hull."""
    core, vertex = part.core, part.core.vertex
    top = foremost_vertex(vertex, n)
    edge = dot(row3(vertex, top), n) - depth
    near, other = 0, top
    for i in range(len(vertex)):
        if dot(row3(vertex, i), n) >= edge:
            near += 1
            if i != top:
                other = i
    start, end, face, cosine = 0, near, 0, -np.inf
    if near > 2:
        for j in range(len(core.face_normal)):
            c = dot(row3(core.face_normal, j), n)
            if c > cosine:
                cosine, face = c, j
        start, end = core.loop_ptr[face], core.loop_ptr[face + 1]
    for m in range(start, end):
        i = core.loop[m] if near > 2 else (top if m == 0 else other)
        _put(point, w, m - start, world_point(part.pose, row3(vertex, i)), i, 0.0)
    return _flat_feature(w, end - start, to_world(part.pose.turn, row3(core.face_normal, face)))


@lean
def _rimmed(part, n, depth, point, w):
    """Cap, side or rim point of a shape with rims.

    A cap is eight points at fixed angles, and the foremost point in its place among them. A rim of radius 0 is a
    material point: its `rho` is 0.
    """
    pose, ends = part.pose, rims(part.core.kind, part.core.size)
    across, wide = np.sqrt(n.x * n.x + n.y * n.y), max(ends.top, ends.bottom)
    # How far the foremost point of the upper rim lies before that of the lower one.
    lead = (ends.top - ends.bottom) * across + (ends.high - ends.low) * n.z
    upper, side, tilted = lead >= 0.0, abs(lead) <= depth, across > UPRIGHT_SINE
    radius, height = (ends.top, ends.high) if upper else (ends.bottom, ends.low)
    ux, uy = (wide * n.x / across / wide, wide * n.y / across / wide) if across > 0.0 else (0.0, 0.0)
    axis, out = to_world(pose.turn, Vec3(0.0, 0.0, 1.0)), to_world(pose.turn, Vec3(ux, uy, 0.0))
    face = to_world(pose.turn, Vec3(0.0, 0.0, 1.0 if upper else -1.0))
    if side or radius == 0.0 or across > CAP_TILT or 2.0 * radius * across > depth:
        for k in range(2 if side else 1):
            top = upper == (k == 0)
            rho, z = (ends.top, ends.high) if top else (ends.bottom, ends.low)
            px, py = (rho * n.x / across, rho * n.y / across) if across > 0.0 else (0.0, 0.0)
            _put(point, w, k, world_point(pose, Vec3(px, py, z)), 1 if top else 2, rho)
        return Feature(w, 2 if side else 1, 0.0, face, axis, out, pose.position, 0.0)
    px, py = (radius * n.x / across, radius * n.y / across) if across > 0.0 else (0.0, 0.0)
    code, count, step = 16 if upper else 32, 0, 2.0 * np.pi / RIM_FEATURES
    angle = np.arctan2(n.y, n.x) if tilted else -1.0
    if tilted and angle < -1e-6:
        angle += 2.0 * np.pi
    for i in range(2 * RIM_FEATURES):  # at each angle the fixed point, then the foremost one if it follows
        t = (i // 2) * step
        if i % 2 == 0 and abs(angle - t) > 1e-6:
            rim = Vec3(radius * np.cos(t), radius * np.sin(t), height)
            _put(point, w, count, world_point(pose, rim), code + i // 2, 0.0)
            count += 1
        elif i % 2 == 1 and tilted and t - 1e-6 <= angle < t + step - 1e-6:
            _put(point, w, count, world_point(pose, Vec3(px, py, height)), code + RIM_FEATURES, radius)
            count += 1
    return Feature(w, count, 0.0, face, axis, out, pose.position + abs(height) * face, radius)


@lean
def _capsule(part, n, depth, point, w):
    """An end of the core of a capsule or both; the center of a sphere."""
    half = part.core.size.y if part.core.kind == CAPSULE else 0.0
    count = 2 if half > 0.0 and 2.0 * half * abs(n.z) <= depth else 1
    for k in range(count):
        upper = (n.z >= 0.0) == (k == 0)
        place = world_point(part.pose, Vec3(0.0, 0.0, half if upper else -half))
        _put(point, w, k, place, 0 if upper else 1, 0.0)
    axis, none = to_world(part.pose.turn, Vec3(0.0, 0.0, 1.0)), Vec3(0.0, 0.0, 0.0)
    return Feature(w, count, part.core.radius, none, axis, none, none, 0.0)


@lean
def facing(part, normal, depth, point, w):
    """The feature of a part that faces along a normal. Its points are written to `point[w]` of a scratch array."""
    kind, n = part.core.kind, to_local(part.pose.turn, normal)
    if kind == BOX:
        return box_feature(part.core.size, part.pose, n, depth, point, w)
    if kind == HULL:
        return _hull(part, n, depth.now, point, w)
    if has_rims(kind):
        return _rimmed(part, n, depth.now, point, w)
    return _capsule(part, n, depth.now, point, w)
