"""Quadratic contact energy: contacts compress and expand together, each as long as it stores energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels import kernel
from ..problem.batch import part, put
from ..problem.contacts import Contacts, Impulses
from ..solvers.rows import Floats, push, speed, speeds
from .front import initial_front, next_front
from .heap import heap_add, heap_grown, heap_pop
from .inelastic import finish_inelastically
from .law import ZHANG_2015, Law, reflected

# Columns of the state of a contact. Its stored energy is E(s) = -F e(s), e(s) = a (s - s0)^2 / 2 + b (s - s0) + c, from
# its last change s0 on. (From s = 0 on, as in the paper, the constant term would cancel more and more digits as s
# grows.) F is the rate of its impulse, NEXT the s at which it would end, QUEUED its key in the heap (never later than
# NEXT), DONE the s at which it has ended, or -1.
A, B, C, S0, F, NEXT, QUEUED, DONE = range(8)


UNEVEN_WORK, ROUNDED_WORK = 1e-12, 1e-3  # work of a pass, relative to its energy, that is corrected: see `passes`
DENSE_STRONGE_CONTACTS = 2000  # largest Delassus matrix of the model stronge that is stored as an array


@dataclass(frozen=True)
class QCE(Law):
    """In one pass the impulse of each violator i grows as `P_i = s F_i`, `F_i = -w_i u_i`, until its energy is 0 again.

    While a set of contacts is active, `u_i(s) = a_i s + b_i` is linear, `a = A F`. The stored energy `-int u_i dP_i` is
    `E_i(s) = -F_i e_i(s)`, `e_i = a_i s^2 / 2 + b_i s + c_i`, quadratic in s. The end of each contact is therefore the
    root of a quadratic; its weight w_i (1 in the paper) occurs in a alone. All E_i are zero at the end of a pass,
    whatever the weights, so each pass conserves energy. A heap finds the next end; the end of contact k changes only
    its neighbors, so that a pass over m contacts costs O(m log m). Contacts that are compressed again wait for the next
    pass. (Zhang 2015, alg. 1; derived from the equations, since the printed listing is damaged.)

    Under the restitution model stronge a contact loses 1 - e^2 of its energy where it is compressed most, inside the
    passes. The paper tries this in its section 4 and drops it, because the passes can collapse inelastically; here it
    is a plain implementation for few contacts.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the passes; 0 means 1000 + 100 sqrt(m).
    patch_weights: in a simulation, w_i is the share of the touching faces that contact i stands for
    (`carom.problem.patches`) instead of 1. A problem has its own weights.
    """

    name: ClassVar[str] = "qce"
    title: ClassVar[str] = "quadratic contact energy"
    paper: ClassVar = ZHANG_2015
    cost: ClassVar[str] = "O(m log m) per pass; at most 1000 + 100 sqrt(m) passes"
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp", "stronge")

    tolerance: float = 1e-10
    max_iterations: int = 0
    patch_weights: bool = False

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        bound = self.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
        tol = self.approach_left(contacts, tolerance)
        weights = contacts.shares
        weights /= weights.max()  # only ratios matter
        if (contacts.restitution < 1.0).any():
            return _with_loss(contacts, weights, tol, bound)
        lam, x, count, left, residual = passes(contacts.rows, contacts.velocity, weights, tol, bound)
        if left:
            reason = f"qce reached its bound of {count} passes"
            return finish_inelastically(contacts, lam, x, count, reason, residual)
        return Impulses(normal=lam, iterations=count, residual=residual)


def _with_loss(contacts: Contacts, weights: Floats, tol: float, bound: int) -> Impulses:
    """Passes with Stronge's restitution inside, until nothing approaches."""
    a: Any = contacts.delassus()
    if contacts.count <= DENSE_STRONGE_CONTACTS:
        a = a.toarray()
    lam, u = np.zeros(contacts.count), contacts.speeds()
    for count in range(bound):
        front = np.flatnonzero(u < -tol)
        if len(front) == 0:
            return reflected(contacts, lam, contacts.after(lam), count, 0, tol, QCE.name)
        own = a[np.ix_(front, front)]
        own = own if isinstance(own, np.ndarray) else own.toarray()
        lam[front] += _lossy_pass(own, u[front], weights[front], contacts.restitution[front])
        u = contacts.speeds(contacts.after(lam))
    reason = f"qce reached its bound of {bound} passes"
    return finish_inelastically(contacts, lam, contacts.after(lam), bound, reason)


@kernel
def _lossy_pass(a, u, w, e):
    """The impulses of one pass over contacts with Delassus matrix `a` and weights w; each loses 1 - e^2 of its energy
    once.

    The energy of contact i is `-F_i e_i(s)`; e_i is lowest where its speed passes zero upwards, and e_i is then
    multiplied by e^2. A contact ends where e_i is zero, from below.
    """
    k = len(u)
    end, speed, energy, now, rate = np.full(k, -1.0), u.copy(), np.zeros(k), 0.0, -u * w
    slope, lost, event = np.empty(k), np.zeros(k, np.bool_), np.empty(k)
    left = k
    while left > 0:
        h = np.inf
        for i in range(k):
            slope[i], event[i] = 0.0, np.inf
            for j in range(k):
                if end[j] < 0.0:
                    slope[i] += a[i, j] * rate[j]
            if end[i] < 0.0 and lost[i]:
                event[i] = crossing(slope[i], speed[i], energy[i])
            elif end[i] < 0.0 and slope[i] > 0.0:
                event[i] = max(-speed[i], 0.0) / slope[i]
            h = min(h, event[i])
        if h == np.inf:  # nothing turns any more
            h, left = 0.0, 0
        now += h
        for i in range(k):
            if end[i] >= 0.0:
                continue
            energy[i] += (speed[i] + 0.5 * slope[i] * h) * h
            if left == 0 or (lost[i] and event[i] <= h):
                end[i], left = now, max(left - 1, 0)
            elif event[i] <= h:
                energy[i] *= e[i] ** 2
                lost[i] = True
            speed[i] += slope[i] * h
    return rate * end


@kernel
def passes(rows, velocity, weights, tol, bound):
    """Passes until nothing approaches: (impulses, velocity, passes, violators left, residual).

    The work of a pass is zero in exact arithmetic. Contacts that hardly approach beside fast ones lose many digits.
    Where rounding makes the work larger than UNEVEN_WORK, the impulses of the pass are multiplied by the factor that
    makes it zero. The residual is the work that is left, over the kinetic energy, or over the energy that the pass
    stored, if boundaries drive it.
    """
    m = len(rows.body)
    x = velocity.copy()
    lam = np.zeros(m)
    stamp, visited = np.full(m, -1, np.int64), np.full(len(x), -1, np.int64)
    slot = np.full(len(x), -1, np.int64)
    front, u = initial_front(rows, x, tol)
    count, worst, energy = 0, 0.0, 0.5 * np.sum(x * x)
    while len(front) > 0 and count < bound:
        rate = -u * weights[front]
        s = one_pass(rows, front, u, rate, slot)
        work, stored = 0.0, 0.0
        for j in range(len(front)):
            i = front[j]
            impulse = rate[j] * s[j]
            lam[i] += impulse
            push(rows, i, impulse, x)
        for j in range(len(front)):
            after = speed(rows, front[j], x)
            work += 0.5 * (u[j] + after) * rate[j] * s[j]
            stored -= 0.5 * u[j] * rate[j] * s[j]
        scale = max(energy, stored)
        if UNEVEN_WORK * scale < abs(work) < ROUNDED_WORK * stored:
            # work(t) = (t^2 a + 2 t b) / 2 for impulses times t, with b = -2 stored and a / 2 + b = work.
            more = 2.0 * stored / (2.0 * stored + work) - 1.0
            for j in range(len(front)):
                lam[front[j]] += more * rate[j] * s[j]
                push(rows, front[j], more * rate[j] * s[j], x)
            work = 0.0
        if scale > 0.0:
            worst = max(worst, abs(work) / scale)
        front, u = next_front(rows, x, tol, front, stamp, visited, count)
        count += 1
    return lam, x, count, len(front), worst


@kernel
def pass_each(batch, first, last, share, bound, answer):
    """`passes` of problems first..last-1 of a batch, without those that are perfectly inelastic."""
    for k in range(first, last):
        if batch.restitution[k] > 0.0:
            rows, velocity, weights = part(batch, k)
            tol = share * max(-speeds(rows, velocity).min(), 0.0)
            most = bound if bound > 0 else 1000 + int(100 * np.sqrt(len(weights)))
            lam, _, count, left, residual = passes(rows, velocity, weights / weights.max(), tol, most)
            put(answer, batch, k, lam, count, np.inf if left else residual)


@kernel
def one_pass(rows, front, u0, rate, slot):
    """The value of s at which each contact of the front ends, with impulses `s rate`. `slot` (n,) is scratch, -1
    everywhere.

    Contacts end in an order that is spread over the whole pile, so data that are used together are stored together: the
    state of a contact in one cache line, its neighbors and their couplings side by side.
    """
    k = len(front)
    ptr, neighbor, coupling = _neighbors(rows, front, slot)
    state = _lines(k)
    keys, items, size = np.empty(2 * k), np.empty(2 * k, np.int32), 0
    for j in range(k):
        a = rate[j] * rows.diag[front[j]]
        for q in range(ptr[j], ptr[j + 1]):
            a += coupling[q] * rate[neighbor[q]]
        state[j, A], state[j, B], state[j, C], state[j, S0] = a, u0[j], 0.0, 0.0
        state[j, F], state[j, DONE] = rate[j], -1.0
        state[j, NEXT] = crossing(a, u0[j], 0.0)
        state[j, QUEUED] = state[j, NEXT]
        if state[j, NEXT] < np.inf:
            size = heap_add(keys, items, size, state[j, NEXT], j)
    now = 0.0
    while size > 0:
        s, j, size = heap_pop(keys, items, size)
        if state[j, DONE] >= 0.0 or s != state[j, QUEUED]:
            continue  # ended, or replaced by an earlier entry
        if state[j, NEXT] > s:
            # Its end has moved to a later s since it was queued. The new entry is made only now.
            state[j, QUEUED] = state[j, NEXT]
            if state[j, NEXT] < np.inf:
                size = heap_add(keys, items, size, state[j, NEXT], j)
            continue
        now = max(now, s)
        state[j, DONE] = now
        for q in range(ptr[j], ptr[j + 1]):
            i = neighbor[q]
            if state[i, DONE] >= 0.0:
                continue
            step = now - state[i, S0]
            state[i, C] += (state[i, B] + 0.5 * state[i, A] * step) * step
            state[i, B] += state[i, A] * step
            state[i, S0] = now
            state[i, A] -= coupling[q] * state[j, F]
            state[i, NEXT] = now + crossing(state[i, A], state[i, B], state[i, C])
            if state[i, NEXT] < state[i, QUEUED]:
                state[i, QUEUED] = state[i, NEXT]
                if size == len(keys):
                    keys, items = heap_grown(keys, items, size)
                size = heap_add(keys, items, size, state[i, NEXT], np.int64(i))
    end = np.empty(k)
    for j in range(k):
        end[j] = state[j, DONE] if state[j, DONE] >= 0.0 else now
    return end


@kernel(inline="always")
def _lines(k):
    """An uninitialized (k, 8) array in which each row lies in one cache line of 64 bytes."""
    raw = np.empty(8 * k + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + 8 * k].reshape(k, 8)


@kernel
def _neighbors(rows, front, slot):
    """For each contact of the front those that share a body with it, and A_ij; two shared bodies make two entries."""
    k, w, d = len(front), rows.body.shape[1], rows.val.shape[3]
    begin, member, place = _by_body(rows, front, slot)
    ptr = np.zeros(k + 1, np.int64)
    for j in range(k):
        ptr[j + 1] = ptr[j]
        for side in range(w):
            b = rows.body[front[j], side]
            if b >= 0:
                ptr[j + 1] += begin[slot[b] + 1] - begin[slot[b]] - 1
    neighbor, coupling = np.empty(ptr[k], np.int32), np.empty(ptr[k])
    put = 0
    for j in range(k):
        for side in range(w):
            b = rows.body[front[j], side]
            if b < 0:
                continue
            for t in range(begin[slot[b]], begin[slot[b] + 1]):
                if member[t] == j:
                    continue
                total, i = 0.0, front[member[t]]
                for c in range(d):
                    total += rows.val[i, place[t], 0, c] * rows.val[front[j], side, 0, c]
                neighbor[put], coupling[put] = member[t], total
                put += 1
    for i in front:
        for side in range(w):
            if rows.body[i, side] >= 0:
                slot[rows.body[i, side]] = -1
    return ptr, neighbor, coupling


@kernel(inline="always")
def _by_body(rows, front, slot):
    """The contacts of the front by body: pointers, contacts as numbers within the front, and their sides.

    `slot` (n,), which is -1 everywhere, receives the numbers of the bodies in these lists.
    """
    w = rows.body.shape[1]
    most = w * len(front)
    begin, bodies = np.zeros(most + 2, np.int64), 0
    for i in front:
        for side in range(w):
            b = rows.body[i, side]
            if b < 0:
                continue
            if slot[b] < 0:
                slot[b] = bodies
                bodies += 1
            begin[slot[b] + 2] += 1
    for b in range(bodies):
        begin[b + 2] += begin[b + 1]
    member, place = np.empty(most, np.int32), np.empty(most, np.int32)
    for j in range(len(front)):
        for side in range(w):
            b = rows.body[front[j], side]
            if b >= 0:
                put = begin[slot[b] + 1]
                begin[slot[b] + 1] += 1
                member[put], place[put] = j, side
    return begin, member, place


@kernel(inline="always")
def crossing(a, b, c):
    """The next upward zero of `a h^2 / 2 + b h + c` for h >= 0, given c <= 0; infinity if there is none.

    The slope there is `+sqrt(b^2 - 2 a c)`. Both forms below are the same root; each is used where it does not
    subtract nearly equal numbers.
    """
    if c >= 0.0 and b > 0.0:
        return 0.0
    square = b * b - 2.0 * a * c
    if square < 0.0:
        return np.inf
    root = np.sqrt(square)
    if b > 0.0:
        return -2.0 * c / (b + root)
    if a <= 0.0:
        return np.inf
    return (root - b) / a
