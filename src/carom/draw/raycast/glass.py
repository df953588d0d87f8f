"""Bodies that enclose others are drawn as glass: a shell in a shell would hide all that happens inside."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ...solvers.rows import Floats, Ints
from ...world import MESH, Shapes3D, State
from ..camera import Rays
from .visible import Parts, depths

MOST = 400  # pairs that are looked at; with more of them nothing is glass
DIRECTIONS = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])


def chosen_parts(parts: Parts, bodies: NDArray[np.bool_]) -> Parts:
    """The parts of some bodies; `bodies` (n,) is a mask."""
    keep = bodies[parts.body]
    return Parts(parts.body[keep], parts.form[keep], parts.place[keep], parts.turn[keep])


def enclosing(solids: Shapes3D, state: State, parts: Parts) -> Ints:
    """Bodies with the center of another one inside, seen wherever one looks from there; the smallest first.

    Only bodies of several parts and meshes can be hollow.
    """
    several = np.diff(solids.part_ptr) > 1
    mesh = solids.kind[solids.shape[solids.part_ptr[:-1]]] == MESH
    radius = solids.radius
    pairs: list[tuple[int, int]] = []
    for i in np.flatnonzero(several | mesh).tolist():
        apart = np.linalg.norm(state.position - state.position[i], axis=1)
        pairs += [(i, j) for j in np.flatnonzero((apart < radius[i]) & (radius < radius[i])).tolist()]
        if len(pairs) > MOST:
            return np.zeros(0, np.int64)
    found: set[int] = set()
    for i, j in pairs:
        if i not in found and _surrounded(state.position[j], chosen_parts(parts, np.arange(len(radius)) == i), solids):
            found.add(i)
    return np.array(sorted(found, key=lambda i: float(radius[i])), dtype=np.int64)


def _surrounded(place: Floats, parts: Parts, solids: Shapes3D) -> bool:
    """Whether 26 rays from a place all meet the parts."""
    for direction in DIRECTIONS:
        ahead = direction / np.linalg.norm(direction)
        right = np.cross(ahead, np.eye(3)[int(np.argmin(np.abs(ahead)))])
        right /= np.linalg.norm(right)
        one = Rays(np.ascontiguousarray(place), right, np.cross(right, ahead), ahead, 1.0, 1, 1, False)
        if not np.isfinite(depths(one, parts, solids)[0, 0]):
            return False
    return True
