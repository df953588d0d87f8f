"""Symmetries of a scene: a linear map about a centre that carries the bodies onto each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Symmetry:
    """`x -> centre + S (x - centre)` with S = `matrix` (2, 2), orthogonal: a mirror or a turn.

    Velocities map by S alone; angles and spins by det S, which is -1 for a mirror.
    """

    matrix: Matrix
    centre: tuple[float, float] = (0.0, 0.0)
    name: str = "symmetry"

    def __post_init__(self) -> None:
        s = np.asarray(self.matrix, dtype=np.float64)
        if s.shape != (2, 2) or not np.isfinite(s).all() or np.abs(s.T @ s - np.eye(2)).max() > 1e-12:
            raise ProblemError("symmetry.matrix", self.matrix, "an orthogonal 2 x 2 matrix")
        if np.shape(self.centre) != (2,) or not np.isfinite(np.asarray(self.centre, dtype=np.float64)).all():
            raise ProblemError("symmetry.centre", self.centre, "two finite numbers")
        # Tuples compare and hash; a scene read from a file brings lists.
        object.__setattr__(self, "matrix", tuple(tuple(float(v) for v in row) for row in s))
        object.__setattr__(self, "centre", tuple(float(v) for v in self.centre))

    @property
    def handedness(self) -> float:
        """+1 for a turn, -1 for a mirror: the sign that angles and spins take."""
        (a, b), (c, d) = self.matrix
        return 1.0 if a * d - b * c > 0.0 else -1.0

    def image(self, position: Floats) -> Floats:
        """Where positions (..., 2) go."""
        centre = np.asarray(self.centre)
        return centre + (np.asarray(position, dtype=np.float64) - centre) @ np.asarray(self.matrix).T

    def image_of_velocity(self, velocity: Floats) -> Floats:
        """What becomes of velocities (..., 2), or (..., 3) with the spin last."""
        v = np.asarray(velocity, dtype=np.float64)
        turned = v[..., :2] @ np.asarray(self.matrix).T
        return turned if v.shape[-1] == 2 else np.concatenate([turned, self.handedness * v[..., 2:]], axis=-1)

    def permutation(self, position: Floats, tolerance: float = 1e-6) -> Ints:
        """`p` with image(position[i]) = position[p[i]], for positions (n, 2) at the start of a run.

        tolerance: how far an image may be from the body that it meets, in units of the scene's extent.
        """
        from scipy.spatial import cKDTree

        x = np.asarray(position, dtype=np.float64)
        distance, found = cKDTree(x).query(self.image(x))
        extent = max(float(np.ptp(x, axis=0).max()), np.finfo(float).tiny)
        if len(x) and (distance.max() > tolerance * extent or len(np.unique(found)) < len(x)):
            worst = int(np.argmax(distance))
            expected = f"positions that {self.name} maps onto each other (body {worst} has no partner)"
            raise ProblemError("symmetry", self.name, expected)
        return np.asarray(found, dtype=np.int64)


def mirror(direction: tuple[float, float] = (0.0, 1.0), point: tuple[float, float] = (0.0, 0.0)) -> Symmetry:
    """The mirror whose axis runs through `point` along `direction`; (0, 1) exchanges left and right.

    The entries of an axis along x or y, or along a diagonal, are exact.
    """
    dx, dy = (float(v) for v in direction)
    square = dx * dx + dy * dy
    if not (np.isfinite(square) and square > 0.0):
        raise ProblemError("symmetry.direction", direction, "a direction that is not zero")
    cosine, sine = (dx * dx - dy * dy) / square, 2.0 * dx * dy / square
    return Symmetry(((cosine, sine), (sine, -cosine)), point, f"mirror along ({dx:g}, {dy:g})")


def turn(parts: int, point: tuple[float, float] = (0.0, 0.0)) -> Symmetry:
    """The turn by a whole circle over `parts`."""
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 2:
        raise ProblemError("symmetry.parts", parts, "a whole number from 2 up")
    exact = {2: (-1.0, 0.0), 4: (0.0, 1.0)}
    cosine, sine = exact.get(parts, (float(np.cos(2.0 * np.pi / parts)), float(np.sin(2.0 * np.pi / parts))))
    return Symmetry(((cosine, -sine), (sine, cosine)), point, f"turn by 1/{parts}")
