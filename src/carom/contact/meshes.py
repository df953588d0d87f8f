"""Narrow phase of triangle meshes: sample points of each body against the surface of the other, or a boundary.

A point whose distance after free flight is within the margin is a candidate; `mesh_manifold` chooses among them.
Spheres and capsules are represented by points of their core, minus the radius; of the points of the mesh they add only
those that touch from another side (a sphere in a groove).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import RUN
from ..geometry.vectors import Mat3, Pose, Vec3, dot, norm, row3, to_world
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from ..world import BOX, MESH, Shapes3D
from .boundaries import ENTRIES, Boundary, boundary_of, point_gap
from .contact_set import FEATURE_MASK, Contact, contact_at, contact_table, put, with_room
from .grid_distance import SignedDistance, grid_of, grid_value, is_outside, nearest_on_mesh
from .mesh_manifold import Candidates, candidate_room, reduce
from .parts import (
    Placed,
    Poses,
    has_rims,
    is_rounded,
    is_smooth,
    local_point,
    placed_parts,
    pose_at,
    relative_pose,
    rims,
    world_point,
)
from .point_distance import Surface, distance, signed_distance, surface_of
from .surface_points import MOST_POINTS, SurfacePoints, point_room, put_front, put_nearest, surface_points

_PART_PRIME, _MANY_PARTS = 7919, 61  # spread the feature_id of several parts over its range
_FACES_AWAY = -0.1  # cosine of outward directions above which a point faces away from a shape and does not touch it
_FACES_AWAY_FROM_BOUNDARY = 0.5  # the same for boundaries: points above it are on the far side of their body
_UNSURE_COSINE = 0.98  # cosine: normals that differ by more than about 11 degrees belong to two sides
_ON_PLANE = 0.5  # distance of a projection from the surface, relative to that of the point, up to which it is on it
_EQUAL_DISTANCE = 1e-9  # of the reach of a shape: distances and heights that differ by less are equal
_BACK_STEPS = 6  # distances from which a point is seen from farther back, each half of the one before
_ROUND_SIDE = 0.5  # on a round side the cosine of normal and axis differs by less from that of the side's own normal
_SUPPORT_BAND = 5e-3  # of the smaller reach: points up to this height above the lowest support the body
_SAME_SIDE = 0.85  # cosine of about 32 degrees: contacts of a round body within it are one


NO_BOUNDARY = Boundary(0.0, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), 0.0)


class World(NamedTuple):
    """What all pairs share: shapes, poses of parts, boundaries at the start and at the end of the step, scratch."""

    shapes: Shapes3D
    placed: Placed
    boundaries: tuple[Floats, Floats]  # (w, ENTRIES) each
    candidates: Candidates
    room: SurfacePoints


class MovingPart(NamedTuple):
    """A part of a body: its shape and its poses in a step."""

    kind: int
    size: Vec3
    reach: float
    spacing: float  # of the grid of a mesh
    low: Vec3  # bounding box in its own frame
    high: Vec3
    before: Pose
    after: Pose


class Surfaces(NamedTuple):
    """The surface that points are tested against, and that of the part which they belong to."""

    target: Surface
    own: Surface


class Target(NamedTuple):
    """Where and how points of a part are tested against another part, or against a boundary."""

    is_boundary: bool
    boundary0: Boundary  # at the start of the step
    boundary1: Boundary  # and at its end
    frame: Pose  # of the other part, at the start of the step; boundaries are in the frame of the world
    before: Pose  # maps points of the part to this frame, at the start of the step
    after: Pose  # and at its end
    low: Vec3  # bounding box, enlarged by margin and radius
    high: Vec3
    pose: Pose  # of the own part, at the start of the step
    margin: float
    strict: bool  # core points between two sides of a mesh do not count
    step_back: float  # largest distance from which a point is seen from farther back
    rounding: float
    tie: float  # heights that differ by less are equal
    band: float  # height above the lowest point within which points support a body


class Label(NamedTuple):
    """What identifies the contacts of a side: rows of both bodies (or -1 - boundary), feature id, sign of normals."""

    first: int
    second: int
    feature: int
    sign: float


class RoundSide(NamedTuple):
    """The surface of a round shape, on which nearby contacts are one contact."""

    begin: int  # contacts from this row on are of the same pair
    slack: float  # places and gaps that differ by less are equal
    axis: Vec3  # of a shape with rims, else zero
    lean: float  # minus the cosine of the axis and the normals of the side


# ---- the distance of a point from the side that it came from


@kernel
def _boundary_distance(boundary, p):
    """Distance of a point from a boundary, and the unit normal away from it; along z where none is defined."""
    gap, normal = point_gap(boundary, p)
    if normal.x == 0.0 and normal.y == 0.0 and normal.z == 0.0:
        return SignedDistance(gap, Vec3(0.0, 0.0, -1.0))
    return SignedDistance(gap, -normal)


@lean
def _facing(surfaces, target, at, p, outward):
    """(uncertain, distance) of the target's surface at a point p of the own part, which `at` maps to its frame.

    At an edge of the surface the normal is discontinuous, and beyond the middle of a thin shape it is reversed. Seen
    from a point a little farther back it is the normal of the side that p came from. That point must lie inside the own
    part: behind the tip of a small body lies the far side of a thin plate, whose normal would pull the tip in. The
    distance is then that from the plane of this side, and is uncertain. At a convex edge and beyond the middle of a
    thin shape that distance is the smaller one; where it is larger the surface is concave, and the nearest side counts.
    So it does for a point outside of the shape that lies behind that plane, and for one inside whose projection on the
    plane is not on the surface: that curves away from the plane.
    """
    q, o = world_point(at, p), to_world(at.turn, outward)
    near = signed_distance(surfaces.target, q, False)
    if dot(o, near.normal) < -_UNSURE_COSINE:
        return False, near
    back = target.step_back
    for _ in range(_BACK_STEPS):
        seen = signed_distance(surfaces.target, q - back * o, False)
        if dot(seen.normal, near.normal) >= _UNSURE_COSINE:
            break
        plane = seen.distance + back * dot(o, seen.normal)
        inside = distance(surfaces.own, p - back * outward, 0.0) < 0.0
        meets = plane >= 0.0
        if not meets and near.distance <= target.rounding:
            foot = signed_distance(surfaces.target, q - plane * seen.normal, False)
            meets = foot.distance <= -_ON_PLANE * plane
        if inside and meets and plane <= near.distance:
            return True, SignedDistance(plane, seen.normal)
        back *= 0.5
    return False, near


@lean
def _has_foot(grid, target, p, near):
    """Whether the surface of a mesh is where distance and normal of a point predict it.

    Where the target is not strict, this is tested only outside the grid, where the distance is that to a projection.
    """
    q = world_point(target.before, p)
    if not target.strict and not is_outside(grid, q):
        return True
    return abs(grid_value(grid, q - near.distance * near.normal)) < 0.5 * grid.spacing


@lean
def _outward_at(points, place, s):
    """The outward direction at point s; for vertices, which have none, the direction from the origin."""
    outward = row3(points.outward, s)
    if outward.x == 0.0 and outward.y == 0.0 and outward.z == 0.0:
        p = row3(place, s)
        return p / norm(p)
    return outward


@lean
def _candidate(surfaces, points, target, s, later):
    """(whether point s is a candidate, its contact); `later` is its distance at the end of the step or a bound.

    A core point has no outward direction; its projection on the mesh is computed instead. Where the target is strict,
    core points between two sides of a mesh do not count: there the interpolated distance smooths a ridge, and the
    normal belongs to neither side; points of the mesh find both sides.
    """
    p, end, grid = row3(points.place, s), row3(points.later, s), surfaces.target.grid
    exact = target.is_boundary or grid.nx == 0 or not is_outside(grid, world_point(target.after, end))
    if points.radius > 0.0:
        near = signed_distance(surfaces.target, world_point(target.before, p), True)
        touches = _has_foot(grid, target, p, near)
        if touches and not exact:
            later = signed_distance(surfaces.target, world_point(target.after, end), True).distance
    else:
        outward, unsure = _outward_at(points, points.place, s), False
        if target.is_boundary:
            near = _boundary_distance(target.boundary0, world_point(target.before, p))
        else:
            unsure, near = _facing(surfaces, target, target.before, p, outward)
        cosine = dot(to_world(target.before.turn, outward), near.normal)
        touches = cosine <= (_FACES_AWAY_FROM_BOUNDARY if target.is_boundary else _FACES_AWAY)
        if touches and (unsure or not exact):
            later = _facing(surfaces, target, target.after, end, _outward_at(points, points.later, s))[1].distance
    normal = to_world(target.frame.turn, near.normal)
    place = world_point(target.pose, p) - points.radius * normal
    gap, predicted = near.distance - points.radius, later - points.radius
    return touches and predicted <= target.margin, Contact(s - points.begin, gap, predicted, -normal, place)


@lean
def _gather(surfaces, points, target, out):
    """Writes the candidates among some points to the table `out`; returns their number."""
    n, s, low, high, after, margin = 0, points.begin - 1, target.low, target.high, target.after, target.margin
    surface, is_boundary, boundary = surfaces.target, target.is_boundary, target.boundary1
    while s + 1 < points.end:
        s += 1
        p = world_point(after, row3(points.later, s))
        leads = s < points.runs_end and (s - points.begin) % RUN == 0
        beyond = p.x < low.x or p.y < low.y or p.z < low.z or p.x > high.x or p.y > high.y or p.z > high.z
        if beyond and not leads:
            continue
        # First a lower bound, which is sufficient for most points.
        if is_boundary:
            later = point_gap(boundary, p)[0]
        else:
            later = distance(surface, p, margin + points.run_reach + points.radius)
        if leads and later > margin + points.run_reach:  # the whole run is too far
            s += RUN - 1
        elif later - points.radius <= margin:
            touches, contact = _candidate(surfaces, points, target, s, later)
            if touches:
                put(out, n, 0, 0, contact)
                n += 1
    return n


@lean
def _emit(c, count, label, side, table, n):
    """Writes the chosen ones of the first `count` candidates to the table of contacts; returns the next free row.

    Against a round side, candidates are left out that repeat a contact: with about the same normal and not lower, or at
    the same place. A candidate lies on the surface of its own body, half of the gap from the midpoint.
    """
    known = n
    for i in range(count):
        if not c.keep[i]:
            continue
        found = contact_at(c.contact, i)
        normal, point = label.sign * found.normal, found.point + 0.5 * found.gap * found.normal
        on_side = abs(dot(found.normal, side.axis) + side.lean) < _ROUND_SIDE * (1.0 - abs(side.lean))
        seen = False
        for m in range(side.begin, n if on_side else side.begin):
            other = contact_at(table, m)
            same = dot(normal, other.normal) > _SAME_SIDE and m < known and other.gap <= found.gap + side.slack
            apart = point - other.point
            seen = seen or same or dot(apart, apart) < side.slack * side.slack
        if not seen:
            feature = (label.feature + 2 * found.feature) & FEATURE_MASK
            put(table, n, label.first, label.second, Contact(feature, found.gap, found.predicted, normal, point))
            n += 1
    return n


# ---- nearest point of a mesh to the core of a sphere or capsule


@lean
def _nearest_to_core(grid, points, at, half, s):
    """Point of a mesh nearest to the core of a round part, searched from sample point s, and the vector to the core.

    `at` maps the mesh's frame to that of the round part, whose core lies along z up to +-half.
    """
    p = row3(points.place, s)
    core = local_point(at, Vec3(0.0, 0.0, min(max(world_point(at, p).z, -half), half)))
    foot = nearest_on_mesh(grid, core, p)
    return foot, core - foot


@lean
def _refine(c, count, grid, points, target, size):
    """Moves the chosen points of a mesh over its surface to where a sphere or capsule is nearest."""
    radius, half = size.x, size.y
    for i in range(count):
        if not c.keep[i]:
            continue
        found = contact_at(c.contact, i)
        s = points.begin + found.feature
        for moment in range(2):
            at = target.before if moment else target.after
            foot, away = _nearest_to_core(grid, points, at, half, s)
            far = norm(away)
            if far == 0.0:
                break
            if dot(row3(points.outward, s), away) < 0.0:  # the core lies inside the mesh
                far = -far
            gap, predicted, normal, place = found.gap, far - radius, found.normal, found.point
            if moment:
                gap, predicted = far - radius, found.predicted
                normal, place = to_world(target.pose.turn, away / far), world_point(target.pose, foot)
            found = Contact(found.feature, gap, predicted, normal, place)
        put(c.contact, i, 0, 0, found)


# ---- pairs of parts, and parts with boundaries


@lean
def _moving_part(shapes, placed, k):
    """Part k of the placed parts."""
    shape = shapes.shape[placed.part[k]]
    kind, size, reach, grid = (
        int(shapes.kind[shape]),
        row3(shapes.size, shape),
        shapes.reach[shape],
        grid_of(shapes, shape),
    )
    low, high = Vec3(-reach, -reach, -reach), Vec3(reach, reach, reach)
    if kind == MESH:
        low, high = grid.low, grid.low + grid.spacing * Vec3(grid.nx - 1.0, grid.ny - 1.0, grid.nz - 1.0)
    elif kind == BOX:
        low, high = -size, size
    elif has_rims(kind):
        top, upper, bottom, lower = rims(kind, size)
        wide = max(top, bottom)
        low, high = Vec3(-wide, -wide, lower), Vec3(wide, wide, upper)
    before, after = pose_at(placed.pose0, k), pose_at(placed.pose1, k)
    return MovingPart(kind, size, reach, grid.spacing, low, high, before, after)


@kernel
def _part_target(own, other, margin, strict):
    """A part as the target of the points of another one."""
    more = margin + (own.size.x if is_rounded(own.kind) else 0.0)
    is_mesh = other.kind == MESH
    return Target(
        False,
        NO_BOUNDARY,
        NO_BOUNDARY,
        other.before,
        relative_pose(own.before, other.before),
        relative_pose(own.after, other.after),
        other.low - Vec3(more, more, more),
        other.high + Vec3(more, more, more),
        own.before,
        margin,
        strict,
        min(1.5 * other.spacing if is_mesh else 0.03 * other.reach, 0.25 * own.reach),
        _EQUAL_DISTANCE * other.reach,
        1e-2 * other.spacing if is_mesh else _EQUAL_DISTANCE * other.reach,
        0.0 if is_rounded(other.kind) else _SUPPORT_BAND * min(own.reach, other.reach),
    )


@kernel
def _boundary_target(own, boundary0, boundary1, margin):
    """A boundary as the target of the points of a part."""
    here = Pose(Vec3(0.0, 0.0, 0.0), Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)))
    far, tie, band = Vec3(np.inf, np.inf, np.inf), _EQUAL_DISTANCE * own.reach, _SUPPORT_BAND * own.reach
    return Target(
        True,
        boundary0,
        boundary1,
        here,
        own.before,
        own.after,
        -far,
        far,
        own.before,
        margin,
        True,
        0.0,
        0.0,
        tie,
        band,
    )


@kernel
def _round_side(own, other, begin, n):
    """The target part as a round side; rows `begin` to n of the table have the contacts of the pair so far."""
    if has_rims(other.kind):
        top, high, bottom, low = rims(other.kind, other.size)
        slant = np.sqrt((high - low) ** 2 + (bottom - top) ** 2)
        axis = to_world(other.before.turn, Vec3(0.0, 0.0, 1.0))
        return RoundSide(begin, 0.1 * own.size.x, axis, (bottom - top) / slant)
    is_round = is_rounded(other.kind) or is_smooth(other.kind)
    return RoundSide(begin if is_round else n, 0.1 * own.size.x if is_round else 0.0, Vec3(0.0, 0.0, 0.0), 0.0)


@lean
def _add_pair(world, parts, label, margin, table, n):
    """Adds the contacts of two parts to the table; returns the next free row.

    The core of a round part comes first: points of the mesh add only contacts that it has not found. A third search,
    which is not strict, follows where a round part has found nothing.
    """
    shapes, c, start = world.shapes, world.candidates, n
    first, second = _moving_part(shapes, world.placed, parts[0]), _moving_part(shapes, world.placed, parts[1])
    for search in range(3):
        side = (search + (1 if first.kind == MESH else 0)) % 2
        own, other = (first, second) if side == 0 else (second, first)
        if search == 2 and (n > start or own.kind == MESH):
            break
        shape, hit = shapes.shape[world.placed.part[parts[side]]], shapes.shape[world.placed.part[parts[1 - side]]]
        surfaces = Surfaces(surface_of(shapes, hit), surface_of(shapes, shape))
        target, points = (
            _part_target(own, other, margin, search < 2),
            surface_points(shapes, shape, other.size.x, world.room),
        )
        if has_rims(own.kind):
            ends = rims(own.kind, own.size)
            put_front(points, points.later, ends, surfaces.target.grid, target.after, margin)
            put_front(points, points.place, ends, surfaces.target.grid, target.before, margin)
        elif is_smooth(own.kind) and not is_rounded(own.kind):
            put_nearest(points, points.later, surfaces.own.core, surfaces.target.grid, target.after, True)
            put_nearest(points, points.place, surfaces.own.core, surfaces.target.grid, target.before, False)
        count = _gather(surfaces, points, target, c.contact)
        reduce(c, count, points, target.tie, target.band)
        if is_rounded(other.kind):
            _refine(c, count, surfaces.own.grid, points, target, other.size)
        own_label = Label(label.first, label.second, label.feature + side, 1.0 if side == 0 else -1.0)
        n = _emit(c, count, own_label, _round_side(own, other, start, n), table, n)
    return n


@lean
def _add_boundary(world, part, w, label, margin, table, n):
    """Adds the contacts of a mesh part with boundary w to the table; returns the next free row."""
    shapes, c, own = world.shapes, world.candidates, _moving_part(world.shapes, world.placed, part)
    target = _boundary_target(own, boundary_of(world.boundaries[0], w), boundary_of(world.boundaries[1], w), margin)
    if point_gap(target.boundary1, own.after.position)[0] > own.reach + margin:
        return n
    shape = shapes.shape[world.placed.part[part]]
    surface, points = surface_of(shapes, shape), surface_points(shapes, shape, 0.0, world.room)
    count = _gather(Surfaces(surface, surface), points, target, c.contact)
    reduce(c, count, points, target.tie, target.band)
    return _emit(c, count, label, RoundSide(n, 0.0, Vec3(0.0, 0.0, 0.0), 0.0), table, n)


@kernel
def _are_close(shapes, placed, i, j, margin):
    """Whether bounding spheres of two parts are within the margin at the end of the step, and one is a mesh."""
    f, g = shapes.shape[placed.part[i]], shapes.shape[placed.part[j]]
    if shapes.kind[f] != MESH and shapes.kind[g] != MESH:
        return False
    apart, reach = row3(placed.pose1, i) - row3(placed.pose1, j), shapes.reach[f] + shapes.reach[g] + margin
    return dot(apart, apart) <= reach * reach


@kernel
def mesh_contacts(shapes, poses, pairs, chosen, boundaries, margins):
    """The table of contacts of pairs of bodies with a mesh, and of meshes with boundaries.

    `pairs` are the first and the second rows of `poses`, `chosen` marks the rows that are tested against boundaries,
    two tables (start and end of the step). Parts that are not meshes are skipped, and pairs of them. Normals are unit
    vectors from first to second at the start of the step, points lie midway between the surfaces, and predicted gaps
    are at most the larger one of the `margins` (rows,). feature_id follows from the sample point, its body, and the
    pair of parts.
    """
    first, second = pairs
    needed = chosen.copy()
    for k in range(len(first)):
        needed[first[k]] = True
        needed[second[k]] = True
    placed, points, links = placed_parts(shapes, poses, needed), MOST_POINTS, MOST_POINTS
    for f in range(len(shapes.kind)):
        points = max(points, shapes.vertex_ptr[f + 1] - shapes.vertex_ptr[f])
        links = max(links, shapes.edge_ptr[f + 1] - shapes.edge_ptr[f])
    candidates = candidate_room(points, links)
    world = World(shapes, placed, boundaries, candidates, point_room())
    table, n = contact_table(64), 0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        margin = max(margins[a], margins[b])
        for i in range(placed.ptr[a], placed.ptr[a + 1]):
            for j in range(placed.ptr[b], placed.ptr[b + 1]):
                if _are_close(shapes, placed, i, j, margin):
                    table = with_room(table, n, 3 * points)
                    feature = 2 * _PART_PRIME * ((i - placed.ptr[a]) * _MANY_PARTS + j - placed.ptr[b])
                    n = _add_pair(world, (i, j), Label(a, b, feature, 1.0), margin, table, n)
    for r in range(len(chosen)):
        for k in range(placed.ptr[r], placed.ptr[r + 1] if chosen[r] else placed.ptr[r]):
            if shapes.kind[shapes.shape[placed.part[k]]] == MESH:
                for w in range(len(boundaries[1])):
                    table = with_room(table, n, points)
                    label = Label(r, -1 - w, 2 * _PART_PRIME * (k - placed.ptr[r]), 1.0)
                    n = _add_boundary(world, k, w, label, margins[r], table, n)
    return table[:n].copy()


def mesh_pairs(first: Ints, second: Ints, shapes: Shapes3D, poses: Poses, margin: float) -> Floats:
    """The table of contacts of pairs of rows of `poses`, without boundaries."""
    rows, none = len(poses.owner), np.empty((0, ENTRIES))
    chosen, margins = np.zeros(rows, np.bool_), np.full(rows, margin)
    return np.asarray(mesh_contacts(shapes, poses, (first, second), chosen, (none, none), margins))
