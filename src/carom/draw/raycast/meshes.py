"""Meshes in a picture: rays through a signed distance grid, fewer where the surface is smooth.

A ray through a grid costs tens of others. Rays are therefore cast on lattices first, from coarse to fine. Near a ray
that keeps a distance from the surface, until it leaves the grid or meets a nearer body, no other ray is cast. Between
four rays of the finest lattice that meet one smooth piece of the surface, depth and normal are interpolated. The rays
that remain, those at outlines, rims and creases, are cast one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...contact.grid_distance import DistanceGrid
from ...geometry.vectors import Mat3, Vec3, dot, norm, to_world
from ...kernels import kernel, lean
from ..camera import Rays
from .cast import MISS, Hit, Ray, at, box

if TYPE_CHECKING:
    from .visible import Buffers

STEPS = 256  # largest number of steps through a signed distance grid
SMALLEST_STEP = 0.1  # of these steps, in spacings of the grid
SMALLEST_SHADOW_STEP = 0.5  # and in shadow maps, whose pixels are coarser
SECANTS = 3  # steps to the surface within the last step
SHADOW_RAY = 2  # pixels of a shadow map, in rows and columns, that share one ray: `light.above` is larger
SHADOW_LATTICE = 4  # pixels of a shadow map between two lattice rays
MARGIN = 2.0  # cells between a mesh and the sides of its grid
SURE = 0.8  # of a distance that a grid gives: between its nodes it may be too large
EVEN_DEPTH = 0.15  # deviation of four depths from a plane, in spacings of the grid, up to which they are interpolated
EVEN_NORMAL = 0.97  # cosine between two of their normals above which they are interpolated
COARSEST = 8  # spacing of the coarsest lattice in spacings of the finest, a power of two
SLANT = 1.3  # largest length of a ray per unit of depth
DEPTH, CLEAR, UNTIL = 0, 1, 2  # columns of Sampling.known: what a lattice ray tells, as in Trace


class Trace(NamedTuple):
    """Where a ray meets a mesh; if it meets none, the distance that it keeps from the surface until some time."""

    hit: Hit
    clear: float
    until: float


@lean
def trace(ray: Ray, grid: DistanceGrid, full: bool, limit: float) -> Trace:
    """The zero level of a signed distance grid, which is the surface that contact detection uses for a mesh.

    Sphere tracing finds the first point inside, secants then locate the surface. Without `full`, as in shadow maps,
    steps are coarser, one secant is enough, and there is no normal. A surface after the time `limit` is not looked for.
    """
    cells = Ray((ray.origin - grid.low) / grid.spacing, ray.way / grid.spacing)  # in units of the spacing
    end = Vec3(grid.nx - 1.0, grid.ny - 1.0, grid.nz - 1.0)
    t, clear = 0.0, MARGIN * grid.spacing
    if not _inside(cells.origin, end):
        t = box(Ray(cells.origin - 0.5 * end, cells.way), 0.5 * end).time
        if not t < limit:
            return Trace(MISS, clear, t)
    speed, least = norm(ray.way), (SMALLEST_STEP if full else SMALLEST_SHADOW_STEP) * grid.spacing
    last, outside, d = t, 0.0, 0.0
    for step in range(STEPS):
        p = at(cells, t)
        if step > 0 and not _inside(p, end):
            return Trace(MISS, clear, np.inf)
        d = _value(grid, p)
        if d < 0.0:
            break
        if step > 0:  # between two points at distances d and d' that are l apart it is at least (d + d' - l) / 2
            clear = min(clear, 0.5 * SURE * (outside + d - (t - last) * speed))
        if t >= limit:
            return Trace(MISS, clear, t)
        last, outside = t, d
        t += max(0.9 * d, least) / speed
    else:
        return Trace(MISS, 0.0, 0.0)
    for step in range(SECANTS if full else 1):
        between = last + (t - last) * outside / (outside - d)
        if step == (SECANTS - 1 if full else 0):
            t = between
            break
        value = _value(grid, at(cells, between))
        if value < 0.0:
            t, d = between, value
        else:
            last, outside = between, value
    normal = _normal(grid, at(cells, t)) if full else MISS.normal
    met = t > 0.0 and dot(normal, normal) > 0.0
    return Trace(Hit(t, normal, 0) if met else MISS, 0.0, 0.0)


@kernel(inline="always")
def _inside(p: Vec3, end: Vec3) -> bool:
    return p.x >= 0.0 and p.y >= 0.0 and p.z >= 0.0 and p.x <= end.x and p.y <= end.y and p.z <= end.z


@kernel(inline="always")
def _value(grid: DistanceGrid, p: Vec3) -> float:
    """The interpolated distance at a point within the grid, given in units of the spacing from its first node."""
    i, j, k = min(int(p.x), grid.nx - 2), min(int(p.y), grid.ny - 2), min(int(p.z), grid.nz - 2)
    u, v, w = p.x - i, p.y - j, p.z - k
    n, value, nz = grid.start + (i * grid.ny + j) * grid.nz + k, grid.value, grid.nz
    m = n + grid.ny * nz
    near = (value[n] * (1.0 - w) + value[n + 1] * w) * (1.0 - v)
    near += (value[n + nz] * (1.0 - w) + value[n + nz + 1] * w) * v
    far = (value[m] * (1.0 - w) + value[m + 1] * w) * (1.0 - v)
    far += (value[m + nz] * (1.0 - w) + value[m + nz + 1] * w) * v
    return near * (1.0 - u) + far * u


@lean
def _normal(grid: DistanceGrid, p: Vec3) -> Vec3:
    """The unit gradient at such a point, or zero. Differences over a whole cell hide the facets of the grid."""
    x, y, z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
    low = Vec3(max(p.x, 1.0), max(p.y, 1.0), max(p.z, 1.0))
    p = Vec3(min(low.x, grid.nx - 2.0), min(low.y, grid.ny - 2.0), min(low.z, grid.nz - 2.0))
    n = Vec3(
        _value(grid, p + x) - _value(grid, p - x),
        _value(grid, p + y) - _value(grid, p - y),
        _value(grid, p + z) - _value(grid, p - z),
    )
    length = norm(n)
    return n / length if length > 0.0 else Vec3(0.0, 0.0, 0.0)


class Seen(NamedTuple):
    """A mesh that is seen: eye and axes of the view in its frame, the pixels that it may cover, and its depths."""

    eye: Vec3
    forward: Vec3
    along_row: Vec3
    along_column: Vec3
    turn: Mat3  # from its frame to that of the world
    grid: DistanceGrid
    part: int
    near: float  # depths between which it lies
    far: float
    top: int  # first and last row and column
    bottom: int
    first: int
    last: int


class Sampling(NamedTuple):
    """How rays are cast at meshes."""

    ray: int  # rows and columns of pixels that share one ray
    lattice: int  # pixels between two rays of the finest lattice, a multiple of it
    known: NDArray[np.float32]  # (lattice rows, lattice columns, 3) DEPTH, CLEAR and UNTIL, to work in


def sampling(rays: Rays, ray: int, lattice: int) -> Sampling:
    """Arrays for a picture with these rays."""
    rows, columns = rays.rows // lattice + COARSEST + 2, rays.columns // lattice + COARSEST + 2
    return Sampling(ray, lattice, np.empty((rows, columns, 3), np.float32))


@lean
def fill(rays: Rays, seen: Seen, way: Sampling, out: Buffers, full: bool) -> None:
    """Adds a mesh to buffers."""
    step = way.lattice
    top, left = seen.top // step // COARSEST * COARSEST, seen.first // step // COARSEST * COARSEST
    bottom = top + ((seen.bottom // step - top) // COARSEST + 1) * COARSEST
    right = left + ((seen.last // step - left) // COARSEST + 1) * COARSEST
    apart = COARSEST
    while apart > 0:
        for r in range(top, bottom + 1, apart):
            for c in range(left, right + 1, apart):
                if apart == COARSEST or r % (2 * apart) != 0 or c % (2 * apart) != 0:
                    _fill_lattice(rays, seen, way, out, full, r, c, apart)
        apart //= 2
    for r in range(seen.top // step, seen.bottom // step + 1):
        for c in range(seen.first // step, seen.last // step + 1):
            _fill_cell(rays, seen, way, out, full, r, c)


@lean(inline="always")
def _fill_lattice(rays: Rays, seen: Seen, way: Sampling, out: Buffers, full: bool, r: int, c: int, apart: int) -> None:
    """The ray (r, c) of the lattice with spacing `apart`; cast, unless the next coarser one shows that it misses."""
    known, i, j = way.known, r * way.lattice, c * way.lattice
    limit = _limit(rays, way.ray, i, j, out)
    if apart < COARSEST:
        clear, until = _clear_near(rays, seen, way, i, j, limit, 2 * apart)
        if clear > 0.0:
            known[r, c, DEPTH], known[r, c, CLEAR], known[r, c, UNTIL] = np.inf, clear, until
            return
    found = _cast(rays, seen, way.ray, i, j, limit, out, full)
    known[r, c, DEPTH], known[r, c, CLEAR], known[r, c, UNTIL] = found.hit.time, found.clear, found.until


@lean(inline="always")
def _clear_near(rays: Rays, seen: Seen, way: Sampling, i: int, j: int, limit: float, apart: int) -> tuple[float, float]:
    """The distance that a ray keeps from the surface until some time, at least `limit`; 0 if that is not known.

    It follows from the four rays around it in the lattice with spacing `apart`, if they keep larger distances.
    """
    size = (1.0 if rays.parallel else seen.far) / rays.scale  # of a pixel, where it is largest
    clear, until = 0.0, 0.0
    wide = apart * way.lattice
    r, c = i // wide * apart, j // wide * apart
    # A ray on a line of that lattice lies between two of its rays; beyond the last line none was cast.
    below, right = r if i % wide == 0 else r + apart, c if j % wide == 0 else c + apart
    for corner in range(4):
        u, v = below if corner & 1 else r, right if corner >> 1 else c
        around, end = way.known[u, v, CLEAR], way.known[u, v, UNTIL]
        if around > clear:
            down, aside = u * way.lattice - i, v * way.lattice - j
            kept = around - size * np.sqrt(1.0 * down * down + aside * aside)
            if limit > end:
                kept -= SLANT * (limit - end)
            if kept > clear:
                clear, until = kept, max(limit, end)
    return clear, until


@lean(inline="always")
def _limit(rays: Rays, wide: int, i: int, j: int, out: Buffers) -> float:
    """The depth behind which the pixels of a ray are hidden; infinite outside of the picture."""
    if i >= rays.rows or j >= rays.columns:
        return np.inf
    limit = out.depth[i, j]
    for u in range(i, min(i + wide, rays.rows)):
        for v in range(j, min(j + wide, rays.columns)):
            limit = max(limit, out.depth[u, v])
    return limit


@lean(inline="always")
def _fill_cell(rays: Rays, seen: Seen, way: Sampling, out: Buffers, full: bool, r: int, c: int) -> None:
    """The rays between four rays of the finest lattice."""
    known, step = way.known, way.lattice
    a, b, d, e = known[r, c, DEPTH], known[r, c + 1, DEPTH], known[r + 1, c, DEPTH], known[r + 1, c + 1, DEPTH]
    even = max(max(a, b), max(d, e)) < np.inf and abs(a - b - d + e) < EVEN_DEPTH * seen.grid.spacing
    if even and full:
        even = _even(out, seen.part, r * step, c * step, step)
    for u in range(0, step, way.ray):
        for v in range(0, step, way.ray):
            i, j = r * step + u, c * step + v
            if u + v == 0 or i >= rays.rows or j >= rays.columns:
                continue
            if even:
                s, t = u / step, v / step
                depth = (1.0 - s) * ((1.0 - t) * a + t * b) + s * ((1.0 - t) * d + t * e)
                if full and depth < out.depth[i, j]:
                    _blend_normal(out, seen.part, i, j, r * step, c * step, step)
                _put(out, way.ray, i, j, depth)
                continue
            limit = _limit(rays, way.ray, i, j, out)
            if _clear_near(rays, seen, way, i, j, limit, 1)[0] == 0.0:
                _cast(rays, seen, way.ray, i, j, limit, out, full)


@lean(inline="always")
def _cast(rays: Rays, seen: Seen, wide: int, i: int, j: int, limit: float, out: Buffers, full: bool) -> Trace:
    """Casts one ray for `wide` x `wide` pixels, which are hidden behind the depth `limit`."""
    if seen.near >= limit:
        return Trace(MISS, 0.0, 0.0)
    b = (0.5 * rays.rows - i - 0.5 * wide) / rays.scale
    a = (j + 0.5 * wide - 0.5 * rays.columns) / rays.scale
    aside = a * seen.along_row + b * seen.along_column
    ray = Ray(seen.eye + aside, seen.forward) if rays.parallel else Ray(seen.eye, seen.forward + aside)
    found = trace(ray, seen.grid, full, limit)
    if found.hit.time < limit and i < rays.rows and j < rays.columns:
        _put(out, wide, i, j, found.hit.time)
        if full:
            out.part[i, j], out.face[i, j] = seen.part, 0
            normal = to_world(seen.turn, found.hit.normal)
            out.normal[i, j, 0], out.normal[i, j, 1], out.normal[i, j, 2] = normal.x, normal.y, normal.z
    return found


@lean(inline="always")
def _put(out: Buffers, wide: int, i: int, j: int, time: float) -> None:
    for u in range(i, min(i + wide, out.depth.shape[0])):
        for v in range(j, min(j + wide, out.depth.shape[1])):
            out.depth[u, v] = min(out.depth[u, v], time)


@lean(inline="always")
def _even(out: Buffers, part: int, i: int, j: int, step: int) -> bool:
    """Whether all four lattice rays of a cell show this part, with similar normals."""
    below, right = i + step, j + step
    if below >= out.depth.shape[0] or right >= out.depth.shape[1]:
        return False
    if out.part[i, j] != part or out.part[i, right] != part:
        return False
    if out.part[below, j] != part or out.part[below, right] != part:
        return False
    n = out.normal
    one = n[i, j, 0] * n[below, right, 0] + n[i, j, 1] * n[below, right, 1] + n[i, j, 2] * n[below, right, 2]
    two = n[i, right, 0] * n[below, j, 0] + n[i, right, 1] * n[below, j, 1] + n[i, right, 2] * n[below, j, 2]
    return min(one, two) > EVEN_NORMAL


@lean(inline="always")
def _blend_normal(out: Buffers, part: int, i: int, j: int, top: int, left: int, step: int) -> None:
    """Part and normal of a ray from those of the lattice rays around it."""
    s, t = (i - top) / step, (j - left) / step
    below, right, n = top + step, left + step, out.normal
    x, y, z = 0.0, 0.0, 0.0
    for u, v, weight in (
        (top, left, (1.0 - s) * (1.0 - t)),
        (top, right, (1.0 - s) * t),
        (below, left, s * (1.0 - t)),
        (below, right, s * t),
    ):
        x, y, z = x + weight * n[u, v, 0], y + weight * n[u, v, 1], z + weight * n[u, v, 2]
    length = np.sqrt(x * x + y * y + z * z)
    out.part[i, j], out.face[i, j] = part, 0
    out.normal[i, j, 0], out.normal[i, j, 1], out.normal[i, j, 2] = x / length, y / length, z / length
