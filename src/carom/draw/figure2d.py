"""Bodies and boundaries of one frame, drawn to scale and colored by speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import Colormap, ListedColormap, Normalize, to_rgb
from matplotlib.patches import Circle

from ..analysis.runs import lengths
from ..contact.boundaries import boundaries_at
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from ..world import DISC, INSIDE, PLANE, SEGMENT, Boundaries, State, World
from .colors import DEFAULT_MAP, MAPS
from .figure3d import camera_of, container_tops, draw_space, speed_colors, unseen
from .raycast import Camera
from .style import GRAY, PALE

Box = tuple[float, float, float, float]  # left, right, bottom, top
Frame = Box | Camera  # what a picture shows, in the plane and in space
OUTLIER = 2.5  # a run so many times larger than the middle one of several is cut off
RASTER = 2_000  # bodies from which an SVG holds them as an image
PIXELS = 50_000  # bodies from which they are drawn as cells of mean speed
CELLS = 400
SPOKES = 2_000  # bodies up to which discs that turn show a radius


@dataclass(frozen=True, eq=False)
class View:
    """One frame of a run, ready to be drawn."""

    world: World
    state: State
    walls: Any  # Boundaries, in space Boundaries
    tops: Floats | None = None  # (k, 3) corners of open containers of space

    @classmethod
    def of(cls, run: Trajectory, index: int = -1) -> View:
        state = run.frame(index)
        tops = container_tops(run.scene, state.time) if run.dimension == 3 else None
        return cls(run.world, state, boundaries_at(run.world, state.time, 1e-6)[0], tops)

    @property
    def speed(self) -> Floats:
        return lengths(self.state.velocity[:, : self.world.dimension])


def speed_scale(views: Sequence[View]) -> Normalize:
    """Colors from 0 to the speed that 99 of 100 free bodies stay below; of several views the middle one counts.

    Where gravity acts it is at least a thousandth of the speed after a fall by one radius: what rests looks at rest.
    """
    tops = [float(np.quantile(v.speed[v.world.free], 0.99)) for v in views if v.world.free.any()]
    top = float(np.median(tops)) if tops else 0.0
    world = views[0].world
    rest = 1e-3 * float(np.sqrt(2.0 * lengths(world.gravity) * world.length_scale))
    return Normalize(0.0, max(top, rest) or 1.0, clip=True)


@dataclass(frozen=True)
class Angle:
    """How bodies of space are looked at: degrees of the camera, None chooses, and what colors tell."""

    azimuth: float | None = None
    elevation: float | None = None
    by_group: bool = False


def frame_of(views: Sequence[View], angle: Angle | None = None) -> Frame:
    """What a picture of these views shows, all of them alike."""
    if views[0].world.dimension == 2:
        return limits(views)
    return camera_of(views) if angle is None else camera_of(views, angle.azimuth, angle.elevation)


def tallness(frame: Frame) -> float:
    """Height over width of what a picture shows."""
    if isinstance(frame, Camera):
        return 1.0 / frame.aspect
    return (frame[3] - frame[2]) / (frame[1] - frame[0])


def color_map() -> Colormap:
    """The colors of speeds, as in films."""
    return ListedColormap(MAPS[DEFAULT_MAP] / 255.0)


def limits(views: Sequence[View], margin: float = 0.04) -> Box:
    """What holds all bodies, drums, segments, and planes that are near.

    Of several views, those much larger than the middle one do not count: a law that explodes would hide the others.
    """
    boxes = np.array([_own_limits(v) for v in views])
    sizes = np.maximum(boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2])
    boxes = boxes[sizes <= OUTLIER * np.median(sizes)]
    low, high = boxes[:, ::2].min(axis=0), boxes[:, 1::2].max(axis=0)
    edge = margin * float((high - low).max())
    return float(low[0] - edge), float(high[0] + edge), float(low[1] - edge), float(high[1] + edge)


def outside(view: View, box: Frame) -> int:
    """How many bodies have their center outside the picture."""
    if isinstance(box, Camera):
        return unseen(view, box)
    x, y = view.state.position.T
    return int(((x < box[0]) | (x > box[1]) | (y < box[2]) | (y > box[3])).sum())


def _own_limits(v: View) -> Box:
    radius = v.world.shapes.radius[:, None]
    points = [v.state.position - radius, v.state.position + radius]
    size = float(np.ptp(np.concatenate(points), axis=0).max())
    points += _wall_points(v.walls, v.state.position.mean(axis=0), size)
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def _wall_points(walls: Boundaries, middle: Floats, size: float) -> list[Floats]:
    points = []
    for k, kind in enumerate(walls.kind):
        if kind == INSIDE:
            points += [walls.point[k] - walls.radius[k], walls.point[k] + walls.radius[k]]
        elif kind == SEGMENT:
            points += [walls.point[k], walls.axis[k]]
        elif kind == PLANE:
            apart = float((middle - walls.point[k]) @ walls.axis[k])
            if abs(apart) <= 2.0 * size:
                points += [middle - apart * walls.axis[k]]
    return [p[None] for p in points]


def draw_state(axes: Axes, view: View, scale: Normalize, box: Frame, width: int = 900, by_group: bool = False) -> None:
    """Draws the frame into `axes`, within `box` = (left, right, bottom, top), with equal axes.

    In space `box` is a camera, the picture `width` pixels wide, and colors may tell groups instead of speeds.
    """
    if isinstance(box, Camera):
        draw_space(axes, view, scale, box, width, by_group)
        return
    axes.set(xlim=box[:2], ylim=box[2:], aspect="equal")
    axes.grid(False)
    axes.tick_params(labelsize=7)
    _draw_walls(axes, view.walls, view.world)
    if view.world.count > PIXELS:
        _draw_cells(axes, view, scale, box)
        return
    colors = speed_colors(scale(view.speed))
    colors[~view.world.free] = to_rgb(PALE)
    edge = 0.4 if view.world.count <= 500 else 0.0
    look: dict[str, Any] = {
        "edgecolors": "#333333" if edge else "none",
        "linewidths": edge,
        "rasterized": view.world.count > RASTER,
    }
    _draw_discs(axes, view, colors, look)
    _draw_polygons(axes, view, colors, look)


def _draw_discs(axes: Axes, view: View, colors: Floats, look: dict[str, Any]) -> None:
    discs = view.world.shapes.kind == DISC
    if not discs.any():
        return
    place, radius = view.state.position[discs], view.world.shapes.radius[discs]
    axes.add_collection(
        EllipseCollection(
            2 * radius,
            2 * radius,
            np.zeros(len(radius)),
            units="xy",
            offsets=place,
            offset_transform=axes.transData,
            facecolors=colors[discs],
            **look,
        )
    )
    if view.world.block == 3 and view.world.count <= SPOKES:
        angle = view.state.orientation[discs]
        rim = place + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        axes.add_collection(LineCollection(list(np.stack([place, rim], axis=1)), colors="#333333", linewidths=0.5))


def _draw_polygons(axes: Axes, view: View, colors: Floats, look: dict[str, Any]) -> None:
    shapes, state = view.world.shapes, view.state
    chosen = np.flatnonzero(shapes.kind != DISC)
    if not len(chosen):
        return
    corners = []
    for i in chosen:
        own = shapes.vertex[shapes.vertex_ptr[i] : shapes.vertex_ptr[i + 1]]
        cos, sin = np.cos(state.orientation[i]), np.sin(state.orientation[i])
        corners.append(state.position[i] + own @ np.array([[cos, sin], [-sin, cos]]))
    # White lines between them: bodies that lie on each other at rest all have the darkest color.
    axes.add_collection(PolyCollection(corners, facecolors=colors[chosen], **{**look, "edgecolors": "white"}))


def _draw_cells(axes: Axes, view: View, scale: Normalize, box: Box) -> None:
    """Mean speed of the bodies in each cell of a fine grid: single bodies would be smaller than a dot."""
    wide, tall = box[1] - box[0], box[3] - box[2]
    cells = [max(1, round(CELLS * wide / max(wide, tall))), max(1, round(CELLS * tall / max(wide, tall)))]
    ranges = [[box[0], box[1]], [box[2], box[3]]]
    x, y = view.state.position.T
    count = np.histogram2d(x, y, cells, ranges)[0]
    total = np.histogram2d(x, y, cells, ranges, weights=view.speed)[0]
    mean = np.ma.masked_array(total / np.maximum(count, 1), mask=count == 0)
    axes.imshow(
        mean.T, origin="lower", extent=box, cmap=color_map(), norm=scale, interpolation="nearest", aspect="equal"
    )


def _draw_walls(axes: Axes, walls: Boundaries, world: World) -> None:
    for k, kind in enumerate(walls.kind):
        if kind == PLANE:
            normal = walls.axis[k]
            axes.axline(
                tuple(walls.point[k]), tuple(walls.point[k] + (-normal[1], normal[0])), color=GRAY, linewidth=1.2
            )
        elif kind == SEGMENT:
            axes.plot(*np.stack([walls.point[k], walls.axis[k]]).T, color=GRAY, linewidth=1.6, solid_capstyle="round")
        else:
            axes.add_patch(Circle(tuple(walls.point[k]), walls.radius[k], fill=False, edgecolor=GRAY, linewidth=1.2))
    if world.periodic is not None:
        for side, line in ((world.periodic.x, axes.axvline), (world.periodic.y, axes.axhline)):
            for place in side or ():
                line(place, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
