"""The true Coulomb disk, coupled with the normal impulse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..impact.contacts import Contacts, Impulses, worse
from ..laws.law import Law, Paper
from ..restitution import check_islands
from ..solvers.coulomb.sweeps import coupled_coulomb, disk_friction
from ..solvers.rows import Floats
from .model import FrictionModel
from .staggered import staggered

JEAN_1999 = Paper(
    "Jean 1999",
    "M. Jean. The non-smooth contact dynamics method. Comput. Methods Appl. Mech. Eng. 177, 235-257, 1999.",
)


@dataclass(frozen=True)
class Cone(FrictionModel):
    """`|beta| <= mu lam`, friction against the slip after impact.

    The inelastic part is Coulomb's law in full: `0 <= lam perp u_n+ >= 0` and, where the contact slips,
    `beta = -mu lam u_t+ / |u_t+|`, solved together, contact by contact, until all agree. The elastic part takes the
    law's normal impulses and minimizes kinetic energy over the disks. Restitution interpolates between the two, as
    it does without friction, so energy stays bounded by the better of both ends.
    """

    name: ClassVar[str] = "cone"
    title: ClassVar[str] = "Coulomb disk, coupled with the normal impulse"
    paper: ClassVar = JEAN_1999

    tolerance: float = 1e-11
    max_sweeps: int = 20000

    def impulses(self, contacts: Contacts, normal: Floats, start: Floats) -> tuple[Floats, float]:
        if contacts.tangents is None or contacts.tangent_boundary is None:
            return start, 0.0
        bound = contacts.friction * np.maximum(normal, 0.0)
        beta = np.where(bound[:, None] > 0.0, start, 0.0)  # a law that pulls can take a bound back to zero
        residual = disk_friction(
            contacts.tangents,
            contacts.after(normal),
            contacts.tangent_boundary,
            bound,
            beta,
            self.tolerance,
            self.max_sweeps,
        )
        return beta, float(residual)

    def resolve(self, contacts: Contacts, law: Law, restitution_model: str) -> Impulses:
        c = contacts.restitution
        if restitution_model != "energetic" or (c == 1.0).all():
            return staggered(contacts, law, restitution_model, self)
        check_islands(contacts, restitution_model)
        dead = self._inelastic(contacts, law)
        if (c == 0.0).all() or dead.tangent is None:
            return dead
        lively = staggered(contacts.with_restitution(1.0), law, restitution_model, self)
        if lively.tangent is None:
            return lively
        return Impulses(
            normal=(1.0 - c) * dead.normal + c * lively.normal,
            tangent=(1.0 - c)[:, None] * dead.tangent + c[:, None] * lively.tangent,
            iterations=dead.iterations + lively.iterations,
            status=worse(dead.status, lively.status),
            certificate=max(dead.certificate, lively.certificate),
            messages=(*dead.messages, *lively.messages),
        )

    def _inelastic(self, contacts: Contacts, law: Law) -> Impulses:
        """Coulomb's law with restitution 0; if the sweeps do not settle, normal and friction in turn instead."""
        if contacts.tangents is None or contacts.tangent_boundary is None:
            return staggered(contacts.with_restitution(0.0), law, "energetic", self)
        normal = np.zeros(contacts.count)
        tangent = np.zeros_like(contacts.tangent_speeds())
        residual, sweeps = coupled_coulomb(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary,
            contacts.tangent_boundary,
            contacts.friction,
            normal,
            tangent,
            self.tolerance,
            self.max_sweeps,
        )
        if residual <= 10 * self.tolerance:
            return Impulses(normal, tangent, int(sweeps), certificate=float(residual))
        other = staggered(contacts.with_restitution(0.0), law, "energetic", self)
        note = f"coupled Coulomb sweeps stopped at {residual:.1e}; normal and friction impulses were alternated"
        return Impulses(
            other.normal,
            other.tangent,
            other.iterations,
            other.status,
            other.certificate,
            (*other.messages, note),
        )
