"""Simulation of a scene: `Simulation` step by step, `simulate` as a recorded run, `resume` after an interruption."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numba
import numpy as np

from . import kernels, laws, stepping
from .build import build
from .contact.boundaries import boundaries_at
from .contact.contact_set import ContactSet
from .errors import ProblemError
from .kernels import prepare
from .kernels.families import families_of_run
from .laws import Law
from .restitution import model_of
from .scene.model import Scene
from .settings import Settings
from .solve import friction_of
from .solvers.threads import most_threads
from .stepping.collision import Collision
from .stepping.integrator import accelerations, prescribed
from .stepping.report import ContactImpulses, step_table
from .stepping.stepper import Stepper
from .world import State, World

if TYPE_CHECKING:
    from .trajectory import Recorder, Trajectory

BLOCK = 256  # rows of the table of steps that are handed to the recorder at once
CHECKPOINT_SECONDS = 5.0  # seconds between two checkpoints
TELL_SECONDS = 0.1  # seconds between two calls of `progress`
WHOLE_STEP = 1e-9  # fraction of a step by which a time may differ from a whole number of steps
UNIT = 1e-6  # difference from 1 up to which the length of a quaternion given by the user is accepted


class Engine(Protocol):
    """A rule that advances a state by one step and reports on it: a stepper, or the collapse of a tower."""

    world: World
    row: tuple[Any, ...]  # of the table of steps (`stepping.report.step_table`)

    def step(self, state: State) -> State:
        """The state one step later."""

    def report(self, state: State) -> None:
        """Sets `row` for a state before the first step."""

    def impulses(self) -> ContactImpulses:
        """The impulses of the last step."""

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays besides the state on which the next step depends."""


class Simulation:
    """A scene that is simulated step by step, for programs with a loop of their own.

    >>> sim = carom.Simulation(carom.scenes.pool_break(), law="gr")
    >>> sim.step()
    >>> sim.run(until=1.0)
    >>> sim.state.position, sim.impulses.normal_impulse

    Arguments that are None have the value of the scene. `law` is a name or a configured law, `step` the time step.
    The bits of a state are those of `simulate` with the same arguments. The state may be replaced between two steps.
    """

    def __init__(
        self,
        scene: Scene,
        law: str | Law | None = None,
        *,
        step: float | None = None,
        stepper: str | None = None,
        restitution_model: str | None = None,
        friction_model: str | None = None,
    ) -> None:
        self.scene = scene
        _prepare_kernels(scene, law, stepper, friction_model)
        self.world, start = build(scene)
        self.law: Law = laws.make(law if law is not None else scene.law)
        self.time_step = _positive("step", scene.step if step is None else step)
        self.stepper = scene.stepper if stepper is None else stepper
        if self.stepper not in stepping.STEPPERS:
            raise ProblemError.unknown("stepper", self.stepper, stepping.STEPPERS)
        self.restitution_model, self.friction_model = _models(scene, self.law, restitution_model, friction_model)
        collision = _collision(scene, self.world, self.law, self.restitution_model, self.friction_model)
        self.engine: Stepper = stepping.make(self.stepper, self.world, collision, self.time_step)
        # The functions of the scene are called once, so that a wrong one is refused before anything else is done.
        accelerations(self.world, prescribed(self.world, start, self.time_step))
        boundaries_at(self.world, start.time, self.time_step)
        self.engine.report(start)
        self._state = start

    @property
    def state(self) -> State:
        """The current state: time, step number, positions, orientations and velocities of all bodies.

        A state that is assigned must have arrays of the same shapes with finite numbers, unit quaternions in 3D, and a
        time of `step * time_step`. To change velocities: `sim.state = dataclasses.replace(sim.state, velocity=v)`.
        """
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = _checked(state, self._state, self.time_step)

    @property
    def time(self) -> float:
        """Simulated time of the current state."""
        return self._state.time

    @property
    def contacts(self) -> ContactSet:
        """Contacts that the law or the resting solver treated in the last step, each once."""
        return self.engine.treated_contacts()

    @property
    def impulses(self) -> ContactImpulses:
        """The nonzero impulses of the last step."""
        return self.engine.impulses()

    @property
    def report(self) -> dict[str, Any]:
        """The row of the last step in the table of steps, by column: contacts, iterations, energies, momenta, ..."""
        return dict(zip(step_table(self.world.dimension).names or (), self.engine.row))

    def step(self) -> State:
        """Advances the simulation by one time step and returns the new state."""
        self._state = self.engine.step(self._state)
        return self._state

    def run(self, until: float) -> State:
        """Advances by whole steps until the time `until` is reached, and returns the state.

        Ctrl-C raises KeyboardInterrupt after the current step, so that the simulation can be continued.
        """
        from .trajectory.interrupts import stop_on_request

        end = _finite("until", until)
        if end < self.time - WHOLE_STEP * self.time_step:
            raise ProblemError("until", end, f"a time not before the current one, {self.time:g}")
        steps = math.ceil(end / self.time_step - WHOLE_STEP)
        with stop_on_request() as stop:
            while self._state.step < steps:
                self.step()
                if stop.asked:
                    raise KeyboardInterrupt
        return self._state


def simulate(
    scene: Scene,
    law: str | Law | None = None,
    duration: float | None = None,
    output: str | PathLike[str] | None = None,
    *,
    step: float | None = None,
    stepper: str | None = None,
    restitution_model: str | None = None,
    friction_model: str | None = None,
    frame_rate: float | None = None,
    impulses: bool = False,
    threads: int | None = None,
    progress: Tell | None = None,
    overwrite: bool = False,
) -> Trajectory:
    """Runs a scene and returns its trajectory, in memory or in the HDF5 file `output`.

    Arguments that are None have the value of the scene. `frame_rate` is in frames per unit of time. `threads` is the
    maximum number of threads; results are bitwise identical for any value. With `impulses` each frame contains the
    impulses of its step. `progress` is called with a `Progress` about ten times per second.

    Ctrl-C ends a run in memory after the current step: the trajectory up to there is returned, with `finished` False.
    A run with a file raises KeyboardInterrupt instead; the file stays readable, also if the process is killed, and
    `resume` continues it.
    """
    from .trajectory import Recorder

    sim = Simulation(
        scene,
        law,
        step=step,
        stepper=stepper,
        restitution_model=restitution_model,
        friction_model=friction_model,
    )
    settings = _settings(sim, duration, frame_rate, impulses)
    if progress is not None and not callable(progress):
        raise ProblemError("progress", progress, "a function of one Progress")
    with _threads(threads):
        path = None if output is None else fspath(output)
        recorder = Recorder.create(path, scene, sim.world, sim.state, settings, overwrite=overwrite)
        loop = _Loop(sim.engine, sim.state, settings, recorder, progress)
        return loop.run(first=True, partial=path is None)


def resume(
    path: str | PathLike[str],
    scene: Scene | None = None,
    *,
    threads: int | None = None,
    progress: Tell | None = None,
) -> Trajectory:
    """Continues an interrupted run from its last checkpoint, with the bits of a run that was not interrupted.

    A scene that contains Python functions (a force, a scripted motion) cannot be stored and must be passed again.
    """
    from .trajectory import Recorder

    resumed = Recorder.resume(fspath(path), scene)
    settings = resumed.settings
    try:
        if settings.stepper not in stepping.STEPPERS:
            raise ProblemError(str(path), settings.stepper, "a run of `simulate`; start others, such as towers, again")
        _prepare_kernels(resumed.scene, settings.law, settings.stepper, settings.friction_model)
        world, _ = build(resumed.scene, check_overlap=False)
        law = laws.make(settings.law, **dict(settings.law_options))
        collision = _collision(resumed.scene, world, law, settings.restitution_model, settings.friction_model)
        engine = stepping.make(settings.stepper, world, collision, settings.step)
        engine.remember(resumed.memory)
    except BaseException:
        resumed.recorder.abort()
        raise
    with _threads(threads):
        loop = _Loop(engine, resumed.state, settings, resumed.recorder, progress)
        return loop.run(first=False)


def completed(run: Trajectory) -> Trajectory:
    """The run, or KeyboardInterrupt if Ctrl-C ended it: for programs that make several runs in memory."""
    if not run.finished:
        raise KeyboardInterrupt
    return run


def run_engine(
    engine: Engine, state: State, settings: Settings, recorder: Recorder, progress: Tell | None
) -> Trajectory:
    """Records a run of an engine that is not a stepper. However it ends, the file contains all steps up to there."""
    return _Loop(engine, state, settings, recorder, progress).run(first=True)


# ---- arguments


def _prepare_kernels(scene: Scene, law: str | Law | None, stepper: str | None, friction_model: str | None) -> None:
    """Compiles the kernels of a run in parallel, so that none is compiled in the middle of it."""
    try:
        chosen = laws.make(scene.law if law is None else law)
        families = families_of_run(scene, chosen, stepper or scene.stepper, friction_model or scene.friction_model)
    except (ProblemError, AttributeError, TypeError, ValueError):
        return  # the checks that follow say what is wrong
    prepare(families)


def _models(
    scene: Scene, law: Law, restitution_model: str | None, friction_model: str | None
) -> tuple[str | None, str | None]:
    """Restitution and friction model of a run, None for the default of the law."""
    restitution = scene.restitution_model if restitution_model is None else restitution_model
    friction = scene.friction_model if friction_model is None else friction_model
    if restitution is not None and restitution_model is None and restitution not in law.restitution_models:
        restitution = None  # the model of the scene belongs to the law of the scene; another law has its own default
    model_of(law, restitution)
    friction_of(law, friction)
    return restitution, friction


def _collision(
    scene: Scene, world: World, law: Law, restitution_model: str | None, friction_model: str | None
) -> Collision:
    collision = Collision(law, restitution_model, friction_model, scene.mixed_restitution == "blend")
    collision.check(world)
    return collision


def _settings(sim: Simulation, duration: float | None, frame_rate: float | None, impulses: bool) -> Settings:
    h, scene = sim.time_step, sim.scene
    span = _positive("duration", scene.duration if duration is None else duration)
    rate = _positive("frame_rate", scene.frame_rate if frame_rate is None else frame_rate)
    if span < h:
        raise ProblemError("duration", span, f"at least one step of {h:g}")
    return Settings(
        law=sim.law.name,
        law_options=tuple(sorted(sim.law.options().items())),
        restitution_model=sim.restitution_model,
        friction_model=sim.friction_model,
        stepper=sim.stepper,
        step=h,
        steps=math.ceil(span / h - WHOLE_STEP),
        frame_every=max(1, round(1.0 / (rate * h))),
        impulses=bool(impulses),
    )


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(name, value, "a number") from None
    if not math.isfinite(number):
        raise ProblemError(name, value, "a finite number")
    return number


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(name, value, "a number above 0") from None
    if not (math.isfinite(number) and number > 0.0):
        raise ProblemError(name, value, "a finite number above 0")
    return number


def _checked(state: State, like: State, step: float) -> State:
    """A copy of a state given by the user, with arrays as kernels expect them."""
    if not isinstance(state, State):
        raise ProblemError("state", state, "a carom.world.State, such as dataclasses.replace(sim.state, velocity=v)")
    arrays: dict[str, np.ndarray] = {}
    for name in ("position", "orientation", "velocity"):
        shape = getattr(like, name).shape
        try:
            array = np.array(getattr(state, name), dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ProblemError(f"state.{name}", getattr(state, name), f"numbers of shape {shape}") from None
        if array.shape != shape or not np.isfinite(array).all():
            raise ProblemError(f"state.{name}", f"an array of shape {array.shape}", f"finite numbers of shape {shape}")
        arrays[name] = array
    if like.orientation.ndim == 2:
        worst = float(np.abs(np.linalg.norm(arrays["orientation"], axis=1) - 1.0).max(initial=0.0))
        if worst > UNIT:
            raise ProblemError(
                "state.orientation", f"quaternions whose length differs from 1 by {worst:.3g}", "unit ones"
            )
    number, time = state.step, _finite("state.time", state.time)
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise ProblemError("state.step", number, "a whole number of at least 0")
    if abs(time - number * step) > WHOLE_STEP * step:
        raise ProblemError("state.time", time, f"step number times time step, {number} * {step:g}")
    return State(time, int(number), arrays["position"], arrays["orientation"], arrays["velocity"])


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    if count is None:
        yield
        return
    most = most_threads()
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= most:
        raise ProblemError("threads", count, f"a whole number from 1 to {most}")
    before = numba.get_num_threads()
    numba.set_num_threads(int(count))
    try:
        yield
    finally:
        numba.set_num_threads(before)


# ---- recording


class _Loop:
    """The loop over the steps of a recorded run: rows, frames, checkpoints and progress."""

    def __init__(
        self, engine: Engine, state: State, settings: Settings, recorder: Recorder, progress: Tell | None
    ) -> None:
        self.engine, self.state, self.settings, self.recorder = engine, state, settings, recorder
        world = engine.world
        self.rows, self.used = np.zeros(BLOCK, step_table(world.dimension)), 0
        weight = float(world.mass[world.free].sum()) * float(np.linalg.norm(world.gravity))
        names = self.rows.dtype.names or ()
        self.meter = _Meter(settings, progress, state.step, weight * world.length_scale, names)
        self.saved = perf_counter()

    def run(self, first: bool, partial: bool = False) -> Trajectory:
        """The trajectory of the run; `first` if it starts here, rather than being resumed.

        On Ctrl-C a `partial` run returns what is done, others raise KeyboardInterrupt after a checkpoint.
        """
        try:
            if first:
                self._begin()
            if not self._all_steps():
                if partial:
                    return self.recorder.leave()
                raise KeyboardInterrupt
        except BaseException:
            self.recorder.abort()
            raise
        return self.recorder.finish(self.state)

    def _begin(self) -> None:
        """Row and frame of the start, and a first checkpoint: a run killed at once can be resumed."""
        self.engine.report(self.state)
        self._keep_row()
        self._keep_frame()
        self._checkpoint()

    def _all_steps(self) -> bool:
        """Makes the steps; False if Ctrl-C ended them."""
        from .trajectory.interrupts import stop_on_request

        with stop_on_request() as stop:
            while self.state.step < self.settings.steps and not stop.asked:
                self._step()
            done = self.state.step >= self.settings.steps and not stop.asked
        self._checkpoint()
        return done

    def _step(self) -> None:
        self.state = self.engine.step(self.state)
        self._keep_row()
        number = self.state.step
        if number % self.settings.frame_every == 0 or number == self.settings.steps:
            self._keep_frame()
        if perf_counter() - self.saved > CHECKPOINT_SECONDS:
            self._checkpoint()
        self.meter.tell(self.engine.row)

    def _keep_frame(self) -> None:
        self.recorder.frame(self.state, self.engine.impulses() if self.settings.impulses else None)

    def _keep_row(self) -> None:
        self.rows[self.used] = self.engine.row
        self.used += 1
        if self.used == BLOCK:
            self._flush()

    def _flush(self) -> None:
        if self.used:
            self.recorder.step(self.rows[: self.used])
            self.used = 0

    def _checkpoint(self) -> None:
        """Makes everything recorded so far safe."""
        self._flush()
        self.recorder.checkpoint(self.state, self.engine.memory())
        self.saved = perf_counter()


@dataclass(frozen=True)
class Progress:
    """The progress of a run, passed to `progress` about ten times per second."""

    step: int
    steps: int
    time: float
    duration: float
    contacts: int  # of the last step
    iterations: int  # of the last step
    # Change of the total energy, relative to the largest kinetic energy so far, or to the weight times length scale.
    drift: float
    seconds: float  # since the run (or its resumption) began, without the time for compiling kernels
    steps_done: int  # in that time


Tell = Callable[[Progress], None]


class _Meter:
    """Measures the progress of a run."""

    def __init__(self, settings: Settings, tell: Tell | None, first: int, scale: float, names: Sequence[str]) -> None:
        self.names, self.settings, self.told, self.first = names, settings, tell, first
        self.began = _running_seconds()
        self.last = perf_counter()
        self.energy: float | None = None
        self.scale = scale

    def tell(self, row: tuple[Any, ...]) -> None:
        """Calls `progress`, unless it was called a moment ago."""
        if self.told is None:
            return
        named = dict(zip(self.names, row))
        total = named["kinetic"] + named["potential"]
        self.scale = max(self.scale, named["kinetic"])
        if self.energy is None:
            self.energy = total
        now = perf_counter()
        done = named["step"] == self.settings.steps
        if now - self.last < TELL_SECONDS and not done:
            return
        self.last = now
        self.told(
            Progress(
                named["step"],
                self.settings.steps,
                named["time"],
                self.settings.duration,
                named["contacts"],
                named["iterations"],
                (total - self.energy) / self.scale if self.scale else 0.0,
                _running_seconds() - self.began,
                named["step"] - self.first,
            )
        )


def _running_seconds() -> float:
    """A clock that stands still while kernels are compiled."""
    compiling: Callable[[], float] = kernels.compile_seconds
    return perf_counter() - compiling()
