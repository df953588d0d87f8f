"""Steps that keep bodies apart: one that does not is repeated in two halves, each of which is tested in the same way.

Half the time means half the motion, so that sub-steps resolve the impacts that a step has missed one after the other.
Sub-steps are steps of the same stepper, so that whatever it conserves or never adds holds for them. A step whose solver
misses its tolerance is repeated in the same way, with fewer impacts at a time, down to sub-steps of length RETRIED.

Bodies that press on each other may also creep into each other, by curvature or because an island lacks the energy to
be pushed apart. Shorter steps do not help there. Such a step is accepted, with the status `not_converged` while the
overlap is larger than OVERLAP. The run ends with a message where bodies pass through each other or overlap by more than
DEEPEST.
"""

from __future__ import annotations

from typing import Any

from ..contact.containment import OVERLAP as NOTED
from ..contact.containment import Containment, Violation
from ..errors import ProblemError
from ..problem.contacts import NOT_CONVERGED, worse
from ..resolve.response import Response
from ..world import State, World
from .integrator import end_of_step
from .report import STATUSES
from .stepper import Stepper

# Overlap in half widths of the smaller body.
MEASURED = 1e-3  # from which on the step table has the exact overlap
OVERLAP = 0.05  # largest in a step that reports success
DEEPEST = 0.25  # largest in any step
CREEP = 0.01  # growth per step that shorter steps need not prevent
STILL = 1e-3  # travel, in half widths of the two bodies, below which shorter sub-steps do not help
RETRIED = 0.25  # length of a sub-step, relative to the step, down to which one that misses its tolerance is cut
MOST_ATTEMPTS = 4000  # bound on the sub-steps that are tried per step
SHORTEST = 1e-7  # length of a sub-step, relative to the step, below which none is cut
COUNTERS = ("contacts", "resting", "iterations", "residual", "status", "rounds", "overlap", "scale", "substeps")


class Contained(Stepper):
    """Base of steppers that keep bodies apart. A subclass defines `advance` in place of `step`."""

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.containment = Containment(world, self.detector)
        self.part = 1.0  # length of the current sub-step relative to the step
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
        before, self.part = self._kept(), h / self.h
        so_far, self.residual = self.residual, 0.0
        deepest, self.overlap = self.overlap, 0.0
        end = self.advance(start, h)
        self._measure_overlap(start)
        self._attempts += 1
        self.substeps += 1
        missed = self.residual > self.tolerance and self.part > RETRIED
        self.residual = max(self.residual, so_far)
        if not missed:
            wrong, growth = self._violation(start, end)
            if not self._helps(start, end, wrong, growth, h):
                self.overlap = max(self.overlap, deepest)
                return self._accepted(start, end, wrong, h)
        self._restore(before)
        middle = self._contained(start, 0.5 * h)
        middle = end_of_step(self.world, middle, middle.time, start.step)
        return self._contained(middle, 0.5 * h)

    def _measure_overlap(self, start: State) -> None:
        """Replaces a large overlap by an exact one: gaps of contacts are those of one normal for the whole step."""
        if self.keeps_apart and self.overlap > MEASURED * self.containment.least:
            found = self.containment.overlap(start, least=0.0)
            self.overlap = 0.0 if found is None else found.overlap

    def _helps(self, start: State, end: State, wrong: Violation | None, growth: float, h: float) -> bool:
        """Whether bodies that a sub-step has not kept apart may be kept apart in shorter ones."""
        if wrong is None or growth <= CREEP * self.part or h < SHORTEST * self.h or self._attempts >= MOST_ATTEMPTS:
            return False
        moved = self.containment.displacement(start, end)
        return bool(max(moved[wrong.first], moved[wrong.second] if wrong.second >= 0 else 0.0) >= STILL)

    def _violation(self, start: State, end: State) -> tuple[Violation | None, float]:
        """What was not kept apart, and by how much the deepest overlap has grown, in half widths."""
        if not self.keeps_apart:
            return None, 0.0
        wrong: Violation | None = self.timed("detect", self.containment.violation, start, end, self.overlap)
        if wrong is None:
            return None, 0.0
        before = self.containment.overlap(start)
        return wrong, wrong.share - (NOTED if before is None else before.share)

    def _accepted(self, start: State, end: State, wrong: Violation | None, h: float) -> State:
        """The end of a sub-step that is not cut further; its status tells if bodies overlap too much."""
        if wrong is not None and wrong.share > OVERLAP:
            if wrong.share > DEEPEST:
                self._stop(start, wrong, h)
            self.status = STATUSES.index(worse(STATUSES[self.status], NOT_CONVERGED))
        return end

    def _kept(self) -> tuple[dict[str, Any], int, dict[str, Any]]:
        """What an attempt changes besides the state."""
        return {name: getattr(self, name) for name in COUNTERS}, len(self._pushed), self.memory()

    def _restore(self, kept: tuple[dict[str, Any], int, dict[str, Any]]) -> None:
        counters, pushes, memory = kept
        for name, value in counters.items():
            setattr(self, name, value)
        del self._pushed[pushes:]
        self.remember(memory)

    def _stop(self, start: State, wrong: Violation, h: float) -> None:
        """Ends the run: which bodies, when, and what to change."""
        other = f"body {wrong.second}" if wrong.second >= 0 else f"boundary {-1 - wrong.second}"
        what = f"overlap by {wrong.overlap:.3g} ({100.0 * wrong.share:.3g} % of the smaller half width)"
        if wrong.overlap == 0.0:
            what = "pass through each other"
        law = self.response.law.name
        advice = f"a shorter time step than {self.h:g}, or a law that keeps bodies apart (the law is {law!r})"
        text = f"stopped at time {start.time:g}: body {wrong.first} and {other} {what}, even in steps of {h:.2g}"
        raise ProblemError(f"step at time {start.time:g}", what, advice, f"{text}; try {advice}")
