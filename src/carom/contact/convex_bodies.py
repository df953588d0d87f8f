"""Contacts of bodies of convex parts in 3D: candidate pairs of rows (bodies and periodic images), and boundaries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.rotations import matrix_of
from ..geometry.vectors import dot, norm, row3
from ..kernels import kernel, lean
from ..world import BOX, MESH, SPHERE
from .box_axes import box_separation, box_touch
from .contact_set import contact_table, set_bodies, with_room
from .convex import (
    FAR,
    Bodies,
    Query,
    moving_part,
    new_work,
    put_box_contacts,
    put_part_contacts,
    put_smooth_contact,
    put_sphere_contact,
)
from .convex_boundaries import put_bounded_solids
from .pairs import AXIS, COLUMNS, FIRST, SECOND, Rows, image_rows, rows_to_bodies
from .poses import Placed, Poses, StepPoses, needed_rows, placed_parts, pose_at, relative_pose
from .support import is_smooth


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
    if gap > FAR * query.inner and time > 0.0:
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
                    trial = int(pairs[k - 1, AXIS])
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
