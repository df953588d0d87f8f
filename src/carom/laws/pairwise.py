"""What the laws that reflect contact by contact share: the tolerance, and how a run of reflections ended."""

from __future__ import annotations

import numpy as np

from ..impact.contacts import Contacts, Impulses
from ..solvers.rows import Floats
from .finish import finish_inelastically


def threshold(contacts: Contacts, tolerance: float) -> float:
    """Speeds below this count as not approaching: `tolerance` times the fastest approach."""
    return tolerance * max(float(-contacts.speeds().min(initial=0.0)), 0.0)


def outcome(contacts: Contacts, lam: Floats, x: Floats, count: int, left: int, tol: float, name: str) -> Impulses:
    """The result of `count` reflections that left `left` contacts approaching when their bound was reached."""
    if left:
        return finish_inelastically(contacts, lam, x, count, f"{name} reached its bound of {count} reflections")
    messages: tuple[str, ...] = ()
    dissipative = bool((contacts.restitution < 1.0).any())
    if dissipative and tol > 0.0:
        slow = float(-contacts.speeds(x).min(initial=0.0))
        # Above the collapse threshold the last reflection leaves every contact truly separating. A residual
        # approach just under the tolerance means that only the tolerance ended an infinite sequence.
        if slow > 1e-3 * tol and count > contacts.count:
            messages = (f"inelastic collapse: cut off after {count} reflections at speed {slow:.1e}",)
    return Impulses(normal=lam, iterations=count, messages=messages, certificate=float(np.finfo(float).eps))
