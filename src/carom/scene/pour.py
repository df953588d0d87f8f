"""Random places without overlap in a box or a circle.

Darts are thrown as long as they find room, the largest body first. Darts alone jam at 0.55 of the area, and get
slow before; bodies that found no place by then are put anywhere, and all are pushed apart until none overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .boundaries import Vector

TRIES = 40  # darts for each body, on average, before pushing begins
SWEEPS = 4000
FULL = 0.8  # of the area: above it no random arrangement is looked for
AIM = 1e-3  # bodies are pushed this part of a radius further than they need to be, so that pushing ends


@dataclass(frozen=True)
class Region:
    """A box from `lower` to `upper`, or a circle if `radius` is above 0; `lower` is its centre then."""

    lower: Vector
    upper: Vector = (0.0, 0.0)
    radius: float = 0.0

    @property
    def area(self) -> float:
        if self.radius > 0.0:
            return np.pi * self.radius**2
        return (self.upper[0] - self.lower[0]) * (self.upper[1] - self.lower[1])

    @property
    def half_width(self) -> float:
        return self.radius or 0.5 * min(self.upper[0] - self.lower[0], self.upper[1] - self.lower[1])

    def kernel_form(self) -> Floats:
        """(low x, low y, width, height, radius) for the kernels."""
        if self.radius > 0.0:
            x, y = self.lower
            return np.array([x - self.radius, y - self.radius, 2.0 * self.radius, 2.0 * self.radius, self.radius])
        (x, y), (x1, y1) = self.lower, self.upper
        return np.array([x, y, x1 - x, y1 - y, 0.0])


def random_pour(radius: Floats, region: Region, gap: float, random: np.random.Generator, field: str) -> Floats:
    """Places of discs of the given radii, (n, 2): inside the region, at least `gap` apart."""
    if not radius.max() <= region.half_width:
        raise ProblemError(
            f"{field}.radius", float(radius.max()), f"bodies that fit the region: at most {region.half_width:g}"
        )
    reach = np.ascontiguousarray(radius + 0.5 * gap)
    covered = np.pi * float(reach @ reach) / region.area
    if covered > FULL:
        raise _too_many(field, radius, covered)
    order = np.argsort(-radius, kind="stable")
    box, sizes = region.kernel_form(), np.ascontiguousarray(radius[order])
    placed = _throw(sizes, reach[order], box, random)
    if placed is None:
        raise _too_many(field, radius, covered)
    out = np.empty_like(placed)
    out[order] = placed
    return out


def _too_many(field: str, radius: Floats, covered: float) -> ProblemError:
    return ProblemError(
        f"{field}.count",
        len(radius),
        f"fewer or smaller bodies, or a larger region: they would cover {covered:.0%} of it",
    )


def _throw(radius: Floats, reach: Floats, box: Floats, random: np.random.Generator) -> Floats | None:
    """Darts first, pushing if they were not enough; None if that fails too."""
    n = len(radius)
    place = np.zeros((n, 2))
    cell = max(2.0 * reach[0], np.sqrt(box[2] * box[3] / (4.0 * n)))
    shape = np.clip(np.array([box[2] / cell, box[3] / cell]), 1, 4 * n).astype(np.int64)
    head, after = np.full(shape[0] * shape[1], -1, np.int64), np.full(n, -1, np.int64)
    done, thrown = 0, 0
    while done < n and thrown < TRIES * n:
        darts = random.random((max(2 * (n - done), 1024), 2))
        done = _darts(done, darts, radius, reach, box, shape, place, head, after)
        thrown += len(darts)
    if done == n:
        return place
    _anywhere(done, random.random((n - done, 2)), radius, box, place)
    aim = reach * (1.0 + AIM)
    for _ in range(SWEEPS):
        _fill(place, box, shape, head, after)
        if not _overlap_found(place, reach, box, shape, head, after):
            return place
        _push(place, radius, aim, box, shape, head, after)
    return None


@njit(cache=True, nogil=True)
def _cell(x: float, y: float, box: Floats, shape: Ints) -> tuple[int, int]:
    i = min(max(int((x - box[0]) / box[2] * shape[0]), 0), shape[0] - 1)
    j = min(max(int((y - box[1]) / box[3] * shape[1]), 0), shape[1] - 1)
    return i, j


@njit(cache=True, nogil=True)
def _spot(u: float, v: float, r: float, box: Floats) -> tuple[float, float]:
    """A place for a body of radius r that is all inside, from two numbers of [0, 1)."""
    if box[4] > 0.0:
        rho, angle = (box[4] - r) * np.sqrt(u), 2.0 * np.pi * v
        return box[0] + box[4] + rho * np.cos(angle), box[1] + box[4] + rho * np.sin(angle)
    return box[0] + r + u * (box[2] - 2.0 * r), box[1] + r + v * (box[3] - 2.0 * r)


@njit(cache=True, nogil=True)
def _darts(
    done: int,
    darts: Floats,
    radius: Floats,
    reach: Floats,
    box: Floats,
    shape: Ints,
    place: Floats,
    head: Ints,
    after: Ints,
) -> int:
    """Places bodies from number `done` on, one dart after the other; returns how many have a place."""
    for k in range(len(darts)):
        if done == len(radius):
            break
        x, y = _spot(darts[k, 0], darts[k, 1], radius[done], box)
        i, j = _cell(x, y, box, shape)
        if _is_free(x, y, reach[done], i, j, reach, shape, place, head, after):
            place[done, 0], place[done, 1] = x, y
            after[done] = head[i * shape[1] + j]
            head[i * shape[1] + j] = done
            done += 1
    return done


@njit(cache=True, nogil=True)
def _is_free(
    x: float, y: float, r: float, i: int, j: int, reach: Floats, shape: Ints, place: Floats, head: Ints, after: Ints
) -> bool:
    for a in range(max(i - 1, 0), min(i + 2, shape[0])):
        for b in range(max(j - 1, 0), min(j + 2, shape[1])):
            other = head[a * shape[1] + b]
            while other >= 0:
                dx, dy, least = x - place[other, 0], y - place[other, 1], r + reach[other]
                if dx * dx + dy * dy < least * least:
                    return False
                other = after[other]
    return True


@njit(cache=True, nogil=True)
def _anywhere(start: int, spots: Floats, radius: Floats, box: Floats, place: Floats) -> None:
    for k in range(len(spots)):
        place[start + k] = _spot(spots[k, 0], spots[k, 1], radius[start + k], box)


@njit(cache=True, nogil=True)
def _fill(place: Floats, box: Floats, shape: Ints, head: Ints, after: Ints) -> None:
    head[:] = -1
    for k in range(len(place) - 1, -1, -1):
        i, j = _cell(place[k, 0], place[k, 1], box, shape)
        after[k] = head[i * shape[1] + j]
        head[i * shape[1] + j] = k


@njit(cache=True, nogil=True)
def _push(place: Floats, radius: Floats, aim: Floats, box: Floats, shape: Ints, head: Ints, after: Ints) -> None:
    """One sweep: each pair closer than its `aim` is moved apart, half of the way each, and back into the region."""
    for k in range(len(place)):
        i, j = _cell(place[k, 0], place[k, 1], box, shape)
        for a in range(max(i - 1, 0), min(i + 2, shape[0])):
            for b in range(max(j - 1, 0), min(j + 2, shape[1])):
                other = head[a * shape[1] + b]
                while other >= 0:
                    if other > k:
                        _part(place, k, other, aim[k] + aim[other])
                    other = after[other]
        place[k] = _inside(place[k, 0], place[k, 1], radius[k], box)
    for k in range(len(place)):  # whoever was moved after its turn
        place[k] = _inside(place[k, 0], place[k, 1], radius[k], box)


@njit(cache=True, nogil=True)
def _part(place: Floats, k: int, other: int, least: float) -> None:
    dx, dy = place[other, 0] - place[k, 0], place[other, 1] - place[k, 1]
    distance = np.sqrt(dx * dx + dy * dy)
    if distance >= least:
        return
    if distance == 0.0:
        dx, dy, distance = 1.0, 0.0, 1.0
        half = 0.5 * least
    else:
        half = 0.5 * (least - distance) / distance
    place[k, 0] -= half * dx
    place[k, 1] -= half * dy
    place[other, 0] += half * dx
    place[other, 1] += half * dy


@njit(cache=True, nogil=True)
def _inside(x: float, y: float, r: float, box: Floats) -> tuple[float, float]:
    """The nearest place at which a body of radius r is all inside."""
    if box[4] > 0.0:
        cx, cy, most = box[0] + box[4], box[1] + box[4], box[4] - r
        distance = np.sqrt((x - cx) ** 2 + (y - cy) ** 2)
        if distance <= most:
            return x, y
        # A hair less than the full way: the rounded point must not lie outside.
        shrink = most / distance * (1.0 - 1e-15)
        return cx + (x - cx) * shrink, cy + (y - cy) * shrink
    return min(max(x, box[0] + r), box[0] + box[2] - r), min(max(y, box[1] + r), box[1] + box[3] - r)


@njit(cache=True, nogil=True)
def _overlap_found(place: Floats, reach: Floats, box: Floats, shape: Ints, head: Ints, after: Ints) -> bool:
    for k in range(len(place)):
        i, j = _cell(place[k, 0], place[k, 1], box, shape)
        for a in range(max(i - 1, 0), min(i + 2, shape[0])):
            for b in range(max(j - 1, 0), min(j + 2, shape[1])):
                other = head[a * shape[1] + b]
                while other >= 0:
                    if other > k:
                        dx, dy = place[other, 0] - place[k, 0], place[other, 1] - place[k, 1]
                        least = reach[k] + reach[other]
                        if dx * dx + dy * dy < least * least:
                            return True
                    other = after[other]
    return False
