"""Random places without overlap in a rectangle, circle, box or ball.

Random sequential addition places the largest bodies first. It jams at 0.55 of the area (0.38 of the volume), and gets
slow before; bodies without a place are then put anywhere, and all are pushed apart until none overlap. In 2D all z are
0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..solvers.rows import Floats, Ints

TRIES = 40  # trial places per body, on average, before pushing begins
SWEEPS = 4000  # of pushing, before the region counts as too full
FILL = {2: "cover", 3: "fill"}  # an area or a volume
FULL = {2: 0.8, 3: 0.58}  # of the area or volume: above it no random arrangement is sought
AIM = 1e-3  # relative excess of the distance to which bodies are pushed apart, so that pushing ends


@dataclass(frozen=True)
class Region:
    """A box from `lower` to `upper`, or a circle or ball if `radius` is above 0; `lower` is its center then."""

    lower: tuple[float, ...]
    upper: tuple[float, ...] = ()
    radius: float = 0.0

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self.lower)

    @property
    def size(self) -> float:
        """Area or volume."""
        if self.radius > 0.0:
            return np.pi * self.radius**2 if self.dimension == 2 else 4.0 / 3.0 * np.pi * self.radius**3
        return float(np.prod([high - low for low, high in zip(self.lower, self.upper)]))

    @property
    def half_width(self) -> float:
        """Half of the smallest width: the largest radius that fits."""
        return self.radius or 0.5 * min(high - low for low, high in zip(self.lower, self.upper))

    def kernel_form(self) -> Floats:
        """(lower x, y, z, width, depth, height, radius) for the kernels; a height of 0 means 2D."""
        box = np.zeros(7)
        d = self.dimension
        if self.radius > 0.0:
            box[:d] = np.array(self.lower) - self.radius
            box[3 : 3 + d] = 2.0 * self.radius
            box[6] = self.radius
        else:
            box[:d] = self.lower
            box[3 : 3 + d] = np.array(self.upper) - np.array(self.lower)
        return box


class Cells(NamedTuple):
    """The bodies in each cell of a grid over the region: linked lists, `head` of a cell and `after` of a body."""

    box: Floats  # (7,) as Region.kernel_form
    shape: Ints  # (3,) number of cells along each axis
    head: Ints
    after: Ints


def random_pour(radius: Floats, region: Region, gap: float, random: np.random.Generator, field: str) -> Floats:
    """Places of discs or spheres of the given radii, (n, D): inside the region, at least `gap` apart."""
    if not radius.max() <= region.half_width:
        raise ProblemError(
            f"{field}.radius", float(radius.max()), f"bodies that fit the region: at most {region.half_width:g}"
        )
    reach = np.ascontiguousarray(radius + 0.5 * gap)
    d = region.dimension
    own = np.pi * float(reach @ reach) if d == 2 else 4.0 / 3.0 * np.pi * float((reach**3).sum())
    filled = own / region.size
    if filled > FULL[d]:
        raise _too_many(field, radius, filled, d)
    order = np.argsort(-radius, kind="stable")
    sizes = np.ascontiguousarray(radius[order])
    placed = _throw(sizes, reach[order], region, random)
    if placed is None:
        raise _too_many(field, radius, filled, d)
    out = np.empty((len(radius), d))
    out[order] = placed[:, :d]
    return out


def _too_many(field: str, radius: Floats, filled: float, dimension: int) -> ProblemError:
    return ProblemError(
        f"{field}.count",
        len(radius),
        f"fewer or smaller bodies, or a larger region: they would {FILL[dimension]} {filled:.0%} of it",
    )


def _throw(radius: Floats, reach: Floats, region: Region, random: np.random.Generator) -> Floats | None:
    """Random sequential addition, then pushing if some bodies have no place; None if that fails too."""
    n, d = len(radius), region.dimension
    box = region.kernel_form()
    sides = box[3 : 3 + d]
    cell = max(2.0 * reach[0], float(np.prod(sides) / (4.0 * n)) ** (1.0 / d))
    shape = np.ones(3, np.int64)
    shape[:d] = np.clip(sides / cell, 1, 4 * n)
    cells = Cells(box, shape, np.full(int(np.prod(shape)), -1, np.int64), np.full(n, -1, np.int64))
    place = np.zeros((n, 3))
    done, thrown = 0, 0
    while done < n and thrown < TRIES * n:
        darts = random.random((max(2 * (n - done), 1024), d))
        done = _darts(done, darts, radius, reach, place, cells)
        thrown += len(darts)
    if done == n:
        return place
    _anywhere(done, random.random((n - done, d)), radius, place, box)
    aim = reach * (1.0 + AIM)
    for _ in range(SWEEPS):
        _fill(place, cells)
        if not _overlap_found(place, reach, cells):
            return place
        _push(place, radius, aim, cells)
    return None


@kernel
def _cell(x: float, axis: int, box: Floats, shape: Ints) -> int:
    """Number of the cell along one axis."""
    if box[3 + axis] == 0.0:
        return 0
    return min(max(int((x - box[axis]) / box[3 + axis] * shape[axis]), 0), shape[axis] - 1)


@kernel
def _spot(dart: Floats, r: float, box: Floats) -> tuple[float, float, float]:
    """A place for a body of radius r that is all inside, from two or three numbers of [0, 1)."""
    flat = box[5] == 0.0
    if box[6] > 0.0:
        radius = box[6]
        angle = 2.0 * np.pi * dart[1]
        if flat:
            rho, z = (radius - r) * np.sqrt(dart[0]), 0.0
        else:
            far, height = (radius - r) * np.cbrt(dart[0]), 2.0 * dart[2] - 1.0
            rho, z = far * np.sqrt(1.0 - height * height), box[2] + radius + far * height
        return box[0] + radius + rho * np.cos(angle), box[1] + radius + rho * np.sin(angle), z
    z = 0.0 if flat else box[2] + r + dart[2] * (box[5] - 2.0 * r)
    return box[0] + r + dart[0] * (box[3] - 2.0 * r), box[1] + r + dart[1] * (box[4] - 2.0 * r), z


@kernel
def _place_in(number: int, place: Floats, cells: Cells) -> None:
    """Enters a body in the list of its cell."""
    shape = cells.shape
    i, j = _cell(place[number, 0], 0, cells.box, shape), _cell(place[number, 1], 1, cells.box, shape)
    k = (i * shape[1] + j) * shape[2] + _cell(place[number, 2], 2, cells.box, shape)
    cells.after[number] = cells.head[k]
    cells.head[k] = number


@kernel
def _darts(done: int, darts: Floats, radius: Floats, reach: Floats, place: Floats, cells: Cells) -> int:
    """Places bodies from number `done` on, one dart after the other; returns how many have a place."""
    for k in range(len(darts)):
        if done == len(radius):
            break
        place[done] = _spot(darts[k], radius[done], cells.box)
        if not _meets(done, 0, reach, place, cells):
            _place_in(done, place, cells)
            done += 1
    return done


@kernel
def _meets(number: int, first: int, reach: Floats, place: Floats, cells: Cells) -> bool:
    """Whether a body overlaps one of the bodies from number `first` on that the lists hold."""
    shape, head = cells.shape, cells.head
    x, y, z, r = place[number, 0], place[number, 1], place[number, 2], reach[number]
    i, j, k = _cell(x, 0, cells.box, shape), _cell(y, 1, cells.box, shape), _cell(z, 2, cells.box, shape)
    for a in range(max(i - 1, 0), min(i + 2, shape[0])):
        for b in range(max(j - 1, 0), min(j + 2, shape[1])):
            for c in range(max(k - 1, 0), min(k + 2, shape[2])):
                other = head[(a * shape[1] + b) * shape[2] + c]
                while other >= 0:
                    if other >= first and other != number:
                        dx, dy, dz = x - place[other, 0], y - place[other, 1], z - place[other, 2]
                        least = r + reach[other]
                        if dx * dx + dy * dy + dz * dz < least * least:
                            return True
                    other = cells.after[other]
    return False


@kernel
def _anywhere(start: int, spots: Floats, radius: Floats, place: Floats, box: Floats) -> None:
    for k in range(len(spots)):
        place[start + k] = _spot(spots[k], radius[start + k], box)


@kernel
def _fill(place: Floats, cells: Cells) -> None:
    cells.head[:] = -1
    for k in range(len(place) - 1, -1, -1):
        _place_in(k, place, cells)


@kernel
def _overlap_found(place: Floats, reach: Floats, cells: Cells) -> bool:
    number = 0
    while number < len(place) and not _meets(number, number + 1, reach, place, cells):
        number += 1
    return number < len(place)


@kernel
def _push(place: Floats, radius: Floats, aim: Floats, cells: Cells) -> None:
    """One sweep: each pair closer than its `aim` is moved apart, half of the way each, and back into the region."""
    shape, box, head = cells.shape, cells.box, cells.head
    for number in range(len(place)):
        i, j = _cell(place[number, 0], 0, box, shape), _cell(place[number, 1], 1, box, shape)
        k = _cell(place[number, 2], 2, box, shape)
        for a in range(max(i - 1, 0), min(i + 2, shape[0])):
            for b in range(max(j - 1, 0), min(j + 2, shape[1])):
                for c in range(max(k - 1, 0), min(k + 2, shape[2])):
                    other = head[(a * shape[1] + b) * shape[2] + c]
                    while other >= 0:
                        if other > number:
                            _part(place, number, other, aim[number] + aim[other])
                        other = cells.after[other]
        _bring_in(place, number, radius[number], box)
    for number in range(len(place)):  # whoever was moved after its turn
        _bring_in(place, number, radius[number], box)


@kernel
def _part(place: Floats, number: int, other: int, least: float) -> None:
    dx, dy = place[other, 0] - place[number, 0], place[other, 1] - place[number, 1]
    dz = place[other, 2] - place[number, 2]
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    if distance >= least:
        return
    if distance == 0.0:
        dx, half = 1.0, 0.5 * least
    else:
        half = 0.5 * (least - distance) / distance
    place[number, 0] -= half * dx
    place[number, 1] -= half * dy
    place[number, 2] -= half * dz
    place[other, 0] += half * dx
    place[other, 1] += half * dy
    place[other, 2] += half * dz


@kernel
def _bring_in(place: Floats, number: int, r: float, box: Floats) -> None:
    """To the nearest place at which a body of radius r is all inside."""
    axes = 2 if box[5] == 0.0 else 3
    if box[6] > 0.0:
        square = 0.0
        for axis in range(axes):
            square += (place[number, axis] - (box[axis] + box[6])) ** 2
        distance, most = np.sqrt(square), box[6] - r
        if distance > most:
            # A hair less than the full way: the rounded point must not lie outside.
            shrink = most / distance * (1.0 - 1e-15)
            for axis in range(axes):
                center = box[axis] + box[6]
                place[number, axis] = center + (place[number, axis] - center) * shrink
        return
    for axis in range(axes):
        low, high = box[axis] + r, box[axis] + box[3 + axis] - r
        place[number, axis] = min(max(place[number, axis], low), high)
