"""One step of a collapse: the position loop (Fig. 7 of the paper) and the acceleration loop (Fig. 6).

Position loop: every point goes on as in the last step, plus g step^2; of all positions that the constraints allow, the
nearest one is taken. The constraints are linear, with the normals of the start of the step. The paper solves one
quadratic programme a step; a brick that turns by theta then grows by theta^2 / 2. Here the right-hand sides are
corrected and the programme solved again, until bars have their length and gaps are true gaps at the end of the step.
Forces still act along the directions of the start, as in the SHAKE method, so a brick in free flight turns evenly.

Acceleration loop: the same with accelerations as unknowns, then v += a step, p += v step. As printed, it enforces
second derivatives on contacts that touch and do not separate, and errors pile up. `feedback` adds what gap and speed
have gone wrong by, over step^2 and step; it is then the position loop with (L') and (S'), theorem 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.rows import Floats, Ints
from .geometry import edge_geometry, fixed_gaps, true_gaps, turning
from .mirror import mirror_of, mirrored_points, symmetric_part
from .near import near_contacts
from .pointwise import Pointwise
from ..solvers.nearest import Nearest
from .reduced import Reduced

if TYPE_CHECKING:
    from .tower import Tower

CONVERGED = 1e-9  # of the smallest brick: lengths and gaps at the end of a step
TOUCHING = 1e-4  # of the smallest brick: gaps that the plain acceleration loop takes for contact
ROUNDING = 4e-16  # of the tower's extent: gaps are not known better
FIRST_PASS, NEXT_PASS = 1e-10, 1e-2  # violations that a pass may leave to the next
SLACK = 0.05  # of the smallest brick: reach beyond what a brick would move without contacts


@dataclass(frozen=True)
class LoopOptions:
    """How to step: see `carom.towers.collapse.collapse`."""

    step: float
    method: str = "position"
    lengths: str = "original"
    sides: str = "plain"
    passes: int = 8
    coordinates: str = "reduced"
    bracing: str = "braced"
    penalty: float = 100.0
    edges: str = "separating"
    feedback: bool = True
    keep_symmetry: bool = True


@dataclass
class StepReport:
    """What a step did: contacts near, pushing, programmes solved, worst certificate, seconds of each part."""

    near: int = 0
    pushing: int = 0
    passes: int = 0
    certificate: float = 0.0
    overlap: float = 0.0
    detect: float = 0.0
    assemble: float = 0.0
    solve: float = 0.0


class Loop:
    """The state of a collapse between its steps."""

    def __init__(self, tower: Tower, options: LoopOptions, velocity: Floats | None = None) -> None:
        start = np.zeros((tower.count, 3)) if velocity is None else velocity
        self.tower, self.options = tower, options
        # Figures 6 and 7 go one step with the velocity of the start, so that all is half a step early: first order.
        # Coming from p - h v + g h^2 / 2 makes free flight exact and smooth motion second order.
        early = 0.5 * tower.gravity * options.step**2 if options.passes > 1 else 0.0
        if options.coordinates == "reduced":
            self.place: Reduced | Pointwise = Reduced(tower, start, options.step, early)
        else:
            penalty = options.penalty if options.lengths == "penalty" else 0.0
            self.place = Pointwise(tower, start, options.step, options.bracing, penalty, early)
        self.ptr = np.concatenate([[0], np.cumsum([len(c) for c in tower.corners])]).astype(np.int64)
        pins = sorted({tuple(sorted((p.first, p.second))) for p in tower.pins})
        self.apart = np.array(pins, dtype=np.int64).reshape(-1, 2)
        self.held = tower.held_corners
        self.fall = np.array([0.0, -tower.gravity * options.step**2])
        self.extent = float(np.abs(np.concatenate(tower.corners)).max())
        self.near = np.zeros((0, 5), np.int64)
        self.normal = np.zeros((0, 2))
        self.point = np.zeros((0, 2))
        self.y = np.zeros(0)  # of the last step: forces times step^2
        self.motion: Floats | None = None
        self.report = StepReport()
        self._equation_y = np.zeros(0)
        self._partner = mirror_of(tower) if options.keep_symmetry else None
        self._signs = np.array([-1.0, 1.0, -1.0])[: self.place.block]
        if self._partner is not None and isinstance(self.place, Pointwise):
            self._partner = mirrored_points(self.place.point, self.place.owner, self._partner)

    # ---- one step

    def advance(self) -> None:
        """One step of the chosen loop."""
        if self.options.method == "position":
            self._position()
        else:
            self._acceleration()

    def _position(self) -> None:
        o, place = self.options, self.place
        free = place.free_motion(self.fall)
        self.scale = float(np.abs(free).max(initial=0.0))
        exact = o.passes > 1
        stretch = place.stretch("original" if o.lengths == "penalty" else o.lengths)
        if exact:
            stretch = place.stretch("original", place.turn_part(free if self.motion is None else self.motion))
        self._look(place.moved(free, stretch))
        programme = self._programme()
        root = place.root()
        x_free = _over(free, root)
        wanted = self._first_sides(exact, stretch)
        start = self._warm(place.equations)
        loose = FIRST_PASS * self.tower.size if exact else 0.0
        for number in range(1, o.passes + 1):
            base = fixed_gaps(self.near, self.normal, self.along, place.moved(np.zeros_like(free), stretch))
            bound = np.concatenate([wanted - base, place.equation_bounds(stretch)])
            x, y = self._solve(programme, x_free, bound, start, loose)
            motion = self._even(x * root)
            self.report.passes = number
            if not exact:
                break
            stretch, wanted, error = self._correct(motion, stretch)
            start = y
            if error <= CONVERGED * self.tower.size:
                break
            loose = NEXT_PASS * error  # what a later pass will move anyway need not be exact
        self._keep(motion, y)
        place.advance(motion, stretch, exact)

    def _first_sides(self, exact: bool, stretch: Floats) -> Floats:
        """Right-hand sides of the first programme: 0, the turning term of (S'), or a guess from the last motion."""
        corners = self.place.corners()
        if self.options.sides == "turning" and not exact:
            return np.asarray(turning(self.near, corners, corners - self.place.last_corners()))
        if exact and self.motion is not None:
            moved = self.place.moved(self.motion, stretch)
            return np.asarray(fixed_gaps(self.near, self.normal, self.along, moved) - true_gaps(self.near, moved))
        return np.zeros(len(self.near))

    def _correct(self, motion: Floats, stretch: Floats) -> tuple[Floats, Floats, float]:
        """Stretch and right-hand sides for the next pass, and how far this one is off."""
        place = self.place
        better = place.stretch("original", place.turn_part(motion))
        off = place.moved(motion, stretch)
        moved = place.moved(motion, better)
        gaps = true_gaps(self.near, moved)
        wanted = fixed_gaps(self.near, self.normal, self.along, moved) - gaps
        pushing = self.y[: len(gaps)] > 0.0
        error = max(float(np.abs(gaps[pushing]).max(initial=0.0)), -float(gaps.min(initial=0.0)))
        if isinstance(place, Pointwise):
            error = max(error, float(np.abs(better - stretch).max(initial=0.0)) / self.tower.size)
        return better, wanted, max(error, float(np.abs(moved - off).max(initial=0.0)))

    def _acceleration(self) -> None:
        o, place, step = self.options, self.place, self.options.step
        free = place.free_motion(self.fall)
        self.scale = float(np.abs(free).max(initial=0.0))
        self._look(place.moved(free, place.stretch("previous")))
        corners, speed = place.corners(), place.corner_velocity(step)
        if not o.feedback:
            self._touching(corners, speed)
            speed = place.corner_velocity(step)
        root = place.root()
        inward = place.centripetal(step, o.feedback)
        rest = place.acceleration_at_rest(inward)
        bound = turning(self.near, corners, speed) - fixed_gaps(self.near, self.normal, self.along, rest)
        if o.feedback:
            bound -= fixed_gaps(self.near, self.normal, self.along, speed) / step
            bound -= fixed_gaps(self.near, self.normal, self.along, corners) / step**2
        bound = np.concatenate([bound, place.acceleration_equations(inward, step, o.feedback)])
        gravity = np.zeros_like(free)
        gravity[:, 1] = self.fall[1] / step**2
        gravity *= (root > 0.0) if place.block == 2 else (root[:, :1] > 0.0)
        x, y = self._solve(self._programme(), _over(gravity, root), bound, self._warm(place.equations) / step**2)
        self.report.passes = 1
        motion, stretch = place.accelerated(self._even(x * root), inward, step)
        self._keep(motion, y * step**2)
        place.advance(motion, stretch, False)

    def _touching(self, corners: Floats, speed: Floats) -> None:
        """Keeps contacts that touch and do not separate; those that approach are first stopped, inelastically."""
        o, place = self.options, self.place
        gap = true_gaps(self.near, corners)
        self._select(gap <= TOUCHING * self.tower.size)
        rate = fixed_gaps(self.near, self.normal, self.along, speed)
        still = 1e-9 * (float(np.abs(speed).max(initial=0.0)) + self.tower.gravity * o.step)
        if (rate < -still).any():
            self._stop()
            rate = fixed_gaps(self.near, self.normal, self.along, place.corner_velocity(o.step))
        self._select(rate <= still + self.tower.gravity * o.step * 1e-6)

    def _stop(self) -> None:
        """The inelastic impact (Q*): the velocities nearest to those before that (L1) and (S1) allow."""
        place = self.place
        root = place.root()
        motion = place.free_motion(np.zeros(2))
        bound = np.zeros(len(self.near) + place.equations)
        x, _ = self._solve(self._programme(), _over(motion, root), bound, None)
        place.come_from(x * root)

    # ---- parts of a step

    def _look(self, ahead: Floats) -> None:
        """Near contacts, their geometry, and what the last step knew of them."""
        began = perf_counter()
        corners = self.place.corners()
        travel = np.hypot(*(ahead - corners).T)
        own = np.maximum.reduceat(travel, self.ptr[:-1])
        reach = own + 0.5 * float(own.max()) + SLACK * self.tower.size
        before, y = self.near, self.y
        paper = self.options.edges == "paper"
        free = self.tower.free
        near = near_contacts(corners, ahead, self.ptr, free, reach, self.apart, self.held, self.tower.size, paper)
        self.near = np.ascontiguousarray(near)
        self.normal, self.along, self.gap = edge_geometry(self.near, corners)
        self.point = corners[self.near[:, 1]]
        self.y = _carried(before, y, self.near, len(corners))
        self.report = StepReport(near=len(self.near), overlap=max(0.0, -float(self.gap.min(initial=0.0))))
        self.report.detect = perf_counter() - began

    def _select(self, keep: Ints) -> None:
        self.near, self.normal, self.along = self.near[keep], self.normal[keep], self.along[keep]
        self.gap, self.point = self.gap[keep], self.point[keep]
        self.y = self.y[: len(keep)][keep]

    def _warm(self, equations: int) -> Floats:
        y = self.y[: len(self.near)]
        last = self._equation_y if len(self._equation_y) == equations else np.zeros(equations)
        return np.concatenate([y, last])

    def _programme(self) -> Nearest:
        began = perf_counter()
        made = Nearest(self.place.rows(self.near, self.normal, self.along), self.place.equations)
        self.report.assemble += perf_counter() - began
        return made

    def _solve(
        self, programme: Nearest, free: Floats, bound: Floats, start: Floats | None, loose: float = 0.0
    ) -> tuple[Floats, Floats]:
        began = perf_counter()
        unit = 1.0 if self.options.method == "position" else self.options.step**-2
        floor = max(ROUNDING * self.extent * unit, loose)
        x, y, certificate = programme.solve(free, bound, start, floor, self.scale * unit)
        self.report.solve += perf_counter() - began
        self.report.certificate = certificate
        self.y = y[: len(self.near)]
        return x, y

    def _even(self, motion: Floats) -> Floats:
        if self._partner is None:
            return motion
        bodies = len(self._partner)
        motion = motion.copy()
        motion[:bodies] = symmetric_part(motion[:bodies], self._partner, self._signs)
        return motion

    def _keep(self, motion: Floats, y: Floats) -> None:
        m = len(self.near)
        self.y, self._equation_y, self.motion = y[:m], y[m:], motion
        self.report.pushing = int((self.y > 0.0).sum())

    # ---- what a step leaves

    def forces(self) -> Floats:
        """(m,) contact forces of the last step, along `normal` on the brick with the corner."""
        return np.asarray(self.y / self.options.step**2)


def _over(value: Floats, root: Floats) -> Floats:
    """Whitened: value over root, 0 where nothing moves."""
    return np.where(root > 0.0, value / np.where(root > 0.0, root, 1.0), 0.0)


def _carried(before: Ints, y: Floats, near: Ints, corners: int) -> Floats:
    """Forces of the last step for contacts that are there again, by corner and edge."""
    if not len(before):
        return np.zeros(len(near))
    old = before[:, 1] * (corners + 1) + before[:, 3] + 1
    new = near[:, 1] * (corners + 1) + near[:, 3] + 1
    order = np.argsort(old)
    at = np.minimum(np.searchsorted(old[order], new), len(old) - 1)
    match = order[at]
    return np.where(old[match] == new, y[match], 0.0)
