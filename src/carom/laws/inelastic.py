"""Perfectly inelastic impact: the cone problem with c = u over all contacts (Moreau; Smith 2012, alg. 1)."""

from __future__ import annotations

from ..impact.contacts import INFEASIBLE, RESOLVED, Contacts, Impulses
from ..solvers.qp.box import solve_cone

FEASIBLE = 1e-6  # a certificate above this means that no velocity keeps all contacts apart

NO_WAY_OUT = "no velocity keeps every contact apart: boundaries close in on a body"


def inelastic(contacts: Contacts, target: float = 0.0) -> Impulses:
    """`0 <= lam perp A lam + u >= target`: the answer that loses most energy, always well posed at rest.

    Boundaries that close in on a body can leave no feasible velocity at all; the status then says so.
    """
    lam, certificate = solve_cone(contacts.rows, contacts.speeds() - target)
    if certificate > FEASIBLE:
        return Impulses(
            normal=lam,
            iterations=1,
            status=INFEASIBLE,
            certificate=certificate,
            messages=(NO_WAY_OUT,),
        )
    return Impulses(normal=lam, iterations=1, status=RESOLVED, certificate=certificate)
