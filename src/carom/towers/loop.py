"""The state of a collapse between its steps, and the parts that both loops share: looking, solving, remembering.

Towers that are their own mirror image.

The program of a step has one solution, so a symmetric tower moves symmetrically; only rounding and the tolerance of
the solver do otherwise. But a tower that comes down is unstable, and in ten seconds 1e-16 may grow to a brick width.
The part of a step's motion that is not symmetric is therefore dropped, as long as it is small: more than ASYMMETRY of
the motion (seen: up to 4e-10) is left alone, to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.qp.nearest import Nearest
from ..solvers.rows import Floats, Ints
from .framework import Pointwise
from .near_contacts import edge_geometry, near_contacts
from .reduced import Reduced
from .steps import acceleration_step, position_step

if TYPE_CHECKING:
    from .tower import Tower

GAP_ROUNDING = 4e-16  # of the tower's extent: gaps are not known better
RESTING = 1e-9  # of g step^2: motion below keeps a brick that did not move where it is
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
    """What a step did: contacts near, pushing, programs solved, worst certificate, seconds of each part."""

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
        self.still = (start == 0.0).all(axis=1)  # bricks that did not move in the last step
        self.scale = 0.0  # largest free motion of the step
        self.diagonal = np.zeros(0)  # A_ii of the contacts: force times step^2 into length
        self.first_error = 0.0  # what the first pass of the last step left to the second
        self.report = StepReport()
        self.equation_y = np.zeros(0)
        self._partner = mirror_of(tower) if options.keep_symmetry else None
        self._signs = np.array([-1.0, 1.0, -1.0])[: self.place.block]
        if self._partner is not None and isinstance(self.place, Pointwise):
            self._partner = mirrored_points(self.place.point, self.place.owner, self._partner)

    # ---- one step

    def advance(self) -> None:
        """One step of the chosen loop."""
        if self.options.method == "position":
            position_step(self)
        else:
            acceleration_step(self)

    # ---- parts of a step

    def look(self, ahead: Floats) -> None:
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
        self.take(np.ascontiguousarray(near), corners)
        self.y = _carried(before, y, self.near, len(corners))
        self.report = StepReport(near=len(self.near), overlap=max(0.0, -float(self.gap.min(initial=0.0))))
        self.report.detect = perf_counter() - began

    def take(self, near: Ints, corners: Floats) -> None:
        """These contacts, with their geometry."""
        self.near = near
        self.normal, self.along, self.gap = edge_geometry(near, corners)
        self.point = corners[near[:, 1]]

    def select(self, keep: Ints) -> None:
        self.near, self.normal, self.along = self.near[keep], self.normal[keep], self.along[keep]
        self.gap, self.point = self.gap[keep], self.point[keep]
        self.y = self.y[: len(keep)][keep]

    def warm(self, equations: int) -> Floats:
        y = self.y[: len(self.near)]
        last = self.equation_y if len(self.equation_y) == equations else np.zeros(equations)
        return np.concatenate([y, last])

    def program(self) -> Nearest:
        began = perf_counter()
        made = Nearest(self.place.rows(self.near, self.normal, self.along), self.place.equations)
        self.diagonal = made.rows.diag
        self.report.assemble += perf_counter() - began
        return made

    def solve(
        self, program: Nearest, free: Floats, bound: Floats, start: Floats | None, loose: float = 0.0
    ) -> tuple[Floats, Floats]:
        began = perf_counter()
        unit = 1.0 if self.options.method == "position" else self.options.step**-2
        floor = max(GAP_ROUNDING * self.extent * unit, loose)
        x, y, certificate = program.solve(free, bound, start, floor, self.scale * unit)
        self.report.solve += perf_counter() - began
        self.report.certificate = certificate
        self.y = y[: len(self.near)]
        return x, y

    @staticmethod
    def whitened(value: Floats, root: Floats) -> Floats:
        """Value over root, 0 where nothing moves."""
        return np.where(root > 0.0, value / np.where(root > 0.0, root, 1.0), 0.0)

    def even(self, motion: Floats) -> Floats:
        if self._partner is None:
            return motion
        bodies = len(self._partner)
        motion = motion.copy()
        motion[:bodies] = symmetric_part(motion[:bodies], self._partner, self._signs)
        return motion

    def resting(self, motion: Floats) -> Floats:
        """The motion with that of bricks dropped which were still and move by rounding alone.

        Without this a stack that just stands, each part's weight right above an edge, falls within some hundred steps.
        """
        owner = self.place.owner if isinstance(self.place, Pointwise) else np.arange(self.tower.count)
        size = np.array([1.0, 1.0, self.tower.size])[: self.place.block]
        moved = np.zeros(self.tower.count)
        np.maximum.at(moved, owner, np.abs(motion[: len(owner)] * size).max(axis=1))
        still = self.still & (moved <= RESTING * float(np.hypot(*self.fall)))
        motion = motion.copy()
        motion[: len(owner)][still[owner]] = 0.0
        return motion

    def keep(self, motion: Floats, y: Floats) -> None:
        """Remembers what a step found."""
        m = len(self.near)
        owner = self.place.owner if isinstance(self.place, Pointwise) else np.arange(self.tower.count)
        moves = np.zeros(self.tower.count, dtype=bool)
        np.logical_or.at(moves, owner, (motion[: len(owner)] != 0.0).any(axis=1))
        self.still = ~moves
        self.y, self.equation_y, self.motion = y[:m], y[m:], motion
        self.report.pushing = int((self.y > 0.0).sum())

    def rescale(self, factor: float) -> None:
        """For a step `factor` times as long: forces are kept as forces times step^2."""
        self.y, self.equation_y = self.y * factor**2, self.equation_y * factor**2
        if self.motion is not None:
            self.motion = self.motion * factor

    # ---- what a step leaves

    def forces(self) -> Floats:
        """(m,) contact forces of the last step, along `normal` on the brick with the corner."""
        return np.asarray(self.y / self.options.step**2)


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


ASYMMETRY = 1e-9


def mirror_of(tower: Tower) -> Ints | None:
    """(n,) the brick that each brick becomes in the mirror x -> 2 axis - x, exactly; None without that symmetry."""
    if tower.pins:
        return None
    xs = [x for brick in tower.bricks for x, _ in brick.exact]
    twice_axis = Fraction(min(xs) + max(xs))
    number = {_key(brick.exact, brick.density, brick.fixed): i for i, brick in enumerate(tower.bricks)}
    partner = []
    for brick in tower.bricks:
        mirrored = tuple((twice_axis - x, y) for x, y in brick.exact)
        partner.append(number.get(_key(mirrored, brick.density, brick.fixed), -1))
    return None if -1 in partner else np.array(partner, dtype=np.int64)


def _key(corners: tuple[tuple[Fraction, Fraction], ...], density: Fraction, fixed: bool) -> tuple[object, ...]:
    return frozenset(corners), density, fixed


def mirrored_points(points: Floats, owner: Ints, partner: Ints) -> Ints:
    """(p,) for each point the one that it becomes, among those of its brick's mirror image."""
    axis = 0.5 * (points[:, 0].min() + points[:, 0].max())
    out = np.empty(len(points), np.int64)
    for k, (x, y) in enumerate(points):
        others = np.flatnonzero(owner == partner[owner[k]])
        gap = np.abs(points[others] - np.array([2.0 * axis - x, y])).max(axis=1)
        out[k] = others[int(gap.argmin())]
    return out


def symmetric_part(motion: Floats, partner: Ints, signs: Floats) -> Floats:
    """The motion without its antisymmetric part, if that is rounding; `signs`: what a mirror does to each component."""
    even = 0.5 * (motion + motion[partner] * signs)
    size = float(np.abs(motion).max(initial=0.0))
    return even if float(np.abs(motion - even).max(initial=0.0)) <= ASYMMETRY * size else motion
