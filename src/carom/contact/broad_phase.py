"""Broad phase: pairs of neighbors from uniform grids, one grid per size class, in time linear in the number of bodies.

Bodies are sorted by cell, so that neighbors in space are neighbors in memory. A cell is at least as wide as the largest
body of its size class, so that partners of the same class lie in the 3 x 3 cells around a body (3 x 3 x 3 in 3D).
Classes differ by a factor of two; a small body also searches the cells around it in the grid of every larger class. A
few large bodies among many small ones therefore cost nothing extra. Grids are periodic: a body that is far away falls
into some other cell, which costs a needless test but creates no contact. Along an axis with a period the cells fill it
exactly, and distances are those of the nearest images.

Pairs of discs and of spheres are tested here, because a list of candidate pairs would cost more than the test.

2D and 3D share the code. `axes` is the tuple (0, 1) or (0, 1, 2), whose length is known at compile time, so that loops
over axes are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..solvers.threads import on_threads, thread_count

PIECE = 5000  # bodies per task of a thread
CLASSES = 48  # size classes, a factor of two each
ROUNDING = 1e-9  # by this fraction cells are wider, so that rounding cannot put a neighbor two cells away

Axes = tuple[int, ...]
Pairs = tuple[Ints, Ints, Floats, Floats, Floats, Ints, Ints]


def fits(period: Floats, radius: Floats, margin: float) -> bool:
    """Whether the periods (D,), 0 for axes without one, are long enough for `neighbors`: four cells of the largest."""
    least = 4.0 * (2.0 * float(radius.max(initial=0.0)) + margin) * (1.0 + ROUNDING)
    return bool(((period == 0.0) | (period >= least)).all())


def neighbors(
    before: Floats,
    after: Floats,
    radius: Floats,
    is_round: np.ndarray,
    free: np.ndarray,
    margin: float,
    period: Floats | None = None,
) -> Pairs:
    """All pairs of round bodies whose gap after the step is at most `margin`, and all other pairs that may be as close.

    `before` and `after` are positions (n, D), D = 2 or 3. `is_round` (n,) marks discs and spheres of the given
    `radius`; for any other body it is the radius of the bounding circle or sphere.

    Returns (first, second, normal, gap before, gap after) of pairs of round bodies with first < second, then
    (first, second) of all other pairs. Pairs of two bodies that are not free are left out. `period` holds the lengths
    of the periods (see `fits`), for bodies that are not round only.
    """
    n = len(radius)
    axes: Axes = (0, 1) if before.shape[1] == 2 else (0, 1, 2)
    if period is None:
        period = np.zeros(len(axes))
    if n <= PIECE or thread_count() == 1:
        return _alone(axes, before, after, radius, is_round, free, margin, period)
    pieces = min(-(-n // PIECE), 8 * thread_count())
    edges = [(n * k // pieces, n * (k + 1) // pieces) for k in range(pieces)]
    corner, extent, level, largest, members = size_classes(axes, after, radius)
    cell, count, first = cell_counts(axes, extent, largest, members, margin, period)
    key = np.empty(n, np.int64)
    _each(lambda low, up: put_cells(axes, after, level, cell, count, first, corner, key, low, up), edges)
    order, start = counting_sort(key, first[-1])
    grid = Grid(order, start, cell, count, first, corner)
    bodies = sorted_room(axes, n)
    _each(
        lambda low, up: gather(axes, order, before, after, radius, key, level, is_round, free, bodies, low, up), edges
    )
    found: dict[int, Pairs] = {}

    def search(low: int, up: int) -> None:
        found[low] = _pairs(axes, grid, bodies, margin, period, low, up)

    _each(search, edges)
    return tuple(np.concatenate([found[low][i] for low, _ in edges]) for i in range(7))  # type: ignore[return-value]


@kernel
def _alone(axes, before, after, radius, is_round, free, margin, period):
    """The whole search in one kernel, for few bodies, where calls from Python would dominate."""
    n = len(radius)
    corner, extent, level, largest, members = size_classes(axes, after, radius)
    cell, count, first = cell_counts(axes, extent, largest, members, margin, period)
    key = np.empty(n, np.int64)
    put_cells(axes, after, level, cell, count, first, corner, key, 0, n)
    order, start = counting_sort(key, first[-1])
    bodies = sorted_room(axes, n)
    gather(axes, order, before, after, radius, key, level, is_round, free, bodies, 0, n)
    return _pairs(axes, Grid(order, start, cell, count, first, corner), bodies, margin, period, 0, n)


def _each(work: Callable[[int, int], None], edges: list[tuple[int, int]]) -> None:
    """Runs `work` on every range of bodies, on all threads."""

    def one(low: int, high: int) -> float:
        work(low, high)
        return 0.0

    on_threads(one, edges)


@kernel
def _grown(array, used):
    bigger = np.empty(2 * len(array), array.dtype)
    bigger[:used] = array[:used]
    return bigger


@kernel
def _wrapped(k, count):
    """The cell number k, at most one beyond the ends, wrapped into range."""
    if k < 0:
        return k + count
    return k - count if k >= count else k


@kernel
def _lines(axes, grid, c, line, lowest, out):
    """Writes the first cells of the 3 or 9 rows around row `line` (counted through all layers), from `lowest` on."""
    wide, high = grid.cells[0, c], grid.cells[1, c]
    if len(axes) == 2:
        for q in range(lowest, 3):
            out[q] = grid.first[c] + _wrapped(line + q - 1, high) * wide
        return
    layer = line // high
    row = line - layer * high
    for q in range(lowest, 9):
        above = _wrapped(layer + q // 3 - 1, grid.cells[2, c])
        out[q] = grid.first[c] + (above * high + _wrapped(row + q % 3 - 1, high)) * wide


@kernel
def _stretch(start, line, wide, left, right):
    """The range of bodies in cells left .. right of a row, and a second range where it wraps around."""
    if left < 0:
        return start[line], start[line + right + 1], start[line + left + wide], start[line + wide]
    if right >= wide:
        return start[line + left], start[line + wide], start[line], start[line + right - wide + 1]
    return start[line + left], start[line + right + 1], 0, 0


@kernel
def _pairs(axes, grid, bodies, margin, period, begin, end):
    """Pairs of bodies begin..end (sorted order) with those after them, and with those of larger classes."""
    room = max(64, 3 * (end - begin))
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    most = max(64, 4 * (end - begin)) if begin < end and not bodies.round[begin] else 64
    odd_first, odd_second = np.empty(most, np.int64), np.empty(most, np.int64)
    m, odd, k = 0, 0, begin
    while True:
        # Growing the arrays inside the loops over bodies would make them three times slower.
        k, m, odd = _search(axes, grid, bodies, margin, period, k, end, first, second, m, odd_first, odd_second, odd)
        if k == end:
            break
        first, second = _grown(first, m), _grown(second, m)
        odd_first, odd_second = _grown(odd_first, odd), _grown(odd_second, odd)
    normal, gap, predicted = _measured(axes, grid.order, bodies.before, bodies.ball, first, second, m)
    return first[:m], second[:m], normal, gap, predicted, odd_first[:odd], odd_second[:odd]


@kernel
def _search(axes, grid, bodies, margin, period, begin, end, first, second, m, odd_first, odd_second, odd):
    """Adds pairs (in sorted order) of bodies begin..end while there is room.

    Returns the first body that is not done, and the numbers of pairs.
    """
    start, classes, at_line, periodic = grid.start, grid.cells.shape[1], -1, period.max() > 0.0
    # In its own class a body searches to the right in its own row, the row above and the layer above: each pair once.
    # Rows are counted from the lowest of the lowest layer; its own is in the middle.
    rows, own = (3, 1) if len(axes) == 2 else (9, 4)
    lines = np.empty((2, rows), np.int64)  # in its own class, and in a larger one
    for k in range(begin, end):
        had, had_odd, mine = m, odd, bodies.level[k]
        x, y, z, r = bodies.ball[k, 0], bodies.ball[k, 1], bodies.ball[k, 2], bodies.ball[k, len(axes)]
        for c in range(mine, classes):
            larger = int(c > mine)
            wide = grid.cells[0, c]
            if larger:
                at = cell_of(axes, bodies.ball[k], grid.corner, grid.cell, grid.cells, c)
            else:
                at = bodies.key[k] - grid.first[c]
            line = at // wide
            column = at - line * wide
            if larger:
                _lines(axes, grid, c, line, 0, lines[1])
            elif grid.first[c] + line != at_line:  # bodies of one row are consecutive
                at_line = grid.first[c] + line
                _lines(axes, grid, c, line, own, lines[0])
            for q in range(0 if larger else own, rows):
                behind = q == own and not larger
                a0, a1, b0, b1 = _stretch(start, lines[larger, q], wide, column if behind else column - 1, column + 1)
                if behind:
                    a0 = k + 1
                while a0 < a1 or b0 < b1:
                    for j in range(a0, a1):
                        ex, ey = bodies.ball[j, 0] - x, bodies.ball[j, 1] - y
                        square = ex * ex + ey * ey
                        if len(axes) == 3:
                            ez = bodies.ball[j, 2] - z
                            square += ez * ez
                        if periodic:
                            square = 0.0
                            for d in range(len(axes)):
                                e = nearest_image(bodies.ball[j, d] - bodies.ball[k, d], period[d])
                                square += e * e
                        reach = r + bodies.ball[j, len(axes)] + margin
                        if square > reach * reach or not (bodies.free[k] or bodies.free[j]):
                            continue
                        if m == len(first) or odd == len(odd_first):
                            return k, had, had_odd
                        if bodies.round[k] and bodies.round[j]:
                            first[m], second[m] = k, j
                            m += 1
                        else:
                            a, b = grid.order[k], grid.order[j]
                            odd_first[odd], odd_second[odd] = min(a, b), max(a, b)
                            odd += 1
                    a0, a1, b0, b1 = b0, b1, 0, 0
    return end, m, odd


@kernel
def _measured(axes, order, before, ball, first, second, m):
    """Normals and gaps of m pairs. Replaces the sorted numbers in `first` and `second` by bodies, first < second.

    Where centers coincide the normal is along x, with its sign reversed for the other order.
    """
    normal, gap, predicted = np.empty((m, len(axes))), np.empty(m), np.empty(m)
    for i in range(m):
        k, j = first[i], second[i]
        a, b = order[k], order[j]
        sign = 1.0 if a < b else -1.0
        square, then = 0.0, 0.0
        for d in range(len(axes)):
            e, f = before[j, d] - before[k, d], ball[j, d] - ball[k, d]
            square += e * e
            then += f * f
        apart = np.sqrt(square)
        if apart > 0.0:
            for d in range(len(axes)):
                normal[i, d] = sign * (before[j, d] - before[k, d]) / apart
        else:
            for d in range(len(axes)):
                normal[i, d] = sign if d == 0 else 0.0
        first[i], second[i] = min(a, b), max(a, b)
        gap[i] = apart - ball[k, len(axes)] - ball[j, len(axes)]
        predicted[i] = np.sqrt(then) - ball[k, len(axes)] - ball[j, len(axes)]
    return normal, gap, predicted


# ---- sorting bodies into cells


class Grid(NamedTuple):
    """Bodies sorted by cell, for all size classes, smallest first."""

    order: Ints  # (n,) bodies, sorted by cell
    start: Ints  # (cells + 1,) cell c holds order[start[c]:start[c+1]]
    cell: Floats  # (D, classes) widths of a cell
    cells: Ints  # (D, classes) cells along each axis
    first: Ints  # (classes + 1,) number of the first cell
    corner: Floats  # (D,)


class Sorted(NamedTuple):
    """Data of the bodies in the order of the grid."""

    before: Floats  # (n, D)
    ball: Floats  # (n, D + 1) position after the step, and radius
    key: Ints  # (n,) cell
    level: np.ndarray  # (n,) size class
    round: np.ndarray  # (n,) whether it is a disc or a sphere
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
def nearest_image(distance, period):
    """A distance along an axis to the nearest image, if the axis has a period."""
    return distance - period * np.rint(distance / period) if period > 0.0 else distance


@kernel
def cell_counts(axes, extent, largest, members, margin, period):
    """Widths of a cell and number of cells along all axes, and number of the first cell, for each size class."""
    classes = len(largest)
    cell = (2.0 * largest + margin) * (1.0 + ROUNDING)
    widths = np.empty((len(axes), classes))
    count = np.empty((len(axes), classes), np.int64)
    first = np.zeros(classes + 1, np.int64)
    along = np.empty(len(axes))
    for c in range(classes):
        limit = max(4.0 * members[c], 64.0)
        most = limit / 4.0 ** (len(axes) - 1)
        for d in range(len(axes)):
            along[d] = np.floor(extent[d] / cell[c]) + 2.0 if period[d] == 0.0 else np.floor(period[d] / cell[c])
        total, allowed = along.prod(), limit
        while total > allowed:  # reduce to about `limit` cells of the same aspect ratio, at least four along each axis
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
            widths[d, c] = cell[c] if period[d] == 0.0 else period[d] / count[d, c]
        first[c + 1] = first[c] + cells
    return widths, count, first


@kernel
def size_classes(axes, position, radius):
    """Low corner and extent of all positions; size class of each body; largest radius and number per class."""
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
    """The cell of a position in the grid of class c, counted from the first cell of the class."""
    at = 0
    for d in range(len(axes) - 1, -1, -1):
        k = int((place[d] - corner[d]) / width[d, c])  # never negative: the corner is the lowest
        at = at * count[d, c] + (k if k < count[d, c] else k % count[d, c])
    return at


@kernel
def put_cells(axes, position, level, cell, count, first, corner, key, begin, end):
    for i in range(begin, end):
        c = level[i]
        key[i] = first[c] + cell_of(axes, position[i], corner, cell, count, c)


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
def gather(axes, order, before, after, radius, key, level, is_round, free, out, begin, end):
    for k in range(begin, end):
        i = order[k]
        for d in range(len(axes)):
            out.before[k, d], out.ball[k, d] = before[i, d], after[i, d]
        out.ball[k, len(axes)], out.key[k], out.level[k] = radius[i], key[i], level[i]
        out.round[k], out.free[k] = is_round[i], free[i]
