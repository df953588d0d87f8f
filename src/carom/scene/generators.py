"""Where bodies go: grid, hexagonal grid, chain, rack, ring. Each returns places, (n, 2).

Random places are in `pour.py`. Scene files call these functions; Python scenes may too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats
from .boundaries import Vector

ROW = np.sqrt(0.75)  # distance of neighbouring rows of a hexagonal packing, in spacings


@dataclass(frozen=True)
class Outline:
    """How far bodies reach from their centres of mass: needed for bodies that are to touch."""

    radius: Floats  # (n,) of the disc, or of the circle round the polygon
    corners: Floats | None = None  # (k, 2) of a polygon, about its centre, turned as the bodies are; all alike

    def reach(self, direction: Floats) -> Floats:
        """Distance from the centre to the furthest point along the unit vector `direction`, (n,)."""
        if self.corners is None:
            return self.radius
        return np.full(len(self.radius), (self.corners @ direction).max())

    @property
    def extent(self) -> Vector:
        """Width and height of the largest."""
        if self.corners is None:
            return self.diameter, self.diameter
        width, height = np.ptp(self.corners, axis=0)
        return float(width), float(height)

    @property
    def diameter(self) -> float:
        """Of the largest circle round a body."""
        return 2.0 * float(self.radius.max())


def grid(
    rows: int, columns: int, spacing: Vector, center: Vector | None = None, corner: Vector | None = None
) -> Floats:
    """Row by row from the lower left. `corner` is the place of the first body, `center` that of the middle."""
    x = np.arange(columns) * spacing[0]
    y = np.arange(rows) * spacing[1]
    points = np.stack(np.broadcast_arrays(x, y[:, None]), axis=-1).reshape(-1, 2)
    return _placed(points, (x[-1], y[-1]), center, corner)


def hex_grid(
    rows: int, columns: int, spacing: float, center: Vector | None = None, corner: Vector | None = None
) -> Floats:
    """Rows `sqrt(3)/2 spacing` apart; every other row is moved by half a spacing to the right."""
    points = grid(rows, columns, (spacing, ROW * spacing), corner=(0.0, 0.0))
    points[:, 0] += 0.5 * spacing * (np.repeat(np.arange(rows), columns) % 2)
    return _placed(points, (float(points[:, 0].max()), float(points[-1, 1])), center, corner)


def chain(outline: Outline, start: Vector, direction: Vector, gap: float) -> Floats:
    """Along a line from `start`; surfaces of neighbours are `gap` apart."""
    along = np.array(direction) / np.hypot(*direction)
    front, back = outline.reach(along), outline.reach(-along)
    distance = np.concatenate([[0.0], np.cumsum(front[:-1] + gap + back[1:])])
    return np.array(start) + distance[:, None] * along


def rack(rows: int, spacing: float, apex: Vector, direction: Vector) -> Floats:
    """A triangle: row k, counted from 0 at the apex, has k + 1 bodies across `direction`."""
    along = np.array(direction) / np.hypot(*direction)
    across = np.array([-along[1], along[0]])
    row = np.repeat(np.arange(rows), np.arange(1, rows + 1))
    in_row = np.arange(len(row)) - row * (row + 1) // 2
    x, y = row * ROW * spacing, (in_row - 0.5 * row) * spacing
    return np.array(apex) + x[:, None] * along + y[:, None] * across


def ring(count: int, center: Vector, radius: float, start_angle: float = 0.0) -> Floats:
    """Evenly on a circle."""
    angle = start_angle + 2.0 * np.pi * np.arange(count) / count
    return np.array(center) + radius * np.column_stack([np.cos(angle), np.sin(angle)])


def ring_radius(count: int, spacing: float) -> float:
    """Of the circle on which neighbours are `spacing` apart: `spacing / (2 sin(pi / count))`; 0 for a single body."""
    return spacing / (2.0 * np.sin(np.pi / count)) if count > 1 else 0.0


def rings(count: int, center: Vector, spacing: float, start_angle: float = 0.0) -> Floats:
    """One in the middle, then 6 k on the circle of radius `k spacing`. Neighbours are at least `spacing` apart."""
    circles = [ring(6 * k, center, k * spacing, start_angle) for k in range(1, count + 1)]
    return np.concatenate([np.array([center], dtype=np.float64), *circles])


def jittered(points: Floats, reach: float, random: np.random.Generator) -> Floats:
    """Each point moved to any place within `reach`, all places alike: points `2 reach` further apart than needed are
    still far enough apart."""
    angle = 2.0 * np.pi * random.random(len(points))
    distance = reach * np.sqrt(random.random(len(points)))
    return points + distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def random_velocities(count: int, kind: str, speed: float, no_drift: bool, random: np.random.Generator) -> Floats:
    """normal: standard deviation `speed` in each component; uniform: within +-speed; direction: of length `speed`."""
    if kind == "normal":
        velocity = random.normal(scale=abs(speed), size=(count, 2))
    elif kind == "uniform":
        velocity = random.uniform(-speed, speed, size=(count, 2))
    else:
        angle = 2.0 * np.pi * random.random(count)
        velocity = speed * np.column_stack([np.cos(angle), np.sin(angle)])
    return velocity - velocity.mean(axis=0) if no_drift else velocity


def _placed(points: Floats, size: Vector, center: Vector | None, corner: Vector | None) -> Floats:
    if corner is not None:
        return points + np.array(corner)
    middle = (0.0, 0.0) if center is None else center
    return points + (np.array(middle) - 0.5 * np.array(size))
