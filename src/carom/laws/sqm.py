"""The sequential impulse method: the fastest approach is reflected next, with friction in the same impulse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..kernels import kernel, lean
from ..problem.contacts import Contacts, Impulses
from .contact_points import N1, N2, NN, apply, no_impulses, points, slip
from .heap import heap_add
from .law import TANG_2014, Law, affordable_impulses, reflected
from .stick_slip import slide, stick, tangential_work
from .worst_first import most_entries, next_worst, requeue, with_room, worst_first


@dataclass(frozen=True)
class SQM(Law):
    """Reflects the contact with the fastest approach, as if it were alone, until none approaches (Tang 2014, app. A).

    One impulse gives `u+ = -e u`. It stops the slip as well if that takes |p_t| <= mu p_n (eqs. 72-74). If not, it is
    `p_n (n + mu q)` with q against the slip (eqs. 75-76). Their signs of u and q disagree; here `p_n = -(1 + e) u / n^T
    K (n + mu q)`. An impulse never raises kinetic energy: see `stick_slip.slide`. Without friction this is Gauss-Seidel
    with order "worst", and not symmetric either. For e < 1 it can collapse inelastically, in an infinite sequence of
    smaller and smaller reflections; the tolerance ends it, and a message says so.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the single reflections. 0 means 1000 + 2000 m, or about a second of work for up to 30
    contacts (a fifth of that in a run) if that is less.
    """

    name: ClassVar[str] = "sqm"
    title: ClassVar[str] = "sequential impulse method"
    paper: ClassVar = TANG_2014
    cost: ClassVar[str] = "one contact at a time, found by a heap; at most 1000 + 2000 m reflections"
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "KIN", "MOM", "ONE", "WAV", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("newton",)
    one_by_one: ClassVar[bool] = True
    own_friction: ClassVar[bool] = True

    tolerance: float = 1e-10
    max_iterations: int = 0

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        tol = self.approach_left(contacts, tolerance)
        p = points(contacts)
        bound = self.max_iterations or min(1000 + 2000 * contacts.count, affordable_impulses(p.rows, p.t, tolerance))
        sums, count, left = _reflect(p, contacts.velocity, contacts.restitution, tol, bound)
        result = reflected(contacts, sums.total[:, 0].copy(), sums.x, count, left, tol, self.name)
        return replace(result, tangent=sums.total[:, 1 : 1 + p.t].copy() if p.t else None)


@kernel
def _reflect(points, velocity, restitution, tol, bound):
    """Reflections, fastest approach first. Returns velocity and impulses, their number, and violators left."""
    m = len(points.rows.body)
    sums = no_impulses(velocity, m)
    heap, size = worst_first(points, sums.x, np.full(m, tol))
    count, full = 0, True
    while full:
        count, size, full = _reflect_in(points, restitution, bound, sums, count, heap, size)
        if full:
            heap = with_room(heap, size)
    return sums, count, size


@lean
def _reflect_in(points, restitution, bound, sums, count, heap, size):
    """Reflections while the heap has room; returns their number, the size of the heap, and whether it is full."""
    x = sums.x
    while True:
        i, u, size = next_worst(points, x, heap, size)
        if i < 0:
            return count, 0, False
        if count >= bound:
            return count, 1 + size, False
        if size + most_entries(points, i) > len(heap.keys):
            heap.queued[i] = u
            return count, heap_add(heap.keys, heap.items, size, u, i), True
        pn, p1, p2 = _reflection(points, i, u, x, restitution[i])
        apply(points, i, pn, p1, p2, sums)
        count += 1
        size = requeue(points, i, x, heap, size)


@kernel(inline="always")
def _reflection(points, i, u, x, e):
    """The impulse (pn, p1, p2) of contact i that gives u+ = -e u."""
    k = points.table[i]
    mu = points.friction[i]
    du = -(1.0 + e) * u
    f1, f2 = 0.0, 0.0
    if points.t > 0 and mu > 0.0:
        s1, s2 = slip(points, i, x)
        pn, p1, p2 = stick(k, s1, s2, du)
        # Newton's law prescribes u+ independently of friction, so stopping the slip can require energy.
        work = pn * (u + 0.5 * du) + tangential_work(k, s1, s2, pn, p1, p2)
        if pn > 0.0 and p1 * p1 + p2 * p2 <= mu * mu * pn * pn and work <= 0.0:
            return pn, p1, p2
        f1, f2 = slide(k, mu, s1, s2, du)
    pn = du / (k[NN] + k[N1] * f1 + k[N2] * f2)
    return pn, f1 * pn, f2 * pn
