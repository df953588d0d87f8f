"""Broad phase: pairs of neighbors from uniform grids, one grid per size class, in time linear in the number of bodies.

Bodies are sorted by cell, so that neighbors in space are neighbors in memory. A cell is at least as wide as the largest
body of its size class, so that partners of the same class lie in the 3 x 3 cells around a body (3 x 3 x 3 in 3D).
Classes differ by a factor of two; of two classes, either the bodies of the smaller one search the cells around them in
the grid of the larger one, or the other way around (`put_windows`). A few large bodies among many small ones therefore
cost nothing extra. Grids are periodic: a body that is far away falls
into some other cell, which costs a needless test but creates no pair. Along an axis with a period the cells fill it
exactly, and distances are those of the nearest images.

2D and 3D share the code. `axes` is the tuple (0, 1) or (0, 1, 2), whose length is known at compile time, so that loops
over axes are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry.vectors import Vec3
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints, counting_sort
from ..solvers.threads import on_threads, thread_count

BODIES_PER_TASK = 5000  # bodies per task of a thread
SIZE_CLASSES = 48  # size classes, a factor of two each
CELL_ROUNDING = 1e-9  # by this fraction cells are wider, so that rounding cannot put a neighbor two cells away

Axes = tuple[int, ...]


def fits(period: Floats, radius: Floats, margin: float) -> bool:
    """Whether the periods (D,), 0 for axes without one, are long enough for `neighbors`: four cells of the largest."""
    least = 4.0 * (2.0 * float(radius.max(initial=0.0)) + margin) * (1.0 + CELL_ROUNDING)
    return bool(((period == 0.0) | (period >= least)).all())


def neighbors(
    place: Floats, radius: Floats, free: np.ndarray, margin: float, period: Floats | None = None
) -> tuple[Ints, Ints]:
    """All pairs (first, second) of circles or spheres whose gap is at most `margin`, with first < second.

    `place` (n, D) are their centers, D = 2 or 3. Pairs of two bodies that are not free are left out. `period` holds the
    lengths of the periods (see `fits`).
    """
    n = len(radius)
    axes: Axes = (0, 1) if place.shape[1] == 2 else (0, 1, 2)
    if period is None:
        period = np.zeros(len(axes))
    if n <= BODIES_PER_TASK or thread_count() == 1:
        return _alone(axes, Spheres(place, radius, free), margin, period)
    pieces = min(-(-n // BODIES_PER_TASK), 8 * thread_count())
    edges = [(n * k // pieces, n * (k + 1) // pieces) for k in range(pieces)]
    grid, bodies, in_order = grid_of(axes, Spheres(place, radius, free), margin, period)
    _each(lambda low, up: put_cells(axes, grid, bodies, low, up), edges)
    sort_cells(grid, bodies.key)
    _each(lambda low, up: gather(axes, grid.order, bodies, in_order, low, up), edges)
    found: dict[int, tuple[Ints, Ints]] = {}

    def search(low: int, up: int) -> None:
        found[low] = _pairs(axes, grid, in_order, margin, low, up)

    _each(search, edges)
    first, second = zip(*(found[low] for low, _ in edges))
    return np.concatenate(first), np.concatenate(second)


@kernel
def _alone(axes, spheres, margin, period):
    """The whole search in one kernel, for few bodies, where calls from Python would dominate."""
    n = len(spheres.radius)
    grid, bodies, in_order = grid_of(axes, spheres, margin, period)
    put_cells(axes, grid, bodies, 0, n)
    sort_cells(grid, bodies.key)
    gather(axes, grid.order, bodies, in_order, 0, n)
    return _pairs(axes, grid, in_order, margin, 0, n)


def _each(work: Callable[[int, int], None], edges: list[tuple[int, int]]) -> None:
    """Runs `work` on every range of bodies, on all threads."""

    def one(low: int, high: int) -> float:
        work(low, high)
        return 0.0

    on_threads(one, edges)


@kernel(inline="always")
def _grown(array, used):
    bigger = np.empty(2 * len(array), array.dtype)
    bigger[:used] = array[:used]
    return bigger


@lean
def _wrapped(k, count):
    """The cell number k wrapped into range, and by how many periods it was wrapped: 0, or 1 to either side."""
    if k < 0:
        return k + count, 1.0
    return (k - count, -1.0) if k >= count else (k, 0.0)


@lean
def _stretch(start, line, wide, left, right):
    """The range of bodies in cells left .. right of a row; a second range where it wraps around, and to which side."""
    if left < 0:
        return start[line], start[line + right + 1], start[line + left + wide], start[line + wide], 1.0
    if right >= wide:
        return start[line + left], start[line + wide], start[line], start[line + right - wide + 1], -1.0
    return start[line + left], start[line + right + 1], 0, 0, 0.0


@kernel
def _pairs(axes, grid, bodies, margin, begin, end):
    """Pairs of bodies begin..end (sorted order) with those after them, and with those of other classes."""
    n, room = len(bodies.key) if len(axes) == 3 else 0, max(64, 4 * (end - begin))
    first, second = np.empty(room, np.int32), np.empty(room, np.int32)
    near = Nearby(
        np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.bool_), np.empty(n)
    )
    m, k = 0, begin
    while True:
        # Growing the arrays inside the loops over bodies would make them three times slower.
        if len(axes) == 2:
            k, m = _search_plane(axes, grid, bodies, margin, (k, end), (first, second), m)
        else:
            k, m = _search_space(axes, grid, bodies, margin, (k, end), (first, second), near, m)
        if k == end:
            break
        first, second = _grown(first, m), _grown(second, m)
    a, b = np.empty(m, np.int64), np.empty(m, np.int64)
    for i in range(m):
        one, two = grid.order[first[i]], grid.order[second[i]]
        a[i], b[i] = min(one, two), max(one, two)
    return a, b


@lean
def _search_plane(axes, grid, bodies, margin, span, pairs, m):
    """Adds pairs (in sorted order) of the bodies of a range to `pairs` (first, second) while there is room, in 2D.

    Returns the first body that is not done, and the number of pairs. A disc has too few neighbors to copy them.
    """
    start, period, ball = grid.start, grid.period, bodies.ball
    first, second = pairs
    for k in range(span[0], span[1]):
        had, mine, free = m, bodies.level[k], bodies.free[k]
        for c in range(grid.cells.shape[1]):
            reach, own, wide = grid.window[mine, c], c == mine, grid.cells[0, c]
            if reach == 0:
                continue
            at = bodies.key[k] - grid.first[c] if own else cell_of(axes, grid, ball[k], c)
            line = at // wide
            column = at - line * wide
            # In its own class a disc searches to the right in its own row, and the row above: each pair is found once.
            for side in range(0 if own else -reach, reach + 1):
                row, turn = _wrapped(line + side, grid.cells[1, c])
                x, y, limit = ball[k, 0], ball[k, 1] + turn * period[1], ball[k, 2] + margin
                behind = own and side == 0
                left, row = column if behind else column - reach, grid.first[c] + row * wide
                a0, a1, b0, b1, turn = _stretch(start, row, wide, left, column + reach)
                if behind:
                    a0 = k + 1
                while a0 < a1 or b0 < b1:
                    if m + a1 - a0 > len(first):
                        return k, had
                    put = np.uint64(m)
                    for j in range(np.uint64(a0), np.uint64(a1)):
                        ex, ey, r = ball[j, 0] - x, ball[j, 1] - y, limit + ball[j, 2]
                        first[put], second[put] = k, j  # without a branch, which would be mispredicted at most pairs
                        put += np.uint64((ex * ex + ey * ey <= r * r) & (free | bodies.free[j]))
                    m = np.int64(put)
                    a0, a1, b0, b1 = b0, b1, 0, 0
                    x += turn * period[0]
    return span[1], m


@lean
def _search_space(axes, grid, bodies, margin, span, pairs, near, m):
    """What `_search_plane` does, in 3D.

    Bodies of one cell have the same neighbors, which are copied side by side once: a body then has one long loop, of
    which the distances are computed four at a time.
    """
    ball, classes = bodies.ball, grid.cells.shape[1]
    number, px, py, pz, radius, is_free, excess = near
    first, second = pairs
    last, count = -1, 0
    for k in range(span[0], span[1]):
        had, mine, free, key = m, bodies.level[k], bodies.free[k], bodies.key[k]
        for c in range(classes):
            reach, low = grid.window[mine, c], 0
            if reach == 0:
                continue
            if c == mine:
                if key != last:
                    count, last = _collect(grid, bodies, key - grid.first[c], c, reach, True, near), key
                low = k + 1 - grid.start[key]
            else:
                count, last = _collect(grid, bodies, cell_of(axes, grid, ball[k], c), c, reach, False, near), -1
            if m + count - low > len(first):
                return k, had
            x, y, z, limit = ball[k, 0], ball[k, 1], ball[k, 2], ball[k, 3] + margin
            # An index that may be negative costs a test for each array, and the loop is not vectorized.
            for t in range(np.uint64(low), np.uint64(count)):
                ex, ey, ez, r = px[t] - x, py[t] - y, pz[t] - z, limit + radius[t]
                excess[t] = ex * ex + ey * ey + ez * ez - r * r
            put = np.uint64(m)
            for t in range(np.uint64(low), np.uint64(count)):
                first[put], second[put] = k, number[t]  # without a branch, which would be mispredicted at most pairs
                put += np.uint64((excess[t] <= 0.0) & (free | is_free[t]))
            m = np.int64(put)
    return span[1], m


@lean
def _collect(grid, bodies, at, c, reach, own, near):
    """Copies the bodies of class c in the cells up to `reach` around its cell `at` to `near`; returns their number.

    In its own class a body searches to the right in its own row, the rows above and the layers above: each pair is
    found once. The bodies of its own cell then come first.
    """
    period, wide, high = grid.period, grid.cells[0, c], grid.cells[1, c]
    line = at // wide
    column, layer, count = at - line * wide, line // high, 0
    line -= layer * high
    for up in range(0 if own else -reach, reach + 1):
        above, turn = _wrapped(layer + up, grid.cells[2, c])
        z = turn * period[2]
        for side in range(0 if own and up == 0 else -reach, reach + 1):
            row, turn = _wrapped(line + side, high)
            y, behind = turn * period[1], own and up == 0 and side == 0
            left, row = column if behind else column - reach, grid.first[c] + (above * high + row) * wide
            a0, a1, b0, b1, turn = _stretch(grid.start, row, wide, left, column + reach)
            count = _copy(bodies, a0, a1, Vec3(0.0, y, z), near, count)
            count = _copy(bodies, b0, b1, Vec3(turn * period[0], y, z), near, count)
    return count


@lean(inline="always")
def _copy(bodies, low, up, shift, near, count):
    """Adds the bodies low..up (sorted order) to `near`, seen from a body that is shifted; returns their new number."""
    ball, at = bodies.ball, np.uint64(count)
    for j in range(np.uint64(low), np.uint64(up)):
        near.number[at], near.radius[at], near.free[at] = j, ball[j, 3], bodies.free[j]
        near.x[at], near.y[at], near.z[at] = ball[j, 0] - shift.x, ball[j, 1] - shift.y, ball[j, 2] - shift.z
        at += np.uint64(1)
    return np.int64(at)


# ---- sorting bodies into cells


class Grid(NamedTuple):
    """Bodies sorted by cell, for all size classes, smallest first."""

    order: Ints  # (n,) bodies, sorted by cell
    start: Ints  # (cells + 1,) cell c holds order[start[c]:start[c+1]]
    cell: Floats  # (D, classes) widths of a cell
    cells: Ints  # (D, classes) cells along each axis
    first: Ints  # (classes + 1,) number of the first cell
    corner: Floats  # (D,)
    period: Floats  # (D,)
    window: Ints  # (classes, classes) cells to each side in which a body of one class searches another; 0: it does not


class Nearby(NamedTuple):
    """Spheres in the cells around one cell, side by side, with room for all; empty in 2D."""

    number: NDArray[np.int32]  # (n,) in sorted order
    x: Floats  # (n,)
    y: Floats  # (n,)
    z: Floats  # (n,)
    radius: Floats  # (n,)
    free: np.ndarray  # (n,)
    excess: Floats  # (n,) squared distance to a body beyond that of a pair


class Spheres(NamedTuple):
    """Circles or spheres around the bodies."""

    place: Floats  # (n, D)
    radius: Floats  # (n,)
    free: np.ndarray  # (n,)


class GridBodies(NamedTuple):
    """Data of the bodies, in their own order or in that of the grid."""

    ball: Floats  # (n, D + 1) center, within the periods, and radius
    key: Ints  # (n,) cell
    level: np.ndarray  # (n,) size class
    free: np.ndarray  # (n,)


@kernel
def grid_of(axes, spheres, margin, period):
    """A grid without bodies, the bodies without their cells, and room for them in the order of the grid."""
    place, radius, dim = spheres.place, spheres.radius, len(axes)
    n = len(radius)
    corner, extent, level, largest, members = size_classes(place, radius)
    cell, count, first = cell_counts(extent, largest, members, margin, period)
    ball = np.empty((n, dim + 1))
    for i in range(n):
        ball[i, dim] = radius[i]
        for d in range(dim):
            ball[i, d] = place[i, d]
            if period[d] > 0.0:
                ball[i, d] -= period[d] * np.floor((place[i, d] - corner[d]) / period[d])
    order, start = np.empty(n, np.int64), np.empty(first[-1] + 1, np.int64)
    window = windows(largest, members, margin, cell, count)
    in_order = GridBodies(np.empty((n, dim + 1)), np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n, np.bool_))
    bodies = GridBodies(ball, np.empty(n, np.int64), level, spheres.free)
    return Grid(order, start, cell, count, first, corner, period, window), bodies, in_order


@kernel
def windows(largest, members, margin, cell, count):
    """Which of two classes searches the cells of the other: the one that has to look up fewer rows of cells.

    Small bodies search the cells next to their own in the grid of the larger class; large bodies all cells of the
    smaller class that they may reach, provided that these are different cells. See `Grid.window`.
    """
    window = np.eye(len(largest), dtype=np.int64)
    for small in range(len(largest)):
        for large in range(small + 1, len(largest)):
            reach, rows, fits, wide = largest[small] + largest[large] + margin, members[large], True, 0
            for d in range(len(cell)):
                wide = max(wide, int(np.ceil(reach * (1.0 + CELL_ROUNDING) / cell[d, small])))
            for d in range(len(cell)):
                fits = fits and 2 * wide + 1 <= count[d, small]
                rows *= 1 if d == 0 else 2 * wide + 1
            if fits and rows < members[small]:
                window[large, small] = wide
            else:
                window[small, large] = 1
    return window


@kernel
def cell_counts(extent, largest, members, margin, period):
    """Widths of a cell and number of cells along all axes, and number of the first cell, for each size class."""
    classes, dim = len(largest), len(period)
    cell = (2.0 * largest + margin) * (1.0 + CELL_ROUNDING)
    widths = np.empty((dim, classes))
    count = np.empty((dim, classes), np.int64)
    first = np.zeros(classes + 1, np.int64)
    along = np.empty(dim)
    for c in range(classes):
        limit = max(4.0 * members[c], 64.0)
        most = limit / 4.0 ** (dim - 1)
        for d in range(dim):
            along[d] = np.floor(extent[d] / cell[c]) + 2.0 if period[d] == 0.0 else np.floor(period[d] / cell[c])
        total, allowed = along.prod(), limit
        while total > allowed:  # reduce to about `limit` cells of the same aspect ratio, at least four along each axis
            shrink = np.sqrt(limit / total) if dim == 2 else np.cbrt(limit / total)
            total = 1.0
            for d in range(dim):
                along[d] = max(min(along[d] * shrink, most), 4.0)
                total *= along[d]
            allowed = 1.1 * limit
        cells = 1
        for d in range(dim):
            count[d, c] = max(int(along[d]), 4)
            cells *= count[d, c]
            widths[d, c] = cell[c] if period[d] == 0.0 else period[d] / count[d, c]
        first[c + 1] = first[c] + cells
    return widths, count, first


@kernel
def size_classes(position, radius):
    """Low corner and extent of all positions; size class of each body; largest radius and number per class."""
    n, dim = position.shape
    low, high = np.full(dim, np.inf), np.full(dim, -np.inf)
    smallest = np.inf
    for i in range(n):
        for k in range(dim):
            low[k] = min(low[k], position[i, k])
            high[k] = max(high[k], position[i, k])
        smallest = min(smallest, radius[i])
    level = np.zeros(n, np.int8)
    largest, members = np.zeros(SIZE_CLASSES), np.zeros(SIZE_CLASSES, np.int64)
    for i in range(n):
        c = 0
        bound = 2.0 * smallest
        while radius[i] > bound and c < SIZE_CLASSES - 1:
            bound *= 2.0
            c += 1
        level[i] = c
        members[c] += 1
        largest[c] = max(largest[c], radius[i])
    number = np.empty(SIZE_CLASSES, np.int8)
    used = 0
    for c in range(SIZE_CLASSES):
        number[c] = used
        if members[c] > 0:
            largest[used], members[used] = largest[c], members[c]
            used += 1
    if used > 1:
        for i in range(n):
            level[i] = number[level[i]]
    return low, high - low, level, largest[:used].copy(), members[:used].copy()


@lean
def cell_of(axes, grid, place, c):
    """The cell of a position in the grid of class c, counted from the first cell of the class."""
    at = 0
    for d in range(len(axes) - 1, -1, -1):
        k, count = int((place[d] - grid.corner[d]) / grid.cell[d, c]), grid.cells[d, c]
        if k < 0:
            k = 0  # the corner is the lowest, up to rounding at a periodic side
        elif k >= count:
            k = count - 1 if grid.period[d] > 0.0 else k % count
        at = at * count + k
    return at


@kernel(inline="always")
def put_cells(axes, grid, bodies, begin, end):
    """Writes the cells of the bodies begin to end."""
    for i in range(begin, end):
        level = bodies.level[i]
        bodies.key[i] = grid.first[level] + cell_of(axes, grid, bodies.ball[i], np.int64(level))


@kernel(inline="always")
def sort_cells(grid, key):
    """Sorts bodies by cell: writes `order` and `start` of the grid."""
    order, start = counting_sort(key, grid.first[-1])
    grid.order[:] = order
    grid.start[:] = start


@kernel(inline="always")
def gather(axes, order, bodies, out, begin, end):
    """Writes the bodies begin to end of an order."""
    for k in range(begin, end):
        i = order[k]
        for d in range(len(axes) + 1):
            out.ball[k, d] = bodies.ball[i, d]
        out.key[k], out.level[k], out.free[k] = bodies.key[i], bodies.level[i], bodies.free[i]
