"""Contacts and pins as rows over rigid motions: three numbers a brick, (dx, dy, turn) about its center of mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ..solvers.rows import Floats
from .touching import GROUND

if TYPE_CHECKING:
    from .tower import Tower


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
