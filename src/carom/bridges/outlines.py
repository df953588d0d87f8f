"""Shapes of a pymunk space as vertices, and bounds on their approach: most steps need to know no more.

Bounds are those of a kernel on the state of all bodies. Only where they allow an impact pymunk is asked for contacts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pymunk
from numpy.typing import NDArray

from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from . import slowest_impact

AXIS_ROUNDING = 1e-9  # distances along axes that differ by less, relative to the size of two shapes, are equal
X, Y, ANGLE, VX, VY, SPIN = range(6)  # columns of the state of a body, in the order of pymunk.batch


class Outlines(NamedTuple):
    """The shapes of a space as vertices, one for a circle, in the frames of their bodies, rounded by radii."""

    body: Ints  # (s,) place of the body of each shape in the state; -1 for the static body of the space
    ptr: Ints  # (s + 1,) first vertex of each shape
    vertex: Floats  # (v, 2)
    center: Floats  # (s, 2) mean of the vertices
    gravity_center: Floats  # (s, 2) that of the body
    radius: Floats  # (s,) of rounding
    reach: Floats  # (s,) farthest vertex from the center
    pair: Ints  # (p, 2) shapes that may touch
    collide: NDArray[np.bool_]  # (s, s) the same
    fixed: Floats  # (6,) state of the static body


def outlines(space: Any, place: dict[int, int]) -> Outlines:
    """The shapes of a space, and the pairs that collide: of two bodies, of which one moves, and not filtered out.

    `place` has the places of bodies in the state by their numbers.
    """
    apart = {frozenset((c.a, c.b)) for c in space.constraints if not c.collide_bodies}
    shapes = [shape for shape in space.shapes if not shape.sensor]
    vertices = [_vertices(shape) for shape in shapes]
    centers = [np.mean(points, axis=0) for points in vertices]
    reach = [np.linalg.norm(points - center, axis=1).max() for points, center in zip(vertices, centers, strict=True)]
    dynamic = [shape.body.body_type == pymunk.Body.DYNAMIC for shape in shapes]
    pairs = [
        (i, j)
        for j, second in enumerate(shapes)
        for i, first in enumerate(shapes[:j])
        if first.body is not second.body
        and (dynamic[i] or dynamic[j])
        and not first.filter.rejects_collision(second.filter)
        and frozenset((first.body, second.body)) not in apart
    ]
    count, static = len(shapes), space.static_body
    collide = np.zeros((count, count), np.bool_)
    for i, j in pairs:
        collide[i, j] = True
    return Outlines(
        np.array([place.get(shape.body.id, -1) for shape in shapes], np.int64),
        np.cumsum([0, *map(len, vertices)]),
        np.concatenate([*vertices, np.zeros((0, 2))]),
        np.array(centers).reshape(count, 2),
        np.array([tuple(shape.body.center_of_gravity) for shape in shapes]).reshape(count, 2),
        np.array([shape.radius for shape in shapes], float),
        np.array(reach, float),
        np.array(pairs, np.int64).reshape(-1, 2),
        collide,
        np.array([*static.position, static.angle, 0.0, 0.0, 0.0]),
    )


def _vertices(shape: Any) -> Floats:
    """The vertices (v, 2) of a shape in the frame of its body: the center of a circle, the ends of a segment."""
    if isinstance(shape, pymunk.Circle):
        return np.array([tuple(shape.offset)])
    points = (shape.a, shape.b) if isinstance(shape, pymunk.Segment) else shape.get_vertices()
    return np.array([tuple(point) for point in points])


@kernel
def may_impact(outlines, flat, gravity, numbers):
    """Whether a pair of shapes may close within the time step at the speed of an impact.

    `flat` are the states of all bodies, `numbers` are `touch` and `threshold` of `Bridge` and the time step.
    """
    touch, threshold, h = numbers
    slowest = slowest_impact(threshold, np.hypot(gravity[0], gravity[1]), h)
    frame, points = _placed(outlines, flat, h)
    order = np.argsort(frame[:, 4] - frame[:, 9])  # a sweep from left to right
    for a in range(len(order)):
        end = frame[order[a], 4] + frame[order[a], 9] + touch
        for b in range(a + 1, len(order)):
            i, j = min(order[a], order[b]), max(order[a], order[b])
            if frame[order[b], 4] - frame[order[b], 9] > end:
                break
            if not outlines.collide[i, j] or _lead(frame, i, j, touch) < 0.0:
                continue
            if _approach_of(outlines, points, i, j, frame, touch, h) > slowest:
                return True
    return False


@kernel
def near_pairs(outlines, flat, numbers):
    """Pairs (p, 2) of shapes that may touch within a time, bounds (p,) on their approach, and the distances (p,) that
    they may cover."""
    touch, _, h = numbers
    frame, points = _placed(outlines, flat, h)
    pairs, used = outlines.pair, 0
    chosen, speed, reach = np.empty(len(pairs), np.int64), np.empty(len(pairs)), np.empty(len(pairs))
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        if _lead(frame, i, j, touch) >= 0.0:
            chosen[used], speed[used] = p, _approach_of(outlines, points, i, j, frame, touch, h)
            reach[used] = touch + frame[i, 10] + frame[j, 10]
            used += 1
    return pairs[chosen[:used]], speed[:used], reach[:used]


@kernel
def _placed(outlines, flat, h):
    """For each shape (s, 11) its center, velocity there, spin, how far from there it reaches in a step, and how far its
    points move; and all vertices (v, 2). The first four columns are the frame."""
    state, count = flat.reshape(-1, 6), len(outlines.body)
    frame, points = np.empty((count, 11)), np.empty_like(outlines.vertex)
    for s in range(count):
        b = outlines.body[s]
        own, out = state[b] if b >= 0 else outlines.fixed, frame[s]
        cos, sin = (np.cos(own[ANGLE]), np.sin(own[ANGLE])) if own[ANGLE] != 0.0 else (1.0, 0.0)
        cx, cy = outlines.center[s, 0], outlines.center[s, 1]
        ax, ay = cx - outlines.gravity_center[s, 0], cy - outlines.gravity_center[s, 1]
        out[0], out[1], out[2], out[3] = own[X], own[Y], cos, sin
        out[4], out[5] = own[X] + cos * cx - sin * cy, own[Y] + sin * cx + cos * cy
        out[6], out[7] = own[VX] - own[SPIN] * (sin * ax + cos * ay), own[VY] + own[SPIN] * (cos * ax - sin * ay)
        out[8] = own[SPIN]
        out[10] = h * (abs(out[6]) + abs(out[7]) + abs(out[8]) * outlines.reach[s])
        out[9] = outlines.reach[s] + outlines.radius[s] + out[10]
        for k in range(outlines.ptr[s], outlines.ptr[s + 1]):
            x, y = outlines.vertex[k, 0], outlines.vertex[k, 1]
            points[k, 0], points[k, 1] = own[X] + cos * x - sin * y, own[Y] + sin * x + cos * y
    return frame, points


@kernel(inline="always")
def _lead(frame, i, j, touch):
    """Squared distance at which circles about shapes i and j meet within the step, less that of their centers."""
    dx, dy = frame[j, 4] - frame[i, 4], frame[j, 5] - frame[i, 5]
    lead = frame[i, 9] + frame[j, 9] + touch
    return lead * lead - dx * dx - dy * dy


@lean
def _approach_of(outlines, points, i, j, frame, touch, h):
    """A bound on the approach of shapes i and j that may touch within the step; 0 if an axis keeps them apart.

    Axes are the normals of edges; for circles the directions from all vertices as well. The one with the largest
    distance is the normal of the contact, unless two vertices are nearest to each other.
    """
    a, b, reach = frame[i], frame[j], outlines.reach
    vx, vy = b[6] - a[6], b[7] - a[7]
    turning = abs(a[8]) * reach[i] + abs(b[8]) * reach[j]
    if reach[i] == 0.0 and reach[j] == 0.0 and a[4] == b[4] and a[5] == b[5]:
        return np.inf
    rounding, best, approach = outlines.radius[i] + outlines.radius[j], -np.inf, 0.0
    for side in range(2):
        s, o, sign = (i, j, 1.0) if side == 0 else (j, i, -1.0)
        first, last = outlines.ptr[s], outlines.ptr[s + 1]
        center, count = outlines.ptr[o], last - first
        round_other = outlines.ptr[o + 1] - center == 1
        for k in range(first, last + count if round_other else last):
            if k < last:  # an edge
                e = k + 1 if k + 1 < last else first
                nx, ny = points[e, 1] - points[k, 1], points[k, 0] - points[e, 0]
            else:
                nx, ny = points[center, 0] - points[k - count, 0], points[center, 1] - points[k - count, 1]
            length = np.sqrt(nx * nx + ny * ny)
            if length == 0.0:
                continue
            nx, ny = nx / length, ny / length
            gap = _least(points, center, outlines.ptr[o + 1], nx, ny) + _least(points, first, last, -nx, -ny) - rounding
            speed = -sign * (vx * nx + vy * ny)
            if gap - h * max(speed + turning, 0.0) > touch:
                return 0.0
            if gap > best:
                best, approach = gap, speed
    if reach[i] > 0.0 and reach[j] > 0.0:
        along = _approach_of_edges(outlines, points, i, j, frame, touch, h, best + rounding)
        return along if along >= 0.0 else np.sqrt(vx * vx + vy * vy) + turning
    return approach + turning


@lean
def _approach_of_edges(outlines, points, i, j, frame, touch, h, best):
    """The fastest approach of vertices of polygons i and j that may close within the step, along the contact's normal.

    It is that of an edge with the largest distance `best` of the polygons without their rounding. Contacts lie at
    vertices, at which the other polygon is beside them. -1 where two vertices are nearest to each other.
    """
    lead, rounding = touch + frame[i, 10] + frame[j, 10], outlines.radius[i] + outlines.radius[j]
    equal, fastest = AXIS_ROUNDING * (outlines.reach[i] + outlines.reach[j]), 0.0
    slack = abs(frame[i, 8] - frame[j, 8]) * equal  # to shift a contact along the normal does not change its approach
    for side in range(2):
        s, o = (i, j) if side == 0 else (j, i)
        first, last, low, high = outlines.ptr[s], outlines.ptr[s + 1], outlines.ptr[o], outlines.ptr[o + 1]
        for k in range(first, last):
            e = k + 1 if k + 1 < last else first
            tx, ty = points[e, 0] - points[k, 0], points[e, 1] - points[k, 1]
            length = np.sqrt(tx * tx + ty * ty)
            if length == 0.0:
                continue
            tx, ty = tx / length, ty / length
            nx, ny, plane = ty, -tx, points[k, 0] * ty - points[k, 1] * tx
            gap = _least(points, low, high, nx, ny) - plane
            if gap < best - equal:
                continue
            begin, end = np.inf, -np.inf
            for x in range(low, high):
                if points[x, 0] * nx + points[x, 1] * ny - plane <= gap + equal:
                    place = (points[x, 0] - points[k, 0]) * tx + (points[x, 1] - points[k, 1]) * ty
                    begin, end = min(begin, place), max(end, place)
            if gap > -equal and (begin > length or end < 0.0):
                return -1.0
            for mine in range(2):
                a, b, c, d = (low, high, first, last) if mine == 0 else (first, last, low, high)
                begin, end = _least(points, c, d, tx, ty) - lead, -_least(points, c, d, -tx, -ty) + lead
                for x in range(a, b):
                    px, py = points[x, 0], points[x, 1]
                    place, depth = px * tx + py * ty, px * nx + py * ny
                    apart = (depth - plane if mine == 0 else plane + gap - depth) - rounding
                    speed = _closing(frame, s, o, px, py, nx, ny) + slack
                    if begin <= place <= end and apart - h * max(speed, 0.0) <= touch:
                        fastest = max(fastest, speed)
    return fastest


@kernel(inline="always")
def _closing(frame, s, o, x, y, nx, ny):
    """Speed at which shape o approaches shape s at a point, against a normal that points from s to o."""
    vx = frame[o, 6] - frame[o, 8] * (y - frame[o, 5]) - frame[s, 6] + frame[s, 8] * (y - frame[s, 5])
    vy = frame[o, 7] + frame[o, 8] * (x - frame[o, 4]) - frame[s, 7] - frame[s, 8] * (x - frame[s, 4])
    return -(vx * nx + vy * ny)


@lean
def _least(points, first, last, nx, ny):
    """The least coordinate of points along a direction."""
    least = np.inf
    for k in range(first, last):
        least = min(least, points[k, 0] * nx + points[k, 1] * ny)
    return least
