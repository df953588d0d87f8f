"""collapse: how a tower comes down, as a trajectory.

A collapsing tower as an engine for `carom.simulation`: states, rows and impulses like those of every other run.

The loop knows positions; velocities are central differences, `v(t) = (p(t + h) - p(t - h)) / 2h`, so the engine is one
step ahead of what it reports.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..build import build
from ..errors import ProblemError
from ..scene.numbers import array
from ..scene.symmetry import mirror
from ..scenes.bricks import bricks_scene
from ..settings import Settings
from ..geometry.polygons import polygon_moments
from ..simulation import Progress, Tell, run_engine
from ..solvers.rows import Floats
from ..stepping.flight import plane_totals
from ..stepping.report import ContactImpulses
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
LEAST_MOTION, MOST_MOTION = 1e-15, 1e6  # of a brick in a step, in shortest sides: below it is lost to rounding


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
    """Runs the position loop (Fig. 7 of the paper) or the acceleration loop (Fig. 6); friction 0, restitution 0.

    lengths: "original" is (L''), "previous" (L'), "penalty" puts the bars into the objective with weight `penalty`
    (framework only). sides: "turning" is (S') with its correction for edges that turn, "plain" without. passes: how
    often at most the constraints are corrected within a step until they hold exactly at its end; 1 is the paper's
    loop. The default is 8 with lengths="original" and sides="plain", else 1. coordinates: "reduced", three numbers a
    brick, or "framework", two a point with an equation for each bar of the `bracing`. edges: "separating", or "paper"
    for the choice of section 8.5. feedback: whether the acceleration loop corrects its drift. velocity: (n, 3) of the
    bricks at the start, default at rest. `output` is an HDF5 file, or None to stay in memory.
    """
    options = loop_options(
        step, method, lengths, sides, passes, coordinates, bracing, penalty, edges, feedback, keep_symmetry
    )
    number = count("steps", steps, MOST_STEPS)
    every = count("frame_every", frame_every)
    start = np.zeros((tower.count, 3))
    if velocity is not None:
        start = array("velocity", velocity, (tower.count, 3), f"{tower.count} rows (vx, vy, spin)")
    _check_motion(tower, options.step, start)
    if progress is not None and not callable(progress):
        raise ProblemError("progress", shown(progress), "a function of one Progress")
    target = _target(output, flag("overwrite", overwrite))
    return _run(tower, options, start, number, every, flag("impulses", impulses), target, progress, overwrite)


def loop_options(
    step: float,
    method: str,
    lengths: str,
    sides: str,
    passes: int | None,
    coordinates: str | None,
    bracing: str,
    penalty: float,
    edges: str,
    feedback: bool,
    keep_symmetry: bool,
) -> LoopOptions:
    """The options, checked."""
    h = float(positive_number("step", step))
    choice("lengths", lengths, CHOICES["lengths"])
    if coordinates is None:
        coordinates = "framework" if lengths == "penalty" else "reduced"
    chosen = {
        "method": method,
        "lengths": lengths,
        "sides": sides,
        "coordinates": coordinates,
        "bracing": bracing,
        "edges": edges,
    }
    for name, value in chosen.items():
        choice(name, value, CHOICES[name])
    exact = method == "position" and lengths == "original" and sides == "plain"
    many = (8 if exact else 1) if passes is None else count("passes", passes, MOST_PASSES)
    if many > 1 and not exact:
        raise ProblemError("passes", passes, "1, or method='position', lengths='original', sides='plain'")
    if lengths == "penalty" and (coordinates != "framework" or method != "position"):
        wanted = "coordinates='framework' and method='position': reduced bricks have no bars"
        raise ProblemError("lengths", lengths, wanted)
    weight = float(positive_number("penalty", penalty))
    corrects, mirrors = flag("feedback", feedback), flag("keep_symmetry", keep_symmetry)
    return LoopOptions(h, **chosen, passes=many, penalty=weight, feedback=corrects, keep_symmetry=mirrors)


def _check_motion(tower: Tower, step: float, start: Any) -> None:
    """A step must move bricks by lengths that doubles can hold beside the tower's own."""
    size, gravity = tower.size, tower.gravity
    if gravity > 0.0:
        low, high = ((share * size / gravity) ** 0.5 for share in (LEAST_MOTION, MOST_MOTION))
        if not low <= step <= high:
            why = f"free fall in a step is then {LEAST_MOTION:g} to {MOST_MOTION:g} of the shortest side"
            raise ProblemError("step", step, f"a number from {low:.3g} to {high:.3g}: {why}")
    speed = float(np.abs(start * [1.0, 1.0, size]).max())
    if speed > MOST_MOTION * size / step:
        wanted = f"speeds up to {MOST_MOTION * size / step:.3g}: {MOST_MOTION:g} shortest sides in a step"
        raise ProblemError("velocity", f"a speed of {speed:g}", wanted)
    if gravity == 0.0 and 0.0 < speed < LEAST_MOTION * size / step:
        least = LEAST_MOTION * size / speed
        raise ProblemError("step", step, f"a number from {least:.3g} up: the motion in a step is lost to rounding")


def _target(output: Any, overwrite: bool) -> Path | None:
    """The file that the run will be, checked before any work."""
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
    start: Any,
    steps: int,
    every: int,
    impulses: bool,
    output: Path | None,
    progress: Tell | None,
    overwrite: bool,
) -> Trajectory:
    from ..trajectory import Recorder

    xs = np.concatenate(tower.corners)[:, 0]
    axis = 0.5 * float(xs.min() + xs.max())
    scene = bricks_scene(tower).with_(
        step=options.step,
        duration=steps * options.step,
        parameters={"mass_model": tower.mass_model},
        symmetries=() if mirror_of(tower) is None or start.any() else (mirror((0.0, 1.0), (axis, 0.0)),),
    )
    world, _ = build(scene, check_overlap=False)
    engine = TowerEngine(tower, world, options, start)
    settings = Settings(
        law="gauss",
        law_options=tuple(sorted((k, v) for k, v in vars(options).items() if k not in ("step", "method"))),
        restitution_model=None,
        friction_model=None,
        stepper=f"tower_{options.method}",
        step=options.step,
        steps=steps,
        frame_every=every,
        impulses=impulses,
    )
    state = engine.first()
    recorder = Recorder.create(output, scene, world, state, settings, overwrite)
    return run_engine(engine, state, settings, recorder, progress)


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
