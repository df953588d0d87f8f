"""The state of a collapse between its steps, and what both loops share (sections 5 and 8 of the paper).

A step detects the contacts that it may need, builds a quadratic program, solves it, and records its result; `steps.py`
has the two kinds of step. All multipliers are kept as forces times step^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import choice, count, flag, positive_number
from ..errors import ProblemError
from ..settings import FLAG, CollapseSettings, settings_of
from ..solvers.rows import Floats, Ints
from .contacts import contact_table
from .framework import BRACINGS, FrameworkCoordinates
from .initial_collapse import COORDINATES
from .near_contacts import Layout, edge_geometry, near_contacts
from .projection import Projection
from .reduced import ReducedCoordinates
from .steps import acceleration_step, position_step
from .symmetry import Mirror

if TYPE_CHECKING:
    from .tower import Tower

GAP_ROUNDING = 4e-16  # in extents of the tower: accuracy of gaps
RESTING = 1e-9  # in units of g step^2: smaller motions of a brick at rest are ignored
MOST_PASSES = 1000
EXACT_PASSES = 8  # default number of passes where constraints are corrected
CHOICES = {
    "method": ("position", "acceleration"),
    "lengths": ("original", "previous", "penalty"),
    "sides": ("plain", "turning"),
    "coordinates": COORDINATES,
    "bracing": BRACINGS,
    "edges": ("separating", "paper"),
}
SLACK = 0.05  # in shortest sides: detection margin in addition to the motion without contacts


@dataclass(frozen=True)
class LoopOptions:
    """Options of the integration; see `carom.towers.collapse.collapse`."""

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


def loop_options(step: Any, method: Any, told: CollapseSettings) -> LoopOptions:
    """Validates the options of a collapse."""
    declared = settings_of(CollapseSettings)
    given: dict[str, Any] = {"method": method, **{name: s.default for name, s in declared.items()}, **told}
    words, passes = {name: given[name] for name in CHOICES}, given["passes"]
    h = float(positive_number("step", step))
    lengths = choice("lengths", words["lengths"], CHOICES["lengths"])
    if words["coordinates"] is None:
        words["coordinates"] = "framework" if lengths == "penalty" else "reduced"
    for name, value in words.items():
        choice(name, value, CHOICES[name])
    exact = words["method"] == "position" and lengths == "original" and words["sides"] == "plain"
    many = (EXACT_PASSES if exact else 1) if passes is None else count("passes", passes, MOST_PASSES)
    if many > 1 and not exact:
        raise ProblemError("passes", passes, "1, or method='position', lengths='original', sides='plain'")
    if lengths == "penalty" and (words["coordinates"] != "framework" or words["method"] != "position"):
        wanted = "coordinates='framework' and method='position': reduced coordinates have no bars"
        raise ProblemError("lengths", lengths, wanted)
    weight = float(positive_number("penalty", given["penalty"]))
    checked: dict[str, Any] = {name: flag(name, given[name]) for name, s in declared.items() if s.kind == FLAG}
    return LoopOptions(h, **words, passes=many, penalty=weight, **checked)


@dataclass
class StepReport:
    """Statistics of one step; the last three are in seconds."""

    near: int = 0  # contacts detected
    pushing: int = 0  # contacts with a positive force
    passes: int = 0  # programs solved
    certificate: float = 0.0  # of the last program
    overlap: float = 0.0  # deepest overlap at the start of the step
    detect: float = 0.0
    assemble: float = 0.0
    solve: float = 0.0


class Loop:
    """The state of a collapse between its steps. `velocity` (n, 3) holds (vx, vy, spin) at the start."""

    def __init__(self, tower: Tower, options: LoopOptions, velocity: Floats | None = None) -> None:
        start = np.zeros((tower.count, 3)) if velocity is None else velocity
        self.tower, self.options = tower, options
        # Figures 6 and 7 take the first step with the initial velocity, so that everything is half a step early, an
        # error of first order. With p - h v + g h^2 / 2 before the start, free flight is exact and smooth motion is
        # accurate to second order.
        early = 0.5 * tower.gravity * options.step**2 if options.passes > 1 else 0.0
        self.coordinates: ReducedCoordinates | FrameworkCoordinates
        if options.coordinates == "reduced":
            self.coordinates = ReducedCoordinates(tower, start, options.step, early)
        else:
            penalty = options.penalty if options.lengths == "penalty" else 0.0
            self.coordinates = FrameworkCoordinates(tower, start, options.step, options.bracing, penalty, early)
        pins = sorted({tuple(sorted((p.first, p.second))) for p in tower.pins})
        apart = np.array(pins, dtype=np.int64).reshape(-1, 2)
        chosen = contact_table(tower, tower.contacts)[len(tower.contacts.on) - tower.corner_count :]
        self.layout = Layout(tower.first_corner, tower.free, apart, tower.held_corners, tower.size, chosen)
        self.fall = np.array([0.0, -tower.gravity * options.step**2])
        self.rounding = GAP_ROUNDING * float(np.abs(np.concatenate(tower.corners)).max())
        self.near = np.zeros((0, 5), np.int64)  # the table of `near_contacts`
        self.normal = np.zeros((0, 2))
        self.point = np.zeros((0, 2))
        self.y = np.zeros(0)  # multipliers of the contacts in the last step
        self.equation_y = np.zeros(0)  # multipliers of pins and bars
        self.motion: Floats | None = None
        self.still = (start == 0.0).all(axis=1)  # bricks that did not move in the last step
        self.scale = 0.0  # largest free motion of the step
        self.diagonal = np.zeros(0)  # A_ii of the contacts: converts force times step^2 to length
        self.first_error = 0.0  # error after the first pass of the last step
        self.report = StepReport()
        self.mirror = Mirror(tower, self.coordinates, start) if options.keep_symmetry else None

    def advance(self) -> None:
        """Takes one step with the chosen method."""
        if self.options.method == "position":
            position_step(self)
        else:
            acceleration_step(self)

    # ---- checkpoints

    def memory(self) -> dict[str, np.ndarray]:
        """What the next step depends on."""
        made = {name: getattr(self.coordinates, name) for name in self.coordinates.varying}
        made |= {name: getattr(self, name) for name in ("near", "y", "equation_y", "still")}
        holds = self.mirror is not None and self.mirror.holds
        made["flags"] = np.array([self.first_error, float(holds)])
        return made if self.motion is None else made | {"motion": self.motion}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Continues from a checkpoint: the inverse of `memory`."""
        for name in self.coordinates.varying:
            setattr(self.coordinates, name, memory[name])
        for name in ("near", "y", "equation_y", "still"):
            setattr(self, name, memory[name])
        self.first_error = float(memory["flags"][0])
        if self.mirror is not None:
            self.mirror.holds = bool(memory["flags"][1])
        self.motion = memory.get("motion")

    # ---- contacts

    def detect(self, ahead: Floats) -> None:
        """Finds the contacts of a step that would move the corners to `ahead`; known ones keep their multipliers."""
        began = perf_counter()
        corners = self.coordinates.corners()
        travel = np.hypot(*(ahead - corners).T)
        own = np.maximum.reduceat(travel, self.layout.ptr[:-1])
        margin = own + 0.5 * float(own.max()) + SLACK * self.tower.size
        before, y = self.near, self.y
        self.set_contacts(near_contacts(self.layout, corners, ahead, margin, self.options.edges == "paper"), corners)
        self.y = _carried(before, y, self.near, len(corners))
        self.report = StepReport(near=len(self.near), overlap=max(0.0, -float(self.gap.min(initial=0.0))))
        self.report.detect = perf_counter() - began

    def set_contacts(self, near: Ints, corners: Floats) -> None:
        """Uses these contacts, with their geometry at `corners`."""
        self.near = near
        self.normal, self.along, self.gap = edge_geometry(near, corners)
        self.point = corners[near[:, 1]]

    def select(self, keep: Ints) -> None:
        """Keeps some of the contacts."""
        self.near, self.normal, self.along = self.near[keep], self.normal[keep], self.along[keep]
        self.gap, self.point = self.gap[keep], self.point[keep]
        self.y = self.y[: len(keep)][keep]

    # ---- the program

    def program(self) -> Projection:
        """The quadratic program of the present contacts."""
        began = perf_counter()
        if self.mirror is not None:
            self.mirror.check(self.near)
        made = Projection(self.coordinates.rows(self.near, self.normal, self.along), self.coordinates.equations)
        self.diagonal = made.rows.diag
        self.report.assemble += perf_counter() - began
        return made

    def warm_start(self) -> Floats:
        """Multipliers of contacts and equations in the last step, zero for new ones."""
        equations = self.coordinates.equations
        last = self.equation_y if len(self.equation_y) == equations else np.zeros(equations)
        return np.concatenate([self.y[: len(self.near)], last])

    def solve(
        self, program: Projection, free: Floats, bound: Floats, start: Floats | None, loose: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Whitened solution and multipliers of a program; violations up to `loose` are accepted."""
        began = perf_counter()
        unit = 1.0 if self.options.method == "position" else self.options.step**-2
        floor = max(self.rounding * unit, loose)
        x, y, certificate = program.solve(free, bound, start, floor, self.scale * unit)
        self.report.solve += perf_counter() - began
        self.report.certificate = certificate
        self.y = y[: len(self.near)]
        return x, y

    # ---- corrections of the motion

    def symmetric(self, motion: Floats) -> Floats:
        """The motion without its antisymmetric part, which is an error if tower and contacts are symmetric."""
        return motion if self.mirror is None else self.mirror.even(motion)

    def resting(self, motion: Floats) -> Floats:
        """The motion, set to zero for bricks that were at rest and move only by rounding.

        Without this a stack in limiting equilibrium, with the weight of each part exactly above an edge, falls within
        some hundred steps.
        """
        owner = self.coordinates.owner
        size = np.array([1.0, 1.0, self.tower.size])[: self.coordinates.block]
        moved = np.zeros(self.tower.count)
        np.maximum.at(moved, owner, np.abs(motion[: len(owner)] * size).max(axis=1))
        still = self.still & (moved <= RESTING * float(np.hypot(*self.fall)))
        motion = motion.copy()
        motion[: len(owner)][still[owner]] = 0.0
        return motion

    # ---- results

    def record(self, motion: Floats, y: Floats) -> None:
        """Stores the motion and the multipliers of a step."""
        m = len(self.near)
        owner = self.coordinates.owner
        moves = np.zeros(self.tower.count, dtype=bool)
        np.logical_or.at(moves, owner, (motion[: len(owner)] != 0.0).any(axis=1))
        self.still = ~moves
        self.y, self.equation_y, self.motion = y[:m], y[m:], motion
        self.report.pushing = int((self.y > 0.0).sum())

    def rescale(self, factor: float) -> None:
        """Converts multipliers and motion to a step `factor` times as long."""
        self.y, self.equation_y = self.y * factor**2, self.equation_y * factor**2
        if self.motion is not None:
            self.motion = self.motion * factor

    def forces(self) -> Floats:
        """(m,) contact forces of the last step, along `normal` on the brick with the corner."""
        return np.asarray(self.y / self.options.step**2)


def _carried(before: Ints, y: Floats, near: Ints, corners: int) -> Floats:
    """Multipliers of the last step for contacts that exist again, identified by corner and edge; zero for new ones."""
    if not len(before):
        return np.zeros(len(near))
    old = before[:, 1] * (corners + 1) + before[:, 3] + 1
    new = near[:, 1] * (corners + 1) + near[:, 3] + 1
    order = np.argsort(old)
    at = np.minimum(np.searchsorted(old[order], new), len(old) - 1)
    match = order[at]
    return np.where(old[match] == new, y[match], 0.0)
