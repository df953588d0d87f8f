"""collapse: how a tower comes down, as a trajectory."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from ..build import build
from ..errors import ProblemError
from ..scene.numbers import array, scalar
from ..scenes.bricks import bricks_scene
from ..settings import Settings
from ..simulation import Progress, Tell, run_engine
from .engine import TowerEngine
from .frameworks import BRACINGS
from .initial import COORDINATES
from .loop import LoopOptions
from .makers import count

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
    number = count("steps", steps)
    every = count("frame_every", frame_every)
    start = np.zeros((tower.count, 3))
    if velocity is not None:
        start = array("velocity", velocity, (tower.count, 3), f"{tower.count} rows (vx, vy, spin)")
    if progress is not None and not callable(progress):
        raise ProblemError("progress", progress, "a function of one Progress")
    return _run(tower, options, start, number, every, bool(impulses), output, progress, overwrite)


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
    h = scalar("step", step, 0.0, above=True)
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
        if value not in CHOICES[name]:
            raise ProblemError.unknown(name, value, CHOICES[name])
    exact = method == "position" and lengths == "original" and sides == "plain"
    many = (8 if exact else 1) if passes is None else count("passes", passes)
    if many > 1 and not exact:
        raise ProblemError("passes", passes, "1, or method='position', lengths='original', sides='plain'")
    if lengths == "penalty" and (coordinates != "framework" or method != "position"):
        raise ProblemError("lengths", lengths, "coordinates='framework' and method='position': reduced bricks have no bars")
    weight = scalar("penalty", penalty, 0.0, above=True)
    return LoopOptions(h, **chosen, passes=many, penalty=weight, feedback=feedback, keep_symmetry=keep_symmetry)


def _run(
    tower: Tower,
    options: LoopOptions,
    start: Any,
    steps: int,
    every: int,
    impulses: bool,
    output: str | PathLike[str] | None,
    progress: Tell | None,
    overwrite: bool,
) -> Trajectory:
    from ..trajectory import Recorder

    scene = bricks_scene(tower).with_(
        step=options.step, duration=steps * options.step, parameters={"mass_model": tower.mass_model}
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
    recorder = Recorder.create(None if output is None else fspath(output), scene, world, state, settings, overwrite)
    return run_engine(engine, state, settings, recorder, progress)
