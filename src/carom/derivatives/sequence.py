"""Reflections of contacts, each as if it were alone, in one stage: the replay and both products run in kernels.

Reflection of contact i at the velocity x: `p = -(1 + e) u / A_ii`, `x' = x + G_i^T p`, one after the other
(gauss_seidel, sqm), or rounds of several at the same velocity (jacobi). A thousand contacts take some thousand
reflections, each of a few multiplications: a stage of the tape for each would cost a hundred times more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels import kernel
from ..laws.gauss_seidel import RANDOM, WORST, _permuted
from ..laws.heap import heap_pop, heap_push
from ..solvers.rows import Floats, Ints, push, speed
from .tape import Replay, System, doubled


@kernel
def reflections(rows, velocity, restitution, keys, order, tol, bound):
    """The reflections of `laws.gauss_seidel` in an order, and the margins of its decisions.

    Returns contacts and speeds of the reflections, velocity and impulses at the end, and for each contact the smallest
    margin of three decisions: being passed over, being reflected, and being the fastest. `bound` is that of their
    number; there is one more if it was reached.
    """
    m, worst = len(rows.body), order == WORST
    x, lam, u = velocity.copy(), np.zeros(m), np.empty(m)
    passed, chosen, fastest = np.full(m, np.inf), np.full(m, np.inf), np.full(m, np.inf)
    which, before, count = np.empty(64, np.int64), np.empty(64), 0
    heap_key, heap_item, size = np.empty(max(2 * m, 16)), np.empty(max(2 * m, 16), np.int32), 0
    next_item, waiting, queued = np.empty(m, np.int64), 0, np.zeros(m, np.bool_)
    place, keys, last, first = np.empty(m, np.int64), keys.copy(), -1, not worst
    for i in range(m):
        u[i] = speed(rows, i, x)
        place[int(keys[i])] = i
        if u[i] < -tol:
            heap_key, heap_item, size = heap_push(heap_key, heap_item, size, u[i] if worst else keys[i], i)
            queued[i] = True
    while size > 0 or waiting > 0:
        if size == 0:
            if first:
                last = _pass_over(place, last, m, u, passed)
                first = False
            if order == RANDOM:
                keys = _permuted(keys)
            for k in range(waiting):
                heap_key, heap_item, size = heap_push(heap_key, heap_item, size, keys[next_item[k]], next_item[k])
            waiting = 0
        key, i, size = heap_pop(heap_key, heap_item, size)
        if worst:
            if u[i] >= -tol or u[i] != key:
                continue  # an outdated entry
            while size > 0:  # the next valid one is the rival
                rival, j, size = heap_pop(heap_key, heap_item, size)
                if j != i and u[j] == rival and rival < -tol:
                    fastest[i] = min(fastest[i], rival - key)
                    heap_key, heap_item, size = heap_push(heap_key, heap_item, size, rival, j)
                    break
        else:
            queued[i] = False
            if first:
                last = _pass_over(place, last, int(key), u, passed)
            chosen[i] = min(chosen[i], abs(u[i]))
            if u[i] >= -tol:
                continue
        if count > bound:
            break
        if count == len(which):
            which, before = doubled(which), doubled(before)
        impulse = -(1.0 + restitution[i]) * u[i] / rows.diag[i]
        which[count], before[count], count = i, u[i], count + 1
        lam[i] += impulse
        push(rows, i, impulse, x)
        for side in range(rows.body.shape[1]):
            b = rows.body[i, side]
            if b < 0:
                continue
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                j = rows.touch[t]
                u[j] = speed(rows, j, x)
                chosen[j] = min(chosen[j], abs(u[j]))
                if u[j] >= -tol:
                    continue
                if worst:
                    heap_key, heap_item, size = heap_push(heap_key, heap_item, size, u[j], j)
                elif not queued[j]:
                    queued[j] = True
                    if keys[j] > key:
                        heap_key, heap_item, size = heap_push(heap_key, heap_item, size, keys[j], j)
                    else:
                        next_item[waiting] = j
                        waiting += 1
    for i in range(m):
        passed[i] = min(passed[i], abs(u[i]))
    return which[:count], before[:count], x, lam, (passed, chosen, fastest)


@kernel
def _pass_over(place, last, end, u, passed):
    """Notes the speeds of the contacts that the first sweep passes over between the places `last` and `end`."""
    for k in range(last + 1, end):
        passed[place[k]] = min(passed[place[k]], abs(u[place[k]]))
    return end


@kernel
def simultaneous_reflections(rows, velocity, restitution, tol, bound):
    """The rounds of `laws.jacobi`: contacts, speeds, first reflection of each round, velocity, impulses, margins.

    Margins are those of not being reflected, and of being reflected. There is one more round than `bound` if violators
    are left after them.
    """
    m, x, lam = len(rows.body), velocity.copy(), np.zeros(len(rows.body))
    idle, chosen, u = np.full(m, np.inf), np.full(m, np.inf), np.empty(m)
    which, before, ptr, rounds = np.empty(4 * m + 64, np.int64), np.empty(4 * m + 64), np.zeros(64, np.int64), 0
    while True:
        count = ptr[rounds]
        if count + m > len(which):
            which, before = doubled(which), doubled(before)
        if rounds + 1 == len(ptr):
            ptr = doubled(ptr)
        for i in range(m):
            u[i] = speed(rows, i, x)
            if u[i] < -tol:
                which[count], before[count], count = i, u[i], count + 1
                chosen[i] = min(chosen[i], -u[i])
            else:
                idle[i] = min(idle[i], abs(u[i]))
        if count == ptr[rounds] or rounds > bound:
            break
        for s in range(ptr[rounds], count):
            impulse = -(1.0 + restitution[which[s]]) * before[s] / rows.diag[which[s]]
            lam[which[s]] += impulse
            push(rows, which[s], impulse, x)
        rounds += 1
        ptr[rounds] = count
    count = ptr[rounds]
    return which[:count].copy(), before[:count].copy(), ptr[: rounds + 1].copy(), x, lam, (idle, chosen)


@dataclass(frozen=True, eq=False)
class Sequence(Replay):
    """Rounds of reflections, one after the other."""

    system: System
    which: Ints  # (k,) contacts
    speeds: Floats  # (k,) u before each reflection
    ptr: Ints  # (rounds + 1,) round r has the reflections ptr[r]:ptr[r + 1], all at the same velocity
    before: Floats  # (N,) velocity before all of them
    after: Floats  # (N,) velocity after all of them
    restitution: Floats  # (m,) e
    diagonal: Floats  # (m,) A_ii
    own: bool  # whether e are the coefficients of the problem, rather than 1
    register: str
    impulses: str

    @property
    def _tables(self) -> tuple[np.ndarray, ...]:
        rows = self.system.rows
        own = (self.which, self.speeds, self.ptr, self.restitution, self.diagonal)
        return rows.indptr, rows.indices, rows.data, *own

    @property
    def _kernels(self) -> tuple[Callable[..., None], Callable[..., None], Any]:
        return _forwards, _backwards, self.own


@kernel
def _forwards(tables, x, slopes, own):
    """Tangents after all reflections, in place; x is the velocity before them, and is changed."""
    ptr, columns, data, which, speeds, rounds, restitution, diagonal = tables
    dx, push_, base, de, rows = slopes
    turned, change = len(rows) > 0, np.empty(len(diagonal))
    for r in range(len(rounds) - 1):
        for k in range(dx.shape[1]):
            for s in range(rounds[r], rounds[r + 1]):
                i = which[s]
                p = -(1.0 + restitution[i]) * speeds[s] / diagonal[i]
                du, twice = base[i, k], 0.0
                for e in range(ptr[i], ptr[i + 1]):
                    du += data[e] * dx[columns[e], k]
                    if turned:
                        du += rows[e, k] * x[columns[e]]
                        twice += 2.0 * data[e] * rows[e, k]
                change[i] = -(1.0 + restitution[i]) * du - p * twice
                if own:
                    change[i] -= speeds[s] * de[i, k]
                change[i] /= diagonal[i]
            for s in range(rounds[r], rounds[r + 1]):
                i = which[s]
                push_[i, k] += change[i]
                for e in range(ptr[i], ptr[i + 1]):
                    dx[columns[e], k] += data[e] * change[i]
                    if turned:
                        dx[columns[e], k] -= rows[e, k] * (1.0 + restitution[i]) * speeds[s] / diagonal[i]
        for s in range(rounds[r], rounds[r + 1]):
            i = which[s]
            for e in range(ptr[i], ptr[i + 1]):
                x[columns[e]] -= data[e] * (1.0 + restitution[i]) * speeds[s] / diagonal[i]


@kernel
def _backwards(tables, x, slopes, own):
    """Adjoints before all reflections, in place; x is the velocity after them, and is changed."""
    ptr, columns, data, which, speeds, rounds, restitution, diagonal = tables
    out, push_, base, de, rows = slopes
    turned, share = len(rows) > 0, np.empty(len(diagonal))
    for r in range(len(rounds) - 2, -1, -1):
        for s in range(rounds[r], rounds[r + 1]):
            i = which[s]
            for e in range(ptr[i], ptr[i + 1]):
                x[columns[e]] += data[e] * (1.0 + restitution[i]) * speeds[s] / diagonal[i]
        for k in range(out.shape[1]):
            for s in range(rounds[r], rounds[r + 1]):
                i = which[s]
                p = -(1.0 + restitution[i]) * speeds[s] / diagonal[i]
                share[i] = push_[i, k]
                for e in range(ptr[i], ptr[i + 1]):
                    share[i] += data[e] * out[columns[e], k]
                share[i] /= diagonal[i]
                if own:
                    de[i, k] -= speeds[s] * share[i]
                if turned:
                    for e in range(ptr[i], ptr[i + 1]):
                        rows[e, k] += p * out[columns[e], k] - 2.0 * data[e] * p * share[i]
            for s in range(rounds[r], rounds[r + 1]):
                i = which[s]
                speed_ = -(1.0 + restitution[i]) * share[i]
                base[i, k] += speed_
                for e in range(ptr[i], ptr[i + 1]):
                    if turned:
                        rows[e, k] += speed_ * x[columns[e]]
                    out[columns[e], k] += data[e] * speed_
