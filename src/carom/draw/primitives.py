"""Primitives: what every back end draws.

Worlds become lists of these arrays once (`world2d` in 2D; the ray caster delivers an `Image` in 3D). A list holds the
lowest primitive first. Points are (x, y), either in the world's lengths with y upward, or after `mapped` in pixels of a
page with y downward. Widths of lines are always in pixels. Colors are sRGB bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .colors import Bytes, Floats

if TYPE_CHECKING:
    from .framing import Window

RGB = tuple[int, int, int]
WHITE: RGB = (255, 255, 255)


@dataclass(frozen=True, eq=False)
class Discs:
    """Filled circles with an outline of `edge_width` inside their rim."""

    center: Floats  # (n, 2)
    radius: Floats  # (n,)
    fill: Bytes  # (n, 3)
    edge: RGB = WHITE
    edge_width: float = 0.0
    alpha: float = 1.0


@dataclass(frozen=True, eq=False)
class Polygons:
    """Filled convex polygons of either orientation with an outline of `edge_width` inside their rim."""

    ptr: NDArray[np.int64]  # (n + 1,) polygon i has corners ptr[i]:ptr[i+1]
    corner: Floats  # (k, 2)
    fill: Bytes  # (n, 3)
    edge: RGB = WHITE
    edge_width: float = 0.0
    alpha: Floats | float = 1.0  # one for all, or (n,)


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines with flat ends."""

    start: Floats  # (n, 2)
    end: Floats  # (n, 2)
    color: Bytes  # (n, 3)
    width: float = 1.0
    alpha: Floats | float = 1.0  # one for all, or (n,)


@dataclass(frozen=True, eq=False)
class Rings:
    """Circles drawn as lines; the radius is that of the middle of the line."""

    center: Floats  # (n, 2)
    radius: Floats  # (n,)
    color: RGB
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class Hole:
    """The region outside a circle."""

    center: Floats  # (2,)
    radius: float
    fill: RGB


@dataclass(frozen=True)
class Text:
    """One line of text on a page, in pixels. `anchor` is left, center or right of `x`; `y` is the base line."""

    x: float
    y: float
    text: str
    size: float
    color: RGB
    anchor: str = "left"
    bold: bool = False


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels of a page, from the left edge and row `top` on."""

    pixels: Bytes  # (rows, columns, 3)
    top: int = 0


Shape = Discs | Polygons | Lines | Rings | Hole
Primitive = Shape | Text | Image


@dataclass
class Page:
    """A page of `width` x `height` pixels and its primitives, in pixels, the lowest first."""

    width: int
    height: int
    primitives: list[Primitive] = field(default_factory=list)

    def add(self, *primitives: Primitive) -> None:
        self.primitives += primitives


def mapped(shape: Shape, window: Window) -> Shape:
    """A shape in the world's lengths as one in pixels."""
    if isinstance(shape, Discs | Rings):
        return replace(shape, center=window.pixels(shape.center), radius=window.scale * shape.radius)
    if isinstance(shape, Hole):
        return replace(shape, center=window.pixels(shape.center), radius=window.scale * shape.radius)
    if isinstance(shape, Polygons):
        return replace(shape, corner=window.pixels(shape.corner))
    return replace(shape, start=window.pixels(shape.start), end=window.pixels(shape.end))


def repeated(color: RGB, count: int) -> Bytes:
    """One color as (count, 3)."""
    return np.broadcast_to(np.array(color, np.uint8), (count, 3))


def quads(corners: Floats, fill: Bytes, alpha: Floats | float = 1.0) -> Polygons:
    """Polygons of four corners, (n, 4, 2)."""
    return Polygons(np.arange(0, 4 * len(corners) + 1, 4), corners.reshape(-1, 2), fill, alpha=alpha)


def thick(lines: Lines) -> Polygons:
    """Lines in pixels as the rectangles that they cover; lines of length zero are dropped."""
    along = lines.end - lines.start
    length = np.hypot(along[:, 0], along[:, 1])
    keep = length > 0.0
    start, end = lines.start[keep], lines.end[keep]
    unit = along[keep] / length[keep, None]
    side = 0.5 * lines.width * np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    alpha = lines.alpha if isinstance(lines.alpha, float) else lines.alpha[keep]
    return quads(np.stack([start - side, end - side, end + side, start + side], axis=1), lines.color[keep], alpha)


def clipped(corners: Floats, point: Floats, normal: Floats) -> Floats:
    """The part of a convex polygon (k, D) on the side of a plane to which `normal` points; it may be empty."""
    apart = (corners - point) @ normal
    out = []
    for k in range(len(corners)):
        a, b = apart[k - 1], apart[k]
        if (a >= 0.0) != (b >= 0.0):
            out.append(corners[k - 1] + a / (a - b) * (corners[k] - corners[k - 1]))
        if b >= 0.0:
            out.append(corners[k])
    return np.array(out, dtype=np.float64).reshape(-1, corners.shape[1])


def inset(corners: Floats, by: float) -> Floats:
    """A convex polygon (k, 2) with all sides moved inward by a length; unchanged where it is too thin."""
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
