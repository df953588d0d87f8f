"""Contact manifold of a mesh: few of the sample points in contact, the corners of outlines and the lowest points.

Candidates that are connected through neighbors form a component. Its convex outline tells how far the contact extends,
which keeps a resting body from rocking. Within a component, pieces are connected through neighbors of about the same
height (predicted gap); a piece whose bottom has no lower neighbor contributes the outline of that bottom. A large
tolerance for equal heights gives both ends of an edge that a body lies on, a small one all local minima. The choice has
the symmetry of the configuration: points are compared, never taken in order, and all of equal points stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec2, Vec3, across, cross, dot, norm, put_row, row2
from ..kernels import kernel, lean
from ..solvers.islands import root_of
from ..solvers.rows import Floats, Ints
from .contact_set import FEATURE, PREDICTED, WIDTH, contact_at

MOST_CONTACTS = 48  # of one side of a pair; the deepest stay, and all that equal the last of them
_STRAIGHT_CORNER = 1e-6  # of the size of an outline: corners that protrude by less are left out
_FINE_TIE = 1e-3  # of the tie: a second, smaller tolerance, with which the lowest points stay too


class Candidates(NamedTuple):
    """Sample points within the margin, as contacts, and scratch arrays."""

    contact: Floats  # (k, WIDTH) table: `feature` is the number of the sample point, `point` its place in the world
    keep: Ints  # (k,) not 0 for the chosen ones
    piece: Ints  # (k,) parent in the tree of a piece
    lowest: Floats  # (k,) at the root of a piece, its least height
    head: Ints  # (k,) at the root of a piece, the first member of its bottom, -1 if it has a lower neighbor
    following: Ints  # (k,) next member of the same bottom
    flat: Floats  # (k, 2) coordinates in the plane of the component
    row: Ints  # (points,) candidate of a point, or -1
    link: Ints  # (links, 2) neighbors that are both candidates


@kernel
def candidate_room(points, links):
    """Empty candidates for shapes of up to `points` points and `links` pairs of neighbors."""
    return Candidates(
        np.empty((points, WIDTH)),
        np.empty(points, np.int64),
        np.empty(points, np.int64),
        np.empty(points),
        np.empty(points, np.int64),
        np.empty(points, np.int64),
        np.empty((points, 2)),
        np.full(points, -1),
        np.empty((links, 2), np.int64),
    )


@kernel(inline="always")
def _join(parent, i, j):
    i, j = root_of(parent, i), root_of(parent, j)
    if i < j:
        parent[j] = i
    elif j < i:
        parent[i] = j


@lean
def _link(c, count, points):
    """Writes the pairs of neighbors among the candidates to `c.link`; returns their number."""
    for i in range(count):
        c.row[int(c.contact[i, FEATURE])], c.keep[i] = i, 0
    n = 0
    for e in range(points.link_begin, points.link_end):
        i, j = c.row[points.link[e, 0]], c.row[points.link[e, 1]]
        if i >= 0 and j >= 0:
            c.link[n, 0], c.link[n, 1] = i, j
            n += 1
    for i in range(count):
        c.row[int(c.contact[i, FEATURE])] = -1
    return n


@lean
def _connect(c, count, links, tie, bottom):
    """Joins neighbors whose heights differ by at most `tie` to pieces, and lists the bottoms of pieces.

    The bottom is all members within `bottom` of the lowest one. A piece along a slope may extend far in height; it
    counts as continuing downward only if its bottom has lower neighbors.
    """
    for i in range(count):
        c.piece[i], c.lowest[i], c.head[i] = i, c.contact[i, PREDICTED], -1
    for e in range(links):
        i, j = c.link[e, 0], c.link[e, 1]
        if abs(c.contact[i, PREDICTED] - c.contact[j, PREDICTED]) <= tie:
            _join(c.piece, i, j)
    for i in range(count):
        root = root_of(c.piece, i)
        c.lowest[root] = min(c.lowest[root], c.contact[i, PREDICTED])
    for i in range(count - 1, -1, -1):
        root = c.piece[i] = root_of(c.piece, i)
        if c.contact[i, PREDICTED] <= c.lowest[root] + bottom:
            c.following[i], c.head[root] = c.head[root], i
    for e in range(links):
        i, j = c.link[e, 0], c.link[e, 1]
        if c.contact[i, PREDICTED] < c.contact[j, PREDICTED]:
            i, j = j, i
        root, height = c.piece[i], c.contact[i, PREDICTED]
        if height - c.contact[j, PREDICTED] > tie and height <= c.lowest[root] + bottom:
            c.head[root] = -1


@lean
def _flatten(c, head):
    """Projects the members of a list along their mean normal about their center; returns (size, farthest member)."""
    normal, center, count = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), 0
    i = head
    while i >= 0:
        contact = contact_at(c.contact, i)
        normal, center, count = normal + contact.normal, center + contact.point, count + 1
        i = c.following[i]
    center, length = center / count, norm(normal)
    normal = Vec3(0.0, 0.0, 1.0) if length < 1e-9 * count else normal / length
    u = across(normal)
    u = u / norm(u)
    v = cross(normal, u)
    square, farthest = -1.0, head
    i = head
    while i >= 0:
        contact = contact_at(c.contact, i)
        place = contact.point - center
        flat = Vec2(dot(u, place), dot(v, place))
        put_row(c.flat, i, flat)
        far = dot(flat, flat)
        # Of points above each other the lowest counts.
        lower = contact.predicted < c.contact[farthest, PREDICTED]
        if far > square * (1.0 + _STRAIGHT_CORNER) or (far > square * (1.0 - _STRAIGHT_CORNER) and lower):
            square, farthest = far, i
        i = c.following[i]
    return np.sqrt(square), farthest


@lean
def _keep_outline(c, head, mark):
    """Marks the corners of the convex outline of a list by gift wrapping from its farthest member.

    `mark` is unique to this outline: the loop also ends where rounding leads back to a corner other than the first.
    """
    if c.following[head] < 0:
        c.keep[head] = mark
        return
    size, now = _flatten(c, head)
    if size == 0.0:
        c.keep[head] = mark
        return
    while True:
        c.keep[now] = mark
        chosen, way, far = -1, Vec2(0.0, 0.0), 0.0
        i = head
        while i >= 0:
            d = row2(c.flat, i) - row2(c.flat, now)
            length = norm(d)
            if length > _STRAIGHT_CORNER * size:
                inward = cross(way, d) / far if chosen >= 0 else -np.inf
                # Farther out than the best so far; or as far out and more distant; or at the same place and lower.
                further = length > far + _STRAIGHT_CORNER * size
                if chosen >= 0 and not further and length > far - _STRAIGHT_CORNER * size:
                    further = c.contact[i, PREDICTED] < c.contact[chosen, PREDICTED]
                if inward < -_STRAIGHT_CORNER * size or (inward < _STRAIGHT_CORNER * size and further):
                    chosen, way, far = i, d, length
            i = c.following[i]
        if chosen < 0 or c.keep[chosen] == mark:
            break
        now = chosen


@lean
def _keep_lowest(c, count, tie):
    """Drops the highest contacts beyond MOST_CONTACTS; returns the number that stays."""
    kept = 0
    for i in range(count):
        kept += 1 if c.keep[i] else 0
    if kept <= MOST_CONTACTS:
        return kept
    limit = np.inf
    for i in range(count):  # no sorting: it takes seconds to compile, and this is rare
        below = 0
        for j in range(count):
            below += 1 if c.keep[j] and c.contact[j, PREDICTED] <= c.contact[i, PREDICTED] else 0
        if c.keep[i] and below >= MOST_CONTACTS:
            limit = min(limit, c.contact[i, PREDICTED] + tie)
    kept = 0
    for i in range(count):
        if c.contact[i, PREDICTED] > limit:
            c.keep[i] = 0
        kept += 1 if c.keep[i] else 0
    return kept


@lean
def reduce(c, count, points, tie, band):
    """Marks in `c.keep` which of the first `count` candidates, sample points of `points`, stay; returns their number.

    Heights that differ by up to `tie` are equal. With a `band` the outlines of whole components stay, and of their
    bottoms within this height; without (0) only the local minima stay, for round bodies.
    """
    if count == 0:
        return 0
    links = _link(c, count, points)
    for pass_ in range(4 if band > 0.0 else 1):
        joined, bottom = tie, tie
        if pass_ == 1:
            bottom = _FINE_TIE * tie
        elif pass_ == 2:
            joined, bottom = max(tie, band), max(tie, band)
        elif pass_ == 3:
            joined, bottom = np.inf, np.inf
        _connect(c, count, links, joined, bottom)
        for i in range(count):
            if c.head[i] >= 0:
                _keep_outline(c, c.head[i], 1 + pass_ * count + i)
    return _keep_lowest(c, count, tie)
