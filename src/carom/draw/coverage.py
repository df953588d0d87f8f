"""Kernels that paint convex shapes with smooth edges.

A pixel gets a shape's color by the part of it that the shape covers. That part is summed over eight lines through the
pixel, and along each of them it is exact. Rim and inside of a shape are blended at once, so that no background shines
through between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from .colors import Bytes, Floats

Row = NDArray[np.float32]
LINES = 8  # through each pixel


@kernel
def _span(row: Row, offset: int, first: float, last: float, amount: float) -> None:
    """Adds `amount` times the covered part of each pixel between x = first and x = last; row[0] is pixel `offset`."""
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
def _blend(
    image: Bytes, i: int, x0: int, x1: int, outer: Row, inner: Row, edge: Bytes, fill: Bytes, alpha: float
) -> None:
    """Row i, pixels x0..x1-1: `outer` is what the shape covers, `inner` what lies within its rim."""
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
    """Where the line at height y enters and leaves a circle."""
    square = r * r - (y - cy) * (y - cy)
    if r <= 0.0 or square <= 0.0:
        return 1.0, 0.0
    half = np.sqrt(square)
    return cx - half, cx + half


@kernel
def discs(
    image: Bytes, center: Floats, radius: Floats, fill: Bytes, edge: Bytes, edge_width: float, alpha: float
) -> None:
    """Circles (n, 2), (n,) with colors (n, 3) and a rim inside."""
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
                _span(inner[: x1 - x0], x0, a, b, 1.0 / LINES)
            _blend(image, i, x0, x1, outer, inner, edge, fill[p], alpha)


@kernel
def rings(image: Bytes, center: Floats, radius: Floats, color: Bytes, width: float) -> None:
    """Circles as lines of a width."""
    rows, columns = image.shape[:2]
    outer, inner = np.empty(columns, np.float32), np.zeros(columns, np.float32)
    for p in range(len(radius)):
        cx, cy, r = center[p, 0], center[p, 1], radius[p] + 0.5 * width
        if not (cx + r > 0.0 and cy + r > 0.0 and cx - r < columns and cy - r < rows):
            continue
        x0, x1 = max(0, int(np.floor(cx - r))), min(columns, int(np.ceil(cx + r)))
        for i in range(max(0, int(np.floor(cy - r))), min(rows, int(np.ceil(cy + r)))):
            outer[: x1 - x0] = 0.0
            for s in range(LINES):
                y = i + (s + 0.5) / LINES
                a, b = _chord(cx, cy, r, y)
                _span(outer[: x1 - x0], x0, a, b, 1.0 / LINES)
                a, b = _chord(cx, cy, r - width, y)
                _span(outer[: x1 - x0], x0, a, b, -1.0 / LINES)
            _blend(image, i, x0, x1, outer, inner, color, color, 1.0)


@kernel
def hole(image: Bytes, cx: float, cy: float, r: float, color: Bytes) -> None:
    """Everything outside a circle."""
    rows, columns = image.shape[:2]
    outer, inner = np.empty(columns, np.float32), np.zeros(columns, np.float32)
    for i in range(rows):
        outer[:] = 1.0
        for s in range(LINES):
            a, b = _chord(cx, cy, r, i + (s + 0.5) / LINES)
            _span(outer, 0, a, b, -1.0 / LINES)
        _blend(image, i, 0, columns, outer, inner, color, color, 1.0)


@kernel
def _across(nx: Floats, ny: Floats, c: Floats, count: int, inset: float, at: float) -> tuple[float, float]:
    """Where the line at height `at` enters and leaves the polygon n . x <= c - inset."""
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
    """Outward unit normals of a convex polygon's sides, either way round, and their offsets. Returns how many."""
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
def polygons(
    image: Bytes,
    ptr: NDArray[np.int64],
    corner: Floats,
    fill: Bytes,
    edge: Bytes,
    edge_width: float,
    alpha: Floats,
) -> None:
    """Convex polygons with colors (n, 3), a rim inside, and alpha (n,)."""
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
            _blend(image, i, x0, x1, outer, inner, edge, fill[p], alpha[p])
