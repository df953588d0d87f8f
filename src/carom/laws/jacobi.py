"""Pairwise reflection of all violators at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels import kernel
from ..problem.contacts import Contacts, Impulses
from ..solvers.rows import push
from .front import initial_front, next_front
from .law import SMITH_2012, Law, reflected


@dataclass(frozen=True)
class Jacobi(Law):
    """Repeats: every violator gets the impulse that it would need alone, `-(1 + e) u / A_ii`, all at the same time.

    It is symmetric, but the impulses of neighbors add up, so that the energy can grow without limit until the bound.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the number of iterations.
    max_growth: factor of the kinetic energy above which the iteration counts as diverged.
    """

    name: ClassVar[str] = "jacobi"
    title: ClassVar[str] = "pairwise propagation (Jacobi)"
    paper: ClassVar = SMITH_2012
    cost: ClassVar[str] = "O(m) per pass; at most 1000 passes"
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp", "newton")

    tolerance: float = 1e-10
    max_iterations: int = 1000
    max_growth: float = 1e6

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        tol = self.approach_left(contacts, tolerance)
        given = (contacts.rows, contacts.velocity, contacts.restitution)
        lam, x, count, left = _reflect_all(*given, tol, self.max_iterations, self.max_growth)
        return reflected(contacts, lam, x, count, left, tol, self.name)


@kernel
def _reflect_all(rows, velocity, restitution, tol, bound, growth):
    """The iterations. Returns impulses, velocity, their number, and violators left."""
    m, boundary = len(rows.body), rows.base[:, 0]
    x = velocity.copy()
    lam = np.zeros(m)
    stamp, visited = np.full(m, -1, np.int64), np.full(len(x), -1, np.int64)
    front, u = initial_front(rows, x, tol)
    limit = growth * (np.sum(x * x) + np.sum(boundary * boundary))
    count = 0
    while len(front) > 0 and count < bound and np.sum(x * x) <= limit:
        for j in range(len(front)):
            i = front[j]
            impulse = -(1.0 + restitution[i]) * u[j] / rows.diag[i]
            lam[i] += impulse
            push(rows, i, impulse, x)
        front, u = next_front(rows, x, tol, front, stamp, visited, count)
        count += 1
    return lam, x, count, len(front)
