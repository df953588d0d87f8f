"""Contact manifold of a mesh: few of the sample points in contact, the corners of outlines and the lowest points.

Candidates that are connected through neighbors form a component. Its convex outline tells how far the contact extends,
which keeps a resting body from rocking. Within a component, pieces are connected through neighbors of about the same
height; a piece whose bottom has no lower neighbor contributes the outline of that bottom. A large tolerance for equal
heights gives both ends of an edge that a body lies on, a small one all local minima. The choice has the symmetry of the
configuration: points are compared, never taken in order, and all of equal points stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints

_MOST = 48  # contacts of one side of a pair; the deepest stay, and all that equal the last of them
_STRAIGHT = 1e-6  # of the size of an outline: a corner that protrudes by less is none
_FINE = 1e-3  # of the tie: a second, smaller tolerance, with which the lowest points stay too


class Candidates(NamedTuple):
    """Sample points within the margin, and scratch arrays. The first `used[0]` rows are in use."""

    used: Ints  # (1,)
    point: Ints  # (k,) number of the point
    place: Floats  # (k, 3) of the point, in the frame of the world
    normal: Floats  # (k, 3) unit, from the point's body to the other
    gap: Floats  # (k,)
    predicted: Floats  # (k,)
    keep: Ints  # (k,) not 0 for the chosen ones
    piece: Ints  # (k,) parent in the tree of a piece
    lowest: Floats  # (k,) at the root of a piece, its least predicted gap
    head: Ints  # (k,) at the root of a piece, the first member of its bottom, -1 if it has a lower neighbor
    following: Ints  # (k,) next member of the same bottom
    flat: Floats  # (k, 2) coordinates in the plane of the component
    row: Ints  # (points,) candidate of a point, or -1
    link: Ints  # (edges, 2) neighbors that are both candidates


@kernel
def candidate_room(points, edges):
    """Empty candidates for shapes of up to `points` points and `edges` pairs of neighbors."""
    return Candidates(
        np.zeros(1, np.int64),
        np.empty(points, np.int64),
        np.empty((points, 3)),
        np.empty((points, 3)),
        np.empty(points),
        np.empty(points),
        np.empty(points, np.int64),
        np.empty(points, np.int64),
        np.empty(points),
        np.empty(points, np.int64),
        np.empty(points, np.int64),
        np.empty((points, 2)),
        np.full(points, -1),
        np.empty((edges, 2), np.int64),
    )


@kernel
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _join(parent, i, j):
    i, j = _root(parent, i), _root(parent, j)
    if i < j:
        parent[j] = i
    elif j < i:
        parent[i] = j


@kernel
def _link(c, edge, begin, end):
    """Writes the pairs of neighbors among the candidates to `c.link`; returns their number."""
    for i in range(c.used[0]):
        c.row[c.point[i]], c.keep[i] = i, 0
    n = 0
    for e in range(begin, end):
        i, j = c.row[edge[e, 0]], c.row[edge[e, 1]]
        if i >= 0 and j >= 0:
            c.link[n, 0], c.link[n, 1] = i, j
            n += 1
    for i in range(c.used[0]):
        c.row[c.point[i]] = -1
    return n


@kernel
def _connect(c, links, tie, bottom):
    """Joins neighbors whose heights differ by at most `tie` to pieces, and lists the bottoms of pieces.

    The bottom is all members within `bottom` of the lowest one. A piece along a slope may extend far in height; it
    counts as continuing downward only if its bottom has lower neighbors.
    """
    for i in range(c.used[0]):
        c.piece[i], c.lowest[i], c.head[i] = i, c.predicted[i], -1
    for e in range(links):
        i, j = c.link[e, 0], c.link[e, 1]
        if abs(c.predicted[i] - c.predicted[j]) <= tie:
            _join(c.piece, i, j)
    for i in range(c.used[0]):
        root = _root(c.piece, i)
        c.lowest[root] = min(c.lowest[root], c.predicted[i])
    for i in range(c.used[0] - 1, -1, -1):
        root = c.piece[i] = _root(c.piece, i)
        if c.predicted[i] <= c.lowest[root] + bottom:
            c.following[i], c.head[root] = c.head[root], i
    for e in range(links):
        i, j = c.link[e, 0], c.link[e, 1]
        if c.predicted[i] < c.predicted[j]:
            i, j = j, i
        root = c.piece[i]
        if c.predicted[i] - c.predicted[j] > tie and c.predicted[i] <= c.lowest[root] + bottom:
            c.head[root] = -1


@kernel
def _flatten(c, head):
    """Projects the members of a list along their mean normal about their center; returns (size, farthest member)."""
    nx, ny, nz, mx, my, mz, count = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0
    i = head
    while i >= 0:
        nx, ny, nz = nx + c.normal[i, 0], ny + c.normal[i, 1], nz + c.normal[i, 2]
        mx, my, mz = mx + c.place[i, 0], my + c.place[i, 1], mz + c.place[i, 2]
        count += 1
        i = c.following[i]
    mx, my, mz = mx / count, my / count, mz / count
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    if length < 1e-9 * count:
        nx, ny, nz, length = 0.0, 0.0, 1.0, 1.0
    nx, ny, nz = nx / length, ny / length, nz / length
    # Two directions perpendicular to the normal.
    if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
        ux, uy, uz = 0.0, nz, -ny
    elif abs(ny) <= abs(nz):
        ux, uy, uz = -nz, 0.0, nx
    else:
        ux, uy, uz = ny, -nx, 0.0
    length = np.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux / length, uy / length, uz / length
    vx, vy, vz = ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux
    size, farthest = -1.0, head
    i = head
    while i >= 0:
        px, py, pz = c.place[i, 0] - mx, c.place[i, 1] - my, c.place[i, 2] - mz
        a, b = ux * px + uy * py + uz * pz, vx * px + vy * py + vz * pz
        c.flat[i, 0], c.flat[i, 1] = a, b
        far = a * a + b * b
        # Of points above each other the lowest counts.
        if far > size * (1.0 + _STRAIGHT) or (
            far > size * (1.0 - _STRAIGHT) and c.predicted[i] < c.predicted[farthest]
        ):
            size, farthest = far, i
        i = c.following[i]
    return np.sqrt(size), farthest


@kernel
def _keep_outline(c, head, mark):
    """Marks the corners of the convex outline of a list by gift wrapping from its farthest member.

    `mark` is unique to this outline: the loop also ends where rounding leads back to a corner other than the first.
    """
    if c.following[head] < 0:
        c.keep[head] = mark
        return
    size, start = _flatten(c, head)
    if size == 0.0:
        c.keep[head] = mark
        return
    now = start
    while True:
        c.keep[now] = mark
        chosen, cx, cy, far = -1, 0.0, 0.0, 0.0
        i = head
        while i >= 0:
            dx, dy = c.flat[i, 0] - c.flat[now, 0], c.flat[i, 1] - c.flat[now, 1]
            length = np.sqrt(dx * dx + dy * dy)
            if length > _STRAIGHT * size:
                cross = (cx * dy - cy * dx) / far if chosen >= 0 else -np.inf
                # Farther out than the best so far; or as far out and more distant; or at the same place and lower.
                further = length > far + _STRAIGHT * size
                if chosen >= 0 and not further and length > far - _STRAIGHT * size:
                    further = c.predicted[i] < c.predicted[chosen]
                if cross < -_STRAIGHT * size or (cross < _STRAIGHT * size and further):
                    chosen, cx, cy, far = i, dx, dy, length
            i = c.following[i]
        if chosen < 0 or c.keep[chosen] == mark:
            break
        now = chosen


@kernel
def _cut(c, tie):
    """Drops the highest contacts beyond _MOST; returns the number that stays."""
    n = 0
    heights = np.empty(c.used[0])
    for i in range(c.used[0]):
        if c.keep[i]:
            heights[n] = c.predicted[i]
            n += 1
    if n <= _MOST:
        return n
    limit = np.inf
    for i in range(n):  # no sorting: it takes seconds to compile, and this is rare
        below = 0
        for j in range(n):
            below += heights[j] <= heights[i]
        if below >= _MOST:
            limit = min(limit, heights[i] + tie)
    n = 0
    for i in range(c.used[0]):
        if c.predicted[i] > limit:
            c.keep[i] = 0
        elif c.keep[i]:
            n += 1
    return n


@kernel
def reduce(c, edge, begin, end, tie, band):
    """Marks in `c.keep` the contacts that stay; returns their number. Heights that differ by up to `tie` are equal.

    With a `band` the outlines of whole components stay, and of their bottoms within this height; without (0) only the
    local minima stay, for round bodies.
    """
    if c.used[0] == 0:
        return 0
    links = _link(c, edge, begin, end)
    for pass_ in range(4 if band > 0.0 else 1):
        joined, bottom = tie, tie
        if pass_ == 1:
            bottom = _FINE * tie
        elif pass_ == 2:
            joined, bottom = max(tie, band), max(tie, band)
        elif pass_ == 3:
            joined, bottom = np.inf, np.inf
        _connect(c, links, joined, bottom)
        for i in range(c.used[0]):
            if c.head[i] >= 0:
                _keep_outline(c, c.head[i], 1 + pass_ * c.used[0] + i)
    return _cut(c, tie)
