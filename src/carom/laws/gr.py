"""Generalized reflections: simultaneity among violators, propagation between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..impact.contacts import INFEASIBLE, Contacts, Impulses
from ..kernels import kernel
from ..solvers.qp.box import Work, solve_box, solve_small_box
from ..solvers.rows import Floats, Rows
from .finish import finish_inelastically
from .front import apply_impulses, initial_front, next_front
from .inelastic import FEASIBLE, NO_WAY_OUT
from .law import SMITH_2012, Law
from .pairwise import threshold

SETTLED = 1e-9  # certificate of a step after which its contacts need no second look


@dataclass(frozen=True)
class GR(Law):
    """Repeats until nothing approaches: V = {u < -tol}; `lam_V = argmin_{y>=0} 1/2 y^T A y + 2 u^T y`; apply.

    Each step mirrors the velocity in the cone of the violators (Smith 2012, alg. 2).
    """

    name: ClassVar[str] = "gr"
    title: ClassVar[str] = "generalized reflections"
    paper: ClassVar = SMITH_2012
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp")

    tolerance: float = 1e-10  # speeds, relative to the fastest approach
    max_iterations: int = 0  # 0 means 1000 + 100 sqrt(m)

    def impulses(self, contacts: Contacts) -> Impulses:
        bound = self.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
        tol = threshold(contacts, self.tolerance)
        lam, x, count, left, certificate = reflections(contacts.rows, contacts.velocity, contacts.boundary, tol, bound)
        if certificate > FEASIBLE:
            return Impulses(lam, None, count, INFEASIBLE, certificate, (NO_WAY_OUT,))
        if left:
            reason = f"gr reached its bound of {count} iterations"
            return finish_inelastically(contacts, lam, x, count, reason, certificate)
        return Impulses(normal=lam, iterations=count, certificate=certificate)


def reflections(
    rows: Rows, velocity: Floats, boundary: Floats, tol: float, bound: int
) -> tuple[Floats, Floats, int, int, float]:
    """The GR loop: (impulses, velocity, iterations, violators left, certificate).

    Steps whose islands are all small run in one kernel; a step with a large island comes back here for it.
    """
    lam, x, front, u, count, worst, stamp, visited = _start(rows, velocity, boundary, tol, bound)
    if len(front) == 0 or count >= bound or worst > FEASIBLE:
        return lam, x, count, len(front), worst
    n = len(rows.touch_ptr) - 1
    work = Work(np.empty(n, np.int64), np.empty(n, np.int64), np.zeros_like(x))
    while len(front) > 0 and count < bound and worst <= FEASIBLE:
        k = len(front)
        y = np.zeros(k)
        certificate = solve_box(rows, front, 2.0 * u, np.zeros(k), np.full(k, np.inf), y, False, work)
        worst = max(worst, certificate)
        apply_impulses(rows, front, y, lam, x)
        if worst > FEASIBLE:
            break
        front, u = next_front(rows, x, boundary, tol, front, stamp, visited, count, certificate <= SETTLED)
        front, u, count, residual = _small_steps(
            rows,
            x,
            lam,
            boundary,
            tol,
            bound,
            front,
            u,
            count + 1,
            stamp,
            visited,
            work.parent,
            work.label,
            work.velocity,
        )
        worst = max(worst, residual)
    return lam, x, count, len(front), worst


@kernel
def _start(rows, velocity, boundary, tol, bound):
    """Everything up to the first large island: all there is to do in most small problems."""
    m, n = len(boundary), len(rows.touch_ptr) - 1
    x, lam = velocity.copy(), np.zeros(m)
    stamp, visited = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
    front, u = initial_front(rows, x, boundary, tol)
    parent, label, scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros_like(x)
    front, u, count, worst = _small_steps(
        rows, x, lam, boundary, tol, bound, front, u, 0, stamp, visited, parent, label, scratch
    )
    return lam, x, front, u, count, worst, stamp, visited


@kernel
def _small_steps(rows, x, lam, boundary, tol, bound, front, u, count, stamp, visited, parent, label, scratch):
    """Steps until nothing approaches, the bound is reached, or an island is too large for the dense method.

    A reflected contact separates at least as fast as it approached, so it is not a violator right after, provided
    that the step was solved. One that has no solution ends the loop.
    """
    worst = 0.0
    while len(front) > 0 and count < bound:
        k = len(front)
        y = np.zeros(k)
        certificate = solve_small_box(rows, front, 2.0 * u, np.zeros(k), np.full(k, np.inf), y, parent, label, scratch)
        if certificate < 0.0:
            break
        worst = max(worst, certificate)
        apply_impulses(rows, front, y, lam, x)
        if worst > FEASIBLE:
            break
        front, u = next_front(rows, x, boundary, tol, front, stamp, visited, count, certificate <= SETTLED)
        count += 1
    return front, u, count, worst
