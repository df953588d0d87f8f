"""Symmetries of a scene: linear maps about a center that map the bodies onto each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .checks import POINT, TEXT, ListOf
from .shapes import Vector3

FEW_POINTS = 500  # up to here all distances are computed, 2 MB; importing a k-d tree takes 0.1 s

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Symmetry:
    """`x -> center + S (x - center)` with S = `matrix`, orthogonal, (2, 2) or (3, 3): a mirror or a rotation.

    Velocities map by S alone, angles and spins in 2D by det S, which is -1 for a mirror, and spins in 3D, being axial
    vectors, by det S times S. `center` None means the origin.
    """

    matrix: Annotated[Matrix, ListOf(POINT, 2, 3)]
    center: Annotated[tuple[float, ...] | None, POINT, "the origin by default"] = None
    name: Annotated[str, TEXT] = "symmetry"

    def __post_init__(self) -> None:
        s = _numbers("symmetry.matrix", self.matrix, "an orthogonal matrix, 2 x 2 or in 3D 3 x 3")
        if s.shape not in ((2, 2), (3, 3)) or not np.abs(s.T @ s - np.eye(len(s))).max() <= 1e-12:
            raise ProblemError("symmetry.matrix", self.matrix, "an orthogonal matrix, 2 x 2 or in 3D 3 x 3")
        wanted = "two finite numbers" if len(s) == 2 else "three finite numbers"
        center = _numbers("symmetry.center", np.zeros(len(s)) if self.center is None else self.center, wanted)
        if center.shape != (len(s),):
            raise ProblemError("symmetry.center", self.center, wanted)
        # Tuples can be compared and hashed; scene files give lists.
        object.__setattr__(self, "matrix", tuple(tuple(float(v) for v in row) for row in s))
        object.__setattr__(self, "center", tuple(float(v) for v in center))

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self.matrix)

    @property
    def handedness(self) -> float:
        """+1 for a rotation, -1 for a mirror: the factor of angles and spins."""
        return 1.0 if np.linalg.det(np.asarray(self.matrix)) > 0.0 else -1.0

    def image(self, position: Floats) -> Floats:
        """The images of positions (..., D)."""
        center = np.asarray(self.center)
        return center + (np.asarray(position, dtype=np.float64) - center) @ np.asarray(self.matrix).T

    def image_of_velocity(self, velocity: Floats) -> Floats:
        """The images of velocities (..., D), or of velocities with spins: (..., 3) in 2D, (..., 6) in 3D.

        Spins in 3D are given and returned in the frame of the world.
        """
        v, d = np.asarray(velocity, dtype=np.float64), self.dimension
        matrix = np.asarray(self.matrix).T
        if v.shape[-1] == d:
            return v @ matrix
        spin = v[..., d:] if d == 2 else v[..., d:] @ matrix
        return np.concatenate([v[..., :d] @ matrix, self.handedness * spin], axis=-1)

    def permutation(self, position: Floats, tolerance: float = 1e-6) -> Ints:
        """`p` with image(position[i]) = position[p[i]], for positions (n, D) at the start of a run.

        tolerance: largest distance of an image from the body that it is mapped to, relative to the extent of the scene.
        """
        x = np.asarray(position, dtype=np.float64)
        if x.shape[-1] != self.dimension:
            raise ProblemError("symmetry.matrix", self.matrix, f"a matrix for positions of {x.shape[-1]} components")
        distance, found = _nearest(x, self.image(x))
        extent = max(float(np.ptp(x, axis=0).max()), np.finfo(float).tiny)
        if len(x) and (distance.max() > tolerance * extent or len(np.unique(found)) < len(x)):
            worst = int(np.argmax(distance))
            expected = f"positions that {self.name} maps onto each other (body {worst} has no partner)"
            raise ProblemError("symmetry", self.name, expected)
        return np.asarray(found, dtype=np.int64)


def _nearest(points: Floats, places: Floats) -> tuple[Floats, Ints]:
    """Distance and index of the point nearest to each place; points and places are (n, D) of equal n."""
    if 0 < len(points) <= FEW_POINTS:
        square = ((places[:, None] - points[None]) ** 2).sum(axis=2)
        found = np.argmin(square, axis=1)
        return np.sqrt(square[np.arange(len(points)), found]), found
    from scipy.spatial import cKDTree  # slow to import

    distance, found = cKDTree(points).query(places)
    return distance, found


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


def mirror_plane(normal: Vector3 = (1.0, 0.0, 0.0), point: Vector3 = (0.0, 0.0, 0.0)) -> Symmetry:
    """The 3D mirror at the plane through `point` with the given normal: `S = I - 2 n n^T / n^T n`.

    The entries are exact for a normal along an axis or along the diagonal of two.
    """
    n = _numbers("symmetry.normal", normal, "a direction (x, y, z) that is not zero")
    square = float(n @ n) if n.shape == (3,) else 0.0
    if not (np.isfinite(square) and square > 0.0):
        raise ProblemError("symmetry.normal", normal, "a direction (x, y, z) that is not zero")
    matrix = np.eye(3) - 2.0 * np.outer(n, n) / square
    along = np.flatnonzero(n)
    name = "xyz"[along[0]] if len(along) == 1 else f"across ({n[0]:g}, {n[1]:g}, {n[2]:g})"
    return Symmetry((matrix + 0.0).tolist(), point, f"mirror {name}")


def turn(parts: int, point: tuple[float, ...] | None = None, axis: Vector3 | None = None) -> Symmetry:
    """The rotation by 2 pi / `parts` about `point`; in 3D about `axis` through it, by the right-hand rule."""
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 2:
        raise ProblemError("symmetry.parts", parts, "a whole number from 2 up")
    exact = {2: (-1.0, 0.0), 4: (0.0, 1.0)}
    cosine, sine = exact.get(parts, (float(np.cos(2.0 * np.pi / parts)), float(np.sin(2.0 * np.pi / parts))))
    if axis is None:
        return Symmetry(((cosine, -sine), (sine, cosine)), point, f"turn by 1/{parts}")
    a = _numbers("symmetry.axis", axis, "a direction (x, y, z) that is not zero")
    if a.shape != (3,) or not a.any():
        raise ProblemError("symmetry.axis", axis, "a direction (x, y, z) that is not zero")
    x, y, z = a / np.linalg.norm(a)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    along = np.outer([x, y, z], [x, y, z])
    matrix = along + cosine * (np.eye(3) - along) + sine * cross
    # Multiples of 1/2, as for a third of a circle about (1, 1, 1), are exact.
    near = np.round(2.0 * matrix) / 2.0
    matrix = np.where(np.abs(matrix - near) <= 1e-15, near, matrix) + 0.0
    name = f"turn by 1/{parts} round ({a[0]:g}, {a[1]:g}, {a[2]:g})"
    return Symmetry(matrix.tolist(), point, name)


def _numbers(field: str, value: object, wanted: str) -> Floats:
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(field, value, wanted) from None
    if not np.isfinite(found).all():
        raise ProblemError(field, value, wanted)
    return found
