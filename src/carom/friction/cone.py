"""Coulomb's friction cone, coupled with the normal impulse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..laws.law import Paper
from ..solvers.contact_island import CONE
from .model import FrictionModel

JEAN_1999 = Paper(
    "Jean 1999",
    "M. Jean. The non-smooth contact dynamics method. Comput. Methods Appl. Mech. Eng. 177, 235-257, 1999.",
)


@dataclass(frozen=True)
class Cone(FrictionModel):
    """`|beta| <= mu lam`, and `beta = -mu lam u_t+ / |u_t+|` where the contact slips after the impact.

    It is solved together with `0 <= lam perp u_n+ - target >= 0` (`solvers/contact.py`), where the target is the
    separation speed that restitution asks for (`resolve/restitution.py`). The answer with c = 0 is Coulomb's law of the
    inelastic impact.
    """

    name: ClassVar[str] = "cone"
    title: ClassVar[str] = "Coulomb's friction cone, coupled with the normal impulse"
    paper: ClassVar = JEAN_1999
    coupled: ClassVar[bool] = True
    projection: ClassVar[int] = CONE
