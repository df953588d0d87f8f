"""Buffers for contacts, and lasting names for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats, Ints

NAMES = 0xFFFFF


class Found(NamedTuple):
    """Room for contacts; kernels fill it from the front and return how many rows are in use."""

    feature: Ints
    normal: Floats  # (m, 3)
    point: Floats  # (m, 3)
    gap: Floats
    predicted: Floats


@njit(cache=True, nogil=True, error_model="numpy")
def room(count):
    """Empty buffers for up to `count` contacts."""
    return Found(
        np.empty(count, np.int64), np.empty((count, 3)), np.empty((count, 3)), np.empty(count), np.empty(count)
    )


@njit(cache=True, nogil=True, error_model="numpy")
def put(found, n, feature, nx, ny, nz, x, y, z, gap, predicted):
    """Writes contact n."""
    found.feature[n] = feature
    found.normal[n, 0], found.normal[n, 1], found.normal[n, 2] = nx, ny, nz
    found.point[n, 0], found.point[n, 1], found.point[n, 2] = x, y, z
    found.gap[n] = gap
    found.predicted[n] = predicted


@njit(cache=True, nogil=True, error_model="numpy")
def roomier(found, n, count):
    """The buffers, or larger ones with the same first n contacts, with room for `count` more."""
    if n + count <= len(found.gap):
        return found
    more = room(2 * (n + count))
    for i in range(n):
        p, q = found.normal, found.point
        put(more, i, found.feature[i], p[i, 0], p[i, 1], p[i, 2], q[i, 0], q[i, 1], q[i, 2], found.gap[i],
            found.predicted[i])  # fmt: skip
    return more


@njit(cache=True, nogil=True, error_model="numpy")
def name(base, kind, i, j):
    """A number below 2^20 for a contact: the parts of the bodies (`base`), which features meet, and their codes."""
    h = ((base * 4 + kind) * 8191 + i) * 131071 + j
    h = (h ^ (h >> 17)) * 0x9E3779B1
    h = (h ^ (h >> 13)) * 0x85EBCA6B
    return (h ^ (h >> 16)) & NAMES
