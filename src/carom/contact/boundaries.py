"""Boundaries: where they are at an instant, and gaps of points, discs and rims to them.

A new kind of boundary needs its gap in `point_gap`, and in 3D the gap along a rim in `rim_wave`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry import rotations
from ..geometry.vectors import Vec3, dot, norm, transposed
from ..kernels import kernel, lean
from ..solvers.rows import Floats
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, TUBE, Boundaries, World
from .parts import world_point


def boundaries_at(world: World, time: float, step: float) -> tuple[Boundaries, Boundaries]:
    """The boundaries at `time` and at `time + step`, both with the velocities that lead from one to the other.

    The velocity in a step is the displacement divided by the step, so that the boundary ends where its motion says.
    """
    if not world.moving_boundaries:
        return world.boundaries, world.boundaries
    start, place0, turn0 = _moved(world, time)
    end, place1, turn1 = _moved(world, time + step)
    velocity = np.zeros_like(world.boundaries.velocity)
    if step > 0.0:
        velocity[:, : world.dimension] = (place1 - place0) / step
        velocity[:, world.dimension :] = rotations.rotation_between(turn0, turn1) / step
    return start._replace(velocity=velocity), end._replace(velocity=velocity)


def _moved(world: World, time: float) -> tuple[Boundaries, Floats, Floats]:
    """The boundaries at a time, their displacements (2D) or centers (3D), and their orientations."""
    home, dim = world.boundaries, world.dimension
    poses: dict[int, tuple[float, ...]] = {}  # sides of a container share one motion
    for motion in world.boundary_motions:
        if id(motion) not in poses:
            poses[id(motion)] = motion.pose(time, dim)
    pose = np.array([poses[id(motion)] for motion in world.boundary_motions], dtype=np.float64)
    turn = rotations.orientation_of(pose[:, dim:])
    center = home.center + pose[:, :dim]
    point, ends, axis = home.point - home.center, home.axis - home.center, home.axis
    if pose[:, dim:].any():
        point, ends, axis = (rotations.rotated(turn, vector) for vector in (point, ends, axis))
    segment = (home.kind == SEGMENT)[:, None]  # its axis is a point, the other end
    point, axis = center + point, np.where(segment, center + ends, axis)
    # The velocity of a point is along its secant: arms about the center are taken in the middle of the step.
    moved = Boundaries(home.kind, point, axis, home.radius, center, home.velocity)
    return moved, pose[:, :2] if dim == 2 else center, turn


# ---- tables of boundaries for kernels, in 2D and 3D

# Columns of a table of boundaries, one row each; in 2D the third coordinates are zero.
KIND, POINT, AXIS, RADIUS, ENTRIES = 0, 1, 4, 7, 8


def boundary_table(boundaries: Boundaries) -> Floats:
    """Boundaries as one array (w, ENTRIES), which is passed to kernels faster."""
    out, dim = np.zeros((len(boundaries.kind), ENTRIES)), boundaries.point.shape[1]
    out[:, KIND], out[:, RADIUS] = boundaries.kind, boundaries.radius
    out[:, POINT : POINT + dim], out[:, AXIS : AXIS + dim] = boundaries.point, boundaries.axis
    return out


class Boundary(NamedTuple):
    """One boundary at an instant, as a value for kernels."""

    kind: float
    point: Vec3
    axis: Vec3  # normal of a plane, direction of a tube, other end of a segment
    radius: float


@kernel(inline="always")
def boundary_of(table, w):
    """Boundary w of a table."""
    point = Vec3(table[w, POINT], table[w, POINT + 1], table[w, POINT + 2])
    axis = Vec3(table[w, AXIS], table[w, AXIS + 1], table[w, AXIS + 2])
    return Boundary(table[w, KIND], point, axis, table[w, RADIUS])


@kernel
def point_gap(boundary, p):
    """Distance of a point from a boundary, and the unit normal from the point to it; zero where there is none."""
    kind, axis = boundary.kind, boundary.axis
    e = p - boundary.point
    if kind == PLANE:
        return dot(e, axis), -axis
    if kind == SEGMENT:
        axis = axis - boundary.point
        e = e - min(max(dot(e, axis) / dot(axis, axis), 0.0), 1.0) * axis
    elif kind == TUBE:
        e = e - dot(e, axis) * axis
    distance = norm(e)
    if kind in (INSIDE, TUBE):
        gap, sign = boundary.radius - distance, 1.0
    else:
        gap, sign = distance - (boundary.radius if kind == OUTSIDE else 0.0), -1.0
    if distance > 0.0:
        return gap, sign * e / distance
    if kind == SEGMENT:
        return gap, Vec3(-axis.y, axis.x, 0.0) / norm(axis)
    return gap, Vec3(0.0, 0.0, 0.0)


@kernel
def passes(before, after, p, q):
    """Whether a point that moves from p to q passes through a segment that moves from `before` to `after`."""
    side0, side1 = _side(before, p), _side(after, q)
    if (side0 > 0.0) == (side1 > 0.0):
        return False
    t = side0 / (side0 - side1)
    start = before.point + t * (after.point - before.point)
    axis = before.axis + t * (after.axis - before.axis) - start
    along = dot(p + t * (q - p) - start, axis) / dot(axis, axis)
    return 0.0 <= along <= 1.0


@lean
def gap_on_the_way(before, after, p, q):
    """The smallest gap of a point that moves from p to q past a round obstacle or the ends of a segment.

    Infinite if the point is nearest at one of the ends of its way, or if the boundary has no outside.
    """
    if before.kind == OUTSIDE:
        return _nearest_on_the_way(p - before.point, q - after.point) - before.radius
    if before.kind == SEGMENT:
        one = _nearest_on_the_way(p - before.point, q - after.point)
        return min(one, _nearest_on_the_way(p - before.axis, q - after.axis))
    return np.inf


@lean(inline="always")
def _nearest_on_the_way(e, f):
    """The distance from the origin of the line from e to f, infinite where it is that of e or f."""
    w = f - e
    along, square = dot(e, w), dot(w, w)
    return np.inf if along >= 0.0 or -along >= square else norm(e - (along / square) * w)


@kernel(inline="always")
def _side(segment, p):
    e, f = segment.axis - segment.point, p - segment.point
    return e.x * f.y - e.y * f.x


# ---- 3D

LEVEL_RIM = 1e-4  # a rim whose gap varies by less (relative to its radius) has no foremost point
WAVE_ITERATIONS = 8  # iterations for the maximum of a wave
WAVE_SAMPLES = 24  # angles at which a wave is sampled to find its maxima


@kernel
def rim_wave(boundary, pose, radius, height):
    """Coefficients of how close to a boundary a rim is at angle t: a cos t + b sin t + c cos 2t + d sin 2t, a length.

    For planes and shells c = d = 0. The rim is a circle of `radius` at `height` on the z axis of a pose.
    """
    axes, u = transposed(pose.turn), boundary.axis
    au, bu = dot(axes.x, u), dot(axes.y, u)
    if boundary.kind == PLANE:
        return -radius * au, -radius * bu, 0.0, 0.0
    d = world_point(pose, Vec3(0.0, 0.0, height)) - boundary.point
    r = radius / boundary.radius
    a, b = dot(axes.x, d), dot(axes.y, d)
    if boundary.kind == INSIDE:
        return r * a, r * b, 0.0, 0.0
    along, square = dot(d, u), r * radius
    return r * (a - along * au), r * (b - along * bu), 0.25 * square * (bu * bu - au * au), -0.5 * square * au * bu


@kernel
def summit(wave, t):
    """The angle of a maximum of a wave, by Newton's method from t."""
    a, b, c, d = wave
    if c == 0.0 and d == 0.0:
        return np.arctan2(b, a)
    for _ in range(WAVE_ITERATIONS):
        c1, s1, c2, s2 = np.cos(t), np.sin(t), np.cos(2.0 * t), np.sin(2.0 * t)
        slope = -a * s1 + b * c1 - 2.0 * c * s2 + 2.0 * d * c2
        bend = -a * c1 - b * s1 - 4.0 * c * c2 - 4.0 * d * s2
        step = -slope / bend if bend < 0.0 else (0.2 if slope > 0.0 else -0.2)
        t += min(max(step, -0.3), 0.3)
    return t


@kernel(inline="always")
def _wave_height(wave, t):
    return wave[0] * np.cos(t) + wave[1] * np.sin(t) + wave[2] * np.cos(2.0 * t) + wave[3] * np.sin(2.0 * t)


@lean
def summits(wave, out):
    """Writes the angles of the maxima of a wave, at most two, to `out`; returns their number."""
    a, b, c, d = wave
    if c == 0.0 and d == 0.0:
        out[0] = np.arctan2(b, a)
        return 1
    n = 0
    step = 2.0 * np.pi / WAVE_SAMPLES
    for i in range(WAVE_SAMPLES):
        before, here, after = (
            _wave_height(wave, (i - 1) * step),
            _wave_height(wave, i * step),
            _wave_height(wave, (i + 1) * step),
        )
        # Of two equal samples on both sides of a maximum the first counts.
        if here > before and here >= after and n < 2:
            out[n] = summit(wave, i * step)
            n += 1
    return n
