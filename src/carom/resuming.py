"""Runs that go on: from their last checkpoint, past their end, or from a frame with another law or other parameters."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import scalar
from .errors import ProblemError
from .scene.model import Scene
from .settings import WHOLE_STEP, step_count
from .simulation import Callbacks, Engine, OnImpact, OnStep, Tell, end_of, run_engine, simulate
from .world import State

if TYPE_CHECKING:
    from .trajectory import Trajectory
    from .trajectory.recorder import Resumed

# Engines that stand beside the steppers: start of the name of the stepper, and the module whose function `restored`
# makes the engine of a checkpoint. They are named here and not imported: nothing in the engine depends on them.
ENGINES = {"tower_": "carom.towers.engine"}


# ---- the same run


def resume(
    path: str | PathLike[str],
    scene: Scene | None = None,
    *,
    duration: float | None = None,
    threads: int | None = None,
    seconds: float | None = None,
    progress: Tell | None = None,
    on_impact: OnImpact | None = None,
    on_step: OnStep | None = None,
) -> Trajectory:
    """Continues an interrupted run from its last checkpoint, with the bits of a run that was not interrupted.

    `duration` is a new duration of the whole run, which may then be finished: it goes on past its end, with the bits of
    one long run. A scene that contains Python functions (a force, a scripted motion) cannot be stored and must be
    passed again, and so must the callbacks of a run that has some. After `seconds` of wall time it stops again.
    """
    from .trajectory import Recorder

    callbacks, end = Callbacks.checked(on_impact, on_step), end_of(seconds)
    found = Recorder.resume(fspath(path), scene, _steps(fspath(path), duration))
    try:
        engine = _engine(found, str(path))
    except BaseException:
        found.recorder.abort()
        raise
    given = (found.state, found.settings, found.recorder, progress)
    return run_engine(engine, *given, memory=found.memory, threads=threads, callbacks=callbacks, end=end)


def _steps(path: str, duration: float | None) -> int | None:
    """The number of steps of the extended run."""
    from .trajectory import Trajectory

    if duration is None:
        return None
    with Trajectory(path) as run:
        h, last = run.settings.step, run.last
    steps = step_count("duration", scalar("duration", duration, 0.0, above=True), h)
    if steps <= last.step:
        raise ProblemError("duration", duration, f"at least one step of {h:g} more than {last.time:g}, which is done")
    return steps


def _engine(found: Resumed, path: str) -> Engine:
    """The engine of the run at its checkpoint."""
    from .build import build
    from .stepping import STEPPERS
    from .stepwise import Simulation

    if found.settings.stepper in STEPPERS:
        engine = Simulation.restored(found.scene, found.settings, found.state, found.memory).engine
        if not set(engine.memory()) <= set(found.memory):
            wanted = "a run that was finished by this version of Carom; branch from its end instead (--from)"
            raise ProblemError(path, "a finished run without the memory of its stepper", wanted)
        return engine
    from .trajectory.format import reading

    home = next((home for start, home in ENGINES.items() if found.settings.stepper.startswith(start)), None)
    if home is None:
        raise ProblemError(path, found.settings.stepper, f"a stepper that is registered: {', '.join(STEPPERS)}")
    world = build(found.scene, check_overlap=False)[0]
    with reading(Path(path)):
        other: Engine = importlib.import_module(home).restored(world, found.settings, found.memory)
    return other


# ---- another run


def branch(
    path: str | PathLike[str],
    at: float | None = None,
    output: str | PathLike[str] | None = None,
    *,
    scene: Scene | None = None,
    parameters: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Trajectory:
    """A new run that starts from a recorded state of another one, with another law, parameter or setting.

    at: time of the start; the nearest recorded state is taken (`branch_state`); None is the last one. `parameters`
    change those of a scene of the library; `scene` replaces the scene. Either must have the same bodies. `changes` are
    arguments of `simulate`; those that are missing have the values of the old run, and so has the duration, which is
    the time of the end of both. The new run starts without the warm start of the old one.
    """
    from .laws import make
    from .stepwise import law_options
    from .trajectory import Trajectory

    with Trajectory(fspath(path)) as run:
        state, old = branch_state(run, at), run.settings
        if scene is None and run.not_stored:
            raise ProblemError("scene", "nothing", f"the scene, whose Python functions no file holds: {run.not_stored}")
        chosen = _changed(run.scene if scene is None else scene, parameters)
    _check_bodies(chosen, state)
    _check_stepper(old.stepper, changes.get("stepper"))
    # As models of the scene they hold for the law of the run; another law keeps them only if it has them.
    chosen = chosen.with_(restitution_model=old.restitution_model, friction_model=old.friction_model)
    if changes.get("law") is None:
        changes["law"] = make(old.law, **law_options(old))
    every = {"step": old.step, "stepper": old.stepper, "tolerance": old.tolerance, "duration": old.duration}
    if changes.get("stepper") in (None, old.stepper):
        every["active_set"] = old.active_set
    every["frame_rate"] = 1.0 / (old.frame_every * old.step)
    settings = {**every, **{name: value for name, value in changes.items() if value is not None}}
    return simulate(chosen, output=output, start=_at_step(state, settings["step"]), **settings)


def branch_state(run: Trajectory, at: float | None) -> State:
    """The recorded state that is nearest to a time: a frame, or the last checkpoint."""
    first, last = float(run.time[0]), run.last
    if at is None:
        return last
    time = float(at) if isinstance(at, int | float | np.number) and not isinstance(at, bool) else math.nan
    if not first <= time <= last.time + WHOLE_STEP:
        raise ProblemError("at", at, f"a time within the run, from {first:g} to {last.time:g}")
    index = int(np.argmin(np.abs(run.time - time)))
    nearer = abs(last.time - time) < abs(float(run.time[index]) - time)
    return last if nearer else run.frame(index)


def _changed(scene: Scene, parameters: Mapping[str, Any] | None) -> Scene:
    """A scene of the library with other parameters."""
    if not parameters:
        return scene
    from .scenes import SCENES

    entry = SCENES.get(scene.name)
    if entry is None or set(scene.parameters) != set(entry.parameters):
        raise ProblemError("parameters", dict(parameters), f"nothing: {scene.name!r} is not a scene of the library")
    return entry(**{**scene.parameters, **parameters}).with_(integrator=scene.integrator)


def _check_bodies(scene: Scene, state: State) -> None:
    count, dimension = state.position.shape
    bodies = sum(group.count for group in scene.groups)
    if (bodies, scene.dimension) != (count, dimension):
        got = f"{bodies} bodies in {scene.dimension}D"
        raise ProblemError("scene", got, f"the {count} bodies in {dimension}D of the run that it starts from")


def _check_stepper(old: str, new: str | None) -> None:
    from .stepping import STEPPERS

    if new is None and old not in STEPPERS:
        raise ProblemError(
            "stepper", old, f"a run with one of {', '.join(STEPPERS)}; collapses of towers have no branches"
        )


def _at_step(state: State, step: Any) -> State:
    """The state with its number of steps of another length."""
    h = scalar("step", step, 0.0, above=True)
    number = round(state.time / h)
    if abs(number * h - state.time) > WHOLE_STEP * h:
        raise ProblemError("step", step, f"a step of which the time of the start, {state.time:g}, is a multiple")
    return replace(state, step=number)
