"""The increments of etm without friction, in one stage: the replay and both products run in kernels.

An increment of contact i changes its impulse by p and its stored energy W, with `n = A_ii` and the increment S of its
island:

    whole increment          p = S / n,     W' = W - p (u + S / 2)
    end of an approach       p = -u / n,    W' = W - p u / 2
    all of what is stored    u p + n p^2 / 2 = W,   W' = 0

A thousand contacts take a hundred thousand of them: a stage of the tape for each would cost a hundred times more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels import kernel
from ..laws.contact_points import add_normal, no_impulses
from ..laws.etm import COMPRESSED_SHARE
from ..solvers.rows import Floats, Ints, speed
from .tape import Replay, System, doubled_rows

STEPS, LOSS, CLEAR, WHOLE, APPROACH, ALL = 0, 1, 2, 3, 4, 5  # what happens; the last three are increments
U, STEP, STORED, PUSH = 0, 1, 2, 3  # columns of the numbers of an event: u, S, W before it, p


@kernel(inline="always")
def _room(what, numbers, count):
    """Both tables of events, with room for one more."""
    if count < len(what):
        return what, numbers
    return doubled_rows(what), doubled_rows(numbers)


@kernel
def _increment(rows, i, at, release, event, tie):
    """One increment of contact i; writes its numbers, and returns its kind and the margin of the choice, a speed."""
    sums, u, store, step = at
    n, before = rows.diag[i], u[i]
    kind, du = (WHOLE, step[i]) if release or step[i] < -before else (APPROACH, -before)
    p = du / n
    work = p * (before + 0.5 * du)
    margin = abs(store[i] - work) / p if release else abs(step[i] + before)
    event[U], event[STEP], event[STORED] = before, step[i], store[i]
    if release and not work < store[i]:
        root = np.sqrt(before * before + 2.0 * n * store[i])
        p, kind = (2.0 * store[i] / (before + root) if before > 0.0 else (root - before) / n), ALL
        store[i] = 0.0
    else:
        store[i] -= work
    event[PUSH] = p
    add_normal(rows, i, p, sums)
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b >= 0:
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                u[rows.touch[t]] = speed(rows, rows.touch[t], sums.x)
    return kind, margin if margin > tie else np.inf  # both limits may be equal by construction


@kernel(inline="always")
def _worst(u, rest):
    """The fastest approach beyond `rest` (m,), -1 for none, and the speed of the next one."""
    worst, rival = -1, np.inf
    for i in range(len(u)):
        if u[i] < -rest[i]:
            if worst < 0 or u[i] < u[worst]:
                worst, rival = i, u[worst] if worst >= 0 else np.inf
            else:
                rival = min(rival, u[i])
    return worst, rival


@kernel
def tracked(rows, velocity, restitution, island, options):
    """The repeats of `laws.etm`: events (kind and contact; numbers), velocity, impulses, margins, whether it ended.

    Margins (m,) are those of being the fastest approach and of the size of an increment, as speeds. `options` are the
    increments of an approach, tolerance, bounds on repeats and events, and margins that count as none.
    """
    steps, tol, repeats, bound, tie = options
    m, sums = len(rows.body), no_impulses(velocity, len(rows.body))
    u, store, step, rest = np.empty(m), np.zeros(m), np.zeros(m), np.empty(m)
    first, close, leader = np.full(m, np.inf), np.full(m, np.inf), np.empty(island.max() + 1, np.int64)
    what, numbers, count, at = np.empty((1024, 2), np.int64), np.empty((1024, 4)), 0, (sums, u, store, step)
    for i in range(m):
        u[i] = speed(rows, i, sums.x)
    for _ in range(repeats):
        if -u.min() <= tol or count > bound:
            break
        leader[:] = -1
        for i in range(m):
            if leader[island[i]] < 0 or u[i] < u[leader[island[i]]]:
                leader[island[i]] = i
        for i in leader:
            what, numbers = _room(what, numbers, count)
            what[count, 0], what[count, 1], numbers[count, U], count = STEPS, i, u[i], count + 1
        for i in range(m):
            step[i] = max(-u[leader[island[i]]], 0.0) / steps
            rest[i] = max(tol, COMPRESSED_SHARE * step[i])
        while count <= bound:
            i, rival = _worst(u, rest)
            if i < 0:
                break
            first[i] = min(first[i], rival - u[i])
            what, numbers = _room(what, numbers, count)
            kind, margin = _increment(rows, i, at, False, numbers[count], tie)
            what[count, 0], what[count, 1], close[i], count = kind, i, min(close[i], margin), count + 1
        for i in range(m):
            what, numbers = _room(what, numbers, count)
            what[count, 0], what[count, 1], numbers[count, STORED], count = LOSS, i, store[i], count + 1
            store[i] *= restitution[i] * restitution[i]
        left = True
        while left and count <= bound:
            left = False
            for i in range(m):
                if store[i] > 0.0:
                    what, numbers = _room(what, numbers, count)
                    kind, margin = _increment(rows, i, at, True, numbers[count], tie)
                    what[count, 0], what[count, 1], close[i], count = kind, i, min(close[i], margin), count + 1
                    left = left or store[i] > 0.0
        store[:] = 0.0
        what, numbers = _room(what, numbers, count)
        what[count, 0], what[count, 1], count = CLEAR, 0, count + 1
    return what[:count].copy(), numbers[:count].copy(), sums.x, u, sums.total[:, 0].copy(), (first, close)


@kernel(inline="always")
def _partials(kind, event, n):
    """Derivatives of p and of W' with respect to u, S, W and n."""
    u, s, p = event[U], event[STEP], event[PUSH]
    if kind == WHOLE:
        mean = u + 0.5 * s
        of_p = (0.0, 1.0 / n, 0.0, -p / n)
        return of_p, (-p, -mean / n - 0.5 * p, 1.0, mean * p / n)
    if kind == APPROACH:
        return (-1.0 / n, 0.0, 0.0, -p / n), (0.5 * u / n - 0.5 * p, 0.0, 1.0, 0.5 * u * p / n)
    slope = u + n * p
    return (-p / slope, 0.0, 1.0 / slope, -0.5 * p * p / slope), (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Tracked(Replay):
    """All increments of an answer."""

    system: System
    what: Ints  # (k, 2) kind and contact of each event
    numbers: Floats  # (k, 4)
    before: Floats  # (N,) velocity before all of them
    after: Floats  # (N,) velocity after all of them
    island: Ints  # (m,)
    restitution: Floats  # (m,)
    steps: float  # increments of an approach
    register: str
    impulses: str

    @property
    def _tables(self) -> tuple[np.ndarray, ...]:
        rows, normal = self.system.rows, self.system.normal
        diagonal = np.add.reduceat(normal.data**2, normal.ptr[:-1])
        own = (self.what, self.numbers, self.island, self.restitution, diagonal)
        return rows.indptr, rows.indices, rows.data, *own

    @property
    def _kernels(self) -> tuple[Callable[..., None], Callable[..., None], Any]:
        return _forwards, _backwards, self.steps


@kernel
def _forwards(tables, x, slopes, steps):
    """Tangents after all increments, in place; x is the velocity before them, and is changed."""
    ptr, columns, data, what, numbers, island, restitution, diagonal = tables
    dx, push_, base, de, rows = slopes
    turned, m, wide = len(rows) > 0, len(diagonal), dx.shape[1]
    store, step = np.zeros((m, wide)), np.zeros((island.max() + 1, wide))
    for t in range(len(what)):
        kind, i = what[t]
        if kind == CLEAR:
            store[:] = 0.0
        elif kind == LOSS:
            e, w = restitution[i], numbers[t, STORED]
            for k in range(wide):
                store[i, k] = e * e * store[i, k] + 2.0 * e * w * de[i, k]
        else:
            of_p, of_w = _partials(kind, numbers[t], diagonal[i])
            p = numbers[t, PUSH]
            for k in range(wide):
                du, dn = base[i, k], 0.0
                for e in range(ptr[i], ptr[i + 1]):
                    du += data[e] * dx[columns[e], k]
                    if turned:
                        du += rows[e, k] * x[columns[e]]
                        dn += 2.0 * data[e] * rows[e, k]
                if kind == STEPS:
                    step[island[i], k] = -du / steps if numbers[t, U] < 0.0 else 0.0
                    continue
                ds, dw = step[island[i], k], store[i, k]
                dp = of_p[0] * du + of_p[1] * ds + of_p[2] * dw + of_p[3] * dn
                store[i, k] = of_w[0] * du + of_w[1] * ds + of_w[2] * dw + of_w[3] * dn
                push_[i, k] += dp
                for e in range(ptr[i], ptr[i + 1]):
                    dx[columns[e], k] += data[e] * dp
                    if turned:
                        dx[columns[e], k] += rows[e, k] * p
            if kind != STEPS:
                for e in range(ptr[i], ptr[i + 1]):
                    x[columns[e]] += data[e] * p


@kernel
def _backwards(tables, x, slopes, steps):
    """Adjoints before all increments, in place; x is the velocity after them, and is changed."""
    ptr, columns, data, what, numbers, island, restitution, diagonal = tables
    out, push_, base, de, rows = slopes
    turned, m, wide = len(rows) > 0, len(diagonal), out.shape[1]
    store, step = np.zeros((m, wide)), np.zeros((island.max() + 1, wide))
    for t in range(len(what) - 1, -1, -1):
        kind, i = what[t]
        if kind == CLEAR:
            store[:] = 0.0
        elif kind == LOSS:
            e, w = restitution[i], numbers[t, STORED]
            for k in range(wide):
                de[i, k] += 2.0 * e * w * store[i, k]
                store[i, k] *= e * e
        else:
            of_p, of_w = _partials(kind, numbers[t], diagonal[i])
            p = numbers[t, PUSH]
            if kind != STEPS:
                for e in range(ptr[i], ptr[i + 1]):
                    x[columns[e]] -= data[e] * p
            for k in range(wide):
                if kind == STEPS:
                    du, dn = -step[island[i], k] / steps if numbers[t, U] < 0.0 else 0.0, 0.0
                    step[island[i], k] = 0.0
                else:
                    given, w = push_[i, k], store[i, k]
                    for e in range(ptr[i], ptr[i + 1]):
                        given += data[e] * out[columns[e], k]
                    du, dn = of_p[0] * given + of_w[0] * w, of_p[3] * given + of_w[3] * w
                    step[island[i], k] += of_p[1] * given + of_w[1] * w
                    store[i, k] = of_p[2] * given + of_w[2] * w
                base[i, k] += du
                for e in range(ptr[i], ptr[i + 1]):
                    if turned:
                        if kind != STEPS:
                            rows[e, k] += p * out[columns[e], k]
                        rows[e, k] += du * x[columns[e]] + 2.0 * dn * data[e]
                    out[columns[e], k] += data[e] * du
