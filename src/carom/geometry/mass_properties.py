"""Mass properties of closed triangle surfaces, and principal axes of inertia.

Volume, center and moments are exact sums over tetrahedra (Tonon, J. Math. Stat. 1, 2005).
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..solvers.rows import Floats, Ints


def signed_volume(vertices: Floats, faces: Ints) -> float:
    """Volume of a closed surface, positive if its triangles are counterclockwise seen from outside."""
    corners = (vertices - vertices.mean(axis=0))[faces]
    return float(_six_volumes(corners).sum() / 6.0)


def mass_properties(vertices: Floats, faces: Ints) -> tuple[float, Floats, Floats]:
    """Volume, center of mass (3,), and inertia tensor (3, 3) about it for unit mass, of a uniform solid.

    A tetrahedron with corners 0, a, b, c and sixfold volume d has the second moment
    `d / 120 (s s^T + a a^T + b b^T + c c^T)` with `s = a + b + c`.
    """
    # The apex lies inside: far from the solid the terms would cancel.
    apex = vertices.mean(axis=0)
    corners = (vertices - apex)[faces]
    six = _six_volumes(corners)
    volume = float(six.sum() / 6.0)
    # Not `six @ ...`: the sums of BLAS have other bits on another processor.
    center = apex + (six[:, None] * corners.sum(axis=1)).sum(axis=0) / (24.0 * volume)
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
    """Winding number of a surface about a point: the solid angles of its triangles over 4 pi; 1 inside, 0 outside."""
    a, b, c = ((vertices - point)[faces[:, k]] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    six = np.einsum("fi,fi->f", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("fi,fi->f", x, y) for x, y in ((a, b), (b, c), (c, a)))
    return float(np.arctan2(six, la * lb * lc + ab * lc + bc * la + ca * lb).sum() / (2.0 * np.pi))


def _six_volumes(corners: Floats) -> Floats:
    """Sixfold signed volumes of the tetrahedra from the origin to triangles (f, 3, 3)."""
    return np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))


# A product of inertia or a difference of moments below this, relative to the trace, is rounding.
_INERTIA_ROUNDING = 1e-12


def principal_axes(inertia: Floats) -> tuple[Floats, Floats]:
    """Principal moments (3,), and the rotation matrix (3, 3) whose columns are the principal axes in the given frame.

    The frame is turned as little as possible. Axes that are principal already stay. Where moments are equal, every
    direction of their eigenspace is principal, and the ones closest to the given axes are chosen: a cube is not turned,
    nor is a symmetric top about its axis.
    """
    scale = float(np.trace(inertia))
    diagonal = np.diag(inertia).copy()
    if np.abs(inertia - np.diag(diagonal)).max() <= _INERTIA_ROUNDING * scale:
        return _evened(diagonal, scale), np.eye(3)
    values, vectors = np.linalg.eigh(inertia)
    values = _evened(values, scale)
    best = max(
        permutations(range(3)),
        key=lambda order: float(np.abs(np.diag(_nearest(values[list(order)], vectors[:, order]))).sum()),
    )
    moments = values[list(best)]
    axes = _nearest(moments, vectors[:, best])
    if np.linalg.det(axes) < 0.0:  # axes were signed one by one; the one with the smallest diagonal entry is reversed
        k = int(np.argmin(np.diag(axes)))
        axes[:, k] *= -1.0
    return moments, axes


def _nearest(moments: Floats, vectors: Floats) -> Floats:
    """Eigenvectors with column k close to axis k: chooses signs, and a basis of each eigenspace of equal moments."""
    out = vectors.copy()
    for value in np.unique(moments):
        same = np.flatnonzero(moments == value)
        space = vectors[:, same]
        if len(same) == 1:
            out[:, same] = space if space[same[0], 0] >= 0.0 else -space
        else:  # the orthonormal basis closest to the axes is the polar factor of their projection
            u, _, v = np.linalg.svd(space @ space[same].T, full_matrices=False)
            out[:, same] = u @ v
    return out


def _evened(moments: Floats, scale: float) -> Floats:
    """Moments with those made equal that differ by rounding only."""
    out = moments.copy()
    for i in range(3):
        near = np.abs(moments - moments[i]) <= _INERTIA_ROUNDING * scale
        out[i] = moments[near].mean()
    return out
