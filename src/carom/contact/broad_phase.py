"""Uniform grids, one for each size class: pairs of neighbours in a time that grows as the number of bodies.

Bodies are sorted by cell, so that neighbours in space are neighbours in memory. A body's cell is at least as wide as
the largest body of its size class, so partners of the same class lie in the 3 x 3 cells about it. Classes differ by a
factor of two; a small body also looks up the 3 x 3 cells about it in the grid of every larger class. Few giants among
many dwarfs therefore cost nothing extra. Grids wrap round: a body that flies far away lands in some cell that is not
its own, which costs a needless test and no contact.

Discs are tested on the spot, because a list of candidate pairs would cost more than the test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from ..solvers.rows import Floats, Ints
from ..solvers.threads import on_threads, thread_count
from ..world import DISC

CLASSES = 48  # a factor of two each: more than any two lengths differ by
PIECE = 20000  # bodies for each piece of work


Pairs = tuple[Ints, Ints, Floats, Floats, Floats, Ints, Ints]


class Grid(NamedTuple):
    """Bodies sorted by cell, for all size classes, smallest first."""

    order: Ints  # (n,) bodies, sorted by cell
    start: Ints  # (cells + 1,) cell c holds order[start[c]:start[c+1]]
    cell: Floats  # (classes,) width of a cell
    wide: Ints  # (classes,) cells along x
    high: Ints  # (classes,) cells along y
    first: Ints  # (classes + 1,) number of the first cell
    corner: Floats  # (2,)


class Sorted(NamedTuple):
    """What the tests read, in the order of the grid."""

    before: Floats  # (n, 2)
    after: Floats  # (n, 2)
    radius: Floats  # (n,)
    key: Ints  # (n,) cell
    level: np.ndarray  # (n,) size class
    simple: np.ndarray  # (n,) whether it is a disc
    free: np.ndarray  # (n,)


def neighbours(
    before: Floats, after: Floats, radius: Floats, kind: np.ndarray, free: np.ndarray, margin: float
) -> Pairs:
    """All pairs of discs whose gap after is at most `margin`, and all other pairs whose circles are as close.

    Returns (first, second, normal, gap before, gap after) of the discs with first < second, then (first, second) of
    pairs with a polygon. Pairs of which neither is free are left out.
    """
    n = len(radius)
    if n <= PIECE:
        return _alone(before, after, radius, kind, free, margin)
    pieces = max(1, min(-(-n // PIECE), 8 * thread_count()))
    edges = [(n * k // pieces, n * (k + 1) // pieces) for k in range(pieces)]
    corner, extent, level, largest, members = _classes(after, radius)
    cell, wide, high, first = _cell_counts(extent, largest, members, margin)
    key = np.empty(n, np.int64)
    _each(lambda low, up: _cells(after, level, cell, wide, high, first, corner, key, low, up), edges)
    order, start = _counting_sort(key, first[-1])
    grid = Grid(order, start, cell, wide, high, first, corner)
    bodies = _room(n)
    _each(lambda low, up: _gather(order, before, after, radius, key, level, kind, free, bodies, low, up), edges)
    found: dict[int, Pairs] = {}

    def search(low: int, up: int) -> None:
        found[low] = _pairs(grid, bodies, margin, low, up)

    _each(search, edges)
    return tuple(np.concatenate([found[low][i] for low, _ in edges]) for i in range(7))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _alone(before, after, radius, kind, free, margin):
    """All of it in one kernel: few bodies, where the calls would cost more than the work."""
    n = len(radius)
    corner, extent, level, largest, members = _classes(after, radius)
    cell, wide, high, first = _cell_counts(extent, largest, members, margin)
    key = np.empty(n, np.int64)
    _cells(after, level, cell, wide, high, first, corner, key, 0, n)
    order, start = _counting_sort(key, first[-1])
    bodies = _room(n)
    _gather(order, before, after, radius, key, level, kind, free, bodies, 0, n)
    return _pairs(Grid(order, start, cell, wide, high, first, corner), bodies, margin, 0, n)


@njit(cache=True, nogil=True)
def _room(n):
    return Sorted(
        np.empty((n, 2)),
        np.empty((n, 2)),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int8),
        np.empty(n, np.bool_),
        np.empty(n, np.bool_),
    )


def _each(work: Callable[[int, int], None], edges: list[tuple[int, int]]) -> None:
    """Runs `work` on every stretch of bodies, on all threads."""

    def one(low: int, high: int) -> float:
        work(low, high)
        return 0.0

    on_threads(one, edges)


@njit(cache=True, nogil=True)
def _cell_counts(extent, largest, members, margin):
    """Width of a cell, cells along both axes, and number of the first cell, for each size class."""
    classes = len(largest)
    cell = (2.0 * largest + margin) * (1.0 + 1e-9)  # a hair wider: rounding cannot put a neighbour two cells away
    wide, high = np.empty(classes, np.int64), np.empty(classes, np.int64)
    first = np.zeros(classes + 1, np.int64)
    for c in range(classes):
        limit = max(4.0 * members[c], 64.0)
        across, along = np.floor(extent[0] / cell[c]) + 2.0, np.floor(extent[1] / cell[c]) + 2.0
        if across * along > limit:  # wrap: keep the shape, at most about `limit` cells
            shrink = np.sqrt(limit / (across * along))
            across, along = min(across * shrink, limit / 4.0), min(along * shrink, limit / 4.0)
        wide[c], high[c] = max(int(across), 4), max(int(along), 4)
        first[c + 1] = first[c] + wide[c] * high[c]
    return cell, wide, high, first


@njit(cache=True, nogil=True)
def _classes(position, radius):
    """Corner and extent of all places; size class of each body, largest radius and number in each class."""
    n = len(radius)
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    smallest = np.inf
    for i in range(n):
        for k in range(2):
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


@njit(cache=True, nogil=True)
def _cells(position, level, cell, wide, high, first, corner, key, begin, end):
    for i in range(begin, end):
        c = level[i]
        x = int((position[i, 0] - corner[0]) / cell[c]) % wide[c]  # never negative: the corner is the lowest
        y = int((position[i, 1] - corner[1]) / cell[c]) % high[c]
        key[i] = first[c] + y * wide[c] + x


@njit(cache=True, nogil=True)
def _counting_sort(key, cells):
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


@njit(cache=True, nogil=True)
def _gather(order, before, after, radius, key, level, kind, free, out, begin, end):
    for k in range(begin, end):
        i = order[k]
        out.before[k, 0], out.before[k, 1] = before[i, 0], before[i, 1]
        out.after[k, 0], out.after[k, 1] = after[i, 0], after[i, 1]
        out.radius[k], out.key[k], out.level[k] = radius[i], key[i], level[i]
        out.simple[k], out.free[k] = kind[i] == DISC, free[i]


@njit(cache=True, nogil=True)
def _grown(array, used):
    bigger = np.empty(2 * len(array), array.dtype)
    bigger[:used] = array[:used]
    return bigger


@njit(cache=True, nogil=True)
def _grown_vectors(array, used):
    bigger = np.empty((2 * len(array), 2))
    bigger[:used] = array[:used]
    return bigger


@njit(cache=True, nogil=True)
def _stretch(grid, c, column, row, dx0, dx1):
    """Where the bodies of cells column+dx0 .. column+dx1 of a row stand: one stretch, or two where it wraps."""
    wide = grid.wide[c]
    if row < 0:
        row += grid.high[c]
    elif row >= grid.high[c]:
        row -= grid.high[c]
    line = grid.first[c] + row * wide
    left, right = column + dx0, column + dx1
    if left < 0:
        return (
            grid.start[line],
            grid.start[line + right + 1],
            grid.start[line + left + wide],
            grid.start[line + wide],
        )
    if right >= wide:
        return (
            grid.start[line + left],
            grid.start[line + wide],
            grid.start[line],
            grid.start[line + right - wide + 1],
        )
    return grid.start[line + left], grid.start[line + right + 1], 0, 0


@njit(cache=True, nogil=True)
def _pairs(grid, bodies, margin, begin, end):
    """The pairs of bodies begin..end (sorted order) with those behind them, and with those of larger classes."""
    room = max(64, 3 * (end - begin))
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    normal, gap, predicted = np.empty((room, 2)), np.empty(room), np.empty(room)
    odd_first, odd_second = np.empty(64, np.int64), np.empty(64, np.int64)
    m, odd = 0, 0
    classes = len(grid.cell)
    for k in range(begin, end):
        mine = bodies.level[k]
        x, y, r = bodies.after[k, 0], bodies.after[k, 1], bodies.radius[k]
        for c in range(mine, classes):
            if c == mine:
                at = bodies.key[k] - grid.first[c]
                row = at // grid.wide[c]
                column = at - row * grid.wide[c]
                low = 0
            else:
                column = int((x - grid.corner[0]) / grid.cell[c]) % grid.wide[c]
                row = int((y - grid.corner[1]) / grid.cell[c]) % grid.high[c]
                low = -1
            for dy in range(low, 2):
                # In its own class a body looks right in its own row, and at the row above: each pair once.
                behind = c == mine and dy == 0
                a0, a1, b0, b1 = _stretch(grid, c, column, row + dy, 0 if behind else -1, 1)
                if behind:
                    a0 = k + 1
                for j in range(a0, a1 + b1 - b0):
                    if j >= a1:
                        j += b0 - a1
                    ex, ey = bodies.after[j, 0] - x, bodies.after[j, 1] - y
                    reach = r + bodies.radius[j] + margin
                    square = ex * ex + ey * ey
                    if square > reach * reach or not (bodies.free[k] or bodies.free[j]):
                        continue
                    a, b = grid.order[k], grid.order[j]
                    if not (bodies.simple[k] and bodies.simple[j]):
                        if odd == len(odd_first):
                            odd_first, odd_second = _grown(odd_first, odd), _grown(odd_second, odd)
                        odd_first[odd], odd_second[odd] = min(a, b), max(a, b)
                        odd += 1
                        continue
                    if m == len(first):
                        first, second = _grown(first, m), _grown(second, m)
                        gap, predicted = _grown(gap, m), _grown(predicted, m)
                        normal = _grown_vectors(normal, m)
                    sx = bodies.before[j, 0] - bodies.before[k, 0]
                    sy = bodies.before[j, 1] - bodies.before[k, 1]
                    apart = np.sqrt(sx * sx + sy * sy)
                    sign = 1.0 if a < b else -1.0
                    if apart > 0.0:
                        normal[m, 0], normal[m, 1] = sign * sx / apart, sign * sy / apart
                    else:
                        normal[m, 0], normal[m, 1] = sign, 0.0
                    first[m], second[m] = min(a, b), max(a, b)
                    gap[m] = apart - r - bodies.radius[j]
                    predicted[m] = np.sqrt(square) - r - bodies.radius[j]
                    m += 1
    return first[:m], second[:m], normal[:m], gap[:m], predicted[:m], odd_first[:odd], odd_second[:odd]
