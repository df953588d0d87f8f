"""Copies of bodies across periodic sides, which are searched like bodies where the grid of the broad phase cannot be
periodic; and positions wrapped into the sides.

An image is identified by the number of periods along each axis by which it is shifted. Lees-Edwards sides are periodic
sides whose images slide: an image across the sheared side is also shifted along the side, by
`shear_rate * length * time`, and moves at `shear_rate * length`.

Boundaries have no images: a segment that ends near a periodic side has no contacts across it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..scene.boundaries import Periodic
from ..solvers.rows import Floats, Ints


def periods_of(periodic: Periodic | None, dimension: int) -> Floats:
    """Lengths (D,) of the periods; 0 for axes without."""
    if periodic is None:
        return np.zeros(dimension)
    sides = [periodic.sides[axis] for axis in range(dimension)]
    return np.array([0.0 if side is None else side[1] - side[0] for side in sides])


class Images(NamedTuple):
    """All n bodies, followed by g images: the body of each row, and how it was shifted.

    Copies of the bodies near the low sides are placed beyond the high sides, so that each pair across a side is found
    once. A pair of two images counts if along each axis at most one of them was shifted (`counts_once`); otherwise the
    pair of the originals is found as well.
    """

    owner: Ints  # (n + g,)
    shift: Floats  # (n + g, D)
    drift: Floats  # (n + g, D) velocity relative to the body
    turns: Ints  # (n + g, D) number of shifts along each axis
    periods: Ints  # (n + g, D) of which, and of the slide in `Sides`, the shift consists


def make_images(periodic: Periodic, place: Floats, radius: Floats, margin: float, time: float) -> Images:
    """Images at a time of bodies at `place` (n, D)."""
    length, none, along = periods_of(periodic, place.shape[1]), np.zeros(place.shape), periodic.slide_axis
    images = Images(np.arange(len(place)), none, none, none.astype(np.int64), none.astype(np.int64))
    for axis in _order(periodic, len(length)):
        side = periodic.sides[axis]
        if side is None:
            continue
        here = place[images.owner] + images.shift
        outside = max(0.0, float((side[0] - here[:, axis]).max()), float((here[:, axis] - side[1]).max()))
        width = 2.0 * float(radius.max()) + margin + outside
        if width >= 0.5 * length[axis]:
            width = length[axis]  # few bodies in a narrow box: all get an image, and counts_once selects the pairs
        chosen = np.flatnonzero(here[:, axis] <= side[0] + width)
        copies = Images._make(column[chosen] for column in images)
        copies.shift[:, axis] += length[axis]
        copies.turns[:, axis] += 1
        copies.periods[:, axis] += 1
        other = periodic.sides[along]
        if periodic.shear_rate != 0.0 and axis == periodic.sheared_axis and other is not None:
            slid = periodic.shear_rate * length[axis] * time
            back = np.floor((here[chosen, along] + slid - other[0]) / length[along])
            copies.shift[:, along] += slid - back * length[along]
            copies.drift[:, along] += periodic.shear_rate * length[axis]
            copies.periods[:, along] += (math.floor(slid / length[along]) - back).astype(np.int64)
        images = Images._make(np.concatenate(both) for both in zip(images, copies))
    return images


def _order(periodic: Periodic, dimension: int) -> list[int]:
    """The axes, the sheared one first, because its images slide along another axis and need images along that one."""
    return sorted(range(dimension), key=lambda axis: axis != periodic.sheared_axis)


def counts_once(images: Images, first: Ints, second: Ints) -> np.ndarray:
    """Which pairs of rows count: along no axis were both shifted, and they are not one body."""
    apart = (np.minimum(images.turns[first], images.turns[second]) == 0).all(axis=1)
    return apart & (images.owner[first] != images.owner[second])


def wrapped(periodic: Periodic, position: Floats, velocity: Floats, time: float) -> tuple[Floats, Floats]:
    """Positions wrapped into the periodic sides; bodies that cross a Lees-Edwards side get its image's velocity."""
    position, sheared, along = position.copy(), periodic.sheared_axis, periodic.slide_axis
    for axis in _order(periodic, position.shape[1]):
        side = periodic.sides[axis]
        if side is None:
            continue
        speed = periodic.shear_rate * (side[1] - side[0]) if axis == sheared else 0.0
        if speed != 0.0:
            velocity = velocity.copy()
        # Rounding can give the high side itself, which would count as crossing again in the next step.
        top = float(np.nextafter(side[1], side[0]))
        _wrap(position, velocity, (axis, along), (side[0], side[1], top), float(speed), float(time))
    return position, velocity


@kernel
def _wrap(position, velocity, axes, side, speed, time):
    """Wraps positions along axes[0], in place; images across a sheared side move at `speed` along axes[1]."""
    (axis, along), (low, high, top) = axes, side
    for i in range(len(position)):
        times = np.floor((position[i, axis] - low) / (high - low))
        if times == 0.0:
            continue
        position[i, axis] = min(position[i, axis] - times * (high - low), top)
        if speed != 0.0:
            position[i, along] -= times * speed * time
            velocity[i, along] -= times * speed
