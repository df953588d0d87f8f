"""Contacts of bricks at rest, and their rows over rigid motions (sections 2 and 4 of the paper).

Two bricks touch if the best separating edge of either leaves no gap. Every corner on such an edge is a contact. A
corner at the end of an edge counts only if two faces share a segment of positive length. Where two bricks meet corner
to corner, two edges separate them, and `corners.py` chooses one. A rigid motion has three components per brick,
(dx, dy, turn) with respect to its center of mass, turn in radians counterclockwise.
"""

from __future__ import annotations

import heapq
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


Row = tuple[int, int, int, int]  # on, vertex, under, edge: a contact
Corner = tuple[Row, Row]  # two corners that meet, as a contact with either separating edge; the more level one first
Touch = tuple[int, int, bool]  # vertex, edge, True if the first brick of a pair has the edge


class Pair(NamedTuple):
    """Largest separation of two bricks by an edge (negative: overlap depth), and their contacts, if they touch."""

    separation: float
    contacts: list[Touch]
    corner: tuple[Touch, Touch] | None = None  # the two separating edges, if they meet corner to corner


class Touching(NamedTuple):
    """Contacts with one normal, corners that meet, and the depth of the deepest overlap (0 if there is none)."""

    certain: TowerContacts
    corners: list[Corner]
    deepest: float


def pair_contacts(first: Floats, second: Floats, tolerance: float) -> Pair:
    """Contacts of two convex polygons with counterclockwise corners; lengths up to `tolerance` count as zero."""
    return _pairs_contacts(first[None], second[None], tolerance)[0]


def _pairs_contacts(first: Floats, second: Floats, tolerance: float) -> list[Pair]:
    """`pair_contacts` of pairs of polygons (p, a, 2) and (p, b, 2)."""
    gaps = (_gaps(first, second), _gaps(second, first))
    separation = np.maximum(*(gap.min(axis=2).max(axis=1) for gap in gaps))
    close = np.abs(separation) <= tolerance
    found: list[list[Touch]] = [[] for _ in first]
    seen: list[list[tuple[float, float]]] = [[] for _ in first]
    for polygon, other, gap, mine in ((first, second, gaps[0], True), (second, first, gaps[1], False)):
        on_line = (gap.min(axis=2) >= -tolerance)[:, :, None] & (np.abs(gap) <= tolerance) & close[:, None, None]
        which, edge, vertex = np.nonzero(on_line)
        inside, outside = _places(polygon, other, (which, edge, vertex), tolerance)
        points = other[which, vertex].tolist()
        for k, e, v, (x, y), sure, off in zip(*(n.tolist() for n in (which, edge, vertex)), points, inside, outside):
            if off or not (sure or _holds(polygon[k], e, other[k], v, tolerance)):
                continue
            if any(max(abs(x - p), abs(y - q)) <= 2.0 * tolerance for p, q in seen[k]):
                continue  # the same point from the other side: two corners of faces that lie on each other
            seen[k].append((x, y))
            found[k].append((v, e, mine))
    out = [Pair(apart, contacts) for apart, contacts in zip(separation.tolist(), found)]
    for k in np.flatnonzero(close):
        if not found[k]:
            out[k] = _corner_pair(first[k], second[k], (gaps[0][k], gaps[1][k]), out[k].separation, tolerance)
    return out


def _places(
    polygon: Floats, other: Floats, where: tuple[Ints, Ints, Ints], tolerance: float
) -> tuple[list[bool], list[bool]]:
    """Whether corners of the other polygons lie inside an edge, and whether beyond its ends; neither is at an end."""
    which, edge, vertex = where
    start = polygon[which, edge]
    along = polygon[which, (edge + 1) % polygon.shape[1]] - start
    length = np.hypot(*along.T)
    place = ((other[which, vertex] - start) * along).sum(axis=1) / length
    inside = (END * length + tolerance < place) & (place < length - END * length - tolerance)
    return inside.tolist(), ((place < -tolerance) | (place > length + tolerance)).tolist()


def _corner_pair(
    first: Floats, second: Floats, gaps: tuple[Floats, Floats], separation: float, tolerance: float
) -> Pair:
    """Two bricks that meet corner to corner, or not at all: the edges at these corners that separate them."""
    apart = np.hypot(*(first[:, None, :] - second[None, :, :]).transpose(2, 0, 1))
    u, v = (int(k) for k in np.unravel_index(int(apart.argmin()), apart.shape))
    if apart[u, v] > 2.0 * tolerance:
        return Pair(separation, [])
    edges: list[tuple[Floats, Touch]] = []  # normals from the first brick to the second
    for polygon, gap, (vertex, other), sign in ((first, gaps[0], (u, v), 1.0), (second, gaps[1], (v, u), -1.0)):
        for edge in ((vertex - 1) % len(polygon), vertex):
            if gap[edge].min() >= -tolerance:
                normal = sign * np.array(_normal([polygon], 0, edge))
                edges.append((normal, (other, edge, sign > 0.0)))
    if not edges:
        return Pair(separation, [])
    axis = edges[0][0]
    edges.sort(key=lambda entry: float(np.arctan2(_cross(axis, entry[0]), axis @ entry[0])))
    (lower, low), (upper, high) = edges[0], edges[-1]
    if float(lower @ upper) >= 1.0 - 1e-12:
        return Pair(separation, [low])  # a corner of almost 180 degrees: both edges lie on one line
    level_first = abs(lower[1]) >= abs(upper[1])
    return Pair(separation, [], (low, high) if level_first else (high, low))


def _cross(a: Floats, b: Floats) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _gaps(polygon: Floats, other: Floats) -> Floats:
    """(pairs, edges, vertices) signed distance of the other's corners from the line of each edge, positive outside."""
    along = np.roll(polygon, -1, axis=1) - polygon
    outward = np.stack([along[..., 1], -along[..., 0]], axis=-1) / np.hypot(along[..., 0], along[..., 1])[..., None]
    return np.einsum("ped,pevd->pev", outward, other[:, None, :, :] - polygon[:, :, None, :])


def _holds(polygon: Floats, edge: int, other: Floats, vertex: int, tolerance: float) -> bool:
    """Whether a corner near the end of an edge has a face along it."""
    start, end = polygon[edge], polygon[(edge + 1) % len(polygon)]
    along = end - start
    length = float(np.hypot(*along))
    along = along / length
    place = float((other[vertex] - start) @ along)
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
    low, high = low[order], high[order]
    last, found = np.searchsorted(low[:, 0], high[:, 0], side="right"), []
    for p in range(len(order)):
        near = (low[p + 1 : last[p], 1] <= high[p, 1]) & (low[p, 1] <= high[p + 1 : last[p], 1])
        i = int(order[p])
        found += [(min(i, j), max(i, j)) for j in order[p + 1 : last[p]][near].tolist()]
    return sorted(found)


def find_contacts(corners: list[Floats], pairs: list[tuple[int, int]], tolerance: float) -> Touching:
    """All contacts, those with the ground first."""
    rows: list[Row] = []
    meeting: list[Corner] = []
    deepest = 0.0
    for i, polygon in enumerate(corners):
        deepest = max(deepest, -float(polygon[:, 1].min()))
        rows += [(i, int(v), GROUND, 0) for v in np.flatnonzero(polygon[:, 1] <= tolerance)]
    for (i, j), pair in zip(pairs, _all_pairs(corners, pairs, tolerance)):
        deepest = max(deepest, -pair.separation)
        rows += [_row_of(i, j, touch) for touch in pair.contacts]
        if pair.corner is not None:
            meeting.append((_row_of(i, j, pair.corner[0]), _row_of(i, j, pair.corner[1])))
    return Touching(contacts_of(corners, rows), meeting, deepest)


def _all_pairs(corners: list[Floats], pairs: list[tuple[int, int]], tolerance: float) -> list[Pair]:
    """`pair_contacts` of all pairs, those with the same numbers of corners together."""
    alike: dict[tuple[int, int], list[int]] = {}
    for k, (i, j) in enumerate(pairs):
        alike.setdefault((len(corners[i]), len(corners[j])), []).append(k)
    out: list[Pair] = [Pair(0.0, [])] * len(pairs)
    for chosen in alike.values():
        first, second = (np.array([corners[pairs[k][side]] for k in chosen]) for side in (0, 1))
        for k, pair in zip(chosen, _pairs_contacts(first, second, tolerance)):
            out[k] = pair
    return out


def _row_of(i: int, j: int, touch: Touch) -> Row:
    vertex, edge, first_has_edge = touch
    return (j, vertex, i, edge) if first_has_edge else (i, vertex, j, edge)


def contacts_of(corners: list[Floats], rows: list[Row]) -> TowerContacts:
    """Contacts with their points and normals."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    point = np.array([corners[on][v] for on, v, _, _ in rows]).reshape(-1, 2)
    normal = np.array([_normal(corners, under, e) for _, _, under, e in rows]).reshape(-1, 2)
    return TowerContacts(table[:, 0], table[:, 1], table[:, 2], table[:, 3], point, normal)


def _normal(corners: list[Floats], under: int, edge: int) -> tuple[float, float]:
    """Outward unit normal of an edge, or of the ground."""
    if under == GROUND:
        return 0.0, 1.0
    polygon = corners[under]
    x, y = polygon[(edge + 1) % len(polygon)] - polygon[edge]
    length = float(np.hypot(x, y))
    return float(y) / length, -float(x) / length


def contact_rows(tower: Tower, contacts: TowerContacts | None = None) -> sparse.csr_array:
    """J (m, 3n): J d is the rate at which each contact opens under the motion d. Fixed bricks have empty columns."""
    found = tower.contacts if contacts is None else contacts
    rows, columns, values = [], [], []
    for k, (on, under) in enumerate(zip(found.on.tolist(), found.under.tolist())):
        for brick, sign in ((on, 1.0), (under, -1.0)):
            if brick != GROUND and tower.free[brick]:
                rows += [k] * 3
                columns += [3 * brick, 3 * brick + 1, 3 * brick + 2]
                values += (sign * _arm_row(tower.center[brick], found.point[k], found.normal[k])).tolist()
    return sparse.csr_array((values, (rows, columns)), shape=(len(found.on), 3 * tower.count))


def contact_table(tower: Tower, found: TowerContacts) -> Ints:
    """Contacts at rest as a table of `near_contacts`."""
    ptr = tower.first_corner
    count = np.diff(ptr)
    ground = found.under < 0
    under = np.where(ground, 0, found.under)
    start = ptr[under] + found.edge
    end = ptr[under] + (found.edge + 1) % count[under]
    columns = (
        found.on,
        ptr[found.on] + found.vertex,
        found.under,
        np.where(ground, -1, start),
        np.where(ground, -1, end),
    )
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int64))


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
                values += (sign * _arm_row(tower.center[brick], np.array(pin.at), np.array(normal))).tolist()
    return sparse.csr_array((values, (rows, columns)), shape=(2 * len(tower.pins), 3 * tower.count))


def weights(tower: Tower) -> Floats:
    """(3n,) gravity as force and torque on each brick; zero for fixed bricks."""
    out = np.zeros((tower.count, 3))
    out[:, 1] = -tower.gravity * tower.mass * tower.free
    return out.ravel()


def masses(tower: Tower) -> Floats:
    """(3n,) mass, mass and moment of inertia of each brick."""
    return np.stack([tower.mass, tower.mass, tower.inertia], axis=1).ravel()


def _arm_row(center: Floats, point: Floats, normal: Floats) -> Floats:
    arm = point - center
    return np.array([normal[0], normal[1], arm[0] * normal[1] - arm[1] * normal[0]])


# ---- bricks that meet corner to corner: which of two edges separates them
#
# Two corners that touch, without a common face, form a wedge of forbidden relative motions d of the two points:
# n_1 . d < 0 and n_2 . d < 0, with the normals of the two edges that separate the bricks. The allowed motions,
# n_1 . d >= 0 or n_2 . d >= 0, are not convex. Gauss' principle holds on each half-plane, and over both the
# acceleration nearest to free fall is the one that is least constrained. It is zero if and only if every choice of
# edges holds the tower: a tower is stable if no choice lets it fall.
#
# `choose` finds that acceleration by branch and bound. A node of the search has an edge for some of the corners and no
# contact at the others, which allows more motions, so its distance to free fall is a lower bound. A node whose
# acceleration respects all corners needs no further choice.


MOST_NODES = 500  # quadratic programs of a search; beyond them the best choice so far is taken
RESPECTED = 1e-9  # in units of gravity: corners that approach more slowly do not approach
EQUAL = 1e-9  # relative: distances to free fall that differ by less are equal


class Choice(NamedTuple):
    """An edge for each corner, and the sets of contacts that prove it."""

    contacts: TowerContacts  # certain ones, then one row for each corner
    ends: list[TowerContacts]  # the nodes with which the search ended: together they cover every choice
    complete: bool  # False if the search reached MOST_NODES


class _Node(NamedTuple):
    distance: float  # to free fall, squared, weighted by the masses
    number: int  # breaks ties
    rows: dict[int, Row]  # the edge of some corners
    rates: Floats  # (corners, 2) acceleration of each corner along the normals of its two edges


def choose(tower: Tower, certain: TowerContacts, corners: list[Corner]) -> Choice:
    """The edges of the least constrained initial motion; `certain` are the contacts that have one normal."""
    limit, made = -RESPECTED * tower.gravity, 1
    nodes, ends = [_node(tower, certain, corners, {}, 0)], list[_Node]()
    while nodes and made < MOST_NODES:
        node = heapq.heappop(nodes)
        if ends and node.distance > ends[0].distance * (1.0 + EQUAL):
            nodes = []
            break
        approach = node.rates.max(axis=1)
        approach[list(node.rows)] = 0.0
        worst = int(approach.argmin())
        if approach[worst] >= limit:
            ends.append(node)
            continue
        for row in corners[worst]:
            heapq.heappush(nodes, _node(tower, certain, corners, {**node.rows, worst: row}, made))
            made += 1
    best = ends[0] if ends else nodes[0]
    rows = [best.rows.get(k, pair[int(best.rates[k].argmax())]) for k, pair in enumerate(corners)]
    return Choice(
        _joined(tower, certain, rows), [_joined(tower, certain, [*end.rows.values()]) for end in ends], not nodes
    )


def _node(tower: Tower, certain: TowerContacts, corners: list[Corner], rows: dict[int, Row], number: int) -> _Node:
    """The initial motion with these edges, and no contact at the other corners."""
    from .initial_collapse import accelerations

    made = accelerations(tower, _joined(tower, certain, [*rows.values()]))[0]
    off = made.ravel() + np.tile([0.0, tower.gravity, 0.0], tower.count) * np.repeat(tower.free, 3)
    both = contacts_of(tower.corners, [row for pair in corners for row in pair])
    rates = np.asarray(contact_rows(tower, both) @ made.ravel()).reshape(-1, 2)
    return _Node(float(off @ (masses(tower) * off)), number, rows, rates)


def _joined(tower: Tower, certain: TowerContacts, rows: list[Row]) -> TowerContacts:
    more = contacts_of(tower.corners, rows)
    return TowerContacts(*(np.concatenate(parts) for parts in zip(certain, more)))
