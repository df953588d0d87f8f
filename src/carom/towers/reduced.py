"""Three coordinates a brick (section 8.2 of the paper): its center, and how its points turn and stretch about it.

The linear constraints on a framework's bars leave each brick similar to itself: points are `c + z r`, with r their
arms at the start and a complex number z for turn and stretch. A step moves the center by u and turns by
`z -> (rho + i s) z`. The bars fix rho; u and s are the three unknowns. The objective over the points is then

    1/2 M |u - u_free|^2 + 1/2 I |z|^2 (s - s_free)^2,

so a framework and its brick move alike, step by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..solvers.rows import Floats, Ints, Rows, make_rows

if TYPE_CHECKING:
    from .tower import Tower

Complexes = NDArray[np.complex128]


class Reduced:
    """Bricks by center and turn. Arrays of complex numbers hold places and arms in the plane."""

    block = 3

    def __init__(self, tower: Tower, velocity: Floats, step: float, early: float = 0.0) -> None:
        ptr = np.concatenate([[0], np.cumsum([len(c) for c in tower.corners])])
        self.brick = np.repeat(np.arange(tower.count), np.diff(ptr))
        self.mass, self.inertia, self.free = tower.mass, tower.inertia, tower.free
        self.center = _complex(tower.center)
        self.arm = _complex(np.concatenate(tower.corners)) - self.center[self.brick]
        self.turn: Complexes = np.ones(tower.count, dtype=np.complex128)
        # One step earlier: where Fig. 7 wants the bricks to come from, `early` lower than velocity alone tells.
        self.last_center = self.center - (step * _complex(velocity[:, :2]) + 1j * early) * self.free
        self.last_turn = self.turn * np.exp(-1j * step * velocity[:, 2] * self.free)
        self.pin_bricks = np.array([(p.first, p.second) for p in tower.pins], dtype=np.int64).reshape(-1, 2)
        self.pin_place = np.array([complex(*p.at) for p in tower.pins])
        self.pin_arm = self.pin_place[:, None] - self.center[self.pin_bricks] if len(tower.pins) else np.zeros((0, 2))
        self.equations = 2 * len(tower.pins)

    def corners(self) -> Floats:
        """(c, 2) where the corners are."""
        return _pairs(self.center[self.brick] + self.turn[self.brick] * self.arm)

    def last_corners(self) -> Floats:
        return _pairs(self.last_center[self.brick] + self.last_turn[self.brick] * self.arm)

    def pose(self) -> tuple[Complexes, Complexes]:
        """Centers of mass and turns, complex."""
        return self.center, self.turn

    def root(self) -> Floats:
        """(n, 3) inverse roots of the masses of (dx, dy, s); 0 for what is fixed."""
        weight = np.stack([self.mass, self.mass, self.inertia * np.abs(self.turn) ** 2], axis=1)
        return np.where(self.free[:, None], 1.0 / np.sqrt(weight), 0.0)

    def spin(self) -> Floats:
        """s of the last step: the turn that goes on if nothing changes it."""
        return -(self.last_turn / self.turn).imag

    def free_motion(self, fall: Floats) -> Floats:
        """(n, 3) the motion that Fig. 7 extrapolates, with `fall` = g step^2 added."""
        along = self.center - self.last_center
        motion = np.stack([along.real + fall[0], along.imag + fall[1], self.spin()], axis=1)
        return motion * self.free[:, None]

    # ---- the stretch that the bars allow

    def stretch(self, lengths: str, s: Floats | None = None) -> Floats:
        """rho of each brick: "previous" (L'), "original" (L''), or exact lengths for a turn s."""
        size = np.abs(self.turn) ** 2
        if lengths == "previous":
            return 1.0 - np.abs(self.turn - self.last_turn) ** 2 / size
        return np.sqrt(np.maximum(1.0 / size - (0.0 if s is None else s * s), 0.0))

    def turn_part(self, motion: Floats) -> Floats:
        """What `stretch` needs of a motion."""
        return np.asarray(motion[:, 2])

    def moved(self, motion: Floats, rho: Floats) -> Floats:
        """(c, 2) corners after a motion (dx, dy, s) with stretch rho."""
        center, turn = self._after(motion, rho)
        return _pairs(center[self.brick] + turn[self.brick] * self.arm)

    def _after(self, motion: Floats, rho: Floats) -> tuple[Complexes, Complexes]:
        change = np.where(self.free, rho + 1j * motion[:, 2], 1.0)
        return self.center + motion[:, 0] + 1j * motion[:, 1], self.turn * change

    def advance(self, motion: Floats, rho: Floats, rigid: bool) -> None:
        """Goes on by one step; with `rigid` the last rounding error of the stretch is dropped."""
        self.last_center, self.last_turn = self.center, self.turn
        self.center, self.turn = self._after(motion, rho)
        if rigid:
            self.turn = self.turn / np.abs(self.turn)

    def halve(self, fall: Floats) -> None:
        """The last step as one of half the length; `fall` = g step^2 of the whole one. Exact for free flight."""
        along = 0.5 * (self.center - self.last_center) + complex(*fall) / 8.0
        self.last_center = self.center - along * self.free
        self.last_turn = self.turn * np.exp(0.5j * np.angle(self.last_turn / self.turn))

    def double(self, fall: Floats) -> None:
        """Undoes `halve`."""
        along = 2.0 * (self.center - self.last_center) - complex(*fall) / 4.0
        self.last_center = self.center - along * self.free
        self.last_turn = self.turn * np.exp(2.0j * np.angle(self.last_turn / self.turn))

    def come_from(self, motion: Floats) -> None:
        """Changes the velocities: the last step becomes this motion, without stretch."""
        self.last_center = self.center - (motion[:, 0] + 1j * motion[:, 1])
        self.last_turn = self.turn * (1.0 - 1j * motion[:, 2])

    # ---- rows

    def rows(self, near: Ints, normal: Floats, place: Floats) -> Rows:
        """Whitened rows of the contacts, then of the pins."""
        arms = self.turn[self.brick] * self.arm
        pins = self.turn[self.pin_bricks] * self.pin_arm if len(self.pin_bricks) else np.zeros((0, 2), np.complex128)
        free = np.append(self.free, False)  # the ground is brick -1
        ptr, body, val = _fill(
            near, normal, place, arms, self.pin_bricks, pins.astype(np.complex128), free, self.root()
        )
        return make_rows(ptr, body, val, len(self.mass))

    def equation_bounds(self, rho: Floats) -> Floats:
        """(2p,) right-hand sides of the pins' rows: the motion must close what stretch alone leaves open."""
        return -self.pin_gaps(np.zeros((len(self.mass), 3)), rho)

    def pin_gaps(self, motion: Floats, rho: Floats) -> Floats:
        """(2p,) distance of the two sides of each pin along x and y, after a motion."""
        if not self.equations:
            return np.zeros(0)
        center, turn = self._after(motion, rho)
        sides = np.where(self.pin_bricks < 0, self.pin_place[:, None], 0.0)
        held = self.pin_bricks >= 0
        sides = np.where(held, center[self.pin_bricks] + turn[self.pin_bricks] * self.pin_arm, sides)
        return _pairs(sides[:, 0] - sides[:, 1]).ravel()

    # ---- accelerations (Fig. 6)

    def velocity(self, step: float) -> tuple[Complexes, Complexes]:
        """Velocity of the centers and of z, both complex, over the last step."""
        return (self.center - self.last_center) / step, (self.turn - self.last_turn) / step

    def corner_velocity(self, step: float) -> Floats:
        center, turn = self.velocity(step)
        return _pairs(center[self.brick] + turn[self.brick] * self.arm)

    def centripetal(self, step: float, feedback: bool) -> Floats:
        """-Re(z'' / z) of each brick by (L2); with `feedback` the error of (L1) is taken out as well."""
        rate = self.velocity(step)[1] / self.turn
        return np.asarray(np.abs(rate) ** 2 + (rate.real / step if feedback else 0.0))

    def acceleration_at_rest(self, inward: Floats) -> Floats:
        """(c, 2) accelerations of the corners if the unknowns (ax, ay, alpha) are zero."""
        return _pairs(-(inward * self.turn)[self.brick] * self.arm)

    def acceleration_equations(self, inward: Floats, step: float, feedback: bool) -> Floats:
        """(2p,) right-hand sides of the pins' rows."""
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
        """Motion (dx, dy, s) and stretch rho of a step with these accelerations, v first and then p."""
        center, turn = self.velocity(step)
        rate = turn / self.turn
        motion = acceleration * step**2 + np.stack([center.real, center.imag, rate.imag], axis=1) * step
        return motion, 1.0 + rate.real * step - inward * step**2

    def length_error(self) -> float:
        """Largest relative change of any distance within a brick."""
        return float(np.abs(np.abs(self.turn) - 1.0).max())


@kernel
def _fill(near, normal, place, arm, pins, pin_arm, free, root):
    m, p = len(near), len(pins)
    ptr = np.zeros(m + 2 * p + 1, np.int64)
    body, val = np.empty(2 * (m + 2 * p), np.int64), np.empty((2 * (m + 2 * p), 3))
    count = 0
    for c in range(m):
        on, k, under, i, j = near[c, 0], near[c, 1], near[c, 2], near[c, 3], near[c, 4]
        nx, ny = normal[c, 0], normal[c, 1]
        if free[on]:
            count = _entry(body, val, count, on, nx, ny, arm[k], root)
        if under >= 0 and free[under]:
            foot = (1.0 - place[c]) * arm[i] + place[c] * arm[j]
            count = _entry(body, val, count, under, -nx, -ny, foot, root)
        ptr[c + 1] = count
    for c in range(p):
        for axis in range(2):
            nx, ny = (1.0, 0.0) if axis == 0 else (0.0, 1.0)
            for side in range(2):
                b = pins[c, side]
                if b >= 0 and free[b]:
                    sign = 1.0 - 2.0 * side
                    count = _entry(body, val, count, b, sign * nx, sign * ny, pin_arm[c, side], root)
            ptr[m + 2 * c + axis + 1] = count
    return ptr, body[:count].copy(), val[:count].copy()


@kernel
def _entry(body, val, count, b, nx, ny, arm, root):
    body[count] = b
    val[count, 0], val[count, 1] = nx * root[b, 0], ny * root[b, 1]
    val[count, 2] = (arm.real * ny - arm.imag * nx) * root[b, 2]
    return count + 1


def _complex(pairs: Floats) -> Complexes:
    return np.asarray(pairs[:, 0] + 1j * pairs[:, 1])


def _pairs(numbers: Complexes) -> Floats:
    return np.stack([numbers.real, numbers.imag], axis=-1)
