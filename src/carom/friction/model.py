"""The base class of the friction models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from ..impact import checks
from ..impact.contacts import Contacts, Impulses
from ..laws.law import Paper
from ..solvers.rows import Floats
from ..solvers.settle import settle


@dataclass(frozen=True)
class FrictionModel:
    """Base of the friction models: the friction impulses that belong to given normal impulses.

    repeats: how often normal and friction impulses alternate before the remaining approach is stopped inelastically.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    coupled: ClassVar[bool] = False  # whether the model has `inelastic`
    bounds: ClassVar[int]  # how normal impulses bound friction: FIXED, PYRAMID or CONE of `solvers/settle.py`

    repeats: int = 20

    def __post_init__(self) -> None:
        checks.options(self)
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int | np.integer) or self.repeats < 1:
            raise ProblemError("repeats", self.repeats, "a whole number from 1 up")

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        """Friction impulses (m, t) that minimize kinetic energy within the bounds of `normal` (m,); their residual.

        `start` (m, t) are impulses within the bounds, for a warm start. The residual is a speed, at most `tolerance`
        where that can be reached; 0 asks for an exact answer.
        """
        raise NotImplementedError(f"{type(self).__name__} must define impulses")

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        """Residual of the friction impulses `tangent` (m, t) that belong to `normal` (m,): a speed."""
        raise NotImplementedError(f"{type(self).__name__} must define residual")

    def settled(
        self, contacts: Contacts, normal: Floats, tangent: Floats, tolerance: float, scale: float, visits: int
    ) -> tuple[Floats, Floats, float] | None:
        """Friction impulses together with normal impulses that stop the approach which friction causes; the residual.

        Normal impulses are at least `normal`; the residual is a speed, at most `tolerance` where that can be reached.
        `scale` is the fastest speed before the impact; a contact is visited at most `visits` times on average. None for
        rows that are not those of rigid bodies.
        """
        if contacts.tangents is None or contacts.tangent_boundary_speed is None:
            return None
        normal, tangent = normal.copy(), tangent.copy()
        residual = settle(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary_speed,
            contacts.tangent_boundary_speed,
            contacts.friction,
            normal,
            tangent,
            self.bounds,
            scale,
            tolerance,
            visits,
        )
        return None if residual < 0.0 else (normal, tangent, float(residual))

    def inelastic(self, contacts: Contacts, tolerance: float = 0.0) -> tuple[Impulses, bool]:
        """Normal and friction impulses of the impact with restitution 0, solved together; whether that converged.

        Only models with `coupled` have it. `contacts` must have tangents. The residual is relative, as in `resolve`;
        `tolerance` is a speed.
        """
        raise NotImplementedError(f"{type(self).__name__} does not couple friction with the normal impulses")
