"""A 2D world as primitives, in the world's lengths: boundaries, bodies, periodic sides.

Stills, films and figures draw the shapes of `world_shapes`; the viewer and the play page, whose boundaries move
without being drawn again, use `outlines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..scene.boundaries import Periodic
from ..solvers.rows import Ints
from ..world import DISC, INSIDE, PLANE, SEGMENT, Boundaries, State, World
from .colors import Bytes, Floats
from .joints import drawn_joints
from .primitives import RGB, Discs, Hole, Lines, Polygons, Rings, Shape, clipped, repeated

GROUND: RGB = (240, 242, 245)  # fill of the region behind a boundary
LINE: RGB = (107, 114, 128)  # boundaries
JOINT: RGB = (60, 30, 20)  # rods, ropes, springs and pins
RIM: RGB = (45, 52, 64)  # outlines of bodies
SPOKES = 2_000  # number of bodies up to which rotating discs show a radius
DASH = 8.0  # period of the dashes of periodic sides, in widths of a boundary line


class View2D(NamedTuple):
    """The visible rectangle and the line widths of a 2D picture."""

    low: Floats  # (2,)
    high: Floats  # (2,)
    scale: float  # pixels per length unit
    line: float  # width of boundary lines, pixels
    edge: float  # width of the outlines of bodies, pixels
    small: float  # radius in pixels below which bodies have no outline


@dataclass(frozen=True, eq=False)
class Outline:
    """The visible geometry of one boundary: a line, or a circle with `radius` > 0 about `center`."""

    kind: int  # PLANE, INSIDE, OUTSIDE or SEGMENT
    line: Floats | None = None  # (2, 2) ends of the line of a plane or of a segment
    fill: Floats | None = None  # (k, 2) convex polygon behind a plane
    center: Floats | None = None  # (2,)
    radius: float = 0.0


def outlines(boundaries: Boundaries, low: Floats, high: Floats, overlap: float = 0.0) -> list[Outline | None]:
    """The outline of each boundary within the rectangle from `low` to `high`; None where nothing is visible.

    The line of a plane ends where another plane cuts it, `overlap` behind that plane.
    """
    out: list[Outline | None] = []
    corners = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    for k, kind in enumerate(boundaries.kind):
        point, axis = boundaries.point[k], boundaries.axis[k]
        if kind == PLANE:
            fill = clipped(corners, point, -axis)
            line = _plane_line(boundaries, k, low, high, overlap)
            visible = line is not None or len(fill) >= 3
            out.append(Outline(PLANE, line, fill if len(fill) >= 3 else None) if visible else None)
        elif kind == SEGMENT:
            out.append(Outline(SEGMENT, np.stack([point, axis])))
        else:
            out.append(Outline(int(kind), center=point, radius=float(boundaries.radius[k])))
    return out


def _plane_line(boundaries: Boundaries, k: int, low: Floats, high: Floats, overlap: float) -> Floats | None:
    """The ends (2, 2) of the line of plane k; None if other planes hide all of it."""
    normal, point = boundaries.axis[k], boundaries.point[k]
    along = np.array([normal[1], -normal[0]])
    middle = 0.5 * (low + high)
    foot = middle - float((middle - point) @ normal) * normal
    reach = 0.5 * float(np.abs(along) @ (high - low))
    first, last = -reach, reach
    for m in np.flatnonzero(boundaries.kind == PLANE):
        rate = float(boundaries.axis[m] @ along)
        if m == k or abs(rate) < 1e-9:
            continue
        cut = -(float((foot - boundaries.point[m]) @ boundaries.axis[m]) + overlap) / rate
        if rate > 0.0:
            first = max(first, cut)
        else:
            last = min(last, cut)
    return np.stack([foot + first * along, foot + last * along]) if first < last else None


def world_shapes(world: World, state: State, boundaries: Boundaries, colors: Bytes | None, view: View2D) -> list[Shape]:
    """Boundaries and bodies of one state, the lowest first.

    `colors` (n, 3) are sRGB bytes, one per body; with None the bodies are left out.
    """
    width = view.line / view.scale
    found = [outline for outline in outlines(boundaries, view.low, view.high, width) if outline is not None]
    shapes = [*_ground(found), *_periodic_sides(world, view)]
    bodies = [] if colors is None else body_shapes(world, state, colors, view)
    return [*shapes, *bodies, *_joint_shapes(world, state, view), *_boundary_lines(found, view)]


def _joint_shapes(world: World, state: State, view: View2D) -> list[Shape]:
    """Rods, ropes and springs as lines, pins as small circles, above the bodies."""
    drawn = drawn_joints(world, state)
    out: list[Shape] = []
    if drawn.lines:
        start, end = (np.concatenate([line[part] for line in drawn.lines]) for part in (slice(-1), slice(1, None)))
        out.append(Lines(start, end, repeated(JOINT, len(start)), max(1.0, 0.8 * view.line)))
    if len(drawn.points):
        radius = min(1.5 * view.line / view.scale, 0.4 * world.length_scale)
        out.append(Discs(drawn.points, np.full(len(drawn.points), radius), repeated(JOINT, len(drawn.points))))
    return out


def _ground(found: Sequence[Outline]) -> list[Shape]:
    """The regions behind planes, outside drums and inside round obstacles."""
    out: list[Shape] = []
    for o in found:
        if o.fill is not None:
            out.append(Polygons(np.array([0, len(o.fill)]), o.fill, repeated(GROUND, 1)))
        elif o.center is not None and o.kind == INSIDE:
            out.append(Hole(o.center, o.radius, GROUND))
        elif o.center is not None:
            out.append(Discs(o.center[None], np.array([o.radius]), repeated(GROUND, 1)))
    return out


def _boundary_lines(found: Sequence[Outline], view: View2D) -> list[Shape]:
    """Lines along the boundaries. Except for segments they lie outside the region of the bodies and hide none."""
    half = 0.5 * view.line / view.scale
    lines, centers, radii = [], [], []
    for o in found:
        if o.line is not None:
            along = o.line[1] - o.line[0]
            length = float(np.hypot(*along))
            shift = half / length * np.array([-along[1], along[0]]) if o.kind == PLANE and length else 0.0
            lines.append(o.line - shift)
        elif o.center is not None:
            centers.append(o.center)
            radii.append(o.radius + (half if o.kind == INSIDE else -half))
    out: list[Shape] = []
    if lines:
        ends = np.array(lines)
        out.append(Lines(ends[:, 0], ends[:, 1], repeated(LINE, len(lines)), view.line))
    if centers:
        out.append(Rings(np.array(centers), np.array(radii), LINE, view.line))
    return out


def _periodic_sides(world: World, view: View2D) -> list[Shape]:
    """Dashed lines along the sides of a periodic cell."""
    starts: list[Floats] = []
    ends: list[Floats] = []
    step = DASH * view.line / view.scale
    for axis, side in enumerate(world.periodic.sides[:2] if world.periodic is not None else ()):
        for value in side or ():
            dash = np.arange(view.low[1 - axis], view.high[1 - axis], step)
            for ends_of, shift in ((starts, 0.0), (ends, 0.5 * step)):
                line = np.full((len(dash), 2), float(value))
                line[:, 1 - axis] = dash + shift
                ends_of.append(line)
    if not starts:
        return []
    start, end = np.concatenate(starts), np.concatenate(ends)
    return [Lines(start, end, repeated(LINE, len(start)), max(1.0, 0.6 * view.line))]


def body_shapes(world: World, state: State, colors: Bytes, view: View2D) -> list[Shape]:
    """Discs and polygons. Rotating discs have a line from their center to their rim."""
    place, angle, owner = _with_images(world, state)
    radius, kind = world.shapes.radius[owner], world.shapes.kind[owner]
    usual = float(np.median(world.shapes.radius)) * view.scale
    edge = view.edge * min(1.0, usual / (2.0 * view.small)) if usual >= view.small else 0.0
    out: list[Shape] = []
    discs = kind == DISC
    if discs.any():
        out.append(Discs(place[discs], radius[discs], colors[owner[discs]], RIM, edge))
    if discs.any() and world.turns and world.count <= SPOKES and edge:
        arm = radius[discs, None] * np.stack([np.cos(angle[discs]), np.sin(angle[discs])], axis=1)
        out.append(Lines(place[discs], place[discs] + arm, repeated(RIM, int(discs.sum())), edge))
    if not discs.all():
        ptr, corner = corners_of(world, place[~discs], angle[~discs], owner[~discs])
        out.append(Polygons(ptr, corner, colors[owner[~discs]], RIM, edge))
    return out


def corners_of(world: World, place: Floats, angle: Floats, body: Ints) -> tuple[Ints, Floats]:
    """Pointers (m + 1,) and corners (k, 2), in the world frame, of polygons `body` (m,) at `place` and `angle`."""
    shapes = world.shapes
    count = np.diff(shapes.vertex_ptr)[body]
    ptr = np.concatenate([[0], np.cumsum(count)])
    own = shapes.vertex[np.arange(ptr[-1]) + np.repeat(shapes.vertex_ptr[body] - ptr[:-1], count)]
    cos, sin = np.repeat(np.cos(angle), count), np.repeat(np.sin(angle), count)
    turned = np.stack([cos * own[:, 0] - sin * own[:, 1], sin * own[:, 0] + cos * own[:, 1]], axis=1)
    return ptr, np.repeat(place, count, axis=0) + turned


def _with_images(world: World, state: State) -> tuple[Floats, Floats, Ints]:
    """Positions, angles and body numbers of all bodies that are present, and of images that cross a periodic side."""
    owner = np.flatnonzero(state.present)
    place, angle = state.position[owner], state.orientation[owner]
    periodic = world.periodic
    for axis, side in enumerate(periodic.sides[:2] if periodic is not None else ()):
        if side is None or periodic is None:
            continue
        length, radius = side[1] - side[0], world.shapes.radius[owner]
        shift = np.zeros(2)
        shift[axis] = length
        sheared = bool(periodic.shear_rate) and axis == periodic.sheared_axis
        if sheared:
            shift[periodic.slide_axis] = periodic.shear_rate * length * state.time
        low, high = place[:, axis] < side[0] + radius, place[:, axis] > side[1] - radius
        copies = np.concatenate([place[low] + shift, place[high] - shift])
        place = np.concatenate([place, _wrapped(copies, periodic) if sheared else copies])
        angle, owner = (np.concatenate([v, v[low], v[high]]) for v in (angle, owner))
    return place, angle, owner


def _wrapped(places: Floats, periodic: Periodic) -> Floats:
    """Images that shear has moved along the cell, returned into it."""
    low, high = periodic.sides[periodic.slide_axis] or (-np.inf, np.inf)
    out = places.copy()
    out[:, periodic.slide_axis] = low + np.mod(places[:, periodic.slide_axis] - low, high - low)
    return out
