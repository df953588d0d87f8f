"""Periodic images: copies of the bodies near the low sides are placed beyond the high sides.

Contact across a side is then contact with an image, and needs no special case in the broad and narrow phase. Images are
made toward the high sides only, so that each pair across a side is found once. A pair of two images counts if along
each axis at most one of them was shifted; otherwise the pair of the originals is found as well.

Boundaries have no images: a segment that ends near a periodic side has no contacts across it.

Lees-Edwards sides are periodic sides whose image slides: the image is also shifted along the side, by
`shear_rate * length * time`, and moves at `shear_rate * length`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..scene.boundaries import Periodic
from ..solvers.rows import Floats, Ints


@dataclass(frozen=True, eq=False)
class Images:
    """All n bodies, followed by g images: the body of each row, and how it was shifted."""

    owner: Ints  # (n + g,)
    shift: Floats  # (n + g, D) at the start of the step
    shift_after: Floats  # (n + g, D) at its end
    drift: Floats  # (n + g, D) velocity relative to the body
    turns: Ints  # (n + g, D) number of shifts along each axis


def make_images(periodic: Periodic, after: Floats, radius: Floats, margin: float, time: float, step: float) -> Images:
    """Images for a step from `time` to `time + step`, for bodies that are at `after` (n, D) at its end."""
    n, dimension = after.shape
    none = np.zeros((n, dimension))
    images = Images(np.arange(n), none, none, none, np.zeros((n, dimension), np.int64))
    for axis in _order(periodic, dimension):
        side = periodic.sides[axis]
        if side is None:
            continue
        length = side[1] - side[0]
        place = after[images.owner] + images.shift_after
        outside = max(0.0, float((side[0] - place[:, axis]).max()), float((place[:, axis] - side[1]).max()))
        reach = 2.0 * float(radius.max()) + margin + outside
        if reach >= 0.5 * length:
            reach = length  # few bodies in a narrow box: all get an image, and counts_once selects the pairs
        chosen = np.flatnonzero(place[:, axis] <= side[0] + reach)
        images = _copied(images, chosen, axis, length, periodic, place[chosen], time, step)
    return images


def _order(periodic: Periodic, dimension: int) -> list[int]:
    """The axes, the sheared one first, because its images slide along another axis and need images along that one."""
    return sorted(range(dimension), key=lambda axis: axis != periodic.sheared_axis)


def _copied(
    images: Images,
    chosen: Ints,
    axis: int,
    length: float,
    periodic: Periodic,
    place: Floats,
    time: float,
    step: float,
) -> Images:
    shift, after, drift = images.shift[chosen], images.shift_after[chosen], images.drift[chosen]
    turns = images.turns[chosen]
    shift[:, axis] += length
    after[:, axis] += length
    turns[:, axis] += 1
    other = periodic.sides[periodic.slide_axis]
    if periodic.shear_rate != 0.0 and axis == periodic.sheared_axis and other is not None:
        speed, along = periodic.shear_rate * length, periodic.slide_axis
        width = other[1] - other[0]
        moved = place[:, along] + speed * (time + step)
        back = np.floor((moved - other[0]) / width) * width
        shift[:, along] += speed * time - back
        after[:, along] += speed * (time + step) - back
        drift[:, along] += speed
    return Images(
        np.concatenate([images.owner, images.owner[chosen]]),
        np.concatenate([images.shift, shift]),
        np.concatenate([images.shift_after, after]),
        np.concatenate([images.drift, drift]),
        np.concatenate([images.turns, turns]),
    )


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
