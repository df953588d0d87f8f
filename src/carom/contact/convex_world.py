"""All contacts of a world of convex solids in one kernel: poses, candidate pairs, boundaries."""

from __future__ import annotations

import numpy as np

from ..geometry.rotations import matrix_of
from ..kernels import kernel
from .contact_set import contact_table, copy_row, set_bodies
from .convex import Bodies, row_pairs
from .convex_boundaries import put_bounded_solids
from .pairs import FIRST, IMAGE, SECOND
from .poses import Poses, placed_parts
from .rounds import image_rows, put_images

SPACE = (0, 1, 2)


@kernel
def place_rows(shapes, table, p0, q0, p1, q1, chosen, length, shear, slides):
    """Poses of the bodies that occur in a pair or are `chosen`, then of one periodic image for each pair with one.

    Returns (poses of their parts, table of pairs of rows).
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
    return placed_parts(shapes, poses, needed), rows


@kernel
def put_pairs(table, found, end, length, shear, slides, out, at):
    """Writes the contacts of the pairs of `table`, as `row_pairs` returns them, to rows from `at` on of `out`."""
    i = 0
    for k in range(len(end)):
        begin = at
        for row in range(i, end[k]):
            copy_row(found, row, out, at)
            at += 1
        i = end[k]
        set_bodies(out, begin, at, table[k, FIRST], table[k, SECOND])
        put_images(out, begin, at, table[k, IMAGE], length, shear, slides)


@kernel
def put_bounded(found, m, out, at):
    """Writes m contacts with boundaries to rows from `at` on of `out`."""
    for i in range(m):
        copy_row(found, i, out, at + i)


@kernel
def solid_contacts(shapes, table, p0, q0, p1, q1, chosen, before, after, margins, length, shear, slides, wide, found):
    """The table of the contacts of candidate pairs, and of `chosen` bodies with boundaries, with `wide` columns.

    Also returns `found`, a scratch table, or a larger one.

    p0, q0, p1 and q1 are positions and orientations before and after the step. Writes the separating axes of `table`.
    """
    placed, rows = place_rows(shapes, table, p0, q0, p1, q1, chosen, length, shear, slides)
    bodies = Bodies(shapes, placed, margins)
    found, end = row_pairs(bodies, rows, found)
    bounded, m = put_bounded_solids(bodies, len(chosen), chosen, before, after, contact_table(256))
    n = end[-1] if len(end) else 0
    out = np.empty((n + m, wide))
    put_pairs(table, found, end, length, shear, slides, out, 0)
    put_bounded(bounded, m, out, n)
    return out, found
