"""Contact rows in block form, and the elementary operations on them.

A row holds one `d`-vector for each body that the contact touches. Rows here are *whitened*: row `i` is
`L^-1 J_i^T` with `M = L L^T`, and velocities are `x = L^T v`. The mass matrix is then the identity, kinetic
energy is `|x|^2 / 2`, and the Delassus matrix is `A = G G^T`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Rows(NamedTuple):
    """`m` rows over `n` bodies of `d` components each, and which rows touch a body."""

    ptr: Ints  # (m + 1,) row i owns entries ptr[i]:ptr[i+1]
    body: Ints  # (nnz,) body of each entry, never the world
    val: Floats  # (nnz, d) the entry
    touch_ptr: Ints  # (n + 1,) body b is touched by touch[touch_ptr[b]:touch_ptr[b+1]]
    touch: Ints  # (nnz,) rows, ascending for each body
    diag: Floats  # (m,) A_ii, the squared length of each row


def make_rows(ptr: Ints, body: Ints, val: Floats, n_bodies: int) -> Rows:
    """Rows with their incidence lists and diagonal, in one pass over the entries."""
    # Read-only arrays are another type to Numba: mixing them would compile every kernel twice.
    ptr = np.require(ptr, np.int64, ["C", "W"])
    body = np.require(body, np.int64, ["C", "W"])
    val = np.require(val, np.float64, ["C", "W"])
    touch_ptr, touch, diag = _incidence(ptr, body, val, n_bodies)
    return Rows(ptr, body, val, touch_ptr, touch, diag)


@kernel
def _incidence(ptr, body, val, n_bodies):
    m = len(ptr) - 1
    touch_ptr = np.zeros(n_bodies + 1, np.int64)
    for b in body:
        touch_ptr[b + 1] += 1
    for b in range(n_bodies):
        touch_ptr[b + 1] += touch_ptr[b]
    fill = touch_ptr[:-1].copy()
    touch = np.empty(len(body), np.int64)
    diag = np.zeros(m)
    for i in range(m):
        for e in range(ptr[i], ptr[i + 1]):
            touch[fill[body[e]]] = i
            fill[body[e]] += 1
            for k in range(val.shape[1]):
                diag[i] += val[e, k] * val[e, k]
    return touch_ptr, touch, diag


@kernel(inline="always")
def speed(rows, i, x):
    """Row i times x: the separation speed without that of the boundary."""
    total = 0.0
    # Unrolled for discs: a loop over two components costs more than its body.
    if rows.val.shape[1] == 2:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            b = rows.body[e]
            total += rows.val[e, 0] * x[b, 0] + rows.val[e, 1] * x[b, 1]
        return total
    for e in range(rows.ptr[i], rows.ptr[i + 1]):
        b = rows.body[e]
        for k in range(rows.val.shape[1]):
            total += rows.val[e, k] * x[b, k]
    return total


@kernel(inline="always")
def push(rows, i, impulse, x):
    """Adds row i times `impulse` to x, in place."""
    if rows.val.shape[1] == 2:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            b = rows.body[e]
            x[b, 0] += rows.val[e, 0] * impulse
            x[b, 1] += rows.val[e, 1] * impulse
        return
    for e in range(rows.ptr[i], rows.ptr[i + 1]):
        b = rows.body[e]
        for k in range(rows.val.shape[1]):
            x[b, k] += rows.val[e, k] * impulse


@kernel
def speeds(rows, x, boundary):
    """`u = G x + w` for every row."""
    u = boundary.copy()
    for i in range(len(u)):
        u[i] += speed(rows, i, x)
    return u


@kernel
def pushed(rows, impulses, x):
    """`x + G^T y` as a new array."""
    out = x.copy()
    for i in range(len(impulses)):
        if impulses[i] != 0.0:
            push(rows, i, impulses[i], out)
    return out


@kernel
def fastest_slip(tangents, x, boundary, friction):
    """Largest slip speed at the contacts with friction (m,), each of which has the same number of tangent rows."""
    worst, t = 0.0, len(boundary) // max(len(friction), 1)
    for i in range(len(friction)):
        square = 0.0
        if friction[i] > 0.0:
            for s in range(i * t, (i + 1) * t):
                square += (speed(tangents, s, x) + boundary[s]) ** 2
        worst = max(worst, square)
    return np.sqrt(worst)


@kernel
def rows_times(ptr, body, val, v):
    """`J v` for rows that are not whitened."""
    out = np.zeros(len(ptr) - 1)
    for i in range(len(out)):
        for e in range(ptr[i], ptr[i + 1]):
            for k in range(val.shape[1]):
                out[i] += val[e, k] * v[body[e], k]
    return out


@kernel
def rows_transpose_times(ptr, body, val, y, n):
    """`J^T y`, of shape (n, d), for rows that are not whitened."""
    out = np.zeros((n, val.shape[1]))
    for i in range(len(ptr) - 1):
        for e in range(ptr[i], ptr[i + 1]):
            for k in range(val.shape[1]):
                out[body[e], k] += val[e, k] * y[i]
    return out
