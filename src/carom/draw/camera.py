"""Where a picture is taken from, and which pixel sees which point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..scene.numbers import scalar
from ..solvers.rows import Floats

FIELD = 0.2  # tangent of half the angle of view: mild perspective
ELEVATION = 22.0  # degrees above the horizon
LONG = 2.5  # a scene so many times longer than wide is seen from its side


class Rays(NamedTuple):
    """The rays of a picture, for kernels: through pixel (row, column) goes `start + depth * direction`.

    With a = (column + 1/2 - columns/2) / scale and b = (rows/2 - row - 1/2) / scale, a picture in perspective has
    start = eye, direction = forward + a right + b up; a parallel one start = eye + a right + b up, direction = forward.
    """

    eye: Floats  # (3,)
    right: Floats  # (3,) unit vectors
    up: Floats
    forward: Floats
    scale: float  # pixels for each length unit, in perspective at depth 1
    rows: int
    columns: int
    parallel: bool


@dataclass(frozen=True, eq=False)
class Camera:
    """Eye and directions. `field` is the tangent of half the vertical angle of view, `aspect` width over height.

    `low` and `high` are corners of the box that it was made to see: floors fade out beyond it, walls end there.
    """

    eye: Floats
    right: Floats
    up: Floats
    forward: Floats
    low: Floats
    high: Floats
    field: float = FIELD
    aspect: float = 1.4

    def rays(self, rows: int, columns: int) -> Rays:
        scale = rows / (2.0 * self.field)
        return Rays(self.eye, self.right, self.up, self.forward, scale, rows, columns, False)

    def project(self, points: Floats) -> Floats:
        """Points (k, 3) as (x, y, depth): x and y run from 0, left and top, to 1; what is behind has depth <= 0."""
        arm = np.asarray(points, dtype=np.float64) - self.eye
        depth = arm @ self.forward
        safe = np.where(depth > 0.0, depth, np.inf)
        x = 0.5 + arm @ self.right / safe / (2.0 * self.field * self.aspect)
        y = 0.5 - arm @ self.up / safe / (2.0 * self.field)
        return np.stack([x, y, depth], axis=1)


def upward(gravity: Floats) -> Floats:
    """The axis that is up: z, or the one that gravity is nearest to pulling against."""
    if not np.any(gravity):
        return np.array([0.0, 0.0, 1.0])
    k = int(np.argmax(np.abs(gravity)))
    return -np.sign(gravity[k]) * np.eye(3)[k]


def looking_at(
    centers: Floats,
    radius: Floats,
    up: Sequence[float] | Floats = (0.0, 0.0, 1.0),
    azimuth: float | None = None,
    elevation: float | None = None,
    aspect: float | None = None,
    margin: float = 0.05,
) -> Camera:
    """The nearest camera that sees all spheres (k, 3), (k,), with a margin round them.

    Degrees: `elevation` above the horizon, `azimuth` of the place of the camera about the upward axis; for z it is 0
    on the positive x axis and 90 on the positive y axis. None chooses: what is long is seen from its side. `aspect`
    None makes the picture as wide as the scene looks, from 0.7 to 3 times its height.
    """
    across, ahead, top = level_axes(np.asarray(up, dtype=np.float64))
    if azimuth is None:
        azimuth = _azimuth(centers @ across, centers @ ahead, radius)
    angle = np.radians(scalar("azimuth", azimuth))
    height = scalar("elevation", ELEVATION if elevation is None else elevation)
    if not -90.0 <= height <= 90.0:
        raise ProblemError("elevation", elevation, "degrees from -90 to 90")
    tilt = np.radians(height)
    outward = np.cos(angle) * across + np.sin(angle) * ahead
    right = -np.sin(angle) * across + np.cos(angle) * ahead
    forward = -(np.cos(tilt) * outward + np.sin(tilt) * top)
    upright = np.cross(right, forward)
    x, y, z = centers @ right, centers @ upright, centers @ forward
    if aspect is None:
        wide = float((x + radius).max() - (x - radius).min())
        tall = float((y + radius).max() - (y - radius).min())
        aspect = float(np.clip(wide / tall, 0.7, 3.0))
    shrunk = FIELD * (1.0 - 2.0 * margin)
    x_eye, z_one = _fit(x, z, radius, shrunk * aspect)
    y_eye, z_two = _fit(y, z, radius, shrunk)
    eye = x_eye * right + y_eye * upright + min(z_one, z_two) * forward
    low, high = (centers - radius[:, None]).min(axis=0), (centers + radius[:, None]).max(axis=0)
    return Camera(eye, right, upright, forward, low, high, FIELD, aspect)


def level_axes(up: Floats) -> tuple[Floats, Floats, Floats]:
    """Two horizontal axes and the upward one, right-handed: x, y, z for z, and likewise in turn for others."""
    top = up / np.linalg.norm(up)
    k = int(np.argmax(np.abs(top)))
    across = np.eye(3)[(k + 1) % 3]
    across = across - (across @ top) * top
    across /= np.linalg.norm(across)
    return across, np.cross(top, across), top


def _azimuth(x: Floats, y: Floats, radius: Floats) -> float:
    wide, deep = (float((v + radius).max() - (v - radius).min()) for v in (x, y))
    if wide > LONG * deep:
        return -75.0
    return -15.0 if deep > LONG * wide else -62.0


def _fit(x: Floats, z: Floats, radius: Floats, slope: float) -> tuple[float, float]:
    """Place across and along of an eye whose two side planes, at `slope`, touch the outermost spheres."""
    reach = radius * np.sqrt(1.0 + slope * slope)
    low, high = float((reach - x - slope * z).max()), float((reach + x - slope * z).max())
    return 0.5 * (high - low), -0.5 * (high + low) / slope
