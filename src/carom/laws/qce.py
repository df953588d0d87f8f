"""Quadratic contact energy: contacts compress and expand together, each for as long as it stores energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from ..impact.contacts import Contacts, Impulses
from ..solvers.heap import heap_pop, heap_push
from ..solvers.rows import push, speed
from .finish import finish_inelastically
from .front import initial_front, next_front
from .law import ZHANG_2015, Law
from .pairwise import threshold


@dataclass(frozen=True)
class QCE(Law):
    """In one pass each violator i grows its impulse as `P_i = s F_i`, `F_i = -u_i`, until its energy is back at 0.

    While a set of contacts is active, `u_i(s)` is linear and the stored energy `-F_i e_i(s)`, `e_i' = u_i`,
    quadratic in s, so the end of each contact is the root of a quadratic. A heap finds the next one; ending
    contact k changes only its neighbours, so a pass over m contacts costs O(m log m). Contacts that are pushed
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
        tol = threshold(contacts, self.tolerance)
        lam, x, count, left, residual = passes(contacts.rows, contacts.velocity, contacts.boundary, tol, bound)
        if left:
            reason = f"qce reached its bound of {count} passes"
            return finish_inelastically(contacts, lam, x, count, reason, residual)
        return Impulses(normal=lam, iterations=count, certificate=residual)


@njit(cache=True)
def passes(rows, velocity, boundary, tol, bound):
    """Passes until nothing approaches. The residual is the work of a pass over the work it stored at most."""
    m = len(boundary)
    x = velocity.copy()
    lam = np.zeros(m)
    stamp = np.full(m, -1, np.int64)
    slot = np.full(m, -1, np.int64)
    scratch = np.zeros_like(x)
    front, u = initial_front(rows, x, boundary, tol)
    count, worst = 0, 0.0
    while len(front) > 0 and count < bound:
        s = one_pass(rows, front, u, slot, scratch)
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
        worst = max(worst, abs(work) / stored)
        front, u = next_front(rows, x, boundary, tol, front, stamp, count)
        count += 1
    return lam, x, count, len(front), worst


@njit(cache=True)
def one_pass(rows, front, u0, slot, scratch):
    """The value of s at which each contact of the front ends. `slot` is scratch, -1 everywhere."""
    k = len(front)
    f = -u0
    end = np.full(k, -1.0)
    # e, u and a are kept at the last change s0 of each contact: e(s) = e + u (s - s0) + a (s - s0)^2 / 2.
    # Measured from s = 0 instead, the constant term cancels ever more digits as s grows.
    e, u, a, s0 = np.zeros(k), u0.copy(), np.zeros(k), np.zeros(k)
    for j in range(k):
        slot[front[j]] = j
        push(rows, front[j], f[j], scratch)
    keys, items, size = np.empty(2 * k), np.empty(2 * k, np.int64), 0
    ends = np.empty(k)
    for j in range(k):
        a[j] = speed(rows, front[j], scratch)
        ends[j] = crossing(0.0, u[j], a[j])
        if ends[j] < np.inf:
            keys, items, size = heap_push(keys, items, size, ends[j], j)
    for j in range(k):
        for q in range(rows.ptr[front[j]], rows.ptr[front[j] + 1]):
            for t in range(rows.val.shape[1]):
                scratch[rows.body[q], t] = 0.0
    now = 0.0
    while size > 0:
        s, j, size = heap_pop(keys, items, size)
        if end[j] >= 0.0 or s != ends[j]:
            continue
        now = max(now, s)
        end[j] = now
        i = front[j]
        for q in range(rows.ptr[i], rows.ptr[i + 1]):
            b = rows.body[q]
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                other = slot[rows.touch[t]]
                if other < 0 or end[other] >= 0.0:
                    continue
                shared = block_coupling(rows, rows.touch[t], b, q)
                if shared == 0.0:
                    continue
                step = now - s0[other]
                e[other] += (u[other] + 0.5 * a[other] * step) * step
                u[other] += a[other] * step
                s0[other] = now
                a[other] -= shared * f[j]
                ends[other] = now + crossing(e[other], u[other], a[other])
                if ends[other] < np.inf:
                    keys, items, size = heap_push(keys, items, size, ends[other], other)
    for j in range(k):
        slot[front[j]] = -1
        if end[j] < 0.0:
            end[j] = now
    return end


@njit(cache=True, inline="always")
def block_coupling(rows, i, b, q):
    """The part of A_ik through body b, where entry q of row k belongs to b."""
    total = 0.0
    for p in range(rows.ptr[i], rows.ptr[i + 1]):
        if rows.body[p] == b:
            for t in range(rows.val.shape[1]):
                total += rows.val[p, t] * rows.val[q, t]
    return total


@njit(cache=True, inline="always")
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
