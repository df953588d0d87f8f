"""Quadratic contact energy: contacts compress and expand together, each for as long as it stores energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..impact.contacts import Contacts, Impulses
from ..kernels import kernel
from ..solvers.heap import heap_pop, heap_push
from ..solvers.rows import push, speed
from .front import initial_front, next_front
from .inelastic import finish_inelastically
from .law import ZHANG_2015, Law

# Columns of a contact's state: e, u and a are kept at its last change s0, where
# e(s) = e + u (s - s0) + a (s - s0)^2 / 2. Measured from s = 0 instead, the constant term would cancel ever more
# digits as s grows. F is its rate, NEXT the s at which it would end, QUEUED its place in the heap (never later than
# NEXT), DONE the s at which it did end.
E, U, A, S0, F, NEXT, QUEUED, DONE = range(8)


@dataclass(frozen=True)
class QCE(Law):
    """In one pass each violator i grows its impulse as `P_i = s F_i`, `F_i = -u_i`, until its energy is back at 0.

    While a set of contacts is active, `u_i(s)` is linear and the stored energy `-F_i e_i(s)`, `e_i' = u_i`,
    quadratic in s, so the end of each contact is the root of a quadratic. A heap finds the next one; ending
    contact k changes only its neighbors, so a pass over m contacts costs O(m log m). Contacts that are pushed
    together again wait for the next pass. (Zhang 2015, alg. 1, derived anew: its listing is damaged.)
    """

    name: ClassVar[str] = "qce"
    title: ClassVar[str] = "quadratic contact energy"
    paper: ClassVar = ZHANG_2015
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp")

    tolerance: float = 1e-10  # speeds, relative to the fastest approach
    max_iterations: int = 0  # passes; 0 means 1000 + 100 sqrt(m)

    def impulses(self, contacts: Contacts) -> Impulses:
        bound = self.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
        tol = self.tolerance * contacts.approach()
        lam, x, count, left, residual = passes(contacts.rows, contacts.velocity, contacts.boundary_speed, tol, bound)
        if left:
            reason = f"qce reached its bound of {count} passes"
            return finish_inelastically(contacts, lam, x, count, reason, residual)
        return Impulses(normal=lam, iterations=count, residual=residual)


@kernel
def passes(rows, velocity, boundary, tol, bound):
    """Passes until nothing approaches. The residual is the work of a pass, which ought to be zero, over the kinetic
    energy, or over what the pass stored if a boundary does the driving."""
    m = len(boundary)
    x = velocity.copy()
    lam = np.zeros(m)
    stamp, visited = np.full(m, -1, np.int64), np.full(len(x), -1, np.int64)
    slot = np.full(m, -1, np.int64)
    front, u = initial_front(rows, x, boundary, tol)
    count, worst, energy = 0, 0.0, 0.5 * np.sum(x * x)
    while len(front) > 0 and count < bound:
        s = one_pass(rows, front, u, slot)
        work, stored = 0.0, 0.0
        for j in range(len(front)):
            i = front[j]
            impulse = -u[j] * s[j]
            lam[i] += impulse
            push(rows, i, impulse, x)
        for j in range(len(front)):
            after = speed(rows, front[j], x) + boundary[front[j]]
            work += 0.5 * (u[j] + after) * -u[j] * s[j]
            stored += 0.5 * u[j] * u[j] * s[j]
        scale = max(energy, stored)
        if scale > 0.0:
            worst = max(worst, abs(work) / scale)
        front, u = next_front(rows, x, boundary, tol, front, stamp, visited, count, False)
        count += 1
    return lam, x, count, len(front), worst


@kernel
def one_pass(rows, front, u0, slot):
    """The value of s at which each contact of the front ends. `slot` is scratch, -1 everywhere.

    Contacts end in an order that jumps all over the pile, so what is touched together lies together: the state of
    a contact in one cache line, its neighbors and their couplings in one run.
    """
    k = len(front)
    ptr, neighbor, coupling = _neighbors(rows, front, slot)
    state = _lines(k)
    keys, items, size = np.empty(2 * k), np.empty(2 * k, np.int32), 0
    for j in range(k):
        slope = -u0[j] * rows.diag[front[j]]
        for q in range(ptr[j], ptr[j + 1]):
            slope -= coupling[q] * u0[neighbor[q]]
        state[j, E], state[j, U], state[j, A], state[j, S0] = 0.0, u0[j], slope, 0.0
        state[j, F], state[j, DONE] = -u0[j], -1.0
        state[j, NEXT] = crossing(0.0, u0[j], slope)
        state[j, QUEUED] = state[j, NEXT]
        if state[j, NEXT] < np.inf:
            keys, items, size = heap_push(keys, items, size, state[j, NEXT], j)
    now = 0.0
    while size > 0:
        s, j, size = heap_pop(keys, items, size)
        if state[j, DONE] >= 0.0 or s != state[j, QUEUED]:
            continue  # ended, or replaced by an earlier entry
        if state[j, NEXT] > s:
            # Its end moved back since it was queued: only now does that cost an entry.
            state[j, QUEUED] = state[j, NEXT]
            if state[j, NEXT] < np.inf:
                keys, items, size = heap_push(keys, items, size, state[j, NEXT], j)
            continue
        now = max(now, s)
        state[j, DONE] = now
        for q in range(ptr[j], ptr[j + 1]):
            i = neighbor[q]
            if state[i, DONE] >= 0.0:
                continue
            step = now - state[i, S0]
            state[i, E] += (state[i, U] + 0.5 * state[i, A] * step) * step
            state[i, U] += state[i, A] * step
            state[i, S0] = now
            state[i, A] -= coupling[q] * state[j, F]
            state[i, NEXT] = now + crossing(state[i, E], state[i, U], state[i, A])
            if state[i, NEXT] < state[i, QUEUED]:
                state[i, QUEUED] = state[i, NEXT]
                keys, items, size = heap_push(keys, items, size, state[i, NEXT], i)
    end = np.empty(k)
    for j in range(k):
        end[j] = state[j, DONE] if state[j, DONE] >= 0.0 else now
    return end


@kernel
def _lines(k):
    """(k, 8) numbers with each row in one cache line of 64 bytes instead of across two."""
    raw = np.empty(8 * k + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + 8 * k].reshape(k, 8)


@kernel
def _neighbors(rows, front, slot):
    """Contacts of the front that share a body with each one, and A_ij; two shared bodies make two entries."""
    k = len(front)
    for j in range(k):
        slot[front[j]] = j
    ptr = np.zeros(k + 1, np.int64)
    for j in range(k):
        count = 0
        for q in range(rows.ptr[front[j]], rows.ptr[front[j] + 1]):
            b = rows.body[q]
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                count += slot[rows.touch[t]] >= 0
            count -= 1
        ptr[j + 1] = ptr[j] + count
    neighbor, coupling = np.empty(ptr[k], np.int32), np.empty(ptr[k])
    for j in range(k):
        put = ptr[j]
        for q in range(rows.ptr[front[j]], rows.ptr[front[j] + 1]):
            b = rows.body[q]
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                i = slot[rows.touch[t]]
                if i < 0 or i == j:
                    continue
                neighbor[put] = i
                coupling[put] = _through_body(rows, front[i], b, q)
                put += 1
    for j in range(k):
        slot[front[j]] = -1
    return ptr, neighbor, coupling


@kernel
def _through_body(rows, i, b, q):
    """The part of A_ik through body b, where entry q of row k belongs to b."""
    total = 0.0
    for p in range(rows.ptr[i], rows.ptr[i + 1]):
        if rows.body[p] == b:
            for t in range(rows.val.shape[1]):
                total += rows.val[p, t] * rows.val[q, t]
    return total


@kernel(inline="always")
def crossing(e, u, a):
    """The next upward zero of `e + u h + a h^2 / 2` for h >= 0, given e <= 0; infinity if there is none.

    Its slope there is `+sqrt(u^2 - 2 a e)`. Both forms below are the same root; each is used where it does not
    subtract nearly equal numbers.
    """
    if e >= 0.0 and u > 0.0:
        return 0.0
    square = u * u - 2.0 * a * e
    if square < 0.0:
        return np.inf
    root = np.sqrt(square)
    if u > 0.0:
        return -2.0 * e / (u + root)
    if a <= 0.0:
        return np.inf
    return (root - u) / a
