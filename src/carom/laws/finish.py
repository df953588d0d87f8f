"""How a law that reached its bound ends all the same: what is left is resolved inelastically."""

from __future__ import annotations

from ..impact.contacts import FINISHED_INELASTICALLY, Contacts, Impulses, worse
from ..solvers.rows import Floats


def finish_inelastically(
    contacts: Contacts, lam: Floats, x: Floats, iterations: int, reason: str, certificate: float = 0.0
) -> Impulses:
    """Adds the inelastic impulses that stop every remaining approach, and says so in the status."""
    from .inelastic import inelastic

    extra = inelastic(contacts.moving(x))
    return Impulses(
        normal=lam + extra.normal,
        iterations=iterations,
        status=worse(FINISHED_INELASTICALLY, extra.status),
        certificate=max(certificate, extra.certificate),
        messages=(f"{reason}; what was left was resolved inelastically", *extra.messages),
    )
