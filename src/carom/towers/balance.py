"""Whether contacts and pins can support a load: one linear program decides, and springs give the forces (section 1).

J (m, 3n) are the contact rows, P (2p, 3n) the pin rows, w (3n,) the load. Either forces support it,

    J^T f + P^T q + w = 0,   f >= 0,

or by Farkas' lemma there is a motion d against which the contacts do not resist: J d >= 0, P d = 0, w . d > 0. Both
cannot exist, since w . d = -f . J d <= 0 for supporting forces. All computations are scaled to lengths and to the
largest load, so that the results depend neither on the unit of length nor on gravity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from ..solvers.rows import Floats, Ints

CLEAR = 1e-6  # larger values of the linear program mean instability; HiGHS is accurate to 1e-10 of the largest load
HELD = 1e-10  # relative imbalance of a brick that counts as zero
# Inertia over stiffness of the springs: it keeps their equations regular where parts are loose. It is small, so that
# few rounds suffice, but larger for unstable towers, where displacements are as large as its inverse.
SOFT, SOFT_FALLING = 1e-8, 1e-4
CLEAN = 1e-12  # relative to the largest force: smaller forces are rounding errors
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
MOST_ROUNDS, MOST_NEWTON = 40, 100


@dataclass(frozen=True, eq=False)
class System:
    """Rows over scaled motions x of the bricks that can move: d = scale * x, a length in every component."""

    contacts: sparse.csr_array  # (m, k)
    pins: sparse.csr_array  # (2p, k)
    inertia: Floats  # (k,) relative to the largest
    scale: Floats  # (k,)
    columns: Ints  # (k,) numbers of these motions among the 3n
    size: int  # 3n

    def reduced(self, load: Floats) -> Floats:
        """The load as forces on scaled motions."""
        return load[self.columns] * self.scale

    def motion(self, x: Floats) -> Floats:
        """(3n,) the motion of all bricks for a scaled motion."""
        out = np.zeros(self.size)
        out[self.columns] = self.scale * x
        return out


def make_system(contacts: sparse.csr_array, pins: sparse.csr_array, masses: Floats, reach: Floats) -> System:
    """Scales the rows by `masses` (3n,) and `reach` (n,).

    The reach is the distance of a brick's farthest corner from its center of mass, and 0 for fixed bricks.
    """
    columns = np.flatnonzero(np.repeat(reach > 0, 3))
    scale = np.stack([np.ones_like(reach), np.ones_like(reach), 1.0 / np.where(reach > 0, reach, 1.0)], axis=1)
    scale = scale.ravel()[columns]
    inertia = masses[columns] * scale**2
    inertia = inertia / inertia.max() if len(inertia) else inertia
    stretch = sparse.diags_array(scale)
    return System(
        sparse.csr_array(contacts[:, columns] @ stretch),
        sparse.csr_array(pins[:, columns] @ stretch),
        inertia,
        scale,
        columns,
        len(masses),
    )


@dataclass(frozen=True, eq=False)
class Verdict:
    """Forces that support the load, or a motion along which it does work."""

    held: bool
    forces: Floats  # (m,)
    pin_forces: Floats  # (2p,)
    motion: Floats  # (3n,)
    power: float  # value of the linear program: work on a motion with components up to 1, relative to the largest load


def decide(system: System, load: Floats) -> Verdict:
    """Whether the contacts support `load` (3n,)."""
    m, p = system.contacts.shape[0], system.pins.shape[0]
    w = system.reduced(load)
    unit = float(np.abs(w).max(initial=0.0))
    if unit == 0.0:
        return Verdict(True, np.zeros(m), np.zeros(p), np.zeros(system.size), 0.0)
    w = w / unit
    power, lp_motion = most_work(system, w)
    springs = _springs(system, w, SOFT if power <= CLEAR else SOFT_FALLING)
    held = power <= CLEAR and imbalance(system, w, springs.forces, springs.pin_forces) <= HELD
    if held:
        return Verdict(True, unit * springs.forces, unit * springs.pin_forces, np.zeros(system.size), power)
    best = _closed_up(system, springs.acceleration, springs.forces > 0.0)
    if not _proves(system, w, best):
        best = max(best, _closed_up(system, lp_motion, None), key=lambda x: float(w @ x) - 1e3 * closing(system, x))
    return Verdict(False, unit * springs.forces, unit * springs.pin_forces, system.motion(best), power)


def imbalance(system: System, load: Floats, forces: Floats, pin_forces: Floats) -> float:
    """Largest unbalanced force or torque of a brick, relative to the forces on that brick (`load` for scaled motions).

    Bricks with almost no force count as if they had 1e-4 of the largest force, so that rounding is no imbalance.
    """
    if not len(load):
        return 0.0
    j, p = system.contacts, system.pins
    left = np.abs(j.T @ forces + p.T @ pin_forces + load).reshape(-1, 3).max(axis=1)
    on = (np.abs(j).T @ np.abs(forces) + np.abs(p).T @ np.abs(pin_forces) + np.abs(load)).reshape(-1, 3).max(axis=1)
    return float(np.max(left / np.maximum(on, max(1e-4 * float(on.max()), 1e-300))))


def closing(system: System, x: Floats) -> float:
    """Largest rate at which a contact closes or a pin separates, relative to the largest component of the motion."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    worst = max(0.0, -float((system.contacts @ x).min(initial=0.0)), float(np.abs(system.pins @ x).max(initial=0.0)))
    return worst / largest


def most_work(system: System, w: Floats) -> tuple[float, Floats]:
    """max w . x with J x >= 0, P x = 0, |x_i| <= 1. By duality this is the least sum of unbalanced forces."""
    m, p = system.contacts.shape[0], system.pins.shape[0]
    answer = linprog(
        -w,
        A_ub=-system.contacts if m else None,
        b_ub=np.zeros(m) if m else None,
        A_eq=system.pins if p else None,
        b_eq=np.zeros(p) if p else None,
        bounds=(-1.0, 1.0),
        method="highs",
        options=TIGHT,
    )
    if answer.x is None:  # cannot happen without a time limit: x = 0 is feasible and the box is bounded
        raise RuntimeError(f"HiGHS found no answer: {answer.message}")
    return max(0.0, -float(answer.fun)), np.asarray(answer.x)


@dataclass(frozen=True, eq=False)
class _Springs:
    forces: Floats
    pin_forces: Floats
    acceleration: Floats


def _springs(system: System, w: Floats, soft: float) -> _Springs:
    """Forces if each contact is a spring of the same stiffness that can only push, and each pin one along x and y.

    f = max(0, -J x) with J^T f - P^T P x + w = soft * M (x - x_before), solved repeatedly from x until the right-hand
    side vanishes. In a stable tower these forces have the least sum of squares, so they are unique, and symmetric if
    the tower is. In an unstable tower the right-hand side converges to M a with the acceleration a of Gauss' principle.
    """
    j, p = system.contacts, system.pins
    inertia = soft * np.maximum(system.inertia, 1e-6)
    x = np.zeros(len(w))
    before = np.full(len(w), np.inf)
    change = before
    for _ in range(MOST_ROUNDS):
        center = x
        x = _settle(system, w, inertia, center)
        change = inertia * (x - center)
        moved = float(np.abs(change - before).max(initial=0.0))
        if moved <= 1e-15 or float(np.abs(change).max(initial=0.0)) <= 1e-15:
            break
        before = change
    forces = np.maximum(0.0, -(j @ x))
    forces[forces <= CLEAN * forces.max(initial=0.0)] = 0.0
    forces, pin_forces = _polished(system, w - change, inertia, forces, -(p @ x))
    return _Springs(forces, pin_forces, change / np.maximum(system.inertia, 1e-6))


def _settle(system: System, w: Floats, inertia: Floats, center: Floats) -> Floats:
    """min 1/2 |max(0, -J x)|^2 + 1/2 |P x|^2 - w . x + 1/2 (x - center)^T inertia (x - center) by Newton's method.

    The function is convex and piecewise quadratic: with a line search, Newton's method ends after finitely many steps,
    when the set of contacts that push remains the same.
    """
    j, p = system.contacts, system.pins
    x = center
    pins = p.T @ p + sparse.diags_array(inertia)
    for _ in range(MOST_NEWTON):
        press = j @ x < 0.0
        slope = j.T @ np.minimum(0.0, j @ x) + p.T @ (p @ x) - w + inertia * (x - center)
        rows = j[np.flatnonzero(press)]
        step = -splu(sparse.csc_array(rows.T @ rows + pins)).solve(slope)
        rounding = 1e-15 * (1.0 + float(np.abs(x).max(initial=0.0)))
        if -float(slope @ step) <= rounding * (1e-11 + rounding / float(inertia.max())):
            return x + step  # marginal contacts may change by rounding: no reason to continue
        length = _line(j @ x, j @ step, slope, step, p @ step, inertia)
        x = x + length * step
        if length == 1.0 and np.array_equal(j @ x < 0.0, press):
            return x
    return x


def _line(rate: Floats, along: Floats, slope: Floats, step: Floats, pins: Floats, inertia: Floats) -> float:
    """The minimum along the line, at a zero of the slope, which is linear between the points where a contact opens."""
    curve = float(pins @ pins + step @ (inertia * step))
    start = float(slope @ step) - float(np.minimum(0.0, rate) @ along)  # without the contribution of the contacts
    crossing = np.divide(-rate, along, out=np.full_like(rate, np.inf), where=along != 0.0)
    places = np.append(np.sort(crossing[(crossing > 0.0) & np.isfinite(crossing)]), np.inf)
    low = 0.0
    for high in places:
        middle = low + 1.0 if high == np.inf else 0.5 * (low + high)
        press = rate + middle * along < 0.0
        bend = curve + float(along[press] @ along[press])
        base = start + float(rate[press] @ along[press])
        zero = -base / bend if bend > 0.0 else np.inf
        if zero <= high:
            length = max(low, zero)
            return 1.0 if abs(length - 1.0) <= 1e-12 else length
        low = high
    return 1.0


def _polished(system: System, w: Floats, inertia: Floats, forces: Floats, pin_forces: Floats) -> tuple[Floats, Floats]:
    """Removes the remaining imbalance by the least change of the forces that act."""
    j, p = system.contacts, system.pins
    rows = j[np.flatnonzero(forces > 0.0)]
    factor = splu(sparse.csc_array(rows.T @ rows + p.T @ p + sparse.diags_array(inertia)))
    best = (forces, pin_forces)
    for _ in range(3):
        left = j.T @ forces + p.T @ pin_forces + w
        give = factor.solve(left)
        pushed = np.where(forces > 0.0, np.maximum(0.0, forces - j @ give), 0.0)
        held = pin_forces - p @ give
        if imbalance(system, w, pushed, held) < imbalance(system, w, *best):
            best = (pushed, held)
        forces, pin_forces = pushed, held
    return best


def _closed_up(system: System, x: Floats, pushing: NDArray[np.bool_] | None) -> Floats:
    """The motion, scaled to 1, corrected so that contacts that neither open nor close have a rate of exactly zero.

    `pushing` marks these contacts; None selects all that open at a rate below 1e-8, or close.
    """
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0:
        return x
    x = x / largest
    j, p = system.contacts, system.pins
    for _ in range(3):
        rate = j @ x
        still = rate < 1e-8 if pushing is None else pushing | (rate < 0.0)
        rows = sparse.vstack([j[np.flatnonzero(still)], p], format="csr")
        if not rows.shape[0]:
            break
        square = sparse.csc_array(rows.T @ rows + 1e-10 * sparse.eye_array(len(x)))
        factor = splu(square)
        for _ in range(4):
            x = x - factor.solve(rows.T @ (rows @ x))
        pushing = still
    x = x / max(float(np.abs(x).max(initial=0.0)), 1e-300)
    return np.where(np.abs(x) > 1e-14, x, 0.0)


def _proves(system: System, w: Floats, x: Floats) -> bool:
    """Whether the load does far more work on the motion than the rounding of closing contacts can account for."""
    return float(w @ x) > 1e3 * closing(system, x)
