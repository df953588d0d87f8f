"""From a page to pixels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import coverage
from .colors import Bytes
from .layers import RGB, Discs, Hole, Layer, Lines, Page, Picture, Polygons, Rings, Text, thick


def painted(page: Page) -> Bytes:
    """(height, width, 3) sRGB bytes, on white."""
    image = np.full((page.height, page.width, 3), 255, np.uint8)
    for layer in page.layers:
        _paint(image, layer)
    return image


def _paint(image: Bytes, layer: Layer) -> None:
    if isinstance(layer, Lines):
        layer = thick(layer)
    if isinstance(layer, Discs):
        center, radius = _floats(layer.center), _floats(layer.radius)
        coverage.discs(image, center, radius, _bytes(layer.fill), _rgb(layer.edge), layer.edge_width, layer.alpha)
    elif isinstance(layer, Polygons):
        alpha = np.broadcast_to(np.asarray(layer.alpha, dtype=np.float64), (len(layer.ptr) - 1,)).copy()
        ptr, corner = np.ascontiguousarray(layer.ptr, dtype=np.int64), _floats(layer.corner)
        coverage.polygons(image, ptr, corner, _bytes(layer.fill), _rgb(layer.edge), layer.edge_width, alpha)
    elif isinstance(layer, Rings):
        coverage.rings(image, _floats(layer.center), _floats(layer.radius), _rgb(layer.color), layer.width)
    elif isinstance(layer, Hole):
        coverage.hole(image, float(layer.center[0]), float(layer.center[1]), layer.radius, _rgb(layer.fill))
    elif isinstance(layer, Picture):
        rows, columns = layer.pixels.shape[:2]
        image[layer.top : layer.top + rows, :columns] = layer.pixels[: image.shape[0] - layer.top, : image.shape[1]]
    else:
        _write(image, layer)


def _floats(array: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, dtype=np.float64)


def _bytes(array: Any) -> Bytes:
    return np.ascontiguousarray(array, dtype=np.uint8)


def _rgb(color: RGB) -> Bytes:
    return np.array(color, np.uint8)


# ---- text


@lru_cache(maxsize=8)
def font(size: float, bold: bool) -> Any:
    """The typeface of all Carom's figures, which comes with Matplotlib: it looks the same on every machine."""
    import matplotlib
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}", size)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels."""
    return float(font(size, bold).getlength(text))


@lru_cache(maxsize=256)
def _mask(text: str, size: float, bold: bool) -> tuple[NDArray[np.float32], int]:
    """How much of each pixel the letters cover, and the rows above the base line."""
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
    # Whole pixels for what stands still beside other text; a blurred base line would be worse than half a pixel off.
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
