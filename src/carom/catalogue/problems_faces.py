"""Catalogue problems of faces: each one also with contact points that add no constraint, on edges and inside.

The row of a point of a face is a convex combination of the rows of its corners, so that corners which separate keep all
other points apart too.
"""

from __future__ import annotations

import numpy as np

from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from .entry import Entry

# Points of a face, in half sizes. In the first sampling the added points come before the corners: a law that treats
# equally fast contacts in the order of their numbers then meets them first.
ENDS = np.array([[-1.0], [1.0]])
CORNERS = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
MIDDLES = np.array([[0.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]])
SCATTERED = np.array([[0.5, 0.5], [-0.2, 1.0], [0.3, -0.7]])
SAMPLINGS_2D = (np.array([[0.0], [-1.0], [1.0]]), np.array([[-1.0], [1.0], [0.7], [-0.3]]))
SAMPLINGS_3D = (np.concatenate([MIDDLES, CORNERS]), np.concatenate([CORNERS, SCATTERED]))


def entries_faces() -> list[Entry]:
    """All entries of this file."""
    return [
        plank(),
        boxes("box_tilted", "a tilted box whose whole face approaches", [_BOX], [0.3, -0.2, 0.0]),
        boxes("box_lifting", "a box that lands on a face while one edge of it lifts off", [_BOX], [1.5, 0.0, 0.0]),
        boxes("boxes_tilted", "a tilted box lands on an equal one that stands", [_BOX, _BOX], [0.3, -0.2, 0.0]),
        boxes("boxes_unequal", "a small heavy box lands tilted, off the center of a large one", [_BOX, _SMALL], _SPIN),
    ]


_BOX = (1.0, (1.0, 0.75, 0.5), (0.0, 0.0))  # mass, half sizes, horizontal place
_SMALL = (2.5, (0.6, 0.5, 0.4), (0.3, 0.2))
_SPIN = [-0.9, -0.5, 0.1]


def plank() -> Entry:
    """A rectangle that lands on its longer side in 2D, both ends approaching."""

    def sampled(places: Floats) -> ImpactProblem:
        return ImpactProblem.from_contacts(
            positions=[[0.0, 0.25]],
            masses=[1.0],
            inertias=[(1.0 + 0.25**2) / 3],
            velocities=[[0.2, -1.0, 0.6]],
            bodies=[[-1, 0]] * len(places),
            points=np.pad(places, ((0, 0), (0, 1))),
            normals=[[0.0, 1.0]] * len(places),
            name="plank_tilted",
        )

    more = tuple(sampled(places) for places in SAMPLINGS_2D)
    return Entry(sampled(ENDS), "a tilted plank on two ends", sizes=[[1.0, 0.25]], resampled=more)


def boxes(
    name: str, note: str, stack: list[tuple[float, tuple[float, ...], tuple[float, ...]]], spin: list[float]
) -> Entry:
    """A stack of boxes, from the ground up, of which the uppermost arrives with speed 1 and a spin."""
    mass, half, place = (np.array(part) for part in zip(*stack, strict=True))
    top = np.cumsum(2.0 * half[:, 2])
    squares = half**2 / 3.0
    inertia = [np.diag(m * (q.sum() - q)) for m, q in zip(mass, squares, strict=True)]
    velocity = np.zeros((len(stack), 6))
    velocity[-1] = [0.0, 0.0, -1.0, *spin]
    low, high = place - half[:, :2], place + half[:, :2]
    low[1:], high[1:] = np.maximum(low[1:], low[:-1]), np.minimum(high[1:], high[:-1])  # of the touching faces

    def sampled(places: Floats) -> ImpactProblem:
        flat = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * places
        height = np.repeat(top - 2.0 * half[:, 2], len(places))
        return ImpactProblem.from_contacts(
            positions=np.column_stack([place, top - half[:, 2]]),
            masses=mass,
            inertias=inertia,
            velocities=velocity,
            bodies=np.repeat([[k - 1, k] for k in range(len(stack))], len(places), axis=0),
            points=np.column_stack([flat.reshape(-1, 2), height]),
            normals=[[0.0, 0.0, 1.0]] * len(height),
            name=name,
        )

    more = tuple(sampled(places) for places in SAMPLINGS_3D)
    return Entry(sampled(CORNERS), note, sizes=half, resampled=more)
