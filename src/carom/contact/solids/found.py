"""Buffers for contacts, and lasting names for them."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel

NAMES = 0xFFFFF


# Columns of the table of contacts: normal, point, then these. One table, because Numba counts references for every
# array that it hands on.
POINT, GAP, PREDICTED, FEATURE, COLUMNS = 3, 6, 7, 8, 9


@kernel
def room(count):
    """A table for up to `count` contacts; kernels fill it from the front and return how many rows are in use."""
    return np.empty((count, COLUMNS))


@kernel
def put(found, n, feature, nx, ny, nz, x, y, z, gap, predicted):
    """Writes contact n."""
    found[n, 0], found[n, 1], found[n, 2] = nx, ny, nz
    found[n, 3], found[n, 4], found[n, 5] = x, y, z
    found[n, GAP], found[n, PREDICTED], found[n, FEATURE] = gap, predicted, feature


@kernel
def roomier(table, n, count):
    """A table with the same first n rows, and room for `count` more."""
    more = np.empty((2 * (n + count), table.shape[1]))
    for i in range(n):
        for j in range(table.shape[1]):
            more[i, j] = table[i, j]
    return more


@kernel
def columns(found, n):
    """(feature, normal, point, gap, predicted) of the first n contacts."""
    feature, normal, point = np.empty(n, np.int64), np.empty((n, 3)), np.empty((n, 3))
    gap, predicted = np.empty(n), np.empty(n)
    for i in range(n):
        feature[i], gap[i], predicted[i] = int(found[i, FEATURE]), found[i, GAP], found[i, PREDICTED]
        for j in range(3):
            normal[i, j], point[i, j] = found[i, j], found[i, POINT + j]
    return feature, normal, point, gap, predicted


@kernel
def name(base, kind, i, j):
    """A number below 2^20 for a contact: the parts of the bodies (`base`), which features meet, and their codes."""
    h = ((base * 4 + kind) * 8191 + i) * 131071 + j
    h = (h ^ (h >> 17)) * 0x9E3779B1
    h = (h ^ (h >> 13)) * 0x85EBCA6B
    return (h ^ (h >> 16)) & NAMES
