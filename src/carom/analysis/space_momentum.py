"""What boundaries without friction, gravity and periodic sides leave of the momenta of a world of space.

A plane pushes along its normal, a tube toward its axis, a shell toward its center. Linear momentum is conserved
across all these directions. Angular momentum is conserved about an axis e through a point c if no push has a moment
about it: for a plane e must be its normal, for a tube its axis, for a shell c its center, for gravity e must be
vertical, and sides that are periodic along one direction shift bodies along it: e must be that one.
"""

from __future__ import annotations

import numpy as np

from ..scene.motion import Motion
from ..solvers.rows import Floats
from ..world import INSIDE, PLANE, TUBE, World

PARALLEL = 1e-12
NAMES = "xyz"


def along_walls(world: World) -> Floats | None:
    """An orthonormal basis (m, 3) of the directions in which no boundary ever pushes; None if there are none."""
    walls = world.boundaries
    across: list[Floats] = []
    for kind, axis, motion in zip(walls.kind, walls.axis, world.boundary_motions):
        if kind == INSIDE or not _keeps_direction(motion, axis):
            return None
        across += [axis] if kind == PLANE else list(np.eye(3) - np.outer(axis, axis))
    _, sizes, rows = np.linalg.svd(np.array(across))
    free: Floats = rows[int((sizes > PARALLEL).sum()) :]
    return _tidy(free) if len(free) else None


def conserved_axes(world: World) -> tuple[Floats | None, Floats, str]:
    """The point about which, and the axes (m, 3) along which angular momentum is conserved; and why.

    The point is None if nothing is conserved.
    """
    walls, everything = world.boundaries, np.eye(3)
    wanted: list[tuple[Floats, str]] = []
    if world.gravity.any():
        wanted.append((world.gravity / np.linalg.norm(world.gravity), "gravity acts"))
    if world.periodic is not None:
        sides = [k for k, name in enumerate(NAMES) if getattr(world.periodic, name, None) is not None]
        if len(sides) != 1 or world.periodic.shear_rate:
            return None, everything, "the sides are periodic"
        wanted.append((np.eye(3)[sides[0]], "the sides are periodic"))
    centers: list[Floats] = []
    for k, motion in enumerate(world.boundary_motions):
        if not _in_place(world, k, motion):
            return None, everything, "boundaries move"
        if walls.kind[k] != INSIDE:
            wanted.append((walls.axis[k], "boundaries push"))
        if walls.kind[k] != PLANE:
            centers.append(walls.point[k])
    return _common_axis(wanted, centers)


def _common_axis(wanted: list[tuple[Floats, str]], centers: list[Floats]) -> tuple[Floats | None, Floats, str]:
    """The one axis that all wanted directions and all centers allow; all axes if there is nothing but one center."""
    about = centers[0] if centers else np.zeros(3)
    for other in centers[1:]:  # two shells allow the line through both
        if np.linalg.norm(other - about) > PARALLEL * (1.0 + np.linalg.norm(about)):
            wanted = [*wanted, ((other - about) / np.linalg.norm(other - about), "boundaries push")]
    if not wanted:
        return about, np.eye(3), "about the center of the shell" if centers else "nothing pushes from outside"
    axis = wanted[0][0]
    for direction, _ in wanted[1:]:
        if np.linalg.norm(np.cross(axis, direction)) > 1e-9:
            reasons = list(dict.fromkeys(reason for _, reason in wanted))
            return None, np.eye(3), " and ".join(reasons)
    axis = _tidy(axis[None])[0]
    where = " through " + _point(about) if centers else ""
    return about, axis[None], f"about the axis along {_name(axis)}{where} alone"


def _keeps_direction(motion: Motion, axis: Floats) -> bool:
    """Whether a plane with this normal, or a tube with this axis, keeps its direction: it may turn about it."""
    if motion.kind in ("fixed", "vibrating"):
        return True
    if motion.kind == "moving" and not getattr(motion, "spin", 0.0):
        return True
    if motion.kind == "table" and not np.any(getattr(motion, "turn", ())):
        return True
    own = getattr(motion, "axis", None)
    return own is not None and bool(np.linalg.norm(np.cross(own, axis)) <= 1e-9 * np.linalg.norm(own))


def _in_place(world: World, k: int, motion: Motion) -> bool:
    """Whether a boundary leaves its angular momentum law alone: planes keep their normal, others their place too."""
    walls = world.boundaries
    if motion.kind == "fixed":
        return True
    if walls.kind[k] == PLANE:
        return _keeps_direction(motion, walls.axis[k])
    if motion.kind != "rotating":
        return False
    arm = walls.center[k] - walls.point[k]
    if walls.kind[k] == TUBE:
        arm = arm - (arm @ walls.axis[k]) * walls.axis[k]
        return _keeps_direction(motion, walls.axis[k]) and float(np.linalg.norm(arm)) <= 1e-9 * walls.radius[k]
    return float(np.linalg.norm(arm)) <= 1e-9 * float(walls.radius[k])


def _tidy(rows: Floats) -> Floats:
    """Basis vectors without rounding where they are axes, the largest component positive."""
    out = np.where(np.abs(rows) < PARALLEL, 0.0, rows)
    sign = np.sign(np.take_along_axis(out, np.abs(out).argmax(axis=1)[:, None], axis=1))
    return out * sign + 0.0


def _name(axis: Floats) -> str:
    k = int(np.abs(axis).argmax())
    return NAMES[k] if abs(axis[k]) > 1.0 - PARALLEL else _point(axis)


def _point(place: Floats) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in place) + ")"
