"""Contacts of convex shapes with boundaries in 3D: planes, and insides of tubes and shells.

The space inside these boundaries is convex, so that a vertex, an end of a capsule or a point of a rim touches first.
Of a smooth shape it is the point whose outward normal points to the boundary: one for a plane, perhaps several else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import CAPSULE, MESH
from ..geometry.vectors import Vec3, dot, norm, row3, to_local, to_world
from ..kernels import kernel
from ..world import PLANE
from .boundaries import LEVEL, Boundary, boundary_of, point_gap, rim_wave, summit, summits
from .contact_set import FEATURE_MASK, Contact, contact_at, put, set_bodies, with_room
from .convex import moving_part
from .features import RIM
from .poses import local_point, most_parts, world_point
from .support import AXIS_ENDS, foremost_point, has_rims, is_rounded, is_smooth, rims, spread_direction

LYING = 0.1  # a rim whose gap varies by more (relative to its radius) touches only at its foremost point
ASCENTS = 100  # largest number of steps to the point of a smooth shape that is nearest to a boundary
ARRIVED = 1e-12  # length of such a step, relative to the size of the shape, below which the point is reached
SAME_FOREMOST_POINT = 1e-3  # distance, relative to the size, up to which two such points are one
ONE = 1.0 - 1e-12  # cosine above which a fixed point of a rim coincides with the foremost one


class MovingBoundary(NamedTuple):
    """A boundary at the start and at the end of the step, and the largest predicted gap of a contact with it."""

    start: Boundary
    end: Boundary
    margin: float


@kernel
def _put_point(boundary, p, q, radius, feature, table, n):
    """Writes the contact of a sphere (radius 0: a vertex) that moves from p to q, if it is within the margin."""
    predicted, later = point_gap(boundary.end, q)
    predicted -= radius
    if predicted > boundary.margin:
        return n
    gap, normal = point_gap(boundary.start, p)
    gap -= radius
    if normal.x == 0.0 and normal.y == 0.0 and normal.z == 0.0:  # on the axis: the normal after the step is used
        normal = later
    point = p + (radius + 0.5 * gap) * normal
    put(table, n, 0, 0, Contact(feature & FEATURE_MASK, gap, predicted, normal, point))
    return n + 1


@kernel
def _put_vertices(part, boundary, radius, feature, table, n):
    """Writes the contacts of the ends of a capsule, or the vertices of a box or hull."""
    core = part.core
    count = 2 if core.kind == CAPSULE else len(core.vertex)
    flat, inward = boundary.end.kind == PLANE, boundary.end.axis
    for i in range(count):
        if core.kind == CAPSULE:
            local = Vec3(0.0, 0.0, core.size.y if i == 0 else -core.size.y)
        else:
            local = row3(core.vertex, i)
        q = world_point(part.end, local)
        if flat and dot(q - boundary.end.point, inward) - radius > boundary.margin:  # most vertices, at little cost
            continue
        n = _put_point(boundary, world_point(part.start, local), q, radius, feature + i, table, n)
    return n


@kernel
def _ascent(boundary, core, pose, p):
    """A point of a smooth core at which it is nearest to a boundary, sought from the point p, in the world's frame.

    Each step goes to the foremost point along the normal at the present one. The gap is a concave function of the
    place, so that no step enlarges it, and the point of a plane is exact after one step.
    """
    for _ in range(ASCENTS):
        normal = point_gap(boundary, p)[1]
        if normal.x == 0.0 and normal.y == 0.0 and normal.z == 0.0:  # on the axis
            return p
        q = world_point(pose, foremost_point(core.kind, core.size, core.vertex, to_local(pose.turn, normal)))
        step = norm(q - p)
        p = q
        if step <= ARRIVED * core.reach:
            break
    return p


@kernel
def _put_smooth(part, boundary, feature, table, n):
    """Writes the contacts of a smooth shape: the points that it reaches from the ends of its axes."""
    core, begin = part.core, n
    one = boundary.end.kind == PLANE or is_rounded(core.kind)
    for i in range(1 if one else AXIS_ENDS):
        start = Vec3(0.0, 0.0, 0.0)
        if not one:
            start = foremost_point(core.kind, core.size, core.vertex, spread_direction(i))
        p = _ascent(boundary.start, core, part.start, world_point(part.start, start))
        q = _ascent(boundary.end, core, part.end, world_point(part.end, local_point(part.start, p)))
        to = _put_point(boundary, p, q, core.radius, feature + i, table, n)
        for m in range(begin, n if to > n else begin):
            if norm(contact_at(table, m).point - contact_at(table, n).point) <= SAME_FOREMOST_POINT * core.reach:
                to = n
        n = to
    return n


@kernel
def _put_rims(part, boundary, feature, angles, table, n):
    """Writes the contacts of two rims: their foremost points, and fixed points of a rim parallel to the boundary.

    The foremost point is determined again after the motion, so that rolling opens no gap. `angles` (2,) is scratch.
    """
    ends = rims(part.core.kind, part.core.size)
    for cap in range(2):
        radius, height = (ends.top, ends.high) if cap == 0 else (ends.bottom, ends.low)
        code = feature + 16 * (cap + 1)
        if radius == 0.0:
            tip = Vec3(0.0, 0.0, height)
            n = _put_point(boundary, world_point(part.start, tip), world_point(part.end, tip), 0.0, code, table, n)
            continue
        wave0 = rim_wave(boundary.start, part.start, radius, height)
        wave1 = rim_wave(boundary.end, part.end, radius, height)
        swing = (abs(wave0[0]) + abs(wave0[1]) + abs(wave0[2]) + abs(wave0[3])) / radius
        fixed = RIM if swing < LYING else 0
        moving = summits(wave0, angles) if swing > LEVEL else 0
        for i in range(fixed + moving):
            t = 2.0 * np.pi * i / RIM if i < fixed else angles[i - fixed]
            if i < fixed and moving > 0 and np.cos(t - angles[0]) > ONE:
                continue
            later = t
            if i >= fixed:
                out = to_local(part.end.turn, to_world(part.start.turn, Vec3(np.cos(t), np.sin(t), 0.0)))
                later = summit(wave1, np.arctan2(out.y, out.x))
            p = world_point(part.start, Vec3(radius * np.cos(t), radius * np.sin(t), height))
            q = world_point(part.end, Vec3(radius * np.cos(later), radius * np.sin(later), height))
            n = _put_point(boundary, p, q, 0.0, code + (i if i < fixed else RIM + i - fixed), table, n)
    return n


@kernel
def _most_points(shapes):
    """The largest number of contacts of a body with a boundary."""
    points = AXIS_ENDS  # starts of smooth shapes; a capsule has two ends
    for f in range(len(shapes.kind)):
        if has_rims(shapes.kind[f]):
            points = max(points, 2 * (RIM + 2))
        elif shapes.kind[f] != MESH:
            points = max(points, shapes.vertex_ptr[f + 1] - shapes.vertex_ptr[f])
    return points * most_parts(shapes)


@kernel
def _put_row(bodies, r, boundary, angles, table, n):
    """Writes the contacts of a row of poses with a boundary; meshes are skipped."""
    shapes, placed, poses = bodies.shapes, bodies.placed, bodies.placed.poses
    if shapes.round[poses.owner[r]]:
        p, q = row3(poses.position0, r), row3(poses.position1, r)
        return _put_point(boundary, p, q, shapes.radius[poses.owner[r]], 0, table, n)
    for k in range(placed.ptr[r], placed.ptr[r + 1]):
        part, feature = moving_part(bodies, k), 4096 * (k - placed.ptr[r])
        if has_rims(part.core.kind):
            n = _put_rims(part, boundary, feature, angles, table, n)
        elif is_smooth(part.core.kind):
            n = _put_smooth(part, boundary, feature, table, n)
        elif part.core.kind != MESH:
            n = _put_vertices(part, boundary, part.core.radius, feature, table, n)
    return n


@kernel
def put_bounded_solids(bodies, rows, chosen, before, after, table, n):
    """Writes the contacts of the first `rows` rows of poses, of bodies that `chosen` marks, with boundaries from row n.

    The tables `before` and `after` hold the boundaries at the start and at the end of the step. Returns `table` or a
    larger one, and the number of contacts.
    """
    shapes, poses, margins = bodies.shapes, bodies.placed.poses, bodies.margins
    most, angles = _most_points(shapes), np.empty(2)
    for w in range(len(after)):
        end = boundary_of(after, w)
        for r in range(rows):
            i = poses.owner[r]
            if not chosen[i] or point_gap(end, row3(poses.position1, r))[0] - shapes.radius[i] > margins[i]:
                continue
            table, begin = with_room(table, n, most), n
            n = _put_row(bodies, r, MovingBoundary(boundary_of(before, w), end, margins[i]), angles, table, n)
            set_bodies(table, begin, n, r, -1 - w)
    return table, n
