"""A form: one convex solid or mesh in its own frame, whose origin is its center of mass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..solvers.rows import Floats, Ints


def _none(width: int = 3) -> Floats:
    return np.zeros((0, width))


class Grid(NamedTuple):
    """Signed distances at the nodes `low + spacing * (i, j, k)`, negative inside."""

    low: Floats  # (3,)
    spacing: float
    value: Floats  # (nx, ny, nz)


@dataclass(frozen=True, eq=False)
class Form:
    """What contact detection and the equations of motion need of a form. Lengths in the unit of the scene."""

    kind: int  # SPHERE .. MESH
    size: tuple[float, float, float]
    reach: float  # largest distance from the origin
    inner: float  # half of the smallest width
    volume: float
    inertia: Floats  # (3, 3) tensor about the origin, for unit mass
    origin: Floats = field(default_factory=lambda: np.zeros(3))  # center of mass, in the coordinates as given
    vertices: Floats = field(default_factory=_none)  # corners, or sample points of a mesh
    vertex_normals: Floats = field(default_factory=_none)
    face_normals: Floats = field(default_factory=_none)
    face_offsets: Floats = field(default_factory=lambda: np.zeros(0))
    loops: tuple[Ints, ...] = ()  # corners of each face, anticlockwise from outside
    edges: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    grid: Grid | None = None
