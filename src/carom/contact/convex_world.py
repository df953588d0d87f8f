"""All contacts of convex solids of a step: poses of rows, candidate pairs, boundaries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.rotations import matrix_of
from ..kernels import kernel
from .contact_set import set_bodies
from .convex import Bodies, row_pairs
from .convex_boundaries import put_bounded_solids
from .images import NO_IMAGE, put_image
from .pairs import AXIS, FIRST, IMAGE, SECOND, image_rows
from .poses import Placed, Poses, placed_parts


class SolidRows(NamedTuple):
    """Poses of the parts of rows, and the candidate pairs of rows."""

    placed: Placed
    pairs: np.ndarray


@kernel
def place_rows(shapes, pairs, ends, chosen):
    """Poses of the bodies that occur in a pair or are `chosen`, then of one periodic image for each pair with one."""
    rows = image_rows(pairs, ends.position0, ends.position1, ends.sides)
    owner = rows.owner
    needed = np.zeros(len(owner), np.bool_)
    for i in range(len(chosen)):
        needed[i] = chosen[i]
    for k in range(len(pairs)):
        needed[rows.pairs[k, FIRST]] = True
        needed[rows.pairs[k, SECOND]] = True
    turn0, turn1 = np.empty((len(owner), 3, 3)), np.empty((len(owner), 3, 3))
    for r in range(len(owner)):
        if needed[r]:
            matrix_of(ends.orientation0[owner[r]], turn0[r])
            matrix_of(ends.orientation1[owner[r]], turn1[r])
    poses = Poses(owner, rows.position0, turn0, rows.position1, turn1)
    return SolidRows(placed_parts(shapes, poses, needed), rows.pairs)


@kernel
def row_contacts(shapes, rows, pairs, low, high, ends, chosen):
    """Table of the contacts of the candidate pairs low to high, then of the `chosen` bodies with boundaries.

    `chosen` marks bodies, or is empty. Writes the separating axes of the pairs.
    """
    bodies = Bodies(shapes, rows.placed, ends.margins)
    table, end = row_pairs(bodies, rows.pairs[low:high], np.empty((4 * (high - low), ends.width)))
    n = 0
    for k in range(low, high):
        set_bodies(table, n, end[k - low], pairs[k, FIRST], pairs[k, SECOND])
        if pairs[k, IMAGE] != NO_IMAGE:
            for i in range(n, end[k - low]):
                put_image(table, i, ends.sides, pairs[k, IMAGE])
        pairs[k, AXIS] = rows.pairs[k, AXIS]
        n = end[k - low]
    if len(chosen):
        table, n = put_bounded_solids(bodies, len(chosen), chosen, ends.boundary0, ends.boundary1, table, n)
    return table[:n]


@kernel
def solid_contacts(shapes, pairs, ends, chosen):
    """Table of the contacts of all candidate pairs, and of `chosen` bodies with boundaries."""
    return row_contacts(shapes, place_rows(shapes, pairs, ends, chosen), pairs, 0, len(pairs), ends, chosen)
