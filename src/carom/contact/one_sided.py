"""Ropes and limits of joints as contacts: they push along a line when a length or an angle has reached its bound.

A rope that is taut pulls two points together: that is a contact whose normal is the direction of the rope, at any point
of its line. A limit of a slider is one along its axis. A limit of a hinge is one at an arm from its axis: the hinge
holds the forces that are left. A contact with the world has its only body as first and as second one.
"""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3, cross, dot, norm, to_world
from ..kernels import kernel
from ..mechanism import LOWER_ANGLE, LOWER_SLIDE, ROPE, UPPER_SLIDE, entry, frame_of, place_of
from .contact_set import FEATURE_MASK, Contact, put

ONE_SIDED = 1 << 21  # features of one-sided joints are above all others


@kernel
def with_one_sided(table, ropes, ends):
    """The table of contacts with those of the ropes and limits whose gap after the step is within the margin."""
    count, found = len(table), np.empty(len(ropes.kind), np.int64)
    used = 0
    for k in range(len(found)):
        predicted = one_sided_gap(ropes, k, ends.position1, ends.orientation1)[0]
        a, b = ropes.body[k, 0], ropes.body[k, 1]
        if predicted <= max(ends.margins[a] if a >= 0 else 0.0, ends.margins[b] if b >= 0 else 0.0):
            found[used] = k
            used += 1
    if used == 0:
        return table
    out = np.zeros((count + used, table.shape[1]))
    out[:count] = table
    for n in range(used):
        k = found[n]
        gap, normal, point = one_sided_gap(ropes, k, ends.position0, ends.orientation0)
        predicted = one_sided_gap(ropes, k, ends.position1, ends.orientation1)[0]
        a, b = ropes.body[k, 0], ropes.body[k, 1]
        if a < 0:
            a, b, normal = b, b, -normal
        put(out, count + n, a, a if b < 0 else b, Contact(ONE_SIDED + FEATURE_MASK - k, gap, predicted, normal, point))
    return out


@kernel(inline="always")
def number_of(feature):
    """The number of the one-sided joint of a feature; -1 for the feature of a contact of shapes."""
    return ONE_SIDED + FEATURE_MASK - int(feature) if feature >= ONE_SIDED else -1


@kernel
def one_sided_gap(ropes, k, position, turn):
    """The gap of a one-sided joint, the direction along which its impulse pushes the second body, and a point of its
    line of action."""
    a, b, kind = ropes.body[k, 0], ropes.body[k, 1], ropes.kind[k]
    first, second = frame_of(turn, a), frame_of(turn, b)
    p = place_of(position, a) + to_world(first, entry(ropes.anchor, k, 0))
    q = place_of(position, b) + to_world(second, entry(ropes.anchor, k, 1))
    if kind == ROPE:
        length = norm(q - p)
        e = (p - q) / length if length > 0.0 else Vec3(1.0, 0.0, 0.0)
        return ropes.bound[k] - length, e, q
    axis = to_world(first, entry(ropes.direction, k, 0))
    sign = 1.0 if kind in (LOWER_ANGLE, LOWER_SLIDE) else -1.0
    if kind in (LOWER_SLIDE, UPPER_SLIDE):
        return sign * (dot(axis, q - p) - ropes.bound[k]), sign * axis, q
    u, w = to_world(first, entry(ropes.zero, k, 0)), to_world(second, entry(ropes.zero, k, 1))
    if turn.shape[1] == 1:
        angle = (turn[b, 0] if b >= 0 else 0.0) - (turn[a, 0] if a >= 0 else 0.0) - ropes.zero[k, 0, 2]
        w = Vec3(w.x, w.y, 0.0)
    else:
        angle = np.arctan2(dot(axis, cross(u, w)), dot(u, w))
    arm = ropes.arm[k]
    return sign * arm * (angle - ropes.bound[k]), sign * cross(axis, w), q + arm * w
