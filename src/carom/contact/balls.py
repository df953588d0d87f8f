"""Contacts of balls, which are discs in 2D and spheres in 3D, with each other and with boundaries."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3, dot, norm
from ..kernels import kernel
from ..world import PLANE, SEGMENT
from .boundaries import boundary_of, passes, point_gap
from .contact_set import Contact, put, with_room
from .images import NO_IMAGE, image_offset, put_image
from .pairs import FIRST, IMAGE, SECOND

BOUNDARY_ROOM = 64  # contacts with boundaries for which there is room at first


@kernel(inline="always")
def place(position, i):
    """Row i of an array of positions as a vector of space; the third component is 0 in 2D."""
    return Vec3(position[i, 0], position[i, 1], position[i, 2] if position.shape[1] == 3 else 0.0)


@kernel
def ball_contacts(pairs, low, high, ends, radius, chosen, hits):
    """Table of the contacts of the candidate pairs low to high, then of the `chosen` balls with boundaries.

    `chosen` marks bodies, or is empty. `hits` is scratch, of the length of `pairs`.
    """
    m = _near_pairs(pairs, low, high, ends, radius, hits)
    table = np.empty((m + (BOUNDARY_ROOM if len(chosen) else 0), ends.width))
    _put_pairs(pairs, hits[low : low + m], ends, radius, table)
    return _with_boundaries(ends, radius, chosen, table, m) if len(chosen) else table


@kernel
def _near_pairs(pairs, low, high, ends, radius, hits):
    """Writes the numbers of the pairs low to high whose predicted gap is within the margin to `hits` from `low` on.

    Returns their count.
    """
    after, margins, sides, m = ends.position1, ends.margins, ends.sides, low
    for k in range(low, high):
        a, b, image = pairs[k, FIRST], pairs[k, SECOND], int(pairs[k, IMAGE])
        e = place(after, b) - place(after, a)
        if image != NO_IMAGE:
            e = e + image_offset(sides, image, sides.end)
        limit = radius[a] + radius[b] + max(margins[a], margins[b])
        hits[m] = k
        m += int(dot(e, e) <= limit * limit)
    return m - low


@kernel
def _put_pairs(pairs, hits, ends, radius, table):
    """Writes the contacts of the pairs `hits`. Where centers coincide the normal is along x."""
    before, after, sides = ends.position0, ends.position1, ends.sides
    for n in range(len(hits)):
        k = hits[n]
        a, b, image = pairs[k, FIRST], pairs[k, SECOND], int(pairs[k, IMAGE])
        center = place(before, a)
        e, f = place(before, b) - center, place(after, b) - place(after, a)
        if image != NO_IMAGE:
            e, f = e + image_offset(sides, image, sides.start), f + image_offset(sides, image, sides.end)
        apart = norm(e)
        gap, predicted = apart - radius[a] - radius[b], norm(f) - radius[a] - radius[b]
        normal = e / apart if apart > 0.0 else Vec3(1.0, 0.0, 0.0)
        put(table, n, a, b, Contact(0, gap, predicted, normal, center + (radius[a] + 0.5 * gap) * normal))
        if image != NO_IMAGE:
            put_image(table, n, sides, image)


@kernel
def _with_boundaries(ends, radius, chosen, table, n):
    """The first n contacts of a table, and those of the chosen balls with boundaries."""
    before, after, margins = ends.position0, ends.position1, ends.margins
    for w in range(len(ends.boundary1)):
        boundary0, boundary1 = boundary_of(ends.boundary0, w), boundary_of(ends.boundary1, w)
        flat, segment = boundary1.kind == PLANE, boundary1.kind == SEGMENT
        for i in range(len(chosen)):
            if not chosen[i]:
                continue
            q, r = place(after, i), radius[i]
            if flat:  # most boundaries, without the call
                predicted = dot(q - boundary1.point, boundary1.axis) - r
            else:
                predicted = point_gap(boundary1, q)[0] - r
            if segment and passes(boundary0, boundary1, place(before, i), q):
                predicted = -predicted - 2.0 * r
            if predicted <= margins[i]:
                table = with_room(table, n, 1)
                _put_bounded(table, n, (i, w), (boundary0, boundary1), (place(before, i), q), r, predicted)
                n += 1
    return table[:n]


@kernel
def _put_bounded(table, n, who, boundary, center, r, predicted):
    """Writes the contact of ball `who[0]` and boundary `who[1]`, both given at the start and after free flight."""
    distance, normal = point_gap(boundary[0], center[0])
    if dot(normal, normal) == 0.0:  # it starts on the axis: the normal after the step is used
        normal = point_gap(boundary[1], center[1])[1]
        if dot(normal, normal) == 0.0:
            normal = Vec3(1.0, 0.0, 0.0)
    gap = distance - r
    put(table, n, who[0], -1 - who[1], Contact(0, gap, predicted, normal, center[0] + (r + 0.5 * gap) * normal))
