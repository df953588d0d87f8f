"""Interrupted runs are continued from their last checkpoint, those of scenes and of towers alike."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING

from .errors import ProblemError
from .scene.model import Scene
from .simulation import Engine, Tell, run_engine

if TYPE_CHECKING:
    from .trajectory import Trajectory
    from .trajectory.recorder import Resumed


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

    found = Recorder.resume(fspath(path), scene)
    try:
        engine = _engine(found, str(path))
    except BaseException:
        found.recorder.abort()
        raise
    return run_engine(engine, found.state, found.settings, found.recorder, progress, first=False, threads=threads)


def _engine(found: Resumed, path: str) -> Engine:
    """The engine of the run at its checkpoint."""
    from .build import build
    from .stepping import STEPPERS
    from .stepwise import Simulation

    if found.settings.stepper in STEPPERS:
        return Simulation.restored(found.scene, found.settings, found.state, found.memory).engine
    from .towers.engine import STEPPER, restored

    if not found.settings.stepper.startswith(STEPPER):
        raise ProblemError(path, found.settings.stepper, f"a stepper that is registered: {', '.join(STEPPERS)}")
    return restored(build(found.scene, check_overlap=False)[0], found.settings, found.memory)
