"""Collapse of a tower as a trajectory (sections 5, 7 and 8 of the paper).

`TowerEngine` adapts the loops to `carom.simulation`, so that states, rows and impulses are those of any other run. The
loops know positions; velocities are central differences, `v(t) = (p(t + h) - p(t - h)) / 2h`, so the engine computes
one step more than it reports.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..build import build
from ..errors import ProblemError
from ..geometry.polygons import polygon_moments
from ..kernels import prepare
from ..scene.numbers import array
from ..scene.symmetry import mirror
from ..scenes.bricks import bricks_scene
from ..settings import Settings
from ..simulation import Progress, Tell, run_engine
from ..solvers.rows import Floats
from ..stepping.report import ContactImpulses
from ..stepping.totals import totals_2d
from ..world import State, World
from .checks import choice, count, file_path, flag, positive_number, shown
from .framework import BRACINGS
from .initial_collapse import COORDINATES
from .loop import Loop, LoopOptions, StepReport, mirror_of
from .reduced import Complexes

if TYPE_CHECKING:
    from ..trajectory import Trajectory
    from .tower import Tower

__all__ = ["Progress", "collapse"]
CHOICES = {
    "method": ("position", "acceleration"),
    "lengths": ("original", "previous", "penalty"),
    "sides": ("plain", "turning"),
    "coordinates": COORDINATES,
    "bracing": BRACINGS,
    "edges": ("separating", "paper"),
}
SUFFIXES = (".h5", ".hdf5")
MOST_STEPS, MOST_PASSES = 10**9, 1000
EXACT_PASSES = 8  # default number of passes where constraints are corrected
LEAST_MOTION, MOST_MOTION = 1e-15, 1e6  # of a brick per step, in shortest sides: less is lost to rounding


def collapse(
    tower: Tower,
    steps: int = 1000,
    step: float = 0.01,
    method: str = "position",
    output: str | PathLike[str] | None = None,
    *,
    lengths: str = "original",
    sides: str = "plain",
    passes: int | None = None,
    coordinates: str | None = None,
    bracing: str = "braced",
    penalty: float = 100.0,
    edges: str = "separating",
    feedback: bool = True,
    keep_symmetry: bool = True,
    velocity: Any = None,
    impulses: bool = False,
    frame_every: int = 1,
    progress: Tell | None = None,
    overwrite: bool = False,
) -> Trajectory:
    """Integrates the collapse by the position loop (Fig. 7) or the acceleration loop (Fig. 6); impacts are inelastic.

    lengths: "original" is (L''), "previous" is (L'), "penalty" adds the bars to the objective with weight `penalty`
    (framework only). sides: "turning" is (S') with its term for rotating edges, "plain" omits it. passes: maximum
    number of programs per step, with right-hand sides corrected until the constraints hold exactly at the end of the
    step; 1 is the paper's loop. The default is 8 with lengths="original" and sides="plain", else 1. coordinates:
    "reduced" has three per brick, "framework" two per point and an equation for each bar of the `bracing`. edges:
    "separating", or "paper" for the rule of section 8.5. feedback: whether the acceleration loop corrects its drift.
    velocity: (n, 3) initial (vx, vy, spin) of the bricks, default at rest. output: an HDF5 file, or None to keep the
    trajectory in memory.
    """
    words = {
        "method": method,
        "lengths": lengths,
        "sides": sides,
        "coordinates": coordinates,
        "bracing": bracing,
        "edges": edges,
    }
    flags = {"feedback": feedback, "keep_symmetry": keep_symmetry}
    options = loop_options(step, passes, penalty, words, flags)
    settings = Settings(
        law="gauss",
        law_options=tuple(sorted((k, v) for k, v in vars(options).items() if k not in ("step", "method"))),
        restitution_model=None,
        friction_model=None,
        stepper=f"tower_{options.method}",
        step=options.step,
        steps=count("steps", steps, MOST_STEPS),
        frame_every=count("frame_every", frame_every),
        impulses=flag("impulses", impulses),
    )
    start = np.zeros((tower.count, 3))
    if velocity is not None:
        start = array("velocity", velocity, (tower.count, 3), f"{tower.count} rows (vx, vy, spin)")
    _check_motion(tower, options.step, start)
    prepare(["towers"])
    if progress is not None and not callable(progress):
        raise ProblemError("progress", shown(progress), "a function of one Progress")
    target = _target(output, flag("overwrite", overwrite))
    return _run(tower, options, start, settings, target, progress, overwrite)


def loop_options(step: Any, passes: Any, penalty: Any, words: dict[str, Any], flags: dict[str, Any]) -> LoopOptions:
    """Validates the options of `collapse`; `words` are those of CHOICES, `flags` are truth values."""
    h = float(positive_number("step", step))
    lengths = choice("lengths", words["lengths"], CHOICES["lengths"])
    if words["coordinates"] is None:
        words["coordinates"] = "framework" if lengths == "penalty" else "reduced"
    for name, value in words.items():
        choice(name, value, CHOICES[name])
    exact = words["method"] == "position" and lengths == "original" and words["sides"] == "plain"
    many = (EXACT_PASSES if exact else 1) if passes is None else count("passes", passes, MOST_PASSES)
    if many > 1 and not exact:
        raise ProblemError("passes", passes, "1, or method='position', lengths='original', sides='plain'")
    if lengths == "penalty" and (words["coordinates"] != "framework" or words["method"] != "position"):
        wanted = "coordinates='framework' and method='position': reduced coordinates have no bars"
        raise ProblemError("lengths", lengths, wanted)
    weight = float(positive_number("penalty", penalty))
    checked: dict[str, Any] = {name: flag(name, value) for name, value in flags.items()}
    return LoopOptions(h, **words, passes=many, penalty=weight, **checked)


def _check_motion(tower: Tower, step: float, start: Any) -> None:
    """Checks that double precision resolves the motion per step beside the size of the tower."""
    size, gravity = tower.size, tower.gravity
    if gravity > 0.0:
        low, high = ((share * size / gravity) ** 0.5 for share in (LEAST_MOTION, MOST_MOTION))
        if not low <= step <= high:
            why = f"free fall per step is then {LEAST_MOTION:g} to {MOST_MOTION:g} of the shortest side"
            raise ProblemError("step", step, f"a number from {low:.3g} to {high:.3g}: {why}")
    speed = float(np.abs(start * [1.0, 1.0, size]).max())
    if speed > MOST_MOTION * size / step:
        wanted = f"speeds up to {MOST_MOTION * size / step:.3g}: {MOST_MOTION:g} shortest sides per step"
        raise ProblemError("velocity", f"a speed of {speed:g}", wanted)
    if gravity == 0.0 and 0.0 < speed < LEAST_MOTION * size / step:
        least = LEAST_MOTION * size / speed
        raise ProblemError("step", step, f"a number from {least:.3g} up: the motion per step is lost to rounding")


def _target(output: Any, overwrite: bool) -> Path | None:
    """The output file, checked before any computation."""
    from ..trajectory.recorder import check_target

    if output is None:
        return None
    path = file_path("output", output)
    if path.suffix not in SUFFIXES:
        raise ProblemError("output", str(path), "a name that ends in .h5")
    check_target(path, overwrite)
    return path


def _run(
    tower: Tower,
    options: LoopOptions,
    start: Floats,
    settings: Settings,
    output: Path | None,
    progress: Tell | None,
    overwrite: bool,
) -> Trajectory:
    from ..trajectory import Recorder

    xs = np.concatenate(tower.corners)[:, 0]
    axis = 0.5 * float(xs.min() + xs.max())
    scene = bricks_scene(tower).with_(
        step=options.step,
        duration=settings.steps * options.step,
        parameters={"mass_model": tower.mass_model},
        symmetries=() if mirror_of(tower) is None or start.any() else (mirror((0.0, 1.0), (axis, 0.0)),),
    )
    world, _ = build(scene, check_overlap=False)
    engine = TowerEngine(tower, world, options, start)
    state = engine.first()
    recorder = Recorder.create(output, scene, world, state, settings, overwrite)
    return run_engine(engine, state, settings, recorder, progress)


class TowerEngine:
    """Advances the state of a tower; `row` and `impulses` describe the last step."""

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

    # ---- interface of the simulation

    def first(self) -> State:
        """The state at time 0."""
        return self._state(0)

    def step(self, state: State) -> State:
        """The state one step later."""
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
        """Takes the next step of the loop and keeps its result."""
        self.loop.advance()
        self.ahead = (*self._pose(), self.loop.report, self._impulses())

    def report(self, state: State) -> None:
        """Sets the row of the table of steps; energies use the true centers of mass."""
        center = np.stack([self.now[0].real, self.now[0].imag], axis=1)
        t, r = self.tower, self.done
        sums = totals_2d(t.mass, t.inertia, t.free, np.array([0.0, -t.gravity]), center, self.velocity)
        seconds = (r.detect, r.assemble, r.solve, 0.0, 0.0)
        self.row = (
            state.step, state.time, r.near, r.pushing, r.passes, r.certificate, 0, r.passes, r.overlap,
            *sums, *seconds, 1,
        )  # fmt: skip

    def impulses(self) -> ContactImpulses:
        """Contact impulses of the last step."""
        return self.pushes

    def memory(self) -> dict[str, np.ndarray]:
        """The engine has no state that a checkpoint would need: collapses cannot be resumed."""
        return {}

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
