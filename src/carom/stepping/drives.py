"""Forces of joints: springs, dampers and motors.

Springs act as forces do in Verlet's method, half at the start and half at the end of a step; their energy is potential
energy. Dampers and motors are implicit: neither overshoots its speed, however stiff it is.
"""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3, norm, to_world
from ..kernels import kernel
from ..mechanism import add_reactions, eliminate, entry, frame_of, joint_speeds, place_of, put_push


@kernel
def put_springs(springs, position, turn, root, out):
    """Adds the accelerations (n, d) of bodies by springs; returns their energy."""
    energy, row = 0.0, np.empty(out.shape[1])
    none = Vec3(0.0, 0.0, 0.0)
    for k in range(len(springs.stiffness)):
        a, b = springs.body[k, 0], springs.body[k, 1]
        p = place_of(position, a) + to_world(frame_of(turn, a), entry(springs.anchor, k, 0))
        q = place_of(position, b) + to_world(frame_of(turn, b), entry(springs.anchor, k, 1))
        length = norm(q - p)
        e = (q - p) / length if length > 0.0 else none
        stretch = length - springs.length[k]
        energy += 0.5 * springs.stiffness[k] * stretch * stretch
        for side in range(2):
            body = a if side == 0 else b
            if body < 0:
                continue
            force = (springs.stiffness[k] * stretch if side == 0 else -springs.stiffness[k] * stretch) * e
            arm = (p if side == 0 else q) - place_of(position, body)
            put_push(row, force, none, arm, frame_of(turn, body), root[body])
            for c in range(len(row)):
                out[body, c] += row[c] * root[body, c]
    return energy


@kernel
def _drive_rows(turns, body, anchor, direction, k, pose, root, row):
    """Writes the rows (2, d) of a motor, or of a damper, whose direction is the line between its points."""
    position, turn = pose
    none = Vec3(0.0, 0.0, 0.0)
    p = place_of(position, body[k, 0]) + to_world(frame_of(turn, body[k, 0]), entry(anchor, k, 0))
    q = place_of(position, body[k, 1]) + to_world(frame_of(turn, body[k, 1]), entry(anchor, k, 1))
    if len(direction):
        e = to_world(frame_of(turn, body[k, 0]), entry(direction, k, 0))
        p = q
    else:
        length = norm(q - p)
        e = (q - p) / length if length > 0.0 else none
    for side in range(2):
        b = body[k, side]
        if b < 0:
            row[side] = 0.0
            continue
        sign = -1.0 if side == 0 else 1.0
        arm = (p if side == 0 else q) - place_of(position, b)
        force, axis = (none, sign * e) if turns else (sign * e, none)
        put_push(row[side], force, axis, arm, frame_of(turn, b), root[b])


@kernel
def put_drives(mechanisms, at, pose, masses, motion, h, out):
    """Adds the accelerations (n, d) of dampers and motors in a time h, in which neither overshoots its speed.

    An impulse along the row g changes its speed by `|g P|^2`, P the projection onto what joints allow; a damper c takes
    `c h u / (1 + c h |g P|^2)`, a motor what its speed needs, up to its largest force times h. The speed u is that when
    the other accelerations have acted for the time h: `motion` are velocities and these accelerations (n, d).
    """
    velocity, given = motion
    joints, springs, motors = mechanisms
    n, d = velocity.shape
    root, free = masses.root, masses.free
    y, x, row = np.zeros(len(joints.kind)), np.zeros((n, d)), np.empty((2, d))
    ones = np.ones((n, d))
    dampers = len(springs.damping)
    for s in range(dampers + len(motors.speed)):
        is_motor = s >= dampers
        k = s - dampers if is_motor else s
        if not is_motor and springs.damping[k] == 0.0:
            continue
        body = motors.body if is_motor else springs.body
        anchor, axes = motors.anchor if is_motor else springs.anchor, motors.direction[: len(motors.speed) * is_motor]
        turns = motors.turns[k] if is_motor else False
        _drive_rows(turns, body, anchor, axes, k, pose, ones, row)
        speed = 0.0
        for side in range(2):
            b = body[k, side]
            for c in range(d if b >= 0 else 0):
                speed += row[side, c] * velocity[b, c]
        _drive_rows(turns, body, anchor, axes, k, pose, root, row)
        x[:] = 0.0
        for side in range(2):
            b = body[k, side]
            for c in range(d if b >= 0 and free[b] else 0):
                x[b, c] += row[side, c]
        y[:] = 0.0
        y -= joint_speeds(joints, at.val, x, y)
        eliminate(joints, at.lower, 0, len(y), y)
        add_reactions(joints, at.val, y, x)
        size = 0.0
        for b in range(n):
            for c in range(d):
                size += x[b, c] * x[b, c]
                if root[b, c] > 0.0:
                    speed += h * x[b, c] * given[b, c] / root[b, c]
        if size == 0.0:
            continue
        if is_motor:
            impulse = (motors.speed[k] - speed) / size
            impulse = min(max(impulse, -motors.most[k] * h), motors.most[k] * h)
        else:
            impulse = -springs.damping[k] * h * speed / (1.0 + springs.damping[k] * h * size)
        for side in range(2):
            b = body[k, side]
            for c in range(d if b >= 0 and free[b] else 0):
                out[b, c] += root[b, c] * row[side, c] * impulse / h
