"""Cameras: position and directions of a 3D view, rays through its pixels, and the `--camera` option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..checks import scalar
from ..errors import ProblemError
from ..solvers.rows import Floats

FIELD = 0.2  # tangent of half the vertical angle of view: mild perspective
ELEVATION = 22.0  # degrees above the horizon
LONG = 2.5  # ratio of length to width from which a scene is seen from its side
SIDE, FRONT, OBLIQUE = -75.0, -15.0, -62.0  # default azimuths, degrees: scene long along x, long along y, neither

OPTION_2D = "fit, all, zoom, follow, follow:BODY, or x,y,width"
OPTION_3D = (
    "fit, all, or any of azimuth=, elevation= (degrees), distance=, target=x:y:z, turn= (degrees per second), "
    "separated by commas"
)


class Rays(NamedTuple):
    """The rays of a picture, for kernels: the ray of pixel (row, column) is `start + depth * direction`.

    With a = (column + 1/2 - columns/2) / scale and b = (rows/2 - row - 1/2) / scale, a perspective picture has
    start = eye, direction = forward + a right + b up; a parallel one start = eye + a right + b up, direction = forward.
    """

    eye: Floats  # (3,)
    right: Floats  # (3,) unit vectors
    up: Floats
    forward: Floats
    scale: float  # pixels per length unit; in perspective at depth 1
    rows: int
    columns: int
    parallel: bool


@dataclass(frozen=True, eq=False)
class Camera:
    """Eye and directions. `field` is the tangent of half the vertical angle of view, `aspect` width over height.

    `low` and `high` are the corners of the box that the camera was made to see: the ground fades out beyond it, and
    unbounded side planes end there.
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
        """Points (k, 3) as (x, y, depth). x and y run from 0 (left, top) to 1; behind the eye depth is not positive."""
        arm = np.asarray(points, dtype=np.float64) - self.eye
        depth = arm @ self.forward
        safe = np.where(depth > 0.0, depth, np.inf)
        x = 0.5 + arm @ self.right / safe / (2.0 * self.field * self.aspect)
        y = 0.5 - arm @ self.up / safe / (2.0 * self.field)
        return np.stack([x, y, depth], axis=1)


def upward(gravity: Floats) -> Floats:
    """The upward axis (3,): opposite to the largest component of gravity, or z without gravity."""
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
    """The nearest camera that sees all spheres, centers (k, 3) and radii (k,), with a margin around them.

    `elevation` is in degrees above the horizon, `azimuth` in degrees about the upward axis: with z upward, a camera at
    azimuth 0 stands on the positive x axis and one at 90 on the positive y axis. By default a long scene is seen from
    its side. By default `aspect` is that of the scene as it is seen, between 0.7 and 3.
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
    """Two horizontal unit vectors and the upward one, right-handed; x, y, z if `up` is along z."""
    top = up / np.linalg.norm(up)
    k = int(np.argmax(np.abs(top)))
    across = np.eye(3)[(k + 1) % 3]
    across = across - (across @ top) * top
    across /= np.linalg.norm(across)
    return across, np.cross(top, across), top


def _azimuth(x: Floats, y: Floats, radius: Floats) -> float:
    wide, deep = (float((v + radius).max() - (v - radius).min()) for v in (x, y))
    if wide > LONG * deep:
        return SIDE
    return FRONT if deep > LONG * wide else OBLIQUE


def _fit(x: Floats, z: Floats, radius: Floats, slope: float) -> tuple[float, float]:
    """Coordinates (x, z) of an eye whose two bounding planes, at `slope`, touch the outermost spheres."""
    reach = radius * np.sqrt(1.0 + slope * slope)
    low, high = float((reach - x - slope * z).max()), float((reach + x - slope * z).max())
    return 0.5 * (high - low), -0.5 * (high + low) / slope


# ---- the option --camera


@dataclass(frozen=True)
class CameraOption2D:
    """`--camera` of a 2D run: fit, all, zoom, follow a body or the middle of all, or a center and a width."""

    everything: bool = False
    zoom: bool = False
    follow: bool = False
    body: int | None = None
    center: tuple[float, float] | None = None
    width: float = 0.0


@dataclass(frozen=True)
class CameraOption3D:
    """`--camera` of a 3D run. None means the default: the nearest camera that sees nearly everything."""

    azimuth: float | None = None
    elevation: float | None = None
    distance: float | None = None
    target: tuple[float, float, float] | None = None
    everything: bool = False
    turn: float = 0.0  # degrees per second of the film


def camera_option_2d(text: str, count: int) -> CameraOption2D:
    """The option of a run with `count` bodies, read from text."""
    word = text.strip().lower()
    if word in ("fit", "all", "zoom", "follow"):
        return CameraOption2D(everything=word == "all", zoom=word == "zoom", follow=word == "follow")
    if word.startswith("follow:"):
        number = word.removeprefix("follow:")
        if not number.isdigit() or int(number) >= count:
            raise ProblemError("--camera", text, f"follow:BODY with a number from 0 to {count - 1}")
        return CameraOption2D(follow=True, body=int(number))
    x, y, width = numbers("--camera", text, word.split(","), 3, OPTION_2D)
    if not width > 0.0:
        raise ProblemError("--camera", text, "x,y,width with a width above 0")
    return CameraOption2D(center=(x, y), width=width)


def camera_option_3d(text: str) -> CameraOption3D:
    """The option of a 3D run, read from text."""
    word = text.strip().lower()
    if word in ("fit", "all"):
        return CameraOption3D(everything=word == "all")
    given: dict[str, object] = {}
    for part in word.split(","):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or key not in ("azimuth", "elevation", "distance", "target", "turn"):
            raise ProblemError("--camera", text, OPTION_3D)
        if key == "target":
            given[key] = tuple(numbers("--camera", text, value.split(":"), 3, "target=x:y:z"))
        else:
            given[key] = numbers("--camera", text, [value], 1, f"{key}= with a number")[0]
    camera = CameraOption3D(**given)  # type: ignore[arg-type]
    if camera.elevation is not None and not -90.0 <= camera.elevation <= 90.0:
        raise ProblemError("--camera", text, "elevation= with degrees from -90 to 90")
    if camera.distance is not None and not camera.distance > 0.0:
        raise ProblemError("--camera", text, "distance= with a number above 0")
    return camera


def numbers(option: str, text: str, parts: list[str], count: int, wanted: str) -> list[float]:
    """`count` finite numbers of an option, whose whole text is shown in the error if they are none."""
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        raise ProblemError(option, text, wanted)
    return values
