"""The Newton-law linear complementarity problem over all contacts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..impact.contacts import Contacts, Impulses
from ..solvers.qp.box import solve_cone
from .inelastic import FEASIBLE, finish_inelastically, without_solution
from .law import SMITH_2012, Law

TINY = 1e-300  # speed, in place of zero in a quotient


@dataclass(frozen=True)
class LCP(Law):
    """`0 <= lam perp u+ >= -u-`: every contact reflects, resting ones stick. One cone problem with c = 2 u.

    A contact that separates before the impact may approach after it (u+ >= -u- allows that). As long as one does, the
    problem is solved again from there; problems without such contacts take one solve.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the number of solves.
    """

    name: ClassVar[str] = "lcp"
    title: ClassVar[str] = "Newton-law LCP"
    paper: ClassVar = SMITH_2012
    claims: ClassVar[frozenset[str]] = frozenset({"SYM", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp")

    tolerance: float = 1e-10
    max_iterations: int = 100

    def impulses(self, contacts: Contacts) -> Impulses:
        fastest = contacts.approach()
        tol = self.tolerance * fastest
        u = contacts.speeds()
        lam, x = 0.0 * u, contacts.velocity
        worst, count = 0.0, 0
        while u.min() < -tol:
            if count == self.max_iterations:
                reason = f"lcp reached its bound of {count} solves"
                return finish_inelastically(contacts, lam, x, count, reason, worst / fastest)
            more, residual = solve_cone(contacts.rows, 2.0 * u, tolerance=tol, conserve=True)
            lam = lam + more
            worst, count = max(worst, residual), count + 1
            if residual > max(FEASIBLE * 2.0 * fastest, tol):
                return without_solution(contacts, lam, count, worst / fastest)
            x = contacts.after(lam)
            u = contacts.speeds(x)
        return Impulses(normal=lam, iterations=count, residual=worst / max(fastest, TINY))
