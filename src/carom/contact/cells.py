"""Cells that follow moving balls: each ball is in the list of its cell, and crosses from cell to cell as it moves.

Cells are at least as wide as the largest ball, so that a ball touches only balls of its own cell and the cells around
it. In 2D there is one layer of cells. Along an axis without periodic sides the outermost cells extend to infinity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry.vectors import Vec3
from ..kernels import kernel, lean
from ..kernels.prefetch import prefetch
from ..solvers.rows import Floats

CELLS_PER_BODY = 3  # bound on the number of cells, which makes them wider in thin gases
FEWEST_CELLS = 27
# Columns of `Cells.ball`, whose other columns belong to `flight.py`: the cell of a ball along the three axes, the next
# ball in the same cell, and the one before it (-1 for the first). A row of 64 bytes is one cache line. (Links in an
# array of their own, and entries of the next bucket loaded ahead, made the loop slower, with 20,000 balls and with a
# million.)
CELL, AFTER, BEFORE, BALL = 8, 11, 12, 16
EMPTY_CELL = (
    -1
)  # entry of `Cells.head`. In a dense gas few cells have two balls; the links of a single ball are not read
CELL_ROOM = 1.0 + 1e-6  # width of the narrowest cell, in diameters of the largest ball
FEWEST_PERIODIC = 3  # cells along a periodic axis: with fewer, a pair may touch across both sides


class Cells(NamedTuple):
    """c cells, of counts[0] x counts[1] x counts[2]."""

    low: Vec3  # corner of cell (0, 0, 0)
    size: Vec3
    period: Vec3  # length of the period along each axis; 0 for none
    counts: tuple[int, int, int]
    head: NDArray[np.int32]  # (c,) the ball in each cell, or -2 - its first ball if it has several; EMPTY_CELL
    ball: NDArray[np.int32]  # (n, BALL)


def make_cells(position: Floats, diameter: float, low: Floats, period: Floats) -> Cells | None:
    """Empty cells for balls at `position` (n, 3); None if a period (3,) (0 for none) is too short for them.

    `low` (3,) is where the periods begin.
    """
    n = len(position)
    start = np.where(period > 0.0, low, position.min(axis=0))
    extent = np.where(period > 0.0, period, np.ptp(position, axis=0))
    narrowest, most = CELL_ROOM * diameter, CELLS_PER_BODY * n + FEWEST_CELLS
    counts = np.maximum(np.floor(extent / narrowest), 1.0)
    while counts.prod() > most:
        # The axis with the most cells of all that may have fewer is thinned out first: few iterations for any shape.
        factor = max(counts.prod() / most, 1.01)
        longest = counts >= 0.5 * counts.max()
        counts[longest] = np.maximum(np.floor(counts[longest] * factor ** (-1.0 / longest.sum())), 1.0)
    if (counts[period > 0.0] < FEWEST_PERIODIC).any():
        return None
    size = np.maximum(extent / counts, narrowest)
    number = (int(counts[0]), int(counts[1]), int(counts[2]))
    empty = np.full(number[0] * number[1] * number[2], EMPTY_CELL, np.int32)
    corner, sides, periods = (Vec3(*(float(x) for x in vector)) for vector in (start, size, period))
    return Cells(corner, sides, periods, number, empty, cache_lines(n).view(np.int32))


def cache_lines(count: int) -> Floats:
    """Rows (count, 8) of zeros that begin where cache lines do: a row that lies across two costs two misses."""
    raw = np.empty(8 * count + 8)  # large arrays of `np.empty` are given large pages
    first = -raw.ctypes.data % 64 // 8
    rows = raw[first : first + 8 * count].reshape(count, 8)
    rows[:] = 0.0
    return rows


@lean(inline="always")
def _index(place, count):
    """The number of a cell along an axis, for a place at most one beyond periodic sides."""
    if place < 0:
        return place + count
    return place - count if place >= count else place


@lean(inline="always")
def cell_of(cells, i):
    """The number of the cell of ball i."""
    ball = cells.ball[i]
    return (ball[CELL + 2] * cells.counts[1] + ball[CELL + 1]) * cells.counts[0] + ball[CELL]


@lean(inline="always")
def _first_ball(entry):
    """The first ball of a cell with this entry of `Cells.head`, which is not EMPTY_CELL."""
    return entry if entry >= 0 else -2 - entry


@lean
def put_in_cell(cells, i):
    """Adds ball i to the list of its cell."""
    cell = cell_of(cells, i)
    entry = cells.head[cell]
    cells.ball[i, AFTER], cells.ball[i, BEFORE] = -1, -1
    if entry == EMPTY_CELL:
        cells.head[cell] = i
        return
    first = _first_ball(entry)
    cells.ball[i, AFTER], cells.ball[first, BEFORE] = first, i
    cells.head[cell] = -2 - i


@lean
def take_from_cell(cells, i):
    """Removes ball i from the list of its cell."""
    before, after, cell = cells.ball[i, BEFORE], cells.ball[i, AFTER], cell_of(cells, i)
    if before >= 0:
        cells.ball[before, AFTER] = after
        if after < 0 and cells.ball[before, BEFORE] < 0:
            cells.head[cell] = before
    elif after < 0:
        cells.head[cell] = EMPTY_CELL
    else:
        cells.head[cell] = after if cells.ball[after, AFTER] < 0 else -2 - after
    if after >= 0:
        cells.ball[after, BEFORE] = before


@kernel
def cell_order(cells, position):
    """Bodies (n,) at `position` (n, 3), ordered by their cells; writes the cells of the balls in that order."""
    n, c = len(position), len(cells.head)
    cell, start = np.empty(n, np.int64), np.zeros(c + 1, np.int64)
    for i in range(n):
        _put_place(cells, i, position[i])
        cell[i] = cell_of(cells, i)
        start[cell[i] + 1] += 1
    for k in range(c):
        start[k + 1] += start[k]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[start[cell[i]]] = i
        start[cell[i]] += 1
    for k in range(n):
        _put_place(cells, k, position[order[k]])
    return order


@lean
def _put_place(cells, i, position):
    """Writes the cell of ball i along the axes."""
    for axis in range(3):
        place = int(np.floor((position[axis] - cells.low[axis]) / cells.size[axis]))
        cells.ball[i, CELL + axis] = min(max(place, 0), cells.counts[axis] - 1)


@lean(inline="always")
def _layers(chosen, side):
    """First and last layer around a cell, or the layer on one side if that is chosen."""
    if chosen:
        return side, side
    return -1, 1


@lean
def put_around(cells, i, axis, side, around):
    """Writes the balls in the cells around ball i, without i, to `around`, and returns their number.

    With an `axis` from 0 to 2 only those of the layer of cells on its `side` (-1 or 1), beyond that of i.
    """
    count = 0
    x0, x1 = _layers(axis == 0, side)
    y0, y1 = _layers(axis == 1, side)
    z0, z1 = _layers(axis == 2, side)
    px, py, pz = cells.ball[i, CELL], cells.ball[i, CELL + 1], cells.ball[i, CELL + 2]
    for z in range(pz + z0, pz + z1 + 1):
        if cells.period.z == 0.0 and not 0 <= z < cells.counts[2]:
            continue
        layer = _index(z, cells.counts[2]) * cells.counts[1]
        for y in range(py + y0, py + y1 + 1):
            if cells.period.y == 0.0 and not 0 <= y < cells.counts[1]:
                continue
            row = (layer + _index(y, cells.counts[1])) * cells.counts[0]
            for x in range(px + x0, px + x1 + 1):
                if cells.period.x == 0.0 and not 0 <= x < cells.counts[0]:
                    continue
                entry = cells.head[row + _index(x, cells.counts[0])]
                if entry == EMPTY_CELL:
                    continue
                j = _first_ball(entry)
                while j >= 0:
                    if j != i:
                        around[count] = j
                        count += 1
                    j = cells.ball[j, AFTER] if entry < 0 else -1
    return count


@lean(inline="always")
def _fetched(place, chosen, side, count):
    """First and last + 1 of the cells along an axis that are read around a place, or beyond the next one on a side."""
    low, high = (place + 2 * side, place + 2 * side) if chosen else (place - 1, place + 1)
    return max(low, 0), min(high + 1, count)


@lean
def fetch_cells(cells, i, axis, side):
    """Begins to load the lists of the cells around ball i.

    With an `axis` from 0 to 2 those of the layer that is new to a ball that crosses the wall on its `side`. Cells
    across periodic sides are left out, which changes no result.
    """
    x0, x1 = _fetched(cells.ball[i, CELL], axis == 0, side, cells.counts[0])
    y0, y1 = _fetched(cells.ball[i, CELL + 1], axis == 1, side, cells.counts[1])
    z0, z1 = _fetched(cells.ball[i, CELL + 2], axis == 2, side, cells.counts[2])
    for z in range(z0, z1):
        for y in range(y0, y1):
            prefetch(cells.head, (z * cells.counts[1] + y) * cells.counts[0] + (x0 + x1) // 2)


@lean
def fetch_around(cells, path, i, axis, side):
    """Begins to load the row of `path` of the first ball of each of these cells, and its links if it is not alone."""
    x0, x1 = _fetched(cells.ball[i, CELL], axis == 0, side, cells.counts[0])
    y0, y1 = _fetched(cells.ball[i, CELL + 1], axis == 1, side, cells.counts[1])
    z0, z1 = _fetched(cells.ball[i, CELL + 2], axis == 2, side, cells.counts[2])
    for z in range(z0, z1):
        for y in range(y0, y1):
            first = (z * cells.counts[1] + y) * cells.counts[0]
            for x in range(x0, x1):
                entry = cells.head[first + x]
                j = _first_ball(entry)  # of an empty cell: -1 loads a row before the first one
                if entry < EMPTY_CELL:
                    prefetch(cells.ball, j)
                prefetch(path, j)
