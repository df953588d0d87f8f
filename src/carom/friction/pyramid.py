"""The friction pyramid: friction bounded along each tangent by itself (boxed LCP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..laws.law import ZHANG_2015
from ..solvers.contact_island import PYRAMID
from .model import FrictionModel


@dataclass(frozen=True)
class Pyramid(FrictionModel):
    """`-mu lam <= beta <= mu lam` along each tangent, against the slip after the impact along it (boxed LCP).

    It is solved together with `0 <= lam perp u_n+ - target >= 0` (Zhang 2015, eqs. 20 and 21). The target is the
    separation speed that restitution asks for: `c_r u_elastic+` under the restitution model qce_lcp, as in the paper.
    In 3D the corners of the pyramid reach sqrt(2) times the friction cone, and the answer depends on the choice of
    tangents.
    """

    name: ClassVar[str] = "pyramid"
    title: ClassVar[str] = "friction pyramid (boxed LCP), coupled with the normal impulse"
    paper: ClassVar = ZHANG_2015
    coupled: ClassVar[bool] = True
    projection: ClassVar[int] = PYRAMID


@dataclass(frozen=True)
class StaggeredPyramid(Pyramid):
    """The friction pyramid after the normal impulses: minimum of kinetic energy within `-mu lam <= beta <= mu lam`.

    Normal impulses and friction alternate while friction drives contacts together.
    """

    name: ClassVar[str] = "pyramid_staggered"
    title: ClassVar[str] = "friction pyramid after the normal impulses"
    coupled: ClassVar[bool] = False
