"""Towers that are their own mirror image.

The program of a step has one solution, so a symmetric tower moves symmetrically; only rounding and the tolerance of
the solver do otherwise. But a tower that comes down is unstable, and in ten seconds 1e-16 may grow to a brick width.
The part of a step's motion that is not symmetric is therefore dropped, as long as it is small: more than ROUNDING of
the motion (seen: up to 4e-10) is left alone, to be seen.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.rows import Floats, Ints

if TYPE_CHECKING:
    from .tower import Tower

ROUNDING = 1e-9


def mirror_of(tower: Tower) -> Ints | None:
    """(n,) the brick that each brick becomes in the mirror x -> 2 axis - x, exactly; None without that symmetry."""
    if tower.pins:
        return None
    xs = [x for brick in tower.bricks for x, _ in brick.exact]
    twice_axis = Fraction(min(xs) + max(xs))
    number = {_key(brick.exact, brick.density, brick.fixed): i for i, brick in enumerate(tower.bricks)}
    partner = []
    for brick in tower.bricks:
        mirrored = tuple((twice_axis - x, y) for x, y in brick.exact)
        partner.append(number.get(_key(mirrored, brick.density, brick.fixed), -1))
    return None if -1 in partner else np.array(partner, dtype=np.int64)


def _key(corners: tuple[tuple[Fraction, Fraction], ...], density: Fraction, fixed: bool) -> tuple[object, ...]:
    return frozenset(corners), density, fixed


def mirrored_points(points: Floats, owner: Ints, partner: Ints) -> Ints:
    """(p,) for each point the one that it becomes, among those of its brick's mirror image."""
    axis = 0.5 * (points[:, 0].min() + points[:, 0].max())
    out = np.empty(len(points), np.int64)
    for k, (x, y) in enumerate(points):
        others = np.flatnonzero(owner == partner[owner[k]])
        gap = np.abs(points[others] - np.array([2.0 * axis - x, y])).max(axis=1)
        out[k] = others[int(gap.argmin())]
    return out


def symmetric_part(motion: Floats, partner: Ints, signs: Floats) -> Floats:
    """The motion without its antisymmetric part, if that is rounding; `signs`: what a mirror does to each component."""
    even = 0.5 * (motion + motion[partner] * signs)
    size = float(np.abs(motion).max(initial=0.0))
    return even if float(np.abs(motion - even).max(initial=0.0)) <= ROUNDING * size else motion
