"""Buffers for contacts, and the gap of a contact after a motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats, Ints
from .poses import moved, swung

# What the normal of a contact follows when the bodies move.
MEAN, PLANE_A, PLANE_B, CROSS, LINE_A, LINE_B, POINT = 0, 1, 2, 3, 4, 5, 6
NAMES = 0xFFFFF


class Found(NamedTuple):
    """Room for contacts; kernels fill it from the front and return how many rows are in use."""

    feature: Ints
    normal: Floats  # (m, 3)
    point: Floats  # (m, 3)
    gap: Floats
    predicted: Floats


@njit(cache=True, nogil=True)
def room(count):
    """Empty buffers for up to `count` contacts."""
    return Found(
        np.empty(count, np.int64), np.empty((count, 3)), np.empty((count, 3)), np.empty(count), np.empty(count)
    )


@njit(cache=True, nogil=True)
def roomier(found, n, count):
    """The buffers, or larger ones with the same first n contacts, with room for `count` more."""
    if n + count <= len(found.gap):
        return found
    more = room(2 * (n + count))
    more.feature[:n] = found.feature[:n]
    more.normal[:n] = found.normal[:n]
    more.point[:n] = found.point[:n]
    more.gap[:n] = found.gap[:n]
    more.predicted[:n] = found.predicted[:n]
    return more


@njit(cache=True, nogil=True)
def put(found, n, feature, nx, ny, nz, x, y, z, gap, predicted):
    """Writes contact n."""
    found.feature[n] = feature
    found.normal[n, 0], found.normal[n, 1], found.normal[n, 2] = nx, ny, nz
    found.point[n, 0], found.point[n, 1], found.point[n, 2] = x, y, z
    found.gap[n] = gap
    found.predicted[n] = predicted


@njit(cache=True, nogil=True)
def name(base, kind, i, j):
    """A number below 2^20 for a contact: the parts of the bodies (`base`), which features meet, and their codes."""
    h = ((base * 4 + kind) * 8191 + i) * 131071 + j
    h = (h ^ (h >> 17)) * 0x9E3779B1
    h = (h ^ (h >> 13)) * 0x85EBCA6B
    return (h ^ (h >> 16)) & NAMES


@njit(cache=True, nogil=True)
def _unit(x, y, z):
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@njit(cache=True, nogil=True)
def _turned_normal(motion, a, b, n, round_a, round_b):
    """The normal after the motion, if nothing else tells: it turns with the bodies, but not with a round one."""
    if round_a and round_b:
        return n
    if round_a:
        return swung(motion, b, n[0], n[1], n[2])
    if round_b:
        return swung(motion, a, n[0], n[1], n[2])
    ax, ay, az = swung(motion, a, n[0], n[1], n[2])
    bx, by, bz = swung(motion, b, n[0], n[1], n[2])
    return _unit(ax + bx, ay + by, az + bz)


@njit(cache=True, nogil=True)
def gap_after(motion, a, b, mode, n, e, g, ca, cb, ends):
    """Gap of a contact after motions (rows a and b) of the two bodies.

    ca and cb are points of the two cores, `ends` is (radius of both, rho_a, axis_a, rho_b, axis_b): round parts are
    carried by their cores, so rolling opens no gap. e and g are the normals of the faces (PLANE_A: e, PLANE_B: g) or
    the directions of the edges (CROSS: both, LINE_A: e, LINE_B: g) that meet.
    """
    radius, rho_a, ua, rho_b, ub, round_a, round_b = ends
    ax, ay, az = moved(motion, a, ca[0], ca[1], ca[2])
    bx, by, bz = moved(motion, b, cb[0], cb[1], cb[2])
    dx, dy, dz = bx - ax, by - ay, bz - az
    scale = 1.0
    if mode == PLANE_A:
        nx, ny, nz = swung(motion, a, e[0], e[1], e[2])
        scale = e[0] * n[0] + e[1] * n[1] + e[2] * n[2]
    elif mode == PLANE_B:
        nx, ny, nz = swung(motion, b, -g[0], -g[1], -g[2])
        scale = -(g[0] * n[0] + g[1] * n[1] + g[2] * n[2])
    else:
        nx, ny, nz = _turned_normal(motion, a, b, n, round_a, round_b)
        if mode != MEAN:
            if mode == CROSS:
                ex, ey, ez = swung(motion, a, e[0], e[1], e[2])
                gx, gy, gz = swung(motion, b, g[0], g[1], g[2])
                mx, my, mz = ey * gz - ez * gy, ez * gx - ex * gz, ex * gy - ey * gx
                side = mx * nx + my * ny + mz * nz
            else:
                mx, my, mz = dx, dy, dz
                if mode == LINE_A or mode == LINE_B:
                    if mode == LINE_A:
                        ex, ey, ez = swung(motion, a, e[0], e[1], e[2])
                    else:
                        ex, ey, ez = swung(motion, b, g[0], g[1], g[2])
                    along = (ex * mx + ey * my + ez * mz) / (ex * ex + ey * ey + ez * ez)
                    mx, my, mz = mx - along * ex, my - along * ey, mz - along * ez
                side = mx * nx + my * ny + mz * nz
            length = np.sqrt(mx * mx + my * my + mz * mz)
            if length > 0.0:
                if side < 0.0:
                    length = -length
                nx, ny, nz = mx / length, my / length, mz / length
    gap = (nx * dx + ny * dy + nz * dz) / scale - radius
    if rho_a > 0.0:
        ux, uy, uz = swung(motion, a, ua[0], ua[1], ua[2])
        c = nx * ux + ny * uy + nz * uz
        gap -= rho_a * np.sqrt(max(0.0, 1.0 - c * c))
    if rho_b > 0.0:
        ux, uy, uz = swung(motion, b, ub[0], ub[1], ub[2])
        c = nx * ux + ny * uy + nz * uz
        gap -= rho_b * np.sqrt(max(0.0, 1.0 - c * c))
    return gap
