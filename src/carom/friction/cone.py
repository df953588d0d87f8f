"""Coulomb's friction cone, coupled with the normal impulse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..laws.law import Paper
from ..problem.contacts import Contacts
from ..solvers.contact import solve_contact
from ..solvers.contact_island import CONE
from ..solvers.rows import Floats
from .model import CoupledModel

JEAN_1999 = Paper(
    "Jean 1999",
    "M. Jean. The non-smooth contact dynamics method. Comput. Methods Appl. Mech. Eng. 177, 235-257, 1999.",
)


@dataclass(frozen=True)
class Cone(CoupledModel):
    """`|beta| <= mu lam`, and `beta = -mu lam u_t+ / |u_t+|` where the contact slips after the impact.

    It is solved together with `0 <= lam perp u_n+ - target >= 0` (`solvers/contact.py`), where the target is the
    separation speed that restitution asks for (`resolve/restitution.py`). The answer with c = 0 is Coulomb's law of the
    inelastic impact.
    """

    name: ClassVar[str] = "cone"
    title: ClassVar[str] = "Coulomb's friction cone, coupled with the normal impulse"
    paper: ClassVar = JEAN_1999
    bounds: ClassVar[int] = CONE

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        if not contacts.tangent_count:
            return start, 0.0
        bound = contacts.friction * np.maximum(normal, 0.0)
        z = np.concatenate([np.maximum(normal, 0.0)[:, None], np.where(bound[:, None] > 0.0, start, 0.0)], axis=1)
        x = contacts.after(normal)
        blocks = self.blocks(contacts)
        blocks.val[:, :, 0], blocks.base[:, 0] = 0.0, 0.0  # normal impulses stay
        fastest = float(np.abs(contacts.tangent_speeds(x)).max())
        answer = solve_contact(blocks, np.flatnonzero(bound > 0.0), x, z, max(tolerance, self.tolerance * fastest))
        return self.within(z, contacts.friction)[:, 1:], answer.residual

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        if not contacts.tangent_count:
            return 0.0
        stiff = contacts.tangent_diag.sum(axis=1, keepdims=True)
        moved = tangent - contacts.tangent_speeds(contacts.after(normal, tangent)) / np.where(stiff > 0.0, stiff, 1.0)
        bound = (contacts.friction * np.maximum(normal, 0.0))[:, None]
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        inside = np.where(size > bound, moved * bound / np.where(size > 0.0, size, 1.0), moved)
        return float((np.linalg.norm(inside - tangent, axis=1, keepdims=True) * stiff).max())

    def within(self, z: Floats, friction: Floats) -> Floats:
        bound, size = friction * z[:, 0], np.linalg.norm(z[:, 1:], axis=1)
        share = np.divide(bound, size, out=np.ones_like(size), where=size > bound)
        return np.concatenate([z[:, :1], z[:, 1:] * share[:, None]], axis=1)
