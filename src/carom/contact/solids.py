"""The columns of Shapes3D that the narrow phase of convex shapes needs, in few arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .features import most_points
from .support import Cores, cores_of


class Solids(NamedTuple):
    """Bodies and their convex parts; the fields have the meaning that they have in Shapes3D."""

    round: np.ndarray  # (n,)
    body: Floats  # (n, 2) radius, inner
    part_ptr: Ints  # (n + 1,)
    shape: Ints  # (p,)
    place: Floats  # (p, 3)
    turn: Floats  # (p, 3, 3)
    cores: Cores
    most: Ints  # (2,) largest number of points of a feature, and of parts of a body


@kernel
def solids_of(shapes):
    """The solids of a table of shapes."""
    most = np.array([most_points(shapes), 1])
    for i in range(len(shapes.part_ptr) - 1):
        most[1] = max(most[1], shapes.part_ptr[i + 1] - shapes.part_ptr[i])
    body = np.empty((len(shapes.radius), 2))
    for i in range(len(body)):
        body[i, 0], body[i, 1] = shapes.radius[i], shapes.inner[i]
    return Solids(
        shapes.round,
        body,
        shapes.part_ptr,
        shapes.shape,
        shapes.place,
        shapes.turn,
        cores_of(shapes),
        most,
    )
