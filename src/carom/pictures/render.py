"""A picture of one state of a world of space."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..contact.barriers import barriers_at
from ..solvers.rows import Floats
from ..world import FLAT, SHELL, TUBE, Barriers, State, World
from . import room, shade
from .camera import Camera, _level, looking_at, upward
from .light import lights
from .raster import Parts, placed_parts, seen

SMOOTH = 2  # rays along each side of a pixel
NEAR = 3.0  # boundaries within so many radii of the bodies are shown whole


@dataclass(frozen=True)
class Look:
    """How large and how fine: `rows` pixels high, each the mean of `smooth` x `smooth` rays."""

    rows: int = 700
    smooth: int = SMOOTH
    lines: bool = True  # where walls meet


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels, and where they were seen from."""

    pixels: NDArray[np.uint8]  # (rows, columns, 3), sRGB
    camera: Camera
    spacing: float | None  # of the grid on the floor, a length; None without a floor
    body: NDArray[np.int64] = field(repr=False)  # (rows, columns) the body in the middle of each pixel, -1 for none


def extent(world: World, state: State, barriers: Barriers, tops: Floats | None = None) -> tuple[Floats, Floats]:
    """Spheres, (k, 3) and (k,), that a picture must hold: the bodies, and the boundaries that are near them."""
    radius = world.solids.radius
    centres, sizes = [state.position], [radius]
    low, high = (state.position - radius[:, None]).min(axis=0), (state.position + radius[:, None]).max(axis=0)
    middle, size = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    corners = _room_corners(barriers, middle, size, tops)
    if len(corners):
        centres.append(corners)
        sizes.append(np.zeros(len(corners)))
    return np.concatenate(centres), np.concatenate(sizes)


def _room_corners(barriers: Barriers, middle: Floats, size: float, tops: Floats | None) -> Floats:
    """Points on the room's boundaries, if they are near."""
    limit = NEAR * size
    found = [line for line in room.edges(barriers, middle - 1e3 * size, middle + 1e3 * size)]
    for k in np.flatnonzero(barriers.kind == SHELL):
        r = float(barriers.radius[k])
        found += [barriers.point[k] + r * np.concatenate([np.eye(3), -np.eye(3)])]
    for k in np.flatnonzero(barriers.kind == TUBE):
        axis, r = barriers.axis[k], float(barriers.radius[k])
        at = barriers.point[k] + ((middle - barriers.point[k]) @ axis) * axis
        across, ahead, _ = _level(axis)
        found += [at + r * np.array([across, -across, ahead, -ahead])]
    for k in np.flatnonzero(barriers.kind == FLAT):
        apart = float((middle - barriers.point[k]) @ barriers.axis[k])
        if 0.0 <= apart <= 2.0 * size:
            found += [(middle - apart * barriers.axis[k])[None]]
    if tops is not None:
        found += [tops]
    points = np.concatenate([np.zeros((0, 3)), *found])
    return points[np.linalg.norm(points - middle, axis=1) <= limit]


def automatic_camera(
    world: World,
    state: State,
    barriers: Barriers | None = None,
    azimuth: float | None = None,
    elevation: float | None = None,
    aspect: float | None = None,
) -> Camera:
    """A camera that sees the whole scene."""
    walls = barriers_at(world, state.time, 1e-6)[0] if barriers is None else barriers
    centres, radius = extent(world, state, walls)
    return looking_at(centres, radius, upward(world.gravity), azimuth, elevation, aspect)


def render(
    world: World,
    state: State,
    colours: Floats,
    camera: Camera | None = None,
    look: Look | None = None,
    barriers: Barriers | None = None,
) -> Picture:
    """Draws a state of a world of space. `colours` (n, 3): sRGB from 0 to 1, one for each body.

    `barriers` None means where the boundaries are at the time of the state.
    """
    look = Look() if look is None else look
    walls = barriers_at(world, state.time, 1e-6)[0] if barriers is None else barriers
    camera = automatic_camera(world, state, walls) if camera is None else camera
    rows, columns = look.rows * look.smooth, round(look.rows * camera.aspect) * look.smooth
    rays, solids = camera.rays(rows, columns), world.solids
    parts = placed_parts(solids, state)
    buffers, back = seen(rays, parts, solids), room.backdrop(rays, walls)
    up = upward(world.gravity)
    lamps = lights(parts, solids, camera.right, camera.forward, up)
    ground, low, high = _ground(world, state, walls, up)
    image = np.ones((rows, columns, 3), np.float32)
    shade.bodies(rays, look.smooth, buffers, parts.body, linear(colours), lamps, image)
    weight = shade.weights(parts, solids.radius, rays, state.position)
    shade.outlines(buffers, parts.body, weight, image)
    shade.walls(rays, look.smooth, back, buffers, walls, ground, lamps, image)
    if look.lines:
        for points in _lines(walls, camera.eye, low, high):
            shade.line(image, buffers.depth, rays, points, 0.28, look.smooth)
    floor = bool(((walls.kind == FLAT) & (walls.axis @ up > 0.5)).any())
    return Picture(_averaged(image, look.smooth), camera, ground.spacing if floor else None, _bodies(parts, buffers.part, look))


def linear(colour: Floats) -> Floats:
    """sRGB from 0 to 1 as amounts of light."""
    c = np.asarray(colour, dtype=np.float64)[:, :3]
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _lines(walls: Barriers, eye: Floats, low: Floats, high: Floats) -> list[Floats]:
    return [
        *room.edges(walls, low, high),
        *room.tube_outlines(walls, eye, low, high),
        *room.shell_outlines(walls, eye),
    ]


def _ground(world: World, state: State, walls: Barriers, up: Floats) -> tuple[shade.Ground, Floats, Floats]:
    """The look of floors, and the box that the lines of the room are drawn in."""
    centres, radius = extent(world, state, walls)
    low, high = (centres - radius[:, None]).min(axis=0), (centres + radius[:, None]).max(axis=0)
    middle, size = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    across, ahead, _ = _level(up)
    free = world.free if world.free.any() else np.ones(world.count, bool)
    spacing = _round_number(max(2.0 * float(np.median(world.solids.radius[free])), size / 12.0))
    return shade.Ground(up, across, ahead, spacing, middle, 2.2 * size, 0.5 * float(np.abs(up) @ (high - low)) * 1.001), low, high


def _round_number(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= 0.999 * value))


def _averaged(image: shade.Image, smooth: int) -> NDArray[np.uint8]:
    rows, columns = image.shape[0] // smooth, image.shape[1] // smooth
    light = image.reshape(rows, smooth, columns, smooth, 3).mean(axis=(1, 3)).clip(0.0, 1.0)
    value = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    return np.asarray(np.round(255.0 * value), dtype=np.uint8)


def _bodies(parts: Parts, part: NDArray[np.int32], look: Look) -> NDArray[np.int64]:
    half = look.smooth // 2
    chosen = part[half :: look.smooth, half :: look.smooth]
    return np.where(chosen >= 0, parts.body[chosen], -1)
