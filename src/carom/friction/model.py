"""The base class of the friction models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from ..laws.law import Paper
from ..problem import checks
from ..problem.contacts import Contacts
from ..solvers.contact import solve_contact
from ..solvers.rows import FRICTION, Floats, Rows
from ..solvers.settle import settle

CONVERGED = 10.0  # residual, in tolerances, up to which an answer of a coupled model is used


@dataclass(frozen=True)
class FrictionModel:
    """Base of the friction models: the friction impulses that belong to given normal impulses.

    repeats: how often normal and friction impulses alternate before the remaining approach is stopped inelastically; 0
    solves friction once, and leaves the approach that it causes.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    coupled: ClassVar[bool] = False  # whether normal and friction impulses are found together: see CoupledModel
    bounds: ClassVar[int]  # how normal impulses bound friction: FIXED, PYRAMID or CONE of `solvers/settle.py`

    repeats: int = 20

    def __post_init__(self) -> None:
        checks.options(self)
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int | np.integer) or self.repeats < 0:
            raise ProblemError("repeats", self.repeats, "a whole number from 0 up")

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
        `scale` is the fastest speed before the impact; a contact is visited at most `visits` times on average. None
        without tangent rows.
        """
        if not contacts.tangent_count:
            return None
        normal, tangent = normal.copy(), tangent.copy()
        given = (contacts.rows, contacts.velocity, normal, tangent)
        return normal, tangent, float(settle(*given, self.bounds, scale, tolerance, visits))


@dataclass(frozen=True)
class CoupledModel(FrictionModel):
    """Base of the friction models that find normal and friction impulses together.

    tolerance: residual of exact answers, relative to the fastest speed.
    """

    coupled: ClassVar[bool] = True

    tolerance: float = 1e-11

    def blocks(self, contacts: Contacts) -> Rows:
        """A copy of the rows of sliding friction, for the frictional contact solver."""
        rows, count = contacts.rows, 1 + contacts.tangent_count
        if count == 1:
            raise ProblemError("tangents", None, "tangent rows, for friction")
        bound = np.zeros_like(rows.bound)
        bound[:, FRICTION] = rows.bound[:, FRICTION]
        return rows._replace(val=rows.val[:, :, :count].copy(), base=rows.base[:, :count].copy(), bound=bound)

    def joint(
        self, contacts: Contacts, target: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float, int, bool]:
        """Normal and friction impulses (m, 1 + t) of `0 <= lam perp u_n+ - target >= 0` and of the friction model.

        Both hold for the same velocity after the impact. `start` (m, 1 + t) is a warm start, `tolerance` a speed; 0
        asks for an exact answer. Also returns the residual of both conditions, which is a speed, the iterations, and
        whether they have converged.
        """
        blocks, z = self.blocks(contacts), start.copy()
        blocks.base[:, 0] -= target
        aim = max(tolerance, self.tolerance * max(contacts.fastest(), float(target.max(initial=0.0))))
        answer = solve_contact(blocks, np.arange(contacts.count), contacts.velocity, z, aim, self.bounds)
        return self.within(z, contacts.friction), answer.residual, answer.iterations, answer.residual <= CONVERGED * aim

    def within(self, z: Floats, friction: Floats) -> Floats:
        """The impulses `z` (m, 1 + t) with friction within its bounds, which single precision may miss by rounding."""
        raise NotImplementedError(f"{type(self).__name__} must define within")
