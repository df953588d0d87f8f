"""The friction pyramid: friction bounded along each tangent by itself (boxed LCP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..impact.contacts import Contacts
from ..laws.law import ZHANG_2015
from ..solvers.qp.box import box_residual, solve_bounds
from ..solvers.rows import Floats
from ..solvers.settle import PYRAMID
from .fixed_direction import without_zero_rows
from .model import FrictionModel


@dataclass(frozen=True)
class Pyramid(FrictionModel):
    """`-mu lam <= beta <= mu lam` along each tangent, minimum of kinetic energy (Zhang 2015, eqs. 20 and 21).

    It is a box QP. In 3D the corners of the pyramid reach sqrt(2) times the friction cone, and the answer depends on
    the choice of tangents.
    """

    name: ClassVar[str] = "pyramid"
    title: ClassVar[str] = "friction pyramid (boxed LCP)"
    paper: ClassVar = ZHANG_2015
    bounds: ClassVar[int] = PYRAMID

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        t = start.shape[1]
        if contacts.tangents is None or not normal.any():
            return start, 0.0
        bound = np.repeat(contacts.friction * np.maximum(normal, 0.0), t)
        slip = contacts.tangent_speeds(contacts.after(normal)).ravel()
        first = np.clip(start.ravel(), -bound, bound)
        rows, moving = contacts.tangents, contacts.tangents.diag > 0.0
        if not moving.all():  # tangents along which no body can move
            rows, moving = without_zero_rows(rows.ptr, rows.body, rows.val, len(rows.touch_ptr) - 1)
        beta = np.zeros(len(bound))
        limits = -bound[moving], bound[moving]
        beta[moving], residual = solve_bounds(rows, slip[moving], *limits, first[moving], tolerance)
        return beta.reshape(-1, t), residual

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        if contacts.tangents is None:
            return 0.0
        bound = np.repeat(contacts.friction * np.maximum(normal, 0.0), tangent.shape[1])
        slip = contacts.tangent_speeds(contacts.after(normal, tangent)).ravel()
        return box_residual(contacts.tangents.diag, slip, -bound, bound, tangent.ravel())
