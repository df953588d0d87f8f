"""Mass properties of closed triangle surfaces, exact: a sum over tetrahedra (Tonon, J. Math. Stat. 1, 2005)."""

from __future__ import annotations

import numpy as np

from ..solvers.rows import Floats, Ints


def signed_volume(vertices: Floats, faces: Ints) -> float:
    """Volume of a closed surface, positive if its triangles are anticlockwise seen from outside."""
    corners = (vertices - vertices.mean(axis=0))[faces]
    return float(_six_volumes(corners).sum() / 6.0)


def mass_properties(vertices: Floats, faces: Ints) -> tuple[float, Floats, Floats]:
    """Volume, center of mass (3,), and inertia tensor (3, 3) about it for unit mass, of a uniform solid.

    A tetrahedron with corners 0, a, b, c and sixfold volume d has the second moment
    `d / 120 (s s^T + a a^T + b b^T + c c^T)` with `s = a + b + c`.
    """
    # The apex lies within: far from the solid the terms would cancel.
    apex = vertices.mean(axis=0)
    corners = (vertices - apex)[faces]
    six = _six_volumes(corners)
    volume = float(six.sum() / 6.0)
    center = apex + six @ corners.sum(axis=1) / (24.0 * volume)
    corners = (vertices - center)[faces]
    six = _six_volumes(corners)
    total = corners.sum(axis=1)
    second = np.einsum("f,fi,fj->ij", six, total, total)
    for k in range(3):
        second += np.einsum("f,fi,fj->ij", six, corners[:, k], corners[:, k])
    second /= 120.0 * volume
    second = 0.5 * (second + second.T)
    return volume, center, np.trace(second) * np.eye(3) - second


def winding_number(vertices: Floats, faces: Ints, point: Floats) -> float:
    """How often a surface goes round a point: the solid angles of its triangles over 4 pi. 1 inside, 0 outside."""
    a, b, c = ((vertices - point)[faces[:, k]] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    six = np.einsum("fi,fi->f", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("fi,fi->f", x, y) for x, y in ((a, b), (b, c), (c, a)))
    return float(np.arctan2(six, la * lb * lc + ab * lc + bc * la + ca * lb).sum() / (2.0 * np.pi))


def _six_volumes(corners: Floats) -> Floats:
    """Sixfold signed volumes of the tetrahedra from the origin to triangles (f, 3, 3)."""
    return np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
