"""Bodies of space in one frame, drawn by `carom.pictures` and colored by speed or by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgb

from ..solvers.rows import Floats
from .camera import upward
from .colors import colors
from .containers import container_tops
from .raycast import Camera, Look, looking_at, render
from .raycast.picture import extent
from .style import BLACK, BLUE, GRAY, GREEN, ORANGE, PALE, PURPLE, RED, SKY

if TYPE_CHECKING:
    from .figure2d import View

OUTLIER = 2.5  # as in the plane: a run so many times larger than the middle one of several is cut off
__all__ = ["camera_of", "container_tops", "draw_space", "group_colors", "speed_colors", "unseen"]
GROUPS = (SKY, ORANGE, GREEN, PURPLE, RED, BLUE, "#F0E442", BLACK)  # soft ones first: they are shaded
AXES = (RED, GREEN, BLUE)  # of the small cross of axes


def speed_colors(shares: Floats) -> Floats:
    """(n, 3) sRGB from 0 to 1, of speeds as parts of the scale: as in films."""
    return colors(shares, 0.0, 1.0) / 255.0


def group_colors(view: View) -> Floats:
    """(n, 3) one color for each group of the scene, in order."""
    palette = np.array([to_rgb(c) for c in GROUPS])
    return palette[view.world.group % len(palette)]


def camera_of(
    views: Sequence[View],
    azimuth: float | None = None,
    elevation: float | None = None,
    aspect: float | None = None,
) -> Camera:
    """One camera for all views; those much larger than the middle one do not count."""
    spheres = [extent(v.world, v.state, v.walls, v.tops) for v in views]
    sizes = np.array([float(np.ptp(centers, axis=0).max() + 2.0 * radius.max()) for centers, radius in spheres])
    chosen = [s for s, size in zip(spheres, sizes) if size <= OUTLIER * np.median(sizes)]
    centers, radius = (np.concatenate(arrays) for arrays in zip(*chosen))
    return looking_at(centers, radius, upward(views[0].world.gravity), azimuth, elevation, aspect)


def unseen(view: View, camera: Camera) -> int:
    """How many bodies have their center outside the picture."""
    x, y, depth = camera.project(view.state.position).T
    return int(((x < 0.0) | (x > 1.0) | (y < 0.0) | (y > 1.0) | (depth <= 0.0)).sum())


def draw_space(
    axes: Axes, view: View, scale: Normalize, camera: Camera, width: int = 900, by_group: bool = False
) -> None:
    """Draws the frame into `axes`, `width` pixels wide, with a cross of axes and the size of the floor's grid."""
    rgb = group_colors(view) if by_group else speed_colors(scale(view.speed))
    rgb[~view.world.free] = to_rgb(PALE)
    look = Look(rows=max(2, round(width / camera.aspect)))
    picture = render(view.world, view.state, rgb, camera, look, view.walls, view.tops)
    axes.imshow(picture.pixels, extent=(0.0, camera.aspect, 0.0, 1.0), interpolation="antialiased")
    axes.set(xlim=(0.0, camera.aspect), ylim=(0.0, 1.0), xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(size_text(view, camera, picture.spacing), fontsize=7.5, color=GRAY)
    _draw_cross(axes, camera)


def size_text(view: View, camera: Camera, spacing: float | None) -> str:
    """How large things are, and how many are out of sight."""
    if spacing is not None:
        text = f"squares of {spacing:g}, length units"
    else:
        depth = float(np.median((view.state.position - camera.eye) @ camera.forward))
        text = f"about {2.0 * camera.field * camera.aspect * depth:.2g} length units across"
    gone = unseen(view, camera)
    return text + (f"; {gone:,} {'body' if gone == 1 else 'bodies'} not shown" if gone else "")


def _draw_cross(axes: Axes, camera: Camera, size: float = 0.06) -> None:
    """The directions of x, y and z, in the upper left corner."""
    corner = np.array([1.2 * size, 1.0 - 1.7 * size])
    order = sorted(range(3), key=lambda k: -camera.forward[k])  # what points at the viewer is drawn last
    for k in order:
        tip = size * np.array([camera.right[k], camera.up[k]])
        axes.plot(*np.stack([corner, corner + tip]).T, color=AXES[k], linewidth=1.3, solid_capstyle="round")
        if np.hypot(*tip) > 0.2 * size:
            place = corner + tip * (1.0 + 0.32 * size / np.hypot(*tip))
            axes.text(float(place[0]), float(place[1]), "xyz"[k], color=AXES[k], fontsize=7, ha="center", va="center")
