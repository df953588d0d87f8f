"""Narrow phase of convex shapes in 3D: a common normal, then the features that face each other along it.

The normal is the direction of the shortest distance of the cores, or of least overlap; for two boxes it is the best
separating axis. It is determined at the start of the step, or, for bodies so fast that they are still far apart then,
when they come close. A sphere is followed in the frame of the other shape, in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3, cross, dot, norm, to_local, to_world
from ..kernels import kernel, lean
from ..world import BOX, CAPSULE, SPHERE
from .box_axes import BoxAxes, box_axes, box_normal
from .clipping import PARALLEL_SINE, clip
from .contact_set import Contact, feature_code, put
from .epa import Polytope, Preview, overlap, polytope
from .features import FEATURE_BAND, Depth, Scratch, box_feature, facing, most_points, new_scratch, plain_depth, point_of
from .gjk import segment_separation, shifted_separation
from .manifold import Manifold, put_contacts
from .parts import (
    Part,
    StepPoses,
    difference,
    is_curved,
    is_smooth,
    local_point,
    midway,
    most_parts,
    relative_pose,
    support,
)
from .point_distance import feature_distance, nearest

FAST_GAP = 0.1  # gap, in half widths of the smaller body, above which bodies that touch in this step count as fast
ADVANCED_GAP = 0.02  # gap, in the same unit, up to which fast bodies are advanced
ADVANCED_SPHERE_GAP = 1e-3  # the same for spheres, whose touch is exact
MOST_ADVANCES = 32  # largest number of steps of conservative advancement
FACE_NORMAL_COSINE = 1.0 - 5e-5  # cosine (0.01 rad) above which a normal is replaced by the exact one of a face
NORMAL_LOSS = 1e-9  # loss of separation, relative to the size of the pair, that the exact normal may cost
MOST_REFINEMENTS = 6  # largest number of searches with cores moved apart
CORE_LIFT = 1e-4  # distance between them, relative to the size of the pair: above the error of a coarse overlap
SAME_DIRECTION = 1e-12  # one minus the cosine of the angle (1e-6 rad) up to which two directions are equal
PASSED_BY = 0.5  # cosine of normals at the touch and at the end of the step, below which the bodies have passed by
# Sine of the angle to the normal up to which a whole face of a box is a feature against another box, since edges may
# cross at any place of it; larger than that up to which `box_normal` prefers faces to edges.
FACE_TILT = 0.02


class Query(NamedTuple):
    """What is asked about two bodies."""

    margin: float  # largest predicted gap of a contact
    move: float  # bound on the relative displacement of their points in the step
    inner: float  # half width of the smaller body
    base: int  # a number for the pair of parts


class Work(NamedTuple):
    """Scratch arrays for one pair at a time."""

    axes: BoxAxes
    polytope: Polytope
    features: Scratch
    room: int  # largest number of contacts of two bodies


@kernel
def new_work(shapes):
    """Scratch arrays for the shapes of a table."""
    points = most_points(shapes)
    return Work(box_axes(), polytope(), new_scratch(points), 4 * points * most_parts(shapes) ** 2)


@kernel
def _comes_after(a, b):
    """Whether pose a comes after pose b in lexicographic order."""
    for i in range(3):
        if a.position[i] != b.position[i]:
            return a.position[i] > b.position[i]
    for i in range(3):
        for j in range(3):
            if a.turn[i][j] != b.turn[i][j]:
                return a.turn[i][j] > b.turn[i][j]
    return False


@lean
def core_separation(a, b, limit, preview, hull):
    """Signed separation of the cores of two parts, and the unit vector along which they separate best, from a to b.

    The direction that the expanding polytope gives for curved cores is coarse. Moved apart along it, the cores have a
    shortest distance, whose direction is better; this is repeated until the direction no longer changes.
    """
    if a.core.kind == CAPSULE and b.core.kind == CAPSULE:
        return segment_separation(a, b)
    # Rounding depends on which core is the first. That must not depend on the numbers of the bodies.
    sign = 1.0
    if _comes_after(a.pose, b.pose):
        a, b, sign = b, a, -1.0
        preview = Preview(preview.second, preview.first, preview.move)
    best, normal, shift, scale = 0.0, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), a.core.reach + b.core.reach
    for look in range(MOST_REFINEMENTS):
        distance, n = shifted_separation(a, b, shift, limit)
        if look == 0:
            if distance > 0.0:
                return distance, sign * n
            best, normal = overlap(a, b, preview, hull)
            if not is_curved(a.core) and not is_curved(b.core):
                break
            limit = np.inf
        elif distance > 0.0:
            found, cosine = dot(n, difference(a, b, -n)), dot(n, normal)
            if found > best or look == 1:
                best, normal = found, n
            if cosine > 1.0 - SAME_DIRECTION:
                break
        shift = (CORE_LIFT * scale - best) * normal
    return best, sign * normal


@lean
def _exact_normal(a, b, n, p):
    """The exact normal of two features that meet, if the given one equals it up to rounding, and whether it does."""
    exact = Vec3(0.0, 0.0, 0.0)
    if a.points >= 3 and dot(a.face, n) > FACE_NORMAL_COSINE:
        exact = exact + a.face
    if b.points >= 3 and -dot(b.face, n) > FACE_NORMAL_COSINE:
        exact = exact - b.face
    if a.points == 2 and b.points == 2:
        e, g = point_of(p, 0, 1) - point_of(p, 0, 0), point_of(p, 1, 1) - point_of(p, 1, 0)
        exact = cross(e, g)
        along, square = dot(exact, n), dot(exact, exact)
        if square <= PARALLEL_SINE**2 * (dot(e, e) * dot(g, g)) or abs(along) <= FACE_NORMAL_COSINE * np.sqrt(square):
            return n, False
        if along < 0.0:
            exact = -exact
    length = norm(exact)
    return (exact / length, True) if length > 0.0 else (n, False)


@lean
def put_part_contacts(a, b, query, time, work, table, n):
    """Writes the contacts of two moving convex parts from row n of a table; returns the next free row.

    For two boxes, whose axes are in `work`, the time of their touch is given; otherwise it is 0.
    """
    margin, move, inner = query.margin, query.move, query.inner
    size, scale = min(a.core.reach, b.core.reach), a.core.reach + b.core.reach
    boxes, radii = a.core.kind == BOX and b.core.kind == BOX, a.core.radius + b.core.radius
    limit, rounds, distance, depth = margin, 0, 0.0, plain_depth(min(margin + move, FEATURE_BAND * inner))
    ended, p = False, work.features.point  # whether the features at the end of the step have been used
    while True:
        one, two = Part(a.core, a.start), Part(b.core, b.start)
        if time > 0.0:
            one, two = Part(a.core, midway(a.start, a.end, time)), Part(b.core, midway(b.start, b.end, time))
        if boxes:
            normal = to_world(one.pose.turn, box_normal(work.axes, relative_pose(two.pose, one.pose).turn, size, inner))
        else:
            rest = margin + (1.0 - time) * move
            preview = Preview(a.end, b.end, move if time == 0.0 else -1.0)
            distance, normal = core_separation(one, two, rest + radii, preview, work.polytope)
            gap = distance - radii
            if gap > rest:
                return n
            # Fast bodies: conservative advancement to the first touch.
            if (
                gap > (ADVANCED_GAP * inner if time > 0.0 else FAST_GAP * inner + margin)
                and time < 1.0
                and rounds < MOST_ADVANCES
            ):
                time = min(time + gap / move, 1.0)
                rounds += 1
                continue
        first, second = facing(one, normal, depth, p, 0), facing(two, -normal, depth, p, 1)
        if not boxes:
            exact, found = _exact_normal(first, second, normal, p)
            if found and dot(exact, difference(one, two, -exact)) >= distance - NORMAL_LOSS * scale:
                normal = exact
                first, second = facing(one, normal, depth, p, 0), facing(two, -normal, depth, p, 1)
        manifold = Manifold(first, second, normal, clip(first, second, normal, size, work.features), time)
        poses_a, poses_b = StepPoses(a.start, a.end, one.pose), StepPoses(b.start, b.end, two.pose)
        to, least = put_contacts(manifold, poses_a, poses_b, limit, query.base, work.features, table, n)
        if to > n or ended:
            return to
        # Gaps predicted from the features have an error of second order in the motion. Where this leaves open whether
        # the bodies touch, the end of the step decides; for boxes it is known that they do.
        if not boxes and (time == 1.0 or least > margin + move * min(1.0, move / inner)):
            return n
        ended = time == 1.0 or not boxes
        if time == 1.0:
            limit = least + 1e-9 * size
        time = 1.0


@lean
def put_box_contacts(halves, a, b, query, last, work, table, n):
    """Writes the contacts of two boxes with half edges `halves` that are near at the start; returns the next free row.

    a and b are their poses, `last` their separation after the step; their axes are in `work`. Vertices that come as
    close to the other box as the margin until the end of the step belong to the feature: a plate that closes like a
    book meets the other one with its far edge. The normal then has turned with the other box.
    """
    (g, h), margin, p = halves, query.margin, work.features.point
    size = min(norm(g), norm(h))
    normal = to_world(a.start.turn, box_normal(work.axes, relative_pose(b.start, a.start).turn, size, query.inner))
    band, later = min(margin + query.move, FEATURE_BAND * query.inner), max(margin - last, 0.0)
    in_a, in_b = to_local(a.start.turn, normal), to_local(b.start.turn, normal)
    then_a, then_b = to_local(a.end.turn, to_world(b.end.turn, in_b)), to_local(b.end.turn, to_world(a.end.turn, in_a))
    first = box_feature(g, a.start, in_a, Depth(band, later, then_a, FACE_TILT), p, 0)
    second = box_feature(h, b.start, -in_b, Depth(band, later, -then_b, FACE_TILT), p, 1)
    manifold = Manifold(first, second, normal, clip(first, second, normal, size, work.features), 0.0)
    return put_contacts(manifold, a, b, margin, query.base, work.features, table, n)[0]


@lean
def put_sphere_contact(a, b, query, table, n):
    """Writes the contact of two moving parts of which one is a sphere, if there is one; returns the next free row.

    The center of the sphere is followed in the frame of the other shape, so that neither its own rotation nor a common
    motion matters.
    """
    second = b.core.kind == SPHERE
    shape, ball = (a, b) if second else (b, a)
    r, reach = ball.core.radius, ball.core.radius + shape.core.radius
    start, end = local_point(shape.start, ball.start.position), local_point(shape.end, ball.end.position)
    way = end - start
    length = norm(way)
    # First the end of the step, which decides whether there is a contact; then the start; then, if the sphere is fast,
    # conservative advancement to the touch; then the end again, if the contact there is only grazing.
    center, time, predicted = end, 1.0, 0.0
    near = nearest(shape.core, center)
    for look in range(MOST_ADVANCES):
        if look > 0:
            near = nearest(shape.core, center)
        gap = near.distance - reach
        if look == 0:
            if gap > query.margin:
                return n
            time = 0.0
        elif gap > (FAST_GAP if look == 1 else ADVANCED_SPHERE_GAP) * r and time < 1.0 and look < MOST_ADVANCES - 2:
            time = min(time + gap / length, 1.0) if length > gap else 1.0
        else:
            predicted = feature_distance(shape.core, near, end) - reach
            if predicted <= query.margin or time == 1.0:
                break
            time = 1.0
        center = start + time * way
    gap = feature_distance(shape.core, near, start) - reach
    normal = to_world(shape.start.turn, near.normal)
    point = ball.start.position - (r + 0.5 * gap) * normal
    feature = feature_code(query.base, 0, 0, 0)
    put(table, n, 0, 0, Contact(feature, gap, predicted, (1.0 if second else -1.0) * normal, point))
    return n + 1


@lean
def _touch(a, b, query, work):
    """Time in the step up to which two parts can be advanced without touching, and the separation and normal then."""
    time, radii, none = 0.0, a.core.radius + b.core.radius, Preview(a.start, b.start, -1.0)
    one, two = Part(a.core, a.start), Part(b.core, b.start)
    distance, normal = core_separation(one, two, np.inf, none, work.polytope)
    near = FAST_GAP * query.inner + query.margin
    for _ in range(MOST_ADVANCES):
        if distance - radii <= near or time == 1.0:
            break
        time, near = min(time + (distance - radii) / query.move, 1.0), ADVANCED_GAP * query.inner
        one, two = Part(a.core, midway(a.start, a.end, time)), Part(b.core, midway(b.start, b.end, time))
        distance, normal = core_separation(one, two, np.inf, none, work.polytope)
    p, depth = work.features.point, plain_depth(FEATURE_BAND * query.inner)
    exact, found = _exact_normal(facing(one, normal, depth, p, 0), facing(two, -normal, depth, p, 1), normal, p)
    along = dot(exact, difference(one, two, -exact))
    if found and along >= distance - NORMAL_LOSS * (a.core.reach + b.core.reach):
        return time, along, exact
    return time, distance, normal


@lean
def put_smooth_contact(a, b, query, work, table, n):
    """Writes the contact of two moving parts of which one is smooth, if there is one; returns the next free row.

    The gaps are those of the shapes at the start and at the end of the step, so that rolling opens no gap. Bodies that
    are fast or have passed each other at the end are measured along the normal of their first touch.
    """
    none, radii = Preview(a.end, b.end, -1.0), a.core.radius + b.core.radius
    after_a, after_b = Part(a.core, a.end), Part(b.core, b.end)
    last, later = core_separation(after_a, after_b, query.margin + radii, none, work.polytope)
    if last - radii > query.margin:
        return n
    time, distance, normal = _touch(a, b, query, work)
    one, two = Part(a.core, a.start), Part(b.core, b.start)
    if time > 0.0:
        distance = dot(normal, difference(one, two, -normal))
    if dot(normal, later) < PASSED_BY:
        last = dot(normal, difference(after_a, after_b, -normal))
    gap = distance - radii
    on_a = support(one, normal) + (a.core.radius + 0.5 * gap) * normal
    on_b = support(two, -normal) - (b.core.radius + 0.5 * gap) * normal
    weight = (1.0 if is_smooth(a.core.kind) else 0.0) - (1.0 if is_smooth(b.core.kind) else 0.0)
    point = (0.5 + 0.5 * weight) * on_a + (0.5 - 0.5 * weight) * on_b
    put(table, n, 0, 0, Contact(feature_code(query.base, 0, 0, 0), gap, last - radii, normal, point))
    return n + 1
