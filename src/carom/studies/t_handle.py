"""A T-handle of two boxes: its moments, and its picture. Body axes: 1 along the bar, 2 along the stem, 3 across."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

from ..draw.style import BLUE, ORANGE, PALE
from ..geometry import rotations
from ..solvers.rows import Floats

HALF = np.array([[1.0, 0.16, 0.16], [0.16, 0.5, 0.16]])  # half edges of bar and stem, unit density
CENTER = np.array([[0.0, 0.0, 0.0], [0.0, -0.66, 0.0]])  # before the center of mass is taken off
PIECES = 10  # a face is cut into so many strips each way: small pieces can be sorted by depth


def moments() -> Floats:
    """Principal moments (3,) about the center of mass, in rising order: bar, stem, across."""
    mass = 8.0 * HALF.prod(axis=1)
    squares = mass[:, None] * (HALF**2 / 3.0 + _centers() ** 2)
    return np.asarray((squares.sum(axis=1, keepdims=True) - squares).sum(axis=0))


def _centers() -> Floats:
    mass = HALF.prod(axis=1)
    return CENTER - (mass @ CENTER) / mass.sum()


def _pieces() -> tuple[Floats, Floats, list[str]]:
    """Corners (k, 4, 3), outward normals (k, 3) and colors of all pieces of the surface."""
    corners, normals, colors = [], [], []
    edges = np.linspace(-1.0, 1.0, PIECES + 1)
    for box, (center, half) in enumerate(zip(_centers(), HALF)):
        for axis, side in ((axis, side) for axis in range(3) for side in (-1.0, 1.0)):
            for u0, u1 in pairwise(edges):
                for v0, v1 in pairwise(edges):
                    square = np.array([[side, u0, v0], [side, u1, v0], [side, u1, v1], [side, u0, v1]])
                    corners.append(center + half * np.roll(square, axis, axis=1))
                    normals.append(side * np.eye(3)[axis])
                    colors.append(ORANGE if box else BLUE if corners[-1][:, 0].mean() < 0 else PALE)
    return np.array(corners), np.array(normals), colors


def draw(axes: Axes, orientation: Floats, azimuth: float = -0.9, elevation: float = 0.3) -> None:
    """Draws the handle as seen from far away, world axis z up; angles of the view in radians."""
    corners, normals, colors = _pieces()
    out = np.empty((3, 3))
    rotations.matrix_of(orientation, out)
    toward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    screen = np.stack([right, np.cross(toward, right)], axis=1)
    world, facing = corners @ out.T, normals @ out.T
    seen = np.flatnonzero(facing @ toward > 0)
    order = seen[np.argsort(world[seen].mean(axis=1) @ toward, kind="stable")]
    light = toward + 0.9 * screen[:, 1] - 0.5 * right
    bright = 0.6 + 0.4 * np.clip(facing @ light / np.linalg.norm(light), 0.0, 1.0)
    paint = [tuple(bright[k] * np.array(to_rgb(colors[k]))) for k in order]
    axes.add_collection(PolyCollection(world[order] @ screen, facecolors=paint, edgecolors=paint, linewidths=0.3))
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.08, 1.08), aspect="equal")
    axes.set_axis_off()
