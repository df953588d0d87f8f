"""Initial collapse (section 3 of the paper): accelerations of a tower at rest, by Gauss' principle of least constraint.

    min sum_i m_i |a_i - g|^2   subject to (L2) for all bars and (S2) for all contacts,

at rest `(a_i - a_j) . (p_i - p_j) = 0` and `n . (a_k - (1 - alpha) a_i - alpha a_j) >= 0`. The solution is unique and
involves no time step. The multipliers are the contact forces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .contacts import TowerContacts, contact_rows, contact_table
from .framework import FrameworkCoordinates
from .near_contacts import edge_geometry
from .projection import Projection
from .reduced import ReducedCoordinates
from .steps import whitened

if TYPE_CHECKING:
    from .tower import Tower

COORDINATES = ("reduced", "framework")
STILL = 1e-9  # in units of gravity: smaller accelerations count as zero


@dataclass(frozen=True, eq=False)
class InitialCollapse:
    """Accelerations and forces at the instant of release."""

    acceleration: Floats  # (n, 3): ax, ay, alpha of each brick, for its center of mass
    forces: Floats  # (m,) contact forces, along the normals of `Tower.contacts` on the brick with the corner
    pin_forces: Floats  # (p, 2) on the first brick of each pin
    opening: Floats  # (m,) relative acceleration of each contact along its normal
    opens: NDArray[np.bool_]  # (m,) which contacts open
    certificate: float  # largest violation of the optimality conditions, in units of gravity
    exact: bool = False  # whether the result was verified in rational arithmetic
    exact_acceleration: tuple[tuple[Fraction, Fraction, Fraction], ...] | None = None
    message: str = ""

    @property
    def stands(self) -> bool:
        """Whether no brick moves."""
        return not self.opens.any() and float(np.abs(self.acceleration).max(initial=0.0)) == 0.0

    @property
    def moving(self) -> Ints:
        """Numbers of the bricks that move."""
        return np.flatnonzero(np.abs(self.acceleration).max(axis=1) > 0.0)

    def summary(self) -> str:
        """A description of a few lines."""
        lines = [
            f"bricks that move: {len(self.moving)} of {len(self.acceleration)}",
            f"contacts that open: {int(self.opens.sum())} of {len(self.opens)}",
            f"certificate: {self.certificate:.1e}" + (", verified exactly" if self.exact else ""),
        ]
        return "\n".join(lines + ([self.message] if self.message else []))


def initial_collapse(
    tower: Tower, exact: bool = False, coordinates: str = "reduced", bracing: str = "braced"
) -> InitialCollapse:
    """Accelerations at rest. With `exact` they are verified in rational arithmetic (small towers).

    With coordinates "framework" the unknowns are the points of the paper's frameworks; `bracing` selects their bars.
    """
    if coordinates not in COORDINATES:
        raise ProblemError.unknown("coordinates", coordinates, COORDINATES)
    return _result(tower, *accelerations(tower, tower.contacts, coordinates, bracing), exact)


def accelerations(
    tower: Tower, contacts: TowerContacts, coordinates: str = "reduced", bracing: str = "braced"
) -> tuple[Floats, Floats, float]:
    """(n, 3) accelerations with these contacts, the multipliers, and the certificate."""
    still = np.zeros((tower.count, 3))
    if coordinates == "reduced":
        made: ReducedCoordinates | FrameworkCoordinates = ReducedCoordinates(tower, still, 1.0)
    else:
        made = FrameworkCoordinates(tower, still, 1.0, bracing)
    near = contact_table(tower, contacts)
    along = edge_geometry(near, made.corners())[1]
    program = Projection(made.rows(near, np.ascontiguousarray(contacts.normal), along), made.equations)
    scale = made.inverse_sqrt_mass()
    free = whitened(made.free_motion(np.array([0.0, -tower.gravity])), scale)
    x, y, certificate = program.solve(free, np.zeros(len(near) + made.equations))
    motion = x * scale
    acceleration = motion if isinstance(made, ReducedCoordinates) else _rigid(tower, made, motion)
    return acceleration, y, certificate


def _rigid(tower: Tower, made: FrameworkCoordinates, motion: Floats) -> Floats:
    """(n, 3) accelerations of the bricks from those of their points."""
    n, owner, mass = tower.count, made.owner, made.mass
    arm = made.point - tower.center[owner]
    out = np.empty((n, 3))
    for t in (0, 1):
        out[:, t] = np.bincount(owner, mass * motion[:, t], n) / tower.mass
    out[:, 2] = np.bincount(owner, mass * (arm[:, 0] * motion[:, 1] - arm[:, 1] * motion[:, 0]), n) / tower.inertia
    return out


def _result(tower: Tower, acceleration: Floats, y: Floats, certificate: float, exact: bool) -> InitialCollapse:
    rows = contact_rows(tower)
    size = np.array([1.0, 1.0, tower.size])
    lengths = acceleration * size
    acceleration = np.where((np.abs(lengths).max(axis=1) <= STILL * tower.gravity)[:, None], 0.0, acceleration)
    opening = np.asarray(rows @ acceleration.ravel())
    m, pins = len(opening), 2 * len(tower.pins)
    made = InitialCollapse(
        acceleration=acceleration,
        forces=y[:m],
        pin_forces=y[m : m + pins].reshape(-1, 2),
        opening=opening,
        opens=opening > STILL * tower.gravity,
        certificate=certificate,
    )
    return _verified(tower, made) if exact else made


def _verified(tower: Tower, made: InitialCollapse) -> InitialCollapse:
    from .exact import NotVerified, exact_initial

    try:
        found = exact_initial(tower, tower.contacts, made.forces, made.acceleration)
    except NotVerified as reason:
        return replace(made, message=f"not verified exactly: {reason}")
    return replace(made, exact=True, exact_acceleration=found.acceleration)
