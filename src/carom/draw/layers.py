"""What a page shows, as arrays of shapes: one list, which the raster painter and the vector writer both draw.

Places are (x, y) in pixels of the page, y downward. Colors are sRGB bytes. Widths of lines are in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .colors import Bytes, Floats

RGB = tuple[int, int, int]
WHITE: RGB = (255, 255, 255)


@dataclass(frozen=True, eq=False)
class Discs:
    """Filled circles, with a line of `edge_width` inside their rim."""

    center: Floats  # (n, 2)
    radius: Floats  # (n,)
    fill: Bytes  # (n, 3)
    edge: RGB = WHITE
    edge_width: float = 0.0
    alpha: float = 1.0


@dataclass(frozen=True, eq=False)
class Polygons:
    """Filled convex polygons, corners in order either way round, with a line of `edge_width` inside their rim."""

    ptr: NDArray[np.int64]  # (n + 1,) polygon i has corners ptr[i]:ptr[i+1]
    corner: Floats  # (k, 2)
    fill: Bytes  # (n, 3)
    edge: RGB = WHITE
    edge_width: float = 0.0
    alpha: Floats | float = 1.0  # one for all, or (n,)


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines."""

    start: Floats  # (n, 2)
    end: Floats  # (n, 2)
    color: Bytes  # (n, 3)
    width: float = 1.0
    alpha: Floats | float = 1.0  # one for all, or (n,)


@dataclass(frozen=True, eq=False)
class Rings:
    """Circles as lines; the radius is that of the line's middle."""

    center: Floats  # (n, 2)
    radius: Floats  # (n,)
    color: RGB
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class Hole:
    """Everything outside a circle."""

    center: Floats  # (2,)
    radius: float
    fill: RGB


@dataclass(frozen=True)
class Text:
    """A line of text. `anchor`: left, center or right of `x`; `y` is its base line. `size` in pixels."""

    x: float
    y: float
    text: str
    size: float
    color: RGB
    anchor: str = "left"
    bold: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels, painted as they are, from the left edge and row `top` on."""

    pixels: Bytes  # (rows, columns, 3)
    top: int = 0


Layer = Discs | Polygons | Lines | Rings | Hole | Text | Picture


@dataclass
class Page:
    """A page and what lies on it, the lowest first."""

    width: int
    height: int
    layers: list[Layer] = field(default_factory=list)

    def add(self, *layers: Layer) -> None:
        self.layers += layers


def repeated(color: RGB, count: int) -> Bytes:
    """(count, 3)"""
    return np.broadcast_to(np.array(color, np.uint8), (count, 3))


def quads(corners: Floats, fill: Bytes, alpha: Floats | float = 1.0) -> Polygons:
    """Polygons of four corners, (n, 4, 2)."""
    return Polygons(np.arange(0, 4 * len(corners) + 1, 4), corners.reshape(-1, 2), fill, alpha=alpha)


def thick(lines: Lines) -> Polygons:
    """Lines as the rectangles that they cover, without their ends rounded."""
    along = lines.end - lines.start
    length = np.hypot(along[:, 0], along[:, 1])
    keep = length > 0.0
    start, end = lines.start[keep], lines.end[keep]
    unit = along[keep] / length[keep, None]
    side = 0.5 * lines.width * np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    alpha = lines.alpha if isinstance(lines.alpha, float) else lines.alpha[keep]
    return quads(np.stack([start - side, end - side, end + side, start + side], axis=1), lines.color[keep], alpha)


def clipped(corners: Floats, point: Floats, normal: Floats) -> Floats:
    """The part of a convex polygon (k, 2) that lies on the side of a line to which the normal points; may be empty."""
    apart = (corners - point) @ normal
    out = []
    for k in range(len(corners)):
        a, b = apart[k - 1], apart[k]
        if (a >= 0.0) != (b >= 0.0):
            out.append(corners[k - 1] + a / (a - b) * (corners[k] - corners[k - 1]))
        if b >= 0.0:
            out.append(corners[k])
    return np.array(out, dtype=np.float64).reshape(-1, 2)
