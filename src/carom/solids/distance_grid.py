"""Signed distance of a closed triangle surface on a grid: made once, kept in memory and on disk.

Distances are exact at the nodes: to the nearest triangle, found in a tree of boxes. Signs come from lines through the
nodes along x: the triangles that such a line crosses, each counted up or down, give the winding number of every node.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ..solvers.rows import Floats, Ints
from .form import Grid
from .grid_cache import fetch, keep
from .grid_kernels import crossings_of_lines, node_distances

VERSION = 1  # of the values: a new one makes old files stale
PAD = 2  # cells round the mesh, so that contact within a margin finds a gradient
_LEAF = 6  # triangles in a leaf of the tree
_MANY = 16  # grids in memory
_made: dict[str, tuple[Grid, Floats | None]] = {}


def distance_grid(vertices: Floats, faces: Ints, spacing: float) -> tuple[Grid, Floats | None]:
    """The grid, and a point that the surface goes round more than once or backwards (None if there is none)."""
    key = grid_key(vertices, faces, spacing)
    if key not in _made:
        low, count = grid_frame(vertices, spacing)
        value = fetch(key, tuple(map(int, count)))
        if value is not None:  # only sound surfaces are kept
            _made[key] = Grid(low, spacing, value), None
        else:
            _made[key] = _computed(vertices, faces, spacing, low, count)
            if _made[key][1] is None:
                keep(key, _made[key][0].value)
        if len(_made) > _MANY:
            del _made[next(iter(_made))]
    return _made[key]


def grid_key(vertices: Floats, faces: Ints, spacing: float) -> str:
    """A name for the values: a hash of all that they depend on."""
    parts = (np.array([VERSION, PAD]), np.array([spacing]), vertices, faces)
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def grid_frame(vertices: Floats, spacing: float) -> tuple[Floats, Ints]:
    """First node and number of nodes. The grid lies evenly about the mesh, so that it has the mesh's mirror planes."""
    lowest, highest = vertices.min(axis=0), vertices.max(axis=0)
    count = np.ceil((highest - lowest) / spacing - 1e-9).astype(np.int64) + 1 + 2 * PAD
    return 0.5 * (lowest + highest) - 0.5 * spacing * (count - 1), count


def _computed(vertices: Floats, faces: Ints, spacing: float, low: Floats, count: Ints) -> tuple[Grid, Floats | None]:
    corners = np.ascontiguousarray(vertices[faces])
    value = node_distances(corners, *make_tree(corners), low, spacing, count)
    winding = crossings_of_lines(np.ascontiguousarray(vertices), faces, low, spacing, count)
    odd = ((winding != 0) & (winding != 1)) & (value > 1e-6 * spacing)
    overlap = None
    if odd.any():
        deepest = np.unravel_index(int(np.argmax(np.where(odd, value, -1.0))), value.shape)
        overlap = low + spacing * np.array(deepest)
    return Grid(low, spacing, np.where(winding != 0, -value, value)), overlap


def make_tree(corners: Floats) -> tuple[Ints, Floats, Floats, Ints, Ints, Ints]:
    """A tree of boxes over triangles (f, 3, 3): their order, and low, high, first child (or -1), begin, end of nodes.

    In plain Python: a few thousand nodes, and sorting in a kernel would take longer to compile than it saves.
    """
    order = np.arange(len(corners))
    middle, lowest, highest = corners.mean(axis=1), corners.min(axis=1), corners.max(axis=1)
    low, high, child, begin, end = [], [], [], [0], [len(corners)]
    node = 0
    while node < len(begin):
        piece = order[begin[node] : end[node]]
        low.append(lowest[piece].min(axis=0))
        high.append(highest[piece].max(axis=0))
        child.append(-1)
        if len(piece) > _LEAF:
            axis = int(np.argmax(np.ptp(middle[piece], axis=0)))
            order[begin[node] : end[node]] = piece[np.argsort(middle[piece, axis], kind="stable")]
            half = (begin[node] + end[node]) // 2
            child[node] = len(begin)
            begin += [begin[node], half]
            end += [half, end[node]]
        node += 1
    return order, np.array(low), np.array(high), np.array(child), np.array(begin), np.array(end)
