"""Carom as the impact operator of other engines: `carom.bridges.mujoco`, `.pymunk` and `.pybullet`.

The engine keeps its world, its free motion, its joints and its resting contacts. Before each of its steps a bridge
takes masses, contacts and velocities from it, resolves what impacts during the step with one of Carom's laws, and
writes the velocities back. Contacts then no longer approach, so the engine's own impact has nothing left to do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..laws import Law
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats

RESTING_STEPS = 2.0  # steps of free fall in which contacts at rest gain the speed of the slowest impact
LEAST_THRESHOLD = 1e-6  # slowest impact without gravity

Restitution = float | Callable[[Floats], Any] | None


def missing(engine: str) -> ProblemError:
    """The error of a bridge whose engine is not installed."""
    return ProblemError(
        "engine", f"{engine}, which is not installed", f"the package {engine} (extra {engine!r} of Carom)"
    )


@kernel
def slowest_impact(threshold: float | None, gravity: float, time_step: float) -> float:
    """The slowest approach that is an impact, from the option of a bridge."""
    return max(RESTING_STEPS * gravity * time_step, LEAST_THRESHOLD) if threshold is None else threshold


@dataclass
class Bridge(ABC):
    """Resolves the impacts of one engine's world.

    law: name of a law, or a configured one.
    restitution: one number, a function of the approach speeds (m,), or None for the coefficients of the engine.
    touch: gap, in units of length, up to which contacts that do not approach count as touching; they take part in the
    impact. Contacts that approach take part if they would close within the step.
    threshold: slowest approach that is an impact. Slower ones are resting contacts and left to the engine. None: the
    speed of two steps of free fall, as in Carom's own steppers, or 1e-6 if that is more.
    """

    law: str | Law = "gr"
    restitution: Restitution = None
    touch: float = 1e-6
    threshold: float | None = None
    horizon: float | None = field(default=None, init=False, repr=False)  # time ahead, while a problem is sought

    def closing(self, gap: Floats, speed: Floats, horizon: float) -> tuple[Any, bool]:
        """The contacts (m,) that touch or close within a time, and whether one of them is an impact."""
        taking_part = gap + horizon * np.minimum(speed, 0.0) <= self.touch
        slowest = slowest_impact(self.threshold, float(np.linalg.norm(self.gravity)), self.time_step)
        return taking_part, bool((taking_part & (speed < -slowest)).any())

    def at_rest(self, gap: Floats, speed: Floats) -> bool:
        """Whether a problem is sought, and no contact impacts: most steps end here, before a problem is made."""
        return self.horizon is not None and not self.closing(gap, speed, self.horizon)[1]

    @abstractmethod
    def detect(self) -> tuple[ImpactProblem, Floats] | None:
        """All contacts that the engine reports, as one problem, and their gaps (m,); None without contacts, or if they
        are `at_rest`."""

    @abstractmethod
    def write(self, velocity: Floats) -> None:
        """Gives the bodies of the last detected problem these velocities."""

    @abstractmethod
    def advance(self) -> None:
        """One step of the engine itself."""

    @property
    @abstractmethod
    def time_step(self) -> float:
        """The time step of the engine."""

    @property
    @abstractmethod
    def gravity(self) -> Any:
        """The acceleration (D,) of free fall in the engine."""

    def problem(self, horizon: float = 0.0) -> ImpactProblem | None:
        """The impact at this instant: contacts that touch or close within the time `horizon`. None if there is none."""
        self.horizon = horizon
        try:
            found = self.detect()
        finally:
            self.horizon = None
        if found is None:
            return None
        problem, gap = found
        taking_part, impacts = self.closing(gap, problem.separation_speed(), horizon)
        if not impacts:
            return None
        chosen = problem.selected(taking_part)
        return chosen if self.restitution is None else chosen.with_(restitution=self.restitution)

    def resolve(self, horizon: float = 0.0) -> ImpactSolution | None:
        """Resolves the impact at this instant and writes the velocities; None if nothing impacts."""
        problem = self.problem(horizon)
        if problem is None:
            return None
        solution = solve_impact(problem, self.law)
        self.write(solution.velocity)
        return solution

    def step(self) -> ImpactSolution | None:
        """Resolves what impacts during the next time step, then lets the engine make that step."""
        solution = self.resolve(self.time_step)
        self.advance()
        return solution
