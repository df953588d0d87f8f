"""Contacts of bodies of convex parts in 3D: candidate pairs of rows (bodies and periodic images), and boundaries.

The space inside planes, tubes and shells is convex, so that a vertex, an end of a capsule or a point of a rim touches
them first. Of a smooth shape it is the point whose outward normal points to the boundary: one for a plane, perhaps
several else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.rotations import matrix_of
from ..geometry.shapes import CAPSULE
from ..geometry.vectors import Vec3, dot, norm, row3, to_local, to_world
from ..kernels import kernel, lean
from ..world import BOX, MESH, PLANE, SPHERE
from .boundaries import LEVEL_RIM, Boundary, boundary_of, point_gap, rim_wave, summit, summits
from .box_axes import box_separation, box_touch
from .contact_set import FEATURE_MASK, Contact, contact_at, contact_table, put, set_bodies, with_room
from .convex import (
    FAST_GAP,
    Query,
    new_work,
    put_box_contacts,
    put_part_contacts,
    put_smooth_contact,
    put_sphere_contact,
)
from .features import RIM_FEATURES
from .pairs import AXIS, COLUMNS, FIRST, SECOND, Rows, image_rows, rows_to_bodies
from .parts import (
    AXIS_ENDS,
    Bodies,
    Placed,
    Poses,
    StepPoses,
    foremost_point,
    has_rims,
    is_rounded,
    is_smooth,
    local_point,
    most_parts,
    moving_part,
    needed_rows,
    placed_parts,
    pose_at,
    relative_pose,
    rims,
    spread_direction,
    world_point,
)

LYING_RIM = 0.1  # a rim whose gap varies by more (relative to its radius) touches only at its foremost point
MOST_ASCENTS = 100  # largest number of steps to the point of a smooth shape that is nearest to a boundary
LAST_ASCENT = 1e-12  # length of such a step, relative to the size of the shape, below which the point is reached
SAME_FOREMOST_POINT = 1e-3  # distance, relative to the size, up to which two such points are one
SAME_RIM_POINT = 1.0 - 1e-12  # cosine above which a fixed point of a rim coincides with the foremost one


class SolidRows(NamedTuple):
    """Rows of a list of pairs, and the poses of their parts."""

    rows: Rows
    placed: Placed


@kernel(inline="always")
def _is_apart(a, b, reach):
    """Whether two points are farther apart than `reach`."""
    d = b - a
    return reach < 0.0 or dot(d, d) > reach * reach


@kernel(inline="always")
def _put_boxes(bodies, ka, kb, query, trial, work, table, n):
    """Writes the contacts of two boxes; returns the next free row, the time of touch, and an axis that separates them.

    `trial` is that of an earlier step. Where the time is not 0, boxes are left to `put_part_contacts`: those that are
    far apart at the start, or for which no contacts were found.
    """
    shapes, placed = bodies.shapes, bodies.placed
    g, h = row3(shapes.size, shapes.shape[placed.part[ka]]), row3(shapes.size, shapes.shape[placed.part[kb]])
    end_a, end_b = pose_at(placed.pose1, ka), pose_at(placed.pose1, kb)
    last, axis = box_separation(relative_pose(end_b, end_a), g, h, query.margin, trial, work.axes)
    if last > query.margin:
        return n, 0.0, axis
    start_a, start_b = pose_at(placed.pose0, ka), pose_at(placed.pose0, kb)
    gap, time = box_touch(relative_pose(start_b, start_a), g, h, query.margin, work.axes)
    if gap > FAST_GAP * query.inner and time > 0.0:
        return n, time, axis
    a, b = StepPoses(start_a, end_a, start_a), StepPoses(start_b, end_b, start_b)
    to = put_box_contacts((g, h), a, b, query, last, work, table, n)
    return to, (0.0 if to > n else 1.0), axis


@lean
def _put_pairs(bodies, pairs, work, table, k, n):
    """Writes the contacts of the pairs from number k on from row n of a table, while there is room; meshes are skipped.

    Returns the first pair that is not done, and the next free row.
    """
    shapes, placed, poses = bodies.shapes, bodies.placed, bodies.placed.poses
    while k < len(pairs):
        if n + work.room > len(table):
            return k, n
        a, b = pairs[k, FIRST], pairs[k, SECOND]
        i, j, begin = poses.owner[a], poses.owner[b], n
        margin, radius_a, radius_b = max(bodies.margins[i], bodies.margins[j]), shapes.radius[i], shapes.radius[j]
        end_a, end_b = row3(poses.position1, a), row3(poses.position1, b)
        k += 1
        if _is_apart(end_a, end_b, radius_a + radius_b + margin):
            continue
        way = (end_b - row3(poses.position0, b)) - (end_a - row3(poses.position0, a))
        move = norm(way) + placed.chord[a] * radius_a + placed.chord[b] * radius_b
        for ka in range(placed.ptr[a], placed.ptr[a + 1]):
            fa = shapes.shape[placed.part[ka]]
            for kb in range(placed.ptr[b], placed.ptr[b + 1]):
                fb = shapes.shape[placed.part[kb]]
                kind_a, kind_b, reach = shapes.kind[fa], shapes.kind[fb], shapes.reach[fa] + shapes.reach[fb] + margin
                if kind_a == MESH or kind_b == MESH or _is_apart(row3(placed.pose1, ka), row3(placed.pose1, kb), reach):
                    continue
                base = (ka - placed.ptr[a]) * 4099 + kb - placed.ptr[b]
                query, time = Query(margin, move, min(shapes.inner[i], shapes.inner[j]), base), 0.0
                if kind_a == BOX and kind_b == BOX:
                    trial = np.int64(pairs[k - 1, AXIS])  # as constants are: one version of the kernels below
                    n, time, pairs[k - 1, AXIS] = _put_boxes(bodies, ka, kb, query, trial, work, table, n)
                    if time == 0.0:
                        continue
                one, two = moving_part(bodies, ka), moving_part(bodies, kb)
                if kind_a == SPHERE or kind_b == SPHERE:
                    n = put_sphere_contact(one, two, query, table, n)
                elif is_smooth(kind_a) or is_smooth(kind_b):
                    n = put_smooth_contact(one, two, query, work, table, n)
                else:
                    n = put_part_contacts(one, two, query, time, work, table, n)
        set_bodies(table, begin, n, a, b)
    return k, n


@kernel
def row_pairs(bodies, pairs, table):
    """Contacts of candidate pairs of rows of poses (p, COLUMNS); a pair has the larger margin of both bodies.

    Returns `table` or a larger one, and the number of contacts. Writes the separating axes of the pairs.
    """
    if len(pairs) == 0:
        return table, 0
    work, k, n = new_work(bodies.shapes), 0, 0
    while k < len(pairs):  # growing the table inside the loop over pairs would make that slower
        table = with_room(table, n, work.room)
        k, n = _put_pairs(bodies, pairs, work, table, k, n)
    return table, n


@kernel
def convex_pairs(first, second, shapes, poses, margin):
    """Table of the contacts of candidate pairs of rows of `poses`, which stand in place of bodies.

    Normals are unit vectors from first to second, and points lie midway between the surfaces, both at the start of the
    step. Contacts are in the order of the pairs, and have a predicted gap up to `margin`; each vertex of the
    intersection of the two features that face each other is one. Pairs of parts with a mesh are skipped.
    """
    placed = placed_parts(shapes, poses, needed_rows(len(poses.owner), first, second))
    pairs = np.zeros((len(first), COLUMNS), np.int32)
    pairs[:, FIRST] = first
    pairs[:, SECOND] = second
    bodies = Bodies(shapes, placed, np.full(len(shapes.radius), margin))
    table, n = row_pairs(bodies, pairs, contact_table(4 * len(first)))
    return table[:n]


@kernel
def place_rows(shapes, pairs, ends, chosen):
    """Poses of the bodies that occur in a pair or are `chosen`, then of one periodic image for each pair with one."""
    rows = image_rows(pairs, ends.position0, ends.position1, ends.sides)
    owner = rows.owner
    needed = np.zeros(len(owner), np.bool_)
    for i in range(len(chosen)):
        needed[i] = chosen[i]
    for k in range(len(pairs)):
        needed[rows.pairs[k, FIRST]] = True
        needed[rows.pairs[k, SECOND]] = True
    turn0, turn1 = np.empty((len(owner), 3, 3)), np.empty((len(owner), 3, 3))
    for r in range(len(owner)):
        if needed[r]:
            matrix_of(ends.orientation0[owner[r]], turn0[r])
            matrix_of(ends.orientation1[owner[r]], turn1[r])
    poses = Poses(owner, rows.position0, turn0, rows.position1, turn1)
    return SolidRows(rows, placed_parts(shapes, poses, needed))


@kernel
def row_contacts(shapes, solids, pairs, low, high, ends, chosen):
    """Table of the contacts of the candidate pairs low to high, then of the `chosen` bodies with boundaries.

    `solids` are the rows of the pairs. `chosen` marks bodies, or is empty. Writes the separating axes of the pairs.
    """
    bodies, rows = Bodies(shapes, solids.placed, ends.margins), solids.rows
    table, n = row_pairs(bodies, rows.pairs[low:high], np.empty((4 * (high - low), ends.width)))
    rows_to_bodies(table[:n], rows, ends.sides)
    for k in range(low, high):
        pairs[k, AXIS] = rows.pairs[k, AXIS]
    if len(chosen):
        table, n = put_bounded_solids(bodies, len(chosen), chosen, ends.boundary0, ends.boundary1, table, n)
    return table[:n]


@kernel
def solid_contacts(shapes, pairs, ends, chosen):
    """Table of the contacts of all candidate pairs, and of `chosen` bodies with boundaries."""
    return row_contacts(shapes, place_rows(shapes, pairs, ends, chosen), pairs, 0, len(pairs), ends, chosen)


# ---- boundaries


class MovingBoundary(NamedTuple):
    """A boundary at the start and at the end of the step, and the largest predicted gap of a contact with it."""

    start: Boundary
    end: Boundary
    margin: float


@lean
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


@lean
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


@lean
def _ascent(boundary, core, pose, p):
    """A point of a smooth core at which it is nearest to a boundary, sought from the point p, in the world's frame.

    Each step goes to the foremost point along the normal at the present one. The gap is a concave function of the
    place, so that no step enlarges it, and the point of a plane is exact after one step.
    """
    for _ in range(MOST_ASCENTS):
        normal = point_gap(boundary, p)[1]
        if normal.x == 0.0 and normal.y == 0.0 and normal.z == 0.0:  # on the axis
            return p
        q = world_point(pose, foremost_point(core.kind, core.size, core.vertex, to_local(pose.turn, normal)))
        step = norm(q - p)
        p = q
        if step <= LAST_ASCENT * core.reach:
            break
    return p


@lean
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


@lean
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
        fixed = RIM_FEATURES if swing < LYING_RIM else 0
        moving = summits(wave0, angles) if swing > LEVEL_RIM else 0
        for i in range(fixed + moving):
            t = 2.0 * np.pi * i / RIM_FEATURES if i < fixed else angles[i - fixed]
            if i < fixed and moving > 0 and np.cos(t - angles[0]) > SAME_RIM_POINT:
                continue
            later = t
            if i >= fixed:
                out = to_local(part.end.turn, to_world(part.start.turn, Vec3(np.cos(t), np.sin(t), 0.0)))
                later = summit(wave1, np.arctan2(out.y, out.x))
            p = world_point(part.start, Vec3(radius * np.cos(t), radius * np.sin(t), height))
            q = world_point(part.end, Vec3(radius * np.cos(later), radius * np.sin(later), height))
            n = _put_point(boundary, p, q, 0.0, code + (i if i < fixed else RIM_FEATURES + i - fixed), table, n)
    return n


@kernel
def _most_points(shapes):
    """The largest number of contacts of a body with a boundary."""
    points = AXIS_ENDS  # starts of smooth shapes; a capsule has two ends
    for f in range(len(shapes.kind)):
        if has_rims(shapes.kind[f]):
            points = max(points, 2 * (RIM_FEATURES + 2))
        elif shapes.kind[f] != MESH:
            points = max(points, shapes.vertex_ptr[f + 1] - shapes.vertex_ptr[f])
    return points * most_parts(shapes)


@lean
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
        flat = end.kind == PLANE
        for r in range(rows):
            i = poses.owner[r]
            if not chosen[i]:
                continue
            q = row3(poses.position1, r)
            if flat:  # most boundaries, without the call
                distance = dot(q - end.point, end.axis)
            else:
                distance = point_gap(end, q)[0]
            if distance - shapes.radius[i] > margins[i]:
                continue
            table, begin = with_room(table, n, most), n
            n = _put_row(bodies, r, MovingBoundary(boundary_of(before, w), end, margins[i]), angles, table, n)
            set_bodies(table, begin, n, r, -1 - w)
    return table, n
