"""The synchronous step: all impacts of a step at its start, all at once (Smith 2012, alg. 4)."""

from __future__ import annotations

from typing import ClassVar

from ..world import State
from .flight import fly, landed, prescribed
from .stepper import Stepper


class Synchronous(Stepper):
    """Predict freely, collect the contacts of the predicted state, resolve them at the start, fly on.

    With an elastic law that keeps kinetic energy it keeps the total energy to rounding. Contact that lasts (resting,
    rolling) sinks slowly: use `drift_safe` there.
    """

    name: ClassVar[str] = "synchronous"
    title: ClassVar[str] = "all impacts at the start of the step (Smith 2012, alg. 4)"

    def step(self, state: State) -> State:
        self._clear()
        h = self.h
        start = prescribed(self.world, state, h)
        end = self._timed("move", fly, self.world, start, h)
        found = self.find(start, end, self.touch)
        if found.count:
            self.saw(found)
            impact = self.assemble(start, found)
            if impact.contacts.speeds().min() < -self.noise(start):
                self.rounds = 1
                start = self.collide(start, found, impact)
                end = self._timed("move", fly, self.world, start, h)
        number = state.step + 1
        end = landed(self.world, end, number * h, number)
        self.report(end)
        return end
