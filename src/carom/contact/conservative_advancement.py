"""Conservative advancement: the time at which two bodies of a 3D world first touch within a step.

Within a step a body moves straight from its position at the start to that after free motion, and rotates steadily about
a fixed axis by less than half a turn. Let n separate two convex parts by `gap`. Points of a part are at most `reach`
from the center of their body, so along n the parts approach in the time t of the step by no more than

    t (n . (w_first - w_second) + |s_first x n| reach_first + |s_second x n| reach_second)

(w: displacement of the center, s: rotation vector of the step). They cannot touch before this equals `gap`, nor at all
if it is not positive. Steps of that length never pass a touch; without rotation they converge as Newton's method does.

Meshes are not convex. Their distance is that of sample points of either shape from the other, no direction separates
them, and the bound is on the speed of any point. The resolution is that of the cells of the distance grid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.rotations import matrix_of
from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import BOX, MESH, Shapes3D
from .boxes import ROWS, box_gap
from .epa import overlap, polytope
from .features import sample_count, sample_point
from .gjk import separation
from .point_distance import distance, surface_of
from .poses import point_local, point_world, put_pose
from .support import cores_of, difference, roundness

NEVER = 2.0  # the time of a touch that does not happen; a step is from 0 to 1
MOST_ITERATIONS = 120  # of the advancement; then the pair counts as touching where it is
MESH_ITERATIONS = 4  # times as many for meshes
REACHED = 0.02  # distance from the depth of a crossing, relative to it, at which it counts as reached
SAME_GAP = 1e-9  # change of a gap, relative to the tolerance, that is rounding error


class Moves(NamedTuple):
    """Motion of rows (bodies, or periodic images of them) in a step."""

    owner: Ints  # (rows,) the body of a row
    position: Floats  # (rows, 3) at the start of the step
    way: Floats  # (rows, 3) displacement from there to the end of the step
    turn: Floats  # (rows, 3, 3) rotation matrix at the start
    spin: Floats  # (rows, 3) rotation vector of the step, in radians, in the world frame


@kernel
def rotation_vectors(before, after):
    """The shortest rotation vectors (n, 3), in the world frame, that lead from quaternions (n, 4) to others."""
    out = np.empty((len(before), 3))
    for i in range(len(before)):
        a, b, c, d = before[i, 0], before[i, 1], before[i, 2], before[i, 3]
        w, x, y, z = after[i, 0], after[i, 1], after[i, 2], after[i, 3]
        # after * conjugate(before)
        real = w * a + x * b + y * c + z * d
        i1 = x * a - w * b - y * d + z * c
        i2 = y * a - w * c - z * b + x * d
        i3 = z * a - w * d - x * c + y * b
        if real < 0.0:
            real, i1, i2, i3 = -real, -i1, -i2, -i3
        sine = np.sqrt(i1 * i1 + i2 * i2 + i3 * i3)
        factor = 2.0 * np.arctan2(sine, real) / sine if sine > 0.0 else 0.0
        out[i, 0], out[i, 1], out[i, 2] = factor * i1, factor * i2, factor * i3
    return out


@kernel
def turned_at(moves, row, time, out):
    """The rotation matrix of a row at a time of the step. Writes `out` (3, 3)."""
    x, y, z = moves.spin[row, 0], moves.spin[row, 1], moves.spin[row, 2]
    size = np.sqrt(x * x + y * y + z * z)
    turn = moves.turn[row]
    if size == 0.0 or time == 0.0:
        for i in range(3):
            for j in range(3):
                out[i, j] = turn[i, j]
        return
    x, y, z = x / size, y / size, z / size
    c, s = np.cos(time * size), np.sin(time * size)
    for j in range(3):
        a, b, d = turn[0, j], turn[1, j], turn[2, j]
        along = (1.0 - c) * (x * a + y * b + z * d)
        out[0, j] = c * a + s * (y * d - z * b) + along * x
        out[1, j] = c * b + s * (z * a - x * d) + along * y
        out[2, j] = c * d + s * (x * b - y * a) + along * z


@kernel
def put_part(shapes, moves, row, part, time, turn, pose, k):
    """Pose of a part of a row at a time of the step, into row k of `pose` (12 numbers each). turn (3, 3) is scratch."""
    turned_at(moves, row, time, turn)
    place, own = shapes.place[part], shapes.turn[part]
    for i in range(3):
        center = moves.position[row, i] + time * moves.way[row, i]
        pose[k, i] = center + (turn[i, 0] * place[0] + turn[i, 1] * place[1] + turn[i, 2] * place[2])
        for j in range(3):
            pose[k, 3 + 3 * i + j] = turn[i, 0] * own[0, j] + turn[i, 1] * own[1, j] + turn[i, 2] * own[2, j]


@kernel
def round_touch(x, y, z, vx, vy, vz, reach):
    """Time at which a point at (x, y, z) that moves by v within the step first comes within `reach` of the origin.

    NEVER if it does not. If it starts within reach: 0 if it comes nearer, else NEVER.
    """
    inward, fast = x * vx + y * vy + z * vz, vx * vx + vy * vy + vz * vz
    apart = np.sqrt(x * x + y * y + z * z)
    c = (apart - reach) * (apart + reach)
    if inward >= 0.0:
        return NEVER
    if c <= 0.0:
        return 0.0
    square = inward * inward - fast * c
    if square < 0.0:
        return NEVER
    time = c / (np.sqrt(square) - inward)
    return time if time <= 1.0 else NEVER


@kernel
def part_reach(shapes, part):
    """Largest distance of a point of a part from the center of its body."""
    p = shapes.place[part]
    return np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) + shapes.reach[shapes.shape[part]]


@kernel
def _cross_length(v, x, y, z):
    a, b, c = v[1] * z - v[2] * y, v[2] * x - v[0] * z, v[0] * y - v[1] * x
    return np.sqrt(a * a + b * b + c * c)


@kernel
def convex_gap(cores, fa, fb, pose, limit, scale, simplex, hull):
    """Signed gap of two convex parts at rows 0 and 1 of `pose`, and the unit vector from the first to the second.

    If the cores are farther apart than `limit`, the search may end with a smaller distance above it.
    """
    gap, x, y, z = separation(cores, fa, fb, pose, 0, 1, limit, scale, simplex)
    if gap == 0.0:
        gap, x, y, z = overlap(cores, fa, fb, pose, 0, 1, pose, False, 0.0, scale, hull)
    return gap - roundness(cores, fa) - roundness(cores, fb), x, y, z


@kernel
def _convex_touch(shapes, cores, moves, i, pa, j, pb, tolerance, until, pose, turn, simplex, hull):
    """Time at which the convex parts pa of row i and pb of row j first touch; NEVER if not before `until`."""
    fa, fb = shapes.shape[pa], shapes.shape[pb]
    ra, rb = part_reach(shapes, pa), part_reach(shapes, pb)
    scale, rounds = shapes.reach[fa] + shapes.reach[fb], roundness(cores, fa) + roundness(cores, fb)
    vx, vy, vz = (
        moves.way[j, 0] - moves.way[i, 0],
        moves.way[j, 1] - moves.way[i, 1],
        moves.way[j, 2] - moves.way[i, 2],
    )
    t = 0.0
    for _ in range(MOST_ITERATIONS):
        put_part(shapes, moves, i, pa, t, turn, pose, 0)
        put_part(shapes, moves, j, pb, t, turn, pose, 1)
        gap, x, y, z = convex_gap(cores, fa, fb, pose, np.inf, scale, simplex, hull)
        turning = _cross_length(moves.spin[i], x, y, z) * ra + _cross_length(moves.spin[j], x, y, z) * rb
        bound = turning - (vx * x + vy * y + vz * z)
        if bound <= 0.0 or gap > bound * (until - t):
            return NEVER
        if gap > tolerance:
            t += gap / bound
            continue
        # They touch. Poses a little later tell approaching vertices from rising ones.
        ahead = tolerance / bound
        put_part(shapes, moves, i, pa, t + ahead, turn, pose, 0)
        put_part(shapes, moves, j, pb, t + ahead, turn, pose, 1)
        px, py, pz = difference(cores, fa, fb, pose, 0, 1, -x, -y, -z)
        if px * x + py * y + pz * z - rounds < gap - SAME_GAP * tolerance:
            return t
        t += ahead
        if t > until:
            return NEVER
    return t


@kernel
def _sampled_gap(shapes, cores, fa, fb, pose, ka, kb):
    """Smallest distance of sample points of shape fa (pose ka) from shape fb (pose kb), which may be a mesh."""
    least, surface = np.inf, surface_of(shapes, cores, fb)
    for k in range(sample_count(shapes, fa)):
        x, y, z, r = sample_point(shapes, fa, k)
        x, y, z = point_world(pose, ka, x, y, z)
        x, y, z = point_local(pose, kb, x, y, z)
        if np.sqrt(x * x + y * y + z * z) - shapes.reach[fb] - r >= least:
            continue
        least = min(least, distance(surface, Vec3(x, y, z), least + r) - r)
    return least


@kernel
def _center_gap(shapes, cores, fa, fb, pose):
    """A lower bound on the gap of two shapes (poses 0 and 1): the distance of the center of a mesh minus its reach."""
    bound = -np.inf
    if shapes.kind[fa] == MESH:
        x, y, z = point_local(pose, 1, pose[0, 0], pose[0, 1], pose[0, 2])
        bound = distance(surface_of(shapes, cores, fb), Vec3(x, y, z), np.inf) - shapes.reach[fa]
    if shapes.kind[fb] == MESH:
        x, y, z = point_local(pose, 0, pose[1, 0], pose[1, 1], pose[1, 2])
        bound = max(bound, distance(surface_of(shapes, cores, fa), Vec3(x, y, z), np.inf) - shapes.reach[fb])
    return bound


@kernel
def _mesh_gap(shapes, cores, fa, fb, pose):
    """Gap of two shapes (poses 0 and 1), one of which is a mesh, by their sample points; far apart a lower bound.

    The centers of round shapes are left out: they may lie outside of the grid of the mesh, where distances are bounds.
    """
    gap = _center_gap(shapes, cores, fa, fb, pose)
    if gap > 0.0:
        return gap
    gap = np.inf
    if shapes.kind[fb] != MESH or sample_point(shapes, fa, 0)[3] == 0.0:
        gap = _sampled_gap(shapes, cores, fa, fb, pose, 0, 1)
    if shapes.kind[fa] != MESH or sample_point(shapes, fb, 0)[3] == 0.0:
        gap = min(gap, _sampled_gap(shapes, cores, fb, fa, pose, 1, 0))
    return gap


@kernel
def _mesh_touch(shapes, cores, moves, i, pa, j, pb, tolerance, until, pose, turn):
    """As _convex_touch, where one part is a mesh; the tolerance is at least half a cell of its grid."""
    fa, fb = shapes.shape[pa], shapes.shape[pb]
    fine = 0.0
    for shape in (fa, fb):
        if shapes.kind[shape] == MESH:
            fine = max(fine, shapes.grid_spacing[shapes.grid[shape]])
    square = 0.0
    for axis in range(3):
        square += (moves.way[j, axis] - moves.way[i, axis]) ** 2
    bound = np.sqrt(square)
    for row, part in ((i, pa), (j, pb)):
        s = moves.spin[row]
        bound += np.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) * part_reach(shapes, part)
    touch = max(tolerance, 0.5 * fine)
    t, last = 0.0, np.inf
    for _ in range(MESH_ITERATIONS * MOST_ITERATIONS):
        put_part(shapes, moves, i, pa, t, turn, pose, 0)
        put_part(shapes, moves, j, pb, t, turn, pose, 1)
        gap = _center_gap(shapes, cores, fa, fb, pose)
        if gap <= touch:
            gap = min(_sampled_gap(shapes, cores, fa, fb, pose, 0, 1), _sampled_gap(shapes, cores, fb, fa, pose, 1, 0))
        if gap <= touch and gap < last and t > 0.0:
            return t
        if gap > bound * (until - t):
            return NEVER
        last = gap
        t += max(gap - 0.5 * touch, 0.25 * touch) / bound
        if t > until:
            return NEVER
    return t


def touch_times(shapes: Shapes3D, moves: Moves, first: Ints, second: Ints, tolerance: Floats) -> Floats:
    """Times (m,) of the first touch of pairs of rows, as fractions of the step; NEVER for pairs that do not touch.

    `tolerance` (m,) is the gap up to which bodies touch. A pair that touches at the start gets the time 0 if it
    approaches, else the time of a later touch. For two spheres the time is exact.
    """
    spheres = shapes.round[moves.owner[first]] & shapes.round[moves.owner[second]]
    time = np.full(len(first), NEVER)
    if spheres.any():
        time[spheres] = _sphere_times(shapes.radius, moves, first[spheres], second[spheres])
    if not spheres.all():  # called only if needed, because these kernels take long to compile
        time[~spheres] = _shape_times(shapes, moves, first[~spheres], second[~spheres], tolerance[~spheres])
    return time


@kernel
def _sphere_times(radius, moves, first, second):
    time = np.empty(len(first))
    for k in range(len(first)):
        i, j = first[k], second[k]
        p, q, v, w = moves.position[i], moves.position[j], moves.way[i], moves.way[j]
        reach = radius[moves.owner[i]] + radius[moves.owner[j]]
        time[k] = round_touch(q[0] - p[0], q[1] - p[1], q[2] - p[2], w[0] - v[0], w[1] - v[1], w[2] - v[2], reach)
    return time


@kernel
def _shape_times(shapes, moves, first, second, tolerance):
    """The earliest touch of any two parts."""
    m = len(first)
    time = np.full(m, NEVER)
    cores, hull, simplex = cores_of(shapes), polytope(), np.empty((8, 3))
    pose, turn = np.empty((2, 12)), np.empty((3, 3))
    for k in range(m):
        i, j, until = first[k], second[k], 1.0
        a, b = moves.owner[i], moves.owner[j]
        for pa in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
            for pb in range(shapes.part_ptr[b], shapes.part_ptr[b + 1]):
                if shapes.kind[shapes.shape[pa]] == MESH or shapes.kind[shapes.shape[pb]] == MESH:
                    found = _mesh_touch(shapes, cores, moves, i, pa, j, pb, tolerance[k], until, pose, turn)
                else:
                    found = _convex_touch(
                        shapes, cores, moves, i, pa, j, pb, tolerance[k], until, pose, turn, simplex, hull
                    )
                if found <= until:
                    time[k] = until = found
    return time


# ---- pairs that overlap, or pass through each other


def gaps_of_pairs(shapes: Shapes3D, rows: Ints, places: Floats, orientation: Floats) -> Floats:
    """Gaps (m,) of pairs of bodies `rows` (m, 2) with centers `places` (m, 2, 3) and quaternions `orientation` (n, 4).

    They are exact where convex shapes overlap, else positive.
    """
    a, b = rows.T
    gap = np.sqrt(((places[:, 1] - places[:, 0]) ** 2).sum(axis=1)) - shapes.radius[a] - shapes.radius[b]
    others = np.flatnonzero(~(shapes.round[a] & shapes.round[b]))
    if len(others):
        gap[others] = _gaps(shapes, rows[others], places[others], orientation)
    return np.asarray(gap)


@kernel
def _gaps(shapes, rows, places, orientation):
    cores, hull, simplex = cores_of(shapes), polytope(), np.empty((8, 3))
    pose, turn, out = np.empty((2, 12)), np.empty((2, 3, 3)), np.full(len(rows), np.inf)
    axes = np.empty((ROWS, 15))
    for k in range(len(rows)):
        a, b = rows[k, 0], rows[k, 1]
        matrix_of(orientation[a], turn[0])
        matrix_of(orientation[b], turn[1])
        for pa in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
            put_pose(places[k], turn, 0, shapes.place, shapes.turn, pa, pose, 0)
            for pb in range(shapes.part_ptr[b], shapes.part_ptr[b + 1]):
                put_pose(places[k], turn, 1, shapes.place, shapes.turn, pb, pose, 1)
                fa, fb = shapes.shape[pa], shapes.shape[pb]
                if shapes.kind[fa] == MESH or shapes.kind[fb] == MESH:
                    gap = _mesh_gap(shapes, cores, fa, fb, pose)
                elif shapes.kind[fa] == BOX and shapes.kind[fb] == BOX:
                    gap = box_gap(cores.table, fa, fb, pose, 0, 1, axes)
                else:
                    scale = shapes.reach[fa] + shapes.reach[fb]
                    limit = roundness(cores, fa) + roundness(cores, fb)
                    gap = convex_gap(cores, fa, fb, pose, limit, scale, simplex, hull)[0]
                out[k] = min(out[k], gap)
    return out


def first_crossing(shapes: Shapes3D, moves: Moves, first: Ints, second: Ints, depth: Floats) -> int:
    """The first of m pairs of rows that are deeper than `depth` (m,) in each other at any time of the step, or -1."""
    owners = moves.owner[first], moves.owner[second]
    spheres = shapes.round[owners[0]] & shapes.round[owners[1]]
    if spheres.any():
        apart, way = moves.position[second] - moves.position[first], moves.way[second] - moves.way[first]
        square = (way**2).sum(axis=1)
        nearest = np.clip(-(apart * way).sum(axis=1) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
        reach = shapes.radius[owners[0]] + shapes.radius[owners[1]] - depth
        deep = np.flatnonzero(spheres & (((apart + nearest[:, None] * way) ** 2).sum(axis=1) < reach**2))
        if len(deep):
            return int(deep[0])
    others = np.flatnonzero(~spheres)
    if not len(others):  # called only if needed, because these kernels take long to compile
        return -1
    found = int(_first_crossing(shapes, moves, first[others], second[others], depth[others]))
    return -1 if found < 0 else int(others[found])


@kernel
def _first_crossing(shapes, moves, first, second, depth):
    cores, hull, simplex = cores_of(shapes), polytope(), np.empty((8, 3))
    pose, turn = np.empty((2, 12)), np.empty((3, 3))
    for k in range(len(first)):
        i, j = first[k], second[k]
        a, b = moves.owner[i], moves.owner[j]
        for pa in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
            for pb in range(shapes.part_ptr[b], shapes.part_ptr[b + 1]):
                if shapes.kind[shapes.shape[pa]] == MESH or shapes.kind[shapes.shape[pb]] == MESH:
                    crosses = _mesh_crosses(shapes, cores, moves, i, pa, j, pb, depth[k], pose, turn)
                else:
                    crosses = _convex_crosses(shapes, cores, moves, i, pa, j, pb, depth[k], pose, turn, simplex, hull)
                if crosses:
                    return k
    return -1


@kernel
def _convex_crosses(shapes, cores, moves, i, pa, j, pb, depth, pose, turn, simplex, hull):
    """Whether convex parts are deeper than `depth` in each other at any time of the step."""
    fa, fb = shapes.shape[pa], shapes.shape[pb]
    ra, rb = part_reach(shapes, pa), part_reach(shapes, pb)
    scale, t = shapes.reach[fa] + shapes.reach[fb], 0.0
    for _ in range(MOST_ITERATIONS):
        put_part(shapes, moves, i, pa, t, turn, pose, 0)
        put_part(shapes, moves, j, pb, t, turn, pose, 1)
        gap, x, y, z = convex_gap(cores, fa, fb, pose, np.inf, scale, simplex, hull)
        if gap + depth <= REACHED * depth:
            return True
        bound = _cross_length(moves.spin[i], x, y, z) * ra + _cross_length(moves.spin[j], x, y, z) * rb
        for axis in range(3):
            bound -= (moves.way[j, axis] - moves.way[i, axis]) * (x if axis == 0 else (y if axis == 1 else z))
        if bound <= 0.0 or gap + depth > bound * (1.0 - t):
            return False
        t += (gap + depth) / bound
    return True


@kernel
def _mesh_crosses(shapes, cores, moves, i, pa, j, pb, depth, pose, turn):
    """As _convex_crosses, where one part is a mesh; steps are at least half of the depth."""
    fa, fb = shapes.shape[pa], shapes.shape[pb]
    bound = 0.0
    for axis in range(3):
        bound += (moves.way[j, axis] - moves.way[i, axis]) ** 2
    bound = np.sqrt(bound)
    for row, part in ((i, pa), (j, pb)):
        s = moves.spin[row]
        bound += np.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) * part_reach(shapes, part)
    t = 0.0
    while True:
        put_part(shapes, moves, i, pa, t, turn, pose, 0)
        put_part(shapes, moves, j, pb, t, turn, pose, 1)
        gap = _mesh_gap(shapes, cores, fa, fb, pose)
        if gap <= -0.5 * depth:
            return True
        if gap + depth > bound * (1.0 - t):
            return False
        t += (gap + depth) / bound
