"""Deepest overlap of a set of poses, by plain geometry: the same measure for every engine.

Nothing here uses Carom's contact detection.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
PARALLEL = 1e-9  # squared length of a cross product of two edges below which they count as parallel


def round_overlap(position: Floats, radius: Floats) -> float:
    """Deepest overlap of any two discs or spheres with radii (n,); a length, 0 if none overlap."""
    pairs = cKDTree(position).query_pairs(2.0 * float(radius.max()), output_type="ndarray")
    if not len(pairs):
        return 0.0
    first, second = pairs.T
    depth = radius[first] + radius[second] - np.linalg.norm(position[first] - position[second], axis=1)
    return max(0.0, float(depth.max()))


def rotation_matrices(turn: Floats) -> Floats:
    """(n, 3, 3) rotation matrices of unit quaternions (w, x, y, z); columns are the axes of the bodies."""
    w, x, y, z = (turn / np.linalg.norm(turn, axis=1)[:, None]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def box_overlap(position: Floats, turn: Floats, size: Floats) -> float:
    """Deepest overlap of any two boxes with full edge lengths `size`: the shortest way out, over 15 axes; a length."""
    pairs = cKDTree(position).query_pairs(float(np.linalg.norm(size)), output_type="ndarray")
    if not len(pairs):
        return 0.0
    matrix, half = rotation_matrices(turn), 0.5 * size
    a, b = (np.swapaxes(matrix[k], 1, 2) for k in pairs.T)  # rows are axes
    edges = np.cross(a[:, :, None], b[:, None]).reshape(len(pairs), 9, 3)
    axes = np.concatenate([a, b, edges], axis=1)
    square = np.einsum("pkx,pkx->pk", axes, axes)
    axes /= np.sqrt(np.maximum(square, PARALLEL))[:, :, None]
    apart = np.abs(np.einsum("pkx,px->pk", axes, position[pairs[:, 1]] - position[pairs[:, 0]]))
    reach = sum(np.einsum("pkx,pjx,j->pkj", axes, box, half).__abs__().sum(axis=2) for box in (a, b))
    depth = np.where(square > PARALLEL, reach - apart, np.inf).min(axis=1)
    return max(0.0, float(depth.max()))


def plane_overlap(extent: Floats, position: Floats, point: Floats, normal: Floats) -> float:
    """How deep any body lies behind planes (w, D); `extent` (n, w) is the reach of each body against each normal."""
    height = np.einsum("nwx,wx->nw", position[:, None] - point[None], normal)
    return max(0.0, float((extent - height).max(initial=0.0)))


def scene_overlap(scene: dict[str, np.ndarray], position: Floats, turn: Floats) -> float:
    """Deepest overlap, relative to the diameter of spheres and discs or to the shortest edge of boxes."""
    size, point, normal = scene["size"], scene["plane_point"], scene["plane_normal"]
    if len(size) == 3 and position.shape[1] == 3:
        reach = np.abs(np.einsum("nxj,wx,j->nwj", rotation_matrices(turn), normal, 0.5 * size)).sum(axis=2)
        return max(box_overlap(position, turn, size), plane_overlap(reach, position, point, normal)) / size.min()
    radius = np.broadcast_to(size, len(position))
    reach = np.broadcast_to(radius[:, None], (len(position), len(normal)))
    deepest = max(round_overlap(position, radius), plane_overlap(reach, position, point, normal))
    return deepest / (2.0 * float(radius.min()))
