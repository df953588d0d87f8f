"""The Newton-law linear complementarity problem over all contacts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels import kernel
from ..problem.batch import part, put
from ..problem.contacts import Contacts, Impulses
from ..solvers.qp.cone import few_cones, solve_cone
from ..solvers.rows import pushed, speeds
from .inelastic import FEASIBLE_RESIDUAL, finish_inelastically, without_solution
from .law import SMITH_2012, Law

TINY_SPEED = 1e-300  # speed, in place of zero in a quotient


@dataclass(frozen=True)
class LCP(Law):
    """`0 <= lam perp u+ >= -e u-`: every contact reflects, resting ones stick. One cone problem with c = (1 + e) u.

    A contact that separates before the impact may approach after it (u+ >= -u- allows that). As long as one does, the
    problem is solved again from there; problems without such contacts take one solve. e is 1, or the coefficient of
    each contact under the restitution model newton.

    repeat: false solves once, as printed (Smith 2012, eq. 3), and may leave contacts that approach.
    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the number of solves.
    """

    name: ClassVar[str] = "lcp"
    title: ClassVar[str] = "Newton-law LCP"
    paper: ClassVar = SMITH_2012
    cost: ClassVar[str] = (
        "one cone problem over the contacts of an island, repeated until nothing approaches; at most 100 solves"
    )
    claims: ClassVar[frozenset[str]] = frozenset({"SYM", "KIN", "MOM", "ONE", "FEA", "SMP"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp", "newton")

    repeat: bool = True
    tolerance: float = 1e-10
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.repeat:
            object.__setattr__(self, "claims", self.claims - {"FEA"})

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        fastest = contacts.approach()
        tol = self.approach_left(contacts, tolerance)
        u = contacts.speeds()
        lam, x = 0.0 * u, contacts.velocity
        worst, count = 0.0, 0
        stretch, elastic = 1.0 + contacts.restitution, bool((contacts.restitution == 1.0).all())
        while u.min() < -tol and (self.repeat or count == 0):
            if count == self.max_iterations:
                reason = f"lcp reached its bound of {count} solves"
                return finish_inelastically(contacts, lam, x, count, reason, worst / fastest)
            more, residual = solve_cone(contacts.rows, stretch * u, tolerance=tol, conserve=elastic)
            lam = lam + more
            worst, count = max(worst, residual), count + 1
            if residual > max(FEASIBLE_RESIDUAL * 2.0 * fastest, tol):
                return without_solution(contacts, lam, count, worst / fastest)
            x = contacts.after(lam)
            u = contacts.speeds(x)
        return Impulses(normal=lam, iterations=count, residual=worst / max(fastest, TINY_SPEED))


@kernel
def cone_each(batch, first, last, share, bound, answer):
    """The elastic `LCP.impulses` of problems first..last-1 of a batch, without those that are perfectly inelastic."""
    for k in range(first, last):
        if batch.restitution[k] > 0.0:
            rows, velocity, _ = part(batch, k)
            u = speeds(rows, velocity)
            fastest, lam, worst, count = max(-u.min(), 0.0), 0.0 * u, 0.0, 0
            while u.min() < -share * fastest and count < bound:
                more, residual = few_cones(rows, 2.0 * u)
                lam, worst, count = lam + more, max(worst, residual), count + 1
                u = speeds(rows, pushed(rows, lam, velocity))
            left = u.min() < -share * fastest
            put(answer, batch, k, lam, count, np.inf if left else worst / max(fastest, TINY_SPEED))


@kernel
def stop_each(batch, first, last, answer):
    """Perfectly inelastic impact in problems first..last-1 of a batch, without those that are elastic."""
    for k in range(first, last):
        if batch.restitution[k] < 1.0:
            rows, velocity, _ = part(batch, k)
            u = speeds(rows, velocity)
            fastest = -u.min()
            if fastest > 0.0:
                lam, residual = few_cones(rows, u)
                put(answer, batch, k, lam, 1, residual / fastest)
