"""Signed distance to a mesh, interpolated from its grid, and a normal that is continuous on smooth surfaces."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel

_SMOOTH = 0.99  # length of the mean of unit gradients that differ by less than about 10 degrees
_STEPS = 16  # largest number of steps of a walk over the surface
_TRIES = 4  # attempts per step, each shorter
_OFF = 0.25  # distance in cells within which a point is on the surface
_LOOK = 1.5  # cells that a step looks ahead, which stays within the grid
_PAD = 2.0  # cells between the mesh and the sides of its grid


@kernel
def _cell(s, count):
    """Cell of a coordinate in units of the spacing, and the fraction (0 to 1) within it; clipped to the grid."""
    s = min(max(s, 0.0), count - 1.0)
    i = min(int(s), count - 2)
    return i, s - i


@kernel
def _beyond(s, count, inset):
    """How far a coordinate, in units of the spacing, lies outside the grid reduced by `inset` cells at each side."""
    return s - min(max(s, inset), count - 1.0 - inset)


@kernel
def _interpolated(value, n, nz, layer, u, v, w):
    """Trilinear value in the cell whose first node is n; `layer` nodes lie between neighbors along x."""
    m = n + layer
    near = (value[n] * (1.0 - w) + value[n + 1] * w) * (1.0 - v)
    near += (value[n + nz] * (1.0 - w) + value[n + nz + 1] * w) * v
    far = (value[m] * (1.0 - w) + value[m + 1] * w) * (1.0 - v)
    far += (value[m + nz] * (1.0 - w) + value[m + nz + 1] * w) * v
    return near * (1.0 - u) + far * u


@kernel
def grid_value(shapes, g, x, y, z):
    """Signed distance of a point, in the shape's frame. Outside the grid a lower bound, continuous at its sides."""
    h = shapes.grid_spacing[g]
    cx, cy, cz = shapes.grid_count[g, 0], shapes.grid_count[g, 1], shapes.grid_count[g, 2]
    x, y, z = (x - shapes.grid_low[g, 0]) / h, (y - shapes.grid_low[g, 1]) / h, (z - shapes.grid_low[g, 2]) / h
    i, u = _cell(x, cx)
    j, v = _cell(y, cy)
    k, w = _cell(z, cz)
    n = shapes.grid_ptr[g] + (i * cy + j) * cz + k
    d = _interpolated(shapes.grid_value, n, cz, cy * cz, u, v, w)
    a, b, c = _beyond(x, cx, 0.0), _beyond(y, cy, 0.0), _beyond(z, cz, 0.0)
    if a != 0.0 or b != 0.0 or c != 0.0:
        # Two lower bounds: the value at the side minus the distance to it, and the distance to the mesh's bounding box.
        way = np.sqrt(a * a + b * b + c * c)
        a, b, c = _beyond(x, cx, _PAD), _beyond(y, cy, _PAD), _beyond(z, cz, _PAD)
        d = max(d - h * way, h * np.sqrt(a * a + b * b + c * c))
    return d


@kernel
def _cell_slope(value, n, nz, layer, u, v, w):
    """Gradient of the trilinear interpolant within a cell, times the spacing."""
    gx, gy, gz = 0.0, 0.0, 0.0
    for corner in range(8):
        a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
        d = value[n + a * layer + b * nz + c]
        wa, wb, wc = (u if a else 1.0 - u), (v if b else 1.0 - v), (w if c else 1.0 - w)
        gx += (d if a else -d) * wb * wc
        gy += (d if b else -d) * wa * wc
        gz += (d if c else -d) * wa * wb
    return gx, gy, gz


@kernel
def _node_slope(value, n, stride, index, count):
    """Difference quotient at a node, times the spacing: central, one-sided at the sides of the grid."""
    low = 0 if index == 0 else 1
    high = 0 if index == count - 1 else 1
    return (value[n + high * stride] - value[n - low * stride]) / (low + high)


@kernel
def grid_normal(shapes, g, x, y, z):
    """Unit vector along the gradient of the distance, interpolated from the gradients at the eight nodes.

    The gradient of the interpolant itself is discontinuous between cells, which contact normals must not be. But
    gradients at nodes extend over two cells, across edges of the mesh. Their mean is then shorter than 1, and the
    gradient within the cell is used.
    """
    h, value = shapes.grid_spacing[g], shapes.grid_value
    cx, cy, cz = shapes.grid_count[g, 0], shapes.grid_count[g, 1], shapes.grid_count[g, 2]
    x, y, z = (x - shapes.grid_low[g, 0]) / h, (y - shapes.grid_low[g, 1]) / h, (z - shapes.grid_low[g, 2]) / h
    if _beyond(x, cx, 0.0) != 0.0 or _beyond(y, cy, 0.0) != 0.0 or _beyond(z, cz, 0.0) != 0.0:
        gx, gy, gz = _beyond(x, cx, _PAD), _beyond(y, cy, _PAD), _beyond(z, cz, _PAD)
    else:
        i, u = _cell(x, cx)
        j, v = _cell(y, cy)
        k, w = _cell(z, cz)
        layer = cy * cz
        n = shapes.grid_ptr[g] + i * layer + j * cz + k
        gx, gy, gz = 0.0, 0.0, 0.0
        for corner in range(8):
            a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
            m = n + a * layer + b * cz + c
            weight = (u if a else 1.0 - u) * (v if b else 1.0 - v) * (w if c else 1.0 - w)
            gx += weight * _node_slope(value, m, layer, i + a, cx)
            gy += weight * _node_slope(value, m, cz, j + b, cy)
            gz += weight * _node_slope(value, m, 1, k + c, cz)
        if gx * gx + gy * gy + gz * gz < (_SMOOTH * h) ** 2:
            gx, gy, gz = _cell_slope(value, n, cz, layer, u, v, w)
    length = np.sqrt(gx * gx + gy * gy + gz * gz)
    if length == 0.0:  # halfway between two sides of the mesh: any direction is as good
        return 0.0, 0.0, 1.0
    return gx / length, gy / length, gz / length


@kernel
def grid_side(shapes, g, x, y, z):
    """Whether a point is outside the grid, and the nearest point of the grid."""
    h = shapes.grid_spacing[g]
    a = _beyond((x - shapes.grid_low[g, 0]) / h, shapes.grid_count[g, 0], 0.0)
    b = _beyond((y - shapes.grid_low[g, 1]) / h, shapes.grid_count[g, 1], 0.0)
    c = _beyond((z - shapes.grid_low[g, 2]) / h, shapes.grid_count[g, 2], 0.0)
    return a != 0.0 or b != 0.0 or c != 0.0, x - h * a, y - h * b, z - h * c


@kernel
def _pulled(shapes, g, x, y, z):
    """A point close to the surface, projected onto it."""
    d = grid_value(shapes, g, x, y, z)
    nx, ny, nz = grid_normal(shapes, g, x, y, z)
    return x - d * nx, y - d * ny, z - d * nz


@kernel
def walk(shapes, g, x, y, z, fx, fy, fz):
    """The point of the surface that is nearest to a given point, by projected descent from a first guess f.

    A step moves a little toward the given point and projects onto the surface; it is zero if the point lies along the
    normal. The rule of Barzilai and Borwein sets the length of the steps. A step that increases the distance or leaves
    the surface, as may happen at sharp edges, is repeated with a shorter length. If nothing nearer is found, the first
    guess is returned.
    """
    h = shapes.grid_spacing[g]
    rate, px, py, pz = 1.0, 0.0, 0.0, 0.0
    for step in range(_STEPS):
        dx, dy, dz = x - fx, y - fy, z - fz
        far = np.sqrt(dx * dx + dy * dy + dz * dz)
        if far <= _LOOK * h:
            break
        t = _LOOK * h / far
        rx, ry, rz = _pulled(shapes, g, fx + t * dx, fy + t * dy, fz + t * dz)
        rx, ry, rz = rx - fx, ry - fy, rz - fz
        if rx * rx + ry * ry + rz * rz < (1e-4 * h) ** 2:
            break
        if step:
            change = px * (px - rx) + py * (py - ry) + pz * (pz - rz)
            if change > 0.0:
                rate *= (px * px + py * py + pz * pz) / change
            rate = min(max(rate, 1.0), 1.0 / t)  # 1 / t is exact on planes, and too long on curved surfaces
        for _ in range(_TRIES):
            ux, uy, uz = _pulled(shapes, g, fx + rate * rx, fy + rate * ry, fz + rate * rz)
            nearer = (x - ux) ** 2 + (y - uy) ** 2 + (z - uz) ** 2 < far * far
            nearer = nearer and abs(grid_value(shapes, g, ux, uy, uz)) < _OFF * h
            if nearer:
                break
            rate *= 0.25
        if not nearer:
            break
        fx, fy, fz = ux, uy, uz
        px, py, pz = rx, ry, rz
    return fx, fy, fz


@kernel
def grid_near(shapes, g, x, y, z, exact):
    """Signed distance of a point and unit direction from the surface, also outside the grid.

    Outside it is measured from the projection of the nearest point of the grid; if `exact`, that is refined by `walk`.
    """
    outside, sx, sy, sz = grid_side(shapes, g, x, y, z)
    if not outside:
        nx, ny, nz = grid_normal(shapes, g, x, y, z)
        return grid_value(shapes, g, x, y, z), nx, ny, nz
    fx, fy, fz = _pulled(shapes, g, sx, sy, sz)
    if exact:
        fx, fy, fz = walk(shapes, g, x, y, z, fx, fy, fz)
    dx, dy, dz = x - fx, y - fy, z - fz
    far = np.sqrt(dx * dx + dy * dy + dz * dz)
    return far, dx / far, dy / far, dz / far
