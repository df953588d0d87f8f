"""Generalized reflections: simultaneous impulses among the violators, propagation between iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..impact.contacts import INFEASIBLE, Contacts, Impulses
from ..kernels import kernel
from ..solvers.qp.box import Work, solve_box, solve_small_box
from ..solvers.rows import Floats, Ints, Rows
from .front import apply_impulses, initial_front, next_front
from .inelastic import FEASIBLE, NO_WAY_OUT, finish_inelastically
from .law import SMITH_2012, Law

C_R = 1.0  # restitution inside the iteration: the elastic law, which the restitution models interpolate
SETTLED = 1e-9  # residual of an iteration up to which its contacts are known to separate
UNSOLVED = -1.0  # in place of a residual: the cone problem of the violators has not been solved


@dataclass(frozen=True)
class GR(Law):
    """Repeats until nothing approaches: V = {u < -tol}; `lam_V = argmin_{y>=0} 1/2 y^T A y + (1 + c_r) u^T y`; apply.

    Each iteration reflects the velocity in the cone of the violators (Smith 2012, alg. 2), with c_r = 1.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the iterations; 0 means 1000 + 100 sqrt(m).
    """

    name: ClassVar[str] = "gr"
    title: ClassVar[str] = "generalized reflections"
    paper: ClassVar = SMITH_2012
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp")

    tolerance: float = 1e-10
    max_iterations: int = 0

    def impulses(self, contacts: Contacts) -> Impulses:
        bound = self.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
        fastest = contacts.approach()
        tol = self.tolerance * fastest
        lam, x, count, left, worst = reflections(contacts.rows, contacts.velocity, contacts.boundary_speed, tol, bound)
        residual = worst / fastest if fastest > 0.0 else 0.0
        if left and count < bound:
            return Impulses(lam, None, count, INFEASIBLE, residual, (NO_WAY_OUT,))
        if left:
            reason = f"gr reached its bound of {count} iterations"
            return finish_inelastically(contacts, lam, x, count, reason, residual)
        return Impulses(normal=lam, iterations=count, residual=residual)


class _State(NamedTuple):
    """The arrays that the iteration changes in place, and its scratch."""

    x: Floats  # (n, d) whitened velocity
    lam: Floats  # (m,) impulses
    stamp: Ints  # (m,) iteration in which a contact was last examined
    visited: Ints  # (n,) iteration in which a body was last examined
    parent: Ints  # (n,) scratch of the islands
    label: Ints  # (n,) scratch of the islands
    scratch: Floats  # (n, d) zeros, scratch of the small islands


def reflections(
    rows: Rows, velocity: Floats, boundary: Floats, tol: float, bound: int
) -> tuple[Floats, Floats, int, int, float]:
    """The GR loop: (impulses, velocity, iterations, violators left, residual).

    The residual is a speed, the largest of all cone problems. Violators are left at the bound on the iterations, and
    before it if a cone problem has no solution.

    `_iterate` runs the loop as long as all islands are small, and returns for each cone problem with a large one,
    which is solved here. Its methods take most of the compile time; they are compiled when the first one appears.
    """
    m, n = len(boundary), len(rows.touch_ptr) - 1
    state = _State(
        velocity.copy(),
        np.zeros(m),
        np.full(m, -1, np.int64),
        np.full(n, -1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros_like(velocity),
    )
    violators, u = initial_front(rows, state.x, boundary, tol)
    y, residual, count, worst, infeasible = u, UNSOLVED, 0, 0.0, False
    while True:
        violators, u, count, worst, infeasible = _iterate(
            rows, boundary, tol, bound, state, violators, u, y, residual, count, worst
        )
        if len(violators) == 0 or count >= bound or infeasible:
            return state.lam, state.x, count, len(violators), worst
        k = len(violators)
        y = np.zeros(k)
        work = Work(state.parent, state.label, state.scratch)
        residual = solve_box(rows, violators, (1.0 + C_R) * u, np.zeros(k), np.full(k, np.inf), y, False, work)


@kernel
def _iterate(rows, boundary, tol, bound, state, violators, u, y, residual, count, worst):
    """Iterations until nothing approaches, the bound is reached, or an island is too large for the dense method.

    `residual` is that of `y`, the solution of the cone problem of `violators`, or UNSOLVED. A reflected contact
    separates at least as fast as it approached, so it is no violator in the next iteration, provided that the cone
    problem was solved. A cone problem without a solution ends the loop.
    """
    infeasible = False
    while True:
        if residual != UNSOLVED:
            size = -(1.0 + C_R) * u.min()
            worst = max(worst, residual)
            apply_impulses(rows, violators, y, state.lam, state.x)
            infeasible = residual > max(FEASIBLE * size, tol)
            if infeasible:
                break
            settled = residual <= SETTLED * size
            violators, u = next_front(
                rows, state.x, boundary, tol, violators, state.stamp, state.visited, count, settled
            )
            count += 1
        if len(violators) == 0 or count >= bound:
            break
        k = len(violators)
        y = np.zeros(k)
        residual = solve_small_box(
            rows,
            violators,
            (1.0 + C_R) * u,
            np.zeros(k),
            np.full(k, np.inf),
            y,
            state.parent,
            state.label,
            state.scratch,
        )
        if residual == UNSOLVED:
            break
    return violators, u, count, worst, infeasible
