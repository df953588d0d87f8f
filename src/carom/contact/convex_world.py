"""All contacts of a world of convex solids in one kernel: poses, candidate pairs, boundaries, columns."""

from __future__ import annotations

import numpy as np

from ..geometry.rotations import matrix_of
from ..kernels import kernel
from .contact_set import FEATURE, GAP, POINT, PREDICTED, room
from .convex import row_pairs
from .convex_boundaries import bounded_solids
from .pairs import FIRST, IMAGE, NONE, SECOND
from .poses import Poses, placed_parts
from .rounds import image_rows, put_image

SPACE = (0, 1, 2)


@kernel
def place_rows(solids, table, p0, q0, p1, q1, chosen, length, shear, slides):
    """Poses of the bodies that occur in a pair or are `chosen`, then of one periodic image for each pair with one.

    Returns (poses of rows, poses of their parts, table of pairs of rows).
    """
    owner, p0, p1, rows = image_rows(SPACE, table, p0, p1, length, shear, slides)
    needed = np.zeros(len(owner), np.bool_)
    for i in range(len(chosen)):
        needed[i] = chosen[i]
    for k in range(len(rows)):
        needed[rows[k, FIRST]] = True
        needed[rows[k, SECOND]] = True
    turn0, turn1 = np.empty((len(owner), 3, 3)), np.empty((len(owner), 3, 3))
    for r in range(len(owner)):
        if needed[r]:
            matrix_of(q0[owner[r]], turn0[r])
            matrix_of(q1[owner[r]], turn1[r])
    poses = Poses(owner, p0, turn0, p1, turn1)
    return poses, placed_parts(solids, poses, needed), rows


@kernel
def _put_found(found, begin, end, buffer, total, at):
    """Writes feature_id, normal, point and gaps of contacts begin to end to rows from `at` on of a buffer."""
    feature, normal, point = buffer.view(np.int64)[2 * total :], buffer[3 * total :], buffer[6 * total :]
    gap, predicted = buffer[9 * total :], buffer[10 * total :]
    for i in range(begin, end):
        row = at + i - begin
        feature[row] = int(found[i, FEATURE])
        for d in range(3):
            normal[3 * row + d] = found[i, d]
            point[3 * row + d] = found[i, POINT + d]
        gap[row], predicted[row] = found[i, GAP], found[i, PREDICTED]


@kernel
def put_pairs(table, low, found, end, others, ends, length, shear, slides, buffer, total, at):
    """Writes the contacts of the pairs from `low` on, as `row_pairs` returns them, to rows from `at` on of a buffer."""
    names, periodic = buffer.view(np.int64), len(buffer) > 11 * total
    i = j = start = 0  # written so far: of both tables, and of the first one in the current run
    for k in range(len(end)):
        count = end[k] - start
        if len(ends) and ends[k] > j:  # a run of pairs of the first table ends
            _put_found(found, i, end[k], buffer, total, at + i + j)
            _put_found(others, j, ends[k], buffer, total, at + end[k] + j)
            i, count = end[k], count + ends[k] - j
        row = at + start + j
        for c in range(row, row + count):
            names[c], names[total + c] = table[low + k, FIRST], table[low + k, SECOND]
            if periodic:
                put_image(SPACE, table[low + k, IMAGE], length, shear, slides, buffer, total, c)
        start = end[k]
        j = ends[k] if len(ends) else 0
    _put_found(found, i, start, buffer, total, at + i + j)


@kernel
def put_walls(found, m, owners, length, buffer, total, at):
    """Writes m contacts with boundaries to rows from `at` on of a buffer."""
    names = buffer.view(np.int64)
    for i in range(m):
        names[at + i], names[total + at + i] = owners[i, 0], -1 - owners[i, 1]
        if len(buffer) > 11 * total:
            put_image(SPACE, NONE, length, (0, 0), (0.0, 0.0, 0.0), buffer, total, at + i)
    _put_found(found, 0, m, buffer, total, at)


@kernel
def solid_contacts(solids, table, p0, q0, p1, q1, chosen, wall0, wall1, margins, length, shear, slides, wide, found):
    """The contacts of candidate pairs, and of `chosen` bodies with boundaries, as a buffer (see `columns_of`).

    Also returns `found`, a scratch table, or a larger one.

    p0, q0, p1 and q1 are positions and orientations before and after the step. Writes the separating axes of `table`.
    """
    poses, placed, rows = place_rows(solids, table, p0, q0, p1, q1, chosen, length, shear, slides)
    found, end, others, ends = row_pairs(solids, poses, placed, rows, 0, len(rows), margins, found)
    walls, m, owners = bounded_solids(solids, poses, placed, len(chosen), chosen, wall0, wall1, margins, room(256))
    n = (end[-1] if len(end) else 0) + (ends[-1] if len(ends) else 0)
    buffer = np.empty(wide * (n + m))
    put_pairs(table, 0, found, end, others, ends, length, shear, slides, buffer, n + m, 0)
    put_walls(walls, m, owners, length, buffer, n + m, n)
    return buffer, found
