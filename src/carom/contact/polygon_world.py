"""All contacts of polygons in one kernel: candidate pairs with a polygon, boundaries."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..world import Boundaries
from .boundaries import AXIS, KIND, POINT, RADIUS
from .contact_set import Contact, put
from .pairs import FIRST, IMAGE, SECOND
from .polygon_boundaries import polygon_boundaries
from .polygons import Poses, polygon_pairs
from .rounds import image_rows, put_images

PLANAR = (0, 1)


@kernel
def _boundaries(table):
    """A table of boundaries as Boundaries, without their motion."""
    w = len(table)
    kind, point, axis, radius = np.empty(w, np.int8), np.empty((w, 2)), np.empty((w, 2)), np.empty(w)
    for k in range(w):
        kind[k], radius[k] = int(table[k, KIND]), table[k, RADIUS]
        for d in range(2):
            point[k, d], axis[k, d] = table[k, POINT + d], table[k, AXIS + d]
    return Boundaries(kind, point, axis, radius, point, np.zeros((w, 3)))


@kernel
def _contact(columns, i):
    """Contact i of the columns (feature_id, normal, point, gap, predicted)."""
    feature, normal, point, gap, predicted = columns
    n, p = Vec3(normal[i, 0], normal[i, 1], 0.0), Vec3(point[i, 0], point[i, 1], 0.0)
    return Contact(feature[i], gap[i], predicted[i], n, p)


@kernel
def polygon_contacts(shapes, table, p0, q0, p1, q1, chosen, wall0, wall1, margins, length, shear, slides, wide):
    """The contacts of candidate pairs, and of `chosen` bodies with boundaries, as a table with `wide` columns.

    p0, q0, p1 and q1 are positions and angles before and after the step.
    """
    owner, place0, place1, rows = image_rows(PLANAR, table, p0, p1, length, shear, slides)
    poses = Poses(owner, place0, q0[owner], place1, q1[owner])
    first, second = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for k in range(len(rows)):
        first[k], second[k] = rows[k, FIRST], rows[k, SECOND]
    widest = margins.max() if len(margins) else 0.0
    pair, feature, normal, point, gap, predicted = polygon_pairs(first, second, shapes, poses, widest)
    columns = (feature, normal, point, gap, predicted)
    bodies = Poses(owner[: len(p0)], p0, q0, p1, q1)
    body, wall, feature, normal, point, gap, predicted = polygon_boundaries(
        shapes, bodies, chosen, _boundaries(wall0), _boundaries(wall1), widest
    )
    others = (feature, normal, point, gap, predicted)
    # These kernels have one margin for all.
    total = 0
    for i in range(len(pair)):
        total += columns[4][i] <= max(margins[table[pair[i], FIRST]], margins[table[pair[i], SECOND]])
    for i in range(len(body)):
        total += others[4][i] <= margins[body[i]]
    out, row = np.empty((total, wide)), 0
    for i in range(len(pair)):
        a, b, image = table[pair[i], FIRST], table[pair[i], SECOND], table[pair[i], IMAGE]
        if columns[4][i] <= max(margins[a], margins[b]):
            put(out, row, a, b, _contact(columns, i))
            put_images(out, row, row + 1, image, length, shear, slides)
            row += 1
    for i in range(len(body)):
        if others[4][i] <= margins[body[i]]:
            put(out, row, body[i], -1 - wall[i], _contact(others, i))
            row += 1
    return out
