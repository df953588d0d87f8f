"""Contact points with friction, as the kernels of Tang's laws see them (Tang 2014, eqs. 50-61).

In the coordinates (n, t1, t2) of a contact an impulse p changes the relative velocity by K p, with the collision matrix
`K = [g; T] [g; T]^T` of its whitened normal row g and tangent rows T. K may be singular: tangents can depend on each
other or on the normal if the bodies have few degrees of freedom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Rows, row_speed, speed

# Columns of the collision table: K, the pseudo-inverse of its tangential part, and its Schur complement.
NN, N1, N2, T11, T12, T22, I11, I12, I22, SCHUR = range(10)


def collision_table(contacts: Contacts) -> Floats:
    """The collision matrix of each contact, (m, 10).

    The columns are K (nn, n1, n2, 11, 12, 22), the pseudo-inverse of its tangential part (11, 12, 22), and the Schur
    complement `K_nn - K_nt K_tt^+ K_tn`, which is 1 / (K^-1)_nn. All are inverse masses.
    """
    table, rows, t = np.zeros((contacts.count, 10)), contacts.rows, contacts.tangent_count
    table[:, NN] = table[:, SCHUR] = rows.diag
    if t == 0:
        return table
    for k in range(t):
        table[:, N1 + k] = _products(rows, 0, 1 + k)
    table[:, T11] = _products(rows, 1, 1)
    if t == 2:
        table[:, T12], table[:, T22] = _products(rows, 1, 2), _products(rows, 2, 2)
    _invert_tangents(table)
    return table


@kernel
def _products(rows, one, two):
    """The scalar product (m,) of two rows of each contact."""
    out = np.zeros(len(rows.body))
    for i in range(len(out)):
        for side in range(rows.val.shape[1]):
            for c in range(rows.val.shape[3]):
                out[i] += rows.val[i, side, one, c] * rows.val[i, side, two, c]
    return out


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
    """The contacts of an impact with their friction."""

    rows: Rows
    t: int  # number of tangents, 0 without friction
    table: Floats  # (m, 10), see collision_table
    friction: Floats  # (m,)


def points(contacts: Contacts) -> Points:
    """The contacts of an impact as a named tuple for kernels."""
    friction = contacts.friction
    return Points(contacts.rows, contacts.tangent_count if friction.any() else 0, collision_table(contacts), friction)


@kernel(inline="always")  # a call would pass all arrays of the tuple by value
def normal_speed(points, i, x):
    """Separation speed of contact i."""
    return speed(points.rows, i, x)


@kernel(inline="always")
def slip(points, i, x):
    """Slip speeds (s1, s2) of contact i along its tangents; zero for those that it does not have."""
    s1, s2, rows = 0.0, 0.0, points.rows
    if points.t > 0:
        s1 = row_speed(rows, x, i, 1) + rows.base[i, 1]
    if points.t > 1:
        s2 = row_speed(rows, x, i, 2) + rows.base[i, 2]
    return s1, s2


class Sums(NamedTuple):
    """Velocity and impulses with compensated sums (Kahan): the low parts are what rounding has cut off.

    Without compensation thousands of small impulses would be less accurate by an order of magnitude than the few large
    impulses of other laws.
    """

    x: Floats  # (n, d) velocity
    low: Floats
    total: Floats  # (m, 3) impulses along the normal and the tangents
    total_low: Floats


@kernel(inline="always")
def no_impulses(velocity, m):
    """The sums before the first impulse."""
    return Sums(velocity.copy(), np.zeros_like(velocity), np.zeros((m, 3)), np.zeros((m, 3)))


@kernel(inline="always")
def add_normal(rows, i, impulse, sums):
    """Adds a normal impulse of contact i to the velocity and to the totals, in place."""
    _add(sums.total, sums.total_low, i, 0, impulse)
    _push(rows, i, 0, impulse, sums)


@kernel(inline="always")
def apply(points, i, pn, p1, p2, sums):
    """Adds the impulse (pn, p1, p2) of contact i to the velocity and to the totals, in place."""
    add_normal(points.rows, i, pn, sums)
    if p1 != 0.0:
        _add(sums.total, sums.total_low, i, 1, p1)
        _push(points.rows, i, 1, p1, sums)
    if p2 != 0.0:
        _add(sums.total, sums.total_low, i, 2, p2)
        _push(points.rows, i, 2, p2, sums)


@kernel(inline="always")
def _add(high, low, row, column, value):
    value += low[row, column]
    old = high[row, column]
    high[row, column] = old + value
    low[row, column] = value - (high[row, column] - old)


@kernel(inline="always")
def _push(rows, i, row, impulse, sums):
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b >= 0:
            for c in range(rows.val.shape[3]):
                _add(sums.x, sums.low, b, c, rows.val[i, side, row, c] * impulse)
