"""From the contacts of a step to the records of its sub-steps (`solvers/substeps.py`), and from these to poses.

The spins of bodies are those of the frame of the body at the start of the step, whitened. A body on which no normal
impulse acts keeps its free motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.contact_set import DRIFT, FIRST, GAP, NORMAL, OFFSET, POINT, WIDTH, vector
from ..geometry.vectors import Vec3, cross, dot, row3
from ..kernels import kernel, lean
from ..problem.assemble import tangents_of
from ..solvers.rows import Floats
from ..solvers.substeps import Bodies, Records, layout, make_substeps, outcome
from .closing_contacts import put_bends
from .rotation import rotate_body, rotate_by


class Axes(NamedTuple):
    """Tuples whose lengths are the numbers of linear and angular components of a velocity, for kernels."""

    linear: tuple[int, ...]
    angular: tuple[int, ...]


AXES = {2: Axes((0, 1), (0,)), 3: Axes((0, 1, 2), (0, 1, 2))}


class Scratch:
    """Arrays of the sub-steps of a world, allocated once: new ones in every step would cost more than filling them."""

    def __init__(self, dimension: int, bodies: int) -> None:
        self.axes = AXES[dimension]
        d, size = len(self.axes.linear), sum(len(part) for part in self.axes)
        motion, before, pull = ((bodies + 1, width) for width in (2 * size + 2, size, size))
        self.bodies = Bodies(np.zeros(motion), np.zeros(before), np.zeros(pull), np.empty(0))
        self.width, self.dimension = d * (d + 2 * (size - d) + 2) + 3, d
        self._grow(64)

    def _grow(self, count: int) -> None:
        self.body, self.data = np.empty((count, 2), np.int64), np.empty((count, self.width))
        self.impulse, self.speeds = np.empty((count, self.dimension)), np.empty((count, 2))

    def taken(self, count: int) -> tuple[Records, Floats]:
        """Records and speeds (m, 2) for `count` contacts. The sums of impulses are a new array, for the report."""
        if count > len(self.speeds):
            self._grow(count + count // 2)
        impulses = (self.impulse[:count], np.empty((count, self.dimension)))
        return Records(self.body[:count], self.data[:count], *impulses), self.speeds[:count]


@lean
def put_bodies(axes, spins, velocity, acceleration, masses, bodies):
    """Writes velocities (n, d) and accelerations (n, d), or (0, d) for gravity alone. Bodies that are not free rest."""
    root, free, motion, pull = masses.root, masses.free, bodies.motion, bodies.pull
    d, size = len(axes), len(axes) + len(spins)
    for b in range(len(velocity)):
        for c in range(motion.shape[1]):
            motion[b, c] = 0.0
        motion[b, size] = root[b, 0] * root[b, 0]
        for c in range(d if free[b] else 0):
            motion[b, c] = velocity[b, c]
            pull[b, c] = acceleration[b, c] if len(acceleration) else masses.gravity[c]
        for c in range(d, velocity.shape[1] if free[b] else 0):
            if root[b, c] > 0.0:
                motion[b, c] = velocity[b, c] / root[b, c]
                pull[b, c] = acceleration[b, c] / root[b, c] if len(acceleration) else 0.0


@lean
def prepare(axes, table, placed, masses, acceleration, friction, h, filled):
    """Fills the records of the contacts of a table and the bodies before the first sub-step; `filled` are both.

    Arguments are those of the kernels below.
    """
    records, bodies = filled
    put_bodies(axes.linear, axes.angular, placed.velocity, acceleration, masses, bodies)
    put_records(axes.linear, axes.angular, table, placed, masses.free, friction, records)
    put_bends(axes.linear, axes.angular, records, bodies, h, table)


@lean
def relax(axes, records, bodies, plan, masses, before, h):
    """Makes the sub-steps; returns what `outcome` and `energy_gain` say about them.

    `before` are velocities and displacements before them.
    """
    make_substeps(axes.linear, axes.angular, records, bodies, plan)
    depth, residual, lift = outcome(axes.linear, axes.angular, records, bodies, plan)
    return (depth, residual, lift), energy_gain(axes.linear, masses, bodies, records, before[0], before[1], h)


@lean
def put_displacements(axes, velocity, shift, masses, bodies):
    """Writes the velocities (n, d) after impacts, and the displacements (n, d) of the start that belong to them."""
    root, motion, d = masses.root, bodies.motion, len(axes)
    moved = motion.shape[1] // 2 + 1
    for b in range(len(velocity)):
        for c in range(velocity.shape[1] if masses.free[b] else 0):
            if c < d:
                motion[b, c], motion[b, moved + c] = velocity[b, c], shift[b, c]
            elif root[b, c] > 0.0:
                motion[b, c], motion[b, moved + c] = velocity[b, c] / root[b, c], shift[b, c] / root[b, c]


@lean
def put_records(axes, spins, table, placed, free, friction, records):
    """Writes the bodies, directions, arms and gaps of the contacts of a table.

    `placed` is a `Motion`, `friction` (m, 3) are coefficients. Boundaries and bodies that are not free have no arms:
    their speeds are the base speeds.
    """
    d, a = len(axes), len(spins)
    arms, mass, base, gap_at, bend, friction_at = layout(axes, spins)
    body, data, n = records.body, records.data, len(free)
    imaged = table.shape[1] > WIDTH
    for i in range(len(table)):
        normal = vector(table, i, NORMAL)
        s, t = Vec3(-normal.y, normal.x, 0.0), Vec3(0.0, 0.0, 0.0)
        if d == 3:
            s, t = tangents_of(normal)
        data[i, gap_at], data[i, bend], data[i, friction_at] = table[i, GAP], 0.0, friction[i, 0]
        for row in range(d):
            e = normal if row == 0 else (s if row == 1 else t)
            for c in range(d):
                data[i, row * d + c] = e[c]
            for c in range(2 * a):
                data[i, arms + 2 * row * a + c] = 0.0
            data[i, mass + row], data[i, base + row] = 0.0, 0.0
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = int(table[i, FIRST + side])
            moves = b >= 0 and free[b]
            body[i, side] = b if moves else n
            arm, v = _arm(axes, table, i, side, placed, imaged)
            if not moves:
                v = v + _point_velocity(axes, placed, b, arm)
            for row in range(d):
                e = normal if row == 0 else (s if row == 1 else t)
                data[i, base + row] += sign * dot(e, v)
                if moves:
                    data[i, mass + row] += placed.root[b, 0] * placed.root[b, 0]
                    _put_arm(axes, data, i, (arms + (2 * row + side) * a, mass + row), sign * cross(arm, e), placed, b)
        for row in range(d):
            data[i, mass + row] = 1.0 / data[i, mass + row]


@kernel(inline="always")
def _arm(axes, table, i, side, placed, imaged):
    """The arm of the point of contact i about the center of a side, and the velocity of a periodic image."""
    point, b = vector(table, i, POINT), int(table[i, FIRST + side])
    v = Vec3(0.0, 0.0, 0.0)
    if b >= 0:
        arm = point - _vector(axes, placed.position, b)
        if side == 1 and imaged:
            arm, v = arm - vector(table, i, OFFSET), vector(table, i, DRIFT)
        return arm, v
    return point - _vector(axes, placed.center, -1 - b), v


@kernel(inline="always")
def _vector(axes, table, i):
    """Row i of a table of points as a vector of space."""
    return Vec3(table[i, 0], table[i, 1], table[i, 2] if len(axes) == 3 else 0.0)


@lean
def _point_velocity(axes, placed, b, arm):
    """The velocity of a point of a body that is not free, or of boundary -1 - b."""
    velocity = placed.velocity[b] if b >= 0 else placed.boundary_velocity[-1 - b]
    if len(axes) == 2:
        spin = velocity[2] if len(velocity) > 2 else 0.0
        return Vec3(velocity[0] - spin * arm.y, velocity[1] + spin * arm.x, 0.0)
    if len(velocity) < 6:
        return Vec3(velocity[0], velocity[1], velocity[2])
    spin = Vec3(velocity[3], velocity[4], velocity[5])
    if b >= 0:
        turn = placed.turn[b]
        spin = Vec3(dot(row3(turn, 0), spin), dot(row3(turn, 1), spin), dot(row3(turn, 2), spin))
    return Vec3(velocity[0], velocity[1], velocity[2]) + cross(spin, arm)


@kernel(inline="always")
def _put_arm(axes, data, i, at, torque, placed, b):
    """Writes the whitened arm of body b, from its torque in the frame of the world, and adds its square to A."""
    root, (arm_at, mass_at) = placed.root[b], at
    if len(axes) == 2:
        if len(root) == 3:
            data[i, arm_at] = torque.z * root[2]
            data[i, mass_at] += data[i, arm_at] ** 2
    elif len(root) == 6:
        turn = placed.turn[b]
        for k in range(3):
            e = (turn[0, k] * torque.x + turn[1, k] * torque.y + turn[2, k] * torque.z) * root[3 + k]
            data[i, arm_at + k] = e
            data[i, mass_at] += e * e


# ---- the end of the step


@kernel(inline="always")
def _put_velocity(motion, root, d, b, start, end):
    """Writes position and velocity of body b. Spins and rotations are in the frame of the body at the start."""
    size = motion.shape[1] // 2 - 1
    for c in range(end[2].shape[1]):
        if c < d:
            end[0][b, c] = start[0][b, c] + motion[b, size + 2 + c]
            end[2][b, c] = motion[b, c]
        elif root[b, c] > 0.0:
            end[2][b, c] = motion[b, c] * root[b, c]


@lean
def relaxed_motion_2d(masses, bodies, start, end):
    """Writes the poses and velocities of the bodies on which a normal impulse acted.

    `start` and `end` are positions, orientations and velocities; those of `end` are of free motion.
    """
    motion, root, turn = bodies.motion, masses.root, end[1]
    for b in range(len(turn)):
        if motion[b, 4] > 0.0 and masses.free[b]:
            _put_velocity(motion, root, 2, b, start, end)
            if root.shape[1] == 3:
                turn[b] = start[1][b] + motion[b, 7] * root[b, 2]


@kernel
def relaxed_motion_3d(masses, bodies, h, start, end):
    """As `relaxed_motion_2d`, after a time h.

    Bodies with unequal moments of inertia rotate freely at their mean spin, and their spin changes as in free rotation.
    """
    _put_relaxed_3d(masses, bodies, h, start, end, np.empty(3), np.empty(4))


@lean
def _put_relaxed_3d(masses, bodies, h, start, end, rotation, other):
    """Writes them; `rotation` and `other` are scratch."""
    motion, root, turn, velocity = bodies.motion, masses.root, end[1], end[2]
    for b in range(len(turn)):
        if motion[b, 7] == 0.0 or not masses.free[b]:
            continue
        _put_velocity(motion, root, 3, b, start, end)
        for c in range(4):
            turn[b, c] = other[c] = start[1][b, c]
        if velocity.shape[1] < 6:
            continue
        for c in range(3):
            rotation[c] = motion[b, 11 + c] * root[b, 3 + c]
        if masses.even[b]:
            rotate_by(turn[b], velocity[b, 3:], rotation, True)
            continue
        for c in range(3):
            rotation[c] /= h
        rotate_body(turn[b], rotation, masses.inertia[b], True, h, masses.scheme)
        rotate_body(other, velocity[b, 3:], masses.inertia[b], True, h, masses.scheme)


@lean
def energy_gain(axes, masses, bodies, records, velocity, shift, h):
    """The energy that bodies have gained in the sub-steps, less the work of accelerations and prescribed motions.

    `velocity` (n, d) are velocities before, `shift` (n, d) displacements before, or (0, d) for none. The kinetic energy
    of the bodies on which a normal impulse acted follows; then the work `P . v` of the sum P of the impulses of a body
    at its last velocity, and their size `P . P`, in the metric of the masses.
    """
    motion, pull, d = bodies.motion, bodies.pull, len(axes)
    size, base = motion.shape[1] // 2 - 1, records.data.shape[1] - d - 3
    gain, kinetic, work, square = 0.0, 0.0, 0.0, 0.0
    for b in range(len(velocity)):
        if motion[b, size + 1] == 0.0 or not masses.free[b]:
            continue
        for c in range(velocity.shape[1]):
            root = masses.root[b, c]
            if root > 0.0:
                weight, unit = (masses.mass[b], 1.0) if c < d else (1.0, root)
                v, old = motion[b, c], velocity[b, c] / unit
                move = motion[b, size + 2 + c] - (shift[b, c] / unit if len(shift) else 0.0)
                push = v - old - h * pull[b, c]
                gain += weight * (0.5 * (v * v - old * old) - pull[b, c] * move)
                kinetic += 0.5 * weight * v * v
                work += weight * v * push
                square += weight * push * push
    for i in range(len(records.total)):
        for row in range(d):
            gain += records.total[i, row] * records.data[i, base + row]
    return gain, kinetic, work, square


@lean
def scale_impulses(axes, bodies, records, velocity, masses, h, part):
    """Takes the share `part` of the sum of impulses of each body off its velocity. Arguments as in `energy_gain`."""
    motion, pull, d = bodies.motion, bodies.pull, len(axes)
    for b in range(len(velocity)):
        for c in range(velocity.shape[1] if masses.free[b] else 0):
            root = masses.root[b, c]
            if root > 0.0:
                old = velocity[b, c] if c < d else velocity[b, c] / root
                motion[b, c] -= part * (motion[b, c] - old - h * pull[b, c])
    for i in range(len(records.total)):
        for row in range(d):
            records.total[i, row] *= 1.0 - part
