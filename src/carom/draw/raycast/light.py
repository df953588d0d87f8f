"""Light: a lamp of some width and a bright sky, with the shadows that bodies throw.

A lamp or a patch of sky is a direction with a depth buffer seen from there (a shadow map): what lies deeper than the
map says is in the dark. Several directions close together make soft edges, many over the sky fill corners with shade.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ...solvers.rows import Floats
from ...world import Shapes3D
from ..camera import Camera, Rays
from .visible import Parts, depths

LAMP, SKY, BOUNCE = 0.55, 0.52, 0.24  # strengths; a level floor in the open gets about 1 from lamp and sky
LAMPS, LAMP_WIDTH, LAMP_MAP = 14, 0.06, 640  # directions, radians from the middle, pixels of a map at most
SKIES, SKY_MAP = 64, 160
GOLDEN = np.pi * (3.0 - np.sqrt(5.0))


class Maps(NamedTuple):
    """Shadow maps of one size, each with the direction to its light."""

    toward: Floats  # (k, 3) unit vectors to the light
    right: Floats  # (k, 3) axes of the maps
    up: Floats
    depth: NDArray[np.float32]  # (k, size, size)
    center: Floats  # (3,) of the sphere that the maps cover
    radius: float


class Lights(NamedTuple):
    lamp: Maps
    sky: Maps
    up: Floats
    level: float  # what a level floor in the open gets


def lights(parts: Parts, solids: Shapes3D, camera: Camera, up: Floats, rows: int) -> Lights:
    """A lamp behind the left shoulder of who looks through the camera, and the sky; for a picture of so many rows."""
    center, radius = 0.5 * (camera.low + camera.high), 0.5 * float(np.linalg.norm(camera.high - camera.low))
    reach = solids.reach[parts.form]
    far = float((np.linalg.norm(parts.place - center, axis=1) + reach).max())
    radius = min(radius, far)
    right, forward = camera.right, camera.forward
    level = forward - (forward @ up) * up
    slant = float(np.linalg.norm(level))
    back = -level / slant if slant > 1e-6 else np.cross(up, right)
    toward = up + 0.42 * back - 0.5 * right
    toward /= np.linalg.norm(toward)
    size = max(200, min(LAMP_MAP, rows))
    lamp = _maps(_spread(toward, LAMPS, LAMP_WIDTH), size, center, radius, parts, solids)
    sky = _maps(_dome(up, SKIES), SKY_MAP, center, radius, parts, solids)
    return Lights(lamp, sky, up, LAMP * float(toward @ up) + SKY)


def _spread(toward: Floats, count: int, width: float) -> Floats:
    """Directions that fill a cone evenly."""
    u, v = _axes(toward)
    k = np.arange(count)
    r, angle = width * np.sqrt((k + 0.5) / count), GOLDEN * k
    out = toward + (r * np.cos(angle))[:, None] * u + (r * np.sin(angle))[:, None] * v
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def _dome(up: Floats, count: int) -> Floats:
    """Directions that fill the half space above evenly."""
    u, v = _axes(up)
    height = (np.arange(count) + 0.5) / count
    r, angle = np.sqrt(1.0 - height**2), GOLDEN * np.arange(count)
    return height[:, None] * up + (r * np.cos(angle))[:, None] * u + (r * np.sin(angle))[:, None] * v


def _axes(normal: Floats) -> tuple[Floats, Floats]:
    u = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)


def _maps(toward: Floats, size: int, center: Floats, radius: float, parts: Parts, solids: Shapes3D) -> Maps:
    right, up = (np.array(v) for v in zip(*(_axes(d) for d in toward)))
    depth = np.empty((len(toward), size, size), np.float32)
    for k, d in enumerate(toward):
        eye = center + 2.0 * radius * d
        depth[k] = depths(Rays(eye, right[k], up[k], -d, 0.5 * size / radius, size, size, True), parts, solids)
    return Maps(toward, right, up, depth, center, radius)


@kernel
def lit(maps: Maps, k: int, x: float, y: float, z: float) -> float:
    """How much of light k reaches a point, from 0 to 1: the four nearest pixels of its map are asked and blended."""
    # Numbers are taken out of the arrays one by one: a row of an array, as an object of its own, costs more than all.
    size = maps.depth.shape[1]
    ax, ay, az = x - maps.center[0], y - maps.center[1], z - maps.center[2]
    scale = 0.5 * size / maps.radius
    across = ax * maps.right[k, 0] + ay * maps.right[k, 1] + az * maps.right[k, 2]
    along = ax * maps.up[k, 0] + ay * maps.up[k, 1] + az * maps.up[k, 2]
    toward = ax * maps.toward[k, 0] + ay * maps.toward[k, 1] + az * maps.toward[k, 2]
    column, row = across * scale + 0.5 * size - 0.5, 0.5 * size - 0.5 - along * scale
    depth = 2.0 * maps.radius - toward
    if not (row >= 0.0 and column >= 0.0 and row < size - 1 and column < size - 1):
        return 1.0
    i, j = int(row), int(column)
    s, t = row - i, column - j
    total = 0.0
    if depth <= maps.depth[k, i, j]:
        total += (1.0 - s) * (1.0 - t)
    if depth <= maps.depth[k, i, j + 1]:
        total += (1.0 - s) * t
    if depth <= maps.depth[k, i + 1, j]:
        total += s * (1.0 - t)
    if depth <= maps.depth[k, i + 1, j + 1]:
        total += s * t
    return total


@kernel
def above(maps: Maps) -> float:
    """How far above a surface its light is asked for: where a map is coarser than its slope it would shade itself."""
    return 4.4 * maps.radius / maps.depth.shape[1]


@kernel
def gathered(maps: Maps, x: float, y: float, z: float, nx: float, ny: float, nz: float) -> float:
    """The mean over the lights of these maps of cosine times what arrives at a point with unit normal n."""
    count = len(maps.toward)
    off = above(maps)
    px, py, pz = x + off * nx, y + off * ny, z + off * nz
    amount = 0.0
    for k in range(count):
        cosine = maps.toward[k, 0] * nx + maps.toward[k, 1] * ny + maps.toward[k, 2] * nz
        if cosine > 0.0:
            amount += cosine * lit(maps, k, px, py, pz)
    return amount / count


@kernel
def summed(lights: Lights, lamp: float, sky: float, nx: float, ny: float, nz: float) -> float:
    """Light on a surface with unit normal n, from what it gathers of lamp and sky; 1 on a level floor in the open."""
    facing = lights.up[0] * nx + lights.up[1] * ny + lights.up[2] * nz
    return (LAMP * lamp + 2.0 * SKY * sky + BOUNCE * 0.5 * (1.0 - facing)) / lights.level
