"""Coulomb's friction cone, coupled with the normal impulse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from ..impact.contacts import Contacts, Impulses
from ..laws.law import Paper
from ..solvers.coulomb.sweeps import coupled_coulomb, disk_friction
from ..solvers.rows import Floats
from .model import FrictionModel

JEAN_1999 = Paper(
    "Jean 1999",
    "M. Jean. The non-smooth contact dynamics method. Comput. Methods Appl. Mech. Eng. 177, 235-257, 1999.",
)


@dataclass(frozen=True)
class Cone(FrictionModel):
    """`|beta| <= mu lam`, friction against the slip after impact.

    The inelastic part is Coulomb's law in full: `0 <= lam perp u_n+ >= 0` and, where the contact slips,
    `beta = -mu lam u_t+ / |u_t+|`, solved together by sweeps over the contacts. The elastic part takes the normal
    impulses of the law and minimizes kinetic energy over the friction cones. Restitution interpolates between the two,
    as it does without friction, so the energy is bounded by the larger energy of both ends.

    tolerance: change of speed in one sweep, relative to the fastest speed, at which the sweeps end.
    max_sweeps: bound on the number of sweeps.
    """

    name: ClassVar[str] = "cone"
    title: ClassVar[str] = "Coulomb's friction cone, coupled with the normal impulse"
    paper: ClassVar = JEAN_1999
    coupled: ClassVar[bool] = True

    tolerance: float = 1e-11
    max_sweeps: int = 20000

    def impulses(self, contacts: Contacts, normal: Floats, start: Floats, slow: float = 0.0) -> tuple[Floats, float]:
        if contacts.tangents is None or contacts.tangent_boundary_speed is None:
            return start, 0.0
        bound = contacts.friction * np.maximum(normal, 0.0)
        beta = np.where(bound[:, None] > 0.0, start, 0.0)  # a law that pulls can reduce a bound to zero
        residual = disk_friction(
            contacts.tangents,
            contacts.after(normal),
            contacts.tangent_boundary_speed,
            bound,
            beta,
            self.tolerance,
            self.max_sweeps,
        )
        return beta, float(residual)

    def inelastic(self, contacts: Contacts) -> tuple[Impulses, bool]:
        if contacts.tangents is None or contacts.tangent_boundary_speed is None:
            raise ProblemError("tangents", None, "tangent rows, for friction")
        normal = np.zeros(contacts.count)
        tangent = np.zeros_like(contacts.tangent_speeds())
        residual, sweeps = coupled_coulomb(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary_speed,
            contacts.tangent_boundary_speed,
            contacts.friction,
            normal,
            tangent,
            self.tolerance,
            self.max_sweeps,
        )
        result = Impulses(normal, tangent, int(sweeps), residual=float(residual))
        return result, bool(residual <= 10 * self.tolerance)
