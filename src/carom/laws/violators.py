"""The violators of one GR iteration after another, on contacts that are packed into one record each.

The loop is bound by the latency of memory: an iteration visits contacts all over an impact and does little with each.
A record holds all that the speed of a contact needs in one or two cache lines.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean
from ..solvers.qp.dense import VECTORS, inside_solution, solve_dense_in
from ..solvers.rows import Floats, Ints, Rows
from ..solvers.thresholds import DENSE_QP_CONTACTS

# With more than one violator in SCAN contacts, all contacts are scanned: in the order of memory that is faster than to
# look up the contacts of the moved bodies. The others have not changed their speed.
SCAN = 24
KEPT_BYTES = 64 * 2**20  # work space up to this size is kept: impacts of about 400,000 contacts of discs


class Packed(NamedTuple):
    """m contacts of at most w bodies each, and the n bodies; number n stands for no body."""

    body: NDArray[np.uint32]  # (m, w); unsigned, so that Numba needs no case for negative indices
    val: Floats  # (m, w d + 2) the rows, w vectors of d components, then the boundary speed, then A_ii
    touch_ptr: Ints  # (n + 1,) body b is touched by touch[touch_ptr[b]:touch_ptr[b+1]]
    touch: NDArray[np.uint32]
    x: Floats  # (n + 1, d) whitened velocity; zero for no body
    lam: Floats  # (m,) impulses
    front: NDArray[np.uint32]  # (2, m) the violators of this iteration and of the next
    u: Floats  # (2, m) their speeds
    load: NDArray[np.uint32]  # (n + 1, 2) number of these violators at each body, 0 for no body
    candidate: NDArray[np.uint32]  # (m + 1,) contacts that may be violators in the next iteration
    stamp: NDArray[np.uint32]  # (m,) 1 + iteration in which a contact was last a candidate
    chosen: NDArray[np.uint32]  # (m,) 1 + place in the front of a violator that waits for its island, else 0
    member: NDArray[np.uint32]  # (m,) places in the front of the violators that share a body with others
    island: NDArray[np.uint32]  # (m,) places in the front of the violators of one island
    large: NDArray[np.uint32]  # (m,) violators in islands that are too large for the dense method
    rate: Floats  # (m,) c of their cone problem


class Dense(NamedTuple):
    """Work space for the cone problem of a small island: see `qp/dense.py`."""

    a: Floats
    given: Floats
    work: Floats
    places: Ints


def dense_space() -> Dense:
    k = DENSE_QP_CONTACTS
    return Dense(np.empty((k, k)), np.empty((4, k)), np.empty((k + VECTORS, k)), np.empty((2, k), np.int64))


class _Kept(threading.local):
    """Work space that a thread keeps from one impact to the next: fresh memory costs more than the work in it."""

    floats, ints = np.empty(0), np.empty(0, np.uint32)


_kept = _Kept()


def work_space(rows: Rows) -> tuple[Floats, NDArray[np.uint32]]:
    """Work space for `pack`."""
    (m, w), n, d = rows.body.shape, len(rows.touch_ptr) - 1, rows.val.shape[3]
    floats, ints = m * (w * d + 6) + (n + 1) * d, m * (w + 8) + 1 + len(rows.touch) + 2 * (n + 1)
    if 8 * floats + 4 * ints > KEPT_BYTES:
        return np.empty(floats), np.empty(ints, np.uint32)
    if len(_kept.floats) < floats:
        _kept.floats = np.empty(floats + floats // 4)
    if len(_kept.ints) < ints:
        _kept.ints = np.empty(ints + ints // 4, np.uint32)
    return _kept.floats, _kept.ints


@kernel
def pack(rows, velocity, tol, floats, ints):
    """The contacts in given work space, and the number of violators, which are in front[0]."""
    (m, w), (n, d) = rows.body.shape, velocity.shape
    a, b = m * (w * d + 2), m * w
    c, e = a + (n + 1) * d, b + len(rows.touch)
    f, g = e + 2 * m, e + 2 * m + 2 * (n + 1)
    h = g + m + 1
    p = Packed(
        ints[:b].reshape(m, w), floats[:a].reshape(m, w * d + 2), rows.touch_ptr, ints[b:e],
        floats[a:c].reshape(n + 1, d), floats[c : c + m], ints[e:f].reshape(2, m),
        floats[c + m : c + 3 * m].reshape(2, m), ints[f:g].reshape(n + 1, 2), ints[g:h], ints[h : h + m],
        ints[h + m : h + 2 * m], ints[h + 2 * m : h + 3 * m], ints[h + 3 * m : h + 4 * m], ints[h + 4 * m : h + 5 * m],
        floats[c + 3 * m : c + 4 * m],
    )  # fmt: skip
    p.lam[:] = 0.0
    p.chosen[:] = 0
    p.stamp[:] = 0
    p.x[:n] = velocity
    p.x[n] = 0.0
    p.load[:] = 0
    body, val, touch, candidate = p.body, p.val, p.touch, p.candidate
    row_body, row_val, row_touch = rows.body, rows.val, rows.touch
    for t in range(len(touch)):
        touch[t] = row_touch[t]
    for i in range(m):
        candidate[i] = i
        val[i, w * d], val[i, w * d + 1] = rows.base[i, 0], rows.diag[i]
        for side in range(w):
            body[i, side] = row_body[i, side] if row_body[i, side] >= 0 else n
            for t in range(d):
                val[i, side * d + t] = row_val[i, side, 0, t]
    return p, _examine(p, m, tol, 0)


@lean
def _examine(p, number, tol, side):
    """The violators among the first `number` candidates, into front[side]; returns how many there are."""
    body, val, x, load, candidate = p.body, p.val, p.x, p.load, p.candidate
    front, u = p.front[side], p.u[side]
    w, d, found = body.shape[1], x.shape[1], 0
    for j in range(number):
        i = candidate[j]
        s = val[i, w * d]
        if w == 2 and d == 2:  # unrolled for discs: a loop over two components costs more than its body
            a, b = body[i, 0], body[i, 1]
            s += val[i, 0] * x[a, 0] + val[i, 1] * x[a, 1] + val[i, 2] * x[b, 0] + val[i, 3] * x[b, 1]
        else:
            for e in range(w):
                b = body[i, e]
                for t in range(d):
                    s += val[i, e * d + t] * x[b, t]
        front[found], u[found] = i, s  # without a branch, which would be mispredicted at most violators
        found += int(s < -tol)
    for j in range(found):
        load[body[front[j], 0], side] += 1
        for e in range(1, w):
            load[body[front[j], e], side] += 1
    load[len(x) - 1, side] = 0
    return found


@lean(inline="always")
def _push(body, val, x, lam, i, y):
    """Adds the impulse y of contact i to the velocity and to lam."""
    w, d = body.shape[1], x.shape[1]
    lam[i] += y
    if w == 2 and d == 2:
        a, b = body[i, 0], body[i, 1]
        x[a, 0] += val[i, 0] * y
        x[a, 1] += val[i, 1] * y
        x[b, 0] += val[i, 2] * y
        x[b, 1] += val[i, 3] * y
    else:
        for e in range(w):
            b = body[i, e]
            for t in range(d):
                x[b, t] += val[i, e * d + t] * y


@lean(inline="always")
def _product(body, val, i, j, d):
    """Row i times row j; the vectors of no body are zero."""
    total = 0.0
    if body.shape[1] == 2 and d == 2:
        a, b, e, f = body[i, 0], body[i, 1], body[j, 0], body[j, 1]
        if a == e:
            total += val[i, 0] * val[j, 0] + val[i, 1] * val[j, 1]
        if a == f:
            total += val[i, 0] * val[j, 2] + val[i, 1] * val[j, 3]
        if b == e:
            total += val[i, 2] * val[j, 0] + val[i, 3] * val[j, 1]
        if b == f:
            total += val[i, 2] * val[j, 2] + val[i, 3] * val[j, 3]
    else:
        for e in range(body.shape[1]):
            for f in range(body.shape[1]):
                if body[i, e] == body[j, f]:
                    for t in range(d):
                        total += val[i, e * d + t] * val[j, f * d + t]
    return total


@lean(inline="always")
def _most(load, body, i, side):
    """The largest number of violators at a body of contact i."""
    most = max(load[body[i, 0], side], load[body[i, body.shape[1] - 1], side])
    for e in range(1, body.shape[1] - 1):
        most = max(most, load[body[i, e], side])
    return most


@lean
def push_large(p, number, impulse):
    """Adds the impulses of the first contacts of `large`."""
    for j in range(number):
        _push(p.body, p.val, p.x, p.lam, p.large[j], impulse[j])


@lean
def reflect_small(p, side, count, factor, dense):
    """Reflects the violators of all islands of at most DENSE_QP_CONTACTS contacts; c = factor u in their cone problem.

    Returns the number of violators in larger islands, which are put into `large`, the largest |c| of all, and the
    largest residual of the islands that were solved, a speed.
    """
    front, u, load, body, chosen = p.front[side], p.u[side], p.load, p.body, p.chosen
    w, d = body.shape[1], p.x.shape[1]
    joined, large, size, worst = 0, 0, 0.0, 0.0
    for j in range(count):
        i, c = front[j], factor * u[j]
        size = max(size, -c)
        if _most(load, body, i, side) > 1:
            p.member[joined] = j
            chosen[i] = j + 1
            joined += 1
        else:
            _push(body, p.val, p.x, p.lam, i, -c / p.val[i, w * d + 1])
    for s in range(joined):
        j = p.member[s]
        if chosen[front[j]] == 0:  # it belongs to an island that is done
            continue
        k = _gather(p, side, j)
        if k <= DENSE_QP_CONTACTS:
            worst = max(worst, _reflect_island(p, front, u, k, factor, dense))
        else:
            for q in range(k):
                p.large[large], p.rate[large] = front[p.island[q]], factor * u[p.island[q]]
                large += 1
    return large, size, worst


@lean(inline="always")
def _gather(p, side, j):
    """The violators of the island of front[side, j], as places in the front, into `island`; returns their number."""
    front, body, load, chosen, island = p.front[side], p.body, p.load, p.chosen, p.island
    island[0], number, done = j, 1, 0
    chosen[front[j]] = 0
    while done < number:
        i = front[island[done]]
        done += 1
        for e in range(body.shape[1]):
            b = body[i, e]
            if load[b, side] <= 1:  # no other violator, or its violators are in the island already
                continue
            load[b, side] = 1
            for t in range(p.touch_ptr[b], p.touch_ptr[b + 1]):
                q = p.touch[t]
                if chosen[q] != 0:
                    island[number] = chosen[q] - 1
                    number += 1
                    chosen[q] = 0
    return number


@lean(inline="always")
def _reflect_island(p, front, u, k, factor, dense):
    """Solves the cone problem of the first k entries of `island` and applies its impulses; returns the residual."""
    body, val, island, a, given = p.body, p.val, p.island, dense.a, dense.given
    w, d = body.shape[1], p.x.shape[1]
    for r in range(k):
        i = front[island[r]]
        given[0, r], given[1, r], given[2, r], given[3, r] = factor * u[island[r]], 0.0, np.inf, 0.0
        a[r, r] = val[i, w * d + 1]
        for c in range(r):
            total = _product(body, val, i, front[island[c]], d)
            a[r, c], a[c, r] = total, total
    residual = inside_solution(a, given, k, dense.work)
    if residual < 0.0:
        for r in range(k):
            given[3, r] = 0.0
        residual = solve_dense_in(a, given, False, k, dense.work, dense.places)
    for r in range(k):
        if given[3, r] != 0.0:
            _push(body, val, p.x, p.lam, front[island[r]], given[3, r])
    return residual


@lean
def next_violators(p, side, count, tol, generation, settled):
    """The violators after an iteration, into the other side; returns their number.

    Only contacts of bodies that have moved can have become violators. With `settled` the last violators are known to
    separate.
    """
    body, load, stamp, candidate, touch_ptr, touch = p.body, p.load, p.stamp, p.candidate, p.touch_ptr, p.touch
    front = p.front[side]
    m, w = body.shape
    number = 0
    if settled:
        for j in range(count):
            stamp[front[j]] = generation
    if SCAN * count > m:
        for j in range(count):
            for e in range(w):
                load[body[front[j], e], side] = 0
        for i in range(m):
            candidate[number] = i
            number += int(stamp[i] != generation)
    else:
        for j in range(count):
            i = front[j]
            for e in range(w):
                b = body[i, e]
                if load[b, side] == 0:  # no body, or one whose contacts are candidates already
                    continue
                load[b, side] = 0
                for t in range(touch_ptr[b], touch_ptr[b + 1]):
                    q = touch[t]
                    candidate[number] = q
                    number += int(stamp[q] != generation)
                    stamp[q] = generation
    return _examine(p, number, tol, 1 - side)
