"""Where bricks at rest touch: corners of one on an edge of another.

A pair touches if the best separating edge of either leaves no gap. Every corner on such an edge is a contact. A
corner at the very end of an edge counts only where two faces lie on each other along some length: two bricks that
meet corner to corner hold each other in no definite direction, and hold nothing here.

Contacts and pins as rows over rigid motions: three numbers a brick, (dx, dy, turn) about its center of mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from ..solvers.rows import Floats, Ints

if TYPE_CHECKING:
    from .tower import Tower

TOUCH = 1e-6  # of the smallest brick: gaps below count as contact, overlap above is refused
END = 1e-9  # of the edge: a corner this close to the end of an edge is at its end
GROUND = -1


class Touches(NamedTuple):
    """Contacts: corner `vertex` of brick `on` touches edge `edge` of brick `under` (GROUND, or a brick).

    Edge e goes from corner e to corner e + 1. `normal` is the unit normal of the edge, out of its brick: contact
    forces push `on` along it and `under` against it. "On" and "under" say who has the corner and who the edge; an
    overhanging brick's face may lie on the corner of the brick below.
    """

    on: Ints
    vertex: Ints
    under: Ints
    edge: Ints
    point: Floats  # (m, 2)
    normal: Floats  # (m, 2)


class Pair(NamedTuple):
    """Two bricks near each other: best separation (negative: overlap depth) and the contacts, if they touch."""

    separation: float
    contacts: list[tuple[int, int, bool]]  # vertex, edge, whether the first brick has the edge


def pair_touches(first: Floats, second: Floats, tolerance: float) -> Pair:
    """Contacts of two convex polygons, corners anticlockwise."""
    gaps = (_gaps(first, second), _gaps(second, first))
    separation = max(float(g.min(axis=1).max()) for g in gaps)
    if abs(separation) > tolerance:
        return Pair(separation, [])
    found: list[tuple[int, int, bool]] = []
    seen: list[Floats] = []
    for (polygon, other), gap, mine in (((first, second), gaps[0], True), ((second, first), gaps[1], False)):
        for edge in np.flatnonzero(gap.min(axis=1) >= -tolerance):
            for vertex in np.flatnonzero(np.abs(gap[edge]) <= tolerance):
                point = other[vertex]
                if not _holds(polygon, int(edge), other, int(vertex), tolerance):
                    continue
                if any(np.abs(point - p).max() <= 2.0 * tolerance for p in seen):
                    continue  # the same place from the other side: corner on corner of two faces
                seen.append(point)
                found.append((int(vertex), int(edge), mine))
    return Pair(separation, found)


def _gaps(polygon: Floats, other: Floats) -> Floats:
    """(edges, vertices) signed distance of the other's corners from each edge's line, positive outside."""
    along = np.roll(polygon, -1, axis=0) - polygon
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
    return np.einsum("ed,evd->ev", outward, other[None, :, :] - polygon[:, None, :])


def _holds(polygon: Floats, edge: int, other: Floats, vertex: int, tolerance: float) -> bool:
    """Whether the corner lies within the edge, or at its end with a face along it."""
    start, end = polygon[edge], polygon[(edge + 1) % len(polygon)]
    along = end - start
    length = float(np.hypot(*along))
    along = along / length
    place = float((other[vertex] - start) @ along)
    if place < -tolerance or place > length + tolerance:
        return False
    if END * length + tolerance < place < length - END * length - tolerance:
        return True
    for neighbor in (vertex - 1, (vertex + 1) % len(other)):
        other_end = other[neighbor] - start
        off = abs(float(along[0] * other_end[1] - along[1] * other_end[0]))
        far = float(other_end @ along)
        shared = min(length, max(place, far)) - max(0.0, min(place, far))
        if off <= 2.0 * tolerance and shared > 10.0 * tolerance:
            return True
    return False


def near_pairs(corners: list[Floats], reach: float) -> list[tuple[int, int]]:
    """Pairs (i < j) whose bounding boxes come within `reach`: sorted along x, so far pairs are never looked at."""
    low = np.array([c.min(axis=0) for c in corners]) - 0.5 * reach
    high = np.array([c.max(axis=0) for c in corners]) + 0.5 * reach
    order = np.argsort(low[:, 0], kind="stable")
    found = []
    for p, i in enumerate(order):
        for j in order[p + 1 :]:
            if low[j, 0] > high[i, 0]:
                break
            if low[j, 1] <= high[i, 1] and low[i, 1] <= high[j, 1]:
                found.append((int(min(i, j)), int(max(i, j))))
    return sorted(found)


def collect(corners: list[Floats], pairs: list[tuple[int, int]], tolerance: float) -> tuple[Touches, float]:
    """All contacts, ground first, and the deepest overlap (0 if none): see `Tower.contacts`."""
    rows: list[tuple[int, int, int, int]] = []
    deepest = 0.0
    for i, polygon in enumerate(corners):
        deepest = max(deepest, -float(polygon[:, 1].min()))
        rows += [(i, int(v), GROUND, 0) for v in np.flatnonzero(polygon[:, 1] <= tolerance)]
    for i, j in pairs:
        pair = pair_touches(corners[i], corners[j], tolerance)
        deepest = max(deepest, -pair.separation)
        rows += [(j, v, i, e) if mine else (i, v, j, e) for v, e, mine in pair.contacts]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    point = np.array([corners[on][v] for on, v, _, _ in rows]).reshape(-1, 2)
    normal = np.array([_normal(corners, under, e) for _, _, under, e in rows]).reshape(-1, 2)
    return Touches(table[:, 0], table[:, 1], table[:, 2], table[:, 3], point, normal), deepest


def _normal(corners: list[Floats], under: int, edge: int) -> tuple[float, float]:
    if under == GROUND:
        return 0.0, 1.0
    polygon = corners[under]
    x, y = polygon[(edge + 1) % len(polygon)] - polygon[edge]
    length = float(np.hypot(x, y))
    return float(y) / length, -float(x) / length


def contact_rows(tower: Tower) -> sparse.csr_array:
    """J (m, 3n): J d is the rate at which each contact opens under the motion d. Fixed bricks have empty columns."""
    found = tower.contacts
    rows, columns, values = [], [], []
    for k, (on, under) in enumerate(zip(found.on.tolist(), found.under.tolist())):
        for brick, sign in ((on, 1.0), (under, -1.0)):
            if brick != GROUND and tower.free[brick]:
                rows += [k] * 3
                columns += [3 * brick, 3 * brick + 1, 3 * brick + 2]
                values += (sign * _row(tower.center[brick], found.point[k], found.normal[k])).tolist()
    return sparse.csr_array((values, (rows, columns)), shape=(len(found.on), 3 * tower.count))


def pin_rows(tower: Tower) -> sparse.csr_array:
    """P (2p, 3n): P d is the rate at which the two sides of each pin come apart, along x and y."""
    rows, columns, values = [], [], []
    for k, pin in enumerate(tower.pins):
        for brick, sign in ((pin.first, 1.0), (pin.second, -1.0)):
            if brick == GROUND or not tower.free[brick]:
                continue
            for axis, normal in ((0, (1.0, 0.0)), (1, (0.0, 1.0))):
                rows += [2 * k + axis] * 3
                columns += [3 * brick, 3 * brick + 1, 3 * brick + 2]
                values += (sign * _row(tower.center[brick], np.array(pin.at), np.array(normal))).tolist()
    return sparse.csr_array((values, (rows, columns)), shape=(2 * len(tower.pins), 3 * tower.count))


def weights(tower: Tower) -> Floats:
    """(3n,) the pull of gravity on each brick, as force and torque; zero for fixed ones."""
    out = np.zeros((tower.count, 3))
    out[:, 1] = -tower.gravity * tower.mass * tower.free
    return out.ravel()


def masses(tower: Tower) -> Floats:
    """(3n,) mass, mass and moment of inertia of each brick."""
    return np.stack([tower.mass, tower.mass, tower.inertia], axis=1).ravel()


def _row(center: Floats, point: Floats, normal: Floats) -> Floats:
    arm = point - center
    return np.array([normal[0], normal[1], arm[0] * normal[1] - arm[1] * normal[0]])
