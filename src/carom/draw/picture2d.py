"""Bodies and boundaries of the plane, as layers of a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..scene.boundaries import Periodic
from ..solvers.rows import Ints
from ..world import DISC, INSIDE, OUTSIDE, PLANE, SEGMENT, Boundaries, State, World
from .colors import Bytes, Floats
from .framing import Window, walls_of
from .layers import RGB, Discs, Hole, Layer, Lines, Page, Polygons, Rings, clipped, repeated

GROUND: RGB = (240, 242, 245)  # what boundaries are made of
WALL: RGB = (107, 114, 128)
RIM: RGB = (45, 52, 64)
EDGE = 1.3  # width of lines round bodies, in pixels of a page 1080 high
SPOKES = 2_000  # bodies up to which discs that turn show a radius
SMALL = 5.0  # pixels of radius below which bodies have no line round them


def add_world(
    page: Page, world: World, state: State, colors: Bytes, window: Window, trails: Sequence[Layer] = ()
) -> None:
    """Boundaries, trails, bodies in their colors (n, 3), and the lines of the boundaries."""
    walls = walls_of(world, state.time)
    unit = page.height / 1080.0
    page.add(*solid_ground(walls, window, page), *periodic_sides(world, window, page, unit), *trails)
    page.add(*body_layers(world, state, colors, window, unit))
    page.add(*wall_lines(walls, window, page, unit))


def solid_ground(walls: Boundaries, window: Window, page: Page) -> list[Layer]:
    """What lies behind half-planes, outside drums and inside round obstacles."""
    out: list[Layer] = []
    for k, kind in enumerate(walls.kind):
        if kind == PLANE:
            sheet = np.array([[0.0, 0.0], [page.width, 0.0], [page.width, page.height], [0.0, page.height]])
            normal = walls.axis[k] * (1.0, -1.0)  # pixels count downward
            part = clipped(sheet, window.pixels(walls.point[k]), -normal)
            if len(part) >= 3:
                out.append(Polygons(np.array([0, len(part)]), part, repeated(GROUND, 1)))
        elif kind == INSIDE:
            out.append(Hole(window.pixels(walls.point[k]), float(walls.radius[k] * window.scale), GROUND))
        elif kind == OUTSIDE:
            out.append(
                Discs(window.pixels(walls.point[k])[None], walls.radius[k : k + 1] * window.scale, repeated(GROUND, 1))
            )
    return out


def wall_lines(walls: Boundaries, window: Window, page: Page, unit: float) -> list[Layer]:
    """Where bodies meet the boundaries."""
    width = max(1.0, 2.0 * unit)
    starts, ends, centers, radii = [], [], [], []
    for k, kind in enumerate(walls.kind):
        if kind == PLANE:
            line = _plane_line(walls, k, window, page, width)
            if line is not None:
                starts.append(line[0])
                ends.append(line[1])
        elif kind == SEGMENT:
            starts.append(window.pixels(walls.point[k]))
            ends.append(window.pixels(walls.axis[k]))
        else:
            centers.append(window.pixels(walls.point[k]))
            radii.append(walls.radius[k] * window.scale + (0.5 if kind == INSIDE else -0.5) * width)
    out: list[Layer] = []
    if starts:
        out.append(Lines(np.array(starts), np.array(ends), repeated(WALL, len(starts)), width))
    if centers:
        out.append(Rings(np.array(centers), np.array(radii), WALL, width))
    return out


def _plane_line(walls: Boundaries, k: int, window: Window, page: Page, width: float) -> tuple[Floats, Floats] | None:
    """The line along plane k across the page, as far as no other plane is in its way."""
    outward = walls.axis[k] * (1.0, -1.0)  # pixels count downward
    along = np.array([-outward[1], outward[0]])
    middle = np.array([0.5 * page.width, 0.5 * page.height])
    point = window.pixels(walls.point[k])
    # The line is all outside the room of the bodies, so that it does not cover them.
    foot = point + ((middle - point) @ along) * along - 0.5 * width * outward
    low, high = -float(page.width + page.height), float(page.width + page.height)
    for m in np.flatnonzero(walls.kind == PLANE):
        normal = walls.axis[m] * (1.0, -1.0)
        rate = float(normal @ along)
        apart = float((foot - window.pixels(walls.point[m])) @ normal) + width
        if m == k or abs(rate) < 1e-9:
            continue
        if rate > 0.0:
            low = max(low, -apart / rate)
        else:
            high = min(high, -apart / rate)
    return (foot + low * along, foot + high * along) if low < high else None


def periodic_sides(world: World, window: Window, page: Page, unit: float) -> list[Layer]:
    """Dashed lines where what leaves comes in at the other side."""
    starts: list[Floats] = []
    ends: list[Floats] = []
    for axis, side in enumerate(world.periodic.sides[:2] if world.periodic is not None else ()):
        for value in side or ():
            at = window.pixels(np.full(2, value))[axis]
            dash = np.arange(0.0, page.height if axis == 0 else page.width, 16.0 * unit)
            for ends_of, shift in ((starts, 0.0), (ends, 8.0 * unit)):
                line = np.full((len(dash), 2), at)
                line[:, 1 - axis] = dash + shift
                ends_of.append(line)
    if not starts:
        return []
    start, end = np.concatenate(starts), np.concatenate(ends)
    return [Lines(start, end, repeated(WALL, len(start)), max(1.0, 1.2 * unit))]


def body_layers(world: World, state: State, colors: Bytes, window: Window, unit: float) -> list[Layer]:
    """Discs and polygons; discs that turn have a line from their center to their rim."""
    place, angle, owner = _with_images(world, state)
    place = window.pixels(place)
    radius, kind = world.shapes.radius[owner] * window.scale, world.shapes.kind[owner]
    usual = float(np.median(radius))
    edge = max(0.8, EDGE * unit) * min(1.0, usual / (2.0 * SMALL * unit)) if usual >= SMALL * unit else 0.0
    out: list[Layer] = []
    discs = kind == DISC
    if discs.any():
        out.append(Discs(place[discs], radius[discs], colors[owner[discs]], RIM, edge))
    if discs.any() and world.turns and world.count <= SPOKES and usual >= SMALL * unit:
        arm = radius[discs, None] * np.stack([np.cos(angle[discs]), -np.sin(angle[discs])], axis=1)
        out.append(Lines(place[discs], place[discs] + arm, repeated(RIM, int(discs.sum())), edge))
    if not discs.all():
        out.append(_polygons(world, place[~discs], angle[~discs], owner[~discs], colors, window.scale, edge))
    return out


def _with_images(world: World, state: State) -> tuple[Floats, Floats, Ints]:
    """Places, angles and numbers of all bodies; those that cross a periodic side are there a second time beyond it."""
    place, angle, owner = state.position, state.orientation, np.arange(world.count)
    periodic = world.periodic
    for axis, side in enumerate(periodic.sides[:2] if periodic is not None else ()):
        if side is None or periodic is None:
            continue
        length, radius = side[1] - side[0], world.shapes.radius[owner]
        shift = np.zeros(2)
        shift[axis] = length
        if periodic.shear_rate and axis == periodic.sheared_axis:
            shift[periodic.slide_axis] = periodic.shear_rate * length * state.time
        low, high = place[:, axis] < side[0] + radius, place[:, axis] > side[1] - radius
        copies = np.concatenate([place[low] + shift, place[high] - shift])
        if periodic.shear_rate and axis == periodic.sheared_axis:
            copies = _back(copies, periodic)
        place = np.concatenate([place, copies])
        angle, owner = (np.concatenate([v, v[low], v[high]]) for v in (angle, owner))
    return place, angle, owner


def _back(places: Floats, periodic: Periodic) -> Floats:
    """Images that slid along, back between the sides there."""
    low, high = periodic.sides[periodic.slide_axis] or (-np.inf, np.inf)
    out = places.copy()
    out[:, periodic.slide_axis] = low + np.mod(places[:, periodic.slide_axis] - low, high - low)
    return out


def _polygons(
    world: World, place: Floats, angle: Floats, body: Ints, colors: Bytes, scale: float, edge: float
) -> Polygons:
    shapes = world.shapes
    count = np.diff(shapes.vertex_ptr)[body]
    ptr = np.concatenate([[0], np.cumsum(count)])
    corner = np.arange(ptr[-1]) + np.repeat(shapes.vertex_ptr[body] - ptr[:-1], count)
    own = shapes.vertex[corner] * scale
    cos, sin = np.repeat(np.cos(angle), count), np.repeat(np.sin(angle), count)
    turned = np.stack([cos * own[:, 0] - sin * own[:, 1], -(sin * own[:, 0] + cos * own[:, 1])], axis=1)
    return Polygons(ptr, np.repeat(place, count, axis=0) + turned, colors[body], RIM, edge)
