"""Shading: from the visible faces to colors. Colors are linear in light until the last step converts them to sRGB."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel, lean
from ...solvers.rows import Floats
from ..camera import Rays
from .light import Lattice, Lights, empty, light, measure, note, point
from .visible import Buffers

Image = NDArray[np.float32]
SMOOTH = 0.98  # cosine of the angle between normals above which there is no line between faces: 11 degrees
GLASS = 0.26  # opacity of a body that encloses others
FACES = 1 << 20  # larger than the number of faces of any part: part * FACES + face identifies a surface
OUTLINE, CREASE = 0.22, 0.5  # relative brightness of outlines of bodies, and of edges between their faces


@kernel
def bodies(
    rays: Rays, smooth: int, seen: Buffers, body: NDArray[np.int64], color: Floats, lights: Lights, image: Image
) -> None:
    """Paints the bodies in colors (n, 3). The `smooth` x `smooth` rays of a pixel share the light on one face."""
    lattice = empty(rays, smooth)
    _measure(rays, lattice, seen, lights)
    known = np.empty((rays.rows, rays.columns), np.float32)
    _paint(rays, smooth, seen, Paint(body, color, known), lights, lattice, image)


class Paint(NamedTuple):
    """Colors (n, 3) of bodies, the bodies (p,) of parts, and the light that each ray has found, an array to work in."""

    body: NDArray[np.int64]
    color: Floats
    known: Image


@lean
def _paint(
    rays: Rays, smooth: int, seen: Buffers, paint: Paint, lights: Lights, lattice: Lattice, image: Image
) -> None:
    body, color, known = paint
    for i in range(rays.rows):
        for j in range(rays.columns):
            p = seen.part[i, j]
            if p < 0:
                continue
            # Light varies slowly: the light that the first ray of the pixel found on this face is used again.
            r, c = i - i % smooth, j - j % smooth
            amount = -1.0
            for q in range((i - r) * smooth + j - c):
                u, v = r + q // smooth, c + q % smooth
                if seen.part[u, v] == p and seen.face[u, v] == seen.face[i, j]:
                    amount = known[u, v]
                    break
            if amount < 0.0:
                x, y, z = point(rays, i, j, seen.depth[i, j])
                n = (seen.normal[i, j, 0], seen.normal[i, j, 1], seen.normal[i, j, 2])
                amount = light(lattice, i, j, p * FACES + seen.face[i, j], lights, (x, y, z), n)
            known[i, j] = amount
            for k in range(3):
                image[i, j, k] = color[body[p], k] * amount


@lean
def _measure(rays: Rays, lattice: Lattice, seen: Buffers, lights: Lights) -> None:
    """Measures the light on the faces of bodies."""
    for r in range(lattice.surface.shape[0]):
        i = min(r * lattice.step, rays.rows - 1)
        for c in range(lattice.surface.shape[1]):
            j = min(c * lattice.step, rays.columns - 1)
            p = seen.part[i, j]
            if p >= 0:
                x, y, z = point(rays, i, j, seen.depth[i, j])
                n = (seen.normal[i, j, 0], seen.normal[i, j, 1], seen.normal[i, j, 2])
                note(lattice, r, c, p * FACES + seen.face[i, j], x, y, z, n)
    measure(lattice, lights)


@lean
def outlines(seen: Buffers, body: NDArray[np.int64], radius: Floats, weight: Floats, image: Image) -> None:
    """Darkens the nearer side of every border: strongly between bodies, lightly between faces of one body.

    A step in depth of a fifth of its radius counts as a border: there a body hides a part of itself.
    """
    rows, columns = seen.part.shape
    for i in range(rows):
        for j in range(columns):
            p = seen.part[i, j]
            if p < 0:
                continue
            factor = 1.0
            for side in range(4):
                r = i + (1 if side == 0 else (-1 if side == 1 else 0))
                c = j + (1 if side == 2 else (-1 if side == 3 else 0))
                if r < 0 or c < 0 or r >= rows or c >= columns:
                    continue
                q = seen.part[r, c]
                if q < 0 or body[q] != body[p]:
                    if q < 0 or seen.depth[i, j] <= seen.depth[r, c]:
                        factor = min(factor, OUTLINE)
                elif seen.depth[r, c] - seen.depth[i, j] > 0.2 * radius[body[p]]:
                    factor = min(factor, OUTLINE)
                elif (q != p or seen.face[i, j] != seen.face[r, c]) and (side == 0 or side == 2):
                    n, m = seen.normal[i, j], seen.normal[r, c]
                    if n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < SMOOTH:
                        factor = min(factor, CREASE)
            if factor < 1.0:
                w = weight[body[p]]
                for k in range(3):
                    image[i, j, k] *= 1.0 - w * (1.0 - factor)


@lean
def glass(before: Buffers, behind: Buffers, layer: Image, image: Image) -> None:
    """Blends a picture of glass bodies over the image: faces with low opacity, their dark edges with more."""
    rows, columns = before.part.shape
    for i in range(rows):
        for j in range(columns):
            if before.part[i, j] < 0 or before.depth[i, j] >= behind.depth[i, j]:
                continue
            edge = 0.0
            for r, c in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= r < rows and 0 <= c < columns:
                    n, m = before.normal[i, j], before.normal[r, c]
                    if before.part[r, c] < 0 or n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < SMOOTH:
                        edge = 0.5
            alpha = GLASS + edge
            for k in range(3):
                image[i, j, k] = (1.0 - alpha) * image[i, j, k] + alpha * layer[i, j, k]


def line(image: Image, depth: NDArray[np.float32], rays: Rays, points: Floats, dark: float, width: int) -> None:
    """Draws a line (k, 3) where no body hides it."""
    arm = points - rays.eye
    z = arm @ rays.forward
    if not (z > 0.0).all():
        return
    column = 0.5 * rays.columns + arm @ rays.right / z * rays.scale
    row = 0.5 * rays.rows - arm @ rays.up / z * rays.scale
    _line(image, depth, np.stack([row, column, 1.0 / z], axis=1), dark, width)


@lean
def _line(image: Image, depth: NDArray[np.float32], points: Floats, dark: float, width: int) -> None:
    rows, columns = depth.shape
    for p in range(len(points) - 1):
        r0, c0, w0 = points[p, 0], points[p, 1], points[p, 2]
        dr, dc, dw = points[p + 1, 0] - r0, points[p + 1, 1] - c0, points[p + 1, 2] - w0
        steps = int(min(max(abs(dr), abs(dc)), 20000.0)) + 1
        steep = abs(dr) > abs(dc)
        for s in range(steps):
            u = s / steps
            inverse = w0 + u * dw  # 1 / depth is linear along a line in the picture
            for off in range(width):
                i = int(np.floor(r0 + u * dr + (0 if steep else off - 0.5 * (width - 1))))
                j = int(np.floor(c0 + u * dc + (off - 0.5 * (width - 1) if steep else 0)))
                if 0 <= i < rows and 0 <= j < columns and depth[i, j] * inverse >= 0.9999:
                    for k in range(3):
                        image[i, j, k] = min(image[i, j, k], dark)


def weights(radius: Floats, rays: Rays, place: Floats) -> Floats:
    """The strength of the outline of each body, (n,): bodies of a few pixels have none."""
    z = np.maximum((place - rays.eye) @ rays.forward, 1e-9)
    return np.clip((radius / z * rays.scale - 4.0) / 16.0, 0.0, 1.0)


LEVELS = 4096  # of the table from linear light to sRGB
_LIGHT = np.arange(LEVELS + 1) / LEVELS
_SRGB = np.round(255.0 * np.where(_LIGHT <= 0.0031308, 12.92 * _LIGHT, 1.055 * _LIGHT ** (1.0 / 2.4) - 0.055)).astype(
    np.uint8
)


def averaged(image: Image, smooth: int) -> NDArray[np.uint8]:
    """Pixels (rows, columns, 3) in sRGB: the means of the light of their rays."""
    return np.asarray(_averaged(image, smooth, _SRGB))


@kernel
def _averaged(image: Image, smooth: int, srgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows, columns = image.shape[0] // smooth, image.shape[1] // smooth
    out = np.empty((rows, columns, 3), np.uint8)
    share = 1.0 / (smooth * smooth)
    for i in range(rows):
        for j in range(columns):
            for k in range(3):
                total = 0.0
                for u in range(smooth):
                    for v in range(smooth):
                        total += image[i * smooth + u, j * smooth + v, k]
                light = min(max(total * share, 0.0), 1.0)
                out[i, j, k] = srgb[int(LEVELS * light + 0.5)]
    return out
