"""Bricks that meet corner to corner: which of two edges separates them.

Two corners that touch, without a common face, form a wedge of forbidden relative motions d of the two points:
n_1 . d < 0 and n_2 . d < 0, with the normals of the two edges that separate the bricks. The allowed motions,
n_1 . d >= 0 or n_2 . d >= 0, are not convex. Gauss' principle holds on each half-plane, and over both the acceleration
nearest to free fall is the one that is least constrained. It is zero if and only if every choice of edges holds the
tower: a tower is stable if no choice lets it fall.

`choose` finds that acceleration by branch and bound. A node of the search has an edge for some of the corners and no
contact at the others, which allows more motions, so its distance to free fall is a lower bound. A node whose
acceleration respects all corners needs no further choice.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..solvers.rows import Floats
from .contacts import Corner, Row, TowerContacts, contact_rows, contacts_of, masses

if TYPE_CHECKING:
    from .tower import Tower

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
