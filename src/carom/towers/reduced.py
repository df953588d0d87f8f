"""Reduced coordinates (section 8.2 of the paper): three per brick, for its translation and rotation.

The linearized constraints on the bars of a framework leave each brick similar to itself: its points are `c + z r` with
the center of mass c, the arms r at the start, and a complex number z for rotation and stretch. A step translates the
center by u and changes z to `(rho + i s) z`. The bars determine rho; u and s are the three unknowns. The objective over
the points is

    1/2 M |u - u_free|^2 + 1/2 I |z|^2 (s - s_free)^2,

so a framework and its brick move alike in every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..solvers.rows import Floats, Ints, Rows, rows_from_csr

if TYPE_CHECKING:
    from .tower import Tower

Complexes = NDArray[np.complex128]


class ReducedCoordinates:
    """Bricks by center of mass and complex rotation z. Arrays of complex numbers hold points and arms.

    A motion is an (n, 3) array (dx, dy, s). `early` lowers the position one step before the start, which otherwise
    follows from the initial velocity.
    """

    block = 3
    varying = ("center", "turn", "last_center", "last_turn")  # what a step changes

    def __init__(self, tower: Tower, velocity: Floats, step: float, early: float = 0.0) -> None:
        self.brick = np.repeat(np.arange(tower.count), np.diff(tower.first_corner))  # of each corner
        self.owner = np.arange(tower.count)  # brick of each row of a motion
        self.mass, self.inertia, self.free = tower.mass, tower.inertia, tower.free
        self.center = _complex(tower.center)
        self.arm = _complex(np.concatenate(tower.corners)) - self.center[self.brick]
        self.turn: Complexes = np.ones(tower.count, dtype=np.complex128)
        # Position one step before the start, from which Fig. 7 extrapolates.
        self.last_center = self.center - (step * _complex(velocity[:, :2]) + 1j * early) * self.free
        self.last_turn = self.turn * np.exp(-1j * step * velocity[:, 2] * self.free)
        self.pin_bricks = np.array([(p.first, p.second) for p in tower.pins], dtype=np.int64).reshape(-1, 2)
        self.pin_place = np.array([complex(*p.at) for p in tower.pins])
        self.pin_arm = self.pin_place[:, None] - self.center[self.pin_bricks] if len(tower.pins) else np.zeros((0, 2))
        self.equations = 2 * len(tower.pins)

    def corners(self) -> Floats:
        """(c, 2) present corners."""
        return _pairs(self.center[self.brick] + self.turn[self.brick] * self.arm)

    def last_corners(self) -> Floats:
        """(c, 2) corners one step earlier."""
        return _pairs(self.last_center[self.brick] + self.last_turn[self.brick] * self.arm)

    def pose(self) -> tuple[Complexes, Complexes]:
        """(n,) complex centers of mass and rotations."""
        return self.center, self.turn

    def inverse_sqrt_mass(self) -> Floats:
        """(n, 3) inverse square roots of the masses of (dx, dy, s); 0 for fixed bricks."""
        weight = np.stack([self.mass, self.mass, self.inertia * np.abs(self.turn) ** 2], axis=1)
        return np.where(self.free[:, None], 1.0 / np.sqrt(weight), 0.0)

    def free_motion(self, fall: Floats) -> Floats:
        """(n, 3) the motion extrapolated as in Fig. 7, with `fall` = g step^2 added."""
        along = self.center - self.last_center
        spin = -(self.last_turn / self.turn).imag
        motion = np.stack([along.real + fall[0], along.imag + fall[1], spin], axis=1)
        return motion * self.free[:, None]

    def mirrored(self, partner: Ints) -> Ints:
        """For each row of a motion the row of its mirror image; `partner` (n,) has the mirror image of each brick."""
        return partner

    # ---- stretch

    def stretch(self, lengths: str, s: Floats | None = None) -> Floats:
        """(n,) rho of each brick: (L') for "previous", (L'') for "original".

        With s, "original" gives the rho that keeps all lengths exactly when the brick rotates by s.
        """
        size = np.abs(self.turn) ** 2
        if lengths == "previous":
            return 1.0 - np.abs(self.turn - self.last_turn) ** 2 / size
        return np.sqrt(np.maximum(1.0 / size - (0.0 if s is None else s * s), 0.0))

    def turn_part(self, motion: Floats) -> Floats:
        """The part of a motion that `stretch` needs."""
        return np.asarray(motion[:, 2])

    def moved(self, motion: Floats, rho: Floats) -> Floats:
        """(c, 2) corners after a motion (dx, dy, s) with stretch rho."""
        center, turn = self._after(motion, rho)
        return _pairs(center[self.brick] + turn[self.brick] * self.arm)

    def _after(self, motion: Floats, rho: Floats) -> tuple[Complexes, Complexes]:
        change = np.where(self.free, rho + 1j * motion[:, 2], 1.0)
        return self.center + motion[:, 0] + 1j * motion[:, 1], self.turn * change

    def advance(self, motion: Floats, rho: Floats, rigid: bool) -> None:
        """Takes one step; with `rigid` the rounding error of the stretch is removed."""
        self.last_center, self.last_turn = self.center, self.turn
        self.center, self.turn = self._after(motion, rho)
        if rigid:
            self.turn = self.turn / np.abs(self.turn)

    def halve(self, fall: Floats) -> None:
        """Replaces the last step by one of half the length; `fall` = g step^2 of the whole step.

        Exact for free flight.
        """
        along = 0.5 * (self.center - self.last_center) + complex(*fall) / 8.0
        self.last_center = self.center - along * self.free
        self.last_turn = self.turn * np.exp(0.5j * np.angle(self.last_turn / self.turn))

    def double(self, fall: Floats) -> None:
        """Reverses `halve`."""
        along = 2.0 * (self.center - self.last_center) - complex(*fall) / 4.0
        self.last_center = self.center - along * self.free
        self.last_turn = self.turn * np.exp(2.0j * np.angle(self.last_turn / self.turn))

    def come_from(self, motion: Floats) -> None:
        """Changes the velocities: the last step becomes this motion, without stretch."""
        self.last_center = self.center - (motion[:, 0] + 1j * motion[:, 1])
        self.last_turn = self.turn * (1.0 - 1j * motion[:, 2])

    # ---- rows of the program

    def rows(self, near: Ints, normal: Floats, along: Floats) -> Rows:
        """Whitened rows of the contacts, then of the pins."""
        arms = self.turn[self.brick] * self.arm
        pins = self.turn[self.pin_bricks] * self.pin_arm if len(self.pin_bricks) else np.zeros((0, 2), np.complex128)
        free = np.append(self.free, False)  # the ground is brick -1
        ptr, body, val = _fill(
            near, normal, along, arms, self.pin_bricks, pins.astype(np.complex128), free, self.inverse_sqrt_mass()
        )
        return rows_from_csr(ptr, body, val, len(self.mass))

    def equation_bounds(self, rho: Floats) -> Floats:
        """(2p,) right-hand sides of the pin rows: the motion must close the gaps that the stretch leaves."""
        return -self.pin_gaps(np.zeros((len(self.mass), 3)), rho)

    def pin_gaps(self, motion: Floats, rho: Floats) -> Floats:
        """(2p,) distance between the two sides of each pin along x and y, after a motion."""
        if not self.equations:
            return np.zeros(0)
        center, turn = self._after(motion, rho)
        sides = np.where(self.pin_bricks < 0, self.pin_place[:, None], 0.0)
        held = self.pin_bricks >= 0
        sides = np.where(held, center[self.pin_bricks] + turn[self.pin_bricks] * self.pin_arm, sides)
        return _pairs(sides[:, 0] - sides[:, 1]).ravel()

    # ---- accelerations (Fig. 6)

    def velocity(self, step: float) -> tuple[Complexes, Complexes]:
        """(n,) complex velocities of the centers and of z over the last step."""
        return (self.center - self.last_center) / step, (self.turn - self.last_turn) / step

    def corner_velocity(self, step: float) -> Floats:
        """(c, 2) velocities of the corners over the last step."""
        center, turn = self.velocity(step)
        return _pairs(center[self.brick] + turn[self.brick] * self.arm)

    def centripetal(self, step: float, feedback: bool) -> Floats:
        """(n,) -Re(z'' / z) by (L2); with `feedback` the error of (L1) is corrected, too."""
        rate = self.velocity(step)[1] / self.turn
        return np.asarray(np.abs(rate) ** 2 + (rate.real / step if feedback else 0.0))

    def acceleration_at_rest(self, inward: Floats) -> Floats:
        """(c, 2) accelerations of the corners if the unknowns (ax, ay, alpha) are zero."""
        return _pairs(-(inward * self.turn)[self.brick] * self.arm)

    def acceleration_equations(self, inward: Floats, step: float, feedback: bool) -> Floats:
        """(2p,) right-hand sides of the pin rows for accelerations."""
        if not self.equations:
            return np.zeros(0)
        held = self.pin_bricks >= 0
        center, turn = self.velocity(step)
        acceleration = np.where(held, -(inward * self.turn)[self.pin_bricks] * self.pin_arm, 0.0)
        bound = _pairs(acceleration[:, 1] - acceleration[:, 0]).ravel()
        if feedback:
            apart = np.where(held, center[self.pin_bricks] + turn[self.pin_bricks] * self.pin_arm, 0.0)
            still = np.zeros((len(self.mass), 3))
            bound -= _pairs(apart[:, 0] - apart[:, 1]).ravel() / step
            bound -= self.pin_gaps(still, np.ones(len(self.mass))) / step**2
        return np.asarray(bound)

    def accelerated(self, acceleration: Floats, inward: Floats, step: float) -> tuple[Floats, Floats]:
        """Motion (dx, dy, s) and stretch rho of a step with these accelerations; v is updated before p."""
        center, turn = self.velocity(step)
        rate = turn / self.turn
        motion = acceleration * step**2 + np.stack([center.real, center.imag, rate.imag], axis=1) * step
        return motion, 1.0 + rate.real * step - inward * step**2


@kernel
def _fill(near, normal, along, arm, pins, pin_arm, free, scale):
    """Row pointers, bodies and whitened entries of the contact rows and pin rows."""
    m, p = len(near), len(pins)
    ptr = np.zeros(m + 2 * p + 1, np.int64)
    body, val = np.empty(2 * (m + 2 * p), np.int64), np.empty((2 * (m + 2 * p), 3))
    count = np.int64(0)  # typed: Numba would compile _entry once more for the literal 0
    for c in range(m):
        on, k, under, i, j = near[c, 0], near[c, 1], near[c, 2], near[c, 3], near[c, 4]
        nx, ny = normal[c, 0], normal[c, 1]
        if free[on]:
            count = _entry(body, val, count, on, nx, ny, arm[k], scale)
        if under >= 0 and free[under]:
            foot = (1.0 - along[c]) * arm[i] + along[c] * arm[j]
            count = _entry(body, val, count, under, -nx, -ny, foot, scale)
        ptr[c + 1] = count
    for c in range(p):
        for axis in range(2):
            nx, ny = (1.0, 0.0) if axis == 0 else (0.0, 1.0)
            for side in range(2):
                b = pins[c, side]
                if b >= 0 and free[b]:
                    sign = 1.0 - 2.0 * side
                    count = _entry(body, val, count, b, sign * nx, sign * ny, pin_arm[c, side], scale)
            ptr[m + 2 * c + axis + 1] = count
    return ptr, body[:count].copy(), val[:count].copy()


@kernel
def _entry(body, val, count, b, nx, ny, arm, scale):
    """Writes the entry of one brick; returns the number of entries."""
    body[count] = b
    val[count, 0], val[count, 1] = nx * scale[b, 0], ny * scale[b, 1]
    val[count, 2] = (arm.real * ny - arm.imag * nx) * scale[b, 2]
    return count + 1


def _complex(pairs: Floats) -> Complexes:
    return np.asarray(pairs[:, 0] + 1j * pairs[:, 1])


def _pairs(numbers: Complexes) -> Floats:
    return np.stack([numbers.real, numbers.imag], axis=-1)
