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
from ..solvers.settle import CONE
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
    bounds: ClassVar[int] = CONE
    coupled: ClassVar[bool] = True

    tolerance: float = 1e-11
    max_sweeps: int = 20000

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        if contacts.tangents is None or contacts.tangent_boundary_speed is None:
            return start, 0.0
        bound = contacts.friction * np.maximum(normal, 0.0)
        beta = np.where(bound[:, None] > 0.0, start, 0.0)  # a law that pulls can reduce a bound to zero
        x = contacts.after(normal)
        fastest = float(np.abs(contacts.tangent_speeds(x)).max())
        share = tolerance / fastest if fastest > 0.0 else 0.0
        residual = disk_friction(
            contacts.tangents,
            x,
            contacts.tangent_boundary_speed,
            bound,
            beta,
            max(self.tolerance, share),
            self.max_sweeps,
        )
        return beta, float(residual) * fastest

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        if contacts.tangents is None:
            return 0.0
        stiff = contacts.tangents.diag.reshape(tangent.shape).sum(axis=1, keepdims=True)
        moved = tangent - contacts.tangent_speeds(contacts.after(normal, tangent)) / np.where(stiff > 0.0, stiff, 1.0)
        bound = (contacts.friction * np.maximum(normal, 0.0))[:, None]
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        inside = np.where(size > bound, moved * bound / np.where(size > 0.0, size, 1.0), moved)
        return float((np.linalg.norm(inside - tangent, axis=1, keepdims=True) * stiff).max())

    def inelastic(self, contacts: Contacts, tolerance: float = 0.0) -> tuple[Impulses, bool]:
        if contacts.tangents is None or contacts.tangent_boundary_speed is None:
            raise ProblemError("tangents", None, "tangent rows, for friction")
        normal = np.zeros(contacts.count)
        tangent = np.zeros_like(contacts.tangent_speeds())
        fastest = contacts.fastest()
        share = max(self.tolerance, tolerance / fastest if fastest > 0.0 else 0.0)
        residual, sweeps = coupled_coulomb(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary_speed,
            contacts.tangent_boundary_speed,
            contacts.friction,
            normal,
            tangent,
            share,
            self.max_sweeps,
        )
        result = Impulses(normal, tangent, int(sweeps), residual=float(residual))
        return result, bool(residual <= 10 * share)
