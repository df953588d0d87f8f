"""Periodic images of bodies: their codes in lists of pairs, their displacements, and the copies that are searched.

An image is identified by the number of periods along each axis by which it is shifted. Lees-Edwards sides are periodic
sides whose images slide: an image across the sheared side is also shifted along the side, by
`shear_rate * length * time`, and moves at `shear_rate * length`.

Boundaries have no images: a segment that ends near a periodic side has no contacts across it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..scene.boundaries import Periodic
from ..solvers.rows import Floats, Ints
from .contact_set import DRIFT, OFFSET, WIDTH

# The code of an image is the number of periods along each axis, plus 8, as digits of base CODE_BASE.
CODE_BASE, NO_IMAGE = 16, 8 * (1 + 16 + 256)  # NO_IMAGE: the body itself


class Sides(NamedTuple):
    """The periodic sides of a world in a step."""

    length: Vec3  # periods; 0 for axes without
    slide_axis: int  # 0 or 1: axis along which images across the sheared side slide
    sheared_axis: int
    start: float  # by how much they have slid at the start of the step, up to whole periods
    end: float  # and at its end
    speed: float


def periods_of(periodic: Periodic | None, dimension: int) -> Floats:
    """Lengths (D,) of the periods; 0 for axes without."""
    if periodic is None:
        return np.zeros(dimension)
    sides = [periodic.sides[axis] for axis in range(dimension)]
    return np.array([0.0 if side is None else side[1] - side[0] for side in sides])


NO_SIDES = Sides(Vec3(0.0, 0.0, 0.0), 0, 0, 0.0, 0.0, 0.0)


def sides_in_step(periodic: Periodic | None, before: float, after: float) -> Sides:
    """The periodic sides in a step between two times."""
    if periodic is None:
        return NO_SIDES
    length = periods_of(periodic, 3)
    slide, sheared = periodic.slide_axis, periodic.sheared_axis
    speed, period = periodic.shear_rate * float(length[sheared]), float(length[slide])
    whole = math.floor(speed * after / period) * period if speed != 0.0 else 0.0
    return Sides(Vec3(*map(float, length)), slide, sheared, speed * before - whole, speed * after - whole, speed)


# ---- images of pairs, in kernels


@kernel(inline="always")
def periods(image, axis):
    """Number of periods along an axis by which an image is shifted."""
    return ((image >> (4 * axis)) & (CODE_BASE - 1)) - 8


@kernel(inline="always")
def image_offset(sides, image, slide):
    """Displacement from a body to its image, where images across the sheared side have slid by `slide`."""
    x, y, z = periods(image, 0) * sides.length.x, periods(image, 1) * sides.length.y, periods(image, 2) * sides.length.z
    if slide != 0.0:
        along = periods(image, sides.sheared_axis) * slide
        x, y = (x + along, y) if sides.slide_axis == 0 else (x, y + along)
    return Vec3(x, y, z)


@kernel(inline="always")
def image_drift(sides, image):
    """Velocity of an image relative to its body."""
    drift = periods(image, sides.sheared_axis) * sides.speed if sides.speed != 0.0 else 0.0
    return Vec3(drift, 0.0, 0.0) if sides.slide_axis == 0 else Vec3(0.0, drift, 0.0)


@kernel(inline="always")
def put_image(table, n, sides, image):
    """Writes offset and drift of contact n, whose second body is a periodic image."""
    if table.shape[1] == WIDTH:
        return
    offset, drift = image_offset(sides, image, sides.start), image_drift(sides, image)
    for k in range(3):
        table[n, OFFSET + k], table[n, DRIFT + k] = offset[k], drift[k]


# ---- copies that are searched like bodies, where the grid of the broad phase cannot be periodic


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
    position, velocity = position.copy(), velocity.copy()
    for axis in _order(periodic, position.shape[1]):
        side = periodic.sides[axis]
        if side is None:
            continue
        length = side[1] - side[0]
        times = np.floor((position[:, axis] - side[0]) / length)
        crossed = times != 0.0
        if not crossed.any():
            continue
        position[crossed, axis] -= times[crossed] * length
        # Rounding can give the high side itself, which would count as crossing again in the next step.
        position[crossed, axis] = np.minimum(position[crossed, axis], np.nextafter(side[1], side[0]))
        if axis == periodic.sheared_axis and periodic.shear_rate != 0.0:
            speed, along = periodic.shear_rate * length, periodic.slide_axis
            position[crossed, along] -= times[crossed] * speed * time
            velocity[crossed, along] -= times[crossed] * speed
    return position, velocity
