"""Perfectly inelastic impact, and the laws that finish with it (Moreau; Smith 2012, alg. 1)."""

from __future__ import annotations

import numpy as np

from ..problem.contacts import FINISHED_INELASTICALLY, INFEASIBLE, NOT_CONVERGED, RESOLVED, Contacts, Impulses, worse
from ..solvers.qp.cone import solve_cone
from ..solvers.rows import Floats

FEASIBLE_RESIDUAL = 1e-6  # a residual above this means that no velocity keeps all contacts apart
NO_WAY_OUT = "no velocity keeps every contact apart: boundaries close in on a body"


def inelastic(contacts: Contacts, tolerance: float = 0.0) -> Impulses:
    """`0 <= lam perp A lam + u >= 0`: the answer that loses most energy.

    It is the cone problem with c = u over all contacts, and has a solution wherever boundaries are at rest. Boundaries
    that close in on a body can leave no feasible velocity; the status is then "infeasible". `tolerance` is the speed
    that may be left; 0 asks for an exact answer. The residual is relative to the fastest approach.
    """
    u = contacts.speeds()
    fastest = -float(u.min(initial=0.0))
    if fastest <= 0.0:
        return Impulses(normal=np.zeros(contacts.count))
    lam, speed = solve_cone(contacts.without_friction().rows, u, tolerance=tolerance)
    residual = speed / fastest
    if speed > max(FEASIBLE_RESIDUAL * np.abs(u).max(), tolerance):
        return without_solution(contacts, lam, 1, residual)
    return Impulses(normal=lam, iterations=1, status=RESOLVED, residual=residual)


def without_solution(contacts: Contacts, lam: Floats, iterations: int, residual: float) -> Impulses:
    """The result of a cone problem with a large residual. With boundaries at rest a solution exists, but was missed."""
    if not contacts.boundary_speed.any():
        return Impulses(lam, None, iterations, NOT_CONVERGED, residual)
    return Impulses(lam, None, iterations, INFEASIBLE, residual, (NO_WAY_OUT,))


def finish_inelastically(
    contacts: Contacts, lam: Floats, x: Floats, iterations: int, reason: str, residual: float = 0.0
) -> Impulses:
    """The result of a law that has reached its bound with impulses `lam` and velocity `x`.

    The inelastic impulses that stop every remaining approach are added, and the status says so.
    """
    moving = contacts.moving(x)
    extra = inelastic(moving)
    before = contacts.approach()
    share = moving.approach() / before if before > 0.0 else 1.0  # residuals are relative to the approach before impact
    return Impulses(
        normal=lam + extra.normal,
        iterations=iterations,
        status=worse(FINISHED_INELASTICALLY, extra.status),
        residual=max(residual, extra.residual * share),
        messages=(f"{reason}; what was left was resolved inelastically", *extra.messages),
    )
