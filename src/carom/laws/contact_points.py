"""Contact points with friction, as the kernels of Tang's laws see them (Tang 2014, eqs. 50-61).

In the coordinates (n, t1, t2) of a contact an impulse p changes the relative velocity by K p, with the collision matrix
`K = [g; T] [g; T]^T` of its whitened normal row g and tangent rows T. K may be singular: tangents can depend on each
other or on the normal if the bodies have few degrees of freedom.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import kernel
from ..problem.contacts import Contacts, as_matrix
from ..solvers.rows import Floats, Rows, speed

# Columns of the collision table: K, the pseudo-inverse of its tangential part, and its Schur complement.
NN, N1, N2, T11, T12, T22, I11, I12, I22, SCHUR = range(10)


def collision_table(contacts: Contacts) -> Floats:
    """The collision matrix of each contact, (m, 10).

    The columns are K (nn, n1, n2, 11, 12, 22), the pseudo-inverse of its tangential part (11, 12, 22), and the Schur
    complement `K_nn - K_nt K_tt^+ K_tn`, which is 1 / (K^-1)_nn. All are inverse masses.
    """
    table = np.zeros((contacts.count, 10))
    table[:, NN] = table[:, SCHUR] = contacts.rows.diag
    t = contacts.tangent_speeds().shape[1]
    if contacts.tangents is None or t == 0:
        return table
    normal, tangent = as_matrix(contacts.rows), as_matrix(contacts.tangents)
    along = [tangent[k::t] for k in range(t)]
    for k in range(t):
        table[:, N1 + k] = np.asarray(normal.multiply(along[k]).sum(axis=1)).ravel()
    table[:, T11] = contacts.tangents.diag[::t]
    if t == 2:
        table[:, T12] = np.asarray(along[0].multiply(along[1]).sum(axis=1)).ravel()
        table[:, T22] = contacts.tangents.diag[1::t]
    _invert_tangents(table)
    return table


def _invert_tangents(table: Floats) -> None:
    """Fills in the pseudo-inverse of the tangential part and the Schur complement."""
    a, b, c = table[:, T11], table[:, T12], table[:, T22]
    trace, det = a + c, a * c - b * b
    regular = det > 1e-12 * trace * trace
    # A singular 2x2 block is v v^T with |v|^2 = trace, and its pseudo-inverse v v^T / trace^2.
    square = np.where(trace > 0.0, trace * trace, 1.0)
    bottom = np.where(regular, det, 1.0)
    table[:, I11] = np.where(regular, c / bottom, a / square)
    table[:, I12] = np.where(regular, -b / bottom, b / square)
    table[:, I22] = np.where(regular, a / bottom, c / square)
    n1, n2 = table[:, N1], table[:, N2]
    coupled = table[:, I11] * n1 * n1 + 2.0 * table[:, I12] * n1 * n2 + table[:, I22] * n2 * n2
    table[:, SCHUR] = table[:, NN] - coupled


class Points(NamedTuple):
    """The contacts of an impact with their friction. `t`, the number of tangents, is 0 without friction."""

    rows: Rows
    boundary: Floats  # (m,) normal speed of the boundary
    tangents: Rows
    tangent_boundary: Floats  # (m * t,) its speed along the tangents
    t: int
    table: Floats  # (m, 10), see collision_table
    friction: Floats  # (m,)


def points(contacts: Contacts) -> Points:
    """The contacts of an impact as a named tuple for kernels."""
    rows, boundary, friction = _plain(contacts.rows), writable(contacts.boundary_speed), writable(contacts.friction)
    table = collision_table(contacts)
    if contacts.tangents is None or contacts.tangent_boundary_speed is None or not friction.any():
        return Points(rows, boundary, rows, boundary, 0, table, friction)
    t = len(contacts.tangent_boundary_speed) // contacts.count
    slip_boundary = writable(contacts.tangent_boundary_speed)
    return Points(rows, boundary, _plain(contacts.tangents), slip_boundary, t, table, friction)


def writable(array: Any) -> Any:
    """The array itself, or a copy if it is read-only: to Numba that is another type, which would be compiled again."""
    return array if array.flags.writeable else array.copy()


def _plain(rows: Rows) -> Rows:
    return Rows(*(writable(part) for part in rows))


@kernel
def normal_speed(points, i, x):
    """Separation speed of contact i."""
    return speed(points.rows, i, x) + points.boundary[i]


@kernel
def slip(points, i, x):
    """Slip speeds (s1, s2) of contact i along its tangents; zero for those that it does not have."""
    s1, s2 = 0.0, 0.0
    first = i * points.t
    if points.t > 0:
        s1 = speed(points.tangents, first, x) + points.tangent_boundary[first]
    if points.t > 1:
        s2 = speed(points.tangents, first + 1, x) + points.tangent_boundary[first + 1]
    return s1, s2


@kernel
def apply(points, i, pn, p1, p2, x, low, total, total_low):
    """Adds the impulse (pn, p1, p2) of contact i to the velocity x and to the totals (m, 3), in place.

    Sums are compensated (Kahan), and `low` and `total_low` hold their low parts. Without compensation thousands of
    small impulses would be less accurate by an order of magnitude than the few large impulses of other laws.
    """
    _add(total, total_low, i, 0, pn)
    _push(points.rows, i, pn, x, low)
    if p1 != 0.0:
        _add(total, total_low, i, 1, p1)
        _push(points.tangents, i * points.t, p1, x, low)
    if p2 != 0.0:
        _add(total, total_low, i, 2, p2)
        _push(points.tangents, i * points.t + 1, p2, x, low)


@kernel(inline="always")
def _add(high, low, row, column, value):
    value += low[row, column]
    old = high[row, column]
    high[row, column] = old + value
    low[row, column] = value - (high[row, column] - old)


@kernel
def _push(rows, i, impulse, x, low):
    for e in range(rows.ptr[i], rows.ptr[i + 1]):
        for k in range(rows.val.shape[1]):
            _add(x, low, rows.body[e], k, rows.val[e, k] * impulse)
