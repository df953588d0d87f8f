"""Coulomb's friction cone, coupled with the normal impulse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from ..impact.contacts import Contacts, Impulses
from ..laws.law import Paper
from ..solvers.blocks import Blocks, blocks_of
from ..solvers.contact import solve_contact
from ..solvers.rows import Floats
from ..solvers.settle import CONE
from .model import FrictionModel

JEAN_1999 = Paper(
    "Jean 1999",
    "M. Jean. The non-smooth contact dynamics method. Comput. Methods Appl. Mech. Eng. 177, 235-257, 1999.",
)
CONVERGED = 10.0  # residual, in tolerances, up to which an answer of the coupled problem is used


@dataclass(frozen=True)
class Cone(FrictionModel):
    """`|beta| <= mu lam`, friction against the slip after impact.

    The inelastic part is Coulomb's law in full: `0 <= lam perp u_n+ >= 0` and, where the contact slips,
    `beta = -mu lam u_t+ / |u_t+|`, solved together (`solvers/contact.py`). The elastic part takes the normal impulses
    of the law and minimizes kinetic energy over the friction cones. Restitution interpolates between the two, as it
    does without friction, so the energy is bounded by the larger energy of both ends.

    tolerance: residual of exact answers, relative to the fastest speed.
    """

    name: ClassVar[str] = "cone"
    title: ClassVar[str] = "Coulomb's friction cone, coupled with the normal impulse"
    paper: ClassVar = JEAN_1999
    bounds: ClassVar[int] = CONE
    coupled: ClassVar[bool] = True

    tolerance: float = 1e-11

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        if contacts.tangents is None:
            return start, 0.0
        bound = contacts.friction * np.maximum(normal, 0.0)
        z = np.concatenate([np.maximum(normal, 0.0)[:, None], np.where(bound[:, None] > 0.0, start, 0.0)], axis=1)
        x = contacts.after(normal)
        blocks = _blocks(contacts)
        blocks.val[:, :, 0], blocks.base[:, 0] = 0.0, 0.0  # normal impulses stay
        fastest = float(np.abs(contacts.tangent_speeds(x)).max())
        answer = solve_contact(blocks, np.flatnonzero(bound > 0.0), x, z, max(tolerance, self.tolerance * fastest))
        return _within(z, contacts.friction), answer.residual

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
        scale = contacts.fastest()
        z = np.zeros((contacts.count, 1 + contacts.tangent_speeds().shape[1]))
        if scale == 0.0:
            return Impulses(z[:, 0].copy(), z[:, 1:]), True
        aim = max(tolerance, self.tolerance * scale)
        answer = solve_contact(_blocks(contacts), np.arange(contacts.count), contacts.velocity, z, aim)
        tangent = _within(z, contacts.friction)
        result = Impulses(z[:, 0].copy(), tangent, answer.iterations, residual=answer.residual / scale)
        return result, bool(answer.residual <= CONVERGED * aim)


def _within(z: Floats, friction: Floats) -> Floats:
    """The friction impulses of `z` (m, 1 + t), which single precision may leave beyond their cone by rounding."""
    bound, size = friction * z[:, 0], np.linalg.norm(z[:, 1:], axis=1)
    return z[:, 1:] * np.divide(bound, size, out=np.ones_like(size), where=size > bound)[:, None]


def _blocks(contacts: Contacts) -> Blocks:
    if contacts.tangents is None or contacts.tangent_boundary_speed is None:
        raise ProblemError("tangents", None, "tangent rows, for friction")
    return blocks_of(
        contacts.rows, contacts.tangents, contacts.boundary_speed, contacts.tangent_boundary_speed, contacts.friction
    )
