"""Carom as the impact operator of other engines: `carom.bridges.mujoco`, `.pymunk` and `.pybullet`.

The engine keeps its world, its free motion, its joints and its resting contacts. Before each of its steps a bridge
takes masses, contacts and velocities from it, resolves what impacts during the step with one of Carom's laws, and
writes the velocities back. Contacts then no longer approach, so the engine's own impact has nothing left to do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..laws import Law
from ..problem.checks import frozen, per_contact
from ..problem.jointed_mass import JointedMass
from ..problem.joints import Joints
from ..problem.mass import Mass, rows_from_pairs
from ..problem.problem import LIMITS, ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats, Ints

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

    @abstractmethod
    def detect(self, horizon: float) -> ImpactProblem | None:
        """What impacts within a time, with all that it may move; None if nothing impacts (`impacting`)."""

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
        """The impact at this instant: contacts that touch or close within the time `horizon`, of islands in which one
        of them is an impact, or None."""
        return self.detect(horizon)

    def impacting(self, pairs: Any, gap: Floats, speed: Floats, horizon: float, links: Any = ()) -> tuple[Any, Any]:
        """The contacts that take part in an impact within a time, and the bodies that it may move, as numbers.

        `pairs` (m, 2) and `links` (l, 2) are bodies, -1 for what does not move; links are joints.
        """
        slowest = slowest_impact(self.threshold, float(np.linalg.norm(self.gravity)), self.time_step)
        size = len(pairs) + len(links)
        joined = np.empty((size, 2), np.int64)
        joined[: len(pairs)], joined[len(pairs) :] = pairs, np.reshape(links, (-1, 2))
        return struck(joined, gap, speed, (self.touch, slowest, horizon))

    def assembled(
        self,
        mass: Mass,
        bodies: Ints,
        rows: Floats,
        velocity: Floats,
        *,
        boundary: Floats | None = None,
        friction: Floats,
        restitution: Any = 1.0,
        joints: Joints | None = None,
        name: str,
    ) -> ImpactProblem:
        """The problem of arrays that a bridge has made, which need none of the checks of arrays that a user gives.

        Normal and tangents are the rows (m, 1 + t, 2, d) of pairs of bodies (m, 2), `boundary` (m, 1 + t) the speeds of
        moving boundaries along them. `restitution` is that of the engine, which the option of the bridge replaces.
        """
        (m, t, _, d), n = rows.shape, len(velocity)
        normal, speed = rows_from_pairs(bodies, rows[:, 0]), np.zeros((m, t)) if boundary is None else boundary
        wanted = restitution if self.restitution is None else self.restitution
        if callable(wanted):
            wanted = wanted(np.maximum(-normal.times(velocity) - speed[:, 0], 0.0))
        jointed: Mass | JointedMass = mass
        if joints is not None:
            jointed = JointedMass(mass, joints, (n, d))
            jointed.check_rows(normal)
        return ImpactProblem(
            mass=jointed,
            rows=normal,
            velocity=frozen(velocity),
            boundary_speed=frozen(speed[:, 0]),
            restitution=frozen(per_contact("restitution", wanted, m, *LIMITS["restitution"])),
            friction=frozen(friction),
            tangents=rows_from_pairs(np.repeat(bodies, t - 1, axis=0), rows[:, 1:].reshape(m * (t - 1), 2, d)),
            tangent_speed=frozen(speed[:, 1:]),
            name=name,
            block=(n, d),
            joints=joints,
        )

    def resolve(self, horizon: float = 0.0) -> ImpactSolution | None:
        """Resolves the impact at this instant and writes the velocities; None if nothing impacts."""
        return self._answered(self.detect(horizon))

    def _answered(self, problem: ImpactProblem | None) -> ImpactSolution | None:
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


@kernel
def struck(pairs: Ints, gap: Floats, speed: Floats, numbers: tuple[float, float, float]) -> tuple[Ints, Ints]:
    """Contacts and bodies of the islands in which a contact closes within a time at the speed of an impact.

    `pairs` are those of the contacts, and after them those of joints. Contacts take part that touch or close. Islands
    without an impact rest, and are left to the engine.
    """
    (touch, slowest, horizon), m = numbers, len(gap)
    taking_part = gap + horizon * np.minimum(speed, 0.0) <= touch
    parent = np.arange(pairs.max() + 1)
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        if a < 0 or b < 0 or (i < m and not taking_part[i]):
            continue
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    for b in range(len(parent)):  # parents have smaller numbers than their children
        parent[b] = parent[parent[b]]
    moved = np.zeros(len(parent), np.bool_)
    for i in range(m):
        if taking_part[i] and speed[i] < -slowest:
            moved[parent[max(pairs[i, 0], pairs[i, 1])]] = True
    for i in range(m):
        taking_part[i] = taking_part[i] and moved[parent[max(pairs[i, 0], pairs[i, 1])]]
    for b in range(len(parent)):
        moved[b] = moved[parent[b]]
    return np.flatnonzero(taking_part), np.flatnonzero(moved)
