"""The friction pyramid: friction bounded along each tangent by itself (boxed LCP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..laws.law import ZHANG_2015
from ..problem.contacts import Contacts
from ..solvers.contact_island import PYRAMID
from ..solvers.qp.box import box_residual, solve_bounds
from ..solvers.rows import Floats
from .fixed_direction import tangent_rows, without_zero_rows
from .model import CoupledModel


@dataclass(frozen=True)
class Pyramid(CoupledModel):
    """`-mu lam <= beta <= mu lam` along each tangent, against the slip after the impact along it (boxed LCP).

    It is solved together with `0 <= lam perp u_n+ - target >= 0` (Zhang 2015, eqs. 20 and 21), where the target is the
    separation speed that restitution asks for: `c_r u_elastic+` under the restitution model qce_lcp, as in the paper.
    In 3D the corners of the pyramid reach sqrt(2) times the friction cone, and the answer depends on the choice of
    tangents.
    """

    name: ClassVar[str] = "pyramid"
    title: ClassVar[str] = "friction pyramid (boxed LCP), coupled with the normal impulse"
    paper: ClassVar = ZHANG_2015
    bounds: ClassVar[int] = PYRAMID

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        t = start.shape[1]
        if not contacts.tangent_count or not normal.any():
            return start, 0.0
        bound = np.repeat(contacts.friction * np.maximum(normal, 0.0), t)
        slip = contacts.tangent_speeds(contacts.after(normal)).ravel()
        first = np.clip(start.ravel(), -bound, bound)
        rows = tangent_rows(contacts)
        moving = rows.diag > 0.0
        if not moving.all():  # tangents along which no body can move
            rows, moving = without_zero_rows(rows)
        beta = np.zeros(len(bound))
        limits = -bound[moving], bound[moving]
        beta[moving], residual = solve_bounds(rows, slip[moving], *limits, first[moving], tolerance)
        return beta.reshape(-1, t), residual

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        if not contacts.tangent_count:
            return 0.0
        bound = np.repeat(contacts.friction * np.maximum(normal, 0.0), tangent.shape[1])
        slip = contacts.tangent_speeds(contacts.after(normal, tangent)).ravel()
        return box_residual(contacts.tangent_diag.ravel(), slip, -bound, bound, tangent.ravel())

    def within(self, z: Floats, friction: Floats) -> Floats:
        bound = (friction * z[:, 0])[:, None]
        return np.concatenate([z[:, :1], np.clip(z[:, 1:], -bound, bound)], axis=1)


@dataclass(frozen=True)
class StaggeredPyramid(Pyramid):
    """The friction pyramid after the normal impulses: minimum of kinetic energy within `-mu lam <= beta <= mu lam`.

    Normal impulses and friction alternate while friction drives contacts together. Friction is a box QP.
    """

    name: ClassVar[str] = "pyramid_staggered"
    title: ClassVar[str] = "friction pyramid after the normal impulses"
    coupled: ClassVar[bool] = False
