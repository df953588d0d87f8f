"""The violators of one GR iteration after another, and their reflection in small islands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean
from ..solvers.qp.dense import VECTORS, inside_solution, solve_dense_in
from ..solvers.rows import Floats, Ints, push
from ..solvers.thresholds import DENSE_QP_CONTACTS

# With more than one violator in SCANNED_PER_VIOLATOR contacts, all contacts are scanned: in the order of memory that is
# faster than to look up the contacts of the moved bodies. The others have not changed their speed.
SCANNED_PER_VIOLATOR = 24


class Front(NamedTuple):
    """Where the iteration stands, with m contacts among n bodies. Small numbers: memory is what the loop waits for."""

    x: Floats  # (n, d) whitened velocity
    lam: Floats  # (m,) impulses
    front: NDArray[np.uint32]  # (2, m) the violators of this iteration and of the next
    u: Floats  # (2, m) their speeds
    load: NDArray[np.uint32]  # (n, 2) number of these violators at each body
    candidate: NDArray[np.uint32]  # (m + 1,) contacts that may be violators in the next iteration
    stamp: NDArray[np.uint32]  # (m,) 1 + iteration in which a contact was last a candidate
    chosen: NDArray[np.uint32]  # (m,) 1 + place in the front of a violator that waits for its island, else 0
    member: NDArray[np.uint32]  # (m,) places in the front of the violators that share a body with others
    island: NDArray[np.uint32]  # (m,) places in the front of the violators of one island
    large: NDArray[np.uint32]  # (m,) violators in islands that are too large for the dense method
    rate: Floats  # (m,) c of their cone problem
    stretch: Floats  # (m,) 1 + restitution: c of a violator per speed


class Dense(NamedTuple):
    """Work space for the cone problem of a small island: see `qp/dense.py`."""

    a: Floats
    given: Floats
    work: Floats
    places: Ints


@kernel(inline="always")
def dense_space():
    """Uninitialized work space for islands of up to DENSE_QP_CONTACTS contacts."""
    k = DENSE_QP_CONTACTS
    return Dense(np.empty((k, k)), np.empty((2, k)), np.empty((k + VECTORS, k)), np.empty((2, k), np.int64))


@kernel
def first_violators(rows, velocity, stretch, tol):
    """The front before the first iteration, and the number of violators, which are in front[0]."""
    m, n = len(rows.body), len(velocity)
    at = Front(
        velocity.copy(), np.zeros(m), np.empty((2, m), np.uint32), np.empty((2, m)), np.zeros((n, 2), np.uint32),
        np.arange(m + 1).astype(np.uint32), np.zeros(m, np.uint32), np.zeros(m, np.uint32), np.empty(m, np.uint32),
        np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m), stretch,
    )  # fmt: skip
    return at, _examine(rows, at, m, tol, 0)


@lean
def _examine(rows, at, number, tol, side):
    """The violators among the first `number` candidates, into front[side]; returns how many there are."""
    body, val, base, x, load, candidate = rows.body, rows.val, rows.base, at.x, at.load, at.candidate
    front, u = at.front[side], at.u[side]
    w, d, found = body.shape[1], x.shape[1], 0
    for j in range(number):
        i = candidate[j]
        s = base[i, 0]
        if w == 2 and d == 2:  # unrolled for discs: a loop over two components costs more than its body
            a, b = body[i, 0], body[i, 1]
            if a >= 0 and b >= 0:
                one = val[i, 0, 0, 0] * x[a, 0] + val[i, 0, 0, 1] * x[a, 1]
                s += one + val[i, 1, 0, 0] * x[b, 0] + val[i, 1, 0, 1] * x[b, 1]
            elif a >= 0:
                s += val[i, 0, 0, 0] * x[a, 0] + val[i, 0, 0, 1] * x[a, 1]
            elif b >= 0:
                s += val[i, 1, 0, 0] * x[b, 0] + val[i, 1, 0, 1] * x[b, 1]
        else:
            for e in range(w):
                b = body[i, e]
                if b >= 0:
                    for c in range(d):
                        s += val[i, e, 0, c] * x[b, c]
        front[found], u[found] = i, s  # without a branch, which would be mispredicted at most violators
        found += int(s < -tol)
    for j in range(found):
        for e in range(w):
            b = body[front[j], e]
            if b >= 0:
                load[b, side] += 1
    return found


@lean(inline="always")
def _push(rows, at, i, y):
    """Adds the impulse y of contact i to the velocity and to lam."""
    at.lam[i] += y
    push(rows, i, y, at.x)


@lean(inline="always")
def _product(rows, i, j):
    """Normal row i times normal row j."""
    total, body, val = 0.0, rows.body, rows.val
    w, d = body.shape[1], val.shape[3]
    for e in range(w):
        for f in range(w):
            if body[i, e] == body[j, f] and body[i, e] >= 0:
                if d == 2:
                    total += val[i, e, 0, 0] * val[j, f, 0, 0] + val[i, e, 0, 1] * val[j, f, 0, 1]
                else:
                    for c in range(d):
                        total += val[i, e, 0, c] * val[j, f, 0, c]
    return total


@lean(inline="always")
def _most(load, body, i, side):
    """The largest number of violators at a body of contact i."""
    most = 0
    for e in range(body.shape[1]):
        if body[i, e] >= 0:
            most = max(most, load[body[i, e], side])
    return most


@lean
def push_large(rows, at, number, impulse):
    """Adds the impulses of the first contacts of `large`."""
    for j in range(number):
        _push(rows, at, at.large[j], impulse[j])


@lean
def reflect_small(rows, at, side, count, dense):
    """Reflects the violators of all islands of at most DENSE_QP_CONTACTS contacts; c = stretch u in their cone problem.

    Returns the number of violators in larger islands, which are put into `large`, the largest |c| of all, the largest
    residual of the islands that were solved, a speed, and the multiplications of those whose answer had to be guessed.
    """
    front, u, chosen, stretch = at.front[side], at.u[side], at.chosen, at.stretch
    joined, large, size, worst, work = 0, 0, 0.0, 0.0, 0.0
    for j in range(count):
        i = front[j]
        c = stretch[i] * u[j]
        size = max(size, -c)
        if _most(at.load, rows.body, i, side) > 1:
            at.member[joined] = j
            chosen[i] = j + 1
            joined += 1
        else:
            _push(rows, at, i, -c / rows.diag[i])
    for s in range(joined):
        j = at.member[s]
        if chosen[front[j]] == 0:  # it belongs to an island that is done
            continue
        k = _gather(rows, at, side, j)
        if k <= DENSE_QP_CONTACTS:
            residual, guesses = _reflect_island(rows, at, front, u, k, dense)
            worst = max(worst, residual)
            work += guesses * float(k) ** 3 / 6.0
        else:
            for q in range(k):
                i = front[at.island[q]]
                at.large[large], at.rate[large] = i, stretch[i] * u[at.island[q]]
                large += 1
    return large, size, worst, work


@lean(inline="always")
def _gather(rows, at, side, j):
    """The violators of the island of front[side, j], as places in the front, into `island`; returns their number."""
    front, load, chosen, island = at.front[side], at.load, at.chosen, at.island
    island[0], number, done = j, 1, 0
    chosen[front[j]] = 0
    while done < number:
        i = front[island[done]]
        done += 1
        for e in range(rows.body.shape[1]):
            b = rows.body[i, e]
            if b < 0 or load[b, side] <= 1:  # no other violator, or its violators are in the island already
                continue
            load[b, side] = 1
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                q = rows.touch[t]
                if chosen[q] != 0:
                    island[number] = chosen[q] - 1
                    number += 1
                    chosen[q] = 0
    return number


@lean(inline="always")
def _reflect_island(rows, at, front, u, k, dense):
    """Solves the cone problem of the first k entries of `island`, applies its impulses; returns residual and guesses."""
    island, a, given = at.island, dense.a, dense.given
    for r in range(k):
        i = front[island[r]]
        given[0, r], given[1, r] = at.stretch[i] * u[island[r]], 0.0
        a[r, r] = rows.diag[i]
        for c in range(r):
            total = _product(rows, i, front[island[c]])
            a[r, c], a[c, r] = total, total
    residual, guesses = inside_solution(a, given, k, dense.work), 0
    if residual < 0.0:
        for r in range(k):
            given[1, r] = 0.0
        residual, guesses = solve_dense_in(a, given, False, k, dense.work, dense.places)
    for r in range(k):
        if given[1, r] != 0.0:
            _push(rows, at, front[island[r]], given[1, r])
    return residual, guesses


@lean
def next_violators(rows, at, side, count, tol, generation, settled):
    """The violators after an iteration, into the other side; returns their number.

    Only contacts of bodies that have moved can have become violators. With `settled` the last violators are known to
    separate.
    """
    body, load, stamp, candidate, front = rows.body, at.load, at.stamp, at.candidate, at.front[side]
    m, w = body.shape
    number = 0
    if settled:
        for j in range(count):
            stamp[front[j]] = generation
    if SCANNED_PER_VIOLATOR * count > m:
        for j in range(count):
            for e in range(w):
                if body[front[j], e] >= 0:
                    load[body[front[j], e], side] = 0
        for i in range(m):
            candidate[number] = i
            number += int(stamp[i] != generation)
    else:
        for j in range(count):
            for e in range(w):
                b = body[front[j], e]
                if b < 0 or load[b, side] == 0:  # no body, or one whose contacts are candidates already
                    continue
                load[b, side] = 0
                for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                    q = rows.touch[t]
                    candidate[number] = q
                    number += int(stamp[q] != generation)
                    stamp[q] = generation
    return _examine(rows, at, number, tol, 1 - side)
