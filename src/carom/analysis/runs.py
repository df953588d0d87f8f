"""What a run did, measured from its trajectory: energy, overlap, symmetry, sides, spread.

Every function also takes the file of a run that was stopped: it measures what is there. Frames are read in blocks of
a bounded size, so that a run of a million bodies is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..contact.find import find_contacts
from ..errors import ProblemError
from ..geometry import rotations
from ..scene.boundaries import Periodic, Segment
from ..scene.symmetry import Symmetry
from ..solvers.rows import Floats, Ints
from ..trajectory import Trajectory

BLOCK = 1 << 25  # bytes of one array that are read at once


def blocks(run: Trajectory, row: int) -> Iterator[slice]:
    """Slices that cover all frames, each of at most BLOCK bytes (or one frame) for `row` numbers a frame."""
    size = max(1, BLOCK // (8 * max(1, row)))
    return (slice(start, min(start + size, len(run))) for start in range(0, len(run), size))


def lengths(vectors: Floats) -> Floats:
    """|v| of vectors (..., 2) or (..., 3)."""
    flat: Floats = np.hypot(vectors[..., 0], vectors[..., 1])
    return flat if vectors.shape[-1] == 2 else np.hypot(flat, vectors[..., 2])


# ---- energy


def energy_scale(run: Trajectory) -> float:
    """What energy is measured in: the largest kinetic energy of the run, at any step.

    Where gravity acts it is at least the energy of all mass falling by the smallest radius or half width (the world's
    `feature`): else a tower that stands would be measured in its own rounding.
    """
    w = run.world
    fall = float(w.mass[w.free].sum()) * float(lengths(w.gravity)) * w.length_scale
    return max(float(run.steps["kinetic"].max(initial=0.0)), fall) or 1.0


def energy_drift(run: Trajectory) -> Floats:
    """(E(t) - E(0)) / energy_scale, at the start and after every step. E is kinetic plus potential energy."""
    total = run.steps["kinetic"] + run.steps["potential"]
    return (total - total[0]) / energy_scale(run)


def energy_rise(run: Trajectory) -> Floats:
    """How far the energy is above the lowest that it had before, over energy_scale, at every step: never below 0."""
    drift = energy_drift(run)
    return drift - np.minimum.accumulate(drift)


# ---- shape of the state


def symmetry_error(run: Trajectory, symmetry: Symmetry | None = None) -> Floats:
    """Largest distance between a body and the image of its partner, at every frame, in units of the smallest radius.

    `symmetry` None means those that the scene is registered with; of several the largest error counts. Partners are
    found in the first frame. What turns is held to it as well: the difference of the turns since the first frame, in
    radians, times the radius.
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
        error = _turning_error if run.dimension == 2 else _turning_error_in_space
        out = np.maximum(out, error(run, chosen, partners))
    return out / run.world.length_scale


def _turning_error(run: Trajectory, symmetries: list[Symmetry], partners: list[Ints]) -> Floats:
    first, radius = run.angles[0], run.world.shapes.radius
    out = np.zeros(len(run))
    for part in blocks(run, run.count):
        turned = run.angles[part] - first
        for s, partner in zip(symmetries, partners):
            apart = np.abs(s.handedness * turned - turned[:, partner]) * radius
            out[part] = np.maximum(out[part], apart.max(axis=1))
    return out


def _turning_error_in_space(run: Trajectory, symmetries: list[Symmetry], partners: list[Ints]) -> Floats:
    """A body has turned by R(t) R(0)^T since the start; its partner must have by S R(t) R(0)^T S^T."""
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


def _nearest(apart: Floats, periodic: Periodic | None) -> Floats:
    """Differences of places to the nearest image; under shear the images move, and are left alone."""
    if periodic is None or periodic.shear_rate:
        return apart
    for axis, side in enumerate(getattr(periodic, name, None) for name in "xyz"[: apart.shape[-1]]):
        if side is not None:
            length = side[1] - side[0]
            apart[..., axis] -= length * np.round(apart[..., axis] / length)
    return apart


def overlap(run: Trajectory) -> Floats:
    """Deepest overlap of any two bodies, or of a body and a boundary, at every frame, in units of `world.length_scale`.

    Found anew and exactly from the state of the frame: 0 where nothing overlaps.
    """
    world = run.world
    out = np.zeros(len(run))
    for k, state in enumerate(run.frames()):
        found = find_contacts(world, state, state, 0.0)
        out[k] = max(0.0, -float(found.gap.min())) if found.count else 0.0
    return out / world.length_scale


def fastest(run: Trajectory) -> Floats:
    """Speed of the fastest body, at every frame; a length over a time."""
    out = np.zeros(len(run))
    for part in blocks(run, run.dimension * run.count):
        out[part] = lengths(run.velocities[part]).max(axis=1)
    return out


# ---- where the bodies are


@dataclass(frozen=True, eq=False)
class Sides:
    """How many free bodies are left and right of a line (in space, a plane) of constant x; on it counts as right."""

    x: float
    left: Ints
    right: Ints

    @property
    def fuller(self) -> Floats:
        """The part of all that is on the fuller side: 1/2 when even, 1 when all are on one side."""
        return np.maximum(self.left, self.right) / (self.left + self.right)


def dividing_line(run: Trajectory) -> float | None:
    """Where the scene has a wall that divides it, left from right: the x of its first upright segment."""
    for boundary in run.scene.boundaries:
        if isinstance(boundary, Segment) and boundary.start[0] == boundary.end[0]:
            return float(boundary.start[0])
    return None


def sides(run: Trajectory, x: float | None = None) -> Sides:
    """Counts of the bodies by their centers, left and right of the line at `x`: Maxwell's demon.

    `x` None means the scene's own dividing wall, or 0 if it has none.
    """
    if x is None:
        x = dividing_line(run) or 0.0
    if not np.isfinite(x):
        raise ProblemError("x", x, "a finite number: where the dividing line is")
    free = run.geometry["free"]
    left = np.zeros(len(run), np.int64)
    for part in blocks(run, run.count):
        left[part] = (run.positions[part, :, 0][:, free] < x).sum(axis=1)
    return Sides(float(x), left, int(free.sum()) - left)


def spread(run: Trajectory, group: str | int | None = None) -> Floats:
    """Root of the mean square distance of the bodies from their centroid, at every frame; a length.

    `group` is the name or number of a group of the scene; None means all free bodies.
    """
    chosen = _chosen(run, group)
    out = np.zeros(len(run))
    for part in blocks(run, run.dimension * run.count):
        x = run.positions[part][:, chosen]
        out[part] = np.sqrt(((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1))
    return out


def _chosen(run: Trajectory, group: str | int | None) -> np.ndarray:
    """Which bodies: a mask."""
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
