"""Conformance of physics engines: the desiderata of simultaneous impact, measured in the engine itself.

An engine takes part through a class with five methods, or six (`Engine`). Those of this package need NumPy's lists and
the engine only, nothing of Carom, so that they also run in an environment of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from ..errors import ProblemError

# Name of an engine -> (file of this package, class, package on the index or, for Node.js, the command that installs it)
ENGINES = {
    "carom": ("control.py", "Carom", "carom"),
    "mujoco": ("mujoco.py", "Mujoco", "mujoco"),
    "pymunk": ("pymunk.py", "Pymunk", "pymunk"),
    "pybullet": ("pybullet.py", "Pybullet", "pybullet"),
    "mujoco+carom": ("inside.py", "MujocoWithCarom", "mujoco"),
    "pymunk+carom": ("inside.py", "PymunkWithCarom", "pymunk"),
    "pybullet+carom": ("inside.py", "PybulletWithCarom", "pybullet"),
    "rapier": ("rapier.py", "Rapier", "rapier3d"),
    "dart": ("dart.py", "Dart", "dartpy"),
    "drake": ("drake.py", "Drake", "drake"),
    "box2d": ("box2d.py", "Box2DEngine", "Box2D"),
    "newton": ("newton.py", "Newton", "newton"),
    "jolt": ("jolt.py", "Jolt", "npm install jolt-physics"),
}


class Engine(Protocol):
    """What the conformance suite needs of an engine. There is no gravity and no friction.

    Vectors are lists. Velocities have the components (vx, vy, spin) in an engine of dimension 2, and linear and angular
    velocity, six numbers, in one of dimension 3. Raise NotImplementedError for what the engine does not have, with the
    reason: the scene is then left out and listed.
    """

    title: str  # name and version
    settings: str  # everything that was chosen: step, iterations, meaning of restitution, ...
    dimension: int  # 2 or 3

    def start(self, restitution: float) -> None:
        """Begins an empty world in which every pair of bodies has this coefficient of restitution."""

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        """Adds a homogeneous body parallel to the axes: `size` is [radius] of a ball or the half sizes of a box."""

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        """Adds a rigid body of equal boxes side by side, (center relative to `position`, half sizes) each, of `mass`
        together. May be missing: SMP, for which a box is taken apart, is then not measured."""

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        """Adds a half-space that moves along its normal at `speed`; bodies are on the side of the normal."""

    def step(self) -> None:
        """Advances the world by one time step."""

    def velocities(self) -> Any:
        """Velocities of the bodies in the order in which they were added, (n, 3) or (n, 6)."""


def source_of(spec: str) -> tuple[Path, str, str]:
    """File, class and package of an engine, from its name or from `file.py:Class`."""
    if spec in ENGINES:
        file, name, package = ENGINES[spec]
        return Path(__file__).parent / file, name, package
    file, colon, name = spec.rpartition(":")
    if not colon:
        raise ProblemError("--engine", spec, f"one of {', '.join(ENGINES)}, or file.py:Class")
    path = Path(file)
    if not path.is_file():
        raise ProblemError("--engine", spec, "the name of a Python file and of a class in it, file.py:Class")
    return path, name, f"that {path.name} imports"
