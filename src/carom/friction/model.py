"""The base class of the friction models: all of them are calls of the frictional contact solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..laws.law import Paper
from ..problem import checks
from ..problem.contacts import Contacts
from ..solvers.contact import Accuracy, friction_residual, solve_contact
from ..solvers.contact_island import ZERO_ROW
from ..solvers.qp.cone import SWEEPS_TOLERANCE
from ..solvers.rows import FRICTION, Floats, Rows, tangent_squares

CONVERGED_TOLERANCES = 10.0  # residual, in tolerances, up to which equations count as solved
# Exact answers of up to REFINED_CONTACTS contacts are refined to this residual, relative to the fastest speed.
REFINED_RESIDUAL, REFINED_CONTACTS = 5e-13, 50
# Bound on the visits of a contact on average in sweeps over moving bodies. A shaken layer needs 2 to 20 of them; to go
# over to the methods for contacts at rest after 4 takes three times as long.
FRONT_VISITS = 100


class Solved(NamedTuple):
    """Impulses of normal and friction together."""

    normal: Floats  # (m,)
    tangent: Floats  # (m, t) along the tangent rows
    velocity: Floats  # (n, d) whitened, after the impulses
    residual: float  # of all equations, a speed
    iterations: int
    converged: bool  # whether the residual is at most CONVERGED_TOLERANCES times the tolerance


@dataclass(frozen=True)
class FrictionModel:
    """Base of the friction models: where friction impulses may lie, and how they are combined with the law.

    Coupled models solve normal and friction impulses together, with the separation speeds that law and restitution ask
    for. With the others law and friction alternate (`resolve/impulses.py`).

    repeats: how often law and friction alternate before the remaining approach is stopped inelastically; 0 solves
    friction once, and leaves the approach that it causes. Coupled models do not use it.
    tolerance: residual of exact answers, relative to the fastest speed.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    coupled: ClassVar[bool] = False
    projection: ClassVar[int]  # where friction may lie: CONE, PYRAMID or FIXED of `solvers/contact_island.py`

    repeats: int = 20
    tolerance: float = 1e-11

    def __post_init__(self) -> None:
        checks.options(self)
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int | np.integer) or self.repeats < 0:
            raise ProblemError("repeats", self.repeats, "a whole number from 0 up")

    def joint(self, contacts: Contacts, target: Floats, start: Solved, tolerance: float = 0.0) -> Solved:
        """Impulses of `0 <= lam perp u_n+ - target >= 0` (m,) and of the friction model, from a warm start.

        Both hold for the same velocity after the impact. `tolerance` is a speed; 0 asks for an exact answer.
        """
        rows, direction = self.rows(contacts)
        base = rows.base.copy()
        base[:, 0] -= target
        scale = max(contacts.fastest(), float(target.max(initial=0.0)))
        z = _row_impulses(np.maximum(start.normal, 0.0), start.tangent, direction)
        before = (None, contacts.velocity)
        return self._solved(contacts, rows._replace(base=base), direction, z, before, tolerance, scale)

    def refined(self, contacts: Contacts, target: Floats, found: Solved) -> Solved:
        """An exact answer of `joint` to few contacts of mechanisms, or of full mass matrices, with a smaller residual.

        Contacts of two bodies keep the bits of the kernel in which all stages are one (`resolve/coupled.py`).
        """
        if contacts.rows.body.shape[1] == 2 or contacts.count > REFINED_CONTACTS:
            return found
        more = replace(self, tolerance=REFINED_RESIDUAL).joint(contacts, target, found)
        better = more.residual < found.residual
        return more._replace(iterations=found.iterations + more.iterations, converged=True) if better else found

    def stopped(self, contacts: Contacts, given: Floats, start: Solved, tolerance: float = 0.0) -> Solved:
        """Friction for the normal impulses `given` (m,) and for more of these, which stop the approach it causes.

        Impulses beyond the given ones do no work, so that the energy does not rise, whatever the tolerance.
        """
        rows, direction = self.rows(contacts)
        pulling = given < 0.0
        if pulling.any():  # under smm: their sum with what is added bounds friction, and may stay negative
            rows = rows._replace(bound=np.where(pulling[:, None], 0.0, rows.bound))
        z = _row_impulses(np.maximum(start.normal - given, 0.0), start.tangent, direction)
        before = (np.maximum(given, 0.0), contacts.after(given))
        found = self._solved(contacts, rows, direction, z, before, tolerance, contacts.fastest())
        return found._replace(normal=found.normal + given)

    def impulses(self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0) -> Solved:
        """Friction impulses that minimize kinetic energy within the bounds of `normal` (m,), from a start (m, t)."""
        rows, direction = self._friction_rows(contacts)
        z = _row_impulses(np.zeros(contacts.count), start, direction)
        before = (np.maximum(normal, 0.0), contacts.after(normal))
        found = self._solved(contacts, rows, direction, z, before, tolerance, contacts.fastest())
        return found._replace(normal=normal)

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        """Residual of the friction impulses `tangent` (m, t) that belong to `normal` (m,): a speed."""
        rows, direction = self.rows(contacts)
        return friction_residual(rows, contacts.velocity, _row_impulses(normal, tangent, direction), self.projection)

    def rows(self, contacts: Contacts) -> tuple[Rows, Floats | None]:
        """The rows of sliding friction, and the directions (m, t) of friction where the model gives them."""
        rows, count = contacts.rows, 1 + contacts.tangent_count
        if rows.val.shape[2] == count and not rows.bound[:, FRICTION + 1 :].any():
            return rows, None
        bound = np.zeros_like(rows.bound)
        bound[:, FRICTION] = rows.bound[:, FRICTION]
        return rows._replace(val=rows.val[:, :, :count].copy(), base=rows.base[:, :count].copy(), bound=bound), None

    def _friction_rows(self, contacts: Contacts) -> tuple[Rows, Floats | None]:
        """The rows without the normals, whose impulses stay; no friction where no body can move along the tangents."""
        rows, direction = self.rows(contacts)
        val, base, bound = rows.val.copy(), rows.base.copy(), rows.bound.copy()
        val[:, :, 0], base[:, 0] = 0.0, 0.0
        bound[tangent_squares(rows).max(axis=1) <= ZERO_ROW * rows.diag] = 0.0
        return rows._replace(val=val, base=base, bound=bound), direction

    def _solved(
        self,
        contacts: Contacts,
        rows: Rows,
        direction: Floats | None,
        z: Floats,
        before: tuple[Floats | None, Floats],
        tolerance: float,
        scale: float,
    ) -> Solved:
        """The impulses from the warm start z (m, 1 + t); `before`: normal impulses that act, and the velocity then."""
        given, velocity = before
        aim = max(tolerance, self.tolerance * scale)
        visits = FRONT_VISITS if tolerance > SWEEPS_TOLERANCE * scale else 0
        asked = Accuracy(aim, fine_work=0.0, visits=visits) if visits else Accuracy(aim)
        answer = solve_contact(rows, np.arange(contacts.count), velocity, z, asked, self.projection, given)
        tangent = _friction_impulses(z, direction)
        converged = answer.residual <= CONVERGED_TOLERANCES * aim
        return Solved(z[:, 0].copy(), tangent, answer.velocity, answer.residual, answer.iterations, converged)


def _row_impulses(normal: Floats, tangent: Floats, direction: Floats | None) -> Floats:
    """Impulses (m, 1 + t) of the rows of a model; friction lies along its directions if it has some.

    Column by column: NumPy takes ten times as long for rows of two or three numbers.
    """
    z = np.zeros((len(normal), 1 + tangent.shape[1]))
    z[:, 0] = normal
    for s in range(tangent.shape[1]):
        if direction is None:
            z[:, 1 + s] = tangent[:, s]
        else:
            z[:, 1] += tangent[:, s] * direction[:, s]
    return z


def _friction_impulses(z: Floats, direction: Floats | None) -> Floats:
    """Friction impulses (m, t) along the tangents, from those of the rows of a model."""
    tangent = np.empty((len(z), z.shape[1] - 1))
    for s in range(tangent.shape[1]):
        tangent[:, s] = z[:, 1 + s] if direction is None else z[:, 1] * direction[:, s]
    return tangent
