"""A collapsing tower as an engine for `carom.simulation`: states, rows and impulses like those of every other run.

The loop knows positions; velocities are central differences, `v(t) = (p(t + h) - p(t - h)) / 2h`, so the engine is one
step ahead of what it reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..geometry.polygons import polygon_moments
from ..solvers.rows import Floats
from ..stepping.flight import plane_totals
from ..stepping.report import ContactImpulses
from ..world import State, World
from .loop import Loop, LoopOptions, StepReport
from .reduced import Complexes

if TYPE_CHECKING:
    from .tower import Tower


class TowerEngine:
    """Takes states of a tower to the next; `row` and `impulses` tell about the last step."""

    def __init__(self, tower: Tower, world: World, options: LoopOptions, velocity: Floats) -> None:
        self.tower, self.world, self.options = tower, world, options
        self.loop = Loop(tower, options, velocity)
        centroid = np.array([polygon_moments(c)[1] for c in tower.corners])
        self.offset = (centroid - tower.center) @ np.array([1.0, 1j])  # from the center of mass
        self.start = velocity * tower.free[:, None]
        self.ahead: tuple[Complexes, Complexes, StepReport, ContactImpulses] | None = None
        self.last = self._pose()
        self.now = self.last
        self.tilt = np.array([0.0 if b.rectangle_size is None else b.rectangle_size[2] for b in tower.bricks])
        self.angle = np.zeros(tower.count)
        self.done, self.pushes = StepReport(), _no_impulses()
        self.velocity = self.start
        self.row: tuple[Any, ...] = ()

    # ---- the engine

    def first(self) -> State:
        """The state at time 0."""
        return self._state(0)

    def step(self, state: State) -> State:
        h = self.options.step
        if self.ahead is None:
            self._go()
        assert self.ahead is not None
        before = self.now
        self.now, self.done, self.pushes = self.ahead[:2], self.ahead[2], self.ahead[3]
        self.angle = self.angle + np.angle(self.now[1] / before[1])
        self._go()
        after = self.ahead[:2]
        shift = (after[0] - before[0]) / (2.0 * h)
        spin = (np.angle(after[1] / self.now[1]) + np.angle(self.now[1] / before[1])) / (2.0 * h)
        self.velocity = np.stack([shift.real, shift.imag, spin], axis=1)
        made = self._state(state.step + 1)
        self.report(made)
        return made

    def _go(self) -> None:
        self.loop.advance()
        self.ahead = (*self._pose(), self.loop.report, self._impulses())

    def report(self, state: State) -> None:
        """The row of the table of steps; energies about the true centers of mass."""
        center = np.stack([self.now[0].real, self.now[0].imag], axis=1)
        t, r = self.tower, self.done
        sums = plane_totals(t.mass, t.inertia, t.free, np.array([0.0, -t.gravity]), center, self.velocity)
        seconds = (r.detect, r.assemble, r.solve, 0.0, 0.0)
        self.row = (
            state.step, state.time, r.near, r.pushing, r.passes, r.certificate, 0.0, 0, r.passes, r.overlap,
            *sums, *seconds,
        )  # fmt: skip

    def impulses(self) -> ContactImpulses:
        return self.pushes

    def memory(self) -> dict[str, np.ndarray]:
        return {}

    # ---- from the loop

    def _pose(self) -> tuple[Complexes, Complexes]:
        return self.loop.place.pose()

    def _state(self, number: int) -> State:
        """Centroids, angles and velocities as the scene has them."""
        arm = self.offset * self.now[1]
        where = self.now[0] + arm
        velocity = self.velocity.copy()
        velocity[:, 0] -= velocity[:, 2] * arm.imag
        velocity[:, 1] += velocity[:, 2] * arm.real
        return State(
            position=np.stack([where.real, where.imag], axis=1),
            orientation=self.tilt + self.angle,
            velocity=velocity,
            time=number * self.options.step,
            step=number,
        )

    def _impulses(self) -> ContactImpulses:
        """Forces of the step times its length; normals from the first brick to the second, -1 is the ground."""
        loop = self.loop
        push = loop.y > 0.0
        on, under = loop.near[push, 0], loop.near[push, 2]
        normal, strength = loop.normal[push], loop.forces()[push] * self.options.step
        swap = (under < 0) | (under > on)
        first, second = np.where(swap, on, under), np.where(swap, under, on)
        toward = np.where(swap[:, None], -normal, normal)
        return ContactImpulses(first, second, loop.point[push], toward, strength, np.zeros(len(first)))


def _no_impulses() -> ContactImpulses:
    none, vectors = np.empty(0, np.int64), np.empty((0, 2))
    return ContactImpulses(none, none, vectors, vectors, np.empty(0), np.empty(0))
