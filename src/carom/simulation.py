"""Recorded runs of a scene: `simulate`, and the loop over the steps of any engine."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike, fspath
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from .changing import Change, ChangingEngine
from .checks import scalar
from .errors import ProblemError, StopRun
from .kernels import compile_seconds
from .laws import Law
from .scene.file import load_scene
from .scene.model import Scene
from .settings import MOST_STEPS, RUN_SETTINGS, RunSettings, Settings, StepSettings, keywords_of, step_count
from .solvers.threads import limited, most_threads
from .stepping.events import REST_SWEEP, EventLog, as_events, impact_rows
from .stepping.report import ContactImpulses, StepReport, Stretch, step_table
from .stepwise import Simulation
from .world import State, World

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .trajectory import Recorder, Trajectory
    from .trajectory.events import Events

BLOCK = 256  # rows of the table of steps that are handed to the recorder at once
CHECKPOINT_SECONDS = 5.0  # seconds between two checkpoints
TELL_SECONDS = 0.1  # seconds between two calls of `progress`


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
    energy_change: float
    seconds: float  # since the run (or its resumption) began, without the time for compiling kernels
    steps_done: int  # in that time


Tell = Callable[[Progress], None]


OnImpact = Callable[["Events"], Any]
OnStep = Callable[[State], Any]


@dataclass(frozen=True)
class Callbacks:
    """Functions of the user that are called during a run."""

    on_impact: OnImpact | None = None
    on_step: OnStep | None = None

    @classmethod
    def checked(cls, on_impact: Any, on_step: Any) -> Callbacks:
        """The callbacks, if they can be called."""
        for name, given, what in (("on_impact", on_impact, "table of events"), ("on_step", on_step, "State")):
            if given is not None and not callable(given):
                raise ProblemError(name, given, f"a function of one {what}")
        return cls(on_impact, on_step)

    def __bool__(self) -> bool:
        return self.on_impact is not None or self.on_step is not None

    def call(self, stretch: Stretch) -> tuple[bool, list[Change]]:
        """Calls them after a step: whether one of them ends the run, and the changes that they want."""
        from .trajectory.events import Events

        state, answers = stretch.states[-1], []
        if self.on_impact is not None and isinstance(stretch.report, StepReport):
            found = as_events(impact_rows(stretch.report, state.step), state.position.shape[1]).view(Events)
            if len(found):
                answers.append(_called("on_impact", self.on_impact, found, state))
        if self.on_step is not None:
            answers.append(_called("on_step", self.on_step, state, state))
        return any(map(_is_true, answers)), [a for a in answers if isinstance(a, Change)]


def _is_true(answer: Any) -> bool:
    """Whether a callback returned True, of Python or of NumPy: comparisons of columns give the latter."""
    return answer is True or (
        isinstance(answer, (np.bool_, np.ndarray)) and answer.ndim == 0 and answer.tolist() is True
    )


def _called(name: str, function: Callable[[Any], Any], given: Any, state: State) -> Any:
    """What a callback returns, True if it ends the run; its exceptions become a ProblemError with the step."""
    try:
        return function(given)
    except StopRun:
        return True
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        text = f"{name} failed at step {state.step:,}, time {state.time:g}: {what}; all steps up to there are recorded"
        raise ProblemError(name, what, "a function that returns", text) from error


class Report(Protocol):
    """What an engine reports on a step."""

    @property
    def row(self) -> tuple[Any, ...]:
        """The row of the table of steps (`stepping.report.step_table`)."""

    def impulses(self) -> ContactImpulses:
        """The impulses of the step."""


class Engine(Protocol):
    """A rule that advances a state by steps and reports on them: a stepper, or the collapse of a tower."""

    world: World

    def stretch(self, state: State, most: int) -> Stretch:
        """The next step, or up to `most` steps."""

    def start(self, state: State) -> Report:
        """The report on a state before the first step."""

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays besides the state on which the next step depends."""


@keywords_of(RunSettings)
def simulate(
    scene: Scene | str | PathLike[str],
    law: str | Law | None = None,
    duration: float | None = None,
    output: str | PathLike[str] | None = None,
    *,
    on_impact: OnImpact | None = None,
    on_step: OnStep | None = None,
    start: State | None = None,
    progress: Tell | bool | None = None,
    overwrite: bool = False,
    **told: Unpack[RunSettings],
) -> Trajectory:
    """Runs a scene and returns its trajectory, in memory or in the HDF5 file `output`.

    `scene` is a Scene, the name of a shipped one, or the path of a scene file, as on the command line.

    Settings (`RunSettings`) that are None have the value of the scene. `tolerance` and `active_set` are as in
    `Simulation`.
    `frame_rate` is in frames per unit of time. `threads` is the maximum number of threads; results are bitwise
    identical for any value. After `seconds` of wall time the run ends with its current step and `finished` is False;
    `resume` continues it with the bits of a run that was not stopped. `start` is a state to begin with, in place of
    that of the scene at time 0; `duration` is the time of the end nevertheless. `progress` is called with a `Progress`
    about ten times per second; True shows a bar on the standard error stream.

    `events` says which impacts and periods of resting contact are recorded (`Trajectory.events`): "budget", "all" or
    "none". "budget", the default, lists them within a fifth of the size of the file and sums the weakest ones beyond.
    With `impulses` all are recorded, and periods of rest end with each frame: `Trajectory.impulses` is exact then.

    `on_impact` is called after each step with impacts, with the table of these (`Events`); `on_step` after each step,
    with the state at its end. Either ends the run after that step by returning True or raising `carom.StopRun`: the
    trajectory up to there is returned, with `finished` False. A `carom.Change` that one of them returns makes bodies
    appear or vanish before the next step. Any other exception of theirs ends the run with a
    ProblemError that names the step; all steps up to there are recorded.

    Ctrl-C ends a run in memory after the current step: the trajectory up to there is returned, with `finished` False.
    A run with a file raises KeyboardInterrupt instead; the file stays readable, also if the process is killed, and
    `resume` continues it.
    """
    from .trajectory import Recorder

    if not isinstance(scene, Scene):
        scene = _scene_named(scene)
    path = None if output is None else _output(fspath(output))
    if isinstance(progress, bool):
        progress = show_bar if progress else None
    sim = Simulation(scene, law, **_of_steps(told))
    if start is not None:
        if start.life is not None:
            sim.allow_changes()
        sim.state = start
    settings = _settings(sim, duration, told)
    if progress is not None and not callable(progress):
        raise ProblemError("progress", progress, "a function of one Progress")
    callbacks = Callbacks.checked(on_impact, on_step)
    if callbacks:
        sim.allow_changes()
    end = end_of(told.get("seconds"))
    with _threads(told.get("threads")):
        recorder = Recorder.create(path, scene, sim.world, sim.state, settings, overwrite=overwrite)
        loop = _Loop(sim.engine, sim.state, settings, recorder, progress, callbacks, end)
        return loop.run(first=True, partial=path is None)


SHIPPED_SCENES = "carom.scenes"  # lies above this module: imported where a user names one of its scenes
ENDINGS = (".h5", ".hdf5")  # of trajectory files


def _output(path: str) -> str:
    """The path of a trajectory, refused before the run if its name ends like another kind of file."""
    name = path.rsplit("/", 1)[-1]
    if "." in name.lstrip(".") and not path.lower().endswith(ENDINGS):
        raise ProblemError("output", path, "a name that ends in .h5")
    return path


def _scene_named(given: Any) -> Scene:
    """A shipped scene by its name, or that of a file."""
    if not isinstance(given, str | PathLike):
        wanted = "a Scene, as carom.scenes, carom.load_scene or carom.Scene make, or the name of a shipped one"
        raise ProblemError("scene", type(given).__name__, wanted)
    text = fspath(given)
    if text.endswith((".toml", ".xml", ".urdf")):
        return load_scene(text)
    made: Scene = importlib.import_module(SHIPPED_SCENES).make_scene(text)
    return made


def show_bar(at: Progress) -> None:
    """A bar on one line of the standard error stream, for terminals and notebooks."""
    share = at.step / at.steps
    rate = at.steps_done / at.seconds if at.seconds > 0.0 else 0.0
    left = (at.steps - at.step) / rate if rate else 0.0
    numbers = f"t = {at.time:.4g} of {at.duration:.4g}, {rate:,.0f} steps/s, {left:,.0f} s left"
    line = f"\r[{'#' * round(30 * share):30}] {100 * share:3.0f} %  {numbers}"
    sys.stderr.write(f"{line:<90}" + ("\n" if at.step >= at.steps else ""))
    sys.stderr.flush()


def completed(run: Trajectory) -> Trajectory:
    """The run, or KeyboardInterrupt if Ctrl-C ended it: for programs that make several runs in memory."""
    if not run.finished:
        raise KeyboardInterrupt
    return run


def run_engine(
    engine: Engine,
    state: State,
    settings: Settings,
    recorder: Recorder,
    progress: Tell | None,
    *,
    memory: dict[str, np.ndarray] | None = None,
    threads: int | None = None,
    callbacks: Callbacks | None = None,
    end: float = math.inf,
) -> Trajectory:
    """Records a run of an engine from `state` on; `memory` is that of the checkpoint at which a run is resumed.

    At the time `end` of the clock it stops. However it ends, the file contains all steps up to there.
    """
    with _threads(threads):
        loop = _Loop(engine, state, settings, recorder, progress, callbacks, end)
        if memory is not None:
            loop.remember(memory)
        return loop.run(first=memory is None)


def recorded_events(events: str | None, impulses: bool) -> str:
    """The setting `events` of a run, from the arguments of `simulate`."""
    given = ("all" if impulses else "budget") if events is None else events
    chosen: str = RUN_SETTINGS["events"].check("events", given)
    if impulses and chosen != "all":
        raise ProblemError("events", chosen, "all, or nothing, with impulses")
    return chosen


def _of_steps(told: RunSettings) -> StepSettings:
    """The settings of each step among those of a run."""
    of_steps = StepSettings.__annotations__
    return cast(StepSettings, {name: value for name, value in told.items() if name in of_steps})


def _settings(sim: Simulation, duration: float | None, told: RunSettings) -> Settings:
    h, scene, frame_rate, impulses = sim.time_step, sim.scene, told.get("frame_rate"), told.get("impulses", False)
    events = recorded_events(told.get("events"), impulses)
    span = scalar("duration", scene.duration if duration is None else duration, 0.0, above=True)
    rate = scalar("frame_rate", scene.frame_rate if frame_rate is None else frame_rate, 0.0, above=True)
    steps = step_count("duration", span, h)
    if span < h or steps <= sim.state.step:
        after = f" after the start at {sim.time:g}" if sim.state.step else ""
        raise ProblemError("duration", span, f"at least one step of {h:g}{after}")
    return Settings(
        law=sim.law.name,
        law_options=tuple(sorted(sim.law.options().items())),
        restitution_model=sim.restitution_model,
        friction_model=sim.friction_model,
        stepper=sim.stepper,
        step=h,
        steps=steps,
        frame_every=max(1, round(1.0 / max(rate * h, 1.0 / MOST_STEPS))),
        impulses=bool(impulses),
        tolerance=sim.tolerance,
        active_set=sim.engine.active_set,
        events=events,
    )


def end_of(seconds: float | None) -> float:
    """The time of the clock at which a run of so many seconds stops."""
    return math.inf if seconds is None else perf_counter() + scalar("seconds", seconds, 0.0, above=True)


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    if count is None:
        yield
        return
    most = most_threads()
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= most:
        raise ProblemError("threads", count, f"a whole number from 1 to {most}")
    with limited(int(count)):
        yield


# ---- the loop over steps


class _Loop:
    """The loop over the steps of a recorded run: rows, frames, checkpoints and progress."""

    def __init__(
        self,
        engine: Engine,
        state: State,
        settings: Settings,
        recorder: Recorder,
        progress: Tell | None,
        callbacks: Callbacks | None = None,
        end: float = math.inf,  # time of the clock
    ) -> None:
        from .trajectory.events import Ledger

        self.callbacks, self.end = callbacks or Callbacks(), end
        self.ended = False  # whether a callback or the clock has ended the run
        self.engine, self.state, self.settings, self.recorder = engine, state, settings, recorder
        world = engine.world
        self.rows, self.used = np.zeros(BLOCK, step_table(world.dimension)), 0
        weight = float(world.mass[world.free].sum()) * float(np.linalg.norm(world.gravity))
        names = self.rows.dtype.names or ()
        self.meter = _Meter(settings, progress, state.step, weight * world.length_scale, names)
        self.log, self.ledger = EventLog(world, settings.step), Ledger(world, state, settings)
        self.saved = perf_counter()

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores what the events of a resumed run depend on."""
        if self.settings.events != "none":
            self.log.remember(memory)
            self.ledger.remember(memory)

    def run(self, first: bool, partial: bool = False) -> Trajectory:
        """The trajectory of the run; `first` if it starts here, rather than being resumed.

        On Ctrl-C a `partial` run returns what is done, others raise KeyboardInterrupt after a checkpoint.
        """
        try:
            if first:
                self._begin()
            if not self._all_steps():
                if partial or self.ended:
                    return self.recorder.leave()
                raise KeyboardInterrupt
        except BaseException as error:
            if isinstance(error, ProblemError):  # of a step: the steps before it are kept
                with suppress(ProblemError):
                    self._checkpoint()
            self.recorder.abort()
            raise
        return self.recorder.finish(self.state, self._memory())

    def _begin(self) -> None:
        """Row and frame of the start, and a first checkpoint: a run killed at once can be resumed."""
        report = self.engine.start(self.state)
        self._keep_row(report.row)
        self.recorder.frame(self.state)
        self._checkpoint()

    def _all_steps(self) -> bool:
        """Makes the steps; False if Ctrl-C ended them."""
        from .trajectory.interrupts import stop_on_request

        with stop_on_request() as stop:
            while self.state.step < self.settings.steps and not (stop.asked or self.ended):
                self._steps()
            done = self.state.step >= self.settings.steps and not stop.asked
        self._checkpoint()
        return done

    def _steps(self) -> None:
        """Makes one step or several.

        They end where events are looked through, so that these do not depend on where a run was resumed: every
        REST_SWEEP steps, and with `impulses` at the frames.
        """
        every, last, first = self.settings.frame_every, self.settings.steps, self.state.step
        most = min(
            REST_SWEEP - first % REST_SWEEP,
            last - first,
            every - first % every if self.settings.impulses else REST_SWEEP,
        )
        stretch = self.engine.stretch(self.state, 1 if self.callbacks.on_step is not None else most)
        states, rows = stretch.states, stretch.rows
        for state, row in zip(states, rows):
            self._keep_row(row)
            if state.step % every == 0 or state.step == last:
                self.recorder.frame(state)
        self.state = states[-1]
        self._keep_events(stretch)
        if self.callbacks:
            self._call(stretch)
        now = perf_counter()
        self.ended = self.ended or now >= self.end
        if now - self.saved > CHECKPOINT_SECONDS:
            self._checkpoint()
        for row in rows:
            self.meter.tell(row)

    def _call(self, stretch: Stretch) -> None:
        """Calls the functions of the user, and makes the changes that they want."""
        self.ended, wanted = self.callbacks.call(stretch)
        for change in wanted:
            assert isinstance(self.engine, ChangingEngine)
            self.state = self.engine.change(self.state, change)

    def _keep_events(self, stretch: Stretch) -> None:
        if self.settings.events == "none":
            return
        self.log.add(stretch)
        if self.settings.impulses and self.state.step % self.settings.frame_every == 0:
            self.log.sweep(self.state.step, everything=True)
        if self.state.step % REST_SWEEP == 0:
            self.ledger.held = self.log.used
        if self.log.filled:
            self.recorder.events(self.ledger.taken(self.log.taken()))

    def _memory(self) -> dict[str, np.ndarray]:
        """What the next step and the next events depend on besides the state."""
        if self.settings.events == "none":
            return self.engine.memory()
        return self.engine.memory() | self.log.memory() | self.ledger.memory()

    def _keep_row(self, row: tuple[Any, ...]) -> None:
        self.rows[self.used] = row
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
        self.recorder.checkpoint(self.state, self._memory())
        self.saved = perf_counter()


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
    return perf_counter() - compile_seconds()
