"""Signed distance of a mesh from its grid: trilinear values, and a gradient that is continuous across cells."""

from __future__ import annotations

import numpy as np
from numba import njit

_PAD = 2.0  # cells between the mesh and the sides of its grid


@njit(cache=True, nogil=True)
def _cell(grid_low, spacing, count, g, axis, x):
    """The cell of a coordinate along an axis, and how far into it (0 to 1); kept within the grid."""
    s = (x - grid_low[g, axis]) / spacing
    s = min(max(s, 0.0), count[g, axis] - 1.0)
    i = min(int(s), count[g, axis] - 2)
    return i, s - i


@njit(cache=True, nogil=True)
def _outside(solids, g, x, y, z):
    """Vector from the nearest point of the box round the mesh itself, and from that of its grid: (6,) numbers."""
    h = solids.grid_spacing[g]
    out = (0.0, 0.0, 0.0)
    far = (0.0, 0.0, 0.0)
    for a in range(3):
        p = x if a == 0 else (y if a == 1 else z)
        low = solids.grid_low[g, a]
        high = low + h * (solids.grid_count[g, a] - 1)
        inner = p - min(max(p, low + _PAD * h), high - _PAD * h)
        outer = p - min(max(p, low), high)
        if a == 0:
            out, far = (inner, out[1], out[2]), (outer, far[1], far[2])
        elif a == 1:
            out, far = (out[0], inner, out[2]), (far[0], outer, far[2])
        else:
            out, far = (out[0], out[1], inner), (far[0], far[1], outer)
    return out, far


@njit(cache=True, nogil=True)
def grid_value(solids, g, x, y, z):
    """Signed distance of a point of the form's frame. Outside the grid a lower bound, continuous at its sides."""
    h = solids.grid_spacing[g]
    i, u = _cell(solids.grid_low, h, solids.grid_count, g, 0, x)
    j, v = _cell(solids.grid_low, h, solids.grid_count, g, 1, y)
    k, w = _cell(solids.grid_low, h, solids.grid_count, g, 2, z)
    ny, nz = solids.grid_count[g, 1], solids.grid_count[g, 2]
    value = solids.grid_value
    n = solids.grid_ptr[g] + (i * ny + j) * nz + k
    m = n + ny * nz
    near = (value[n] * (1.0 - w) + value[n + 1] * w) * (1.0 - v) + (
        value[n + nz] * (1.0 - w) + value[n + nz + 1] * w
    ) * v
    far = (value[m] * (1.0 - w) + value[m + 1] * w) * (1.0 - v) + (
        value[m + nz] * (1.0 - w) + value[m + nz + 1] * w
    ) * v
    d = near * (1.0 - u) + far * u
    # Beyond the sides two bounds hold: the distance to the mesh's box, and the value at the side less the way to it.
    inner, outer = _outside(solids, g, x, y, z)
    way = np.sqrt(outer[0] ** 2 + outer[1] ** 2 + outer[2] ** 2)
    if way > 0.0:
        d = max(d - way, np.sqrt(inner[0] ** 2 + inner[1] ** 2 + inner[2] ** 2))
    return d


@njit(cache=True, nogil=True)
def _slope(solids, g, i, j, k, axis):
    """Difference quotient at a node: central, one-sided at the sides of the grid."""
    count = solids.grid_count
    index = (i, j, k)[axis]
    stride = (count[g, 1] * count[g, 2], count[g, 2], 1)[axis]
    n = solids.grid_ptr[g] + (i * count[g, 1] + j) * count[g, 2] + k
    low = 0 if index == 0 else 1
    high = 0 if index == count[g, axis] - 1 else 1
    rise = solids.grid_value[n + high * stride] - solids.grid_value[n - low * stride]
    return rise / ((low + high) * solids.grid_spacing[g])


@njit(cache=True, nogil=True)
def grid_normal(solids, g, x, y, z):
    """Unit direction in which the distance grows fastest: slopes at the eight nodes, interpolated.

    The slope of the interpolant itself jumps from cell to cell; contact normals must not.
    """
    inner, outer = _outside(solids, g, x, y, z)
    gx, gy, gz = inner
    if outer[0] == 0.0 and outer[1] == 0.0 and outer[2] == 0.0:
        h = solids.grid_spacing[g]
        i, u = _cell(solids.grid_low, h, solids.grid_count, g, 0, x)
        j, v = _cell(solids.grid_low, h, solids.grid_count, g, 1, y)
        k, w = _cell(solids.grid_low, h, solids.grid_count, g, 2, z)
        gx, gy, gz = 0.0, 0.0, 0.0
        for corner in range(8):
            a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
            weight = (u if a else 1.0 - u) * (v if b else 1.0 - v) * (w if c else 1.0 - w)
            gx += weight * _slope(solids, g, i + a, j + b, k + c, 0)
            gy += weight * _slope(solids, g, i + a, j + b, k + c, 1)
            gz += weight * _slope(solids, g, i + a, j + b, k + c, 2)
    length = np.sqrt(gx * gx + gy * gy + gz * gz)
    if length < 1e-12:  # a ridge between two sides of the mesh: no direction is better
        return 0.0, 0.0, 1.0
    return gx / length, gy / length, gz / length
