"""Quantities of a run, measured from its trajectory: energy, overlap, symmetry, sides, spread.

Every function accepts unfinished runs as well. Frames are read in blocks of bounded size, so that a run of a million
bodies is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..contact.containment import Containment
from ..contact.detector import Detector
from ..errors import ProblemError
from ..geometry import rotations
from ..scene.boundaries import Periodic, Segment
from ..scene.symmetry import Symmetry
from ..solvers.rows import Floats, Ints
from ..solvers.threads import limited, on_threads
from ..stepping.jointed import joint_error
from ..trajectory import Trajectory
from ..world import State

BLOCK = 1 << 25  # bytes of an array that are read at once
# Frames of which a thread measures the overlap at once, in runs of this many bodies and more.
FRAMES, THREADED_BODIES = 16, 1_000


def blocks(run: Trajectory, row: int) -> Iterator[slice]:
    """Slices that cover all frames, each of at most BLOCK bytes (or one frame) for `row` numbers per frame."""
    size = max(1, BLOCK // (8 * max(1, row)))
    return (slice(start, min(start + size, len(run))) for start in range(0, len(run), size))


def lengths(vectors: Floats) -> Floats:
    """|v| of vectors (..., 2) or (..., 3)."""
    flat: Floats = np.hypot(vectors[..., 0], vectors[..., 1])
    return flat if vectors.shape[-1] == 2 else np.hypot(flat, vectors[..., 2])


# ---- energy


def energy_scale(run: Trajectory) -> float:
    """Unit of energy drifts: the largest kinetic energy of any step.

    With gravity it is at least the energy of the whole mass falling by the length scale of the world; otherwise the
    drift of a stack at rest would be relative to rounding errors.
    """
    w = run.world
    fall = float(w.mass[w.free].sum()) * float(lengths(w.gravity)) * w.length_scale
    return max(float(run.steps["kinetic"].max(initial=0.0)), fall) or 1.0


def energy_drift(run: Trajectory) -> Floats:
    """(E(t) - E(0)) / energy_scale at the start and after every step; E is kinetic plus potential energy.

    What bodies that appear bring, and bodies that vanish take away, does not count.
    """
    total = run.steps["kinetic"] + run.steps["potential"] - energy_brought(run)
    return (total - total[0]) / energy_scale(run)


def energy_brought(run: Trajectory) -> Floats:
    """Energy that bodies have brought by appearing, minus what others have taken away, up to each row of the steps."""
    out = np.zeros(len(run.steps))
    if run.changes and run.events is not None:
        changes = run.events.changes
        rows = np.searchsorted(run.steps["step"], changes["step"])
        there = rows < len(out)  # changes after the last step belong to none
        np.add.at(out, rows[there], -changes["energy"][there])
    return np.cumsum(out)


def energy_rise(run: Trajectory) -> Floats:
    """Energy minus its minimum so far, relative to energy_scale, at every step; never negative."""
    drift = energy_drift(run)
    return drift - np.minimum.accumulate(drift)


# ---- symmetry, overlap, speed


def symmetry_error(run: Trajectory, symmetry: Symmetry | None = None) -> Floats:
    """Largest distance between a body and the image of its partner, per frame, in units of the length scale.

    `symmetry` None stands for the symmetries of the scene; the largest error counts. Partners are determined in the
    first frame. For bodies that rotate, the difference of the rotations since the first frame, in radians, times the
    radius counts as well.
    """
    chosen = list(run.scene.symmetries) if symmetry is None else [symmetry]
    if not chosen:
        raise ProblemError("symmetry", "none", f"a symmetry: scene {run.name!r} is not registered with any")
    partners = [s.permutation(run.frame(0).position) for s in chosen]
    out = np.zeros(len(run))
    for part in blocks(run, run.dimension * run.count):
        position = run.positions[part]
        for s, partner in zip(chosen, partners):
            apart = _nearest(s.image(position) - position[:, partner], run.world.periodic)
            out[part] = np.maximum(out[part], lengths(apart).max(axis=1))
    if run.world.turns:
        out = np.maximum(out, _ROTATION_ERROR[run.dimension](run, chosen, partners))
    return out / run.world.length_scale


def _rotation_error_2d(run: Trajectory, symmetries: list[Symmetry], partners: list[Ints]) -> Floats:
    first, radius = run.angles[0], run.world.shapes.radius
    out = np.zeros(len(run))
    for part in blocks(run, run.count):
        turned = run.angles[part] - first
        for s, partner in zip(symmetries, partners):
            apart = np.abs(s.handedness * turned - turned[:, partner]) * radius
            out[part] = np.maximum(out[part], apart.max(axis=1))
    return out


def _rotation_error_3d(run: Trajectory, symmetries: list[Symmetry], partners: list[Ints]) -> Floats:
    """If a body has rotated by Q = R(t) R(0)^T since the start, its partner must have rotated by S Q S^T."""
    first = rotations.matrices(run.orientations[0]).transpose(0, 2, 1)
    radius = run.world.shapes.radius
    out = np.zeros(len(run))
    for part in blocks(run, 9 * run.count):
        q = run.orientations[part]
        turned = rotations.matrices(q.reshape(-1, 4)).reshape(len(q), run.count, 3, 3) @ first
        for s, partner in zip(symmetries, partners):
            matrix = np.asarray(s.matrix)
            apart = matrix @ turned @ matrix.T - turned[:, partner]
            # Rotations that differ by an angle a have |R - R'| = sqrt(8) sin(a / 2).
            half = np.sqrt((apart**2).sum(axis=(2, 3)) / 8.0).clip(max=1.0)
            out[part] = np.maximum(out[part], (2.0 * np.arcsin(half) * radius).max(axis=1))
    return out


_ROTATION_ERROR = {2: _rotation_error_2d, 3: _rotation_error_3d}


def _nearest(apart: Floats, periodic: Periodic | None) -> Floats:
    """Reduces differences of positions to the nearest periodic image; not under shear, where the images move."""
    if periodic is None or periodic.shear_rate:
        return apart
    for axis, side in enumerate(getattr(periodic, name, None) for name in "xyz"[: apart.shape[-1]]):
        if side is not None:
            length = side[1] - side[0]
            apart[..., axis] -= length * np.round(apart[..., axis] / length)
    return apart


def overlap(run: Trajectory) -> Floats:
    """Deepest overlap of two bodies, or of a body and a boundary, per frame, in units of `world.length_scale`.

    It is computed exactly from the state of the frame, and 0 if nothing overlaps.
    """
    world, out = run.world, np.zeros(len(run))
    still = np.zeros((run.count, run.dimension))  # gaps do not depend on velocities
    unturned = run.orientations[0] if world.shapes.round.all() else None  # nor those of discs and spheres on rotations

    def measure(low: int, high: int) -> float:
        with limited(1):  # a thread that waits for its part of one frame costs as much as one that works
            detector = Detector(world)
            for k in range(low, high):
                turned = run.orientations[k] if unturned is None else unturned
                state = State(float(run.time[k]), int(run.step[k]), run.positions[k], turned, still)
                if run.changes:
                    bodies = np.flatnonzero(run.lives[k] > 0)
                    if not len(bodies):
                        continue
                    detector, state = Detector(world.of(bodies, state)), state.of(bodies)
                found = detector.at_ends(state, state, 0.0)
                out[k] = max(0.0, -float(found.gap.min())) if found.count else 0.0
        return 0.0

    frames = FRAMES if run.count >= THREADED_BODIES else len(run)
    on_threads(measure, [(low, min(low + frames, len(run))) for low in range(0, len(run), frames)])
    return out / world.length_scale


def overlap_shares(run: Trajectory) -> Floats:
    """Deepest overlap per frame, relative to the half width of the thinner body of its pair."""
    world, out = run.world, np.zeros(len(run))
    for k, state in enumerate(run.frames()):
        bodies = np.flatnonzero(run.lives[k] > 0) if run.changes else np.arange(run.count)
        if not len(bodies):
            continue
        part, here = (world.of(bodies, state), state.of(bodies)) if run.changes else (world, state)
        deepest = Containment(part, Detector(part)).overlap(here, 0.0)
        out[k] = 0.0 if deepest is None else deepest.share
    return out


def joint_errors(run: Trajectory) -> Floats:
    """The largest error of a joint per frame, in units of `world.length_scale`; 0 for scenes without joints."""
    if run.world.joints is None:
        return np.zeros(len(run))
    return np.array([joint_error(run.world, state)[0] for state in run.frames()])


def fastest(run: Trajectory, rotating: bool = False) -> Floats:
    """Speed of the fastest body per frame, in units of length over time.

    `rotating` adds the angular speed times the radius of bodies that are not round: no point of a body is faster.
    """
    out, shapes = np.zeros(len(run)), run.world.shapes
    arm = np.where(shapes.round, 0.0, shapes.radius)
    rotating = rotating and bool(arm.any())
    for part in blocks(run, (1 + rotating) * run.dimension * run.count):
        speed = lengths(run.velocities[part])
        if rotating:
            speed = speed + arm * np.linalg.norm(run.spins[part].reshape(*speed.shape, -1), axis=2)
        out[part] = speed.max(axis=1)
    return out


# ---- positions of the bodies


@dataclass(frozen=True, eq=False)
class Sides:
    """Numbers of free bodies left and right of x per frame; a body at x counts as right."""

    x: float
    left: Ints
    right: Ints

    @property
    def fuller(self) -> Floats:
        """Fraction of the bodies on the fuller side: 1/2 if they are even, 1 if all are on one side."""
        return np.maximum(self.left, self.right) / (self.left + self.right)


def dividing_line(run: Trajectory) -> float | None:
    """The x of the first vertical segment of the scene, which divides it into left and right; None without one."""
    for boundary in run.scene.boundaries:
        if isinstance(boundary, Segment) and boundary.start[0] == boundary.end[0]:
            return float(boundary.start[0])
    return None


def sides(run: Trajectory, x: float | None = None) -> Sides:
    """Counts the free bodies left and right of `x` by their centers (Maxwell's demon).

    `x` None stands for the dividing segment of the scene, or 0 if it has none.
    """
    if x is None:
        x = dividing_line(run) or 0.0
    if not np.isfinite(x):
        raise ProblemError("x", x, "a finite number: where the dividing line is")
    free = run.geometry["free"]
    left = np.zeros(len(run), np.int64)
    for part in blocks(run, run.count):
        left[part] = ((run.positions[part, :, 0] < x) & (run.lives[part] > 0))[:, free].sum(axis=1)
    return Sides(float(x), left, np.asarray(run.present[:, free].sum(axis=1)) - left)


def spread(run: Trajectory, group: str | int | None = None) -> Floats:
    """Root mean square distance of the bodies that are present from their centroid per frame; a length.

    `group` is the name or index of a group of the scene; None stands for all free bodies.
    """
    chosen = members(run, group)
    out = np.zeros(len(run))
    for part in blocks(run, run.dimension * run.count):
        x, there = run.positions[part][:, chosen], (run.lives[part] > 0)[:, chosen, None]
        count = np.maximum(there.sum(axis=1, keepdims=True), 1)
        mean = (x * there).sum(axis=1, keepdims=True) / count
        out[part] = np.sqrt(((x - mean) ** 2 * there).sum(axis=(1, 2)) / count[:, 0, 0])
    return out


def members(run: Trajectory, group: str | int | None) -> np.ndarray:
    """Mask (n,) of the bodies of a group, by name or index; None stands for all free bodies."""
    if group is None:
        free: np.ndarray = run.geometry["free"]
        return free
    names = [bodies.name for bodies in run.scene.bodies]
    if isinstance(group, str):
        if group not in names:
            raise ProblemError.unknown("group of bodies", group, [name for name in names if name])
        group = names.index(group)
    if isinstance(group, bool) or not 0 <= group < len(names):
        raise ProblemError("group", group, f"a name, or a number from 0 to {len(names) - 1}")
    mask: np.ndarray = run.geometry["group"] == group
    return mask


def neighbors_kept(start: Floats, now: Floats, diameter: float, reach: float = 1.1) -> float:
    """Fraction of the pairs in contact at the start whose distance is still at most `reach` diameters.

    It is 1 if all stayed together and near 0 if they scattered. `start` and `now` are positions (n, 2) of equal discs.
    """
    from scipy.spatial import cKDTree

    pairs = cKDTree(start).query_pairs(diameter * (1.0 + 1e-6), output_type="ndarray")
    if not len(pairs):
        return 1.0
    apart = np.asarray(now)[pairs[:, 0]] - np.asarray(now)[pairs[:, 1]]
    return float((np.hypot(apart[:, 0], apart[:, 1]) <= reach * diameter).mean())
