"""Contact manifold of two boxes that are near each other at the start of the step.

It is that of `clipping.py` and `manifold.py`, to the last bit, for features without round parts: most work of a pile of
boxes is done here. What is rare is left to the general code: corners on the border of the other face, crossing edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import across, cross, dot, norm, to_local, to_world
from ..kernels import kernel
from ..solvers.rows import Floats
from .box_axes import box_normal
from .clipping import SAME_PLACE, clip, place_at
from .contact_set import Contact, put
from .features import FEATURE_BAND, Depth, box_feature, point_of
from .manifold import Manifold, faces_across, feature_of, gaps_at, motions_of, onto
from .parts import motion_between, relative_pose, world_point

# Sine of the angle to the normal up to which a whole face of a box is a feature against another box, since edges may
# cross at any place of it; larger than that up to which `box_normal` prefers faces to edges.
FACE_TILT = 0.02


class Quads(NamedTuple):
    """Scratch arrays for two faces of four corners: 4 w + i is corner i of face w."""

    u: Floats  # (8,) coordinates across the normal
    v: Floats  # (8,)
    side: Floats  # (32,) 4 (4 w + i) + j: distance of that corner from edge j of the other face, positive inside


@kernel(inline="always")
def new_quads():
    """New scratch arrays."""
    return Quads(np.empty(8), np.empty(8), np.empty(32))


@kernel(inline="always")
def _put_sides(quads, own, other):
    """Writes the distances of four corners, from number `own` on, from the edges of the face from corner `other` on."""
    u, v, side = quads.u, quads.v, quads.side
    area = 0.0
    for i in range(2, 4):
        e, f = u[other + i - 1] - u[other], v[other + i - 1] - v[other]
        area += e * (v[other + i] - v[other]) - f * (u[other + i] - u[other])
    sign = 1.0 if area >= 0.0 else -1.0
    for j in range(4):
        k = other + (j + 1) % 4
        u0, v0 = u[other + j], v[other + j]
        e, f = u[k] - u0, v[k] - v0
        length = np.sqrt(e * e + f * f)
        scale = sign / length if length > 0.0 else 0.0
        e, f = scale * e, scale * f
        for i in range(4):
            side[4 * (own + i) + j] = e * (v[own + i] - v0) - f * (u[own + i] - u0)


@kernel(inline="always")
def _put_place(places, n, a, b):
    """Writes contact point n: a place on each feature, as (i, j, along). Returns the number of points."""
    places[n, 0], places[n, 1], places[n, 2] = a[0], a[1], a[2]
    places[n, 3], places[n, 4], places[n, 5] = b[0], b[1], b[2]
    return n + 1


@kernel
def _clip_quads(normal, tolerance, p, quads, places):
    """As `clip` for two faces of four corners; 0 if there are no points, or if a corner lies on the other's border."""
    origin, u, side = point_of(p, 0, 0), across(normal), quads.side
    u = (1.0 / norm(u)) * u
    v = cross(normal, u)
    for w in range(2):
        for i in range(4):
            d = point_of(p, w, i) - origin
            quads.u[4 * w + i], quads.v[4 * w + i] = dot(u, d), dot(v, d)
    _put_sides(quads, 0, 4)
    _put_sides(quads, 4, 0)
    n = 0
    for i in range(8):
        depth = min(min(side[4 * i], side[4 * i + 1]), min(side[4 * i + 2], side[4 * i + 3]))
        if depth > 2.0 * tolerance:
            corner, face = (float(i % 4), float(i % 4), 0.0), (-1.0, -1.0, 0.0)
            n = _put_place(places, n, corner, face) if i < 4 else _put_place(places, n, face, corner)
        elif depth >= -tolerance:
            return 0
    for i in range(4):
        i2 = (i + 1) % 4
        for j in range(4):
            s, s2 = side[4 * i + j], side[4 * i2 + j]
            if min(s, s2) >= -tolerance or max(s, s2) <= tolerance:
                continue
            j2 = (j + 1) % 4
            t, t2 = side[16 + 4 * j + i], side[16 + 4 * j2 + i]
            if min(t, t2) < -tolerance and max(t, t2) > tolerance:
                on_a, on_b = (float(i), float(i2), s / (s - s2)), (float(j), float(j2), t / (t - t2))
                n = _put_place(places, n, on_a, on_b)
    return n


@kernel
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
    points = 0
    if first.points == 4 and second.points == 4:
        points = _clip_quads(normal, SAME_PLACE * size, p, work.quads, work.features.place)
    if points == 0:
        points = clip(first, second, normal, size, work.features)
    return _put_flat_contacts(Manifold(first, second, normal, points, 0.0), a, b, query, work.features, table, n)


@kernel(inline="always")
def _point(p, w, place):
    """The point of feature w at a place of it."""
    start = point_of(p, w, place.i)
    return start + place.along * (point_of(p, w, place.j) - start)


@kernel
def _put_flat_contacts(manifold, a, b, query, scratch, table, at):
    """As `put_contacts` for features without round parts at the start of the step; returns the next free row."""
    first, second, n, p = manifold.first, manifold.second, manifold.normal, scratch.point
    end = motions_of(manifold, motion_between(a.start, a.end), motion_between(b.start, b.end))
    of_a, of_b = faces_across(manifold)
    scale_a, scale_b = dot(first.face, n), -dot(second.face, n)
    for k in range(manifold.points):
        on_a, on_b = place_at(scratch.place, k, 0), place_at(scratch.place, k, 1)
        pa, pb, m, scale, edges = n, n, end.mean, 1.0, False
        if on_a.i < 0:
            pb = _point(p, 1, on_b)
            pa, good = onto(first, n, pb, p)
            if good:
                m, scale = end.face_a, scale_a
        elif on_b.i < 0:
            pa = _point(p, 0, on_a)
            pb, good = onto(second, n, pa, p)
            if good:
                m, scale = -end.face_b, scale_b
        else:
            pa, pb = _point(p, 0, on_a), _point(p, 1, on_b)
            if of_a and not of_b:
                m, scale = end.face_a, scale_a
            elif of_b and not of_a:
                m, scale = -end.face_b, scale_b
            edges = not of_a and not of_b and on_a.i != on_a.j and on_b.i != on_b.j
        gap = dot(n, pb - pa)
        predicted = dot(m, world_point(end.second, pb) - world_point(end.first, pa)) / scale
        if edges:
            predicted = gaps_at(manifold, a, b, on_a, on_b, end, p)[4]
        if predicted > query.margin:
            continue
        put(table, at, 0, 0, Contact(feature_of(on_a, on_b, query.base, p), gap, predicted, n, 0.5 * (pa + pb)))
        at += 1
    return at
