"""All contacts of a world of convex solids in one kernel: poses, candidate pairs, boundaries."""

from __future__ import annotations

import numpy as np

from ..geometry.rotations import matrix_of
from ..kernels import kernel
from .contact_set import contact_table, copy_row, set_bodies
from .convex import row_pairs
from .convex_boundaries import bounded_solids
from .pairs import FIRST, IMAGE, SECOND
from .poses import Poses, placed_parts
from .rounds import image_rows, put_images

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
def put_pairs(table, low, found, end, others, ends, length, shear, slides, out, at):
    """Writes the contacts of the pairs from `low` on, as `row_pairs` returns them, to rows from `at` on of `out`."""
    i = j = 0  # written so far of both tables
    for k in range(len(end)):
        pair, begin = low + k, at
        for row in range(i, end[k]):
            copy_row(found, row, out, at)
            at += 1
        for row in range(j, ends[k] if len(ends) else 0):
            copy_row(others, row, out, at)
            at += 1
        i, j = end[k], ends[k] if len(ends) else 0
        set_bodies(out, begin, at, table[pair, FIRST], table[pair, SECOND])
        put_images(out, begin, at, table[pair, IMAGE], length, shear, slides)


@kernel
def put_bounded_solids(found, m, out, at):
    """Writes m contacts with boundaries to rows from `at` on of `out`."""
    for i in range(m):
        copy_row(found, i, out, at + i)


@kernel
def solid_contacts(solids, table, p0, q0, p1, q1, chosen, wall0, wall1, margins, length, shear, slides, wide, found):
    """The table of the contacts of candidate pairs, and of `chosen` bodies with boundaries, with `wide` columns.

    Also returns `found`, a scratch table, or a larger one.

    p0, q0, p1 and q1 are positions and orientations before and after the step. Writes the separating axes of `table`.
    """
    poses, placed, rows = place_rows(solids, table, p0, q0, p1, q1, chosen, length, shear, slides)
    found, end, others, ends = row_pairs(solids, poses, placed, rows, 0, len(rows), margins, found)
    walls, m = bounded_solids(solids, poses, placed, len(chosen), chosen, wall0, wall1, margins, contact_table(256))
    n = (end[-1] if len(end) else 0) + (ends[-1] if len(ends) else 0)
    out = np.empty((n + m, wide))
    put_pairs(table, 0, found, end, others, ends, length, shear, slides, out, 0)
    put_bounded_solids(walls, m, out, n)
    return out, found
