"""From a page to SVG and PDF: every shape stays a shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .colors import Bytes, Floats
from .layers import RGB, Discs, Hole, Layer, Lines, Page, Picture, Polygons, Rings, Text

RASTER = 20_000  # shapes of one layer from which it is stored as an image: viewers choke on more


def write(page: Page, path: Path, kind: str) -> None:
    """Writes the page as `svg` or `pdf`; a pixel becomes a point."""
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "svg.hashsalt": "carom",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(page.width / 72.0, page.height / 72.0), dpi=72.0)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, page.width), ylim=(page.height, 0.0))
        axes.set_axis_off()
        for layer in page.layers:
            _draw(axes, layer, page)
        meta: dict[str, Any] = {"Date": None} if kind == "svg" else {"CreationDate": None}
        figure.savefig(path, format=kind, dpi=200.0, metadata=meta)


def _draw(axes: Any, layer: Layer, page: Page) -> None:
    if isinstance(layer, Text):
        _text(axes, layer)
    elif isinstance(layer, Discs):
        _discs(axes, layer)
    elif isinstance(layer, Polygons):
        _polygons(axes, layer)
    elif isinstance(layer, Lines):
        _lines(axes, layer)
    elif isinstance(layer, Rings):
        _rings(axes, layer)
    elif isinstance(layer, Picture):
        rows, columns = layer.pixels.shape[:2]
        box = (0.0, float(columns), float(layer.top + rows), float(layer.top))
        axes.imshow(layer.pixels, extent=box, interpolation="none", aspect="auto")
        axes.set(xlim=(0.0, page.width), ylim=(page.height, 0.0))
    else:
        _hole(axes, layer, page)


def _text(axes: Any, text: Text) -> None:
    align = {"left": "left", "center": "center", "right": "right"}[text.anchor]
    weight = "bold" if text.bold else "normal"
    look = {"color": _unit(text.color), "fontsize": text.size, "weight": weight, "ha": align, "va": "baseline"}
    axes.text(text.x, text.y, text.text.replace("$", r"\$"), **look)


def _discs(axes: Any, discs: Discs) -> None:
    from matplotlib.collections import EllipseCollection

    size = 2.0 * np.maximum(discs.radius - 0.5 * discs.edge_width, 0.0)
    look = _look(discs.edge, discs.edge_width, len(size))
    fill = _rgba(discs.fill, discs.alpha)
    shapes = EllipseCollection(
        size, size, np.zeros(len(size)), units="xy", offsets=discs.center, offset_transform=axes.transData
    )
    shapes.set(facecolors=fill, **look)
    axes.add_collection(shapes, autolim=False)


def _polygons(axes: Any, polygons: Polygons) -> None:
    from matplotlib.collections import PolyCollection

    ptr, corner = polygons.ptr, polygons.corner
    corners = [corner[ptr[i] : ptr[i + 1]] for i in range(len(ptr) - 1)]
    if polygons.edge_width > 0.0:
        corners = [inset(c, 0.5 * polygons.edge_width) for c in corners]
    shapes = PolyCollection(corners, closed=True)
    shapes.set(facecolors=_rgba(polygons.fill, polygons.alpha), joinstyle="miter")
    shapes.set(**_look(polygons.edge, polygons.edge_width, len(corners)))
    axes.add_collection(shapes, autolim=False)


def _lines(axes: Any, lines: Lines) -> None:
    from matplotlib.collections import LineCollection

    pieces = np.stack([lines.start, lines.end], axis=1)
    shapes = LineCollection(list(pieces), colors=_rgba(lines.color, lines.alpha), linewidths=lines.width)
    shapes.set(capstyle="butt", rasterized=len(pieces) > RASTER)
    axes.add_collection(shapes, autolim=False)


def _rings(axes: Any, rings: Rings) -> None:
    from matplotlib.patches import Circle

    for center, radius in zip(rings.center, rings.radius):
        ring = Circle(tuple(center), float(radius), fill=False, edgecolor=_unit(rings.color), linewidth=rings.width)
        axes.add_patch(ring)


def _hole(axes: Any, hole: Hole, page: Page) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    w, h = float(page.width), float(page.height)
    sheet = Outline(np.array([[0.0, 0.0], [w, 0.0], [w, h], [0.0, h], [0.0, 0.0]]), closed=True)
    circle = Outline.circle((float(hole.center[0]), float(hole.center[1])), hole.radius)
    # The circle runs the other way round: then it is cut out, by every rule of filling. Its last row only closes it.
    round_ = np.asarray(circle.vertices)
    away = Outline(np.concatenate([round_[-2::-1], round_[-1:]]), circle.codes)
    outline = Outline.make_compound_path(sheet, away)
    axes.add_patch(PathPatch(outline, facecolor=_unit(hole.fill), linewidth=0.0))


def inset(corners: Floats, by: float) -> Floats:
    """A convex polygon (k, 2) with all sides moved inward; where it is too thin, the polygon itself."""
    along = np.roll(corners, -1, axis=0) - corners
    length = np.hypot(along[:, 0], along[:, 1])
    before, after = corners, np.roll(corners, -1, axis=0)
    sign = 1.0 if float((before[:, 0] * after[:, 1] - after[:, 0] * before[:, 1]).sum()) >= 0.0 else -1.0
    if not length.min(initial=np.inf) > 0.0:
        return corners
    normal = sign * np.stack([along[:, 1], -along[:, 0]], axis=1) / length[:, None]  # outward
    offset = (normal * corners).sum(axis=1) - by
    n0, n1 = np.roll(normal, 1, axis=0), normal
    c0, c1 = np.roll(offset, 1), offset
    det = n0[:, 0] * n1[:, 1] - n0[:, 1] * n1[:, 0]
    if not np.abs(det).min() > 1e-9:
        return corners
    out = np.stack([c0 * n1[:, 1] - c1 * n0[:, 1], n0[:, 0] * c1 - n1[:, 0] * c0], axis=1) / det[:, None]
    inside = (out @ normal.T <= offset + 1e-6).all()
    return out if inside else corners


def _look(edge: RGB, width: float, count: int) -> dict[str, Any]:
    look: dict[str, Any] = {"linewidths": width, "rasterized": count > RASTER}
    return look | {"edgecolors": _unit(edge) if width > 0.0 else "none"}


def _unit(color: RGB) -> tuple[float, float, float]:
    return color[0] / 255.0, color[1] / 255.0, color[2] / 255.0


def _rgba(colors: Bytes, alpha: Floats | float) -> NDArray[np.float64]:
    out = np.ones((len(colors), 4))
    out[:, :3] = np.asarray(colors) / 255.0
    out[:, 3] = alpha
    return out
