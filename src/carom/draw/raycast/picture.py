"""A picture of one state of a 3D world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import local
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...contact.boundaries import boundaries_at
from ...scene.model import Scene
from ...solvers.rows import Floats
from ...world import PLANE, Boundaries, Shapes3D, State, World
from ..camera import Camera, Rays, level_axes, looking_at, upward
from ..framing import extent_3d
from ..joints import drawn_joints
from ..world3d import edges, shell_outlines, tube_outlines
from . import background, shade
from .light import Still, lights
from .visible import Buffers, Parts, chosen_parts, enclosing, no_buffers, placed_parts, seen

T = TypeVar("T")
SMOOTH = 2  # rays along each side of a pixel
JOINT_LIGHT = 0.05  # of the lines of joints
EDGE_LIGHT = 0.28  # linear brightness of the lines along boundaries
FADE = 2.2  # distance at which the ground has faded out, relative to half the diagonal of the scene
GRAIN = 1e-6  # steps of positions relative to the diagonal of the scene, and of quaternions
FAR_BEHIND = 100.0  # distance of absent bodies behind the camera, relative to the diagonal of the scene
CELLS = 12.0  # grid cells per half diagonal, at most about


@dataclass(frozen=True)
class RayLook:
    """Size and quality: `rows` pixels high, each the mean of `smooth` x `smooth` rays."""

    rows: int = 700
    smooth: int = SMOOTH
    lines: bool = True  # draw the lines where boundaries meet


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels, and the camera that saw them."""

    pixels: NDArray[np.uint8]  # (rows, columns, 3), sRGB
    camera: Camera
    spacing: float | None  # of the grid on the ground, a length; None without a ground
    # (rows, columns) the body at the center of each pixel, -1 for none; glass does not count
    body: NDArray[np.int64] = field(repr=False)
    depth: NDArray[np.float32] = field(repr=False)  # (rows, columns) of that body along the view, infinite for none


class Kept:
    """What the pictures of a film share: the background of the last camera, and the last picture.

    Both are functions of what they are kept for, bit by bit, so that pictures do not depend on their order, and threads
    may share one object.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[tuple[bytes, ...], Any]] = {}
        self.still = Still()
        self._work = local()

    def arrays(self, rays: Rays) -> tuple[Buffers, shade.Image]:
        """Buffers and an image to work in, one of each per thread: new ones cost a tenth of a simple picture."""
        found = getattr(self._work, "arrays", None)
        if found is None or found[0].depth.shape != (rays.rows, rays.columns):
            image = np.empty((rays.rows, rays.columns, 3), np.float32)
            found = self._work.arrays = no_buffers(rays.rows, rays.columns), image
        made: tuple[Buffers, shade.Image] = found
        return made

    def shapes(self, world: World) -> Shapes3D:
        """The shapes of the world. Distances from meshes are single: rays through their grids wait for memory."""

        def make() -> Shapes3D:
            return world.shapes_3d._replace(grid_value=cast(Floats, world.shapes_3d.grid_value.astype(np.float32)))

        return self.get("shapes", (), make)

    def get(self, name: str, key: tuple[bytes, ...], make: Callable[[], T]) -> T:
        """What was made last under this name, if it was for the same key, else what `make` returns."""
        found = self._last.get(name)
        if found is None or found[0] != key:
            found = self._last[name] = key, make()
        made: T = found[1]
        return made


def render(
    world: World,
    state: State,
    colors: Floats,
    camera: Camera | None = None,
    look: RayLook | None = None,
    scene: Scene | None = None,
    kept: Kept | None = None,
) -> Picture:
    """Draws a state of a 3D world. `colors` (n, 3): sRGB from 0 to 1, one per body.

    By default the camera sees all bodies, and also the tops of open containers if `scene` is given. Pictures of one
    world that share `kept` do not render again what did not move.
    """
    look, kept = RayLook() if look is None else look, Kept() if kept is None else kept
    boundaries = boundaries_at(world, state.time, 1e-6)[0]
    if camera is None:
        extent = extent_3d(world, [state], scene)
        camera = looking_at(extent.centers, extent.radii, upward(world.gravity))
    if state.life is not None:  # absent bodies are behind the camera, where they enclose nothing that is seen
        place = state.position.copy()
        place[~state.present] = camera.eye - FAR_BEHIND * np.linalg.norm(camera.high - camera.low) * camera.forward
        state = replace(state, position=place)
    walls = boundaries._replace(velocity=np.zeros((0, 6)))  # the speed of a boundary is not seen
    stage = (repr(look).encode(), *_bits(camera), *(part.tobytes() for part in walls))
    state = _rounded(state, camera)
    bodies = (state.position.tobytes(), state.orientation.tobytes(), np.asarray(colors).tobytes())
    view = View(camera, look, boundaries, stage)
    return kept.get("picture", (*stage, *bodies), lambda: _render(world, state, colors, view, kept))


class View(NamedTuple):
    """What a picture is seen with, and a key of all of it."""

    camera: Camera
    look: RayLook
    boundaries: Boundaries
    key: tuple[bytes, ...]


def _rounded(state: State, camera: Camera) -> State:
    """The state with poses on a grid far below a pixel, so that bodies that rest but for rounding did not move."""
    fine = GRAIN * float(np.linalg.norm(camera.high - camera.low))
    place, turn = np.round(state.position / fine) * fine, np.round(state.orientation / GRAIN) * GRAIN
    return replace(state, position=place, orientation=turn)


def _bits(camera: Camera) -> tuple[bytes, ...]:
    return tuple(np.asarray(value).tobytes() for value in vars(camera).values())


def _render(world: World, state: State, colors: Floats, view: View, kept: Kept) -> Picture:
    camera, look, boundaries, _ = view
    shapes, up, rgb = kept.shapes(world), upward(world.gravity), linear(colors)
    rays = camera.rays(look.rows * look.smooth, round(look.rows * camera.aspect) * look.smooth)
    everything = placed_parts(shapes, state)
    hollow = enclosing(shapes, state, everything)
    hollow, there = hollow[state.present[hollow]], state.present
    if not there.any():  # one body behind the camera: lights need something
        there = np.arange(world.count) == 0
    parts = chosen_parts(everything, ~np.isin(np.arange(world.count), hollow) & there)
    ground = ground_of(world, camera, up)
    back = kept.get("back", view.key, lambda: background.backdrop(rays, look.smooth, boundaries, ground))
    space, image = kept.arrays(rays)
    buffers, lamps = (
        seen(rays, parts, shapes, look.smooth, space),
        lights(parts, shapes, camera, up, look.rows, kept.still),
    )
    image.fill(1.0)
    weight = shade.weights(shapes.radius, rays, state.position)
    shade.bodies(rays, look.smooth, buffers, parts.body, rgb, lamps, image)
    shade.outlines(buffers, parts.body, shapes.radius, weight, image)
    background.paint(rays, look.smooth, back, buffers, boundaries, lamps, image)
    for body in hollow:
        shell = chosen_parts(everything, np.arange(world.count) == body)
        before = seen(rays, shell, shapes, look.smooth)
        layer = np.ones_like(image)
        shade.bodies(rays, look.smooth, before, shell.body, rgb, lamps, layer)
        shade.outlines(before, shell.body, shapes.radius, weight, layer)
        shade.glass(before, buffers, layer, image)
    if look.lines:
        for points in _lines(boundaries, camera, up):
            shade.line(image, buffers.depth, rays, points, EDGE_LIGHT, look.smooth)
    for points in drawn_joints(world, state).lines:
        shade.line(image, buffers.depth, rays, points, JOINT_LIGHT, 2 * look.smooth)
    level = bool(((boundaries.kind == PLANE) & (boundaries.axis @ up > 0.5)).any())
    return Picture(
        shade.averaged(image, look.smooth),
        camera,
        ground.spacing if level else None,
        _bodies(parts, buffers.part, look),
        _middle(buffers.depth, look).copy(),
    )


def linear(color: Floats) -> Floats:
    """sRGB colors (n, 3) from 0 to 1 as linear light."""
    c = np.asarray(color, dtype=np.float64)[:, :3]
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _lines(boundaries: Boundaries, camera: Camera, up: Floats) -> list[Floats]:
    return [
        *edges(boundaries, camera.low, camera.high, up),
        *tube_outlines(boundaries, camera.eye, camera.low, camera.high),
        *shell_outlines(boundaries, camera.eye),
    ]


def ground_of(world: World, camera: Camera, up: Floats) -> background.Ground:
    """The appearance of the ground for a camera."""
    middle, size = 0.5 * (camera.low + camera.high), 0.5 * float(np.linalg.norm(camera.high - camera.low))
    across, ahead, _ = level_axes(up)
    free = world.free if world.free.any() else np.ones(world.count, bool)
    spacing = _round_number(max(float(np.median(world.shapes_3d.radius[free])), size / CELLS))
    height = 0.5005 * float(np.abs(up) @ (camera.high - camera.low))
    return background.Ground(up, across, ahead, spacing, middle, FADE * size, height)


def _round_number(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= 0.999 * value))


def _bodies(parts: Parts, part: NDArray[np.int32], look: RayLook) -> NDArray[np.int64]:
    chosen = _middle(part, look)
    return np.where(chosen >= 0, parts.body[chosen], -1)


def _middle(buffer: NDArray[Any], look: RayLook) -> NDArray[Any]:
    """The value of the ray next to the center of each pixel."""
    half = look.smooth // 2
    return buffer[half :: look.smooth, half :: look.smooth]
