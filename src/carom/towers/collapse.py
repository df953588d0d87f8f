"""Collapse of a tower as a trajectory (sections 5, 7 and 8 of the paper)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..build import build
from ..checks import array, count, file_path, flag, shown
from ..errors import ProblemError
from ..kernels import prepare
from ..scene.symmetry import mirror
from ..scenes.bricks import bricks_scene
from ..settings import MOST_STEPS, CollapseSettings, Settings, keywords_of
from ..simulation import Progress, Tell, run_engine
from ..solvers.rows import Floats
from .engine import STEPPER, TowerEngine
from .loop import LoopOptions, loop_options
from .symmetry import mirror_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..trajectory import Trajectory
    from .tower import Tower

__all__ = ["Progress", "collapse"]
SUFFIXES = (".h5", ".hdf5")
LEAST_MOTION, MOST_MOTION = 1e-15, 1e6  # of a brick per step, in shortest sides: less is lost to rounding
MOST_FALL = 10.0  # free fall per step, in shortest sides: with more, bricks pass each other within a step


@keywords_of(CollapseSettings)
def collapse(
    tower: Tower,
    steps: int = 1000,
    step: float = 0.01,
    method: str = "position",
    output: str | PathLike[str] | None = None,
    *,
    velocity: Any = None,
    impulses: bool = False,
    frame_every: int = 1,
    progress: Tell | None = None,
    overwrite: bool = False,
    **told: Unpack[CollapseSettings],
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
    options = loop_options(step, method, told)
    settings = Settings(
        law="gauss",
        law_options=tuple(sorted((k, v) for k, v in vars(options).items() if k not in ("step", "method"))),
        restitution_model=None,
        friction_model=None,
        stepper=STEPPER + options.method,
        step=options.step,
        steps=count("steps", steps, MOST_STEPS),
        frame_every=count("frame_every", frame_every),
        impulses=flag("impulses", impulses),
        events="all" if impulses else "none",
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


def _check_motion(tower: Tower, step: float, start: Any) -> None:
    """Checks that double precision resolves the motion per step beside the size of the tower."""
    size, gravity = tower.size, tower.gravity
    if gravity > 0.0:
        low, high = ((share * size / gravity) ** 0.5 for share in (LEAST_MOTION, MOST_FALL))
        if not low <= step <= high:
            why = f"free fall per step is then {LEAST_MOTION:g} to {MOST_FALL:g} times the shortest side"
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
