"""The first instant of a collapse: accelerations of a tower at rest, by Gauss' principle of least constraint.

    min sum_i m_i |a_i - g|^2   subject to (L2) for all bars and (S2) for all contacts,

at rest `(a_i - a_j) . (p_i - p_j) = 0` and `n . (a_k - (1 - alpha) a_i - alpha a_j) >= 0`. The answer is unique, and
exact in the sense of the paper: no step is involved. The multipliers are the contact forces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..solvers.qp.nearest import Nearest
from ..solvers.rows import Floats, Ints
from .framework import Pointwise
from .near_contacts import edge_geometry
from .reduced import Reduced

if TYPE_CHECKING:
    from .tower import Tower

COORDINATES = ("reduced", "framework")
STILL = 1e-9  # of gravity: accelerations below count as none


@dataclass(frozen=True, eq=False)
class InitialCollapse:
    """How a tower begins to fall."""

    acceleration: Floats  # (n, 3): ax, ay, alpha of each brick, about its center of mass
    forces: Floats  # (m,) contact forces, along the normals of `Tower.contacts` on the brick with the corner
    pin_forces: Floats  # (p, 2) on the first brick of each pin
    opening: Floats  # (m,) acceleration at which each contact opens
    opens: NDArray[np.bool_]  # (m,) which contacts open
    certificate: float  # largest violation of the optimality conditions, relative to g
    exact: bool = False  # verified in rational arithmetic
    exact_acceleration: tuple[tuple[Fraction, Fraction, Fraction], ...] | None = None
    message: str = ""

    @property
    def stands(self) -> bool:
        """Whether nothing moves."""
        return not self.opens.any() and float(np.abs(self.acceleration).max(initial=0.0)) == 0.0

    @property
    def moving(self) -> Ints:
        """Numbers of the bricks that move."""
        return np.flatnonzero(np.abs(self.acceleration).max(axis=1) > 0.0)

    def summary(self) -> str:
        """A few lines of text."""
        lines = [
            f"bricks that move: {len(self.moving)} of {len(self.acceleration)}",
            f"contacts that open: {int(self.opens.sum())} of {len(self.opens)}",
            f"certificate: {self.certificate:.1e}" + (", verified exactly" if self.exact else ""),
        ]
        return "\n".join(lines + ([self.message] if self.message else []))


def initial_collapse(
    tower: Tower, exact: bool = False, coordinates: str = "reduced", bracing: str = "braced"
) -> InitialCollapse:
    """Accelerations at rest. With `exact` the answer is verified with fractions (small towers).

    `coordinates` "framework" solves it over the points and bars of the paper instead, `bracing` says how many bars.
    """
    if coordinates not in COORDINATES:
        raise ProblemError.unknown("coordinates", coordinates, COORDINATES)
    still = np.zeros((tower.count, 3))
    place: Reduced | Pointwise = (
        Reduced(tower, still, 1.0) if coordinates == "reduced" else Pointwise(tower, still, 1.0, bracing)
    )
    found, near = tower.contacts, touching_rows(tower)
    normal, along, _ = edge_geometry(near, place.corners())
    normal = np.ascontiguousarray(found.normal)  # the same, without the ground's special case
    root = place.root()
    fall = np.array([0.0, -tower.gravity])
    free = np.where(root > 0.0, place.free_motion(fall) / np.where(root > 0.0, root, 1.0), 0.0)
    program = Nearest(place.rows(near, normal, along), place.equations)
    x, y, certificate = program.solve(free, np.zeros(len(near) + place.equations))
    motion = x * root
    acceleration = motion if isinstance(place, Reduced) else _rigid(tower, place, motion)
    return _result(tower, acceleration, y, certificate, exact)


def touching_rows(tower: Tower) -> Ints:
    """The contacts at rest in the form of `near.Near`."""
    found = tower.contacts
    ptr = np.concatenate([[0], np.cumsum([len(c) for c in tower.corners])])
    count = np.diff(ptr)
    ground = found.under < 0
    under = np.where(ground, 0, found.under)
    start = ptr[under] + found.edge
    end = ptr[under] + (found.edge + 1) % count[under]
    columns = (
        found.on,
        ptr[found.on] + found.vertex,
        found.under,
        np.where(ground, -1, start),
        np.where(ground, -1, end),
    )
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int64))


def _rigid(tower: Tower, place: Pointwise, motion: Floats) -> Floats:
    """Three numbers a brick from the accelerations of its points."""
    n, owner, mass = tower.count, place.owner, place.mass
    arm = place.point - tower.center[owner]
    out = np.empty((n, 3))
    for t in (0, 1):
        out[:, t] = np.bincount(owner, mass * motion[:, t], n) / tower.mass
    out[:, 2] = np.bincount(owner, mass * (arm[:, 0] * motion[:, 1] - arm[:, 1] * motion[:, 0]), n) / tower.inertia
    return out


def _result(tower: Tower, acceleration: Floats, y: Floats, certificate: float, exact: bool) -> InitialCollapse:
    from .contacts import contact_rows

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
    from .exact import exact_initial

    check: Any = exact_initial(tower, made.forces, made.acceleration)
    if not check.exact:
        return replace(made, message=f"not verified exactly: {check.reason}")
    return replace(made, exact=True, exact_acceleration=check.acceleration)
