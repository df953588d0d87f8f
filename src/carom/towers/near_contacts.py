"""Pairs of bricks that may touch within a step, and the corners and edges by which they would.

For each pair the best separating edge is the one of either brick whose line leaves the largest gap to the other brick
(section 8.5 of the paper picks the smaller of the two candidates, one from each brick; see docs/towers.md for why
that holds a tipping brick fast). Constraints of the pair are the corners above that edge, and the corners of its
brick above the face that lies most nearly against it: of two faces on each other each may have a corner on the other.
Pairs beyond reach are never looked at: bricks are sorted along x.

Normals, gaps and turning terms of near contacts: corner k and the edge from i to j, or the ground.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Ints

END = 1e-9  # of an edge's length: how far beyond its end a corner still counts as above it
TIE = 1e-9  # of the smallest brick: separations this close are equal


class Near(NamedTuple):
    """Corners that must stay outside edges: corner `vertex` (of all corners) and the edge from `start` to `end`.

    `start` = -1 is the ground. `on` and `under` are the bricks with the corner and with the edge (-1).
    """

    on: Ints
    vertex: Ints
    under: Ints
    start: Ints
    end: Ints


@kernel
def near_contacts(corners, ahead, ptr, movable, reach, apart, held, size, paper):
    """Contacts of all pairs whose gap is below the sum of their reaches; (m, 5) columns as in `Near`.

    `corners` (c, 2) now, `ahead` (c, 2) where they would be without contact, to settle ties. `ptr` gives each brick's
    corners, `apart` (k, 2) pairs that never touch, `held` (c,) corners that a pin holds to the ground. With `paper`
    the edge is chosen as in section 8.5.
    """
    n = len(ptr) - 1
    low, high = np.empty((n, 2)), np.empty((n, 2))
    for b in range(n):
        for t in range(2):
            low[b, t], high[b, t] = np.inf, -np.inf
            for k in range(ptr[b], ptr[b + 1]):
                low[b, t] = min(low[b, t], corners[k, t])
                high[b, t] = max(high[b, t], corners[k, t])
            low[b, t] -= reach[b]
            high[b, t] += reach[b]
    out = np.empty((64, 5), np.int64)
    count = 0
    for b in range(n):
        if movable[b]:
            for k in range(ptr[b], ptr[b + 1]):
                if corners[k, 1] <= 2.0 * reach[b] and not held[k]:
                    out, count = _emit(out, count, b, k, -1, -1, -1)
    order = np.argsort(low[:, 0], kind="mergesort")
    for p in range(n):
        i = order[p]
        for q in range(p + 1, n):
            j = order[q]
            if low[j, 0] > high[i, 0]:
                break
            if low[j, 1] > high[i, 1] or low[i, 1] > high[j, 1] or not (movable[i] or movable[j]):
                continue
            a, b = min(i, j), max(i, j)
            if not _is_apart(apart, a, b):
                out, count = _pair(corners, ahead, ptr, a, b, reach[a] + reach[b], size, paper, out, count)
    return out[:count]


@kernel
def _is_apart(apart, a, b):
    for k in range(len(apart)):  # noqa: SIM110 (Numba compiles no generators)
        if apart[k, 0] == a and apart[k, 1] == b:
            return True
    return False


@kernel
def _emit(out, count, on, vertex, under, start, end):
    if count == len(out):
        wider = np.empty((2 * count, 5), np.int64)
        wider[:count] = out
        out = wider
    out[count, 0], out[count, 1], out[count, 2], out[count, 3], out[count, 4] = on, vertex, under, start, end
    return out, count + 1


@kernel
def _separation(corners, ptr, edge, after, other):
    """Smallest distance of the other brick's corners from the line of an edge, positive outside."""
    ex, ey = corners[after, 0] - corners[edge, 0], corners[after, 1] - corners[edge, 1]
    length = np.hypot(ex, ey)
    nx, ny = ey / length, -ex / length
    least = np.inf
    for k in range(ptr[other], ptr[other + 1]):
        least = min(least, nx * (corners[k, 0] - corners[edge, 0]) + ny * (corners[k, 1] - corners[edge, 1]))
    return least


@kernel
def _next(ptr, brick, k):
    return k + 1 if k + 1 < ptr[brick + 1] else ptr[brick]


@kernel
def _best_edge(corners, ahead, ptr, brick, other, size):
    """The edge of `brick` with the largest separation; of equals the larger one ahead, then the more level one."""
    best, best_gap, best_ahead, best_level = -1, -np.inf, -np.inf, -1.0
    for k in range(ptr[brick], ptr[brick + 1]):
        after = _next(ptr, brick, k)
        gap = _separation(corners, ptr, k, after, other)
        if gap < best_gap - TIE * size:
            continue
        then = _separation(ahead, ptr, k, after, other)
        level = abs(corners[after, 0] - corners[k, 0])
        larger = gap > best_gap + TIE * size
        if not larger:
            larger = then > best_ahead + TIE * size or (then >= best_ahead - TIE * size and level > best_level)
        if larger:
            best, best_gap, best_ahead, best_level = k, max(gap, best_gap), then, level
    return best, best_gap, best_ahead


@kernel
def _pair(corners, ahead, ptr, a, b, reach, size, paper, out, count):
    edge_a, gap_a, then_a = _best_edge(corners, ahead, ptr, a, b, size)
    edge_b, gap_b, then_b = _best_edge(corners, ahead, ptr, b, a, size)
    if max(gap_a, gap_b) > reach:
        return out, count
    if paper:
        first = gap_a <= gap_b
        brick, other, edge = (a, b, edge_a) if first else (b, a, edge_b)
        after = _next(ptr, brick, edge)
        for k in range(ptr[other], ptr[other + 1]):
            out, count = _emit(out, count, other, k, brick, edge, after)
        return out, count
    if abs(gap_a - gap_b) > TIE * size:
        first, second = gap_a > gap_b, gap_a < gap_b
    else:  # two equally good edges, of which neither may be preferred: mirror images must be treated alike
        first, second = then_a >= then_b - TIE * size, then_b >= then_a - TIE * size
    begin = count
    if first:
        out, count = _faces(corners, ptr, a, b, edge_a, gap_a, reach, size, out, count)
    if second:
        out, count = _faces(corners, ptr, b, a, edge_b, gap_b, reach, size, out, count)
    if first and second:
        count = _without_repeats(out, begin, count)
    return out, count


@kernel
def _without_repeats(out, begin, count):
    kept = begin
    for p in range(begin, count):
        new = True
        for q in range(begin, kept):
            new = new and not (out[p, 1] == out[q, 1] and out[p, 3] == out[q, 3])
        if new:
            out[kept] = out[p]
            kept += 1
    return kept


@kernel
def _faces(corners, ptr, brick, other, edge, gap, reach, size, out, count):
    """Corners of `other` above the edge, corners of the edge above the face of `other` that lies against it."""
    after = _next(ptr, brick, edge)
    face = _against(corners, ptr, edge, after, other)
    facing = _next(ptr, other, face)
    covered = False
    for k in range(ptr[other], ptr[other + 1]):
        place, height = _above(corners, edge, after, k)
        if -END <= place <= 1.0 + END and height <= reach:
            out, count = _emit(out, count, other, k, brick, edge, after)
            covered = covered or height <= gap + TIE * size
    for k in (edge, after):
        place, height = _above(corners, face, facing, k)
        if -END <= place <= 1.0 + END and -size < height <= reach:
            out, count = _emit(out, count, brick, k, other, face, facing)
            covered = covered or height <= gap + TIE * size
    if covered:
        return out, count
    # Beside the end of the edge: its line must serve until another edge separates the pair better.
    for k in range(ptr[other], ptr[other + 1]):
        place, height = _above(corners, edge, after, k)
        if height <= gap + TIE * size and not -END <= place <= 1.0 + END:
            out, count = _emit(out, count, other, k, brick, edge, after)
    return out, count


@kernel
def _against(corners, ptr, edge, after, other):
    """The edge of `other` whose normal is most nearly opposite."""
    ex, ey = corners[after, 0] - corners[edge, 0], corners[after, 1] - corners[edge, 1]
    best, least = -1, np.inf
    for k in range(ptr[other], ptr[other + 1]):
        then = _next(ptr, other, k)
        fx, fy = corners[then, 0] - corners[k, 0], corners[then, 1] - corners[k, 1]
        cosine = (ex * fx + ey * fy) / np.hypot(fx, fy)
        if cosine < least:
            best, least = k, cosine
    return best


@kernel
def _above(corners, start, end, k):
    """Where along the edge (0 to 1) a corner stands, and how far outside."""
    ex, ey = corners[end, 0] - corners[start, 0], corners[end, 1] - corners[start, 1]
    dx, dy = corners[k, 0] - corners[start, 0], corners[k, 1] - corners[start, 1]
    length = np.hypot(ex, ey)
    return (dx * ex + dy * ey) / (length * length), (dx * ey - dy * ex) / length


@kernel
def edge_geometry(near, corners):
    """Unit normal out of the edge (m, 2), place along it (0 at i, 1 at j) and gap of each contact."""
    m = len(near)
    normal, place, gap = np.empty((m, 2)), np.zeros(m), np.empty(m)
    for c in range(m):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        if i < 0:
            normal[c, 0], normal[c, 1], gap[c] = 0.0, 1.0, corners[k, 1]
            continue
        ex, ey = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1]
        dx, dy = corners[k, 0] - corners[i, 0], corners[k, 1] - corners[i, 1]
        length = np.hypot(ex, ey)
        normal[c, 0], normal[c, 1] = ey / length, -ex / length
        place[c] = (dx * ex + dy * ey) / (length * length)
        gap[c] = (dx * ey - dy * ex) / length
    return normal, place, gap


@kernel
def true_gaps(near, corners):
    """The gap of each contact for corners anywhere: distance of corner k from the line of its edge."""
    gap = np.empty(len(near))
    for c in range(len(near)):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        if i < 0:
            gap[c] = corners[k, 1]
            continue
        ex, ey = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1]
        dx, dy = corners[k, 0] - corners[i, 0], corners[k, 1] - corners[i, 1]
        gap[c] = (dx * ey - dy * ex) / np.hypot(ex, ey)
    return gap


@kernel
def fixed_gaps(near, normal, place, corners):
    """`n . (p_k - (1 - alpha) p_i - alpha p_j)` with normal and alpha as they are given: linear in the corners."""
    gap = np.empty(len(near))
    for c in range(len(near)):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        gap[c] = normal[c, 0] * corners[k, 0] + normal[c, 1] * corners[k, 1]
        if i >= 0:
            for t in range(2):
                gap[c] -= normal[c, t] * ((1.0 - place[c]) * corners[i, t] + place[c] * corners[j, t])
    return gap


@kernel
def turning(near, corners, moved):
    """Right-hand side of (S2) and (S'): `-2 A(m_i, m_j, m_k) / |p_j - p_i|` for motions m, A the doubled signed area.

    A is taken with the sign that is positive outside the brick. The paper prints (S') with a further factor of the
    step; A is of second degree in its arguments, so with differences of positions in it nothing is left over.
    """
    out = np.zeros(len(near))
    for c in range(len(near)):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        if i >= 0:
            ex, ey = moved[j, 0] - moved[i, 0], moved[j, 1] - moved[i, 1]
            dx, dy = moved[k, 0] - moved[i, 0], moved[k, 1] - moved[i, 1]
            length = np.hypot(corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1])
            out[c] = -2.0 * (dx * ey - dy * ex) / length
    return out
