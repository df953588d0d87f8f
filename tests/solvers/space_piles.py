"""Frictional piles in space as whitened rows: towers, brick piles, card houses, spheres. Gravity acts for one step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from carom.problem.contacts import Contacts
from carom.solvers.rows import FRICTION, Rows, rows_from_csr

FALL = 0.1  # speed gained in the step


@dataclass
class Pile:
    """Contacts among bodies whose frames are those of the world; `second` is -1 for the floor."""

    rows: Rows
    matrix: np.ndarray  # (3 m, 6 n) rows of all normals, then of all tangents in pairs
    velocity: np.ndarray  # (n, 6) whitened
    boundary: np.ndarray  # (m,)
    slip: np.ndarray  # (2 m,)
    friction: np.ndarray  # (m,)

    @property
    def count(self):
        return len(self.boundary)

    def start(self):
        return np.zeros(self.count), np.zeros((self.count, 2))

    def after(self, normal, tangent):
        """Speeds (m,), (m, 2) and whitened velocities after the impulses."""
        x = self.velocity.ravel() + self.matrix.T @ np.concatenate([normal, tangent.ravel()])
        u = self.matrix @ x
        m = self.count
        return u[:m] + self.boundary, (u[m:] + self.slip).reshape(m, 2), x

    def fastest(self):
        un, ut, _ = self.after(*self.start())
        return max(np.abs(un).max(), np.abs(ut).max())


def box_inertia(mass, size):
    a, b, c = size
    return mass / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])


def pile(mass, inertia, place, first, second, normal, point, mu, kick=0.0, seed=0):
    """Rows `u = e . (v_second - v_first)` for the normal and two tangents; everything falls, with a random kick."""
    mass, inertia, place = np.asarray(mass, float), np.asarray(inertia, float), np.asarray(place, float)
    first, second = np.asarray(first), np.asarray(second)
    normal, point = np.asarray(normal, float), np.asarray(point, float)
    m, n = len(first), len(mass)
    helper = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
    one = np.cross(normal, helper)
    one /= np.linalg.norm(one, axis=1)[:, None]
    axes = np.stack([normal, one, np.cross(normal, one)], axis=1)
    root = np.concatenate([np.repeat(mass[:, None], 3, axis=1), inertia], axis=1) ** -0.5
    blocks, used = np.zeros((m, 3, n, 6)), np.zeros((m, n), bool)
    for side, sign in ((first, -1.0), (second, 1.0)):
        at = np.flatnonzero(side >= 0)
        arm = (point[at] - place[side[at]])[:, None, :]
        entry = sign * np.concatenate([axes[at], np.cross(arm, axes[at])], axis=2) * root[side[at], None]
        blocks[at, :, side[at]] = entry
        used[at, side[at]] = True
    rng = np.random.default_rng(seed)
    v = kick * rng.normal(size=(n, 6))
    v[:, 2] -= FALL
    return Pile(
        rows=_rows(blocks, used, float(mu)),
        matrix=np.concatenate([blocks[:, 0].reshape(m, -1), blocks[:, 1:].reshape(2 * m, -1)]),
        velocity=v / root,
        boundary=np.zeros(m),
        slip=np.zeros(2 * m),
        friction=np.full(m, float(mu)),
    )


def _rows(blocks, used, mu):
    twice = np.repeat(used, 2, axis=0)
    normal = _sparse(blocks[:, 0], used)
    tangents = _sparse(blocks[:, 1:].reshape(len(twice), *blocks.shape[2:]), twice)
    rows = rows_from_csr(*normal, used.shape[1], tangents, 2)
    rows.bound[:, FRICTION] = mu
    return rows


def _sparse(blocks, used):
    return np.concatenate([[0], used.sum(axis=1).cumsum()]), np.nonzero(used)[1], blocks[used]


def tower(boxes=10, mu=0.5, **kick):
    """Unit cubes on one another, four contacts each."""
    first, second, point = [], [], []
    for i in range(boxes):
        for x in (-0.5, 0.5):
            for y in (-0.5, 0.5):
                first.append(i - 1 if i else 0)
                second.append(i if i else -1)
                point.append((x, y, float(i)))
    normal = np.where(np.array(second)[:, None] < 0, [0.0, 0.0, -1.0], [0.0, 0.0, 1.0])
    place = [(0.0, 0.0, 0.5 + i) for i in range(boxes)]
    inertia = np.tile(box_inertia(1.0, (1.0, 1.0, 1.0)), (boxes, 1))
    return pile(np.ones(boxes), inertia, place, first, second, normal, point, mu, **kick)


def bricks(layers=5, across=4, deep=3, mu=0.5, tilt=0.0, seed=0, **kick):
    """Boxes of random width in layers; where two overlap, the corners of the overlap touch, with a common normal."""
    rng = np.random.default_rng(seed)
    grid = [(k, i, j) for k in range(layers) for i in range(across) for j in range(deep)]
    size = np.concatenate([rng.uniform(0.6, 0.98, (len(grid), 2)), np.ones((len(grid), 1))], axis=1)
    place = np.array([(i + 0.5 * (k % 2), float(j), k + 0.5) for k, i, j in grid])
    place[:, :2] += rng.uniform(-0.1, 0.1, (len(grid), 2))
    first, second, normal, point = [], [], [], []
    for a, (k, _, _) in enumerate(grid):
        for b in [-1] * (k == 0) + [b for b, g in enumerate(grid) if g[0] == k + 1]:
            low, high = place[a, :2] - size[a, :2] / 2, place[a, :2] + size[a, :2] / 2
            n = np.array([0.0, 0.0, -1.0])
            if b >= 0:
                low = np.maximum(low, place[b, :2] - size[b, :2] / 2)
                high = np.minimum(high, place[b, :2] + size[b, :2] / 2)
                n = np.array([0.0, 0.0, 1.0]) + tilt * rng.normal(size=3)
            if (high - low < 0.01).any():
                continue
            for x in (low[0], high[0]):
                for y in (low[1], high[1]):
                    first.append(a)
                    second.append(b)
                    normal.append(n / np.linalg.norm(n))
                    point.append((x, y, 0.0 if b < 0 else k + 1.0))
    mass = size.prod(axis=1)
    inertia = [box_inertia(w, s) for w, s in zip(mass, size, strict=True)]
    return pile(mass, inertia, place, first, second, normal, point, mu, seed=seed, **kick)


def card_house(stories=4, mu=0.6, lean=0.35, **kick):
    """Pairs of leaning plates with plates laid across, touching along edges (two contacts each).

    Plates of a story come in pairs from left to right, then its roof. Inertia is given along the axes of the world:
    for thin plates that lean, the diagonal part of the tensor, which is what symmetry and statics need.
    """
    wide, thick = 0.7, 0.01
    half, high = np.sin(lean), np.cos(lean)
    place, turn, contacts, roofs = [], [], [], []

    def plate(x, z, angle):
        place.append((x, 0.0, z))
        turn.append(angle)
        return len(place) - 1

    def edge(a, b, n, x, z):
        if 0 <= b < a:
            a, b, n = b, a, -np.array(n)
        contacts.extend((a, b, n, (x, y, z)) for y in (-wide / 2, wide / 2))

    for s in range(stories):
        floor, tops = s * (high + thick), []
        for i in range(stories - s):
            x = 2 * half * (i + s / 2)
            left, right = plate(x - half / 2, floor + high / 2, lean), plate(x + half / 2, floor + high / 2, -lean)
            for card, foot in ((left, x - half), (right, x + half)):
                for under in [r for r in roofs if r[1] - 1e-9 <= foot <= r[2] + 1e-9] if s else [(-1,)]:
                    edge(card, under[0], (0.0, 0.0, -1.0), foot, floor)
            edge(left, right, (1.0, 0.0, 0.0), x, floor + high - thick / 2)
            tops.append((x, left, right))
        roofs = []
        for (x0, _, before), (x1, after, _) in pairwise(tops):
            roof = plate((x0 + x1) / 2, floor + high + thick / 2, np.pi / 2)
            roofs.append((roof, x0, x1))
            edge(before, roof, (0.0, 0.0, 1.0), x0 + thick, floor + high)
            edge(after, roof, (0.0, 0.0, 1.0), x1 - thick, floor + high)
    own = box_inertia(1.0, (thick, wide, 1.0))
    cos, sin = np.cos(turn), np.sin(turn)
    inertia = np.stack(
        [own[0] * cos**2 + own[2] * sin**2, np.full(len(turn), own[1]), own[0] * sin**2 + own[2] * cos**2], 1
    )
    first, second, normal, point = zip(*contacts, strict=True)
    return pile(np.ones(len(place)), inertia, place, first, second, normal, point, mu, **kick)


def sphere_line(count=5, mu=0.3, **kick):
    """Touching spheres of radius 1/2 on the floor; kicked, they slide, roll and rub on each other."""
    first = [*range(count), *range(count - 1)]
    second = [-1] * count + list(range(1, count))
    normal = [(0.0, 0.0, -1.0)] * count + [(1.0, 0.0, 0.0)] * (count - 1)
    point = [(float(i), 0.0, 0.0) for i in range(count)] + [(i + 0.5, 0.0, 0.5) for i in range(count - 1)]
    place = [(float(i), 0.0, 0.5) for i in range(count)]
    return pile(np.ones(count), np.full((count, 3), 0.1), place, first, second, normal, point, mu, **kick)


def contacts_of(pile: Pile, restitution: float) -> Contacts:
    """The impact of a pile with one coefficient of restitution."""
    return Contacts(pile.rows, pile.velocity, np.full(pile.count, restitution))
