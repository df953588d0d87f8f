"""Conservative advancement: gaps of moving pairs, when they touch, and whether they pass through each other.

Let n be a unit vector along which two convex parts are `gap` apart. Along n they approach within the time t of a step
by no more than

    t (n . (w_first - w_second) + |s_first x n| r_first + |s_second x n| r_second)

(w: displacement of the center, s: rotation vector of the step, r: largest distance of a point of the part from the
center of its body; see `motion.py`). They cannot touch before this equals `gap`, nor at all if it is not positive.
Steps of that length never pass a touch; without rotation they converge as Newton's method does. With `gap + depth` in
place of `gap` they never pass the time at which the parts are `depth` deep in each other.

Meshes are not convex. Their gap is the smallest distance of sample points of either shape from the other, no direction
separates them, and the bound is on the speed of any point. The resolution is that of the cells of the distance grid.

Pairs are given as `Motions` with 2 m rows: pair k has the rows k and m + k. Pairs of discs or spheres have closed
forms; all other kernels are called only if needed, because they take long to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import RUN, Shapes
from ..geometry.vectors import Vec2, Vec3, cross, dot, norm, row3
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from ..world import BOX, MESH, Shapes2D, Shapes3D
from .box_axes import BoxAxes, box_axes, box_gap
from .epa import Polytope, overlap_now, polytope
from .gjk import separation
from .motion import Motion, Motions, motion_of, pose_at
from .parts import Part, core_of, difference, local_point, part_pose, world_point
from .point_distance import distance, surface_of
from .polygons import nearest_on_polygon, set_normals
from .surface_points import sample_count, sample_point

NO_TOUCH_TIME = 2.0  # the time of a touch that does not happen; a step is from 0 to 1
MOST_ADVANCES_3D = 480  # of the advancement, which meshes may need; then a pair counts as touching or as crossing
REACHED_CONVEX = 0.02  # distance from a depth, relative to it, at which convex pairs have reached it
REACHED_MESH = 0.5  # the same for meshes, whose steps are as long as the resolution allows
FAR_ROUNDING = 1e-9  # of the reach of a mesh: distances of its points are known to better than that
SAME_GAP = 1e-9  # change of a gap, relative to the tolerance, that is rounding error


class MovingPart(NamedTuple):
    """A part of a moving body."""

    part: int  # of Shapes3D; in 2D the body
    shape: int
    motion: Motion  # of the body
    reach: float  # largest distance of a point of the part from the center of the body


@kernel(inline="always")
def approach_bound(a, b, normal):
    """Bound on the approach of two parts along a unit vector per step, or in any direction if it is zero."""
    apart = b.motion.displacement - a.motion.displacement
    if normal.x == 0.0 and normal.y == 0.0 and normal.z == 0.0:
        return norm(apart) + norm(a.motion.spin) * a.reach + norm(b.motion.spin) * b.reach
    turning = norm(cross(a.motion.spin, normal)) * a.reach + norm(cross(b.motion.spin, normal)) * b.reach
    return turning - dot(apart, normal)


@kernel(inline="always")
def crosses(gap_of, shapes, work, a, b, depth, reached):
    """Whether two parts are deeper than `depth` in each other at any time of the step.

    `gap_of` is the kernel that measures them: `gap_2d` or `gap_3d`.
    """
    t = 0.0
    for _ in range(MOST_ADVANCES_3D):
        gap, normal = gap_of(shapes, work, a, b, t, 0.0)
        if gap + depth <= reached * depth:
            return True
        bound = approach_bound(a, b, normal)
        if bound <= 0.0 or gap + depth > bound * (1.0 - t):
            return False
        t += (gap + depth) / bound
    return True


@kernel
def touch_time(shapes, work, a, b, tolerance, until):
    """Time at which two parts of a 3D world first touch, within `tolerance`; NO_TOUCH_TIME if not before `until`.

    Parts that touch but do not approach are advanced further. Meshes have a tolerance of at least half a cell of their
    grid, and are advanced with care: sample points do not see the whole surface.
    """
    mesh = shapes.kind[a.shape] == MESH or shapes.kind[b.shape] == MESH
    ahead, care = 1.0, 0.0
    if mesh:
        tolerance = max(tolerance, 0.5 * max(_cell(shapes, a.shape), _cell(shapes, b.shape)))
        ahead, care = 0.25, 0.5
        points = max(sample_count(shapes, a.shape), sample_count(shapes, b.shape))
        work = SolidWork(work.hull, work.axes, np.full(points, -np.inf))
    t = 0.0
    gap, normal = gap_3d(shapes, work, a, b, t, tolerance)
    for _ in range(MOST_ADVANCES_3D):
        bound = approach_bound(a, b, normal)
        if bound <= 0.0 or gap > bound * (until - t):
            return NO_TOUCH_TIME
        if gap > tolerance:
            t += (gap - care * tolerance) / bound
            gap, normal = gap_3d(shapes, work, a, b, t, tolerance)
            continue
        # They touch. Poses a little later tell approaching vertices from rising ones.
        later = t + ahead * tolerance / bound
        if mesh:
            then = gap_3d(shapes, work, a, b, later, tolerance)[0]
        else:
            then = _separation_along(convex_at(shapes, a, later), convex_at(shapes, b, later), normal)
        if then < gap - SAME_GAP * tolerance:
            return t
        t = later
        if t > until:
            return NO_TOUCH_TIME
        if mesh:
            gap = then
        else:
            gap, normal = gap_3d(shapes, work, a, b, t, tolerance)
    return t


@kernel(inline="always")
def _cell(shapes, shape):
    """The width of a cell of the distance grid of a shape; 0 if it has none."""
    return shapes.grid_spacing[shapes.grid[shape]] if shapes.kind[shape] == MESH else 0.0


# ---- gaps in 2D


class PolygonWork(NamedTuple):
    """Scratch arrays for two polygons."""

    at: Floats  # (k, 2) vertices in the frame of the world
    normal: Floats  # (k, 2) of the edges from them


@kernel
def polygon_work(shapes):
    """Scratch arrays for any two bodies."""
    most = 2
    for body in range(len(shapes.kind)):
        most = max(most, shapes.vertex_ptr[body + 1] - shapes.vertex_ptr[body])
    return PolygonWork(np.empty((2 * most, 2)), np.empty((2 * most, 2)))


@lean
def body_of(shapes, motions, row, body):
    """The shape of a row in 2D."""
    return MovingPart(body, body, motion_of(motions, row), shapes.radius[body])


@kernel
def _put_polygon(shapes, body, pose, work, row):
    """Writes vertices and normals of a polygon from `row` on; returns the next free row."""
    k, p, turn = row, pose.position, pose.turn
    for v in range(shapes.vertex_ptr[body], shapes.vertex_ptr[body + 1]):
        x, y = shapes.vertex[v, 0], shapes.vertex[v, 1]
        work.at[k, 0] = p.x + turn.x.x * x + turn.x.y * y
        work.at[k, 1] = p.y + turn.y.x * x + turn.y.y * y
        k += 1
    if k > row:
        set_normals(work.at, work.normal, row, k)
    return k


@kernel
def gap_2d(shapes, work, a, b, time, near):
    """Gap of two bodies of a 2D world, one of which is a polygon, and the unit vector of the best separating axis."""
    at, normal = work.at, work.normal
    pose_a, pose_b = pose_at(a.motion, time), pose_at(b.motion, time)
    middle = _put_polygon(shapes, a.shape, pose_a, work, 0)
    last = _put_polygon(shapes, b.shape, pose_b, work, middle)
    if last == middle:
        gap, _, n = nearest_on_polygon(at, normal, 0, middle, Vec2(pose_b.position.x, pose_b.position.y))
        return gap - b.reach, Vec3(n.x, n.y, 0.0)
    if middle == 0:
        gap, _, n = nearest_on_polygon(at, normal, 0, last, Vec2(pose_a.position.x, pose_a.position.y))
        return gap - a.reach, Vec3(-n.x, -n.y, 0.0)
    best, k = _best_axis(at, normal, 0, middle, middle, last)
    other, j = _best_axis(at, normal, middle, last, 0, middle)
    if best >= other:
        return best, Vec3(normal[k, 0], normal[k, 1], 0.0)
    return other, Vec3(-normal[j, 0], -normal[j, 1], 0.0)


@kernel
def _best_axis(at, normal, low, high, other_low, other_high):
    """The largest separation of two polygons along the edge normals of the first, and that edge."""
    best, top = -np.inf, low
    for k in range(low, high):
        least = np.inf
        for j in range(other_low, other_high):
            least = min(least, normal[k, 0] * (at[j, 0] - at[k, 0]) + normal[k, 1] * (at[j, 1] - at[k, 1]))
        if least > best:
            best, top = least, k
    return best, top


# ---- gaps in 3D


class SolidWork(NamedTuple):
    """Scratch arrays for two shapes."""

    hull: Polytope
    axes: BoxAxes
    far: Floats  # (k,) for the points of a mesh, in a search: a bound on their distance, plus the way until it was made


@kernel(inline="always")
def solid_work():
    """New scratch arrays."""
    return SolidWork(polytope(), box_axes(), np.empty(0))


@lean
def part_of(shapes, motions, row, part):
    """A part of the body of a row in 3D."""
    shape = shapes.shape[part]
    return MovingPart(part, shape, motion_of(motions, row), norm(row3(shapes.place, part)) + shapes.reach[shape])


@kernel
def convex_at(shapes, a, time):
    """A convex part where it is at a time of the step."""
    return Part(core_of(shapes, a.shape), part_pose(pose_at(a.motion, time), shapes, a.part))


@kernel
def gap_3d(shapes, work, a, b, time, near):
    """Gap of two parts, and the unit vector from the first to the second; zero for meshes, which have none.

    The gap of a mesh may be a lower bound where it is larger than `near`.
    """
    if shapes.kind[a.shape] == MESH or shapes.kind[b.shape] == MESH:
        return _mesh_gap(shapes, a, b, time, near, work.far), Vec3(0.0, 0.0, 0.0)
    return _convex_gap(convex_at(shapes, a, time), convex_at(shapes, b, time), np.inf, work.hull)


@kernel
def _convex_gap(a, b, near, hull):
    """Gap of two convex parts, and the unit vector from the first to the second; a bound where larger than `near`."""
    rounds = a.core.radius + b.core.radius
    gap, normal = separation(a, b, near + rounds)
    if gap == 0.0:
        gap, normal = overlap_now(a, b, hull)
    return gap - rounds, normal


@lean
def _box_gap(shapes, a, b, limit, axes):
    """Gap of two boxes at the start of the step, up to `limit`."""
    pose_a = part_pose(pose_at(a.motion, 0.0), shapes, a.part)
    pose_b = part_pose(pose_at(b.motion, 0.0), shapes, b.part)
    return box_gap(pose_a, row3(shapes.size, a.shape), pose_b, row3(shapes.size, b.shape), limit, axes)


@kernel
def _separation_along(a, b, normal):
    """Separation of two convex parts along a unit vector from the first to the second."""
    return dot(difference(a, b, -normal), normal) - (a.core.radius + b.core.radius)


@lean
def _mesh_gap(shapes, a, b, time, near, far):
    """Gap of two parts, one of which is a mesh, by their sample points; where larger than `near` a lower bound.

    The centers of round shapes are left out: they may lie outside of the grid of the mesh, where distances are bounds.
    """
    pose_a = part_pose(pose_at(a.motion, time), shapes, a.part)
    pose_b = part_pose(pose_at(b.motion, time), shapes, b.part)
    i, j, gap = a.shape, b.shape, -np.inf
    if shapes.kind[i] == MESH:
        gap = distance(surface_of(shapes, j), local_point(pose_b, pose_a.position), np.inf) - shapes.reach[i]
    if shapes.kind[j] == MESH:
        other = distance(surface_of(shapes, i), local_point(pose_a, pose_b.position), np.inf)
        gap = max(gap, other - shapes.reach[j])
    if gap > near:
        return gap
    if sample_count(shapes, i) > sample_count(shapes, j):  # the few points first: their gap rules out most others
        i, j, pose_a, pose_b = j, i, pose_b, pose_a
    gap, way = np.inf, time * approach_bound(a, b, Vec3(0.0, 0.0, 0.0))
    if shapes.kind[j] != MESH or sample_point(shapes, i, 0)[1] == 0.0:
        gap = _sampled_gap(shapes, i, pose_a, j, pose_b, gap, way, far)
    if shapes.kind[i] != MESH or sample_point(shapes, j, 0)[1] == 0.0:
        gap = _sampled_gap(shapes, j, pose_b, i, pose_a, gap, way, far)
    return gap


@lean
def _sampled_gap(shapes, a, pose_a, b, pose_b, least, way, far):
    """Smallest distance of sample points of a shape from another one, or `least` if that is smaller.

    Sample points of a mesh come in runs; those of a run whose first point is too far away are skipped. Beside a convex
    shape that is told by its distance, inside whose bounding sphere a small mesh may lie as a whole. In a search points
    are skipped, too, that were too far away to have come near on the `way` of the parts since then.
    """
    surface, count, k = surface_of(shapes, b), sample_count(shapes, a), 0
    runs_end, run_reach = (int(shapes.size[a, 2]), shapes.size[a, 1]) if shapes.kind[a] == MESH else (0, 0.0)
    convex = shapes.kind[b] != MESH  # its distance changes by no more than a point moves
    kept = convex and shapes.kind[a] == MESH and len(far) == count
    slack = FAR_ROUNDING * shapes.reach[a]
    while k < count:
        leads = k < runs_end and k % RUN == 0
        if kept and far[k] - way - slack >= least:
            k += RUN if leads and far[k] - way - slack - run_reach >= least else 1
            continue
        own, r = sample_point(shapes, a, k)
        point = local_point(pose_b, world_point(pose_a, own))
        beyond = norm(point) - shapes.reach[b] - r
        if beyond < least:
            away = distance(surface, point, least + r + (run_reach if leads else 0.0)) - r
            least = min(least, away)
            beyond = away if convex else beyond
        if kept:
            far[k] = beyond + way
        k += RUN if leads and beyond - run_reach >= least else 1
    return least


# ---- pairs


def _round_pairs(shapes: Shapes, motions: Motions) -> tuple[np.ndarray, Floats, Floats, Floats]:
    """Mask (m,) of the pairs of discs or spheres; sum of radii (m,), distance and displacement (m, 3) of all pairs."""
    m = len(motions.owner) // 2
    a, b = motions.owner[:m], motions.owner[m:]
    place, way = motions.position, motions.displacement
    apart, displacement = place[m:] - place[:m], way[m:] - way[:m]
    return shapes.round[a] & shapes.round[b], shapes.radius[a] + shapes.radius[b], apart, displacement


@kernel
def _part_pairs(shapes, motions, pairs):
    """All parts (k, 3) of some pairs: number of the pair, part of the first, part of the second body."""
    ptr, m, count = shapes.part_ptr, len(motions.owner) // 2, 0
    for k in pairs:
        i, j = motions.owner[k], motions.owner[m + k]
        count += (ptr[i + 1] - ptr[i]) * (ptr[j + 1] - ptr[j])
    out, n = np.empty((count, 3), np.int64), 0
    for k in pairs:
        i, j = motions.owner[k], motions.owner[m + k]
        for a in range(ptr[i], ptr[i + 1]):
            for b in range(ptr[j], ptr[j + 1]):
                out[n, 0], out[n, 1], out[n, 2] = k, a, b
                n += 1
    return out


def touch_times(shapes: Shapes3D, motions: Motions, tolerance: Floats) -> Floats:
    """Times (m,) of the first touch of pairs, as fractions of the step; NO_TOUCH_TIME for pairs that do not touch.

    `tolerance` (m,) is the gap up to which bodies touch. A pair that touches at the start gets the time 0 if it
    approaches, else the time of a later touch. For two spheres the time is exact.
    """
    spheres, reach, apart, displacement = _round_pairs(shapes, motions)
    time = np.full(len(spheres), NO_TOUCH_TIME)
    if spheres.any():
        _sphere_times(np.flatnonzero(spheres), apart, displacement, reach, time)
    if not spheres.all():
        _touch_times(shapes, motions, np.flatnonzero(~spheres), tolerance, time)
    return time


@kernel
def _sphere_times(pairs, apart, displacement, reach, time):
    """Writes the times of some pairs of spheres."""
    for k in pairs:
        time[k] = sphere_touch(row3(apart, k), row3(displacement, k), reach[k])


@kernel
def sphere_touch(apart, displacement, reach):
    """Time at which a point at `apart` that is displaced within the step first comes within `reach` of the origin.

    NO_TOUCH_TIME if it does not. If it starts within reach: 0 if it comes nearer, else NO_TOUCH_TIME.
    """
    inward, fast, length = dot(apart, displacement), dot(displacement, displacement), norm(apart)
    c = (length - reach) * (length + reach)
    if inward >= 0.0:
        return NO_TOUCH_TIME
    if c <= 0.0:
        return 0.0
    square = inward * inward - fast * c
    if square < 0.0:
        return NO_TOUCH_TIME
    time = c / (np.sqrt(square) - inward)
    return time if time <= 1.0 else NO_TOUCH_TIME


@kernel
def _touch_times(shapes, motions, pairs, tolerance, time):
    """Writes the times of the earliest touch of any two parts of some pairs."""
    work, m = solid_work(), len(motions.owner) // 2
    for k, i, j in _part_pairs(shapes, motions, pairs):
        a, b, until = part_of(shapes, motions, k, i), part_of(shapes, motions, m + k, j), min(time[k], 1.0)
        found = touch_time(shapes, work, a, b, tolerance[k], until)
        if found <= until:
            time[k] = found


def gaps(shapes: Shapes, motions: Motions, limit: Floats) -> Floats:
    """Gaps (m,) of pairs at the start of the step; exact where convex shapes overlap by at least -limit (m,).

    Others are above the limit, which is at most 0.
    """
    rounds, reach, apart, _ = _round_pairs(shapes, motions)
    gap: Floats = np.sqrt((apart**2).sum(axis=1)) - reach
    if not rounds.all():
        some = np.flatnonzero(~rounds)
        if isinstance(shapes, Shapes2D):
            _gaps_2d(shapes, motions, some, gap)
        else:
            put_gaps_3d(shapes, motions, some, limit, gap)
    return gap


@kernel
def _gaps_2d(shapes, motions, pairs, gap):
    """Writes the gaps of some pairs."""
    work, m = polygon_work(shapes), len(motions.owner) // 2
    for k in pairs:
        a = body_of(shapes, motions, k, motions.owner[k])
        gap[k] = gap_2d(shapes, work, a, body_of(shapes, motions, m + k, motions.owner[m + k]), 0.0, 0.0)[0]


@kernel
def put_gaps_3d(shapes, motions, pairs, limit, gap):
    """Writes the gaps of some pairs: the smallest of any two parts, exact up to `limit` (m,)."""
    work, m = solid_work(), len(motions.owner) // 2
    for k in pairs:
        gap[k] = np.inf
    for k, i, j in _part_pairs(shapes, motions, pairs):
        a, b = part_of(shapes, motions, k, i), part_of(shapes, motions, m + k, j)
        if shapes.kind[a.shape] == BOX and shapes.kind[b.shape] == BOX:
            found = _box_gap(shapes, a, b, limit[k], work.axes)
        elif shapes.kind[a.shape] == MESH or shapes.kind[b.shape] == MESH:
            found = _mesh_gap(shapes, a, b, 0.0, 0.0, work.far)
        else:
            found = _convex_gap(convex_at(shapes, a, 0.0), convex_at(shapes, b, 0.0), 0.0, work.hull)[0]
        gap[k] = min(gap[k], found)


def first_crossing(shapes: Shapes, motions: Motions, depth: Floats) -> int:
    """The first of m pairs that are deeper than `depth` (m,) in each other at any time of the step, or -1."""
    rounds, reach, apart, displacement = _round_pairs(shapes, motions)
    square = (displacement**2).sum(axis=1)
    nearest = np.clip(-(apart * displacement).sum(axis=1) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    distance = ((apart + nearest[:, None] * displacement) ** 2).sum(axis=1)
    deep = np.flatnonzero(rounds & (distance < (reach - depth) ** 2))
    if len(deep) or rounds.all():
        return int(deep[0]) if len(deep) else -1
    find = _first_crossing_2d if isinstance(shapes, Shapes2D) else _first_crossing_3d
    return int(find(shapes, motions, np.flatnonzero(~rounds), depth))


def crossing_pairs(shapes: Shapes2D, motions: Motions, depth: Floats) -> Ints:
    """Numbers of the pairs of a 2D world, except discs, that are deeper than `depth` (m,) in each other at any time."""
    rounds = _round_pairs(shapes, motions)[0]
    out: Ints = _crossing_pairs(shapes, motions, np.flatnonzero(~rounds), depth)
    return out


@kernel
def _crossing_pairs(shapes, motions, pairs, depth):
    work, m = polygon_work(shapes), len(motions.owner) // 2
    out, count = np.empty(len(pairs), np.int64), 0
    for k in pairs:
        a = body_of(shapes, motions, k, motions.owner[k])
        b = body_of(shapes, motions, m + k, motions.owner[m + k])
        if crosses(gap_2d, shapes, work, a, b, depth[k], REACHED_CONVEX):
            out[count] = k
            count += 1
    return out[:count]


@kernel
def _first_crossing_2d(shapes, motions, pairs, depth):
    work, m = polygon_work(shapes), len(motions.owner) // 2
    for k in pairs:
        a = body_of(shapes, motions, k, motions.owner[k])
        b = body_of(shapes, motions, m + k, motions.owner[m + k])
        if crosses(gap_2d, shapes, work, a, b, depth[k], REACHED_CONVEX):
            return k
    return -1


@kernel
def _first_crossing_3d(shapes, motions, pairs, depth):
    work, m = solid_work(), len(motions.owner) // 2
    for k, i, j in _part_pairs(shapes, motions, pairs):
        a, b = part_of(shapes, motions, k, i), part_of(shapes, motions, m + k, j)
        mesh = shapes.kind[a.shape] == MESH or shapes.kind[b.shape] == MESH
        if crosses(gap_3d, shapes, work, a, b, depth[k], REACHED_MESH if mesh else REACHED_CONVEX):
            return k
    return -1
