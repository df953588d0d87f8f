"""Catalogue problems as scenes for an engine: shapes, positions and velocities instead of contact rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..catalogue import Entry
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats, Ints

DEPTH = 0.5  # half size of a 2D box along z in an engine that is in 3D


@dataclass(frozen=True, eq=False)
class Placement:
    """One problem in an engine of `dimension` 2 or 3; 1D and 2D problems lie on the x axis or in the x-y plane.

    A body is (mass, size, position, velocity): size [radius] of a ball or the half sizes of a box, velocity
    (vx, vy, spin) in 2D, linear and angular velocity in 3D. A plane is (point, normal, speed along the normal).
    """

    problem: ImpactProblem
    bodies: list[Any]
    planes: list[Any]
    components: Ints  # of the velocity in the engine that are those of the problem

    def velocity(self, found: Any) -> Floats:
        """Velocities of the engine (n, 3 or 6) in the shape of the problem's."""
        return np.asarray(found, dtype=float)[:, self.components].reshape(self.problem.velocity.shape)


def split(body: list[Any]) -> list[Any]:
    """The same box, taken apart into 2 by 2 (2D: 2 by 1) equal boxes that move as one body.

    Their corners sample the faces of the box along z (2D: y) at corners, middles of edges and the center.
    """
    mass, size, position, velocity = body
    parts = []
    for x in (-0.5, 0.5):
        for y in (-0.5, 0.5) if len(size) == 3 else (0.0,):
            center = [x * size[0], y * size[1], 0.0][: len(size)]
            half = [0.5 * size[0], size[1] * (0.5 if len(size) == 3 else 1.0), *size[2:]]
            parts.append([center, half])
    return [mass, size, position, velocity, parts]


def place(entry: Entry, dimension: int) -> Placement | None:
    """The scene of a catalogue problem, or None if it has no shapes or does not fit into `dimension`."""
    problem = entry.problem
    if entry.sizes is None or problem.positions is None or problem.positions.shape[1] > dimension:
        return None
    n, d = problem.block
    own = problem.positions.shape[1]
    position = np.zeros((n, dimension))
    position[:, :own] = problem.positions
    sizes = entry.sizes
    if 1 < sizes.shape[1] < dimension:
        sizes = np.hstack([sizes, np.full((n, dimension - sizes.shape[1]), DEPTH)])
    spin = [] if d <= own else [2] if dimension == 2 else [5] if own == 2 else [3, 4, 5]
    components = np.array([*range(min(d, own)), *spin])
    velocity = np.zeros((n, 3 if dimension == 2 else 6))
    velocity[:, components] = problem.block_velocity
    mass = problem.mass.times(np.ones((n, d)))[:, 0]
    columns = (mass.tolist(), sizes.tolist(), position.tolist(), velocity.tolist())
    return Placement(problem, [list(body) for body in zip(*columns, strict=True)], _planes(entry, position), components)


def _planes(entry: Entry, position: Floats) -> list[Any]:
    """The planes that make the contacts with the world: a contact row tells the normal, the shape its distance."""
    problem, sizes = entry.problem, entry.sizes
    own = problem.positions.shape[1] if problem.positions is not None else 0
    rows, found = problem.rows, {}
    for contact in np.flatnonzero(np.diff(rows.ptr) == 1):
        body = int(rows.body[rows.ptr[contact]])
        normal = np.zeros(position.shape[1])
        linear = rows.val[rows.ptr[contact]][:own]
        normal[: len(linear)] = linear
        reach = float(sizes[body, 0]) if sizes.shape[1] == 1 else float(np.abs(linear) @ sizes[body])
        offset = float(normal @ position[body]) - reach
        speed = 0.0 - float(problem.boundary_speed[contact])
        key = tuple(np.round([*normal, offset, speed], 9))
        found[key] = [(offset * normal).tolist(), normal.tolist(), speed]
    return list(found.values())
