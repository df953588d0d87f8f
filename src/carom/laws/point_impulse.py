"""The impulse at one contact point with Coulomb friction: sticking, or sliding (Tang 2014, eqs. 50-61, 74-76).

In the coordinates (n, t1, t2) of a contact an impulse p changes the relative velocity by K p, with the
collision matrix `K = [g; T] [g; T]^T` of its whitened normal row g and tangent rows T. K may be singular:
tangents can depend on one another or on the normal when the bodies have few degrees of freedom.

Sliding friction here never does positive work. It is one impulse for a finite change of the normal speed, so a
slip that coupled inertia turns round within that change would otherwise be driven on by it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..impact.contacts import Contacts, as_matrix
from ..kernels import kernel
from ..solvers.heap import heap_pop, heap_push
from ..solvers.rows import Floats, Rows, speed

NN, N1, N2, T11, T12, T22, I11, I12, I22, SCHUR = range(10)

# Below this share of K_nn the normal response of a sliding contact counts as jammed (Painleve).
SLIDING_FLOOR = 1e-3
# Below this share of K_nn the normal row lies in the span of the tangents: no sticking.
STICKING_FLOOR = 1e-9


def collision_table(contacts: Contacts) -> Floats:
    """Numbers of each contact, (m, 10): K (nn, n1, n2, 11, 12, 22), the pseudo-inverse of its tangential part
    (11, 12, 22), and the Schur complement `K_nn - K_nt K_tt^+ K_tn`, which is 1 / (K^-1)_nn."""
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
    """Contacts with their friction, as kernels see them. `t` is 0 where no contact has friction."""

    rows: Rows
    boundary: Floats  # (m,)
    tangents: Rows
    tangent_boundary: Floats  # (m * t,)
    t: int
    table: Floats  # (m, 10), see collision_table
    friction: Floats  # (m,)


def points(contacts: Contacts) -> Points:
    """The contacts of an impact, for kernels."""
    rows, boundary, friction = _plain(contacts.rows), writable(contacts.boundary), writable(contacts.friction)
    table = collision_table(contacts)
    if contacts.tangents is None or contacts.tangent_boundary is None or not friction.any():
        return Points(rows, boundary, rows, boundary, 0, table, friction)
    t = len(contacts.tangent_boundary) // contacts.count
    slip_boundary = writable(contacts.tangent_boundary)
    return Points(rows, boundary, _plain(contacts.tangents), slip_boundary, t, table, friction)


def writable(array: Any) -> Any:
    """The array itself, or a copy of a frozen one: kernels are compiled anew for every mixture of the two."""
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

    Sums are compensated (Kahan), with their low parts beside them: thousands of small impulses in a row would
    otherwise lose an order of magnitude against the few large ones of other laws.
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


@kernel
def requeue(points, rows, row, x, rest, keys, items, size, queued):
    """Queues the violators among the contacts of the bodies that `row` of `rows` has just pushed.

    The heap holds at least one entry for each violator, with a key that is not above its speed; `queued` is the
    lowest such key. A contact whose speed has risen keeps its entry, which is corrected when it comes up.
    """
    for e in range(rows.ptr[row], rows.ptr[row + 1]):
        b = rows.body[e]
        for k in range(points.rows.touch_ptr[b], points.rows.touch_ptr[b + 1]):
            j = points.rows.touch[k]
            u = normal_speed(points, j, x)
            if u < -rest[j] and u < queued[j]:
                keys, items, size = heap_push(keys, items, size, u, j)
                queued[j] = u
    return keys, items, size


@kernel
def worst_first(points, x, rest):
    """The heap of all violators, u < -rest (m,): keys, items, size, and the lowest key of each contact."""
    m = len(points.boundary)
    keys, items, size = np.empty(m + 16), np.empty(m + 16, np.int64), 0
    queued = np.full(m, np.inf)
    for i in range(m):
        u = normal_speed(points, i, x)
        if u < -rest[i]:
            keys, items, size = heap_push(keys, items, size, u, i)
            queued[i] = u
    return keys, items, size, queued


@kernel
def next_worst(points, x, rest, keys, items, size, queued):
    """Takes the contact that approaches fastest: it, its speed and the heap; -1 when none is left."""
    while size > 0:
        key, i, size = heap_pop(keys, items, size)
        if key != queued[i]:
            continue  # a later entry with a lower key has been served
        queued[i] = np.inf
        u = normal_speed(points, i, x)
        if u == key:
            return i, u, keys, items, size
        if u < -rest[i]:
            keys, items, size = heap_push(keys, items, size, u, i)
            queued[i] = u
    return -1, 0.0, keys, items, size


@kernel
def stick(k, s1, s2, du):
    """The impulse that changes the normal speed by du and stops the slip (eq. 50).

    Returns (pn, p1, p2); pn is negative, and so outside every cone, where no such impulse exists.
    """
    if k[SCHUR] <= STICKING_FLOOR * k[NN]:
        return -1.0, 0.0, 0.0
    pn = (du + sticking_offset(k, s1, s2)) / k[SCHUR]
    r1, r2 = -(s1 + k[N1] * pn), -(s2 + k[N2] * pn)
    return pn, k[I11] * r1 + k[I12] * r2, k[I12] * r1 + k[I22] * r2


@kernel
def sticking_offset(k, s1, s2):
    """`K_nt K_tt^+ s`: the normal impulse of sticking is `(du + offset) / schur`."""
    return k[N1] * (k[I11] * s1 + k[I12] * s2) + k[N2] * (k[I12] * s1 + k[I22] * s2)


@kernel
def tangential_work(k, s1, s2, pn, p1, p2):
    """Work of the tangential impulse, `p_t . (s + s+) / 2` (eqs. 17, 19)."""
    half1 = s1 + 0.5 * (k[N1] * pn + k[T11] * p1 + k[T12] * p2)
    half2 = s2 + 0.5 * (k[N2] * pn + k[T12] * p1 + k[T22] * p2)
    return p1 * half1 + p2 * half2


@kernel
def slide(k, mu, s1, s2, du):
    """Sliding friction per unit of normal impulse, (f1, f2), while the normal speed changes by du (eq. 54).

    The direction opposes the slip; from rest it is that of the sticking impulse, against the slip to come.
    The size is mu, or the largest share of it that does not turn the slip round and leaves the effective
    `n^T K (n + mu q)` at a thousandth of K_nn or more. So friction never works positively, and a jammed contact
    (where full friction would make the normal impulse pull the bodies together) slides with less friction.
    """
    size = np.sqrt(s1 * s1 + s2 * s2)
    if size > 1e-12 * du:
        q1, q2 = -s1 / size, -s2 / size
    else:
        size = 0.0
        _, q1, q2 = stick(k, 0.0, 0.0, du)
        length = np.sqrt(q1 * q1 + q2 * q2)
        if length == 0.0:
            return 0.0, 0.0
        q1, q2 = q1 / length, q2 / length
    cross = k[N1] * q1 + k[N2] * q2
    along = k[T11] * q1 * q1 + 2.0 * k[T12] * q1 * q2 + k[T22] * q2 * q2
    share = mu
    # Slip along q afterwards: -size + pn (cross + f along), pn = du / (K_nn + f cross). Not above 0 means
    # f (du along - size cross) <= size K_nn - du cross.
    slope, room = du * along - size * cross, size * k[NN] - du * cross
    if share * slope > room:
        share = max(room / slope, 0.0) if slope > 0.0 else 0.0
    if k[NN] + share * cross < SLIDING_FLOOR * k[NN]:
        share = (SLIDING_FLOOR - 1.0) * k[NN] / cross
    return share * q1, share * q2
