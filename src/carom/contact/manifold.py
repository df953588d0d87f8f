"""Contact manifold of two features: points, gaps and predicted gaps at the places where they meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Pose, Vec3, cross, dot, norm, to_world
from ..kernels import kernel, lean
from .clipping import place_at
from .contact_set import Contact, feature_code, put
from .features import CODE, RHO, Feature, point_of
from .parts import motion_between, world_point

# What determines the normal of a contact after the motion: the mean rotation of both bodies, the face of a or b, two
# edges, the line of an edge of a or b, or two points.
MEAN, PLANE_A, PLANE_B, CROSS, LINE_A, LINE_B, POINT = 0, 1, 2, 3, 4, 5, 6
ALIGNED_FACE = 1.0 - 1e-6  # cosine above which a face is perpendicular to the normal
STEEP_FACE = 0.3  # cosine below which a face is too steep to project on


class Manifold(NamedTuple):
    """Two features, the normal from the first to the second, and the number of contact points that `clip` found."""

    first: Feature
    second: Feature
    normal: Vec3
    points: int
    time: float  # at which the features were determined: 0 at the start of the step, 1 at its end


class Motions(NamedTuple):
    """The motions x -> D x + o of both parts from the poses of their features to others, as poses (o, D)."""

    first: Pose
    second: Pose
    face_a: Vec3  # outward normals of the faces after the motion
    face_b: Vec3
    mean: Vec3  # the normal, rotated by the mean of both motions


class Side(NamedTuple):
    """What one of two bodies contributes to a contact.

    `point` is a point of its core: round parts move with their cores, so that rolling opens no gap. `line` is the
    normal of the face or the direction of the edge that meets the other body.
    """

    point: Vec3
    line: Vec3
    axis: Vec3  # of a solid of revolution
    radius: float  # around the core
    rho: float  # distance of a rim point from the axis, 0 for other points


class Meeting(NamedTuple):
    """A contact whose gap can be measured in other poses of the bodies."""

    mode: int  # MEAN .. POINT
    normal: Vec3
    first: Side
    second: Side


@kernel(inline="always")
def motions_of(manifold, first, second):
    """Two motions, and what they do to the normals of a manifold."""
    a, b, n = manifold.first, manifold.second, manifold.normal
    mean = to_world(first.turn, n) + to_world(second.turn, n)
    face_a, face_b = to_world(first.turn, a.face), to_world(second.turn, b.face)
    return Motions(first, second, face_a, face_b, (1.0 / norm(mean)) * mean)


@kernel(inline="always")
def _rotation_vector(turn):
    """The rotation of a matrix as a vector: axis times angle."""
    v = 0.5 * Vec3(turn.z.y - turn.y.z, turn.x.z - turn.z.x, turn.y.x - turn.x.y)
    sine, trace = norm(v), turn.x.x + turn.y.y + turn.z.z
    return (np.arctan2(sine, 0.5 * (trace - 1.0)) / sine if sine > 0.0 else 0.0) * v


@kernel(inline="always")
def _rolled_normal(motions, n, u, v):
    """The normal after the motion of two bodies of revolution, each about its own axis u and v.

    It rotates with both, minus the rolling of each about its axis: `turn_a - s_a u = turn_b - s_b v` in the least
    squares sense, with the smallest s_a and s_b.
    """
    a, b = _rotation_vector(motions.first.turn), _rotation_vector(motions.second.turn)
    q = b - a
    c, qu, qv = dot(u, v), dot(u, q), dot(v, q)
    wide = 1.0 + 1e-9  # regularization: parallel axes share the rolling equally
    share = 0.5 / (wide * wide - c * c)
    s_a, s_b = share * (c * qv - wide * qu), share * (wide * qv - c * qu)
    w = 0.5 * (a + b) - s_a * u - s_b * v
    angle = norm(w)
    if angle == 0.0:
        return n
    # Rodrigues: cos n + sin (w x n) + (1 - cos) (w . n) w
    w = w / angle
    cosine = np.cos(angle)
    return cosine * n + np.sin(angle) * cross(w, n) + ((1.0 - cosine) * dot(w, n)) * w


@kernel
def _turned_normal(meeting, motions):
    """The normal after the motion by default: it rotates with the bodies, but not with a body of revolution."""
    a, b, n = meeting.first, meeting.second, meeting.normal
    round_a, round_b = a.rho > 0.0 or a.radius > 0.0, b.rho > 0.0 or b.radius > 0.0
    if round_a and round_b:
        return _rolled_normal(motions, n, a.axis, b.axis)
    if not round_a and not round_b:
        return motions.mean
    turned = to_world(motions.second.turn if round_a else motions.first.turn, n)
    mean = turned + turned
    return (1.0 / norm(mean)) * mean


@kernel(inline="always")
def _rejected(d, e):
    """The component of d perpendicular to e."""
    return d - (dot(e, d) / dot(e, e)) * e


@kernel
def _edge_normal(mode, e, g, d, n):
    """The normal after the motion for edges and points: perpendicular to two edges, or from a line or a point."""
    v = d
    if mode == CROSS:
        v = cross(e, g)
    elif mode != POINT:
        v = _rejected(d, g if mode == LINE_B else e)
    length = norm(v)
    if length == 0.0:
        return n
    return v / (-length if dot(v, n) < 0.0 else length)


@kernel(inline="always")
def _rim_gap(side, motion, n):
    """How much a rim point reaches beyond its axis along the normal n after a motion."""
    c = dot(n, to_world(motion.turn, side.axis))
    return side.rho * np.sqrt(max(0.0, 1.0 - c * c))


@kernel(inline="always")
def _gap_after(meeting, motions):
    """Gap of a contact after motions of both bodies."""
    mode, a, b = meeting.mode, meeting.first, meeting.second
    d = world_point(motions.second, b.point) - world_point(motions.first, a.point)
    n, scale = motions.mean, 1.0
    if mode == PLANE_A:
        n, scale = motions.face_a, dot(a.line, meeting.normal)
    elif mode == PLANE_B:
        n, scale = -motions.face_b, -dot(b.line, meeting.normal)
    elif mode != MEAN or a.radius + b.radius + a.rho + b.rho > 0.0:
        n = _turned_normal(meeting, motions)
        if mode != MEAN:
            e, g = to_world(motions.first.turn, a.line), to_world(motions.second.turn, b.line)
            n = _edge_normal(mode, e, g, d, n)
    gap = dot(n, d) / scale - a.radius - b.radius
    if a.rho > 0.0:
        gap -= _rim_gap(a, motions.first, n)
    if b.rho > 0.0:
        gap -= _rim_gap(b, motions.second, n)
    return gap


@kernel
def _gap_at(manifold, meeting, first, second):
    """`_gap_after` for two motions."""
    return _gap_after(meeting, motions_of(manifold, first, second))


@kernel(inline="always")
def _side(feature, place, p):
    """The side of a contact at a place of a feature, with the point itself instead of that of the core."""
    w, i, j, t = feature.which, max(place.i, 0), max(place.j, 0), place.along
    start = point_of(p, w, i)
    edge = point_of(p, w, j) - start
    rho = 0.0
    if place.i >= 0 and (i == j or feature.points == 2):
        rho = p[w, i, RHO] + t * (p[w, j, RHO] - p[w, i, RHO])
    return Side(start + t * edge, edge, feature.axis, feature.radius, rho)


@kernel(inline="always")
def onto(feature, n, p, point):
    """The projection of p along n onto the plane of a face, and whether the plane is not too steep for it."""
    cosine = dot(feature.face, n)
    t = dot(feature.face, point_of(point, feature.which, 0) - p)
    if abs(cosine) > STEEP_FACE:
        t /= cosine
    return p + t * n, abs(cosine) > STEEP_FACE


@kernel(inline="always")
def faces_across(manifold):
    """Whether the first and the second feature are faces perpendicular to the normal."""
    a, b, n = manifold.first, manifold.second, manifold.normal
    return a.points >= 3 and dot(a.face, n) > ALIGNED_FACE, b.points >= 3 and -dot(b.face, n) > ALIGNED_FACE


@kernel(inline="always")
def _mode_of_corners(manifold, corner_a, corner_b):
    """What determines the normal after the motion where vertices or edges of both meet."""
    of_a, of_b = faces_across(manifold)
    if of_a or of_b:
        return MEAN if of_a and of_b else (PLANE_A if of_a else PLANE_B)
    if not corner_a and not corner_b:
        return CROSS
    if corner_a and corner_b:
        return POINT
    return LINE_B if corner_a else LINE_A


@kernel
def _is_measured(meeting):
    """Whether the normal is perpendicular to both edges, or the distance of round cores is that of the contact.

    Only then can the gap after the motion be measured between them. Otherwise it is measured along the rotated normal.
    """
    mode, n, a, b = meeting.mode, meeting.normal, meeting.first, meeting.second
    if mode == CROSS:
        c = cross(a.line, b.line)
        return abs(dot(n, c)) > ALIGNED_FACE * norm(c)
    d = b.point - a.point
    if mode != POINT:
        d = _rejected(d, a.line if mode == LINE_A else b.line)
    radii, ahead = a.radius + b.radius + a.rho + b.rho, dot(n, d)
    return radii > 0.0 and ahead > 0.25 * radii and ahead > ALIGNED_FACE * norm(d)


@lean
def feature_of(on_a, on_b, base, p):
    """The feature id of a contact: from its vertex, of a rather than of b, else from both edges."""
    a, a2, b, b2 = int(p[0, on_a.i, CODE]), int(p[0, on_a.j, CODE]), int(p[1, on_b.i, CODE]), int(p[1, on_b.j, CODE])
    if on_a.i >= 0 and on_a.i == on_a.j:
        return feature_code(base, 0, a, 0)
    if on_b.i >= 0 and on_b.i == on_b.j:
        return feature_code(base, 1, b, 0)
    if on_a.i < 0:  # an edge and the rim of a cap
        return feature_code(base, 3, b * 4096 + b2, 1)
    if on_b.i < 0:
        return feature_code(base, 3, a * 4096 + a2, 0)
    return feature_code(base, 2, min(a, a2) * 4096 + max(a, a2), min(b, b2) * 4096 + max(b, b2))


@kernel(inline="always")
def _meeting(manifold, on_a, on_b, point):
    """The points where two features meet at a pair of places, and their meeting, whose points are those of cores."""
    first, second, n = manifold.first, manifold.second, manifold.normal
    a, b = _side(first, on_a, point), _side(second, on_b, point)
    pa, pb, good = a.point, b.point, True
    if on_a.i < 0:
        pa, good = onto(first, n, pb, point)
        mode = PLANE_A
    elif on_b.i < 0:
        pb, good = onto(second, n, pa, point)
        mode = PLANE_B
    else:
        mode = _mode_of_corners(manifold, on_a.i == on_a.j, on_b.i == on_b.j)
    square = abs(dot(first.face if mode == PLANE_A else second.face, n)) > ALIGNED_FACE
    if not good or (mode <= PLANE_B and (a.rho > 0.0 or b.rho > 0.0) and not square):
        mode = MEAN
    core_a, core_b = pa - a.rho * first.out, pb - b.rho * second.out
    meeting = Meeting(
        mode,
        n,
        Side(core_a, first.face if mode == PLANE_A else a.line, a.axis, a.radius, a.rho),
        Side(core_b, second.face if mode == PLANE_B else b.line, b.axis, b.radius, b.rho),
    )
    if mode >= CROSS and not _is_measured(meeting):
        meeting = Meeting(MEAN, n, meeting.first, meeting.second)
    return pa, pb, meeting


@lean
def gaps_at(manifold, a, b, on_a, on_b, end, p):
    """The points and the meeting of two features at a pair of places, and the gaps there, now and at the end.

    Arguments as in `put_contacts`; `end` are the motions to the end of the step, p are the points of the features.
    """
    pa, pb, meeting = _meeting(manifold, on_a, on_b, p)
    gap = dot(manifold.normal, pb - pa) - manifold.first.radius - manifold.second.radius
    predicted = _gap_after(meeting, end)
    if meeting.mode >= CROSS or meeting.first.rho > 0.0 or meeting.second.rho > 0.0:
        # The gap as it is measured between the features may differ by rounding.
        predicted += gap - _gap_at(manifold, meeting, motion_between(a.now, a.now), motion_between(b.now, b.now))
    return pa, pb, meeting, gap, predicted


@lean
def put_contacts(manifold, a, b, limit, base, scratch, table, at):
    """Writes the contacts with a predicted gap up to `limit` from row `at` of a table.

    a and b are the poses of both parts in the step; `base` is a number for the pair of parts. Returns the next free
    row, and the least predicted gap.
    """
    least, n, radius_a, radius_b = np.inf, manifold.normal, manifold.first.radius, manifold.second.radius
    end = motions_of(manifold, motion_between(a.now, a.end), motion_between(b.now, b.end))
    for k in range(manifold.points):
        on_a, on_b = place_at(scratch.place, k, 0), place_at(scratch.place, k, 1)
        pa, pb, meeting, gap, predicted = gaps_at(manifold, a, b, on_a, on_b, end, scratch.point)
        least = min(least, predicted)
        if predicted > limit:
            continue
        point = 0.5 * (pa + pb) + (0.5 * (radius_a - radius_b)) * n
        if manifold.time > 0.0:
            first, second, half = motion_between(a.now, a.start), motion_between(b.now, b.start), (0.5 * gap) * n
            point = 0.5 * (world_point(first, point - half) + world_point(second, point + half))
            gap = _gap_at(manifold, meeting, first, second)
        put(table, at, 0, 0, Contact(feature_of(on_a, on_b, base, scratch.point), gap, predicted, n, point))
        at += 1
    return at, least
