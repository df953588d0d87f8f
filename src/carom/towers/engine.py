"""A collapse as an engine of `carom.simulation`: states, rows and impulses are those of any other run.

The loops know positions; velocities are central differences, `v(t) = (p(t + h) - p(t - h)) / 2h`, so the engine is
one step ahead of what it reports.
"""

from __future__ import annotations

from dataclasses import astuple, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..checks import check_fields
from ..errors import ProblemError
from ..geometry.polygons import polygon_moments
from ..kernels import prepare
from ..settings import CollapseSettings, Settings
from ..solvers.rows import Floats
from ..stepping.report import ContactImpulses, Stretch, totals_2d
from ..world import State, World
from .files import parse, tower_to_toml
from .loop import CHOICES, Loop, LoopOptions, StepReport, loop_options
from .reduced import Complexes

if TYPE_CHECKING:
    from .tower import Tower

STEPPER = "tower_"  # the stepper of a run is this and the method of the collapse


class TowerReport(NamedTuple):
    """The report of a step: its row in the table of steps, and its impulses."""

    row: tuple[Any, ...]
    pushes: ContactImpulses

    def impulses(self) -> ContactImpulses:
        """Contact impulses of the step."""
        return self.pushes


class TowerEngine:
    """Advances the state of a tower and reports on each step."""

    def __init__(self, tower: Tower, world: World, options: LoopOptions, velocity: Floats) -> None:
        self.tower, self.world, self.options = tower, world, options
        self.loop = Loop(tower, options, velocity)
        centroid = np.array([polygon_moments(c)[1] for c in tower.corners])
        self.offset = (centroid - tower.center) @ np.array([1.0, 1j])  # from the center of mass
        self.start_velocity = velocity * tower.free[:, None]
        self.ahead: tuple[Complexes, Complexes, StepReport, ContactImpulses] | None = None
        self.last = self._pose()
        self.now = self.last
        self.tilt = np.array([0.0 if b.rectangle_size is None else b.rectangle_size[2] for b in tower.bricks])
        self.angle = np.zeros(tower.count)
        self.done, self.pushes = StepReport(), _no_impulses()
        self.velocity = self.start_velocity

    # ---- interface of the simulation

    def first(self) -> State:
        """The state at time 0."""
        return self._state(0)

    def step(self, state: State) -> tuple[State, TowerReport]:
        """The state one step later, and the report of the step."""
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
        return made, self.start(made)

    def stretch(self, state: State, most: int) -> Stretch:
        """The next step."""
        made, report = self.step(state)
        return Stretch((made,), (report.row,), report)

    def _go(self) -> None:
        """Takes the next step of the loop and keeps its result."""
        self.loop.advance()
        self.ahead = (*self._pose(), self.loop.report, self._impulses())

    def start(self, state: State) -> TowerReport:
        """The report on the current state, also before the first step; energies use the true centers of mass."""
        center = np.stack([self.now[0].real, self.now[0].imag], axis=1)
        t, r = self.tower, self.done
        sums = totals_2d(t.mass, t.inertia[:, None], t.free, np.array([0.0, -t.gravity]), center, self.velocity)
        seconds = (r.detect, r.assemble, r.solve, 0.0, 0.0)
        row = (
            state.step, state.time, r.near, r.pushing, r.passes, r.certificate, 0, r.passes, r.overlap,
            *sums, *seconds, 1,
        )  # fmt: skip
        return TowerReport(row, self.pushes)

    # ---- checkpoints

    def memory(self) -> dict[str, np.ndarray]:
        """The tower as the text of its file, the loop, and the step that is computed ahead."""
        made = {"tower": self._text, "now": np.stack(self.now), "angle": self.angle, **self.loop.memory()}
        if self.ahead is not None:
            center, turn, report, pushes = self.ahead
            made |= {"ahead": np.stack([center, turn]), "report": np.array(astuple(report), dtype=np.float64)}
            made |= {f"push_{name}": value for name, value in vars(pushes).items()}
        return made

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Continues from a checkpoint: the inverse of `memory`."""
        self.now, self.angle = tuple(memory["now"]), memory["angle"]
        self.loop.remember(memory)
        if "ahead" in memory:
            near, pushing, passes, *rest = memory["report"].tolist()
            report = StepReport(int(near), int(pushing), int(passes), *rest)
            pushes = ContactImpulses(*(memory[f"push_{part.name}"] for part in fields(ContactImpulses)))
            self.ahead = (*memory["ahead"], report, pushes)

    @cached_property
    def _text(self) -> np.ndarray:
        return np.frombuffer(tower_to_toml(self.tower).encode(), np.uint8)

    # ---- conversion from the loop

    def _pose(self) -> tuple[Complexes, Complexes]:
        return self.loop.coordinates.pose()

    def _state(self, number: int) -> State:
        """Centroids, angles and velocities in the form of the scene."""
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
        """Forces of the step times its length; normals point from the first brick to the second, -1 is the ground."""
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


def _recorded_options(settings: Settings) -> LoopOptions:
    """The options of the loop from the settings of a file."""
    method, told = settings.stepper.removeprefix(STEPPER), dict(settings.law_options)
    known = [field.name for field in fields(LoopOptions) if field.name not in ("step", "method")]
    check_fields(told, known, [name for name in CHOICES if name != "method"], "settings.law_options")
    return loop_options(settings.step, method, cast("CollapseSettings", told))


def restored(world: World, settings: Settings, memory: dict[str, np.ndarray]) -> TowerEngine:
    """The engine of an interrupted run at a checkpoint."""
    if "tower" not in memory:
        raise ProblemError("checkpoint", "no tower", "a run of a version that stores it: start the collapse again")
    prepare(["towers"])
    tower = parse(memory["tower"].tobytes().decode(), "the tower of the checkpoint")
    options = _recorded_options(settings)
    engine = TowerEngine(tower, world, options, np.zeros((tower.count, 3)))
    engine.remember(memory)
    return engine
