"""Mirror symmetry of a collapse.

The program of a step has a unique solution. If the tower, its motion and the constraints of the program are mirror
images of themselves, so is the solution, and an antisymmetric part of the computed motion is an error of the solver.
A collapsing tower amplifies it: within ten seconds 1e-16 may grow to the width of a brick. It is therefore removed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.rows import Floats, Ints

if TYPE_CHECKING:
    from .framework import FrameworkCoordinates
    from .reduced import ReducedCoordinates
    from .tower import Tower

MIRROR_ROUNDING = 1e-12  # relative: initial velocities that differ by less are mirror images
SIGNS = np.array([-1.0, 1.0, -1.0])  # of (dx, dy, turn) under a reflection in a vertical line


class Mirror:
    """The mirror symmetry of a tower and of its motion so far. Without one, nothing is changed."""

    def __init__(self, tower: Tower, coordinates: ReducedCoordinates | FrameworkCoordinates, velocity: Floats) -> None:
        partner = mirror_of(tower)
        self.holds = partner is not None and _is_even(velocity, partner)
        if partner is None:
            return
        corner_brick = np.repeat(np.arange(tower.count), np.diff(tower.first_corner))
        self._corner = mirror_images(np.concatenate(tower.corners), corner_brick, partner)
        self._row = coordinates.mirrored(partner)
        self._signs = SIGNS[: coordinates.block]

    def check(self, near: Ints) -> None:
        """Ends the symmetry if a contact of the table `near` (m, 5) has no mirror image in it.

        A reflection exchanges the two ends of an edge.
        """
        if not self.holds or not len(near):
            return
        images = np.append(self._corner, -1)  # -1 is the ground
        count = len(images)
        key = near[:, 1] * count + near[:, 3] + 1
        self.holds = bool(np.isin(images[near[:, 1]] * count + images[near[:, 4]] + 1, key).all())

    def even(self, motion: Floats) -> Floats:
        """The motion without its antisymmetric part, and with the slack variables of a penalty as they are."""
        if not self.holds:
            return motion
        moved = motion[: len(self._row)]
        return np.concatenate([0.5 * (moved + moved[self._row] * self._signs), motion[len(moved) :]])


def mirror_of(tower: Tower) -> Ints | None:
    """(n,) mirror image of each brick under x -> 2 axis - x, exactly; None for a tower without that symmetry."""
    if tower.pins:
        return None
    xs = [x for brick in tower.bricks for x, _ in brick.exact]
    twice_axis = Fraction(min(xs) + max(xs))
    number = {(frozenset(b.exact), b.density, b.fixed): i for i, b in enumerate(tower.bricks)}
    partner = []
    for brick in tower.bricks:
        mirrored = frozenset((twice_axis - x, y) for x, y in brick.exact)
        partner.append(number.get((mirrored, brick.density, brick.fixed), -1))
    return None if -1 in partner else np.array(partner, dtype=np.int64)


def mirror_images(point: Floats, owner: Ints, partner: Ints) -> Ints:
    """For each point (p, 2) of brick `owner` its mirror image, among the points of the brick's mirror image."""
    axis = 0.5 * (point[:, 0].min() + point[:, 0].max())
    out = np.empty(len(point), np.int64)
    for k, (x, y) in enumerate(point):
        others = np.flatnonzero(owner == partner[owner[k]])
        gap = np.abs(point[others] - np.array([2.0 * axis - x, y])).max(axis=1)
        out[k] = others[int(gap.argmin())]
    return out


def _is_even(velocity: Floats, partner: Ints) -> bool:
    odd = np.abs(velocity - velocity[partner] * SIGNS).max(initial=0.0)
    return bool(odd <= MIRROR_ROUNDING * np.abs(velocity).max(initial=0.0))
