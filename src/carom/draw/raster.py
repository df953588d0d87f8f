"""The 2D raster painter: from a page of primitives to pixels with smooth edges.

A pixel takes the color of a shape in proportion to the area that the shape covers. The area is summed over LINES
horizontal lines through the pixel, and is exact along each of them. The outline and the interior of a shape are blended
together, so that no background shows between them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from .colors import Bytes, Floats
from .primitives import RGB, Discs, Hole, Image, Lines, Page, Polygons, Primitive, Rings, Text, repeated, thick

Row = NDArray[np.float32]
LINES = 8  # horizontal lines per pixel


def painted(page: Page) -> Bytes:
    """The page as (height, width, 3) sRGB bytes, on white."""
    image = np.full((page.height, page.width, 3), 255, np.uint8)
    for primitive in page.primitives:
        _paint(image, primitive)
    return image


def _paint(image: Bytes, shape: Primitive) -> None:
    if isinstance(shape, Lines):
        shape = thick(shape)
    if isinstance(shape, Discs):
        center, radius = _floats(shape.center), _floats(shape.radius)
        _discs(image, center, radius, _bytes(shape.fill), _rgb(shape.edge), shape.edge_width, shape.alpha, False)
    elif isinstance(shape, Polygons):
        alpha = np.broadcast_to(np.asarray(shape.alpha, dtype=np.float64), (len(shape.ptr) - 1,)).copy()
        ptr, corner = np.ascontiguousarray(shape.ptr, dtype=np.int64), _floats(shape.corner)
        _polygons(image, ptr, corner, _bytes(shape.fill), _rgb(shape.edge), shape.edge_width, alpha)
    elif isinstance(shape, Rings):
        center, radius = _floats(shape.center), _floats(shape.radius + 0.5 * shape.width)
        fill, edge = _bytes(repeated(shape.color, len(radius))), _rgb(shape.color)
        _discs(image, center, radius, fill, edge, shape.width, 1.0, True)
    elif isinstance(shape, Hole):
        _hole(image, float(shape.center[0]), float(shape.center[1]), shape.radius, _rgb(shape.fill))
    elif isinstance(shape, Image):
        rows, columns = shape.pixels.shape[:2]
        image[shape.top : shape.top + rows, :columns] = shape.pixels[: image.shape[0] - shape.top, : image.shape[1]]
    else:
        _write(image, shape)


def _floats(array: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, dtype=np.float64)


def _bytes(array: Any) -> Bytes:
    return np.ascontiguousarray(array, dtype=np.uint8)


def _rgb(color: RGB) -> Bytes:
    return np.array(color, np.uint8)


# ---- kernels


class Paint(NamedTuple):
    """Colors of outline and interior, and opacity."""

    edge: Bytes
    fill: Bytes
    alpha: float


@kernel
def _span(row: Row, offset: int, first: float, last: float, amount: float) -> None:
    """Adds `amount` times the part of each pixel that lies between x = first and x = last; row[0] is pixel `offset`."""
    first, last = max(first - offset, 0.0), min(last - offset, float(len(row)))
    if first >= last:
        return
    i, j = int(first), min(int(last), len(row) - 1)
    if i == j:
        row[i] += amount * (last - first)
        return
    row[i] += amount * (i + 1 - first)
    for k in range(i + 1, j):
        row[k] += amount
    row[j] += amount * (last - j)


@kernel
def _blend(image: Bytes, i: int, x0: int, x1: int, outer: Row, inner: Row, paint: Paint) -> None:
    """Blends pixels x0..x1-1 of row i: `outer` is the coverage of the shape, `inner` that of its interior."""
    edge, fill, alpha = paint
    for j in range(x0, x1):
        whole = min(outer[j - x0], 1.0)
        if whole <= 0.0:
            continue
        within = min(inner[j - x0], whole)
        whole, within = alpha * whole, alpha * within
        for k in range(3):
            value = (1.0 - whole) * image[i, j, k] + (whole - within) * edge[k] + within * fill[k]
            image[i, j, k] = np.uint8(min(value + 0.5, 255.0))


@kernel
def _chord(cx: float, cy: float, r: float, y: float) -> tuple[float, float]:
    """The interval in which the line at height y lies inside a circle; empty (1, 0) if it does not."""
    square = r * r - (y - cy) * (y - cy)
    if r <= 0.0 or square <= 0.0:
        return 1.0, 0.0
    half = np.sqrt(square)
    return cx - half, cx + half


@kernel
def _discs(
    image: Bytes,
    center: Floats,
    radius: Floats,
    fill: Bytes,
    edge: Bytes,
    edge_width: float,
    alpha: float,
    hollow: bool,
) -> None:
    """Paints circles (n, 2), (n,) with colors (n, 3) and an outline inside their rim, alone if `hollow`."""
    rows, columns = image.shape[:2]
    outer, inner = np.empty(columns, np.float32), np.empty(columns, np.float32)
    for p in range(len(radius)):
        cx, cy, r = center[p, 0], center[p, 1], radius[p]
        if not (cx + r > 0.0 and cy + r > 0.0 and cx - r < columns and cy - r < rows):
            continue
        x0, x1 = max(0, int(np.floor(cx - r))), min(columns, int(np.ceil(cx + r)))
        for i in range(max(0, int(np.floor(cy - r))), min(rows, int(np.ceil(cy + r)))):
            outer[: x1 - x0] = 0.0
            inner[: x1 - x0] = 0.0
            for s in range(LINES):
                y = i + (s + 0.5) / LINES
                a, b = _chord(cx, cy, r, y)
                _span(outer[: x1 - x0], x0, a, b, 1.0 / LINES)
                if edge_width > 0.0:
                    a, b = _chord(cx, cy, r - edge_width, y)
                if hollow:
                    _span(outer[: x1 - x0], x0, a, b, -1.0 / LINES)
                else:
                    _span(inner[: x1 - x0], x0, a, b, 1.0 / LINES)
            _blend(image, i, x0, x1, outer, inner, Paint(edge, fill[p], alpha))


@kernel
def _hole(image: Bytes, cx: float, cy: float, r: float, color: Bytes) -> None:
    """Paints everything outside a circle."""
    rows, columns = image.shape[:2]
    outer, inner = np.empty(columns, np.float32), np.zeros(columns, np.float32)
    for i in range(rows):
        outer[:] = 1.0
        for s in range(LINES):
            a, b = _chord(cx, cy, r, i + (s + 0.5) / LINES)
            _span(outer, 0, a, b, -1.0 / LINES)
        _blend(image, i, 0, columns, outer, inner, Paint(color, color, 1.0))


@kernel
def _across(nx: Floats, ny: Floats, c: Floats, count: int, inset: float, at: float) -> tuple[float, float]:
    """The interval in which the line at height `at` lies inside the polygon n . x <= c - inset."""
    first, last = -1e30, 1e30
    for e in range(count):
        room = c[e] - inset - ny[e] * at
        if nx[e] > 1e-12:
            last = min(last, room / nx[e])
        elif nx[e] < -1e-12:
            first = max(first, room / nx[e])
        elif room < 0.0:
            return 1.0, 0.0
    return first, last


@kernel
def _sides(corner: Floats, nx: Floats, ny: Floats, c: Floats) -> int:
    """Writes outward unit normals and offsets of the sides of a convex polygon; returns their number."""
    n = len(corner)
    area = 0.0
    for k in range(n):
        q = (k + 1) % n
        area += corner[k, 0] * corner[q, 1] - corner[q, 0] * corner[k, 1]
    sign = 1.0 if area >= 0.0 else -1.0
    count = 0
    for k in range(n):
        q = (k + 1) % n
        ex, ey = corner[q, 0] - corner[k, 0], corner[q, 1] - corner[k, 1]
        length = np.sqrt(ex * ex + ey * ey)
        if length > 0.0:
            nx[count], ny[count] = sign * ey / length, -sign * ex / length
            c[count] = nx[count] * corner[k, 0] + ny[count] * corner[k, 1]
            count += 1
    return count


@kernel
def _polygons(
    image: Bytes,
    ptr: NDArray[np.int64],
    corner: Floats,
    fill: Bytes,
    edge: Bytes,
    edge_width: float,
    alpha: Floats,
) -> None:
    """Paints convex polygons with colors (n, 3), an outline inside their rim, and alpha (n,)."""
    rows, columns = image.shape[:2]
    outer, inner = np.empty(columns, np.float32), np.empty(columns, np.float32)
    most = 0
    for p in range(len(ptr) - 1):
        most = max(most, ptr[p + 1] - ptr[p])
    nx, ny, c = np.empty(most), np.empty(most), np.empty(most)
    for p in range(len(ptr) - 1):
        own = corner[ptr[p] : ptr[p + 1]]
        left, right, top, bottom = own[:, 0].min(), own[:, 0].max(), own[:, 1].min(), own[:, 1].max()
        if not (right > 0.0 and bottom > 0.0 and left < columns and top < rows):
            continue
        count = _sides(own, nx, ny, c)
        x0, x1 = int(np.floor(max(0.0, left))), int(np.ceil(min(columns, right)))
        for i in range(int(np.floor(max(0.0, top))), int(np.ceil(min(rows, bottom)))):
            outer[: x1 - x0] = 0.0
            inner[: x1 - x0] = 0.0
            for s in range(LINES):
                y = i + (s + 0.5) / LINES
                if y < top or y > bottom:
                    continue
                a, b = _across(nx, ny, c, count, 0.0, y)
                _span(outer[: x1 - x0], x0, a, b, 1.0 / LINES)
                if edge_width > 0.0:
                    a, b = _across(nx, ny, c, count, edge_width, y)
                _span(inner[: x1 - x0], x0, a, b, 1.0 / LINES)
            _blend(image, i, x0, x1, outer, inner, Paint(edge, fill[p], alpha[p]))


# ---- text


@lru_cache(maxsize=8)
def font(size: float, bold: bool) -> Any:
    """The font of all figures. It comes with Matplotlib, so that pictures look the same on every machine."""
    import matplotlib
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}", size)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a line of text in pixels."""
    return float(font(size, bold).getlength(text))


@lru_cache(maxsize=256)
def _mask(text: str, size: float, bold: bool) -> tuple[NDArray[np.float32], int]:
    """The coverage of each pixel by the letters, and the number of rows above the base line."""
    from PIL import Image, ImageDraw

    face = font(size, bold)
    above, below = face.getmetrics()
    wide = int(np.ceil(face.getlength(text))) + 4
    canvas = Image.new("L", (wide, above + below + 2), 0)
    ImageDraw.Draw(canvas).text((1, above), text, font=face, fill=255, anchor="ls")
    return np.asarray(canvas, dtype=np.float32) / 255.0, above


def _write(image: Bytes, text: Text) -> None:
    if not text.text:
        return
    wide = text_width(text.text, text.size, text.bold)
    x = text.x - {"left": 0.0, "center": 0.5, "right": 1.0}[text.anchor] * wide
    # Text is placed at whole pixels: a blurred base line would look worse than an error of half a pixel.
    column, base = round(x), round(text.y)
    mask, above = _mask(text.text, text.size, text.bold)
    top, left = base - above, column - 1
    r0, c0 = max(0, -top), max(0, -left)
    r1, c1 = min(mask.shape[0], image.shape[0] - top), min(mask.shape[1], image.shape[1] - left)
    if r0 >= r1 or c0 >= c1:
        return
    part = image[top + r0 : top + r1, left + c0 : left + c1]
    amount = mask[r0:r1, c0:c1, None]
    part[:] = np.round(part + amount * (np.array(text.color, np.float32) - part)).astype(np.uint8)
