"""The motion from impact to impact within a step in 3D: the drift-safe step, divided at every impact."""

from __future__ import annotations

from math import inf

from ..contact.contact_set import ContactSet
from ..contact.time_of_impact_3d import ImpactSearch
from ..impact.assemble import Assembly
from ..world import State
from .drift_safe import Ahead, DriftSafe
from .integrator import free_motion, prescribed

SAME_TIME = 1e-12  # fraction of a step below which no time is left
REPEATS = 8  # applications of the law to one impact


class Interval3D:
    """The part of a step that is still ahead. `now` is the state reached, `left` the time that is left."""

    most_impacts: float = inf

    def __init__(self, stepper: DriftSafe) -> None:
        self.stepper, self.world = stepper, stepper.world
        self.search = ImpactSearch(self.world, self._move, stepper.touch, stepper.margin)

    def _move(self, state: State, time: float) -> State:
        return free_motion(self.world, state, time)

    def begin(self, state: State, h: float) -> None:
        self.now, self.left, self.h = state, h, h

    def next_impact(self) -> bool:
        """Advances until contacts touch that approach faster than resting ones."""
        while self.left > SAME_TIME * self.h:
            self.start = prescribed(self.world, self.now, self.left)
            self.slow = self.stepper.resting_speed(self.start, self.h)
            self.impact = self._impact()
            if self.impact is not None:
                return True
            self._advance()
        return False

    def resolve(self) -> None:
        """Applies the law, repeatedly while its answer leaves a fast approach, and advances to the next impact."""
        for repeat in range(REPEATS):
            if repeat > 0:
                self.impact = self._impact()
            if self.impact is None:
                break
            found, assembly = self.impact
            self.start = self.stepper.collide(self.start, found, assembly)
        self._advance()

    def finish(self) -> None:
        """The impacts of the rest of the step are resolved as in the drift-safe step."""
        rounds = self.stepper.rounds  # the rounds of the drift-safe step are not counted
        ahead = self.stepper.look_ahead(self.start, self.left)
        self.start, ahead = self.stepper.resolve_impacts(self.start, ahead, self.slow, self.left)
        self.stepper.rounds = rounds
        self.now, self.left = self.stepper.hold_resting(self.start, ahead, self.slow, self.left), 0.0

    def end(self) -> State:
        return self.now

    def _impact(self) -> tuple[ContactSet, Assembly] | None:
        """The contacts that touch now, if one of them approaches fast."""
        s = self.stepper
        found = s.timed("detect", self.search.touching, self.start, self.left)
        if not found.count:
            return None
        impact = s.assemble(self.start, found, self.left)
        fast = impact.contacts.speeds() < -found.larger(self.slow)
        return (found, impact) if fast.any() else None

    def _advance(self) -> None:
        """Moves to the next impact or the end of the step, with resting contacts held."""
        s = self.stepper
        time = s.timed("detect", self.search.next_impact, self.start, self.left, self.slow)
        self.left -= time
        end = s.move(self.start, time)
        found = s.find(self.start, end, s.margin)
        s.note_overlap(found)
        impact = s.assemble(self.start, found, time) if found.count else None
        self.now = s.hold_resting(self.start, Ahead(end, found, impact), self.slow, time)
