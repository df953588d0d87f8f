"""Primitives on Matplotlib axes: stills as SVG and PDF, and the bodies of figures. Every shape stays a shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path as Outline
from numpy.typing import NDArray

from .colors import Bytes, Floats
from .primitives import RGB, Discs, Hole, Image, Lines, Page, Polygons, Primitive, Rings, Text, inset
from .style import VECTOR_FONTS

RASTER = 20_000  # number of shapes of one primitive from which it is stored as an image: viewers are slow with more


def write(page: Page, path: Path, kind: str) -> None:
    """Writes the page as `svg` or `pdf`; one pixel becomes one point."""
    with matplotlib.rc_context(VECTOR_FONTS):
        figure = Figure(figsize=(page.width / 72.0, page.height / 72.0), dpi=72.0)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, page.width), ylim=(page.height, 0.0))
        axes.set_axis_off()
        draw(axes, page.primitives)
        meta: dict[str, Any] = {"Date": None} if kind == "svg" else {"CreationDate": None}
        figure.savefig(path, format=kind, dpi=200.0, metadata=meta)


def draw(axes: Axes, primitives: Sequence[Primitive], scale: float = 1.0, raster: int = RASTER) -> None:
    """Draws primitives into axes whose limits are set. `scale` is in points per unit of the axes."""
    for p in primitives:
        if isinstance(p, Text):
            _text(axes, p)
        elif isinstance(p, Discs):
            _discs(axes, p, scale, raster)
        elif isinstance(p, Polygons):
            _polygons(axes, p, scale, raster)
        elif isinstance(p, Lines):
            pieces = np.stack([p.start, p.end], axis=1)
            lines = LineCollection(list(pieces), colors=_rgba(p.color, p.alpha), linewidths=p.width)
            lines.set(capstyle="butt", rasterized=len(pieces) > raster, zorder=1)  # in the order of the primitives
            axes.add_collection(lines, autolim=False)
        elif isinstance(p, Rings):
            for center, radius in zip(p.center, p.radius):
                look: dict[str, Any] = {"fill": False, "edgecolor": _unit(p.color), "linewidth": p.width}
                axes.add_patch(Circle((float(center[0]), float(center[1])), float(radius), **look))
        elif isinstance(p, Image):
            _image(axes, p)
        else:
            _hole(axes, p)


def _text(axes: Axes, text: Text) -> None:
    weight = "bold" if text.bold else "normal"
    look: dict[str, Any] = {
        "color": _unit(text.color),
        "fontsize": text.size,
        "weight": weight,
        "ha": text.anchor,
        "va": "baseline",
    }
    axes.text(text.x, text.y, text.text.replace("$", r"\$"), **look)


def _image(axes: Axes, image: Image) -> None:
    rows, columns = image.pixels.shape[:2]
    limits = (axes.get_xlim(), axes.get_ylim())
    box = (0.0, float(columns), float(image.top + rows), float(image.top))
    axes.imshow(image.pixels, extent=box, interpolation="none", aspect="auto")
    axes.set(xlim=limits[0], ylim=limits[1])


def _discs(axes: Axes, discs: Discs, scale: float, raster: int) -> None:
    size = 2.0 * np.maximum(discs.radius - 0.5 * discs.edge_width / scale, 0.0)
    shapes = EllipseCollection(
        size, size, np.zeros(len(size)), units="xy", offsets=discs.center, offset_transform=axes.transData
    )
    shapes.set(facecolors=_rgba(discs.fill, discs.alpha), **_outline(discs.edge, discs.edge_width, len(size), raster))
    axes.add_collection(shapes, autolim=False)


def _polygons(axes: Axes, polygons: Polygons, scale: float, raster: int) -> None:
    ptr, corner = polygons.ptr, polygons.corner
    corners = [corner[ptr[i] : ptr[i + 1]] for i in range(len(ptr) - 1)]
    if polygons.edge_width > 0.0:
        corners = [inset(c, 0.5 * polygons.edge_width / scale) for c in corners]
    shapes = PolyCollection(corners, closed=True)
    shapes.set(facecolors=_rgba(polygons.fill, polygons.alpha), joinstyle="miter")
    shapes.set(**_outline(polygons.edge, polygons.edge_width, len(corners), raster))
    axes.add_collection(shapes, autolim=False)


def _hole(axes: Axes, hole: Hole) -> None:
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    sheet = Outline(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]]), closed=True)
    circle = Outline.circle((float(hole.center[0]), float(hole.center[1])), hole.radius)
    points = np.asarray(circle.vertices)
    # The circle has the opposite orientation, so that every fill rule cuts it out. Its last vertex only closes it.
    if (x1 - x0) * (y1 - y0) > 0.0:
        circle = Outline(np.concatenate([points[-2::-1], points[-1:]]), circle.codes)
    outline = Outline.make_compound_path(sheet, circle)
    axes.add_patch(PathPatch(outline, facecolor=_unit(hole.fill), linewidth=0.0))


def _outline(edge: RGB, width: float, count: int, raster: int) -> dict[str, Any]:
    look: dict[str, Any] = {"linewidths": width, "rasterized": count > raster}
    return look | {"edgecolors": _unit(edge) if width > 0.0 else "none"}


def _unit(color: RGB) -> tuple[float, float, float]:
    return color[0] / 255.0, color[1] / 255.0, color[2] / 255.0


def _rgba(colors: Bytes, alpha: Floats | float) -> NDArray[np.float64]:
    out = np.ones((len(colors), 4))
    out[:, :3] = np.asarray(colors) / 255.0
    out[:, 3] = alpha
    return out
