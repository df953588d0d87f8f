"""Signed distance grids of closed triangle surfaces, computed once and stored in memory and on disk.

Distances are exact at the nodes: the nearest triangle is found in a bounding volume hierarchy of boxes. The signs come
from winding numbers. A line through the nodes along x crosses triangles, and the crossings beyond a node, counted with
the sign of their direction, add up to the winding number of that node.
"""

from __future__ import annotations

import contextlib
import hashlib
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..files import atomic_path, user_cache
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .shapes import Grid
from .vectors import Vec3, cross, dot, row3

VERSION = 1  # of the stored values: files of another version are not read
PAD = 2  # cells around the mesh, so that the gradient is defined within the contact margin
_LEAF = 6  # largest number of triangles in a leaf of the hierarchy
_GRIDS_KEPT = 16  # grids kept in memory
_grids: dict[str, tuple[Grid, Floats | None]] = {}


def distance_grid(vertices: Floats, faces: Ints, spacing: float) -> tuple[Grid, Floats | None]:
    """The grid of a closed surface, vertices (k, 3) and faces (f, 3), with nodes `spacing` apart.

    Also a point with a winding number other than 0 or 1, where the surface crosses itself; None if there is none.
    """
    key = grid_key(vertices, faces, spacing)
    if key not in _grids:
        low, count = grid_frame(vertices, spacing)
        value = fetch(key, tuple(map(int, count)))
        if value is not None:  # only grids of surfaces that do not cross themselves are stored
            _grids[key] = Grid(low, spacing, value), None
        else:
            _grids[key] = _computed(vertices, faces, spacing, low, count)
            if _grids[key][1] is None:
                keep(key, _grids[key][0].value)
        if len(_grids) > _GRIDS_KEPT:
            del _grids[next(iter(_grids))]
    return _grids[key]


def grid_key(vertices: Floats, faces: Ints, spacing: float) -> str:
    """The name under which the values are stored: a hash of everything that they depend on."""
    parts = (np.array([VERSION, PAD]), np.array([spacing]), vertices, faces)
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def grid_frame(vertices: Floats, spacing: float) -> tuple[Floats, Ints]:
    """First node (3,) and number of nodes (3,). The grid is centered on the mesh, and so has its mirror planes."""
    lowest, highest = vertices.min(axis=0), vertices.max(axis=0)
    count = np.ceil((highest - lowest) / spacing - 1e-9).astype(np.int64) + 1 + 2 * PAD
    return 0.5 * (lowest + highest) - 0.5 * spacing * (count - 1), count


def _computed(vertices: Floats, faces: Ints, spacing: float, low: Floats, count: Ints) -> tuple[Grid, Floats | None]:
    corners = np.ascontiguousarray(vertices[faces])
    value = node_distances(make_tree(corners), low, spacing, count)
    winding = crossings_of_lines(np.ascontiguousarray(vertices), faces, low, spacing, count)
    odd = ((winding != 0) & (winding != 1)) & (value > 1e-6 * spacing)
    overlap = None
    if odd.any():
        deepest = np.unravel_index(int(np.argmax(np.where(odd, value, -1.0))), value.shape)
        overlap = low + spacing * np.array(deepest)
    return Grid(low, spacing, np.where(winding != 0, -value, value)), overlap


class Tree(NamedTuple):
    """A bounding volume hierarchy over triangles. A node without children is a leaf of triangles begin:end."""

    corners: Floats  # (f, 3, 3) of the triangles
    order: Ints  # (f,) triangles in the order of the leaves
    low: Floats  # (nodes, 3) corners of the boxes around nodes
    high: Floats
    child: Ints  # (nodes,) the first of two children, or -1
    begin: Ints  # (nodes,) triangles of a node, in that order
    end: Ints


def make_tree(corners: Floats) -> Tree:
    """The hierarchy over triangles (f, 3, 3).

    It is plain Python: there are a few thousand nodes, and a kernel that sorts would take longer to compile than it
    saves.
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
    return Tree(corners, order, *(np.array(column) for column in (low, high, child, begin, end)))


# ---- grids on disk; a file that cannot be read or written is not an error


def fetch(key: str, shape: tuple[int, ...]) -> Floats | None:
    """The values stored under a key; None if there are none, or if the checksums of the file do not match."""
    try:
        with np.load(_file(key), allow_pickle=False) as kept:
            value = np.array(kept["value"])
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return None
    if value.shape != shape or value.dtype != np.float64 or not np.isfinite(value).all():
        return None
    return value


def keep(key: str, value: Floats) -> None:
    """Stores the values atomically, since another process may read at the same time."""
    with contextlib.suppress(OSError, ProblemError):
        file = _file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(file) as part:
            np.savez(part, value=value)


def _file(key: str) -> Path:
    return user_cache() / "distance" / f"{key}.npz"


# ---- kernels: nearest triangles, and crossings of lines


@kernel
def _to_segment(a, b):
    """Squared distance from the origin to the segment a - b."""
    edge = b - a
    length, t = dot(edge, edge), -dot(a, edge)
    t = 0.0 if t <= 0.0 or length == 0.0 else min(t / length, 1.0)
    p = a + t * edge
    return dot(p, p)


@kernel
def _to_triangle(t, p):
    """Squared distance from a point to the triangle t (3, 3), by its plane or its edges."""
    a, b, c = row3(t, 0) - p, row3(t, 1) - p, row3(t, 2) - p
    n = cross(b - a, c - a)
    square = dot(n, n)
    # Barycentric weights of the projection, times the square: n . (b x c), n . (c x a), n . (a x b).
    one, two = dot(n, cross(b, c)), dot(n, cross(c, a))
    three = square - one - two
    if square > 0.0 and one >= 0.0 and two >= 0.0 and three >= 0.0:
        height = dot(a, n)
        return height * height / square
    return min(_to_segment(a, b), _to_segment(b, c), _to_segment(c, a))


@kernel
def _to_box(tree, node, p):
    """Squared distance from a point to the box around a node."""
    x = max(tree.low[node, 0] - p.x, 0.0, p.x - tree.high[node, 0])
    y = max(tree.low[node, 1] - p.y, 0.0, p.y - tree.high[node, 1])
    z = max(tree.low[node, 2] - p.z, 0.0, p.z - tree.high[node, 2])
    return x * x + y * y + z * z


@kernel
def _nearest(tree, p, bound, stack, far):
    """Squared distance from a point to the nearest triangle, if it is below `bound`; else `bound`."""
    best, top = bound, 1
    stack[0], far[0] = 0, 0.0
    while top:
        top -= 1
        node = stack[top]
        if far[top] > best:
            continue
        if tree.child[node] < 0:
            for s in range(tree.begin[node], tree.end[node]):
                best = min(best, _to_triangle(tree.corners[tree.order[s]], p))
            continue
        one, two = tree.child[node], tree.child[node] + 1
        d_one, d_two = _to_box(tree, one, p), _to_box(tree, two, p)
        if d_one < d_two:
            one, two, d_one, d_two = two, one, d_two, d_one
        stack[top], far[top], stack[top + 1], far[top + 1] = one, d_one, two, d_two  # the nearer child is visited next
        top += 2
    return best


@kernel
def node_distances(tree, origin, spacing, count):
    """Distance (nx, ny, nz) from every node of the grid to the surface, without sign."""
    out = np.empty((count[0], count[1], count[2]))
    stack, far = np.empty(128, np.int64), np.empty(128)
    for i in range(count[0]):
        for j in range(count[1]):
            for k in range(count[2]):
                # The value at a neighbor is a bound: the distance grows by at most the spacing.
                bound = np.inf
                if k:
                    bound = out[i, j, k - 1]
                elif j:
                    bound = out[i, j - 1, k]
                elif i:
                    bound = out[i - 1, j, k]
                bound = (bound + spacing) ** 2 * (1.0 + 1e-9)
                p = Vec3(origin[0] + spacing * i, origin[1] + spacing * j, origin[2] + spacing * k)
                out[i, j, k] = np.sqrt(_nearest(tree, p, bound, stack, far))
    return out


@kernel
def _side(vertices, a, b, y, z):
    """On which side of the edge a - b, seen along x, the line (y, z) passes: 1, -1, or 0 for an edge along x.

    The two triangles of an edge get exactly opposite answers, and a line through an edge or vertex is treated as
    displaced in the same way for all triangles: no line passes between two triangles.
    """
    if a > b:
        return -_side_ordered(vertices, b, a, y, z)
    return _side_ordered(vertices, a, b, y, z)


@kernel
def _side_ordered(vertices, a, b, y, z):
    uy, uz = vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    cross = uy * (z - vertices[a, 2]) - uz * (y - vertices[a, 1])
    if cross != 0.0:
        return 1 if cross > 0.0 else -1
    if uz != 0.0:
        return 1 if uz < 0.0 else -1
    if uy != 0.0:
        return 1 if uy > 0.0 else -1
    return 0


@kernel
def crossings_of_lines(vertices, faces, origin, spacing, count):
    """Winding number of every node: crossings of the line along x beyond it, those facing +x minus those facing -x."""
    steps = np.zeros((count[0], count[1], count[2]), np.int32)
    for f in range(len(faces)):
        a, b, c = faces[f]
        first, last = np.empty(2, np.int64), np.empty(2, np.int64)
        for k in range(2):
            lowest = min(vertices[a, k + 1], vertices[b, k + 1], vertices[c, k + 1])
            highest = max(vertices[a, k + 1], vertices[b, k + 1], vertices[c, k + 1])
            first[k] = max(int(np.floor((lowest - origin[k + 1]) / spacing)), 0)
            last[k] = min(int(np.ceil((highest - origin[k + 1]) / spacing)), count[k + 1] - 1)
        for j in range(first[0], last[0] + 1):
            y = origin[1] + spacing * j
            for k in range(first[1], last[1] + 1):
                z = origin[2] + spacing * k
                side = _side(vertices, a, b, y, z)
                if side == 0 or _side(vertices, b, c, y, z) != side or _side(vertices, c, a, y, z) != side:
                    continue
                # It counts for the nodes before the crossing.
                x = _crossing(vertices, a, b, c, y, z)
                node = min(int(np.ceil((x - origin[0]) / spacing)) - 1, count[0] - 1)
                if node >= 0:
                    steps[node, j, k] += side
    for i in range(count[0] - 2, -1, -1):
        steps[i] += steps[i + 1]
    return steps


@kernel
def _crossing(vertices, a, b, c, y, z):
    """The x where the line (y, z) meets the plane of a triangle, clipped to the range of the triangle."""
    uy, uz = vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    vy, vz = vertices[c, 1] - vertices[a, 1], vertices[c, 2] - vertices[a, 2]
    py, pz = y - vertices[a, 1], z - vertices[a, 2]
    area = uy * vz - uz * vy
    lowest = min(vertices[a, 0], vertices[b, 0], vertices[c, 0])
    highest = max(vertices[a, 0], vertices[b, 0], vertices[c, 0])
    if area == 0.0:
        return lowest
    s, t = (py * vz - pz * vy) / area, (uy * pz - uz * py) / area
    x = vertices[a, 0] + s * (vertices[b, 0] - vertices[a, 0]) + t * (vertices[c, 0] - vertices[a, 0])
    return min(max(x, lowest), highest)
