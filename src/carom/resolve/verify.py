"""What an answer must satisfy whatever the law: finite numbers, no gain of energy, and the residual that it claims."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import kernel
from ..laws.inelastic import inelastic
from ..problem.contacts import FINISHED_INELASTICALLY, NOT_CONVERGED, RESOLVED, Contacts, Impulses, worse
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats, pushed, pushed_along, row_speed, slips, speed

if TYPE_CHECKING:
    from .response import Response

RESOLVED_RESIDUAL = 1e-8
"""Residual, relative to the fastest approach or slip, up to which an exact answer is called resolved."""
# Parts of the messages about answers that were replaced.
NOT_FINITE = "returned impulses that are not finite numbers"
RAISED = "raised the energy by"
ENERGY_GAIN = 1e-10  # gain of energy, relative, that is not rounding
INTERPOLATING = ("energetic", "qce_lcp")  # restitution models whose answer at e = 0 is that of the inelastic law
TINY_NUMBER = float(np.finfo(float).tiny)
SPEED_ROUNDING = 1e-14  # error of a speed, relative to the largest sum |G| |x| from which speeds are computed


def verified(problem: ImpactProblem, result: Impulses, response: Response) -> tuple[Impulses, Floats | None]:
    """The result, with its residual raised to the approach that it leaves, and a status that says whether it holds.

    Also returns the velocity after it, None where other impulses replace it.

    Impulses that are not finite, that raise the energy under a law that claims KIN, or whose residual is larger than
    the speeds before impact, are replaced by those of the inelastic law without friction. The residual of elastic
    impacts without friction includes the share of the energy that they lose. "resolved" means that the residual is at
    most RESOLVED_RESIDUAL. Approach within rounding of the velocities is no approach, and gets no impulse from a law
    that does not solve it. A law with a tolerance above its default gets bounds that are larger by the same factor.
    """
    contacts, law = problem.contacts, response.law
    claims: frozenset[str] = getattr(law, "claims", frozenset())
    looser = max(1.0, getattr(law, "tolerance", 0.0) / (getattr(type(law), "tolerance", 0.0) or 1.0))
    solved = result.status == RESOLVED and result.residual <= RESOLVED_RESIDUAL * looser
    if not solved and contacts.approach() <= _noise(contacts):
        none = None if result.tangent is None else np.zeros_like(result.tangent)
        return Impulses(np.zeros(contacts.count), none), None
    velocity = problem.velocity_after(result.normal, result.tangent)
    if not _finite(result) or not np.isfinite(velocity).all():
        return _replaced(contacts, result, f"{law.name} {NOT_FINITE}"), None
    gain = relative_gain(contacts, result.normal, result.tangent)
    if not gain <= ENERGY_GAIN * looser and "KIN" in claims:
        return _replaced(contacts, result, f"the answer of {law.name} {RAISED} {gain:.1e} of it"), None
    if result.residual > 1.0:
        return _replaced(contacts, result, f"{law.name} solved its equations to {result.residual:.1e} only"), None
    if "KIN" in claims and result.status == RESOLVED and not problem.frictional and (problem.restitution == 1.0).all():
        # Large impulses of nearly opposite contacts turn small residuals of speed into a loss of energy.
        result = replace(result, residual=max(result.residual, -gain))
    u = problem.separation_speed(velocity)
    left = max(float(-u.min()) if "FEA" in claims else 0.0, _slip_left(problem, result, response, velocity))
    inelastic_law = response.restitution_model in INTERPOLATING and not problem.restitution.any()
    if inelastic_law and "FEA" in claims and not problem.frictional:
        # Large impulses that nearly cancel leave separation at contacts that push.
        left = max(left, float(np.abs(np.minimum(contacts.rows.diag * result.normal, u)).max()))
    return _judged(contacts, result, left, RESOLVED_RESIDUAL * looser), velocity


def relative_gain(contacts: Contacts, normal: Floats, tangent: Floats | None = None) -> float:
    """Work of the impulses in the frame of each contact, relative to the energy of the bodies or of an approach.

    `sum lam (u + u+) / 2` is the change of kinetic energy if boundaries are at rest.
    """
    tangent = np.zeros((contacts.count, 0)) if tangent is None else np.ascontiguousarray(tangent)
    return float(gain_of(contacts.rows, contacts.velocity, normal, tangent))


@kernel
def gain_of(rows, velocity, normal, tangent):
    """`relative_gain` of normal (m,) and tangential impulses (m, t or 0) at a whitened velocity."""
    after = pushed_along(rows, tangent, pushed(rows, normal, velocity))
    work, energy = 0.0, 0.5 * np.sum(velocity * velocity)
    for i in range(len(normal)):
        u = speed(rows, i, velocity)
        work += 0.5 * normal[i] * (u + speed(rows, i, after))
        energy = max(energy, 0.5 * u * u / rows.diag[i])
        for s in range(tangent.shape[1]):
            slip = row_speed(rows, velocity, i, 1 + s) + row_speed(rows, after, i, 1 + s)
            work += 0.5 * tangent[i, s] * (slip + 2.0 * rows.base[i, 1 + s])
    return work / max(energy, TINY_NUMBER)


@kernel
def _slips_after(rows, velocity, normal, tangent):
    """Slip speeds (m, t) after normal impulses (m,) and tangential impulses (m, t)."""
    return slips(rows, pushed_along(rows, tangent, pushed(rows, normal, velocity)))


def _finite(result: Impulses) -> bool:
    numbers = [result.normal] if result.tangent is None else [result.normal, result.tangent]
    return bool(np.isfinite(result.residual)) and all(np.isfinite(n).all() for n in numbers)


def _replaced(contacts: Contacts, result: Impulses, reason: str) -> Impulses:
    """The inelastic impulses; none at all if even these gain energy or are not finite."""
    low = inelastic(contacts)
    tangent = None if result.tangent is None else np.zeros_like(result.tangent)
    iterations, messages = result.iterations, (*result.messages, *low.messages)
    if _finite(low) and relative_gain(contacts, low.normal) <= ENERGY_GAIN:
        note = f"{reason}; it was resolved inelastically and without friction"
        status, normal = worse(FINISHED_INELASTICALLY, low.status), low.normal
        return Impulses(normal, tangent, iterations, status, low.residual, (*messages, note))
    note = f"{reason}, and so did the inelastic law: no impulse was applied"
    return Impulses(np.zeros(contacts.count), tangent, iterations, NOT_CONVERGED, 1.0, (*messages, note))


def _slip_left(problem: ImpactProblem, result: Impulses, response: Response, velocity: Floats) -> float:
    """Residual of a friction model, a speed, unless the answer is interpolated between two.

    An ill-conditioned mass matrix makes the slip at `velocity` differ from that in whitened coordinates.
    """
    contacts, tangent, e = problem.contacts, result.tangent, problem.restitution
    if response.friction_model is None or tangent is None or not ((e == 0.0).all() or (e == 1.0).all()):
        return 0.0
    error = problem.slip_speed(velocity) - _slips_after(contacts.rows, contacts.velocity, result.normal, tangent)
    error *= (problem.friction > 0.0)[:, None]
    return response.friction_model.residual(contacts, result.normal, tangent) + float(np.abs(error).max(initial=0.0))


def _judged(contacts: Contacts, result: Impulses, left: float, bound: float) -> Impulses:
    """The result with its residual, at least that of the speed `left` after impact, and its status checked."""
    scale = contacts.fastest()
    if scale == 0.0:
        return result
    residual = max(result.residual, left / scale)
    if residual > bound:
        residual *= min(1.0, scale * RESOLVED_RESIDUAL / max(_noise(contacts), TINY_NUMBER))
    if residual <= bound or result.status != RESOLVED:
        return replace(result, residual=residual)
    note = f"the equations were solved to a residual of {residual:.1e}"
    return replace(result, residual=residual, status=NOT_CONVERGED, messages=(*result.messages, note))


def _noise(contacts: Contacts) -> float:
    """Error of speeds that rounding of the velocities before impact explains, not of those that the law makes.

    A residual is relative to the fastest approach or slip, or to noise / RESOLVED_RESIDUAL if that is larger: a law
    that stops an approach of 1e-18 among velocities of 1 up to 1e-19 has solved its equations.
    """
    rows, x = contacts.rows, np.abs(contacts.velocity)
    used = rows.body >= 0
    # The largest `sum |G_i| |x| + |w|` over the normal and tangent rows.
    terms = np.abs(rows.val[:, :, : 1 + contacts.tangent_count]) * x[rows.body][:, :, None]
    sums = (terms.sum(axis=3) * used[:, :, None]).sum(axis=1) + np.abs(rows.base[:, : terms.shape[2]])
    return SPEED_ROUNDING * float(sums.max(initial=0.0))
