"""Contacts of bricks at rest, and their rows over rigid motions (sections 2 and 4 of the paper).

Two bricks touch if the best separating edge of either leaves no gap. Every corner on such an edge is a contact. A
corner at the end of an edge counts only if two faces share a segment of positive length: where two bricks meet corner
to corner, no normal is defined, and there is no contact. A rigid motion has three components per brick, (dx, dy, turn)
with respect to its center of mass, turn in radians counterclockwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from ..solvers.rows import Floats, Ints

if TYPE_CHECKING:
    from .tower import Tower

CONTACT_TOLERANCE = 1e-6  # in shortest sides: smaller gaps are contacts, larger overlaps are errors
END = 1e-9  # in edge lengths: corners this close to the end of an edge are at its end
GROUND = -1  # the number of the ground where bricks are numbered


class TowerContacts(NamedTuple):
    """Contacts: corner `vertex` of brick `on` lies on edge `edge` of brick `under` (or GROUND).

    Edge e goes from corner e to corner e + 1. `normal` is the unit normal of the edge that points out of its brick:
    contact forces push `on` along it and `under` against it. `on` has the corner and `under` the edge; an overhanging
    brick's face may lie on the corner of the brick below it.
    """

    on: Ints
    vertex: Ints
    under: Ints
    edge: Ints
    point: Floats  # (m, 2)
    normal: Floats  # (m, 2)


class Pair(NamedTuple):
    """Largest separation of two bricks by an edge (negative: overlap depth), and their contacts, if they touch."""

    separation: float
    contacts: list[tuple[int, int, bool]]  # vertex, edge, True if the first brick has the edge


def pair_contacts(first: Floats, second: Floats, tolerance: float) -> Pair:
    """Contacts of two convex polygons with counterclockwise corners; lengths up to `tolerance` count as zero."""
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
                    continue  # the same point from the other side: two corners of faces that lie on each other
                seen.append(point)
                found.append((int(vertex), int(edge), mine))
    return Pair(separation, found)


def _gaps(polygon: Floats, other: Floats) -> Floats:
    """(edges, vertices) signed distance of the other polygon's corners from the line of each edge, positive outside."""
    along = np.roll(polygon, -1, axis=0) - polygon
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
    return np.einsum("ed,evd->ev", outward, other[None, :, :] - polygon[:, None, :])


def _holds(polygon: Floats, edge: int, other: Floats, vertex: int, tolerance: float) -> bool:
    """Whether the corner lies inside the edge, or at its end with a face along the edge."""
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


def near_pairs(corners: list[Floats], margin: float) -> list[tuple[int, int]]:
    """Pairs (i < j) whose bounding boxes are at most `margin` apart, found by sorting along x."""
    low = np.array([c.min(axis=0) for c in corners]) - 0.5 * margin
    high = np.array([c.max(axis=0) for c in corners]) + 0.5 * margin
    order = np.argsort(low[:, 0], kind="stable")
    found = []
    for p, i in enumerate(order):
        for j in order[p + 1 :]:
            if low[j, 0] > high[i, 0]:
                break
            if low[j, 1] <= high[i, 1] and low[i, 1] <= high[j, 1]:
                found.append((int(min(i, j)), int(max(i, j))))
    return sorted(found)


def find_contacts(corners: list[Floats], pairs: list[tuple[int, int]], tolerance: float) -> tuple[TowerContacts, float]:
    """All contacts, those with the ground first, and the depth of the deepest overlap (0 if there is none)."""
    rows: list[tuple[int, int, int, int]] = []
    deepest = 0.0
    for i, polygon in enumerate(corners):
        deepest = max(deepest, -float(polygon[:, 1].min()))
        rows += [(i, int(v), GROUND, 0) for v in np.flatnonzero(polygon[:, 1] <= tolerance)]
    for i, j in pairs:
        pair = pair_contacts(corners[i], corners[j], tolerance)
        deepest = max(deepest, -pair.separation)
        rows += [(j, v, i, e) if mine else (i, v, j, e) for v, e, mine in pair.contacts]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    point = np.array([corners[on][v] for on, v, _, _ in rows]).reshape(-1, 2)
    normal = np.array([_normal(corners, under, e) for _, _, under, e in rows]).reshape(-1, 2)
    return TowerContacts(table[:, 0], table[:, 1], table[:, 2], table[:, 3], point, normal), deepest


def _normal(corners: list[Floats], under: int, edge: int) -> tuple[float, float]:
    """Outward unit normal of an edge, or of the ground."""
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
    """P (2p, 3n): P d is the relative velocity of the two sides of each pin, along x and y."""
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
    """(3n,) gravity as force and torque on each brick; zero for fixed bricks."""
    out = np.zeros((tower.count, 3))
    out[:, 1] = -tower.gravity * tower.mass * tower.free
    return out.ravel()


def masses(tower: Tower) -> Floats:
    """(3n,) mass, mass and moment of inertia of each brick."""
    return np.stack([tower.mass, tower.mass, tower.inertia], axis=1).ravel()


def _row(center: Floats, point: Floats, normal: Floats) -> Floats:
    arm = point - center
    return np.array([normal[0], normal[1], arm[0] * normal[1] - arm[1] * normal[0]])
