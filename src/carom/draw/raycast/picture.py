"""A picture of one state of a world of space."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...contact.boundaries import boundaries_at
from ...solvers.rows import Floats
from ...world import INSIDE, PLANE, TUBE, Boundaries, State, World
from ..camera import Camera, level_axes, looking_at, upward
from . import room, shade
from . import walls as sides
from .glass import chosen_parts, enclosing
from .light import lights
from .visible import Parts, placed_parts, seen

SMOOTH = 2  # rays along each side of a pixel
STRAY = 4.0  # bodies farther out than so many times the usual distance may be left out of the picture
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
    # (rows, columns) the body in the middle of each pixel, -1 for none; glass does not count
    body: NDArray[np.int64] = field(repr=False)
    depth: NDArray[np.float32] = field(repr=False)  # (rows, columns) of that body along the view, infinite for none


def extent(
    world: World,
    state: State,
    barriers: Boundaries,
    tops: Floats | None = None,
    kept: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """Spheres, (k, 3) and (k,), that a picture must hold: the bodies, and the boundaries that are near them.

    `kept` (n,) says which bodies count. None leaves out up to a tenth of them, if they are far away from all others:
    else one that flies off would make the rest too small to see.
    """
    kept = _together(state.position) if kept is None else kept
    place, radius = state.position[kept], world.shapes_3d.radius[kept]
    centers, sizes = [place], [radius]
    low, high = (place - radius[:, None]).min(axis=0), (place + radius[:, None]).max(axis=0)
    up = upward(world.gravity)
    corners = np.concatenate([_room_corners(barriers, low, high, up, tops), _below(barriers, low, high, up)])
    if len(corners):
        centers.append(corners)
        sizes.append(np.zeros(len(corners)))
    near = (barriers.kind == INSIDE) & (barriers.radius <= NEAR * 0.5 * float(np.linalg.norm(high - low)))
    if near.any():
        centers.append(barriers.point[near])
        sizes.append(barriers.radius[near])
    return np.concatenate(centers), np.concatenate(sizes)


def _together(position: Floats) -> NDArray[np.bool_]:
    """Bodies that are not strays: within four times the distance that nine of ten have from the middle."""
    far = np.linalg.norm(position - np.median(position, axis=0), axis=1)
    return far <= STRAY * float(np.quantile(far, 0.9, method="higher"))


def _below(barriers: Boundaries, low: Floats, high: Floats, up: Floats) -> Floats:
    """Where the corners of the box round the bodies fall on floors that are near: shadows are there."""
    corners = np.array([[v[k] for k, v in zip(range(3), pick)] for pick in itertools.product((low, high), repeat=3)])
    found = [np.zeros((0, 3))]
    for k in np.flatnonzero((barriers.kind == PLANE) & (barriers.axis @ up > 0.5)):
        apart = (corners - barriers.point[k]) @ barriers.axis[k] / float(barriers.axis[k] @ up)
        if apart.max() >= 0.0 and apart.min() <= 0.6 * float(np.linalg.norm(high - low)):
            found.append(corners - apart[:, None] * up)
    return np.concatenate(found)


def _room_corners(barriers: Boundaries, low: Floats, high: Floats, up: Floats, tops: Floats | None) -> Floats:
    """Points on the room's boundaries, if they are near the box from low to high."""
    middle, size = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    found = room.edges(barriers, middle - 1e3 * size, middle + 1e3 * size, up)
    for k in np.flatnonzero(barriers.kind == TUBE):
        axis, r = barriers.axis[k], float(barriers.radius[k])
        at = barriers.point[k] + ((middle - barriers.point[k]) @ axis) * axis
        across, ahead, _ = level_axes(axis)
        found += [at + r * np.array([across, -across, ahead, -ahead])]
    if tops is not None:
        found += [tops]
    points = np.concatenate([np.zeros((0, 3)), *found])
    return points[np.linalg.norm(points - middle, axis=1) <= NEAR * size]


def render(
    world: World,
    state: State,
    colors: Floats,
    camera: Camera | None = None,
    look: Look | None = None,
    barriers: Boundaries | None = None,
    tops: Floats | None = None,
) -> Picture:
    """Draws a state of a world of space. `colors` (n, 3): sRGB from 0 to 1, one for each body.

    `barriers` None means where the boundaries are at the time of the state. Without a camera all is seen, `tops`
    (k, 3) included: points up to which walls without end are drawn.
    """
    look = Look() if look is None else look
    walls = boundaries_at(world, state.time, 1e-6)[0] if barriers is None else barriers
    if camera is None:
        camera = looking_at(*extent(world, state, walls, tops), upward(world.gravity))
    rays = camera.rays(look.rows * look.smooth, round(look.rows * camera.aspect) * look.smooth)
    solids, up, rgb = world.shapes_3d, upward(world.gravity), linear(colors)
    everything = placed_parts(solids, state)
    hollow = enclosing(solids, state, everything)
    parts = chosen_parts(everything, ~np.isin(np.arange(world.count), hollow))
    buffers, back = seen(rays, parts, solids), room.backdrop(rays, walls)
    lamps = lights(parts, solids, camera, up, look.rows)
    ground = _ground(world, camera, up)
    image = np.ones((rays.rows, rays.columns, 3), np.float32)
    weight = shade.weights(solids.radius, rays, state.position)
    shade.bodies(rays, look.smooth, buffers, parts.body, rgb, lamps, image)
    shade.outlines(buffers, parts.body, solids.radius, weight, image)
    sides.paint(rays, look.smooth, back, buffers, walls, ground, lamps, image)
    for body in hollow:
        shell = chosen_parts(everything, np.arange(world.count) == body)
        before = seen(rays, shell, solids)
        layer = np.ones_like(image)
        shade.bodies(rays, look.smooth, before, shell.body, rgb, lamps, layer)
        shade.outlines(before, shell.body, solids.radius, weight, layer)
        shade.glass(before, buffers, layer, image)
    if look.lines:
        for points in _lines(walls, camera, up):
            shade.line(image, buffers.depth, rays, points, 0.28, look.smooth)
    floor = bool(((walls.kind == PLANE) & (walls.axis @ up > 0.5)).any())
    spacing = ground.spacing if floor else None
    return Picture(
        shade.averaged(image, look.smooth),
        camera,
        spacing,
        _bodies(parts, buffers.part, look),
        _middle(buffers.depth, look),
    )


def linear(color: Floats) -> Floats:
    """sRGB from 0 to 1 as amounts of light."""
    c = np.asarray(color, dtype=np.float64)[:, :3]
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _lines(walls: Boundaries, camera: Camera, up: Floats) -> list[Floats]:
    return [
        *room.edges(walls, camera.low, camera.high, up),
        *room.tube_outlines(walls, camera.eye, camera.low, camera.high),
        *room.shell_outlines(walls, camera.eye),
    ]


def _ground(world: World, camera: Camera, up: Floats) -> sides.Ground:
    """The look of floors."""
    middle, size = 0.5 * (camera.low + camera.high), 0.5 * float(np.linalg.norm(camera.high - camera.low))
    across, ahead, _ = level_axes(up)
    free = world.free if world.free.any() else np.ones(world.count, bool)
    spacing = _round_number(max(float(np.median(world.shapes_3d.radius[free])), size / 12.0))
    height = 0.5005 * float(np.abs(up) @ (camera.high - camera.low))
    return sides.Ground(up, across, ahead, spacing, middle, 2.2 * size, height)


def _round_number(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= 0.999 * value))


def _bodies(parts: Parts, part: NDArray[np.int32], look: Look) -> NDArray[np.int64]:
    chosen = _middle(part, look)
    return np.where(chosen >= 0, parts.body[chosen], -1)


def _middle(buffer: NDArray[Any], look: Look) -> NDArray[Any]:
    """What the ray next to the middle of each pixel saw."""
    half = look.smooth // 2
    return buffer[half :: look.smooth, half :: look.smooth]
