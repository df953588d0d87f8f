"""Drift of the linear and angular momentum of a run, and which components of them must be conserved.

Gravity, boundaries and fixed or scripted bodies push from outside. What is conserved nevertheless follows from the
scene, and only that is measured:

* A plane pushes along its normal, a tube toward its axis, a drum or shell toward its center. Linear momentum is
  conserved in the directions orthogonal to all these.
* In 2D angular momentum is conserved about the common center of drums that do not move.
* In 3D angular momentum is conserved about an axis e through a point c if no push has a moment about it: for a plane e
  must be its normal, for a tube its axis, for a shell c must be its center, for gravity e must be vertical, and for
  sides that are periodic in one direction, which shift bodies along it, e must be that direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.rotations import cross, spin_components
from ..late import sparse
from ..scene.motion import Motion
from ..solvers.rows import Floats, Ints
from ..stepping.events import REMOVAL
from ..stepping.report import ANGULAR_MOMENTUM, MOMENTUM
from ..trajectory import Trajectory
from ..world import INSIDE, OUTSIDE, PLANE, TUBE, World
from .runs import lengths

PARALLEL = 1e-12  # components of unit vectors up to this are zero
ALIGNED = 1e-9  # sine of an angle, or relative distance, up to which two axes or two points are the same


@dataclass(frozen=True, eq=False)
class Drift:
    """|change since the start| / scale after every step. If `conserved` is False it is not an error."""

    value: Floats  # (steps + 1,)
    conserved: bool
    why: str  # what is measured, or why it is not conserved


def momentum_scale(run: Trajectory) -> float:
    """Momentum of the total free mass M at the speed that the largest kinetic energy K gives it: sqrt(2 M K)."""
    mass = float(run.geometry["mass"][run.geometry["free"]].sum())
    return float(np.sqrt(2.0 * mass * run.steps["kinetic"].max(initial=0.0))) or 1.0


def momentum_drift(run: Trajectory) -> Drift:
    """Drift of the linear momentum, or of its conserved components, without the contribution of gravity."""
    steps, world = run.steps, run.world
    momentum = _columns(run, MOMENTUM)
    pull = float(world.mass[world.free].sum()) * world.gravity
    change = momentum - momentum[0] - (steps["time"] - steps["time"][0])[:, None] * pull
    along, why = _conserved_directions(run)
    if along is None:
        return Drift(lengths(change) / momentum_scale(run), False, why)
    if world.gravity.any():
        why += ", without what gravity gives"
    return Drift(_size(change, along) / momentum_scale(run), True, why)


def angular_momentum_drift(run: Trajectory) -> Drift:
    """Drift of the angular momentum about the origin or the center of a drum; in 3D of its conserved components.

    The scale is that of the momentum times the root mean square distance from that point, at the start or the end,
    whichever is larger.
    """
    about, axes, why = _conserved_axes(run)
    center = np.zeros(run.dimension) if about is None else about
    free = run.geometry["free"]
    arms = [float(np.sqrt(((run.frame(k).position[free] - center) ** 2).sum(axis=1).mean())) for k in (0, -1)]
    scale = momentum_scale(run) * (max(arms) or 1.0)
    change = _angular_momentum(run, center)
    change = change - change[0]
    return Drift(_size(change, axes) / scale, about is not None, why)


def has_force(run: Trajectory) -> bool:
    """Whether drag or a Python function acts as a force. The file cannot store the latter, but records it."""
    return run.world.force is not None or python_force(run)


def has_changed(run: Trajectory) -> bool:
    """Whether a body has appeared or vanished, as far as it is recorded."""
    return run.changes and (run.events is None or len(run.events.changes) > 0)


def python_force(run: Trajectory) -> bool:
    """Whether a Python function acts as a force."""
    return run.scene.force is not None or "force" in run.not_stored


def _columns(run: Trajectory, names: dict[int, tuple[str, ...]]) -> Floats:
    """A vector of the table of steps, (steps + 1, k), whose k columns have these names in each dimension."""
    return np.stack([run.steps[name] for name in names[run.dimension]], axis=1)


def _angular_momentum(run: Trajectory, center: Floats) -> Floats:
    """Angular momentum about a point after every step: (steps + 1, 1) in 2D, (steps + 1, 3) in 3D."""
    return _columns(run, ANGULAR_MOMENTUM) - cross(center, _columns(run, MOMENTUM))


def _size(change: Floats, along: Floats) -> Floats:
    """Lengths (k,) of vectors (k, D) projected onto the span of the orthonormal rows of `along` (m, D)."""
    if along.shape[0] == 1:
        return np.abs(change @ along[0])
    return lengths(change if along.shape[0] == along.shape[1] else change @ along.T)


# ---- what is conserved


def _conserved_directions(run: Trajectory) -> tuple[Floats | None, str]:
    """Directions (m, D) in which linear momentum is conserved, None if there are none; and the reason."""
    world = run.world
    outside = _pushed_from_outside(run)
    if outside:
        return None, outside
    if world.periodic is not None and world.periodic.shear_rate:
        return None, "sheared sides push"
    if not len(world.boundaries.kind):
        return np.eye(world.dimension), "nothing pushes from outside"
    along = along_boundaries(world)
    if along is None:
        return None, "boundaries push in every direction"
    if _rough_boundaries(world):
        return None, "boundaries with friction push"
    return along, "along the boundaries, which are without friction"


def along_boundaries(world: World) -> Floats | None:
    """An orthonormal basis (m, D) of the directions in which no boundary ever pushes; None if there are none."""
    boundaries, dim = world.boundaries, world.dimension
    pushes: list[Floats] = []
    for kind, axis, motion in zip(boundaries.kind, boundaries.axis, world.boundary_motions):
        if kind not in (PLANE, TUBE) or not _keeps_direction(motion, axis):
            return None
        pushes += [axis] if kind == PLANE else list(np.eye(dim) - np.outer(axis, axis))
    _, sizes, rows = np.linalg.svd(np.array(pushes))
    free: Floats = rows[int((sizes > PARALLEL).sum()) :]
    return _tidy(free) if len(free) else None


def _conserved_axes(run: Trajectory) -> tuple[Floats | None, Floats, str]:
    """The point about which angular momentum is conserved, None if there is none; the axes (m, D); and the reason."""
    world = run.world
    everything = np.eye(spin_components(world.dimension))
    outside = _pushed_from_outside(run)
    if outside:
        return None, everything, outside
    rough = len(world.boundaries.kind) > 0 and _rough_boundaries(world)
    about, axes, why = _CONSERVED_AXES[world.dimension](world)
    if rough and (about is not None or world.dimension == 3):
        return None, everything, "boundaries with friction push"
    return about, axes, why


def conserved_axes_2d(world: World) -> tuple[Floats | None, Floats, str]:
    """The point about which angular momentum is conserved in 2D, friction apart; the axis [[1]]; and the reason.

    The point is None if nothing is conserved.
    """
    boundaries, axis = world.boundaries, np.eye(1)
    if world.gravity.any():
        return None, axis, "gravity acts"
    if world.periodic is not None:
        return None, axis, "the sides are periodic"
    if not len(boundaries.kind):
        return np.zeros(2), axis, "nothing pushes from outside"
    drums = np.isin(boundaries.kind, (INSIDE, OUTSIDE)).all() and (boundaries.point == boundaries.point[0]).all()
    if not drums or any(m.kind != "fixed" for m in world.boundary_motions):
        return None, axis, "boundaries push"
    return boundaries.point[0], axis, "about the center of the drum, which is without friction"


def conserved_axes_3d(world: World) -> tuple[Floats | None, Floats, str]:
    """The point and the axes (m, 3) about which angular momentum is conserved in 3D, friction apart; and the reason.

    The point is None if nothing is conserved.
    """
    boundaries, everything = world.boundaries, np.eye(3)
    wanted: list[tuple[Floats, str]] = []
    if world.gravity.any():
        wanted.append((world.gravity / np.linalg.norm(world.gravity), "gravity acts"))
    if world.periodic is not None:
        sides = [k for k, name in enumerate("xyz") if getattr(world.periodic, name, None) is not None]
        if len(sides) != 1 or world.periodic.shear_rate:
            return None, everything, "the sides are periodic"
        wanted.append((np.eye(3)[sides[0]], "the sides are periodic"))
    centers: list[Floats] = []
    for k, motion in enumerate(world.boundary_motions):
        if not _in_place(world, k, motion):
            return None, everything, "boundaries move"
        if boundaries.kind[k] != INSIDE:
            wanted.append((boundaries.axis[k], "boundaries push"))
        if boundaries.kind[k] != PLANE:
            centers.append(boundaries.point[k])
    return _common_axis(wanted, centers)


_CONSERVED_AXES = {2: conserved_axes_2d, 3: conserved_axes_3d}


def _common_axis(wanted: list[tuple[Floats, str]], centers: list[Floats]) -> tuple[Floats | None, Floats, str]:
    """The one axis that all wanted directions and all centers allow; all axes if there is at most one center."""
    about = centers[0] if centers else np.zeros(3)
    for other in centers[1:]:  # two shells allow the line through both
        if np.linalg.norm(other - about) > PARALLEL * (1.0 + np.linalg.norm(about)):
            wanted = [*wanted, ((other - about) / np.linalg.norm(other - about), "boundaries push")]
    if not wanted:
        return about, np.eye(3), "about the center of the shell" if centers else "nothing pushes from outside"
    axis = wanted[0][0]
    for direction, _ in wanted[1:]:
        if np.linalg.norm(np.cross(axis, direction)) > ALIGNED:
            reasons = list(dict.fromkeys(reason for _, reason in wanted))
            return None, np.eye(3), " and ".join(reasons)
    axis = _tidy(axis[None])[0]
    where = " through " + _point(about) if centers else ""
    return about, axis[None], f"about the axis along {_axis_name(axis)}{where} alone"


# ---- boundaries


def _pushed_from_outside(run: Trajectory) -> str:
    """What pushes the bodies besides gravity and boundaries; empty if nothing does."""
    if has_changed(run):
        return "bodies appear and vanish"
    if has_force(run):
        return "a force in Python acts"
    if run.world.joints is not None and run.world.joints.to_world:
        return "joints to the world push"
    return "" if run.world.free.all() else "bodies are held"


def _rough_boundaries(world: World) -> bool:
    bodies = np.unique(world.material[world.free])
    pairs = np.ix_(bodies, np.unique(world.boundary_material))
    tables = (world.friction, world.rolling_friction, world.torsional_friction)
    return any(bool(table[pairs].any()) for table in tables if table is not None)


def _keeps_direction(motion: Motion, axis: Floats) -> bool:
    """Whether a plane with this normal, or a tube with this axis, keeps its direction: it may rotate about it."""
    if motion.kind in ("fixed", "vibrating"):
        return True
    if motion.kind == "moving" and not getattr(motion, "spin", 0.0):
        return True
    if motion.kind == "table" and not np.any(getattr(motion, "turn", ())):
        return True
    own = getattr(motion, "axis", None)
    if own is None or len(axis) == 2:  # in 2D boundaries rotate about z
        return False
    return bool(np.linalg.norm(np.cross(own, axis)) <= ALIGNED * np.linalg.norm(own))


def _in_place(world: World, k: int, motion: Motion) -> bool:
    """Whether the motion of boundary k of a 3D world leaves its axis unchanged, and its center unless it is a plane."""
    boundaries = world.boundaries
    if motion.kind == "fixed":
        return True
    if boundaries.kind[k] == PLANE:
        return _keeps_direction(motion, boundaries.axis[k])
    if motion.kind != "rotating":
        return False
    arm = boundaries.center[k] - boundaries.point[k]
    if boundaries.kind[k] == TUBE:
        arm = arm - (arm @ boundaries.axis[k]) * boundaries.axis[k]
        near = float(np.linalg.norm(arm)) <= ALIGNED * boundaries.radius[k]
        return _keeps_direction(motion, boundaries.axis[k]) and near
    return float(np.linalg.norm(arm)) <= ALIGNED * float(boundaries.radius[k])


def _tidy(rows: Floats) -> Floats:
    """Basis vectors without rounding errors where they are axes, the largest component positive."""
    out = np.where(np.abs(rows) < PARALLEL, 0.0, rows)
    sign = np.sign(np.take_along_axis(out, np.abs(out).argmax(axis=1)[:, None], axis=1))
    return out * sign + 0.0


def _axis_name(axis: Floats) -> str:
    k = int(np.abs(axis).argmax())
    return "xyz"[k] if abs(axis[k]) > 1.0 - PARALLEL else _point(axis)


def _point(place: Floats) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in place) + ")"


# ---- events


def unexplained_reason(run: Trajectory) -> str:
    """Why events need not explain the momentum of every body; empty if they must."""
    if run.events is None:
        return "the run did not record events"
    if run.settings.stepper.startswith("tower_"):
        return "towers move by positions, and their velocities are differences of these"
    if run.world.force is not None or python_force(run):
        return "a force acts between events"
    if run.world.periodic is not None and run.world.periodic.shear_rate:
        return "sheared sides change velocities"
    if not (_explained_groups(run.world) >= 0).any():
        return "joints to the world push on every free body"
    return ""


def _explained_groups(world: World) -> Ints:
    """The group (n,) of each body, which joints connect: their impulses cancel in its momentum.

    -1 for bodies that are not free, and for groups with joints to these or to the world.
    """
    bodies = np.arange(world.count)
    if world.joints is None:
        return np.where(world.free, bodies, -1)
    from scipy.sparse.csgraph import connected_components  # slow to import, and few worlds have joints

    pairs = world.joints.pairs
    within = (pairs >= 0).all(axis=1) & world.free[pairs].all(axis=1)
    first, second = pairs[within].T
    links = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), shape=(world.count, world.count))
    group: Ints = connected_components(links, directed=False)[1]
    outer = pairs[~within].ravel()
    held = np.isin(group, group[outer[outer >= 0]]) | ~world.free
    return np.where(held, -1, group)


def _time_present(run: Trajectory) -> Floats:
    """(n,) time for which each body was present, from start to end."""
    first, last, events = run.frame(0), run.last, run.events
    out = np.where(last.present, last.time, 0.0) - np.where(first.present, first.time, 0.0)
    if run.changes and events is not None:
        changes = events.changes
        sign = np.where(changes["kind"] == REMOVAL, 1.0, -1.0)
        out += np.bincount(changes["first"], sign * changes["time"], run.count)
    return out


def unexplained_momentum(run: Trajectory) -> float:
    """The largest change of the momentum of a free body from start to end that events and gravity do not explain.

    Bodies that joints connect count as one. It is relative to the largest impulse, or to that of gravity per step if it
    is larger.
    """
    world, events, rest = run.world, run.events, run.unlisted_events
    assert events is not None
    assert rest is not None
    first, last, mass, d = run.frame(0), run.last, world.mass[:, None], run.dimension
    change = mass * (last.velocity[:, :d] - first.velocity[:, :d])
    falling = _time_present(run)[:, None]
    explained = events.momentum(run.count) + rest.momentum + mass * world.gravity * falling
    weight = float((world.mass * world.free).max(initial=0.0) * np.linalg.norm(world.gravity) * run.settings.step)
    largest = max(float(np.linalg.norm(events.impulse, axis=1).max(initial=0.0)), rest.largest, weight)
    group = _explained_groups(world)
    sums = np.zeros((world.count, d))
    np.add.at(sums, group[group >= 0], (change - explained)[group >= 0])
    missing = float(np.abs(sums).max(initial=0.0))
    return missing / largest if largest > 0.0 else missing
