"""The synchronous step: all impacts of a step are resolved together, at its start (Smith 2012, alg. 4)."""

from __future__ import annotations

from typing import ClassVar

from ..contact.contact_set import ContactSet, deepest_overlap
from ..resolve.response import Response
from ..solvers.rows import Floats
from ..world import State, World
from .integrator import prescribed
from .report import StepReport
from .stepper import Stepper


class Synchronous(Stepper):
    """Predicts free motion, resolves the contacts of the predicted state at the start of the step, and moves again.

    `active_set` says which contacts are resolved. "end": those that overlap in the predicted state, as algorithm 4 has
    it; the default in 2D. "swept": those of all pairs that overlap at any time of the step, as the text of section 8.2
    has it. "crossing": those of the predicted state, and of pairs that would pass through each other; default in 3D.
    Bodies whose predicted gap is zero count as overlapping: active contacts are those that touch (section 4), and
    without them a rack of touching balls would be resolved one contact per step, or not, depending on rounding.

    Impulses act at the start of the step, where the bodies are then, and along the normals of the start: linear and
    angular momentum are conserved to rounding.

    With an elastic law that conserves kinetic energy, the total energy is conserved to rounding. Bodies in lasting
    contact (resting, rolling) sink slowly into each other: use `drift_safe` for these.
    """

    name: ClassVar[str] = "synchronous"
    title: ClassVar[str] = "all impacts at the start of the step (Smith 2012, alg. 4)"
    guarantee: ClassVar[str] = "conserves elastic energy to rounding; bodies in lasting contact sink"

    has_active_set: ClassVar[bool] = True

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.active_set = "end" if world.dimension == 2 else "crossing"
        # Contacts of round bodies do not depend on their orientation: they rotate once, with the velocity after impact.
        steady = world.force is None and world.joints is None
        self.turns_late = world.block == 6 and steady and bool(world.shapes.round.all())

    def find(self, before: State, after: State, margin: float | Floats, report: StepReport) -> ContactSet:
        """The active contacts of the step from `before` to `after`."""
        find = {"end": self.detector.at_ends, "crossing": self.detector.find, "swept": self.detector.along}
        found = find[self.active_set or "end"](before, after, margin)
        report.clock.lap("detect")
        return found

    def step(self, state: State) -> tuple[State, StepReport]:
        self.watch(state)
        report = self.begin()
        start = prescribed(self.world, state, self.h)
        end = self.move(start, self.h, report, not self.turns_late)
        found = self.find(start, end, self.touch, report)
        struck = False
        if len(found.table):
            report.overlap = deepest_overlap(found.table)
            impact = self.assemble(start, found, self.h, report)
            struck = bool(impact.contacts.speeds().min() < -self.noise(start))
            if struck:
                report.rounds = 1
                start = self.collide(start, found, impact, report)
        if struck or self.turns_late:
            end = self.move(start, self.h, report)
        return self.finish(end, state.step + 1, report)
