"""Linear and angular momentum of a run: how far they drift, and whether they must stay at all.

Gravity, boundaries and bodies that are held push from outside. What remains conserved beside them is worked out from
the scene, and only that is measured: along a frictionless floor the momentum, in a frictionless drum the angular
momentum about its center.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from ..scene.motion import Motion
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from ..world import INSIDE, OUTSIDE, PLANE, World
from . import space_momentum
from .runs import lengths

PARALLEL = 1e-12


@dataclass(frozen=True, eq=False)
class Drift:
    """|change since the start| / scale, at every step. If it is not `conserved`, it is only what it is."""

    value: Floats
    conserved: bool
    why: str  # what is measured, or why it is not conserved here


def momentum_scale(run: Trajectory) -> float:
    """Momentum of all free mass at the speed that the largest kinetic energy would give it: sqrt(2 M K)."""
    mass = float(run.geometry["mass"][run.geometry["free"]].sum())
    return float(np.sqrt(2.0 * mass * run.steps["kinetic"].max(initial=0.0))) or 1.0


def momentum_drift(run: Trajectory) -> Drift:
    """Of the linear momentum, or of the components that are conserved; what gravity gives it is taken off."""
    steps, world = run.steps, run.world
    momentum = _columns(run, "momentum")
    pull = float(world.mass[world.free].sum()) * world.gravity
    change = momentum - momentum[0] - steps["time"][:, None] * pull
    along, why = _linear(run)
    if along is None:
        return Drift(lengths(change) / momentum_scale(run), False, why)
    if world.gravity.any():
        why += ", without what gravity gives"
    return Drift(_size(change, along) / momentum_scale(run), True, why)


def angular_momentum_drift(run: Trajectory) -> Drift:
    """Of the angular momentum about the origin, or about the center of a drum; in space of what is conserved of it.

    The scale is that of the momentum times the root mean square distance from there, at the start or the end,
    whichever is larger.
    """
    about, axes, why = _angular(run)
    center = np.zeros(run.dimension) if about is None else about
    free = run.geometry["free"]
    arms = [float(np.sqrt(((run.frame(k).position[free] - center) ** 2).sum(axis=1).mean())) for k in (0, -1)]
    scale = momentum_scale(run) * (max(arms) or 1.0)
    change = _about(run, center)
    change = change - change[0]
    return Drift(_size(change, axes) / scale, about is not None, why)


def has_force(run: Trajectory) -> bool:
    """Whether a Python function pushes the bodies. The file cannot hold it, but it notes that there was one."""
    meta = json.loads(run._file["scene/meta"].asstr()[()])
    return run.scene.force is not None or "force" in meta["not_stored"]


def _columns(run: Trajectory, name: str) -> Floats:
    """A vector of the table of steps: (steps, D)."""
    return np.stack([run.steps[f"{name}_{axis}"] for axis in "xyz"[: run.dimension]], axis=1)


def _about(run: Trajectory, center: Floats) -> Floats:
    """Angular momentum about a point, at every step: (steps, 1), in space (steps, 3)."""
    p = _columns(run, "momentum")
    if run.dimension == 3:
        return _columns(run, "angular_momentum") - np.cross(center, p)
    return (run.steps["angular_momentum"] - center[0] * p[:, 1] + center[1] * p[:, 0])[:, None]


def _size(change: Floats, along: Floats) -> Floats:
    """Lengths of vectors (k, D) within the space that the rows of `along` (m, D), which are orthonormal, span."""
    if along.shape[0] == 1:
        return np.abs(change @ along[0])
    return lengths(change if along.shape[0] == along.shape[1] else change @ along.T)


def _linear(run: Trajectory) -> tuple[Floats | None, str]:
    """Directions (m, D) in which momentum is conserved, or None; and why."""
    world = run.world
    outside = _pushed_from_outside(run)
    if outside:
        return None, outside
    if world.periodic is not None and world.periodic.shear_rate:
        return None, "sheared sides push"
    kinds = world.boundaries.kind
    if not len(kinds):
        return np.eye(world.dimension), "nothing pushes from outside"
    along = _along_walls(world) if world.dimension == 2 else space_momentum.along_walls(world)
    if along is None:
        return None, "boundaries push in every direction"
    if _rough_walls(world):
        return None, "boundaries with friction push"
    return along, "along the boundaries, which are without friction"


def _along_walls(world: World) -> Floats | None:
    normal = world.boundaries.axis[0]
    planes = (world.boundaries.kind == PLANE).all() and not any(_turns(m) for m in world.boundary_motions)
    if not planes or (np.abs(world.boundaries.axis @ (-normal[1], normal[0])) > PARALLEL).any():
        return None
    return np.array([[-normal[1], normal[0]]])


def _angular(run: Trajectory) -> tuple[Floats | None, Floats, str]:
    """The point about which angular momentum is conserved, or None; the axes along which; and why."""
    world = run.world
    everything = np.eye(1 if world.dimension == 2 else 3)
    outside = _pushed_from_outside(run)
    if outside:
        return None, everything, outside
    if len(world.boundaries.kind) and _rough_walls(world):
        rough = "boundaries with friction push"
    else:
        rough = ""
    if world.dimension == 3:
        return (None, everything, rough) if rough else space_momentum.conserved_axes(world)
    center, why = _plane_center(world)
    if center is not None and rough:
        center, why = None, rough
    return center, everything, why


def _plane_center(world: World) -> tuple[Floats | None, str]:
    """The point of the plane about which nothing turns the bodies, friction apart; and why."""
    if world.gravity.any():
        return None, "gravity acts"
    if world.periodic is not None:
        return None, "the sides are periodic"
    walls = world.boundaries
    if not len(walls.kind):
        return np.zeros(2), "nothing pushes from outside"
    round_ = np.isin(walls.kind, (INSIDE, OUTSIDE)).all()
    if not round_ or (walls.point != walls.point[0]).any() or any(m.kind != "fixed" for m in world.boundary_motions):
        return None, "boundaries push"
    return walls.point[0], "about the center of the drum, which is without friction"


def _pushed_from_outside(run: Trajectory) -> str:
    if has_force(run):
        return "a force in Python acts"
    return "" if run.world.free.all() else "bodies are held"


def _rough_walls(world: World) -> bool:
    bodies = np.unique(world.material[world.free])
    return bool(world.friction[np.ix_(bodies, np.unique(world.boundary_material))].any())


def _turns(motion: Motion) -> bool:
    """Whether a boundary with this motion changes its direction."""
    if motion.kind in ("fixed", "vibrating"):
        return False
    turn = getattr(motion, "spin" if motion.kind == "moving" else "turn", 1.0)
    return bool(np.any(turn))
