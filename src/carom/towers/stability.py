"""Stability (section 1 of the paper): contact forces that support a tower, or a motion that releases energy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.rows import Floats
from .balance import System, closing, decide, imbalance, make_system
from .contacts import TowerContacts, contact_rows, masses, pin_rows, weights

if TYPE_CHECKING:
    from .tower import Tower

BOUND = 1e-9  # largest certificate that counts as a proof


@dataclass(frozen=True, eq=False)
class Stability:
    """Whether a tower is stable, with the proof. It is true in a condition if the tower is stable.

    Stable: `forces` (m,) >= 0 along the contact normals and `pin_forces` (p, 2) on the first brick of each pin, with
    J^T f + P^T q + weights = 0. Forces that are not unique are those of equally stiff springs in all contacts.
    Unstable: `motion` (n, 3), (dx, dy, turn) of each brick, along which no contact closes and gravity does work. Its
    fastest corner moves by 1.
    """

    stable: bool
    forces: Floats | None
    pin_forces: Floats | None
    motion: Floats | None
    power: float  # work of gravity along the motion; 0 if stable
    residual: float  # stable: largest unbalanced force, or torque over arm; unstable: largest closing rate
    certificate: float  # stable: residual over the forces on that brick; unstable: over the fastest brick's rate
    exact: bool = False  # whether it was verified in rational arithmetic
    messages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.stable

    @property
    def proven(self) -> bool:
        """Whether the check after the solution confirmed it."""
        return self.certificate <= BOUND and (self.stable or self.power > 0.0)

    def summary(self) -> str:
        """A description of a few lines."""
        kind = "verified in fractions" if self.exact else f"certificate {self.certificate:.1e}"
        if self.stable:
            carrying = 0 if self.forces is None else int(np.count_nonzero(self.forces))
            total = 0 if self.forces is None else len(self.forces)
            largest = 0.0 if self.forces is None else float(self.forces.max(initial=0.0))
            lines = [
                f"stable, {kind}",
                f"{carrying} of {total} contacts carry, the largest force is {largest:.6g}",
            ]
        else:
            moving = 0 if self.motion is None else int(np.count_nonzero(np.abs(self.motion).max(axis=1) > 1e-9))
            lines = [
                f"unstable, {kind}",
                f"{moving} bricks move; gravity does work {self.power:.6g} when the fastest corner moves by 1",
            ]
        return "\n".join((*lines, *self.messages))


def stability(tower: Tower, exact: bool = False) -> Stability:
    """Decides stability by max weights . d with J d >= 0, P d = 0 and |d| <= 1, which is zero for a stable tower.

    `exact` verifies the answer in rational arithmetic, for towers of up to `exact.MOST_CONTACTS` contacts.
    """
    found = _stability(tower, tower.contacts, exact)
    choice = tower.corner_choice
    if choice is None or not found.stable:
        return found
    # Forces along one edge of each corner are no proof: the tower must be stable for every choice of edges.
    others = [_stability(tower, contacts, exact) for contacts in choice.ends]
    falling = [other for other in others if not other.stable]
    if falling:
        return falling[0]
    notes = () if choice.complete else (f"not all edges of the {tower.corner_count} corners that meet were tried",)
    return replace(
        found, exact=found.exact and all(o.exact for o in others) and not notes, messages=found.messages + notes
    )


def _stability(tower: Tower, contacts: TowerContacts, exact: bool) -> Stability:
    """The verdict for given contacts."""
    system = tower_system(tower, contacts)
    load = weights(tower)
    verdict = decide(system, load)
    if verdict.held:
        found = _standing(system, load, verdict.forces, verdict.pin_forces)
    else:
        found = _falling(tower, system, load, verdict.motion)
    return _in_fractions(tower, contacts, system, found) if exact else found


def tower_system(tower: Tower, contacts: TowerContacts | None = None) -> System:
    """The scaled rows of a tower."""
    return make_system(contact_rows(tower, contacts), pin_rows(tower), masses(tower), reach(tower))


def reach(tower: Tower) -> Floats:
    """(n,) distance of the farthest corner from the center of mass; 0 for fixed bricks."""
    far = [np.hypot(*(corners - center).T).max() for corners, center in zip(tower.corners, tower.center)]
    return np.array(far) * tower.free


def fastest_corner(tower: Tower, motion: Floats) -> float:
    """Largest distance that any corner moves, for a motion (n, 3)."""
    fastest = 0.0
    for corners, center, (dx, dy, turn) in zip(tower.corners, tower.center, motion):
        arm = corners - center
        fastest = max(fastest, float(np.hypot(dx - turn * arm[:, 1], dy + turn * arm[:, 0]).max()))
    return fastest


def _standing(system: System, load: Floats, forces: Floats, pin_forces: Floats) -> Stability:
    """The result for a stable tower, with the residual of the balance of forces."""
    scaled = system.reduced(load)
    left = system.contacts.T @ forces + system.pins.T @ pin_forces + scaled
    certificate = imbalance(system, scaled, forces, pin_forces)
    notes = () if certificate <= BOUND else (f"forces were found, but they balance only to {certificate:.1e}",)
    residual = float(np.abs(left).max(initial=0.0))
    return Stability(True, forces, pin_forces.reshape(-1, 2), None, 0.0, residual, certificate, False, notes)


def _falling(tower: Tower, system: System, load: Floats, motion: Floats) -> Stability:
    """The result for an unstable tower, with the residual of the rates and the work of gravity."""
    moved = motion.reshape(-1, 3)
    fastest = fastest_corner(tower, moved)
    moved = moved / fastest if fastest > 0.0 else moved
    x = moved.ravel()[system.columns] / system.scale
    certificate = closing(system, x)
    power = float(load @ moved.ravel())
    notes = []
    if certificate > BOUND or power <= 0.0:
        notes.append(
            f"a motion was found, but contacts close at up to {certificate:.1e} of it and gravity does work {power:.3g}"
        )
    residual = certificate * float(np.abs(x).max(initial=0.0))
    return Stability(False, None, None, moved, power, residual, certificate, False, tuple(notes))


def _in_fractions(tower: Tower, contacts: TowerContacts, system: System, found: Stability) -> Stability:
    """The result with its forces or motion verified in rational arithmetic, if possible."""
    from .exact import NotVerified, exact_forces, exact_motion

    load = weights(tower)
    try:
        if found.forces is not None and found.pin_forces is not None:
            forces, pin_forces = exact_forces(tower, contacts, found.forces, found.pin_forces)
            return replace(_standing(system, load, forces, pin_forces.ravel()), exact=True)
        assert found.motion is not None
        motion = np.array(exact_motion(tower, contacts, found.motion), dtype=float)
        return replace(_falling(tower, system, load, motion.ravel()), exact=True)
    except NotVerified as reason:
        return replace(found, messages=(*found.messages, f"not verified in fractions: {reason}"))
