"""Steps that keep bodies apart: one that does not is repeated in two halves, each of which is tested in the same way.

Half the time means half the motion, so that sub-steps resolve the impacts that a step has missed one after the other.
Sub-steps are steps of the same stepper, so that whatever it conserves or never adds holds for them. Where bodies
overlap although they hardly move, or where a step would need too many sub-steps, the run ends with a message.
"""

from __future__ import annotations

from typing import Any

from ..contact.containment import Containment, Violation
from ..errors import ProblemError
from ..impact.response import Response
from ..world import State, World
from .integrator import end_of_step
from .stepper import Stepper

STILL = 1e-3  # travel, in half widths of the two bodies, below which shorter sub-steps do not help
MOST_ATTEMPTS = 1000  # bound on the sub-steps that are tried per step
BETTER = 1e-9  # overlap beyond that of the start, relative to it, that counts as not growing
COUNTERS = ("contacts", "resting", "iterations", "residual", "status", "rounds", "overlap", "scale", "substeps")


class Contained(Stepper):
    """Base of steppers that keep bodies apart. A subclass defines `advance` in place of `step`."""

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.containment = Containment(world, self.detector)
        self.keeps_apart = response.law.name != "none"  # no impulse, no containment

    def advance(self, state: State, h: float) -> State:
        """The state after the time h."""
        raise NotImplementedError(f"{type(self).__name__} must define advance(state, h)")

    def step(self, state: State) -> State:
        self.clear()
        self.substeps = self._attempts = 0
        return self.finish(self._contained(state, self.h), state.step + 1)

    def _contained(self, start: State, h: float) -> State:
        """The state after the time h, in as few sub-steps as keep bodies apart."""
        before = self._kept()
        end = self.advance(start, h)
        self._attempts += 1
        self.substeps += 1
        wrong = self._violation(start, end)
        if wrong is None:
            return end
        travel = self.containment.travel(start, end)
        both = [travel[wrong.first]] + ([travel[wrong.second]] if wrong.second >= 0 else [])
        if max(both) < STILL or self._attempts >= MOST_ATTEMPTS:
            self._stop(start, wrong, h)
        self._restore(before)
        middle = self._contained(start, 0.5 * h)
        middle = end_of_step(self.world, middle, middle.time, start.step)
        return self._contained(middle, 0.5 * h)

    def _violation(self, start: State, end: State) -> Violation | None:
        """What was not kept apart, unless bodies overlapped as deeply before: a step need not mend what it is given."""
        if not self.keeps_apart:
            return None
        wrong: Violation | None = self.timed("detect", self.containment.violation, start, end, self.overlap)
        before = None if wrong is None else self.containment.overlap(start)
        if wrong is not None and before is not None and wrong.share <= (1.0 + BETTER) * before.share:
            return None
        return wrong

    def _kept(self) -> tuple[dict[str, Any], int, dict[str, Any]]:
        """What an attempt changes besides the state."""
        return {name: getattr(self, name) for name in COUNTERS}, len(self.pushes), self.memory()

    def _restore(self, kept: tuple[dict[str, Any], int, dict[str, Any]]) -> None:
        counters, pushes, memory = kept
        for name, value in counters.items():
            setattr(self, name, value)
        del self.pushes[pushes:]
        self.remember(memory)

    def _stop(self, start: State, wrong: Violation, h: float) -> None:
        """Ends the run: which bodies, when, and what to change."""
        other = f"body {wrong.second}" if wrong.second >= 0 else f"boundary {-1 - wrong.second}"
        what = f"overlap by {wrong.overlap:.3g} ({100.0 * wrong.share:.3g} % of the smaller half width)"
        if wrong.overlap == 0.0:
            what = "pass through each other"
        law = self.response.law.name
        advice = f"a shorter time step than {self.h:g}, or a law that keeps bodies apart (the law is {law!r})"
        text = f"stopped at time {start.time:g}: body {wrong.first} and {other} {what}, also in steps of {h:.2g}; try {advice}"
        raise ProblemError(f"step at time {start.time:g}", what, advice, text)
