"""Light: a lamp of some width and a bright sky, with the shadows of bodies.

A lamp or a patch of sky is a set of directions, each with a depth buffer seen from there (a shadow map): points deeper
than the map are in shadow. Close directions give soft edges; many directions over the sky darken corners.

Light is measured on a lattice of pixels and interpolated between them. The part of the sky is interpolated between four
lattice points on one surface. The part of the lamp is interpolated where it is even, and follows from the normal alone
where nothing hides the lamp; it is measured at every pixel near which its shadow changes. This is several times faster
than measuring at every pixel; the mean difference is a quarter of one level of a byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel, lean
from ...solvers.rows import Floats
from ...world import Shapes3D
from ..camera import Camera, Rays
from .visible import Parts, depths

LAMP, SKY, BOUNCE = 0.55, 0.52, 0.24  # intensities; the ground without shadows gets about 1 from lamp and sky
LAMPS, LAMP_WIDTH, LAMP_MAP = 14, 0.06, 640  # number of directions, radius in radians, largest size of a map in pixels
SKIES, SKY_MAP = 64, 160
GOLDEN = np.pi * (3.0 - np.sqrt(5.0))  # golden angle: successive directions fill a disc evenly
COARSE = 4  # pixels between two lattice points
WORTH = 0.3  # share of the parts that are drawn in each picture above which those at rest are drawn once for all
CHANGE = 0.004  # difference of the lamp light between lattice points above which it is not interpolated
WHOLE = 0.999999  # part of the lamp light from which no body hides it; the rest is rounding of single precision
SHADED, EVEN, OPEN = 0, 1, 2  # cells: shadows change; the lamp light hardly changes; no body hides the lamp
Normal = tuple[float, float, float]
Place = tuple[float, float, float]
Depth = NDArray[np.float32]


class Maps(NamedTuple):
    """Shadow maps of one size, each with the direction to its light."""

    toward: Floats  # (k, 3) unit vectors to the light
    # (k, 3, 4) row, column and depth in the map of a point (x, y, z): the first number plus the scalar product
    affine: Floats
    depth: Depth  # (k, size, size)
    # (k, 4) rows from, rows below, columns from and columns below which a point may be in shadow: around the bodies
    limits: Floats
    center: Floats  # (3,) of the sphere that the maps cover
    radius: float


class Lights(NamedTuple):
    """The lamp and the sky."""

    lamp: Maps
    sky: Maps
    up: Floats
    level: float  # light on the ground without shadows


class Still:
    """Shadow maps of the parts that did not move between two pictures of a film.

    The depth at a pixel is the least of all parts, whatever their order: maps have the same bits with and without it.
    """

    def __init__(self) -> None:
        self._before: Parts | None = None  # of the last picture
        self._layer: tuple[tuple[bytes, ...], NDArray[np.bool_], Parts, list[Depth]] | None = None

    def base(
        self, parts: Parts, key: tuple[bytes, ...], make: Callable[[Parts], list[Depth]]
    ) -> tuple[Parts, list[Depth]]:
        """The parts that have to be drawn, and maps of all others, which `make` draws if there are none."""
        before, self._before = self._before, parts
        rest = np.zeros(len(parts.body), bool) if before is None else _same(before, parts)
        layer = self._layer
        valid = layer is not None and layer[0] == key and self._holds(layer[1], layer[2], parts)
        if layer is None or not valid or (rest & ~layer[1]).sum() > WORTH * (~layer[1]).sum():
            layer = self._layer = key, rest, parts, make(_these(parts, rest))
        return _these(parts, ~layer[1]), [depth.copy() for depth in layer[3]]

    @staticmethod
    def _holds(rest: NDArray[np.bool_], then: Parts, now: Parts) -> bool:
        return len(rest) == len(now.body) and bool(_same(then, now)[rest].all())


def _same(a: Parts, b: Parts) -> NDArray[np.bool_]:
    """(p,) whether parts are at the same places."""
    if len(a.body) != len(b.body):  # another set of bodies is drawn as glass
        return np.zeros(len(b.body), bool)
    found = (a.body == b.body) & (a.place == b.place).all(axis=1) & (a.turn == b.turn).all(axis=(1, 2))
    return np.asarray(found)


def _these(parts: Parts, chosen: NDArray[np.bool_]) -> Parts:
    return Parts(parts.body[chosen], parts.shape[chosen], parts.place[chosen], parts.turn[chosen])


def lights(parts: Parts, shapes: Shapes3D, camera: Camera, up: Floats, rows: int, still: Still | None = None) -> Lights:
    """A lamp above and to the left of the camera, and the sky, for a picture with this number of rows."""
    center, radius = 0.5 * (camera.low + camera.high), 0.5 * float(np.linalg.norm(camera.high - camera.low))
    reach = shapes.reach[parts.shape]
    far = float((np.linalg.norm(parts.place - center, axis=1) + reach).max())
    radius = min(radius, 2.0 ** (0.25 * np.ceil(4.0 * np.log2(far))))  # steps: maps of a film stay comparable
    right, forward = camera.right, camera.forward
    level = forward - (forward @ up) * up
    slant = float(np.linalg.norm(level))
    back = -level / slant if slant > 1e-6 else np.cross(up, right)
    toward = up + 0.42 * back - 0.5 * right
    toward /= np.linalg.norm(toward)
    size = max(200, min(LAMP_MAP, rows))
    kinds = ((_spread(toward, LAMPS, LAMP_WIDTH), size), (_dome(up, SKIES), SKY_MAP))
    key = (center.tobytes(), np.float64(radius).tobytes(), *(directions.tobytes() for directions, _ in kinds))

    covered = Covered(center, radius, np.concatenate([parts.place, reach[:, None]], axis=1))

    def drawn(some: Parts) -> list[Depth]:
        return [_maps(*kind, covered, some, shapes, _no_depth(*kind)).depth for kind in kinds]

    moving, bases = (Still() if still is None else still).base(parts, key, drawn)
    lamp, sky = (_maps(*kind, covered, moving, shapes, base) for kind, base in zip(kinds, bases))
    return Lights(lamp, sky, up, LAMP * float(toward @ up) + SKY)


def _spread(toward: Floats, count: int, width: float) -> Floats:
    """Unit vectors (count, 3) that fill a cone evenly."""
    u, v = _axes(toward)
    k = np.arange(count)
    r, angle = width * np.sqrt((k + 0.5) / count), GOLDEN * k
    out = toward + (r * np.cos(angle))[:, None] * u + (r * np.sin(angle))[:, None] * v
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def _dome(up: Floats, count: int) -> Floats:
    """Unit vectors (count, 3) that fill the upper half-space evenly."""
    u, v = _axes(up)
    height = (np.arange(count) + 0.5) / count
    r, angle = np.sqrt(1.0 - height**2), GOLDEN * np.arange(count)
    return height[:, None] * up + (r * np.cos(angle))[:, None] * u + (r * np.sin(angle))[:, None] * v


def _axes(normal: Floats) -> tuple[Floats, Floats]:
    u = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)


def _no_depth(toward: Floats, size: int) -> Depth:
    return np.full((len(toward), size, size), np.inf, np.float32)


class Covered(NamedTuple):
    """The sphere that maps cover, and the bounding spheres (p, 4) of all parts that they show: center and radius."""

    center: Floats
    radius: float
    parts: Floats


def _maps(toward: Floats, size: int, covered: Covered, parts: Parts, shapes: Shapes3D, depth: Depth) -> Maps:
    """The maps of some directions: `depth` (k, size, size) with these parts added."""
    right, up = (np.array(v) for v in zip(*(_axes(d) for d in toward)))
    center, radius, around = covered
    scale = 0.5 * size / radius
    for k, d in enumerate(toward):
        if len(parts.body):
            rays = Rays(center + 2.0 * radius * d, right[k], up[k], -d, scale, size, size, True)
            depths(rays, parts, shapes, depth[k])
    slopes = np.stack([-scale * up, scale * right, -toward], axis=1)
    start = np.array([0.5 * size - 0.5, 0.5 * size - 0.5, 2.0 * radius]) - slopes @ center
    limits = np.empty((len(toward), 4))
    for axis in (0, 1):
        place = start[:, axis, None] + slopes[:, axis] @ around[:, :3].T
        limits[:, 2 * axis] = np.maximum((place - scale * around[:, 3]).min(axis=1) - 2.0, 0.0)
        limits[:, 2 * axis + 1] = np.minimum((place + scale * around[:, 3]).max(axis=1) + 2.0, size - 1.0)
    return Maps(toward, np.concatenate([start[:, :, None], slopes], axis=2), depth, limits, center, radius)


@lean
def lit(maps: Maps, k: int, x: float, y: float, z: float) -> float:
    """The part of light k that reaches a point, from 0 to 1, interpolated between four pixels of its map."""
    # Scalars are read from the arrays one by one: a view of a row would cost more than everything else.
    a, limits = maps.affine, maps.limits
    row = a[k, 0, 0] + a[k, 0, 1] * x + a[k, 0, 2] * y + a[k, 0, 3] * z
    column = a[k, 1, 0] + a[k, 1, 1] * x + a[k, 1, 2] * y + a[k, 1, 3] * z
    if not (row >= limits[k, 0] and row < limits[k, 1] and column >= limits[k, 2] and column < limits[k, 3]):
        return 1.0
    i, j = int(row), int(column)
    s, t = row - i, column - j
    depth = a[k, 2, 0] + a[k, 2, 1] * x + a[k, 2, 2] * y + a[k, 2, 3] * z
    total = 0.0
    if depth <= maps.depth[k, i, j]:
        total += (1.0 - s) * (1.0 - t)
    if depth <= maps.depth[k, i, j + 1]:
        total += (1.0 - s) * t
    if depth <= maps.depth[k, i + 1, j]:
        total += s * (1.0 - t)
    if depth <= maps.depth[k, i + 1, j + 1]:
        total += s * t
    return total


@lean
def above(maps: Maps) -> float:
    """The distance above a surface at which its light is measured, so that a coarse map does not shade the surface."""
    return 4.4 * maps.radius / maps.depth.shape[1]


@lean
def gathered(maps: Maps, x: float, y: float, z: float, nx: float, ny: float, nz: float) -> float:
    """The mean over the lights of the cosine times the part that reaches a point with unit normal n."""
    count = len(maps.toward)
    off = above(maps)
    px, py, pz = x + off * nx, y + off * ny, z + off * nz
    amount = 0.0
    for k in range(count):
        cosine = maps.toward[k, 0] * nx + maps.toward[k, 1] * ny + maps.toward[k, 2] * nz
        if cosine > 0.0:
            amount += cosine * lit(maps, k, px, py, pz)
    return amount / count


@lean
def unshaded(maps: Maps, nx: float, ny: float, nz: float) -> float:
    """`gathered` where no body hides any of the lights."""
    amount = 0.0
    for k in range(len(maps.toward)):
        amount += max(maps.toward[k, 0] * nx + maps.toward[k, 1] * ny + maps.toward[k, 2] * nz, 0.0)
    return amount / len(maps.toward)


@lean
def summed(lights: Lights, lamp: float, sky: float, nx: float, ny: float, nz: float) -> float:
    """The light on a surface with unit normal n from its parts of lamp and sky; 1 on the ground without shadows."""
    facing = lights.up[0] * nx + lights.up[1] * ny + lights.up[2] * nz
    return (LAMP * lamp + 2.0 * SKY * sky + BOUNCE * 0.5 * (1.0 - facing)) / lights.level


# ---- light between lattice points


class Lattice(NamedTuple):
    """Every `step`-th ray in both directions: the surface that it meets, and the light of lamp and sky there."""

    surface: NDArray[np.int64]  # (rows, columns), -1 for none
    place: Floats  # (rows, columns, 6) point and unit normal
    lamp: Depth
    sky: Depth
    whole: NDArray[np.bool_]  # whether no body hides the lamp
    cell: NDArray[np.int8]  # (rows, columns) SHADED, EVEN or OPEN: the lamp light in this cell and next to it
    step: int


@lean
def point(rays: Rays, i: int, j: int, t: float) -> tuple[float, float, float]:
    """The point of ray (i, j) at depth t."""
    b = (0.5 * rays.rows - i - 0.5) / rays.scale
    a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
    dx = rays.forward[0] + a * rays.right[0] + b * rays.up[0]
    dy = rays.forward[1] + a * rays.right[1] + b * rays.up[1]
    dz = rays.forward[2] + a * rays.right[2] + b * rays.up[2]
    return rays.eye[0] + t * dx, rays.eye[1] + t * dy, rays.eye[2] + t * dz


@kernel
def empty(rays: Rays, smooth: int) -> Lattice:
    """A lattice without surfaces, for rays of which `smooth` x `smooth` make a pixel."""
    step = COARSE * smooth
    rows, columns = (rays.rows - 1) // step + 2, (rays.columns - 1) // step + 2
    surface = np.full((rows, columns), -1, np.int64)
    lamp, sky = np.zeros((rows, columns), np.float32), np.zeros((rows, columns), np.float32)
    place = np.zeros((rows, columns, 6))
    whole, cell = np.zeros((rows, columns), np.bool_), np.zeros((rows, columns), np.int8)
    return Lattice(surface, place, lamp, sky, whole, cell, step)


@lean
def note(lattice: Lattice, r: int, c: int, surface: int, x: float, y: float, z: float, n: Normal) -> None:
    """Records the point and unit normal n of the surface that lattice ray (r, c) meets."""
    lattice.surface[r, c] = surface
    place = lattice.place[r, c]
    place[0], place[1], place[2], place[3], place[4], place[5] = x, y, z, n[0], n[1], n[2]


@lean
def measure(lattice: Lattice, lights: Lights) -> None:
    """Measures the light at all recorded points and compares that of the lamp in each cell."""
    _gather(lattice, lights.lamp, lattice.lamp)
    _gather(lattice, lights.sky, lattice.sky)
    _compare(lattice, lights.lamp)


@lean
def _gather(lattice: Lattice, maps: Maps, out: Depth) -> None:
    """`gathered` at all recorded points, map by map, so that each map stays in the cache of the processor."""
    rows, columns = lattice.surface.shape
    off, share = above(maps), 1.0 / len(maps.toward)
    for k in range(len(maps.toward)):
        dx, dy, dz = maps.toward[k, 0], maps.toward[k, 1], maps.toward[k, 2]
        for r in range(rows):
            for c in range(columns):
                if lattice.surface[r, c] < 0:
                    continue
                nx, ny, nz = lattice.place[r, c, 3], lattice.place[r, c, 4], lattice.place[r, c, 5]
                cosine = dx * nx + dy * ny + dz * nz
                if cosine > 0.0:
                    x, y, z = lattice.place[r, c, 0], lattice.place[r, c, 1], lattice.place[r, c, 2]
                    out[r, c] += share * cosine * lit(maps, k, x + off * nx, y + off * ny, z + off * nz)


@lean
def _compare(lattice: Lattice, lamp: Maps) -> None:
    """Finds the cells where the lamp light is even, or where nothing hides the lamp.

    Neighboring cells are included, so that a thin shadow that ends between two lattice points is not lost.
    """
    rows, columns = lattice.surface.shape
    for r in range(rows):
        for c in range(columns):
            if lattice.surface[r, c] >= 0:
                nx, ny, nz = lattice.place[r, c, 3], lattice.place[r, c, 4], lattice.place[r, c, 5]
                lattice.whole[r, c] = lattice.lamp[r, c] >= WHOLE * unshaded(lamp, nx, ny, nz)
    for r in range(rows - 1):
        for c in range(columns - 1):
            low, high, hidden = lattice.lamp[r, c], lattice.lamp[r, c], not lattice.whole[r, c]
            for u in range(max(r - 1, 0), min(r + 3, rows)):
                for v in range(max(c - 1, 0), min(c + 3, columns)):
                    if lattice.surface[u, v] == lattice.surface[r, c]:
                        low, high = min(low, lattice.lamp[u, v]), max(high, lattice.lamp[u, v])
                        hidden = hidden or not lattice.whole[u, v]
            lattice.cell[r, c] = EVEN if high - low <= CHANGE else (SHADED if hidden else OPEN)


@lean
def light(lattice: Lattice, i: int, j: int, surface: int, lights: Lights, p: Place, n: Normal) -> float:
    """The light at the point p of a surface with unit normal n that ray (i, j) meets."""
    x, y, z = p
    r, c = i // lattice.step, j // lattice.step
    s, t = i / lattice.step - r, j / lattice.step - c
    whole = lattice.surface[r, c] == surface and lattice.surface[r, c + 1] == surface
    whole = whole and lattice.surface[r + 1, c] == surface and lattice.surface[r + 1, c + 1] == surface
    if whole and lattice.cell[r, c] == EVEN:
        lamp = _blend(lattice.lamp, r, c, s, t)
    elif whole and lattice.cell[r, c] == OPEN:
        lamp = unshaded(lights.lamp, n[0], n[1], n[2])
    else:
        lamp = gathered(lights.lamp, x, y, z, n[0], n[1], n[2])
    if whole:
        sky = _blend(lattice.sky, r, c, s, t)
    else:
        sky = gathered(lights.sky, x, y, z, n[0], n[1], n[2])
    return summed(lights, lamp, sky, n[0], n[1], n[2])


@lean
def _blend(values: Depth, r: int, c: int, s: float, t: float) -> float:
    top = (1.0 - t) * values[r, c] + t * values[r, c + 1]
    return (1.0 - s) * top + s * ((1.0 - t) * values[r + 1, c] + t * values[r + 1, c + 1])
