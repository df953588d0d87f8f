"""From the contacts of a step to the records of its sub-steps (`solvers/substeps.py`), and from these to poses.

The spins of bodies are those of the frame of the body at the start of the step, whitened. A body on which no normal
impulse acts keeps its free motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.motion import displacement_at
from ..contact.contact_set import DRIFT, FIRST, GAP, NORMAL, OFFSET, POINT, PREDICTED, SECOND, WIDTH, vector
from ..geometry.vectors import Vec3, cross, dot, row3
from ..kernels import kernel, lean
from ..problem.contact_rows import Motion, tangents_of
from ..solvers.rows import Floats, Ints
from ..solvers.substeps import Bodies, Records, layout
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
        """Records and speeds (m, 2) for `count` contacts. The sums of their impulses are a new array, for the report."""
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

    `placed` is a `Motion`, `friction` (m, 3) are coefficients. Boundaries and bodies that are not free have no arms: their
    speeds are the base speeds.
    """
    d, a = len(axes), len(spins)
    arms, mass, base, gap_at, bend, friction_at = layout(axes, spins)
    body, data, n = records.body, records.data, len(free)
    imaged = table.shape[1] > WIDTH
    for i in range(len(table)):
        normal, point = vector(table, i, NORMAL), vector(table, i, POINT)
        s, t = Vec3(-normal.y, normal.x, 0.0), Vec3(0.0, 0.0, 0.0)
        if d == 3:
            sx, sy, sz, tx, ty, tz = tangents_of(normal.x, normal.y, normal.z)
            s, t = Vec3(sx, sy, sz), Vec3(tx, ty, tz)
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
        arm = point - Vec3(placed.position[b, 0], placed.position[b, 1], placed.position[b, 2] if len(axes) == 3 else 0.0)
        if side == 1 and imaged:
            arm, v = arm - vector(table, i, OFFSET), vector(table, i, DRIFT)
        return arm, v
    k = -1 - b
    return point - Vec3(placed.center[k, 0], placed.center[k, 1], placed.center[k, 2] if len(axes) == 3 else 0.0), v


@kernel
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
    motion, root, turn, velocity = bodies.motion, masses.root, end[1], end[2]
    rotation, other = np.empty(3), np.empty(4)
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
    of the bodies on which a normal impulse acted follows; then the work `P . v` of the sum P of the impulses of a body at
    its last velocity, and their size `P . P`, in the metric of the masses.
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


# ---- impacts


@lean
def approach(axes, spins, records, bodies, table, limits, lengths, speeds):
    """Writes normal speeds and resting speeds (m, 2). Returns the largest speed, and the energy of the impacts.

    An impact is a contact that closes in the step and approaches faster than its resting speed. `limits` are the resting
    speeds of the bodies (n,) and coefficients of restitution (m,). `lengths` are the gap at the end of the step up to
    which speeds count for the largest, that up to which bodies touch, and the overlap of a fast contact that may wait
    for the law in the next step, because the step does not close it: relaxation must not stop it. Approach up to the
    last of the `limits`, the speed that the law may have left, is not fast.
    """
    (near, touch, wait), (slow, restitution, left) = lengths, limits
    d, a, motion, body, data = len(axes), len(spins), bodies.motion, records.body, records.data
    arms, mass, base, gap_at, _, _ = layout(axes, spins)
    top, energy = 0.0, 0.0
    for i in range(len(body)):
        first, second = int(table[i, FIRST]), int(table[i, SECOND])
        limit = max(slow[first], slow[second] if second >= 0 else 0.0, left)
        top = max(top, limit)
        for row in range(d):
            u = data[i, base + row]
            for c in range(d):
                u += data[i, row * d + c] * (motion[body[i, 1], c] - motion[body[i, 0], c])
            for c in range(a):
                u += data[i, arms + 2 * row * a + c] * motion[body[i, 0], d + c]
                u += data[i, arms + (2 * row + 1) * a + c] * motion[body[i, 1], d + c]
            if row == 0:
                speeds[i, 0], speeds[i, 1], data[i, gap_at] = u, limit, table[i, GAP]
                if u < -limit and table[i, PREDICTED] <= touch:
                    energy += 0.5 * data[i, mass] * u * u
                elif u < -limit and restitution[i] > 0.0:
                    data[i, gap_at] += wait
            if table[i, PREDICTED] > near:
                break
            top = max(top, -u if row == 0 else abs(u))
    return top, energy


@lean
def put_bends(axes, spins, records, bodies, h, table):
    """Writes by how much each gap at the end of free motion is larger than its displacement along the normal tells."""
    d, a, motion, pull = len(axes), len(spins), bodies.motion, bodies.pull
    body, data = records.body, records.data
    arms, _, base, gap_at, bend, _ = layout(axes, spins)
    for i in range(len(body)):
        first, second, u = body[i, 0], body[i, 1], data[i, base]
        for c in range(d):
            u += data[i, c] * (motion[second, c] - motion[first, c] + 0.5 * h * (pull[second, c] - pull[first, c]))
        for c in range(a):
            u += data[i, arms + c] * (motion[first, d + c] + 0.5 * h * pull[first, d + c])
            u += data[i, arms + a + c] * (motion[second, d + c] + 0.5 * h * pull[second, d + c])
        data[i, bend] = table[i, PREDICTED] - data[i, gap_at] - h * u


@kernel
def involved(body, table, speeds, touch, enough, taken):
    """The closing contacts (k,), ascending, that the law is given. Marks them in `taken` (m,).

    These are the closing contacts of the bodies of impacts, those that were taken before, and others that these are
    connected to by closing contacts, nearest first, as long as there are fewer than `enough`.
    """
    n = body.max()
    marked, out, count, last = np.zeros(n + 1, np.bool_), np.empty(len(body), np.int64), 0, -1
    for i in range(len(body)):
        if taken[i] or (table[i, PREDICTED] <= touch and speeds[i, 0] < -speeds[i, 1]):
            marked[body[i, 0]] = marked[body[i, 1]] = True
    while count > last:
        last, count = count, 0
        for i in range(len(body)):
            close = taken[i] or table[i, PREDICTED] <= touch
            if close and ((marked[body[i, 0]] and body[i, 0] < n) or (marked[body[i, 1]] and body[i, 1] < n)):
                out[count] = i
                count += 1
        if count >= enough:
            break
        for j in range(count):
            marked[body[out[j], 0]] = marked[body[out[j], 1]] = True
    for j in range(count):
        taken[out[j]] = True
    return out[:count]


@lean
def predict(axes, spins, records, bodies, h, before, table):
    """Adds to the predicted gaps of a table what the velocities and displacements of impacts have changed.

    `before` (n + 1, 2 (D + A) + 2) are the motions before these.
    """
    d, a, motion, body, data = len(axes), len(spins), bodies.motion, records.body, records.data
    arms, moved = layout(axes, spins)[0], len(axes) + len(spins) + 2
    for i in range(len(body)):
        first, second, closer = body[i, 0], body[i, 1], 0.0
        for c in range(d):
            for side in range(2):
                b, sign = (first, -1.0) if side == 0 else (second, 1.0)
                change = h * (motion[b, c] - before[b, c]) + motion[b, moved + c] - before[b, moved + c]
                closer += sign * data[i, c] * change
        for c in range(a):
            for side in range(2):
                b, e = (first, data[i, arms + c]) if side == 0 else (second, data[i, arms + a + c])
                change = h * (motion[b, d + c] - before[b, d + c])
                closer += e * (change + motion[b, moved + d + c] - before[b, moved + d + c])
        table[i, PREDICTED] += closer


@lean
def outcome(axes, spins, records, bodies, plan):
    """The deepest overlap at the end of the sub-steps, and the residual, a speed. Makes impulses those of a whole step.

    That of a contact is `|min(A z, u + gap / k)|` along the normal, and the slip that friction within its bound would
    still change.
    """
    d, a, motion, body, data, z = len(axes), len(spins), bodies.motion, records.body, records.data, records.impulse
    arms, mass, base, gap_at, bend, friction = layout(axes, spins)
    moved, time = d + a + 2, plan.count * plan.length
    deepest, residual = 0.0, 0.0
    for i in range(len(body)):
        first, second = body[i, 0], body[i, 1]
        gap, left = data[i, gap_at] + time * data[i, base] + data[i, bend], 0.0
        for c in range(d):
            gap += data[i, c] * (motion[second, moved + c] - motion[first, moved + c])
        for c in range(a):
            gap += data[i, arms + c] * motion[first, moved + d + c] + data[i, arms + a + c] * motion[second, moved + d + c]
        deepest = min(deepest, gap)
        for row in range(d):
            u = data[i, base + row]
            for c in range(d):
                u += data[i, row * d + c] * (motion[second, c] - motion[first, c])
            for c in range(a):
                u += data[i, arms + 2 * row * a + c] * motion[first, d + c]
                u += data[i, arms + (2 * row + 1) * a + c] * motion[second, d + c]
            if row == 0:
                residual = max(residual, abs(min(z[i, 0] / data[i, mass], u + max(gap, 0.0) / plan.length)))
                if z[i, 0] == 0.0:
                    break
            else:
                bound = data[i, friction] * z[i, 0]
                new = min(max(z[i, row] - data[i, mass + row] * u, -bound), bound)
                left += ((z[i, row] - new) / data[i, mass + row]) ** 2
        residual = max(residual, np.sqrt(left))
        for row in range(d):
            z[i, row] *= plan.count
    return -deepest, residual


@lean
def farther(velocity, reach, arm, dimension, h, margin, out):
    """Marks the bodies that move farther than their contacts were searched; returns how many."""
    count = 0
    for b in range(len(velocity)):
        out[b] = displacement_at(velocity, b, arm, dimension, h) > reach[b] + margin
        count += int(out[b])
    return count
