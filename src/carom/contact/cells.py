"""Bodies sorted into the cells of uniform grids, one grid for each size class. Plane and space alike.

`axes` is (0, 1) or (0, 1, 2), a tuple, whose length the compiler knows: loops over axes are unrolled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints

CLASSES = 48  # a factor of two each: more than any two lengths differ by


class Grid(NamedTuple):
    """Bodies sorted by cell, for all size classes, smallest first."""

    order: Ints  # (n,) bodies, sorted by cell
    start: Ints  # (cells + 1,) cell c holds order[start[c]:start[c+1]]
    cell: Floats  # (classes,) width of a cell
    cells: Ints  # (D, classes) cells along each axis
    first: Ints  # (classes + 1,) number of the first cell
    corner: Floats  # (D,)


class Sorted(NamedTuple):
    """What the tests read, in the order of the grid."""

    before: Floats  # (n, D)
    ball: Floats  # (n, D + 1) place after, and radius
    key: Ints  # (n,) cell
    level: np.ndarray  # (n,) size class
    simple: np.ndarray  # (n,) whether it is a disc or a ball
    free: np.ndarray  # (n,)


@kernel
def sorted_room(axes, n):
    return Sorted(
        np.empty((n, len(axes))),
        np.empty((n, len(axes) + 1)),
        np.empty(n, np.int64),
        np.empty(n, np.int8),
        np.empty(n, np.bool_),
        np.empty(n, np.bool_),
    )


@kernel
def cell_counts(axes, extent, largest, members, margin):
    """Width of a cell, cells along all axes, and number of the first cell, for each size class."""
    classes = len(largest)
    cell = (2.0 * largest + margin) * (1.0 + 1e-9)  # a hair wider: rounding cannot put a neighbor two cells away
    count = np.empty((len(axes), classes), np.int64)
    first = np.zeros(classes + 1, np.int64)
    along = np.empty(len(axes))
    for c in range(classes):
        limit = max(4.0 * members[c], 64.0)
        most = limit / 4.0 ** (len(axes) - 1)
        for d in range(len(axes)):
            along[d] = np.floor(extent[d] / cell[c]) + 2.0
        total, allowed = along.prod(), limit
        while total > allowed:  # wrap: keep the shape, about `limit` cells, at least four along each axis
            shrink = np.sqrt(limit / total) if len(axes) == 2 else np.cbrt(limit / total)
            total = 1.0
            for d in range(len(axes)):
                along[d] = max(min(along[d] * shrink, most), 4.0)
                total *= along[d]
            allowed = 1.1 * limit
        cells = 1
        for d in range(len(axes)):
            count[d, c] = max(int(along[d]), 4)
            cells *= count[d, c]
        first[c + 1] = first[c] + cells
    return cell, count, first


@kernel
def size_classes(axes, position, radius):
    """Corner and extent of all places; size class of each body, largest radius and number in each class."""
    n = len(radius)
    low, high = np.full(len(axes), np.inf), np.full(len(axes), -np.inf)
    smallest = np.inf
    for i in range(n):
        for k in range(len(axes)):
            low[k] = min(low[k], position[i, k])
            high[k] = max(high[k], position[i, k])
        smallest = min(smallest, radius[i])
    level = np.zeros(n, np.int8)
    largest, members = np.zeros(CLASSES), np.zeros(CLASSES, np.int64)
    for i in range(n):
        c = 0
        bound = 2.0 * smallest
        while radius[i] > bound and c < CLASSES - 1:
            bound *= 2.0
            c += 1
        level[i] = c
        members[c] += 1
        largest[c] = max(largest[c], radius[i])
    number = np.empty(CLASSES, np.int8)
    used = 0
    for c in range(CLASSES):
        number[c] = used
        if members[c] > 0:
            largest[used], members[used] = largest[c], members[c]
            used += 1
    if used > 1:
        for i in range(n):
            level[i] = number[level[i]]
    return low, high - low, level, largest[:used].copy(), members[:used].copy()


@kernel
def cell_of(axes, place, corner, width, count, c):
    """The cell of a place in the grid of class c, counted from the first of the class."""
    at = 0
    for d in range(len(axes) - 1, -1, -1):
        k = int((place[d] - corner[d]) / width)  # never negative: the corner is the lowest
        at = at * count[d, c] + (k if k < count[d, c] else k % count[d, c])
    return at


@kernel
def put_cells(axes, position, level, cell, count, first, corner, key, begin, end):
    for i in range(begin, end):
        c = level[i]
        key[i] = first[c] + cell_of(axes, position[i], corner, cell[c], count, c)


@kernel
def counting_sort(key, cells):
    start = np.zeros(cells + 1, np.int64)
    for k in key:
        start[k + 1] += 1
    for k in range(cells):
        start[k + 1] += start[k]
    fill = start[:-1].copy()
    order = np.empty(len(key), np.int64)
    for i in range(len(key)):
        order[fill[key[i]]] = i
        fill[key[i]] += 1
    return order, start


@kernel
def gather(axes, order, before, after, radius, key, level, simple, free, out, begin, end):
    for k in range(begin, end):
        i = order[k]
        for d in range(len(axes)):
            out.before[k, d], out.ball[k, d] = before[i, d], after[i, d]
        out.ball[k, len(axes)], out.key[k], out.level[k] = radius[i], key[i], level[i]
        out.simple[k], out.free[k] = simple[i], free[i]
