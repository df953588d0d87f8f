"""How far bodies in 3D extend from their centers of mass: for bodies that are to touch, or to keep a distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..solvers.rows import Floats
from .rotations import turned_back
from .shapes import Placed, Shape
from .solids import support


class Extent:
    """Extent of n bodies in 3D. With `orientation` (4,) they are all turned by it; None: each has its own."""

    def __init__(
        self, parts: Sequence[tuple[Shape, Placed]], radius: Floats, orientation: Floats | None, is_round: bool
    ) -> None:
        self.parts, self.radius, self.round = parts, radius, is_round
        self.orientation = None if orientation is None else orientation[None]

    def reach(self, direction: Floats) -> Floats:
        """(n,) largest `direction . x` over each body, about its center of mass; `direction` is a unit vector."""
        if self.round or self.orientation is None:
            return self.radius
        own = turned_back(self.orientation, np.ascontiguousarray(direction)[None])[0]
        far = max(float(p.place @ own) + support(shape, p.turn.T @ own) for shape, p in self.parts)
        return np.full(len(self.radius), far)

    @property
    def extent(self) -> tuple[float, ...]:
        """Widths along x, y and z of the largest body."""
        if self.round or self.orientation is None:
            return (self.diameter,) * 3
        return tuple(float((self.reach(axis) + self.reach(-axis))[0]) for axis in np.eye(3))

    @property
    def diameter(self) -> float:
        """Of the largest sphere around a body."""
        return 2.0 * float(self.radius.max())
