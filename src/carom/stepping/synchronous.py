"""The synchronous step: all impacts of a step are resolved together, at its start (Smith 2012, alg. 4)."""

from __future__ import annotations

from typing import ClassVar

from ..contact.contact_set import deepest_overlap
from ..world import State
from .integrator import prescribed
from .report import StepReport
from .stepper import Stepper


class Synchronous(Stepper):
    """Predicts free motion, resolves the contacts of the predicted state at the start of the step, and moves again.

    With an elastic law that conserves kinetic energy, the total energy is conserved to rounding. Bodies in lasting
    contact (resting, rolling) sink slowly into each other: use `drift_safe` for these.
    """

    name: ClassVar[str] = "synchronous"
    title: ClassVar[str] = "all impacts at the start of the step (Smith 2012, alg. 4)"
    guarantee: ClassVar[str] = "conserves elastic energy to rounding; bodies in lasting contact sink"

    def step(self, state: State) -> tuple[State, StepReport]:
        self.watch(state)
        report = self.begin()
        start = prescribed(self.world, state, self.h)
        end = self.move(start, self.h, report)
        found = self.find(start, end, self.touch, report)
        if len(found.table):
            report.overlap = deepest_overlap(found.table)
            impact = self.assemble(start, found, self.h, report)
            if impact.contacts.speeds().min() < -self.noise(start):
                report.rounds = 1
                start = self.collide(start, found, impact, report)
                end = self.move(start, self.h, report)
        return self.finish(end, state.step + 1, report)
