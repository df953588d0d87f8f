"""simulate: a scene, a law, a file. The loop over steps, with frames, checkpoints and progress."""

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

from . import laws, stepping
from .build import build
from .contact.boundaries import boundaries_at
from .errors import ProblemError
from .impact.assemble import used_restitutions
from .impact.response import Response
from .laws import Law
from .scene.model import Scene
from .settings import Settings
from .solvers.threads import most_threads
from .stepping.flight import accelerations, prescribed
from .stepping.report import ContactImpulses, step_table
from .stepping.stepper import Stepper
from .world import State, World

if TYPE_CHECKING:
    from .trajectory import Recorder, Trajectory

BLOCK = 256  # steps whose rows are handed to the recorder at once
CHECKPOINT_SECONDS = 5.0
TELL_SECONDS = 0.1


@dataclass(frozen=True)
class Progress:
    """How far a run is: handed to `progress` about ten times a second."""

    step: int
    steps: int
    time: float
    duration: float
    contacts: int  # of the last step
    iterations: int
    drift: float  # of the total energy, over the largest kinetic energy so far, or the weight times the smallest body
    seconds: float  # since the run (or its resumption) began
    steps_done: int  # in that time


Tell = Callable[[Progress], None]


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

    What is left out (None) is the scene's own. `frame_rate` is in frames for each unit of time, `threads` how many
    to use at most: the bits do not depend on it. With `impulses` each frame carries the impulses of its step.
    A file is written so that a killed run leaves it readable; `resume` goes on from there.
    """
    from .trajectory import Recorder

    world, state = build(scene)
    chosen = laws.make(law if law is not None else scene.law)
    settings = _settings(
        scene, chosen, duration, step, stepper, restitution_model, friction_model, frame_rate, impulses
    )
    engine = _engine(world, scene, chosen, settings)
    _try_functions(world, state, settings.step, progress)
    with _threads(threads):
        path = None if output is None else fspath(output)
        recorder = Recorder.create(path, scene, world, state, settings, overwrite=overwrite)
        return run_engine(engine, state, settings, recorder, progress, first=True)


def resume(
    path: str | PathLike[str],
    scene: Scene | None = None,
    *,
    threads: int | None = None,
    progress: Tell | None = None,
) -> Trajectory:
    """Goes on with a run that was stopped, from its last checkpoint, and gives the bits of one that was not.

    A scene with Python functions in it (a force, a scripted motion) cannot be stored: pass it again.
    """
    from .trajectory import Recorder

    resumed = Recorder.resume(fspath(path), scene)
    settings = resumed.settings
    try:
        if settings.stepper not in stepping.STEPPERS:
            raise ProblemError(str(path), settings.stepper, "a run of `simulate`; run others, such as towers, anew")
        world, _ = build(resumed.scene, check_overlap=False)
        law = laws.make(settings.law, **dict(settings.law_options))
        engine = _engine(world, resumed.scene, law, settings)
        engine.remember(resumed.memory)
    except BaseException:
        resumed.recorder.abort()
        raise
    with _threads(threads):
        return run_engine(engine, resumed.state, settings, resumed.recorder, progress, first=False)


def _settings(
    scene: Scene,
    law: Law,
    duration: float | None,
    step: float | None,
    stepper: str | None,
    restitution_model: str | None,
    friction_model: str | None,
    frame_rate: float | None,
    impulses: bool,
) -> Settings:
    h = _positive("step", scene.step if step is None else step)
    span = _positive("duration", scene.duration if duration is None else duration)
    rate = _positive("frame_rate", scene.frame_rate if frame_rate is None else frame_rate)
    name = scene.stepper if stepper is None else stepper
    if name not in stepping.STEPPERS:
        raise ProblemError.unknown("stepper", name, stepping.STEPPERS)
    restitution = scene.restitution_model if restitution_model is None else restitution_model
    friction = scene.friction_model if friction_model is None else friction_model
    if restitution is not None and restitution_model is None and restitution not in law.restitution_models:
        restitution = None  # the scene's model belongs to the scene's law; another law brings its own
    Response.of(law, restitution, friction)
    if span < h:
        raise ProblemError("duration", span, f"at least one step of {h:g}")
    return Settings(
        law=law.name,
        law_options=tuple(sorted(law.options().items())),
        restitution_model=restitution,
        friction_model=friction,
        stepper=name,
        step=h,
        steps=math.ceil(span / h - 1e-9),
        frame_every=max(1, round(1.0 / (rate * h))),
        impulses=bool(impulses),
    )


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(name, value, "a number above 0") from None
    if not (math.isfinite(number) and number > 0.0):
        raise ProblemError(name, value, "a finite number above 0")
    return number


def _engine(world: World, scene: Scene, law: Law, settings: Settings) -> Stepper:
    response = Response.for_run(law, settings.restitution_model, settings.friction_model, scene.mixed_restitution)
    response.check_restitutions(used_restitutions(world))
    return stepping.make(settings.stepper, world, response, settings.step)


def _try_functions(world: World, state: State, step: float, progress: Tell | None) -> None:
    """Calls the user's functions once, so that a wrong one is refused before any file is touched."""
    if progress is not None and not callable(progress):
        raise ProblemError("progress", progress, "a function of one Progress")
    accelerations(world, prescribed(world, state, step))
    boundaries_at(world, state.time, step)


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


class Engine(Protocol):
    """What takes a state to the next and tells about it: a stepper, or the loop of a collapsing tower."""

    world: World
    row: tuple[Any, ...]

    def step(self, state: State) -> State: ...
    def report(self, state: State) -> None: ...
    def impulses(self) -> ContactImpulses: ...
    def memory(self) -> dict[str, np.ndarray]: ...


def run_engine(
    engine: Engine, state: State, settings: Settings, recorder: Recorder, progress: Tell | None, first: bool = True
) -> Trajectory:
    """The loop. Whatever ends it, the file keeps all steps up to here."""
    loop = _Loop(engine, state, settings, recorder, progress)
    try:
        if first:
            loop.begin()
        loop.go()
    except BaseException:
        recorder.abort()
        raise
    return recorder.finish(loop.state)


class _Loop:
    """The state of a run between its steps."""

    def __init__(
        self, engine: Engine, state: State, settings: Settings, recorder: Recorder, progress: Tell | None
    ) -> None:
        self.engine, self.state, self.settings, self.recorder = engine, state, settings, recorder
        self.rows, self.used = np.zeros(BLOCK, step_table(engine.world.dimension)), 0
        world = engine.world
        weight = float(world.mass[world.free].sum()) * float(np.linalg.norm(world.gravity))
        names = self.rows.dtype.names or ()
        self.meter = _Meter(settings, progress, state.step, weight * world.length_scale, names)
        self.saved = perf_counter()

    def begin(self) -> None:
        """Row and frame of the start, and a first checkpoint: a run killed at once can be resumed."""
        self.engine.report(self.state)
        self._keep_row()
        self.recorder.frame(self.state, self.engine.impulses() if self.settings.impulses else None)
        self.keep()

    def go(self) -> None:
        from .trajectory.interrupts import stop_on_request

        with stop_on_request() as stop:
            while self.state.step < self.settings.steps:
                self._one_step()
                if stop.asked:
                    self.keep()
                    raise KeyboardInterrupt
        self.keep()

    def _one_step(self) -> None:
        self.state = self.engine.step(self.state)
        self._keep_row()
        number = self.state.step
        if number % self.settings.frame_every == 0 or number == self.settings.steps:
            self.recorder.frame(self.state, self.engine.impulses() if self.settings.impulses else None)
        if perf_counter() - self.saved > CHECKPOINT_SECONDS:
            self.keep()
        self.meter.tell(self.engine.row)

    def keep(self) -> None:
        """Everything so far is safe after this."""
        self._flush()
        self.recorder.checkpoint(self.state, self.engine.memory())
        self.saved = perf_counter()

    def _keep_row(self) -> None:
        self.rows[self.used] = self.engine.row
        self.used += 1
        if self.used == BLOCK:
            self._flush()

    def _flush(self) -> None:
        if self.used:
            self.recorder.step(self.rows[: self.used])
            self.used = 0


class _Meter:
    """Counts for the progress bar."""

    def __init__(self, settings: Settings, tell: Tell | None, first: int, scale: float, names: Sequence[str]) -> None:
        self.names, self.settings, self.told, self.first = names, settings, tell, first
        self.began = self.last = perf_counter()
        self.energy: float | None = None
        self.scale = scale

    def tell(self, row: tuple[Any, ...]) -> None:
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
                now - self.began,
                named["step"] - self.first,
            )
        )
