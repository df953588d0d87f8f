"""Contacts of convex shapes with boundaries in 3D: planes, and insides of tubes and shells.

The space inside these boundaries is convex, so that a vertex, an end of a capsule or a point of a rim touches first.
"""

from __future__ import annotations

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, HULL, MESH, SPHERE
from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..world import PLANE
from .boundaries import AXIS, LEVEL, POINT, center_gap, rim_wave, summit, summits
from .boundaries import KIND as KIND_OF
from .contact_set import FEATURE_MASK, FIRST, SECOND, Contact, columns, contact_table, put, set_bodies
from .features import RIM
from .poses import placed_parts, point_world, to_world
from .solids import solids_of
from .support import HIGH, KIND, LOW, SIZE, has_rims, is_rounded, rims

LYING = 0.1  # a rim whose gap varies by more (relative to its radius) touches only at its foremost point

ONE = 1.0 - 1e-12  # cosine above which a fixed point of a rim coincides with the foremost one


@kernel
def _round_contact(wall0, wall1, w, p, q, radius, margin, label, found, n):
    """Writes the contact of a sphere (radius 0: a vertex) that moves from p to q, if it is within the margin."""
    predicted, mx, my, mz = center_gap(wall1, w, q[0], q[1], q[2])
    predicted -= radius
    if predicted > margin:
        return n
    gap, nx, ny, nz = center_gap(wall0, w, p[0], p[1], p[2])
    gap -= radius
    if nx == 0.0 and ny == 0.0 and nz == 0.0:  # it starts on the axis: the normal after the step is used
        nx, ny, nz = mx, my, mz
    h = radius + 0.5 * gap
    point = Vec3(p[0] + h * nx, p[1] + h * ny, p[2] + h * nz)
    put(found, n, 0, 0, Contact(label & FEATURE_MASK, gap, predicted, Vec3(nx, ny, nz), point))
    return n + 1


@kernel
def _rim_point(pose, k, radius, height, t):
    return point_world(pose, k, radius * np.cos(t), radius * np.sin(t), height)


@kernel
def _rims(ends, pose0, pose1, k, wall0, wall1, w, margin, label, angles, found, n):
    """Contacts of the two rims `ends`: their foremost points, and fixed points of a rim parallel to the boundary.

    The foremost point is determined again after the motion, so that rolling opens no gap.
    """
    for cap in range(2):
        radius, height = (ends[0], ends[1]) if cap == 0 else (ends[2], ends[3])
        if radius == 0.0:
            p, q = point_world(pose0, k, 0.0, 0.0, height), point_world(pose1, k, 0.0, 0.0, height)
            n = _round_contact(wall0, wall1, w, p, q, 0.0, margin, label + 16 * (cap + 1), found, n)
            continue
        wave0, wave1 = (
            rim_wave(wall0, w, pose0, k, radius, height),
            rim_wave(wall1, w, pose1, k, radius, height),
        )
        swing = (abs(wave0[0]) + abs(wave0[1]) + abs(wave0[2]) + abs(wave0[3])) / radius
        fixed = RIM if swing < LYING else 0
        moving = summits(wave0, angles) if swing > LEVEL else 0
        for i in range(fixed + moving):
            t = 2.0 * np.pi * i / RIM if i < fixed else angles[i - fixed]
            if i < fixed and moving > 0 and np.cos(t - angles[0]) > ONE:
                continue
            t_after = t
            if i >= fixed:
                ex, ey, ez = to_world(pose0, k, np.cos(t), np.sin(t), 0.0)
                x = ex * pose1[k, 3] + ey * pose1[k, 6] + ez * pose1[k, 9]
                y = ex * pose1[k, 4] + ey * pose1[k, 7] + ez * pose1[k, 10]
                t_after = summit(wave1, np.arctan2(y, x))
            p = _rim_point(pose0, k, radius, height, t)
            q = _rim_point(pose1, k, radius, height, t_after)
            code = 16 * (cap + 1) + (i if i < fixed else RIM + i - fixed)
            n = _round_contact(wall0, wall1, w, p, q, 0.0, margin, label + code, found, n)
    return n


@kernel
def _vertices_on_plane(vertex, low, high, pose0, pose1, k, wall0, wall1, w, margin, label, found, n):
    """Writes the contacts of the vertices low to high of part k with plane w; returns the next free row."""
    px, py, pz = wall1[w, POINT], wall1[w, POINT + 1], wall1[w, POINT + 2]
    ux, uy, uz = wall1[w, AXIS], wall1[w, AXIS + 1], wall1[w, AXIS + 2]
    ox, oy, oz = wall0[w, POINT], wall0[w, POINT + 1], wall0[w, POINT + 2]
    nx, ny, nz = -wall0[w, AXIS], -wall0[w, AXIS + 1], -wall0[w, AXIS + 2]
    for i in range(low, high):
        x, y, z = point_world(pose1, k, vertex[i, 0], vertex[i, 1], vertex[i, 2])
        predicted = (x - px) * ux + (y - py) * uy + (z - pz) * uz
        if predicted <= margin:
            x, y, z = point_world(pose0, k, vertex[i, 0], vertex[i, 1], vertex[i, 2])
            gap = -((x - ox) * nx + (y - oy) * ny + (z - oz) * nz)
            h = 0.5 * gap
            feature, point = (label + i - low) & FEATURE_MASK, Vec3(x + h * nx, y + h * ny, z + h * nz)
            put(found, n, 0, 0, Contact(feature, gap, predicted, Vec3(nx, ny, nz), point))
            n += 1
    return n


@kernel
def _part(cores, shape, pose0, pose1, k, wall0, wall1, w, margin, label, angles, found, n):
    """Writes the contacts of one convex part with boundary w from row n of `found`; returns the next free row."""
    kind, size = cores.table[shape, KIND], cores.table[shape, SIZE]
    if has_rims(kind):
        ends = rims(kind, size, cores.table[shape, SIZE + 1], cores.table[shape, SIZE + 2])
        return _rims(ends, pose0, pose1, k, wall0, wall1, w, margin, label, angles, found, n)
    # Center of a sphere, ends of a capsule, vertices of boxes and hulls.
    round_one = is_rounded(kind)
    radius, half = size if round_one else 0.0, cores.table[shape, SIZE + 1]
    low = int(cores.table[shape, LOW])
    count = (1 if kind == SPHERE else 2) if round_one else int(cores.table[shape, HIGH]) - low
    x = y = z = 0.0
    for i in range(count):
        if kind == CAPSULE:
            z = half if i == 0 else -half
        elif not round_one:
            x, y, z = cores.vertex[low + i, 0], cores.vertex[low + i, 1], cores.vertex[low + i, 2]
        q = point_world(pose1, k, x, y, z)
        if center_gap(wall1, w, q[0], q[1], q[2])[0] - radius <= margin:
            p = point_world(pose0, k, x, y, z)
            n = _round_contact(wall0, wall1, w, p, q, radius, margin, label + i, found, n)
    return n


@kernel
def bounded_solids(solids, poses, placed, rows, chosen, wall0, wall1, margins, found):
    """Contacts of the first `rows` rows whose bodies `chosen` marks, by row and boundary: their table and number.

    The tables wall0 and wall1 hold the boundaries at the start and at the end of the step.
    """
    cores, p0, p1 = solids.cores, poses.position0, poses.position1
    most = 2  # ends of a capsule
    for f in range(len(cores.table)):
        if has_rims(cores.table[f, KIND]):
            most = max(most, 2 * (RIM + 2))
        elif cores.table[f, KIND] != MESH:
            most = max(most, int(cores.table[f, HIGH] - cores.table[f, LOW]))
    most *= solids.most[1]
    near = _near(rows, poses.owner, solids.body, p1, chosen, wall1, margins)
    if most * len(near) > len(found):
        found = contact_table(most * len(near))
    angles, n = np.empty(2), 0
    for m in range(len(near)):
        r, w, begin = near[m, 0], near[m, 1], n
        body = poses.owner[r]
        margin = margins[body]
        if solids.round[body]:
            p, q = (p0[r, 0], p0[r, 1], p0[r, 2]), (p1[r, 0], p1[r, 1], p1[r, 2])
            n = _round_contact(wall0, wall1, w, p, q, solids.body[body, 0], margin, 0, found, n)
        for k in range(placed.ptr[r], placed.ptr[r + 1] if not solids.round[body] else placed.ptr[r]):
            shape, label = solids.shape[placed.part[k]], 4096 * (k - placed.ptr[r])
            kind, low, high = cores.table[shape, KIND], int(cores.table[shape, LOW]), int(cores.table[shape, HIGH])
            if (kind in (BOX, HULL)) and wall1[w, KIND_OF] == PLANE:
                n = _vertices_on_plane(
                    cores.vertex, low, high, placed.pose0, placed.pose1, k, wall0, wall1, w, margin, label, found, n
                )
            elif kind != MESH:
                n = _part(cores, shape, placed.pose0, placed.pose1, k, wall0, wall1, w, margin, label, angles, found, n)
        set_bodies(found, begin, n, r, -1 - w)
    return found, n


@kernel
def _near(rows, owner, body, place, chosen, wall, margins):
    """Rows and boundaries (m, 2) closer than the margin of the body, for the sphere around it."""
    room = 64
    out = np.empty((room, 2), np.int64)
    w = r = m = 0
    while True:
        w, r, m = _near_from(w, r, m, rows, owner, body, place, chosen, wall, margins, out)
        if w == len(wall):
            return out[:m]
        more = np.empty((2 * len(out), 2), np.int64)
        more[:m] = out[:m]
        out = more


@kernel
def _near_from(begin, row, m, rows, owner, body, place, chosen, wall, margins, out):
    """Continues `_near` at a boundary and a row, while there is room; returns where it ended."""
    for w in range(begin, len(wall)):
        flat = wall[w, KIND_OF] == PLANE
        px, py, pz, ux, uy, uz = wall[w, 1], wall[w, 2], wall[w, 3], wall[w, 4], wall[w, 5], wall[w, 6]
        for r in range(row, rows):
            i = owner[r]
            if not chosen[i]:
                continue
            x, y, z = place[r, 0], place[r, 1], place[r, 2]
            if flat:
                distance = (x - px) * ux + (y - py) * uy + (z - pz) * uz
            else:
                distance = center_gap(wall, w, x, y, z)[0]
            if distance - body[i, 0] <= margins[i]:
                if m == len(out):
                    return w, r, m
                out[m, 0], out[m, 1] = r, w
                m += 1
        row = 0
    return len(wall), 0, m


@kernel
def convex_boundaries(shapes, poses, chosen, wall0, wall1, margin):
    """Contacts of rows of `poses` with boundaries: (row, boundary, feature_id, normal, point, gap, predicted).

    `chosen` (bodies,) marks the bodies that take part. wall0 and wall1 are the tables of the boundaries at the start
    and at the end of the step. Normals point from the body to the boundary, at the start. Contacts are all vertices,
    ends and rim points whose predicted gap is at most `margin`. feature_id is 4096 times the part, plus the number of
    the point.
    """
    solids, margins = solids_of(shapes), np.full(len(shapes.radius), margin)
    needed = np.zeros(len(poses.owner), np.bool_)
    for r in range(len(poses.owner)):
        needed[r] = chosen[poses.owner[r]] and not shapes.round[poses.owner[r]]
    placed = placed_parts(solids, poses, needed)
    found, n = bounded_solids(
        solids, poses, placed, len(poses.owner), chosen, wall0, wall1, margins, contact_table(256)
    )
    row, boundary = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        row[i], boundary[i] = int(found[i, FIRST]), -1 - int(found[i, SECOND])
    feature, normal, point, gap, predicted = columns(found, n)
    return row, boundary, feature, normal, point, gap, predicted
