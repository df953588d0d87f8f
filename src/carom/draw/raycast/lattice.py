"""Light on surfaces, measured at some pixels and blended in between.

Light from the sky is smooth, and so is that of the lamp apart from the edges of its shadow. Both are measured at every
fourth pixel, along and across. Between four such places on one surface the sky's part is blended; the lamp's part is
measured at every pixel where it changes nearby. That is several times as fast as asking all shadow maps for each pixel;
the mean difference is a quarter of a step of a byte of color.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ...solvers.rows import Floats
from ..camera import Rays
from .light import Lights, Maps, above, gathered, lit, summed

COARSE = 4  # pixels between two places at which light is measured
CHANGE = 0.004  # of the lamp's light between them, above which it is measured at every pixel
Normal = tuple[float, float, float]


class Lattice(NamedTuple):
    """Every `step`-th ray along and across: the surface that it meets, and what gets there of lamp and sky."""

    surface: NDArray[np.int64]  # (rows, columns), -1 for none
    place: Floats  # (rows, columns, 6) the point and the unit normal
    lamp: NDArray[np.float32]
    sky: NDArray[np.float32]
    even: NDArray[np.bool_]  # (rows, columns) whether the lamp's light changes in or next to the cell that begins here
    step: int


@kernel
def point(rays: Rays, i: int, j: int, t: float) -> tuple[float, float, float]:
    """Where ray (i, j) is at depth t."""
    b = (0.5 * rays.rows - i - 0.5) / rays.scale
    a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
    dx = rays.forward[0] + a * rays.right[0] + b * rays.up[0]
    dy = rays.forward[1] + a * rays.right[1] + b * rays.up[1]
    dz = rays.forward[2] + a * rays.right[2] + b * rays.up[2]
    return rays.eye[0] + t * dx, rays.eye[1] + t * dy, rays.eye[2] + t * dz


@kernel
def empty(rays: Rays, smooth: int) -> Lattice:
    """For rays of which `smooth` x `smooth` make a pixel; the last row and column are those of the picture."""
    step = COARSE * smooth
    rows, columns = (rays.rows - 1) // step + 2, (rays.columns - 1) // step + 2
    surface = np.full((rows, columns), -1, np.int64)
    lamp, sky = np.zeros((rows, columns), np.float32), np.zeros((rows, columns), np.float32)
    place = np.zeros((rows, columns, 6))
    return Lattice(surface, place, lamp, sky, np.zeros((rows, columns), np.bool_), step)


@kernel
def note(lattice: Lattice, r: int, c: int, surface: int, x: float, y: float, z: float, n: Normal) -> None:
    """Notes a point of a surface with unit normal n, which the ray of row r, column c meets."""
    lattice.surface[r, c] = surface
    place = lattice.place[r, c]
    place[0], place[1], place[2], place[3], place[4], place[5] = x, y, z, n[0], n[1], n[2]


@kernel
def measure(lattice: Lattice, lights: Lights) -> None:
    """Measures the light at all places that were noted, and finds the cells where that of the lamp is even."""
    _gather(lattice, lights.lamp, lattice.lamp)
    _gather(lattice, lights.sky, lattice.sky)
    _compare(lattice)


@kernel
def _gather(lattice: Lattice, maps: Maps, out: NDArray[np.float32]) -> None:
    """What `gathered` says, at all places. Map by map, so that each is in the processor's cache while it is asked."""
    rows, columns = lattice.surface.shape
    off, share = above(maps), 1.0 / len(maps.toward)
    for k in range(len(maps.toward)):
        dx, dy, dz = maps.toward[k, 0], maps.toward[k, 1], maps.toward[k, 2]
        for r in range(rows):
            for c in range(columns):
                if lattice.surface[r, c] < 0:
                    continue
                nx, ny, nz = lattice.place[r, c, 3], lattice.place[r, c, 4], lattice.place[r, c, 5]
                cosine = dx * nx + dy * ny + dz * nz
                if cosine > 0.0:
                    x, y, z = lattice.place[r, c, 0], lattice.place[r, c, 1], lattice.place[r, c, 2]
                    out[r, c] += share * cosine * lit(maps, k, x + off * nx, y + off * ny, z + off * nz)


@kernel
def _compare(lattice: Lattice) -> None:
    """Finds the cells where the lamp's light is even.

    The neighbors count as well: a thin shadow that ends between two places does not get lost.
    """
    rows, columns = lattice.surface.shape
    for r in range(rows - 1):
        for c in range(columns - 1):
            low, high = lattice.lamp[r, c], lattice.lamp[r, c]
            for u in range(max(r - 1, 0), min(r + 3, rows)):
                for v in range(max(c - 1, 0), min(c + 3, columns)):
                    if lattice.surface[u, v] == lattice.surface[r, c]:
                        low, high = min(low, lattice.lamp[u, v]), max(high, lattice.lamp[u, v])
            lattice.even[r, c] = high - low <= CHANGE


@kernel
def light(
    lattice: Lattice, i: int, j: int, surface: int, lights: Lights, x: float, y: float, z: float, n: Normal
) -> float:
    """The light at a point of a surface with unit normal n, which ray (i, j) meets."""
    r, c = i // lattice.step, j // lattice.step
    s, t = i / lattice.step - r, j / lattice.step - c
    whole = lattice.surface[r, c] == surface and lattice.surface[r, c + 1] == surface
    whole = whole and lattice.surface[r + 1, c] == surface and lattice.surface[r + 1, c + 1] == surface
    if whole and lattice.even[r, c]:
        lamp = _blend(lattice.lamp, r, c, s, t)
    else:
        lamp = gathered(lights.lamp, x, y, z, n[0], n[1], n[2])
    if whole:
        sky = _blend(lattice.sky, r, c, s, t)
    else:
        sky = gathered(lights.sky, x, y, z, n[0], n[1], n[2])
    return summed(lights, lamp, sky, n[0], n[1], n[2])


@kernel
def _blend(values: NDArray[np.float32], r: int, c: int, s: float, t: float) -> float:
    top = (1.0 - t) * values[r, c] + t * values[r, c + 1]
    return (1.0 - s) * top + s * ((1.0 - t) * values[r + 1, c] + t * values[r + 1, c + 1])
