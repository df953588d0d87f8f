"""Layouts of bodies: grid, hexagonal grid, chain, rack, ring. Each returns places, (n, D).

Random places are in `pour.py`. Scene files use these functions; Python scenes may, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.rows import Floats
from .boundaries import Vector

ROW = np.sqrt(0.75)  # distance of neighboring rows of a hexagonal packing, in spacings
LAYER = np.sqrt(2.0 / 3.0)  # of neighboring layers of a close packing
Place = tuple[float, ...]


@dataclass(frozen=True)
class Outline:
    """Extents of discs and polygons."""

    radius: Floats  # (n,) of the bounding discs
    corners: Floats | None = None  # (k, 2) of a polygon about its center, rotated as all bodies are

    def reach(self, direction: Floats) -> Floats:
        """Distance from the center to the furthest point along the unit vector `direction`, (n,)."""
        if self.corners is None:
            return self.radius
        return np.full(len(self.radius), (self.corners @ direction).max())

    @property
    def extent(self) -> Vector:
        """Width and height of the largest body."""
        if self.corners is None:
            return self.diameter, self.diameter
        width, height = np.ptp(self.corners, axis=0)
        return float(width), float(height)

    @property
    def diameter(self) -> float:
        """Diameter of the largest bounding circle."""
        return 2.0 * float(self.radius.max())


if TYPE_CHECKING:
    from ..geometry.solids import Extent  # loads the 3D geometry, which other scenes do not need

    Reach = Outline | Extent  # of bodies about their centers of mass, for layouts in which bodies touch


def grid(
    rows: int,
    columns: int,
    spacing: Place,
    center: Place | None = None,
    corner: Place | None = None,
    layers: int | None = None,
) -> Floats:
    """A grid, row by row from the lower left; in 3D (three spacings) `layers` of them, layer by layer from below.

    `corner` is the place of the first body, `center` that of the center of the grid.
    """
    counts = (columns, rows, layers or 1)[: len(spacing)]
    along = [np.arange(count) * spacing[k] for k, count in enumerate(counts)]
    points = np.stack(np.meshgrid(*along[::-1], indexing="ij")[::-1], axis=-1).reshape(-1, len(counts))
    return _placed(points, tuple(float(steps[-1]) for steps in along), center, corner)


def hex_grid(
    rows: int,
    columns: int,
    spacing: float,
    center: Place | None = None,
    corner: Place | None = None,
    layers: int | None = None,
) -> Floats:
    """A hexagonal grid: rows `sqrt(3)/2 spacing` apart, every other row moved by half a spacing to the right.

    With `layers`, hexagonal close packing: layers `sqrt(2/3) spacing` apart, every other one moved into the hollows of
    the layer below, by half a spacing along x and a third of a row along y.
    """
    if layers is None:
        points = grid(rows, columns, (spacing, ROW * spacing), corner=(0.0, 0.0))
        points[:, 0] += 0.5 * spacing * (np.repeat(np.arange(rows), columns) % 2)
        return _placed(points, (float(points[:, 0].max()), float(points[-1, 1])), center, corner)
    points = grid(rows, columns, (spacing, ROW * spacing, LAYER * spacing), corner=(0.0, 0.0, 0.0), layers=layers)
    number = np.arange(len(points)) // columns
    row, layer = number % rows, number // rows
    points[:, 0] += 0.5 * spacing * ((row + layer) % 2)
    points[:, 1] += ROW / 3.0 * spacing * (layer % 2)
    return _placed(points, tuple(float(v) for v in points.max(axis=0)), center, corner)


def chain(outline: Reach, start: Place, direction: Place, gap: float) -> Floats:
    """A chain along a line from `start`; surfaces of neighbors are `gap` apart."""
    along = np.array(direction) / np.hypot.reduce(direction)
    front, back = outline.reach(along), outline.reach(-along)
    distance = np.concatenate([[0.0], np.cumsum(front[:-1] + gap + back[1:])])
    return np.array(start) + distance[:, None] * along


def rack(rows: int, spacing: float, apex: Vector, direction: Vector) -> Floats:
    """A triangle: row k, counted from 0 at the apex, has k + 1 bodies across `direction`."""
    along = np.array(direction) / np.hypot(direction[0], direction[1])
    across = np.array([-along[1], along[0]])
    row = np.repeat(np.arange(rows), np.arange(1, rows + 1))
    in_row = np.arange(len(row)) - row * (row + 1) // 2
    x, y = row * ROW * spacing, (in_row - 0.5 * row) * spacing
    return np.array(apex) + x[:, None] * along + y[:, None] * across


def ring(count: int, center: Vector, radius: float, start_angle: float = 0.0) -> Floats:
    """Places spread evenly on a circle."""
    angle = start_angle + 2.0 * np.pi * np.arange(count) / count
    return np.array(center) + radius * np.column_stack([np.cos(angle), np.sin(angle)])


def ring_radius(count: int, spacing: float) -> float:
    """Radius of the circle on which neighbors are `spacing` apart: `spacing / (2 sin(pi / count))`; 0 for one body."""
    return spacing / (2.0 * np.sin(np.pi / count)) if count > 1 else 0.0


def rings(count: int, center: Vector, spacing: float, start_angle: float = 0.0) -> Floats:
    """One body at the center and 6 k on the circle of radius `k spacing`. Neighbors are at least `spacing` apart."""
    circles = [ring(6 * k, center, k * spacing, start_angle) for k in range(1, count + 1)]
    return np.concatenate([np.array([center], dtype=np.float64), *circles])


def jittered(points: Floats, reach: float, random: np.random.Generator) -> Floats:
    """Each point moved by a random vector, uniformly distributed in the disc or ball of radius `reach`."""
    count, d = points.shape
    if d == 2:
        way = _directions(count, d, random)
        distance = reach * np.sqrt(random.random(count))
        return points + distance[:, None] * way
    return points + reach * np.cbrt(random.random(count))[:, None] * _directions(count, d, random)


def random_velocities(
    count: int, kind: str, speed: float, no_drift: bool, random: np.random.Generator, dimension: int = 2
) -> Floats:
    """normal: standard deviation `speed` in each component; uniform: within +-speed; direction: of length `speed`."""
    if kind == "normal":
        velocity = random.normal(scale=abs(speed), size=(count, dimension))
    elif kind == "uniform":
        velocity = random.uniform(-speed, speed, size=(count, dimension))
    else:
        velocity = speed * _directions(count, dimension, random)
    return velocity - velocity.mean(axis=0) if no_drift else velocity


def random_orientations(count: int, random: np.random.Generator) -> Floats:
    """Uniformly distributed unit quaternions (count, 4): directions of a normal distribution in four dimensions."""
    q = random.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def _directions(count: int, dimension: int, random: np.random.Generator) -> Floats:
    """Uniformly distributed unit vectors (count, D). In 3D their heights are uniform (Archimedes)."""
    if dimension == 2:
        angle = 2.0 * np.pi * random.random(count)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    height, angle = random.uniform(-1.0, 1.0, count), 2.0 * np.pi * random.random(count)
    across = np.sqrt(1.0 - height * height)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), height])


def _placed(points: Floats, size: Place, center: Place | None, corner: Place | None) -> Floats:
    if corner is not None:
        return points + np.array(corner)
    middle = np.zeros(points.shape[1]) if center is None else np.array(center)
    return points + (middle - 0.5 * np.array(size))
