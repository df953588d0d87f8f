"""Contacts that a collapse may need within a step (sections 4 and 8.5 of the paper): detection, normals and gaps.

The separating edge of a pair of bricks is the edge of either whose line leaves the largest gap to the other brick.
(Section 8.5 takes the smaller of the two candidates, one from each brick; docs/towers.md explains why that fixes a
tipping brick.) The contacts of the pair are the corners above that edge, and the corners of the edge above the opposite
face of the other brick: of two faces on each other each may have a corner on the other. Bricks are sorted along x, so
that distant pairs are skipped.

A table of near contacts is an (m, 5) array of integers with the columns (on, vertex, under, start, end): corner
`vertex` of brick `on` must stay outside the edge from corner `start` to `end` of brick `under`. Corners are numbered
over all bricks; the ground is -1 in the last three columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .contacts import CONTACT_TOLERANCE, GROUND

END = 1e-9  # in edge lengths: corners up to this far beyond the end of an edge count as above it
TIE = 1e-9  # in shortest sides: separations that differ by less are equal


class Layout(NamedTuple):
    """The constant part of the detection: corners of each brick, and what has no contacts."""

    ptr: Ints  # (n + 1,) first corner of each brick
    free: NDArray[np.bool_]  # (n,) bricks that can move
    apart: Ints  # (k, 2) pairs of bricks (i < j) that share a pin: they have no contacts
    held: NDArray[np.bool_]  # (c,) corners that a pin attaches to the ground
    size: float  # shortest side of any brick
    chosen: Ints  # (k, 5) contacts of bricks that meet corner to corner at the start, as in the tables


def near_contacts(layout: Layout, corners: Floats, ahead: Floats, margin: Floats, paper: bool) -> Ints:
    """(m, 5) contacts of all pairs whose gap is below the sum of their margins (n,).

    `corners` (c, 2) are the present corners, `ahead` (c, 2) those after a step without contacts, which break ties.
    With `paper` the edge is chosen as in section 8.5.
    """
    low = np.minimum.reduceat(corners, layout.ptr[:-1]) - margin[:, None]
    high = np.maximum.reduceat(corners, layout.ptr[:-1]) + margin[:, None]
    order = np.argsort(low[:, 0], kind="stable")
    out, count = _detect(layout, corners, ahead, margin, paper, low, high, order)
    return np.asarray(out[:count])


@kernel
def _detect(layout, corners, ahead, margin, paper, low, high, order):
    """Contacts with the ground, then those of pairs with overlapping boxes [low, high] (n, 2), sorted by low x."""
    n = len(order)
    # Typed constants: Numba would compile the functions below once more for each literal argument.
    ground, count = np.int64(GROUND), np.int64(0)
    out = np.empty((64, 5), np.int64)
    for b in range(n):
        if layout.free[b]:
            for k in range(layout.ptr[b], layout.ptr[b + 1]):
                if corners[k, 1] <= 2.0 * margin[b] and not layout.held[k]:
                    out, count = _emit(out, count, b, k, ground, ground, ground)
    for p in range(n):
        i = order[p]
        for q in range(p + 1, n):
            j = order[q]
            if low[j, 0] > high[i, 0]:
                break
            if low[j, 1] > high[i, 1] or low[i, 1] > high[j, 1] or not (layout.free[i] or layout.free[j]):
                continue
            a, b = min(i, j), max(i, j)
            if not _is_apart(layout.apart, a, b):
                out, count = _pair(layout, corners, ahead, (a, b), margin[a] + margin[b], paper, out, count)
    return out, count


@kernel
def _is_apart(apart, a, b):
    for k in range(len(apart)):  # noqa: SIM110 (Numba compiles no generators)
        if apart[k, 0] == a and apart[k, 1] == b:
            return True
    return False


@kernel
def _emit(out, count, on, vertex, under, start, end):
    """Appends a row to the table `out`, which grows as needed; returns the table and its number of rows."""
    if count == len(out):
        wider = np.empty((2 * count, 5), np.int64)
        for r in range(count):
            for t in range(5):
                wider[r, t] = out[r, t]
        out = wider
    out[count, 0], out[count, 1], out[count, 2], out[count, 3], out[count, 4] = on, vertex, under, start, end
    return out, count + 1


@kernel
def _separation(corners, ptr, edge, after, other):
    """Smallest signed distance of the other brick's corners from the line of an edge, positive outside."""
    ex, ey = corners[after, 0] - corners[edge, 0], corners[after, 1] - corners[edge, 1]
    length = np.hypot(ex, ey)
    nx, ny = ey / length, -ex / length
    least = np.inf
    for k in range(ptr[other], ptr[other + 1]):
        least = min(least, nx * (corners[k, 0] - corners[edge, 0]) + ny * (corners[k, 1] - corners[edge, 1]))
    return least


@kernel
def _next(ptr, brick, k):
    """The corner after k on its brick."""
    return k + 1 if k + 1 < ptr[brick + 1] else ptr[brick]


@kernel
def _best_edge(layout, corners, ahead, brick, other):
    """The edge of `brick` with the largest separation, and its separation now and ahead.

    Ties are broken by the separation ahead, then by the smaller slope.
    """
    ptr, tie = layout.ptr, TIE * layout.size
    best, best_gap, best_ahead, best_level = -1, -np.inf, -np.inf, -1.0
    for k in range(ptr[brick], ptr[brick + 1]):
        after = _next(ptr, brick, k)
        gap = _separation(corners, ptr, k, after, other)
        if gap < best_gap - tie:
            continue
        then = _separation(ahead, ptr, k, after, other)
        level = abs(corners[after, 0] - corners[k, 0])
        larger = gap > best_gap + tie
        if not larger:
            larger = then > best_ahead + tie or (then >= best_ahead - tie and level > best_level)
        if larger:
            best, best_gap, best_ahead, best_level = k, max(gap, best_gap), then, level
    return best, best_gap, best_ahead


@kernel
def _pair(layout, corners, ahead, bricks, margin, paper, out, count):
    """Appends the contacts of two bricks."""
    a, b = bricks
    ptr, tie = layout.ptr, TIE * layout.size
    edge_a, gap_a, then_a = _best_edge(layout, corners, ahead, a, b)
    edge_b, gap_b, then_b = _best_edge(layout, corners, ahead, b, a)
    if max(gap_a, gap_b) > margin:
        return out, count
    row = _chosen(layout, corners, a, b, max(gap_a, gap_b))
    if row >= 0 and not paper:
        on, under = layout.chosen[row, 0], layout.chosen[row, 2]
        return _emit(out, count, on, layout.chosen[row, 1], under, layout.chosen[row, 3], layout.chosen[row, 4])
    if paper:
        first = gap_a <= gap_b
        brick, other, edge = (a, b, edge_a) if first else (b, a, edge_b)
        after = _next(ptr, brick, edge)
        for k in range(ptr[other], ptr[other + 1]):
            out, count = _emit(out, count, other, k, brick, edge, after)
        return out, count
    if abs(gap_a - gap_b) > tie:
        first, second = gap_a > gap_b, gap_a < gap_b
    else:  # equal separations: use both edges, so that mirror images are treated alike
        first, second = then_a >= then_b - tie, then_b >= then_a - tie
    begin = count
    if first:
        out, count = _faces(layout, corners, _Separation(a, b, edge_a, gap_a), margin, out, count)
    if second:
        out, count = _faces(layout, corners, _Separation(b, a, edge_b, gap_b), margin, out, count)
    if first and second:
        count = _without_repeats(out, begin, count)
    return out, count


@kernel
def _chosen(layout, corners, a, b, gap):
    """The row of `layout.chosen` for a pair that still meets corner to corner, else -1.

    Both edges then separate the pair equally well, and the choice of Gauss' principle holds (`contacts.choose`).
    """
    for r in range(len(layout.chosen)):
        on, under = layout.chosen[r, 0], layout.chosen[r, 2]
        if min(on, under) == a and max(on, under) == b:
            here = _separation(corners, layout.ptr, layout.chosen[r, 3], layout.chosen[r, 4], on)
            k, start, end = layout.chosen[r, 1], layout.chosen[r, 3], layout.chosen[r, 4]
            close = 2.0 * CONTACT_TOLERANCE * layout.size
            near = min(
                np.hypot(corners[k, 0] - corners[start, 0], corners[k, 1] - corners[start, 1]),
                np.hypot(corners[k, 0] - corners[end, 0], corners[k, 1] - corners[end, 1]),
            )
            return r if here >= gap - close and near <= close else -1
    return -1


@kernel
def _without_repeats(out, begin, count):
    """Removes contacts of rows begin..count that occur twice; returns the number of rows left."""
    kept = begin
    for p in range(begin, count):
        new = True
        for q in range(begin, kept):
            new = new and not (out[p, 1] == out[q, 1] and out[p, 3] == out[q, 3])
        if new:
            for t in range(5):
                out[kept, t] = out[p, t]
            kept += 1
    return kept


class _Separation(NamedTuple):
    """The edge of a brick that separates it from another one."""

    brick: int
    other: int
    edge: int
    gap: float


@kernel
def _faces(layout, corners, separation, margin, out, count):
    """Appends the corners of `other` above the edge and the corners of the edge above the opposite face of `other`."""
    ptr = layout.ptr
    brick, other, edge, gap = separation
    after = _next(ptr, brick, edge)
    face = _against(corners, ptr, edge, after, other)
    facing = _next(ptr, other, face)
    covered = False
    for k in range(ptr[other], ptr[other + 1]):
        place, height = _above(corners, edge, after, k)
        if -END <= place <= 1.0 + END and height <= margin:
            out, count = _emit(out, count, other, k, brick, edge, after)
            covered = covered or height <= gap + TIE * layout.size
    for k in (edge, after):
        place, height = _above(corners, face, facing, k)
        if -END <= place <= 1.0 + END and -layout.size < height <= margin:
            out, count = _emit(out, count, brick, k, other, face, facing)
            covered = covered or height <= gap + TIE * layout.size
    if covered:
        return out, count
    # The corners are beside the end of the edge: its line is used until another edge separates the pair better.
    for k in range(ptr[other], ptr[other + 1]):
        place, height = _above(corners, edge, after, k)
        if height <= gap + TIE * layout.size and not -END <= place <= 1.0 + END:
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
    """Position of a corner along an edge (0 at the start, 1 at the end) and its signed distance, positive outside."""
    ex, ey = corners[end, 0] - corners[start, 0], corners[end, 1] - corners[start, 1]
    dx, dy = corners[k, 0] - corners[start, 0], corners[k, 1] - corners[start, 1]
    length = np.hypot(ex, ey)
    return (dx * ex + dy * ey) / (length * length), (dx * ey - dy * ex) / length


@kernel
def edge_geometry(near, corners):
    """Unit normal out of the edge (m, 2), position along it (0 at i, 1 at j) and gap of each contact."""
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
def fixed_gaps(near, normal, place, corners):
    """(m,) `n . (p_k - (1 - alpha) p_i - alpha p_j)` for given normals and alphas: linear in the corners."""
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
    """Right-hand side of (S2) and (S'): `-2 A(m_i, m_j, m_k) / |p_j - p_i|` for motions m; A is twice the signed area.

    A is positive outside the brick. The paper prints (S') with a further factor of the step. A is of second degree in
    its arguments, so with differences of positions as arguments there is no such factor.
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
