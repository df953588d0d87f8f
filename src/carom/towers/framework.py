"""Framework coordinates, those of the paper: points with masses, and bars that keep their distances (sections 2 and 8).

There are three ways to brace a brick. "minimal": 2p - 3 bars for p points. "braced": some bars are redundant, as in
figure 10 of the paper (nine points, each square of the grid with one diagonal: one redundant bar; with masses in the
corners both diagonals). "overbraced": a bar between any two points. All are infinitesimally rigid, and a solver that
accepts redundant equations gives the same motion for all of them.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..solvers.rows import Floats, Ints, Rows, rows_from_csr
from .bricks import point_masses
from .reduced import Complexes
from .symmetry import mirror_images

if TYPE_CHECKING:
    from .tower import Tower

BRACINGS = ("minimal", "braced", "overbraced")


class Framework(NamedTuple):
    """Points of all bricks, starting with the corners of each brick, and bars between points of one brick."""

    point: Floats  # (p, 2)
    mass: Floats  # (p,)
    brick: Ints  # (p,) brick of each point
    first: Ints  # (n + 1,) first point of each brick
    bar: Ints  # (b, 2) points
    length: Floats  # (b,)


def framework(tower: Tower, bracing: str = "braced") -> Framework:
    """The framework of a tower. Fixed bricks have points but no bars, because nothing moves them."""
    if bracing not in BRACINGS:
        raise ProblemError.unknown("bracing", bracing, BRACINGS)
    points: list[tuple[float, float]] = []
    masses: list[float] = []
    bars: list[tuple[int, int]] = []
    first = [0]
    for brick in tower.bricks:
        carried = point_masses(brick.exact, brick.density, tower.mass_model)
        place = [(float(x), float(y)) for x, y in carried.points]
        if not brick.fixed:
            bars += [(first[-1] + i, first[-1] + j) for i, j in brace(np.array(place), len(brick.exact), bracing)]
        points += place
        masses += [float(m) for m in carried.masses]
        first.append(len(points))
    point, bar = np.array(points), np.array(bars, dtype=np.int64).reshape(-1, 2)
    owner = np.repeat(np.arange(tower.count), np.diff(first))
    length = np.hypot(*(point[bar[:, 0]] - point[bar[:, 1]]).T)
    return Framework(point, np.array(masses), owner, np.array(first, dtype=np.int64), bar, length)


def brace(points: Floats, corners: int, bracing: str) -> list[tuple[int, int]]:
    """Bars (pairs of point numbers) of one brick whose first `corners` points are its corners."""
    if bracing == "overbraced":
        return list(combinations(range(len(points)), 2))
    if len(points) == 9 and np.allclose(points[4], 0.5 * (points[0] + points[1])):
        return _grid_bars(bracing)
    return _fan_bars(points, corners, bracing)


def _grid_bars(bracing: str) -> list[tuple[int, int]]:
    """Bars of nine points (corners 0-3, middles of sides 4-7, center 8): each of the four squares has a diagonal."""
    rim = [(0, 4), (4, 1), (1, 5), (5, 2), (2, 6), (6, 3), (3, 7), (7, 0)]
    spokes = [(4, 8), (5, 8), (6, 8), (7, 8)]
    diagonals = [(0, 8), (1, 8), (2, 8), (3, 8)]
    bars = rim + spokes + diagonals
    return bars if bracing == "braced" else bars[:-1]


def _fan_bars(points: Floats, corners: int, bracing: str) -> list[tuple[int, int]]:
    """Corners with sides and diagonals from corner 0, and two bars from every other point to corners."""
    bars = [(i, (i + 1) % corners) for i in range(corners)] + [(0, i) for i in range(2, corners - 1)]
    if bracing == "braced" and corners > 3:
        bars.append((1, corners - 1 if corners > 4 else 3))
    for k in range(corners, len(points)):
        bars += [(k, i) for i in _widest(points, k, corners)]
    if bracing == "braced" and corners == 3 and len(points) > 3:
        bars.append((corners, next(i for i in range(3) if (corners, i) not in bars)))
    return bars


def _widest(points: Floats, k: int, corners: int) -> tuple[int, int]:
    """The two corners that point k sees at the angle nearest to a right angle: bars to them constrain it best."""
    arm = points[:corners] - points[k]
    arm = arm / np.hypot(*arm.T)[:, None]
    sine = np.abs(arm[:, None, 0] * arm[None, :, 1] - arm[:, None, 1] * arm[None, :, 0])
    i, j = np.unravel_index(int(sine.argmax()), sine.shape)
    return int(min(i, j)), int(max(i, j))


class FrameworkCoordinates:
    """Points of all bricks, with the interface of `ReducedCoordinates`. A motion is a (p, 2) array of displacements.

    The "stretch" is the required projection of each bar on its present direction. With a `penalty`, bars are not
    equations: `penalty / 2` times the square of the violation is added to the objective (section 8.4), by means of one
    slack variable per bar in the same quadratic program.
    """

    block = 2
    varying = ("point", "last")  # what a step changes

    def __init__(
        self,
        tower: Tower,
        velocity: Floats,
        step: float,
        bracing: str = "braced",
        penalty: float = 0.0,
        early: float = 0.0,
    ) -> None:
        frame = framework(tower, bracing)
        self.frame, self.bar, self.length, self.penalty = frame, frame.bar, frame.length, penalty
        self.mass, self.owner = frame.mass, frame.brick
        self.free = tower.free[self.owner]
        self.point = frame.point.copy()
        self.corner = np.concatenate(
            [np.arange(len(c)) + first for c, first in zip(tower.corners, frame.first)]
        )  # point of each corner
        spin = np.exp(-1j * step * velocity[self.owner, 2])
        about = tower.center[self.owner]
        arm = (self.point - about) @ np.array([1.0, 1j]) * spin
        back = about + np.stack([arm.real, arm.imag - early], axis=1) - step * velocity[self.owner, :2]
        self.last = np.where(self.free[:, None], back, self.point)
        self._pins(tower)
        self.equations = 2 * len(tower.pins) + len(self.bar)
        self.brick_mass = tower.mass
        self._arm = (self.point - about) @ np.array([1.0, 1j])

    def _pins(self, tower: Tower) -> None:
        """Expresses each side of a pin as an affine combination of three corners of its brick."""
        self.pin_point = np.zeros((len(tower.pins), 2, 3), np.int64)
        self.pin_share = np.zeros((len(tower.pins), 2, 3))
        self.pin_place = np.array([p.at for p in tower.pins]).reshape(-1, 2)
        self.pin_bricks = np.array([(p.first, p.second) for p in tower.pins], dtype=np.int64).reshape(-1, 2)
        for k, pin in enumerate(tower.pins):
            for side, brick in enumerate((pin.first, pin.second)):
                if brick >= 0:
                    three = self.frame.first[brick] + np.arange(3)
                    system = np.vstack([self.point[three].T, np.ones(3)])
                    self.pin_point[k, side] = three
                    self.pin_share[k, side] = np.linalg.solve(system, np.array([*pin.at, 1.0]))

    # ---- positions and motions

    def corners(self) -> Floats:
        """(c, 2) present corners."""
        return np.asarray(self.point[self.corner])

    def last_corners(self) -> Floats:
        """(c, 2) corners one step earlier."""
        return np.asarray(self.last[self.corner])

    def pose(self) -> tuple[Complexes, Complexes]:
        """(n,) complex centers of mass and rotations of the bricks: the similarity that fits their points best."""
        n, weight = len(self.brick_mass), self.mass
        place = self.point @ np.array([1.0, 1j])
        center = _sums(self.owner, weight * place, n) / self.brick_mass
        arm = place - center[self.owner]
        turn = _sums(self.owner, weight * np.conj(self._arm) * arm, n)
        return center, turn / _sums(self.owner, weight * np.abs(self._arm) ** 2 + 0j, n)

    def free_motion(self, fall: Floats) -> Floats:
        """(p, 2) extrapolated motion with `fall` = g step^2, and zeros for the slack variables of bars."""
        motion = (self.point - self.last + fall) * self.free[:, None]
        return np.vstack([motion, np.zeros((len(self.bar), 2))]) if self.penalty else motion

    def inverse_sqrt_mass(self) -> Floats:
        """(p, 2) inverse square roots of the point masses, then of the penalty; 0 for fixed bricks."""
        inverse_sqrt_mass = np.where(self.free, 1.0 / np.sqrt(self.mass), 0.0)
        if self.penalty:
            inverse_sqrt_mass = np.append(inverse_sqrt_mass, np.full(len(self.bar), 1.0 / np.sqrt(self.penalty)))
        return np.repeat(inverse_sqrt_mass[:, None], 2, axis=1)

    def mirrored(self, partner: Ints) -> Ints:
        """For each point its mirror image, among the points of the mirror image `partner` (n,) of its brick."""
        return mirror_images(self.point, self.owner, partner)

    def stretch(self, lengths: str, motion: Floats | None = None) -> Floats:
        """(b,) required `(p_i - p_j) . (p_i - p_j)_before`: (L'), (L''), or exact lengths for the motion's rotation."""
        d = self._bars(self.point)
        square = (d * d).sum(axis=1)
        if lengths == "previous":
            change = d - self._bars(self.last)
            return np.asarray(square - (change * change).sum(axis=1))
        if motion is None:
            return np.asarray(self.length * np.sqrt(square))
        s = self._turns(motion)[self.owner[self.bar[:, 0]]]
        return np.asarray(square * np.sqrt(np.maximum(self.length**2 / square - s * s, 0.0)))

    def _bars(self, of: Floats) -> Floats:
        """(b, 2) differences between the two ends of each bar."""
        return np.asarray(of[self.bar[:, 0]] - of[self.bar[:, 1]])

    def _turns(self, motion: Floats) -> Floats:
        """(n,) rotation of each brick in a motion, by least squares."""
        n = len(self.brick_mass)
        center = np.stack(
            [np.bincount(self.owner, self.mass * self.point[:, t], n) / self.brick_mass for t in (0, 1)], axis=1
        )
        arm, move = self.point - center[self.owner], motion[: len(self.point)]
        cross = np.bincount(self.owner, self.mass * (arm[:, 0] * move[:, 1] - arm[:, 1] * move[:, 0]), n)
        return np.asarray(cross / np.bincount(self.owner, self.mass * (arm * arm).sum(axis=1), n))

    def turn_part(self, motion: Floats) -> Floats:
        """The part of a motion that `stretch` needs."""
        return motion

    def moved(self, motion: Floats, stretch: Floats) -> Floats:
        """(c, 2) corners after a motion."""
        return np.asarray((self.point + motion[: len(self.point)])[self.corner])

    def advance(self, motion: Floats, stretch: Floats, rigid: bool) -> None:
        """Takes one step."""
        self.last = self.point
        self.point = self.point + motion[: len(self.point)]

    def halve(self, fall: Floats) -> None:
        """Replaces the last step by one of half the length; `fall` = g step^2 of the whole step."""
        self.last = self.point - (0.5 * (self.point - self.last) + fall / 8.0) * self.free[:, None]

    def double(self, fall: Floats) -> None:
        """Reverses `halve`."""
        self.last = self.point - (2.0 * (self.point - self.last) - fall / 4.0) * self.free[:, None]

    def come_from(self, motion: Floats) -> None:
        """Changes the velocities: the last step becomes this motion."""
        self.last = self.point - motion[: len(self.point)]

    # ---- rows of the program

    def rows(self, near: Ints, normal: Floats, along: Floats) -> Rows:
        """Whitened rows of the contacts, then of the pins, then of the bars."""
        bodies = len(self.point) + (len(self.bar) if self.penalty else 0)
        ptr, body, val = _fill(
            _Contacts(near, normal, along, self.corner),
            _Pins(self.pin_bricks, self.pin_point, self.pin_share),
            _Bars(self.bar, self._bars(self.point), self.penalty > 0.0),
            self.free,
            self.inverse_sqrt_mass(),
        )
        return rows_from_csr(ptr, body, val, bodies)

    def equation_bounds(self, stretch: Floats) -> Floats:
        """Right-hand sides of the rows of pins and bars."""
        d = self._bars(self.point)
        return np.concatenate([-self.pin_gaps(), stretch - (d * d).sum(axis=1)])

    def pin_gaps(self) -> Floats:
        """(2p,) distance between the two sides of each pin along x and y."""
        return np.asarray(self._pin_sides(self.point, self.pin_place)).ravel()

    def _pin_sides(self, of: Floats, ground: Floats) -> Floats:
        sides = np.einsum("pst,pstd->psd", self.pin_share, of[self.pin_point])
        sides = np.where((self.pin_bricks < 0)[:, :, None], ground[:, None, :], sides)
        return np.asarray(sides[:, 0] - sides[:, 1])

    # ---- accelerations (Fig. 6)

    def corner_velocity(self, step: float) -> Floats:
        """(c, 2) velocities of the corners over the last step."""
        return np.asarray(((self.point - self.last) / step)[self.corner])

    def centripetal(self, step: float, feedback: bool) -> Floats:
        """(b,) right-hand sides of (L2); with `feedback` the error of (L1) is corrected, too."""
        d, v = self._bars(self.point), self._bars(self.point - self.last) / step
        bound = -(v * v).sum(axis=1)
        return np.asarray(bound - (v * d).sum(axis=1) / step if feedback else bound)

    def acceleration_at_rest(self, inward: Floats) -> Floats:
        """(c, 2) accelerations of the corners if the unknowns are zero: none."""
        return np.zeros((len(self.corner), 2))

    def acceleration_equations(self, inward: Floats, step: float, feedback: bool) -> Floats:
        """Right-hand sides of the rows of pins and bars for accelerations."""
        pins = np.zeros(2 * len(self.pin_place))
        if feedback and len(pins):
            apart = self._pin_sides((self.point - self.last) / step, np.zeros_like(self.pin_place))
            pins = -apart.ravel() / step - self.pin_gaps() / step**2
        return np.concatenate([pins, inward])

    def accelerated(self, acceleration: Floats, inward: Floats, step: float) -> tuple[Floats, Floats]:
        """Motion and stretch of a step with these accelerations; v is updated before p."""
        return acceleration * step**2 + (self.point - self.last), inward


def _sums(owner: Ints, values: Complexes, n: int) -> Complexes:
    """(n,) sums of complex values per brick."""
    return np.asarray(np.bincount(owner, values.real, n) + 1j * np.bincount(owner, values.imag, n))


class _Contacts(NamedTuple):
    """Contacts of corners with edges."""

    near: Ints  # (m, 5) see near_contacts
    normal: Floats  # (m, 2)
    along: Floats  # (m,) position along the edge, 0 to 1
    corner: Ints  # point of each corner


class _Pins(NamedTuple):
    """Pins between two bricks, or a brick and the ground."""

    bricks: Ints  # (p, 2), -1 for the ground
    point: Ints  # (p, 2, 3) points of each side
    share: Floats  # (p, 2, 3) and their weights


class _Bars(NamedTuple):
    """Bars between points of a brick."""

    points: Ints  # (b, 2)
    direction: Floats  # (b, 2)
    slack: bool  # whether each has an unknown of its own


@kernel
def _fill(contacts, pins, bars, free, scale):
    """Row pointers, points and whitened entries of the rows of contacts, pins and bars."""
    near, normal, along, corner = contacts
    bar, direction, slack = bars
    m, p, b = len(near), len(pins.bricks), len(bar)
    most = 3 * m + 12 * p + 3 * b
    ptr, body, val = np.zeros(m + 2 * p + b + 1, np.int64), np.empty(most, np.int64), np.empty((most, 2))
    count = np.int64(0)  # typed: Numba would compile _entry once more for the literal 0
    for c in range(m):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        count = _entry(body, val, count, corner[k], normal[c, 0], normal[c, 1], free, scale)
        if i >= 0:
            share = 1.0 - along[c]
            count = _entry(body, val, count, corner[i], -share * normal[c, 0], -share * normal[c, 1], free, scale)
            share = along[c]
            count = _entry(body, val, count, corner[j], -share * normal[c, 0], -share * normal[c, 1], free, scale)
        ptr[c + 1] = count
    for c in range(p):
        for axis in range(2):
            for side in range(2):
                if pins.bricks[c, side] >= 0:
                    for t in range(3):
                        share = pins.share[c, side, t] * (1.0 - 2.0 * side)
                        x, y = (share, 0.0) if axis == 0 else (0.0, share)
                        count = _entry(body, val, count, pins.point[c, side, t], x, y, free, scale)
            ptr[m + 2 * c + axis + 1] = count
    for c in range(b):
        count = _entry(body, val, count, bar[c, 0], direction[c, 0], direction[c, 1], free, scale)
        count = _entry(body, val, count, bar[c, 1], -direction[c, 0], -direction[c, 1], free, scale)
        if slack:
            body[count] = len(free) + c
            val[count, 0], val[count, 1] = scale[len(free) + c, 0], 0.0
            count += 1
        ptr[m + 2 * p + c + 1] = count
    return ptr, body[:count].copy(), val[:count].copy()


@kernel
def _entry(body, val, count, point, x, y, free, scale):
    """Writes the entry of one point, if it can move and the entry is not zero; returns the number of entries."""
    if free[point] and (x != 0.0 or y != 0.0):
        body[count] = point
        val[count, 0], val[count, 1] = x * scale[point, 0], y * scale[point, 1]
        return count + 1
    return count
