"""Principal axes of inertia, turned as little as possible from the axes given."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..solvers.rows import Floats

# Below this, relative to the trace, a product of inertia or a difference of moments is rounding.
_ROUNDING = 1e-12


def principal_axes(inertia: Floats) -> tuple[Floats, Floats]:
    """Moments (3,) and rotation matrix (3, 3) from the principal frame to the given one: its columns are the axes.

    Axes that are principal already stay. Where moments are equal every axis of their plane (or space) is principal,
    and those next to the given axes are taken: a cube is not turned, nor is a symmetric top about its axis.
    """
    scale = float(np.trace(inertia))
    diagonal = np.diag(inertia).copy()
    if np.abs(inertia - np.diag(diagonal)).max() <= _ROUNDING * scale:
        return _evened(diagonal, scale), np.eye(3)
    values, vectors = np.linalg.eigh(inertia)
    values = _evened(values, scale)
    best = max(
        permutations(range(3)),
        key=lambda order: float(np.abs(np.diag(_nearest(values[list(order)], vectors[:, order]))).sum()),
    )
    moments = values[list(best)]
    axes = _nearest(moments, vectors[:, best])
    if np.linalg.det(axes) < 0.0:  # single axes have been signed by themselves; the least certain one gives way
        k = int(np.argmin(np.diag(axes)))
        axes[:, k] *= -1.0
    return moments, axes


def _nearest(moments: Floats, vectors: Floats) -> Floats:
    """Eigenvectors, column k near to axis k: signs, and a free choice within equal moments."""
    out = vectors.copy()
    for value in np.unique(moments):
        same = np.flatnonzero(moments == value)
        space = vectors[:, same]
        if len(same) == 1:
            out[:, same] = space if space[same[0], 0] >= 0.0 else -space
        else:  # the orthonormal basis of the space that is nearest to the axes: the polar factor of their projection
            u, _, v = np.linalg.svd(space @ space[same].T, full_matrices=False)
            out[:, same] = u @ v
    return out


def _evened(moments: Floats, scale: float) -> Floats:
    """Moments that differ by rounding, made equal."""
    out = moments.copy()
    for i in range(3):
        near = np.abs(moments - moments[i]) <= _ROUNDING * scale
        out[i] = moments[near].mean()
    return out


def quaternion_of(matrix: Floats) -> Floats:
    """The unit quaternion (w, x, y, z) of a rotation matrix, w >= 0."""
    m = matrix
    four = np.array(
        [
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(np.argmax(four))  # the largest component is divided by: no digits are lost
    w = np.array([four[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    x = np.array([m[2, 1] - m[1, 2], four[1], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]])
    y = np.array([m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], four[2], m[1, 2] + m[2, 1]])
    z = np.array([m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], four[3]])
    q = (w, x, y, z)[k]
    q = q / np.linalg.norm(q)
    return (q if q[0] >= 0.0 else -q) + 0.0
