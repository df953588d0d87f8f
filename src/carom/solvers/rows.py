"""Rows of contacts, the one format from assembly to every law and solver, and the elementary operations on them.

A contact has r rows over the bodies that it touches, with one d-vector for each body. Row 0 is the normal, rows 1 to t
are the tangents (t = 1 in 2D, 2 in 3D), and where a material has rolling or torsional friction they are followed by t
rows of rolling and, in 3D, one row of spinning about the normal. Without friction there is only the normal row.

Rows are *whitened*: a row is `L^-1 J^T` with `M = L L^T`, and velocities are `x = L^T v`. The mass matrix is then the
identity, kinetic energy is `|x|^2 / 2`, and the Delassus matrix is `A = G G^T`. Speeds are `u = G x + base`, velocities
after impulses z are `x + G^T z`.

Missing bodies are skipped, and the terms of a sum are added in the order of the bodies of a contact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FRICTION, ROLLING, TORSION = 0, 1, 2  # columns of `Rows.bound`
LOOSE_SUMS = {"reassoc", "contract", "nsz"}  # sums in any order: faster, and the same result in every run


class Rows(NamedTuple):
    """m contacts, each of which touches at most w of n bodies with d velocity components, and the contacts of a body.

    A contact whose normal row is zero keeps its normal impulse: that is friction within given bounds.
    """

    body: Ints  # (m, w) bodies; -1 for none
    val: Floats  # (m, w, r, d) whitened rows; zero where the body is -1
    base: Floats  # (m, r) speeds that no impulse changes: of boundaries and scripted bodies
    bound: Floats  # (m, 3) friction impulses over the normal impulse: sliding (mu), rolling and torsional (lengths)
    tangents: int  # t, also if there is only the normal row
    # What follows is computed by `make_rows`; the frictional contact solver does not need it.
    diag: Floats = np.zeros(0)  # (m,) A_ii, the squared length of each normal row
    touch_ptr: Ints = np.zeros(1, np.int64)  # (n + 1,) body b has the contacts touch[touch_ptr[b]:touch_ptr[b+1]]
    touch: Ints = np.zeros(0, np.int64)  # contacts, ascending for each body


def make_rows(body: Ints, val: Floats, base: Floats, bound: Floats, tangents: int, bodies: int) -> Rows:
    """Rows over `bodies` bodies, with their diagonal and the contacts of each body."""
    m, w = body.shape
    diag, touch_ptr, touch = np.zeros(m), np.zeros(bodies + 1, np.int64), np.empty(m * w, np.int64)
    used = put_incidence(body, val, diag, touch_ptr, touch)
    return Rows(body, val, base, bound, tangents, diag, touch_ptr, touch[:used])


def rows_from_csr(
    ptr: Any, body: Any, val: Any, bodies: int, tangents: tuple[Any, Any, Any] | None = None, t: int = 0
) -> Rows:
    """Rows from normal rows in the form of sparse matrices: row i has the entries ptr[i]:ptr[i+1] of body and val.

    `tangents` are t rows per contact in the same form. They may touch other bodies than the normal row. Prescribed
    speeds and friction are zero.
    """
    # Read-only arrays are another type to Numba: mixing them would compile every kernel twice.
    normal = _plain(ptr, body, val)
    tangent = normal if tangents is None else _plain(*tangents)
    pairs, entries = _side_by_side(normal, tangent, t, max(2, _width(normal, tangent, t)))
    m = len(pairs)
    return make_rows(pairs, entries, np.zeros((m, 1 + t)), np.zeros((m, 3)), max(t, 1), bodies)


def _plain(ptr: Any, body: Any, val: Any) -> tuple[Ints, Ints, Floats]:
    return writable(ptr, np.int64), writable(body, np.int64), writable(val, np.float64)


def writable(array: Any, kind: Any = np.float64) -> Any:
    """`np.require(array, kind, ["C", "W"])` in a tenth of the time."""
    flags = array.flags
    return array if flags.c_contiguous and flags.writeable and array.dtype == kind else np.array(array, kind, order="C")


def taken(rows: Rows, chosen: Ints) -> Rows:
    """The rows of some contacts, in the given order."""
    parts, n = (rows.body[chosen], rows.val[chosen], rows.base[chosen], rows.bound[chosen]), len(rows.touch_ptr) - 1
    return make_rows(*parts, rows.tangents, n)


def normal_rows(rows: Rows) -> Rows:
    """The normal rows alone, close together in memory, without friction."""
    bound = np.zeros_like(rows.bound)
    if rows.val.shape[2] == 1:
        return rows._replace(bound=bound)
    return rows._replace(val=rows.val[:, :, :1].copy(), base=rows.base[:, :1].copy(), bound=bound)


def body_count(rows: Rows) -> int:
    """Number n of bodies."""
    return len(rows.touch_ptr) - 1


@kernel
def counting_sort(key, count):
    """(order, start): the numbers of the keys in ascending order, stable, and where each key begins among them."""
    start = np.zeros(count + 1, np.int64)
    for k in key:
        start[k + 1] += 1
    for k in range(count):
        start[k + 1] += start[k]
    fill = start[:-1].copy()
    order = np.empty(len(key), np.int64)
    for i in range(len(key)):
        order[fill[key[i]]] = i
        fill[key[i]] += 1
    return order, start


@kernel
def put_incidence(body, val, diag, touch_ptr, touch):
    """Writes the diagonal of A, and the contacts of each body: pointers and numbers. Returns how many these are."""
    m, w, _, d = val.shape
    bodies = len(touch_ptr) - 1
    for i in range(m):
        for side in range(w):
            b = body[i, side]
            if b >= 0:
                touch_ptr[b + 1] += 1
                for c in range(d):
                    diag[i] += val[i, side, 0, c] * val[i, side, 0, c]
    for b in range(bodies):
        touch_ptr[b + 1] += touch_ptr[b]
    fill = touch_ptr[:-1].copy()
    for i in range(m):
        for side in range(w):
            b = body[i, side]
            if b >= 0:
                touch[fill[b]] = i
                fill[b] += 1
    return touch_ptr[bodies]


@kernel
def _width(normal, tangent, t):
    """The most bodies that the rows of one contact touch."""
    (ptr, body, _), (tangent_ptr, tangent_body, _) = normal, tangent
    width = 1
    for i in range(len(ptr) - 1):
        count = ptr[i + 1] - ptr[i]
        for e in range(tangent_ptr[i * t], tangent_ptr[(i + 1) * t]):
            new = True
            for f in range(ptr[i], ptr[i + 1]):
                new = new and body[f] != tangent_body[e]
            for f in range(tangent_ptr[i * t], e):
                new = new and tangent_body[f] != tangent_body[e]
            if new:
                count += 1
        width = max(width, count)
    return width


@kernel
def _side_by_side(normal, tangent, t, w):
    """Bodies (m, w) and entries (m, w, 1 + t, d): the bodies of the normal row, then those of the tangents alone."""
    (ptr, row_body, row_val), (tangent_ptr, tangent_body, tangent_val) = normal, tangent
    m, d = len(ptr) - 1, row_val.shape[1]
    body, val = np.full((m, w), -1, np.int64), np.zeros((m, w, 1 + t, d))
    for i in range(m):
        for side in range(ptr[i + 1] - ptr[i]):
            body[i, side] = row_body[ptr[i] + side]
            for c in range(d):
                val[i, side, 0, c] = row_val[ptr[i] + side, c]
        for s in range(t):
            for e in range(tangent_ptr[i * t + s], tangent_ptr[i * t + s + 1]):
                side = 0
                while body[i, side] != tangent_body[e] and body[i, side] >= 0:
                    side += 1
                body[i, side] = tangent_body[e]
                for c in range(d):
                    val[i, side, 1 + s, c] = tangent_val[e, c]
    return body, val


# ---- row times velocity, velocity plus row times impulse


@kernel(inline="always")  # a call would pass all arrays of the tuple by value, which costs more than the work
def row_speed(rows, x, i, row):
    """One row of contact i times x: its speed without that of boundaries."""
    total = 0.0
    if x.shape[1] == 2:  # unrolled for discs: a loop over two components costs more than its body
        for side in range(rows.body.shape[1]):
            b = rows.body[i, side]
            if b >= 0:
                total += rows.val[i, side, row, 0] * x[b, 0] + rows.val[i, side, row, 1] * x[b, 1]
        return total
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b >= 0:
            for c in range(x.shape[1]):
                total += rows.val[i, side, row, c] * x[b, c]
    return total


@kernel(inline="always")
def row_push(rows, x, i, row, impulse):
    """Adds one row of contact i times `impulse` to x, in place."""
    if x.shape[1] == 2:
        for side in range(rows.body.shape[1]):
            b = rows.body[i, side]
            if b >= 0:
                x[b, 0] += rows.val[i, side, row, 0] * impulse
                x[b, 1] += rows.val[i, side, row, 1] * impulse
        return
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b >= 0:
            for c in range(x.shape[1]):
                x[b, c] += rows.val[i, side, row, c] * impulse


@kernel(inline="always")
def speed(rows, i, x):
    """Separation speed of contact i at the velocity x."""
    return row_speed(rows, x, i, 0) + rows.base[i, 0]


@kernel(inline="always")
def push(rows, i, impulse, x):
    """Adds the normal impulse of contact i to the velocity x, in place."""
    row_push(rows, x, i, 0, impulse)


@kernel
def speeds(rows, x):
    """Separation speeds (m,) at the velocity x."""
    u = np.empty(len(rows.body))
    for i in range(len(u)):
        u[i] = speed(rows, i, x)
    return u


@kernel
def slips(rows, x):
    """Slip speeds (m, t) along the tangents at the velocity x; t is 0 if there are only normal rows."""
    t = min(rows.tangents, rows.base.shape[1] - 1)
    out = np.empty((len(rows.body), t))
    for i in range(len(out)):
        for s in range(t):
            out[i, s] = row_speed(rows, x, i, 1 + s) + rows.base[i, 1 + s]
    return out


@kernel
def tangent_squares(rows):
    """Squared lengths (m, t) of the tangent rows."""
    _, w, r, d = rows.val.shape
    out = np.zeros((len(rows.body), min(rows.tangents, r - 1)))
    for i in range(len(out)):
        for s in range(out.shape[1]):
            for side in range(w):
                for c in range(d):
                    out[i, s] += rows.val[i, side, 1 + s, c] * rows.val[i, side, 1 + s, c]
    return out


@kernel
def pushed(rows, impulses, x):
    """The velocity after normal impulses (m,) as a new array."""
    out = x.copy()
    for i in range(len(impulses)):
        if impulses[i] != 0.0:
            push(rows, i, impulses[i], out)
    return out


@kernel
def pushed_along(rows, impulses, x):
    """The velocity after tangential impulses (m, t) as a new array."""
    out = x.copy()
    for i in range(len(impulses)):
        for s in range(impulses.shape[1]):
            if impulses[i, s] != 0.0:
                row_push(rows, out, i, 1 + s, impulses[i, s])
    return out


@lean
def fastest_slip(rows, x):
    """Largest slip speed at the contacts with friction."""
    worst, t = 0.0, min(rows.tangents, rows.base.shape[1] - 1)
    for i in range(len(rows.body)):
        square = 0.0
        if rows.bound[i, FRICTION] > 0.0:
            for row in range(1, 1 + t):
                square += (row_speed(rows, x, i, row) + rows.base[i, row]) ** 2
        worst = max(worst, square)
    return np.sqrt(worst)


@lean
def fastest_speeds(rows, x):
    """The fastest approach, which is not negative, and the fastest approach or slip at a contact with friction."""
    least = 0.0
    for i in range(len(rows.body)):
        least = min(least, speed(rows, i, x))
    return -least if least < 0.0 else 0.0, max(-least, fastest_slip(rows, x))


@kernel
def island_work(rows, before, after, normal, tangent, label):
    """Work `sum z (u + u+) / 2` of normal (m,) and tangential (m, t) impulses on each island, by the label of contacts.

    `before` and `after` are the velocities before and after all impulses, so that the work is the gain of kinetic
    energy, and that on boundaries: `sum (x+ - x) . (x+ + x) / 2 + sum z . base`. That reads each body once.
    """
    work, t, island = np.zeros(label.max() + 1), tangent.shape[1], np.full(len(before), -1)
    for i in range(len(label)):
        for b in rows.body[i]:
            if b >= 0:
                island[b] = label[i]
        work[label[i]] += normal[i] * rows.base[i, 0]
        for row in range(t):
            work[label[i]] += tangent[i, row] * rows.base[i, 1 + row]
    for b in range(len(before)):
        if island[b] >= 0:
            for c in range(before.shape[1]):
                work[island[b]] += 0.5 * (after[b, c] - before[b, c]) * (after[b, c] + before[b, c])
    return work
