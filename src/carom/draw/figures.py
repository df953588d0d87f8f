"""Bodies and boundaries of one frame on Matplotlib axes, to scale, colored by speed or by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import Colormap, ListedColormap, Normalize

from ..analysis.runs import lengths
from ..contact.boundaries import boundaries_at
from ..scene.model import Scene
from ..scenes.views import view_of
from ..shown import counted
from ..trajectory import Trajectory
from ..world import Boundaries, State, World
from . import vector
from .camera import Camera, CameraOption3D, camera_option_3d, looking_at, upward
from .colors import DEFAULT_MAP, FIXED, MAPS, Bytes, Floats, category_colors, colors
from .framing import EVERYTHING, Extent, extent_2d, extent_3d, united, visible_places, with_anchors
from .raycast import RayLook, render
from .style import BLUE, GRAY, GREEN, RED
from .world2d import View2D, world_shapes

Box = tuple[float, float, float, float]  # left, right, bottom, top
Frame = Box | Camera  # what a picture shows, in 2D and in 3D
OUTLIER = 2.5  # a view this many times larger than the median of several does not count
MARGIN = 0.04  # relative to the size of the picture
RASTER = 2_000  # bodies from which an SVG stores them as an image
PIXELS = 50_000  # bodies from which they are drawn as cells of mean speed
CELLS = 400  # cells along the longer side
LINE, EDGE, SMALL = 1.2, 0.4, 0.8  # points: boundary lines, outlines of bodies, and radius from which they have one
AXES = (RED, GREEN, BLUE)  # colors of the axes x, y, z
AXES_SIZE = 0.06  # length of the axes, relative to the height of the picture


@dataclass(frozen=True, eq=False)
class View:
    """One frame of a run, ready to be drawn."""

    world: World
    state: State
    scene: Scene

    @classmethod
    def of(cls, run: Trajectory, index: int = -1) -> View:
        return cls(run.world, run.frame(index), run.scene)

    @property
    def speed(self) -> Floats:
        """(n,)"""
        return lengths(self.state.velocity[:, : self.world.dimension])

    @property
    def boundaries(self) -> Boundaries:
        return boundaries_at(self.world, self.state.time, 1e-6)[0]

    def rgb(self, scale: Normalize, by_group: bool) -> Bytes:
        """(n, 3) sRGB bytes, by speed or by group; bodies that are not free are gray."""
        by_speed = colors(np.asarray(scale(self.speed)), 0.0, 1.0)
        out = category_colors(self.world.group) if by_group else by_speed
        out[~self.world.free] = FIXED
        return out


@dataclass(frozen=True)
class Angle:
    """The direction of a 3D camera in degrees (None chooses), and whether colors show groups instead of speeds."""

    azimuth: float | None = None
    elevation: float | None = None
    by_group: bool = False

    @classmethod
    def of(cls, scene: Scene) -> Angle:
        """The direction of the camera in the view of a scene."""
        asked = camera_option_3d(view_of(scene).camera) if scene.dimension == 3 else CameraOption3D()
        return cls(asked.azimuth, asked.elevation)


def speed_scale(views: Sequence[View]) -> Normalize:
    """A scale from 0 to the 0.99 quantile of the speeds of free bodies; the median of several views.

    With gravity the upper limit is at least a thousandth of the speed after a fall by the length scale, so that bodies
    at rest have one color.
    """
    tops = [float(np.quantile(v.speed[v.world.free], 0.99)) for v in views if v.world.free.any()]
    top = float(np.median(tops)) if tops else 0.0
    world = views[0].world
    rest = 1e-3 * float(np.sqrt(2.0 * lengths(world.gravity) * world.length_scale))
    return Normalize(0.0, max(top, rest) or 1.0, clip=True)


def color_map() -> Colormap:
    """The colors of speeds, as in films."""
    return ListedColormap(MAPS[DEFAULT_MAP] / 255.0)


# ---- framing


def frame_of(views: Sequence[View], angle: Angle | None = None) -> Frame:
    """A common frame for several views.

    Views much larger than the median do not count: a law that makes bodies explode would hide the others.
    """
    extents = [extent_of(v) for v in views]
    sizes = np.array([float(e.size.max()) for e in extents])
    extent = united([e for e, size in zip(extents, sizes) if size <= OUTLIER * np.median(sizes)])
    if views[0].world.dimension == 3:
        angle = Angle() if angle is None else angle
        up = upward(views[0].world.gravity)
        return looking_at(extent.centers, extent.radii, up, angle.azimuth, angle.elevation)
    edge = MARGIN * float(extent.size.max())
    (left, bottom), (right, top) = (extent.low - edge).tolist(), (extent.high + edge).tolist()
    return left, right, bottom, top


def extent_of(view: View) -> Extent:
    """What a figure of one view must show."""
    if view.world.dimension == 3:
        return extent_3d(view.world, [view.state], view.scene)
    radius = view.world.shapes.radius
    places = visible_places([view.state])
    return with_anchors(extent_2d(places, radius, [view.boundaries], stray=EVERYTHING), view.world)


def tallness(frame: Frame) -> float:
    """Height over width of a frame."""
    if isinstance(frame, Camera):
        return 1.0 / frame.aspect
    return (frame[3] - frame[2]) / (frame[1] - frame[0])


def outside(view: View, frame: Frame) -> int:
    """The number of bodies whose center is outside the frame."""
    place = view.state.position[view.state.present]
    if isinstance(frame, Camera):
        x, y, depth = frame.project(place).T
        return int(((x < 0.0) | (x > 1.0) | (y < 0.0) | (y > 1.0) | (depth <= 0.0)).sum())
    x, y = place.T
    return int(((x < frame[0]) | (x > frame[1]) | (y < frame[2]) | (y > frame[3])).sum())


# ---- drawing


def draw_state(
    axes: Axes, view: View, scale: Normalize, frame: Frame, width: int = 900, by_group: bool = False
) -> None:
    """Draws a view into `axes` with equal scales; a 3D picture is `width` pixels wide."""
    axes.grid(False)
    if isinstance(frame, Camera):
        _draw_3d(axes, view, view.rgb(scale, by_group), frame, width)
    else:
        _draw_2d(axes, view, scale, frame, by_group)


def _draw_2d(axes: Axes, view: View, scale: Normalize, box: Box, by_group: bool) -> None:
    axes.set(xlim=box[:2], ylim=box[2:], aspect="equal")
    axes.tick_params(labelsize=7)
    wide = axes.get_window_extent().width * 72.0 / axes.figure.dpi  # points, before the final layout
    points = max(wide, 72.0) / (box[1] - box[0])
    low, high = np.array([box[0], box[2]]), np.array([box[1], box[3]])
    look = View2D(low, high, points, LINE, EDGE, SMALL)
    many = view.world.count > PIXELS
    rgb = None if many else view.rgb(scale, by_group)
    vector.draw(axes, world_shapes(view.world, view.state, view.boundaries, rgb, look), points, RASTER)
    if many:
        _draw_cells(axes, view, scale, box)


def _draw_cells(axes: Axes, view: View, scale: Normalize, box: Box) -> None:
    """The mean speed of the bodies in each cell of a fine grid: single bodies would be smaller than a dot."""
    wide, tall = box[1] - box[0], box[3] - box[2]
    cells = [max(1, round(CELLS * wide / max(wide, tall))), max(1, round(CELLS * tall / max(wide, tall)))]
    ranges = [[box[0], box[1]], [box[2], box[3]]]
    there = view.state.present
    x, y = view.state.position[there].T
    count = np.histogram2d(x, y, cells, ranges)[0]
    total = np.histogram2d(x, y, cells, ranges, weights=view.speed[there])[0]
    mean = np.ma.masked_array(total / np.maximum(count, 1), mask=count == 0)
    look: dict[str, Any] = {"origin": "lower", "cmap": color_map(), "norm": scale, "interpolation": "nearest"}
    axes.imshow(mean.T, extent=box, aspect="equal", **look)


def _draw_3d(axes: Axes, view: View, rgb: Bytes, camera: Camera, width: int) -> None:
    """The picture of the ray caster with axes in a corner and the size of the ground's grid."""
    look = RayLook(rows=max(2, round(width / camera.aspect)))
    picture = render(view.world, view.state, rgb / 255.0, camera, look, view.scene)
    axes.imshow(picture.pixels, extent=(0.0, camera.aspect, 0.0, 1.0), interpolation="antialiased")
    axes.set(xlim=(0.0, camera.aspect), ylim=(0.0, 1.0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(_size_text(view, camera, picture.spacing), fontsize=7.5, color=GRAY)
    _draw_axes(axes, camera)


def _size_text(view: View, camera: Camera, spacing: float | None) -> str:
    """The scale of a 3D picture, and how many bodies are outside it."""
    if spacing is not None:
        text = f"squares of {spacing:g}, length units"
    else:
        depth = float(np.median((view.state.position - camera.eye) @ camera.forward))
        text = f"about {2.0 * camera.field * camera.aspect * depth:.2g} length units across"
    gone = outside(view, camera)
    return text + (f"; {counted(gone, 'body', 'bodies')} not shown" if gone else "")


def _draw_axes(axes: Axes, camera: Camera) -> None:
    """The directions of x, y and z in the upper left corner; the one that points at the viewer is drawn last."""
    corner = np.array([1.2 * AXES_SIZE, 1.0 - 1.7 * AXES_SIZE])
    for k in sorted(range(3), key=lambda k: -camera.forward[k]):
        tip = AXES_SIZE * np.array([camera.right[k], camera.up[k]])
        axes.plot(*np.stack([corner, corner + tip]).T, color=AXES[k], linewidth=1.3, solid_capstyle="round")
        if np.hypot(*tip) > 0.2 * AXES_SIZE:
            place = corner + tip * (1.0 + 0.32 * AXES_SIZE / np.hypot(*tip))
            axes.text(float(place[0]), float(place[1]), "xyz"[k], color=AXES[k], fontsize=7, ha="center", va="center")


def draw_balls(axes: Axes, place: Floats, radius: float, **look: Any) -> None:
    """Draws discs of one radius to scale. `look` holds options of a matplotlib collection, such as facecolors."""
    size, flat = np.full(len(place), 2.0 * radius), np.zeros(len(place))
    axes.add_collection(
        EllipseCollection(size, size, flat, units="xy", offsets=place, offset_transform=axes.transData, **look)
    )
