"""Signed distance to a mesh, interpolated from its grid, and a normal that is continuous on smooth surfaces."""

from __future__ import annotations

from typing import NamedTuple

from ..geometry.vectors import Vec3, dot, norm, row3
from ..kernels import kernel, lean
from ..solvers.rows import Floats

_SMOOTH_GRADIENT = 0.99  # length of the mean of unit gradients that differ by less than about 10 degrees
_WALK_STEPS = 16  # largest number of steps of a walk over the surface
_WALK_ATTEMPTS = 4  # attempts per step, each shorter
_ON_SURFACE = 0.25  # distance in cells within which a point is on the surface
_LOOK_AHEAD = 1.5  # cells that a step looks ahead, which stays within the grid
_GRID_PAD = 2.0  # cells between the mesh and the sides of its grid


class DistanceGrid(NamedTuple):
    """Signed distances at the nodes low + spacing (i, j, k): value[start + (i ny + j) nz + k], negative inside."""

    value: Floats
    start: int
    nx: int
    ny: int
    nz: int
    low: Vec3
    spacing: float


class SignedDistance(NamedTuple):
    """Distance of a point from a surface, negative inside, and the outward unit normal at the nearest point."""

    distance: float
    normal: Vec3


class _Cell(NamedTuple):
    """The cell of a point: indices of its first node, and the point's coordinates (0 to 1) within it."""

    i: int
    j: int
    k: int
    u: float
    v: float
    w: float


@kernel(inline="always")
def grid_of(shapes, shape):
    """The grid of a mesh. For other shapes, which have none, the numbers mean nothing."""
    g = shapes.grid[shape]
    if g < 0:
        return DistanceGrid(shapes.grid_value, 0, 0, 0, 0, Vec3(0.0, 0.0, 0.0), 0.0)
    nx, ny, nz = shapes.grid_count[g, 0], shapes.grid_count[g, 1], shapes.grid_count[g, 2]
    return DistanceGrid(
        shapes.grid_value, shapes.grid_ptr[g], nx, ny, nz, row3(shapes.grid_low, g), shapes.grid_spacing[g]
    )


@kernel(inline="always")
def _clipped(s, count):
    """Cell of a coordinate in units of the spacing, and the fraction (0 to 1) within it; clipped to the grid."""
    s = min(max(s, 0.0), count - 1.0)
    i = min(int(s), count - 2)
    return i, s - i


@kernel(inline="always")
def _cell_of(grid, s):
    """The cell of a point s, given in units of the spacing from the first node, and the number of its first node."""
    i, u = _clipped(s.x, grid.nx)
    j, v = _clipped(s.y, grid.ny)
    k, w = _clipped(s.z, grid.nz)
    return _Cell(i, j, k, u, v, w), grid.start + (i * grid.ny + j) * grid.nz + k


@kernel(inline="always")
def _beyond(grid, s, inset):
    """How far a point s, in units of the spacing, lies outside the grid reduced by `inset` cells at each side."""
    return Vec3(
        s.x - min(max(s.x, inset), grid.nx - 1.0 - inset),
        s.y - min(max(s.y, inset), grid.ny - 1.0 - inset),
        s.z - min(max(s.z, inset), grid.nz - 1.0 - inset),
    )


@kernel(inline="always")
def _is_zero(a):
    return a.x == 0.0 and a.y == 0.0 and a.z == 0.0


@kernel(inline="always")
def _weight(fraction, upper):
    """Weight of the upper or lower node in a linear interpolation."""
    return fraction if upper else 1.0 - fraction


@kernel(inline="always")
def clipped_value(grid, p):
    """Interpolated signed distance at the point of the grid that is nearest to p."""
    cell, n = _cell_of(grid, (p - grid.low) / grid.spacing)
    value, nz, u, v, w = grid.value, grid.nz, cell.u, cell.v, cell.w
    m = n + grid.ny * nz
    near = (value[n] * (1.0 - w) + value[n + 1] * w) * (1.0 - v)
    near += (value[n + nz] * (1.0 - w) + value[n + nz + 1] * w) * v
    far = (value[m] * (1.0 - w) + value[m + 1] * w) * (1.0 - v)
    far += (value[m + nz] * (1.0 - w) + value[m + nz + 1] * w) * v
    return near * (1.0 - u) + far * u


@lean
def grid_value(grid, p):
    """Signed distance of a point, in the shape's frame. Outside the grid a lower bound, continuous at its sides."""
    d, s = clipped_value(grid, p), (p - grid.low) / grid.spacing
    out = _beyond(grid, s, 0.0)
    if not _is_zero(out):
        # Two lower bounds: the value at the side minus the distance to it, and the distance to the mesh's bounding box.
        d = max(d - grid.spacing * norm(out), grid.spacing * norm(_beyond(grid, s, _GRID_PAD)))
    return d


@lean
def _cell_gradient(grid, cell, n):
    """Gradient of the trilinear interpolant within a cell, times the spacing."""
    gx, gy, gz = 0.0, 0.0, 0.0
    for corner in range(8):
        a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
        d = grid.value[n + (a * grid.ny + b) * grid.nz + c]
        wa, wb, wc = _weight(cell.u, a), _weight(cell.v, b), _weight(cell.w, c)
        gx += (d if a else -d) * wb * wc
        gy += (d if b else -d) * wa * wc
        gz += (d if c else -d) * wa * wb
    return Vec3(gx, gy, gz)


@kernel(inline="always")
def _slope(value, n, stride, index, count):
    """Difference quotient at node n along one axis, times the spacing: central, one-sided at the sides of the grid."""
    low = 0 if index == 0 else 1
    high = 0 if index == count - 1 else 1
    return (value[n + high * stride] - value[n - low * stride]) / (low + high)


@lean
def _mean_gradient(grid, cell, n):
    """Mean of the gradients at the eight nodes of a cell, times the spacing, with trilinear weights."""
    g = Vec3(0.0, 0.0, 0.0)
    value, layer = grid.value, grid.ny * grid.nz
    for corner in range(8):
        a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
        m = n + a * layer + b * grid.nz + c
        weight = _weight(cell.u, a) * _weight(cell.v, b) * _weight(cell.w, c)
        g = g + weight * Vec3(
            _slope(value, m, layer, cell.i + a, grid.nx),
            _slope(value, m, grid.nz, cell.j + b, grid.ny),
            _slope(value, m, 1, cell.k + c, grid.nz),
        )
    return g


@lean
def grid_normal(grid, p):
    """Unit vector along the gradient of the distance, interpolated from the gradients at the eight nodes.

    The gradient of the interpolant itself is discontinuous between cells, which contact normals must not be. But
    gradients at nodes extend over two cells, across edges of the mesh. Their mean is then shorter than 1, and the
    gradient within the cell is used.
    """
    s = (p - grid.low) / grid.spacing
    if not _is_zero(_beyond(grid, s, 0.0)):
        g = _beyond(grid, s, _GRID_PAD)
    else:
        cell, n = _cell_of(grid, s)
        g = _mean_gradient(grid, cell, n)
        if dot(g, g) < (_SMOOTH_GRADIENT * grid.spacing) ** 2:
            g = _cell_gradient(grid, cell, n)
    length = norm(g)
    if length == 0.0:  # halfway between two sides of the mesh: any direction is as good
        return Vec3(0.0, 0.0, 1.0)
    return g / length


@kernel(inline="always")
def is_outside(grid, p):
    """Whether a point lies outside of the grid, where `grid_value` is a bound."""
    return not _is_zero(_beyond(grid, (p - grid.low) / grid.spacing, 0.0))


@kernel(inline="always")
def _projected(grid, p):
    """A point close to the surface, projected onto it."""
    return p - grid_value(grid, p) * grid_normal(grid, p)


@lean
def nearest_on_mesh(grid, p, foot):
    """The point of the surface that is nearest to p, by projected descent from a first guess `foot`.

    A step moves a little toward p and projects onto the surface; it is zero if p lies along the normal. The rule of
    Barzilai and Borwein sets the length of the steps. A step that increases the distance or leaves the surface, as may
    happen at sharp edges, is repeated with a shorter length. If nothing nearer is found, the first guess is returned.
    """
    h = grid.spacing
    rate, last = 1.0, Vec3(0.0, 0.0, 0.0)
    for step in range(_WALK_STEPS):
        away = p - foot
        far = norm(away)
        if far <= _LOOK_AHEAD * h:
            break
        t = _LOOK_AHEAD * h / far
        move = _projected(grid, foot + t * away) - foot
        if dot(move, move) < (1e-4 * h) ** 2:
            break
        if step:
            change = dot(last, last - move)
            if change > 0.0:
                rate *= dot(last, last) / change
            rate = min(max(rate, 1.0), 1.0 / t)  # 1 / t is exact on planes, and too long on curved surfaces
        nearer, guess = False, foot
        for _ in range(_WALK_ATTEMPTS):
            guess = _projected(grid, foot + rate * move)
            nearer = dot(p - guess, p - guess) < far * far and abs(grid_value(grid, guess)) < _ON_SURFACE * h
            if nearer:
                break
            rate *= 0.25
        if not nearer:
            break
        foot, last = guess, move
    return foot


@lean
def grid_distance(grid, p, exact):
    """Signed distance of a point and its normal, also outside of the grid.

    Outside it is measured from the projection of the nearest point of the grid; if `exact`, from the nearest point of
    the surface.
    """
    out = _beyond(grid, (p - grid.low) / grid.spacing, 0.0)
    if _is_zero(out):
        return SignedDistance(grid_value(grid, p), grid_normal(grid, p))
    foot = _projected(grid, p - grid.spacing * out)
    if exact:
        foot = nearest_on_mesh(grid, p, foot)
    away = p - foot
    far = norm(away)
    return SignedDistance(far, away / far)
