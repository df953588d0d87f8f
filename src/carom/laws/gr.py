"""Generalized reflections: simultaneous impulses among the violators, propagation between iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..impact.contacts import INFEASIBLE, Contacts, Impulses
from ..kernels import kernel
from ..solvers.qp.box import Work, solve_box
from ..solvers.rows import Floats, Ints, Rows
from .inelastic import FEASIBLE, NO_WAY_OUT, finish_inelastically
from .law import SMITH_2012, Law
from .violators import dense_space, next_violators, pack, push_large, reflect_small, space_needed

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


_SPACE = {}


def _kept(key, size, kind):
    found = _SPACE.get(key)
    if found is None or len(found) < size:
        found = _SPACE[key] = np.empty(size + size // 4, kind)
    return found


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
    floats, ints, w = space_needed(rows, velocity.shape[1])
    packed, k = pack(rows, velocity, boundary, tol, w, _kept(0, floats, np.float64), _kept(1, ints, np.uint32), _kept(2, m, np.int64))
    dense, y, size, residual, count, worst = dense_space(), np.zeros(0), 0.0, UNSOLVED, 0, 0.0
    while True:
        k, large, size, count, worst, infeasible = _iterate(
            rows, packed, dense, tol, bound, k, y, size, residual, count, worst
        )
        if k == 0 or count >= bound or infeasible:
            return packed.lam.copy(), packed.x[:n].copy(), count, k, worst
        work = Work(np.empty(n, np.int64), np.empty(n, np.int64), np.zeros_like(velocity))
        y = np.zeros(large)
        residual = solve_box(
            rows, packed.large[:large], packed.rate[:large], np.zeros(large), np.full(large, np.inf), y, False, work, tol, True
        )


@kernel
def _iterate(rows, packed, dense, tol, bound, k, y, size, residual, count, worst):
    """Iterations until nothing approaches, the bound is reached, or an island is too large for the dense method.

    There are k violators. `residual` is that of y, the solution of the cone problem of the violators in `packed.large`,
    or UNSOLVED at the start of an iteration; the largest |c| of the iteration is `size`. A reflected contact separates
    at least as fast as it approached, so it is no violator in the next iteration, provided that the cone problem was
    solved. A cone problem without a solution ends the loop.
    """
    infeasible = False
    large = len(y)
    while k > 0 and count < bound:
        if residual == UNSOLVED:
            large, size, residual = reflect_small(packed, count % 2, k, 1.0 + C_R, dense)
            worst = max(worst, residual)
            if large > 0:
                residual = UNSOLVED
                break
        else:
            push_large(packed, large, y)
        worst = max(worst, residual)
        infeasible = residual > max(FEASIBLE * size, tol)
        if infeasible:
            break
        k = next_violators(packed, count % 2, k, tol, count + 1, residual <= SETTLED * size)
        count += 1
        residual = UNSOLVED
    return k, large, size, count, worst, infeasible
