"""Convex solids in the world for tests: one body of each kind, pairs of them at a given gap, and their contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from carom.contact.contact_set import ContactSet, contact_table
from carom.contact.convex_bodies import convex_pairs, put_bounded_solids
from carom.contact.parts import Bodies, Poses, placed_parts
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Hull, Sphere

from .gaps_3d import solid_gap

_LUMP = np.random.default_rng(5).normal(size=(14, 3))
SHAPES = {
    "sphere": Sphere(0.5),
    "box": Box((1.0, 0.8, 0.5)),
    "capsule": Capsule(0.3, 0.8),
    "cylinder": Cylinder(0.4, 0.9),
    "cone": Cone(0.5, 0.9),
    "frustum": Cone(0.3, 0.6, 0.5),
    "ellipsoid": Ellipsoid((0.6, 0.4, 0.25)),
    "hull": Hull(0.6 * _LUMP / np.linalg.norm(_LUMP, axis=1)[:, None]),
}
KINDS = list(SHAPES)
TABLES, _ = make_shapes([(name, shape, 1) for name, shape in SHAPES.items()])
PAIRS = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i:]]


def is_curved(pair):
    """Whether a pair has a side that is not flat and not a sphere's or capsule's: searches end less exactly there."""
    return any(name in ("cylinder", "cone", "frustum", "ellipsoid") for name in pair)


def cone_base(cone):
    """z of the base of a cone, about its center of mass: the centroid of slices of area pi r(z)^2."""
    at, weight = np.polynomial.legendre.leggauss(6)
    height = 0.5 * cone.length * (1.0 + at)
    area = weight * (cone.radius + (cone.top_radius - cone.radius) * height / cone.length) ** 2
    return -float(area @ height / area.sum())


class Contacts(NamedTuple):
    """Contacts of one pair, sorted by place, so that two lists can be compared."""

    feature: np.ndarray
    normal: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    predicted: np.ndarray


class Body(NamedTuple):
    """A body of TABLES (or of other tables) and where it is before and after the step."""

    number: int
    position: np.ndarray
    turn: np.ndarray
    position_after: np.ndarray
    turn_after: np.ndarray


def still(number, position, turn=None):
    """A body that stays where it is."""
    position = np.array(position, dtype=float)
    turn = np.eye(3) if turn is None else np.array(turn, dtype=float)
    return Body(number, position, turn, position.copy(), turn.copy())


def moving(body, shift=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    """The body with a motion: a shift of its center and a turn by the vector `spin`."""
    return body._replace(
        position_after=body.position + np.asarray(shift, dtype=float), turn_after=rotation(spin) @ body.turn
    )


def rotation(vector):
    """Matrix of the turn by |vector| about `vector`."""
    vector = np.asarray(vector, dtype=float)
    angle = np.linalg.norm(vector)
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)


def random_turn(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0.0 else -q


def poses_of(bodies):
    return Poses(
        np.array([b.number for b in bodies]),
        np.array([b.position for b in bodies]),
        np.array([b.turn for b in bodies]),
        np.array([b.position_after for b in bodies]),
        np.array([b.turn_after for b in bodies]),
    )


def contacts_of(first, second, margin=0.02, tables=TABLES):
    """Contacts of two bodies."""
    found = ContactSet(convex_pairs(np.array([0]), np.array([1]), tables, poses_of([first, second]), margin), 3)
    order = np.lexsort(np.round(found.point, 6).T)
    return Contacts(*(c[order] for c in (found.feature_id, found.normal, found.point, found.gap, found.predicted)))


def convex_boundaries(tables, poses, chosen, before, after, margin):
    """Table of the contacts of rows of poses, of bodies that `chosen` marks, with tables of boundaries."""
    rows = len(poses.owner)
    bodies = Bodies(tables, placed_parts(tables, poses, np.ones(rows, bool)), np.full(len(tables.radius), margin))
    table, n = put_bounded_solids(bodies, rows, chosen, before, after, contact_table(256), 0)
    return table[:n]


def gap_of(first, second, tables=TABLES):
    return solid_gap(tables, first.number, first.position, first.turn, second.number, second.position, second.turn)


def pair_at(kind_a, kind_b, gap, seed):
    """Two bodies in random positions, the second moved along a line through both until their gap is as asked."""
    rng = np.random.default_rng(seed)
    a, b = still(KINDS.index(kind_a), rng.normal(size=3), random_turn(rng)), KINDS.index(kind_b)
    way, turn = rng.normal(size=3), random_turn(rng)
    way /= np.linalg.norm(way)
    low, high = 0.05, 2.5
    for _ in range(60):
        middle = 0.5 * (low + high)
        if gap_of(a, still(b, a.position + middle * way, turn)) > gap:
            high = middle
        else:
            low = middle
    return a, still(b, a.position + high * way, turn)
