"""One contact as a map of everything that it depends on, written once for real and for complex numbers.

A contact is that of a ball (a disc, a sphere, or a vertex, whose radius is zero) with a ball, an edge, a plane, the
inside of a circle or sphere, or the inside of a tube. Bodies are in 3D: in 2D the third coordinates are zero, and
rotation is about the third axis. `z` holds all numbers of a contact in a row (`A`, `B`, ... below).

Derivatives come from complex numbers: with `z + i s` in place of z the imaginary part of an analytic map is s times its
derivative, up to `s^3`; for s = 1e-30 that is exact in floating point, since nothing is subtracted (Squire and Trapp,
"Using complex variables to estimate derivatives of real functions", SIAM Review 40, 1998). Decisions (slip or stick)
are made once, on real numbers.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel

BALL, EDGE, PLANE_SIDE, HOLLOW, TUBE_SIDE = 0, 1, 2, 3, 4  # kinds of features; every contact has a BALL
# Numbers of a body: position and rotation (6), velocity and angular velocity in the frame of the world (6), inverse
# mass, inverse moment of inertia. Numbers of a feature: two points or directions in the frame of the body, a radius.
Q, V, INVERSE_MASS, INVERSE_INERTIA, BODY = 0, 6, 12, 13, 14
RADIUS, FEATURE = 6, 7
# Places in z: the body of the ball, the other one, their features, restitution, friction, gravity.
A, B, OF_BALL, OF_OTHER, RESTITUTION, FRICTION, GRAVITY, LENGTH = 0, 14, 28, 35, 42, 43, 44, 47
ENDS, SHIFT = 25, 24  # numbers after an impact: pose and velocity of both bodies, and by how much its time changes
BEFORE, HELD_ENDS = 25, 37  # numbers while a contact is held: the same, and the velocities of both bodies before it
SMOOTH, STICKS, SLIDES, SLIDES_BACK, SLIDES_IN_SPACE, STICKS_IN_SPACE = 0, 1, 2, 3, 4, 5  # what friction does
STEP = 1e-30  # imaginary step


@kernel(inline="always")
def _placed(z, body, x, y):
    """A vector (x, y) of a body in the frame of the world, without the position."""
    angle = z[body + 5]
    if angle == 0.0 or (x == 0.0 and y == 0.0):  # of discs and boundaries: complex sines are slow
        return x, y
    c, s = np.cos(angle), np.sin(angle)
    return c * x - s * y, s * x + c * y


@kernel
def geometry(z, kind):
    """Gap, unit normal from the ball to the other body, and the point midway between the surfaces."""
    x, y = _placed(z, A, z[OF_BALL], z[OF_BALL + 1])
    cx, cy, cz, r = z[A] + x, z[A + 1] + y, z[A + 2] + z[OF_BALL + 2], z[OF_BALL + RADIUS]
    x, y = _placed(z, B, z[OF_OTHER], z[OF_OTHER + 1])
    dx, dy, dz = z[B] + x - cx, z[B + 1] + y - cy, z[B + 2] + z[OF_OTHER + 2] - cz
    if kind == BALL:
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        gap, nx, ny, nz = length - r - z[OF_OTHER + RADIUS], dx / length, dy / length, dz / length
    elif kind in (EDGE, PLANE_SIDE):
        ux, uy = _placed(z, B, z[OF_OTHER + 3], z[OF_OTHER + 4])
        nx, ny, nz = -ux, -uy, -z[OF_OTHER + 5]
        if kind == EDGE:
            ux, uy = ux - x, uy - y
            length = np.sqrt(ux * ux + uy * uy)
            nx, ny, nz = -uy / length, ux / length, 0.0 * ux
        gap = nx * dx + ny * dy + nz * dz - r
    else:
        if kind == TUBE_SIDE:
            ax, ay, az = z[OF_OTHER + 3], z[OF_OTHER + 4], z[OF_OTHER + 5]
            along = dx * ax + dy * ay + dz * az
            dx, dy, dz = dx - along * ax, dy - along * ay, dz - along * az
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        gap, nx, ny, nz = z[OF_OTHER + RADIUS] - length - r, -dx / length, -dy / length, -dz / length
    half = r + 0.5 * gap
    return gap, nx, ny, nz, cx + half * nx, cy + half * ny, cz + half * nz


@kernel(inline="always")
def _velocity_at(z, body, px, py, pz):
    """The velocity of the point (px, py, pz) of a body."""
    rx, ry, rz = px - z[body], py - z[body + 1], pz - z[body + 2]
    wx, wy, wz = z[body + V + 3], z[body + V + 4], z[body + V + 5]
    return z[body + V] + wy * rz - wz * ry, z[body + V + 1] + wz * rx - wx * rz, z[body + V + 2] + wx * ry - wy * rx


@kernel
def relative_velocity(z, px, py, pz):
    """Velocity of the other body relative to that of the ball at a point."""
    ax, ay, az = _velocity_at(z, A, px, py, pz)
    bx, by, bz = _velocity_at(z, B, px, py, pz)
    return bx - ax, by - ay, bz - az


@kernel
def _mobility(z, point, e, f):
    """`e . K f`: the relative velocity along e at a point for a unit impulse along f there."""
    total = (z[A + INVERSE_MASS] + z[B + INVERSE_MASS]) * (e[0] * f[0] + e[1] * f[1] + e[2] * f[2])
    for side in range(2):
        body = A if side == 0 else B
        rx, ry, rz = point[0] - z[body], point[1] - z[body + 1], point[2] - z[body + 2]
        ex, ey, ez = ry * e[2] - rz * e[1], rz * e[0] - rx * e[2], rx * e[1] - ry * e[0]
        fx, fy, fz = ry * f[2] - rz * f[1], rz * f[0] - rx * f[2], rx * f[1] - ry * f[0]
        total += z[body + INVERSE_INERTIA] * (ex * fx + ey * fy + ez * fz)
    return total


@kernel
def _mobility_across(z, point, n):
    """The mobility along any direction across the normal of balls, for which all are alike."""
    total = z[A + INVERSE_MASS] + z[B + INVERSE_MASS]
    for side in range(2):
        body = A if side == 0 else B
        arm = 0.0 * n[0]
        for k in range(3):
            arm += (point[k] - z[body + k]) * n[k]
        total += z[body + INVERSE_INERTIA] * arm * arm
    return total


@kernel
def slides(z, kind, planar, closing):
    """What friction does at the contact z (real), as in `_impulse`: one of SMOOTH ... STICKS_IN_SPACE."""
    mu = z[FRICTION]
    if mu == 0.0:
        return SMOOTH
    _, nx, ny, nz, px, py, pz = geometry(z, kind)
    n, p = (nx, ny, nz), (px, py, pz)
    vx, vy, vz = relative_velocity(z, px, py, pz)
    un = nx * vx + ny * vy + nz * vz
    asked, ann = -(1.0 + z[RESTITUTION]) * un - closing, _mobility(z, p, n, n)
    if not planar:  # balls: a normal impulse causes no slip, and resistance is the same in all directions
        sx, sy, sz = vx - un * nx, vy - un * ny, vz - un * nz
        speed = np.sqrt(sx * sx + sy * sy + sz * sz)
        if speed == 0.0:
            return STICKS_IN_SPACE
        t = (sx / speed, sy / speed, sz / speed)
        return STICKS_IN_SPACE if speed / _mobility(z, p, t, t) <= mu * asked / ann else SLIDES_IN_SPACE
    t = (-ny, nx, 0.0 * nx)
    ut, ant, att = -ny * vx + nx * vy, _mobility(z, p, n, t), _mobility(z, p, t, t)
    det = ann * att - ant * ant
    normal, tangent = (att * asked + ant * ut) / det, (-ann * ut - ant * asked) / det
    if normal > 0.0 and abs(tangent) <= mu * normal:
        return STICKS
    for back in range(2):
        sign = -1.0 if back else 1.0
        normal = asked / (ann + sign * mu * ant)
        if normal > 0.0 and sign * (ut + (ant + sign * mu * att) * normal) <= 0.0:
            return SLIDES_BACK if back else SLIDES
    return SMOOTH


@kernel
def _impulse(z, touch, mode, closing):
    """The impulse on the other body: its normal part, and all of it as a vector.

    The contact separates afterwards by its restitution, less a speed `closing`.
    """
    _, nx, ny, nz, px, py, pz = touch
    n, p = (nx, ny, nz), (px, py, pz)
    vx, vy, vz = relative_velocity(z, px, py, pz)
    un = nx * vx + ny * vy + nz * vz
    asked, ann, mu = -(1.0 + z[RESTITUTION]) * un - closing, _mobility(z, p, n, n), z[FRICTION]
    if mode == SMOOTH:
        normal = asked / ann
        return normal, normal * nx, normal * ny, normal * nz
    if mode in (SLIDES_IN_SPACE, STICKS_IN_SPACE):
        normal = asked / ann
        sx, sy, sz = vx - un * nx, vy - un * ny, vz - un * nz
        if mode == STICKS_IN_SPACE:  # without the direction of the slip, which may be zero
            push = 1.0 / _mobility_across(z, p, n)
        else:
            push = mu * normal / np.sqrt(sx * sx + sy * sy + sz * sz)
        return normal, normal * nx - push * sx, normal * ny - push * sy, normal * nz - push * sz
    t = (-ny, nx, 0.0 * nx)
    ant = _mobility(z, p, n, t)
    if mode == STICKS:
        ut, att = -ny * vx + nx * vy, _mobility(z, p, t, t)
        det = ann * att - ant * ant
        normal, tangent = (att * asked + ant * ut) / det, (-ann * ut - ant * asked) / det
    else:
        share = mu if mode == SLIDES else -mu
        normal = asked / (ann + share * ant)
        tangent = share * normal
    return normal, normal * nx - tangent * ny, normal * ny + tangent * nx, 0.0 * nx


@kernel(inline="always")
def _advance(z, free, time):
    """Moves both bodies at their velocities, which change under gravity, by a small time."""
    for side in range(2):
        body = A if side == 0 else B
        for k in range(6):
            z[body + k] += time * z[body + V + k]
        for k in range(3):
            z[body + V + k] += time * z[GRAVITY + k] if free[side] else 0.0


@kernel(inline="always")
def _push(z, touch, push):
    """Changes the velocities by an impulse (normal part, vector) on the other body."""
    _, jx, jy, jz = push
    for side in range(2):
        body, sign = (A, -1.0) if side == 0 else (B, 1.0)
        rx, ry, rz = touch[4] - z[body], touch[5] - z[body + 1], touch[6] - z[body + 2]
        m, w = sign * z[body + INVERSE_MASS], sign * z[body + INVERSE_INERTIA]
        z[body + V] += m * jx
        z[body + V + 1] += m * jy
        z[body + V + 2] += m * jz
        z[body + V + 3] += w * (ry * jz - rz * jy)
        z[body + V + 4] += w * (rz * jx - rx * jz)
        z[body + V + 5] += w * (rx * jy - ry * jx)


@kernel
def _time_shift(z, touch):
    """By how much the gap closes later."""
    vx, vy, vz = relative_velocity(z, touch[4], touch[5], touch[6])
    return -touch[0] / (touch[1] * vx + touch[2] * vy + touch[3] * vz)


@kernel
def impact(z, kind, mode, free, timed, out):
    """Bodies after the impact, for the time of the unchanged impact: writes `out` (25,), returns the impulse.

    If `timed`, the impact takes place when the gap is zero. A change of z moves it by `d = -gap / u_n`, to which the
    bodies are moved before and from which they are moved back after the impact: this is the saltation matrix. `free`
    are the flags of the two bodies; z is changed.
    """
    touch = geometry(z, kind)
    shift = 0.0 * touch[0]
    if timed:
        shift = _time_shift(z, touch)
        _advance(z, free, shift)
        touch = geometry(z, kind)
    push = _impulse(z, touch, mode, 0.0)
    _push(z, touch, push)
    for side in range(2):
        body, at = (A, 0) if side == 0 else (B, 12)
        for k in range(6):
            out[at + k] = z[body + k] - shift * z[body + V + k]
            out[at + 6 + k] = z[body + V + k]
        for k in range(3):
            out[at + 6 + k] -= shift * z[GRAVITY + k] if free[side] else 0.0
    out[SHIFT] = shift
    return push


@kernel
def linear_map(z, how, ins, outs, values, slopes):
    """The derivative (outs, ins) of the numbers `outs` after an impact with respect to the numbers `ins` of z.

    `how` are kind, mode, flags of free bodies, and whether it is timed. Writes the numbers `values` (24,) after it and
    `slopes`, and returns the impulse.
    """
    kind, mode, free, timed = how
    work, out = z.copy(), np.empty(ENDS)
    found = impact(work, kind, mode, free, timed, out)
    for j in range(ENDS):
        values[j] = out[j]
    moved, ends = np.empty(LENGTH, np.complex128), np.empty(ENDS, np.complex128)
    for i in range(len(ins)):
        for k in range(LENGTH):
            moved[k] = z[k]
        moved[ins[i]] = complex(z[ins[i]], STEP)
        impact(moved, kind, mode, free, timed, ends)
        for j in range(len(outs)):
            slopes[j, i] = ends[outs[j]].imag / STEP
    return found


@kernel
def geometry_map(z, kind, ins, slopes):
    """Gap, normal and point of a contact, (7,), and their derivatives `slopes` (7, ins), which are written."""
    values, moved = np.empty(7), np.empty(LENGTH, np.complex128)
    found = geometry(z, kind)
    for j in range(7):
        values[j] = found[j]
    for i in range(len(ins)):
        for k in range(LENGTH):
            moved[k] = z[k]
        moved[ins[i]] = complex(z[ins[i]], STEP)
        ends = geometry(moved, kind)
        for j in range(7):
            slopes[j, i] = ends[j].imag / STEP
    return values


# ---- contacts that are held


@kernel
def closing_speed(z, kind, free, time, kept):
    """The speed at which a contact closes its gap until a time from now, as `stepping.resting` has it.

    The gap is that at the end of free motion, and less what free motion closes along the normal of now. `kept` (12,)
    is overwritten.
    """
    _, nx, ny, nz, px, py, pz = geometry(z, kind)
    vx, vy, vz = relative_velocity(z, px, py, pz)
    for side in range(2):
        body, at = (A, 0) if side == 0 else (B, 6)
        for k in range(6):
            kept[at + k] = z[body + k]
            z[body + k] += time * z[body + V + k]
            if k < 3 and free[side]:
                z[body + k] += 0.5 * time * time * z[GRAVITY + k]
    gap = geometry(z, kind)[0]
    for k in range(6):
        z[A + k], z[B + k] = kept[k], kept[6 + k]
    mean = nx * vx + ny * vy + nz * vz
    gx, gy, gz = nx * z[GRAVITY], ny * z[GRAVITY + 1], nz * z[GRAVITY + 2]
    if free[0] != free[1]:
        mean += 0.5 * time * (gx + gy + gz) * (1.0 if free[1] else -1.0)
    return gap / time - mean


@kernel
def hold(z, how, shift, out, work):
    """Bodies that a contact holds from now on: writes `out` (37,) and `work` (12,), returns the impulse.

    `how` are kind, mode, flags of free bodies, the time for which they are held, whether the contact closes its gap in
    that time, whether it is held from when its gap is zero, and the share of the mean velocity at which they move
    (`stepping.resting`). Restitution is zero. `shift` is the change of the time at which their hold begins, for the
    unchanged end; numbers are those for the unchanged time. z is changed.
    """
    kind, mode, free, time, closes, touches, share = how
    z[RESTITUTION] = 0.0
    if touches:
        shift = _time_shift(z, geometry(z, kind))
    _advance(z, free, shift)
    for k in range(6):
        out[BEFORE + k], out[BEFORE + 6 + k] = z[A + V + k], z[B + V + k]
    closing = closing_speed(z, kind, free, time - shift, work) if closes else 0.0 * shift
    touch = geometry(z, kind)
    for side in range(2):
        body = A if side == 0 else B
        for k in range(3):
            z[body + V + k] += (time - shift) * z[GRAVITY + k] if free[side] else 0.0
    push = _impulse(z, touch, mode, closing)
    _push(z, touch, push)
    for side in range(2):
        body, at = (A, 0) if side == 0 else (B, 12)
        for k in range(6):
            moved = z[body + V + k] + 0.5 * share * (out[BEFORE + 6 * side + k] - z[body + V + k])
            out[at + k], out[at + 6 + k] = z[body + k] - shift * moved, moved
    out[SHIFT] = shift
    return push


@kernel
def held_map(z, how, ins, outs, values, slopes):
    """As `linear_map` for a contact that is held; the last column of `slopes` is that of the time of its start."""
    out = np.empty(HELD_ENDS)
    found = hold(z.copy(), how, 0.0, out, z.copy())
    for j in range(HELD_ENDS):
        values[j] = out[j]
    moved, work = np.empty(LENGTH, np.complex128), np.empty(LENGTH, np.complex128)
    ends = np.empty(HELD_ENDS, np.complex128)
    for i in range(len(ins) + 1):
        for k in range(LENGTH):
            moved[k] = z[k]
        shift = complex(0.0, 0.0)
        if i < len(ins):
            moved[ins[i]] = complex(z[ins[i]], STEP)
        else:
            shift = complex(0.0, STEP)
        hold(moved, how, shift, ends, work)
        for j in range(len(outs)):
            slopes[j, i] = ends[outs[j]].imag / STEP
    return found


@kernel
def closing_map(z, kind, free, time, ins, slopes):
    """The closing speed of a contact, and its derivatives `slopes` (ins,), which are written."""
    moved, work = np.empty(LENGTH, np.complex128), np.empty(LENGTH, np.complex128)
    for i in range(len(ins)):
        for k in range(LENGTH):
            moved[k] = z[k]
        moved[ins[i]] = complex(z[ins[i]], STEP)
        slopes[i] = closing_speed(moved, kind, free, time, work).imag / STEP
    return closing_speed(z, kind, free, time, z.copy())
