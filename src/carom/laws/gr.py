"""Generalized reflections: simultaneous impulses among the violators, propagation between iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ..kernels import kernel
from ..problem.batch import part, put
from ..problem.contacts import Contacts, Impulses
from ..solvers.qp.cone import cone, solve_chosen, work_of
from ..solvers.rows import Floats, Rows, speeds
from ..solvers.thresholds import DENSE_QP_CONTACTS
from .inelastic import FEASIBLE, finish_inelastically, reflected, without_solution
from .law import SMITH_2012, Law
from .violators import dense_space, first_violators, next_violators, push_large, reflect_small

ELASTIC_STRETCH = 2.0  # 1 + c_r of the elastic law, which the restitution models interpolate
# Bound on the multiplications of guesses in small islands, per contact: a third of a second for 100 contacts. Clamped
# fronts of redundant contacts reflect each other and do not end. Of 5,400 random problems of 12 to 110 contacts none that
# ended by itself took more than half as many.
GUESSED_WORK = 1e7
SETTLED_RESIDUAL = 1e-9  # residual of an iteration up to which its contacts are known to separate


@dataclass(frozen=True)
class GR(Law):
    """Repeats until nothing approaches: V = {u < -tol}; `lam_V = argmin_{y>=0} 1/2 y^T A y + (1 + c_r) u^T y`; apply.

    Each iteration reflects the velocity in the cone of the violators (Smith 2012, alg. 2), with c_r = 1. Under the
    restitution model newton c_r is the coefficient of each contact, as printed in the paper. Then the iterations can
    collapse inelastically, which is the point of its fig. 4.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the iterations; 0 means 1000 + 100 sqrt(m).
    """

    name: ClassVar[str] = "gr"
    title: ClassVar[str] = "generalized reflections"
    paper: ClassVar = SMITH_2012
    cost: ClassVar[str] = "one cone problem over the violators per iteration; at most 1000 + 100 sqrt(m) iterations"
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp", "newton")

    tolerance: float = 1e-10
    max_iterations: int = 0

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        bound = self.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
        fastest = contacts.approach()
        tol = self.approach_left(contacts, tolerance)
        few = contacts.count <= DENSE_QP_CONTACTS
        solve = few_reflections if few else reflections
        lam, x, end = solve(contacts.rows, contacts.velocity, 1.0 + contacts.restitution, tol, bound)
        count, residual = end.iterations, end.worst / fastest if fastest > 0.0 else 0.0
        if end.infeasible:
            return without_solution(contacts, lam, count, residual)
        if end.violators:
            reason = f"gr reached its bound of {f'{bound} iterations' if count >= bound else f'work in {count} iterations'}"
            return finish_inelastically(contacts, lam, x, count, reason, residual)
        return replace(reflected(contacts, lam, x, count, 0, tol, self.name), residual=residual)


class _Progress(NamedTuple):
    """Where the iteration stands."""

    violators: int
    large: int  # of these: in islands that are too large for the dense method, whose cone problem is to be solved
    iterations: int
    size: float  # largest |c| of the cone problem of this iteration
    residual: float  # of what has been solved of it, a speed
    worst: float  # largest residual of all iterations
    work: float  # multiplications of guesses, of all iterations
    infeasible: bool  # the cone problem has no solution


def reflections(
    rows: Rows, velocity: Floats, stretch: Floats, tol: float, bound: int
) -> tuple[Floats, Floats, _Progress]:
    """The GR loop: impulses, velocity, and where it has ended.

    `stretch` is 1 + c_r of each contact (Smith 2012, eq. 8 with epsilon = 1 + c_r). Violators are left at the bound on
    the iterations, at that on their work, and if a cone problem has no solution.

    `_iterate` runs the loop as long as all islands are small, and returns for each cone problem with a large one,
    which is solved here. Its methods take most of the compile time; they are compiled when the first one appears.
    """
    front, k = first_violators(rows, velocity, stretch, tol)
    at, dense, y, work = _Progress(k, 0, 0, 0.0, 0.0, 0.0, 0.0, False), dense_space(), np.zeros(0), None
    elastic = bool((stretch == ELASTIC_STRETCH).all())
    while True:
        at = _iterate(rows, front, dense, tol, bound, at, y)
        if at.large == 0 or at.infeasible:
            return front.lam, front.x, at
        work, problem = work or work_of(rows), cone(front.rate[: at.large])
        residual = solve_chosen(rows, front.large[: at.large].astype(np.int64), problem, work, tol, elastic)
        y, at = problem.y, at._replace(residual=max(at.residual, residual))


@kernel
def _iterate(rows, front, dense, tol, bound, at, y):
    """Iterations until nothing approaches, a bound is reached, or an island is too large for the dense method.

    y are the impulses of the violators in large islands, if there are some. A reflected contact separates at least c_r
    times as fast as it approached, so it is no violator in the next iteration, provided that the cone problem was
    solved. A cone problem without a solution ends the loop.
    """
    k, large, count, size, residual, worst = at.violators, at.large, at.iterations, at.size, at.residual, at.worst
    work, most = at.work, GUESSED_WORK * len(rows.body)
    while k > 0 and count < bound and work <= most:
        if large > 0:
            push_large(rows, front, large, y)
            large = 0
        else:
            large, size, residual, guessed = reflect_small(rows, front, count % 2, k, dense)
            work += guessed
            if large > 0:
                return _Progress(k, large, count, size, residual, worst, work, False)
        worst = max(worst, residual)
        if residual > max(FEASIBLE * size, tol):
            return _Progress(k, 0, count, size, residual, worst, work, True)
        settled = residual <= min(SETTLED_RESIDUAL * size, tol)
        k = next_violators(rows, front, count % 2, k, tol, count + 1, settled)
        count += 1
    return _Progress(k, 0, count, size, residual, worst, work, False)


@kernel
def few_reflections(rows, velocity, stretch, tol, bound):
    """`reflections` of at most DENSE_QP_CONTACTS contacts, none of whose islands is large, in one kernel."""
    front, number = first_violators(rows, velocity, stretch, tol)
    at = _Progress(number, 0, 0, 0.0, 0.0, 0.0, 0.0, False)
    return front.lam, front.x, _iterate(rows, front, dense_space(), tol, bound, at, front.rate)


@kernel
def reflect_each(batch, first, last, share, bound, answer):
    """`few_reflections` of problems first..last-1 of a batch, without those that are perfectly inelastic."""
    for k in range(first, last):
        if batch.restitution[k] > 0.0:
            rows, velocity, _ = part(batch, k)
            fastest = max(-speeds(rows, velocity).min(), 0.0)
            most = bound if bound > 0 else 1000 + int(100 * np.sqrt(len(rows.body)))
            elastic = np.full(len(rows.body), ELASTIC_STRETCH)
            lam, _, end = few_reflections(rows, velocity, elastic, share * fastest, most)
            residual = np.inf if end.violators else end.worst / fastest if fastest > 0.0 else 0.0
            put(answer, batch, k, lam, end.iterations, residual)
