"""Contacts that are held, on the active set that the stepper has found: impulses, and their derivatives.

With the rows R (k, N) of the closed contacts, the inverse masses W and the velocity v at the end of free motion, the
impulses y give `u = R (v + W R^T y) + b`. Each contact has

    normal    u_n = 0
    sticking  u_t = 0
    sliding   y_t + mu y_n s = 0,  s = u_t / |u_t|.

Newton's method starts at the impulses of the stepper, so that one step usually suffices. Its matrix `J = P + Q R W R^T`
is that of the implicit function theorem as well: with the change du of u for fixed impulses, that of the impulses is
`dy = -J^-1 (Q du + y_n s dmu)`. Rows change with the geometry of contacts, whose derivatives come from complex numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..derivatives.implicit import RANK
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .contact_map import (
    BODY,
    FEATURE,
    FRICTION,
    GRAVITY,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LENGTH,
    OF_BALL,
    STEP,
    A,
    B,
    V,
    geometry,
    relative_velocity,
)

LARGEST_ACTIVE_SET = 300  # rows up to which equations are solved here; a few milliseconds
AT_BOUND = 1e-6  # room to the bound of friction, relative to it, up to which a contact slides
SOLVED = 1e-12  # residual, relative to the fastest speed, at which Newton's method has converged
NEWTON_STEPS = 6
CLOSED = 1e-5  # normal speed, relative to the speed of rest, up to which a contact counts as closed, as in `resting`
STILL = 1e-9  # slip, relative to the fastest speed, up to which a contact does not slide
FEASIBLE = 1e-8  # impulse that pulls or exceeds the bound of friction, relative to the largest, that is rounding error


class Island(NamedTuple):
    """m contacts of n bodies that are held for a time."""

    z: Floats  # (m, LENGTH) numbers of the contacts at the start
    kind: Ints  # (m,)
    pair: Ints  # (m, 2) bodies; -1 for what is not free
    inside: Ints  # (m, LENGTH) numbers on which a contact depends,
    column: Ints  # (m, LENGTH) where they are among all,
    count: Ints  # (m,) and how many there are
    wide: int  # number of all
    bodies: int
    time: float
    planar: bool


class Rows(NamedTuple):
    """The rows of an island."""

    touch: Floats  # (m, 7) gap, normal, point
    direction: Floats  # (m, 1 + t, 3) normal and tangents
    rows: Floats  # (m, 2, 1 + t, 6) of both actors
    speed: Floats  # (m, 2, 6) velocities of the actors that are not free
    base: Floats  # (m, 1 + t) speeds that no impulse changes
    closing: Floats  # (m,) closing speeds, which are part of it
    before: Floats  # (n, 6) velocities at the start
    velocity: Floats  # (n, 6) at the end of free motion
    inverse: Floats  # (n, 6) inverse masses


class ActiveSet(NamedTuple):
    """The answer of an island."""

    impulse: Floats  # (m, 1 + t)
    velocity: Floats  # (n, 6)
    inverse: Floats  # (k, k) inverse of J, or pseudo-inverse
    q: Floats  # (k, k) derivative of the equations with respect to the speeds
    slip: Floats  # (m, t) directions of the contacts that slide; zero for the others


@kernel(inline="always")
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _tangents(n, out, planar):
    """Writes normal and tangents to `out` (1 + t, 3)."""
    out[0, 0], out[0, 1], out[0, 2] = n
    if planar:
        out[1, 0], out[1, 1], out[1, 2] = -n[1], n[0], 0.0
        return
    s = _cross(n, _helper(n))
    length = np.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
    s = (s[0] / length, s[1] / length, s[2] / length)
    out[1, 0], out[1, 1], out[1, 2] = s
    out[2, 0], out[2, 1], out[2, 2] = _cross(n, s)


@kernel(inline="always")
def _helper(n):
    """The axis that is farthest from a normal."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        return 1.0, 0.0, 0.0
    return (0.0, 1.0, 0.0) if y <= z else (0.0, 0.0, 1.0)


@kernel
def _tangent_changes(n, s, dn, out, planar):
    """Writes the changes of normal and tangents for that of the normal, dn; s is the first tangent."""
    out[0, 0], out[0, 1], out[0, 2] = dn
    if planar:
        out[1, 0], out[1, 1], out[1, 2] = -dn[1], dn[0], 0.0
        return
    raw, ds = _cross(n, _helper(n)), _cross(dn, _helper(n))
    length = np.sqrt(raw[0] * raw[0] + raw[1] * raw[1] + raw[2] * raw[2])
    ds = (ds[0] / length, ds[1] / length, ds[2] / length)
    along = s[0] * ds[0] + s[1] * ds[1] + s[2] * ds[2]
    ds = (ds[0] - along * s[0], ds[1] - along * s[1], ds[2] - along * s[2])
    one, other = _cross(dn, s), _cross(n, ds)
    out[1, 0], out[1, 1], out[1, 2] = ds
    out[2, 0], out[2, 1], out[2, 2] = one[0] + other[0], one[1] + other[1], one[2] + other[2]


@kernel
def island_rows(island, closing):
    """The rows of an island; `closing` (m,) are the speeds at which gaps close."""
    m, n, wide = len(island.z), island.bodies, 2 if island.planar else 3
    touch, direction, rows = np.empty((m, 7)), np.empty((m, wide, 3)), np.zeros((m, 2, wide, 6))
    speed, base, inverse = np.zeros((m, 2, 6)), np.zeros((m, wide)), np.zeros((n, 6))
    before, velocity = np.zeros((n, 6)), np.zeros((n, 6))
    for c in range(m):
        z, base[c, 0] = island.z[c], closing[c]
        found = geometry(z, island.kind[c])
        for k in range(7):
            touch[c, k] = found[k]
        _tangents((found[1], found[2], found[3]), direction[c], island.planar)
        for side in range(2):
            at, sign, body = (A, -1.0, island.pair[c, 0]) if side == 0 else (B, 1.0, island.pair[c, 1])
            turns = body < 0 or z[at + INVERSE_INERTIA] > 0.0
            arm = (found[4] - z[at], found[5] - z[at + 1], found[6] - z[at + 2])
            for r in range(wide):
                e = (direction[c, r, 0], direction[c, r, 1], direction[c, r, 2])
                turn = _cross(arm, e)
                for k in range(3):
                    rows[c, side, r, k] = sign * e[k]
                    rows[c, side, r, 3 + k] = sign * turn[k] if turns else 0.0
            for k in range(6):
                if body < 0:
                    speed[c, side, k] = z[at + V + k]
                    for r in range(wide):
                        base[c, r] += rows[c, side, r, k] * z[at + V + k]
                else:
                    before[body, k] = velocity[body, k] = z[at + V + k]
                    velocity[body, k] += island.time * z[GRAVITY + k] if k < 3 else 0.0
                    inverse[body, k] = z[at + (INVERSE_MASS if k < 3 else INVERSE_INERTIA)]
    return Rows(touch, direction, rows, speed, base, closing, before, velocity, inverse)


@kernel
def pushed(island, rows, y):
    """Changes of the velocities (n, 6) by impulses y (m, 1 + t), times masses."""
    out = np.zeros((island.bodies, 6))
    for c in range(len(y)):
        for side in range(2):
            body = island.pair[c, side]
            for r in range(y.shape[1] if body >= 0 else 0):
                for k in range(6):
                    out[body, k] += rows.rows[c, side, r, k] * y[c, r]
    return out


@kernel
def speeds(island, rows, velocity):
    """The speeds u (m, 1 + t) of contacts for velocities (n, 6)."""
    out = rows.base.copy()
    for c in range(len(out)):
        for side in range(2):
            body = island.pair[c, side]
            for r in range(out.shape[1] if body >= 0 else 0):
                for k in range(6):
                    out[c, r] += rows.rows[c, side, r, k] * velocity[body, k]
    return out


@kernel
def _gram(island, rows):
    """R W R^T (k, k)."""
    m, wide = rows.base.shape
    out = np.zeros((m * wide, m * wide))
    for c in range(m):
        for side in range(2):
            body = island.pair[c, side]
            for d in range(m if body >= 0 else 0):
                for other in range(2):
                    if island.pair[d, other] != body:
                        continue
                    for r in range(wide):
                        for s in range(wide):
                            for k in range(6):
                                out[c * wide + r, d * wide + s] += (
                                    rows.rows[c, side, r, k] * rows.inverse[body, k] * rows.rows[d, other, s, k]
                                )
    return out


@kernel
def _times(a, b):
    """The product of two matrices: the same bits for any number of threads."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1] if factor != 0.0 else 0):
                out[i, j] += factor * b[k, j]
    return out


@kernel
def _largest(values):
    """The largest absolute value."""
    out = 0.0
    for one in values.flat:
        out = max(out, abs(one))
    return out


@kernel
def _length(vector, first):
    """The length of a vector from an entry on."""
    out = 0.0
    for k in range(first, len(vector)):
        out += vector[k] * vector[k]
    return np.sqrt(out)


@kernel
def _inverse(matrix):
    """The inverse, by elimination with complete pivoting; the pseudo-inverse if the rank is not full."""
    k = len(matrix)
    a, out = matrix.copy(), np.eye(k)
    largest, order = _largest(matrix), np.full(k, -1)
    used = np.zeros(k, np.bool_)
    for _ in range(k):
        best, i, j = 0.0, -1, -1
        for p in range(k):
            for q in range(k if not used[p] else 0):
                if order[q] < 0 and abs(a[p, q]) > best:
                    best, i, j = abs(a[p, q]), p, q
        if best <= RANK * largest:
            return np.ascontiguousarray(np.linalg.pinv(matrix, RANK))
        used[i], order[j] = True, i
        scale = 1.0 / a[i, j]
        for q in range(k):
            a[i, q] *= scale
            out[i, q] *= scale
        for p in range(k):
            factor = a[p, j]
            if p != i and factor != 0.0:
                for q in range(k):
                    a[p, q] -= factor * a[i, q]
                    out[p, q] -= factor * out[i, q]
    return out[order]


@kernel
def _equations(y, u, mu, slides, slip, speed, gram):
    """J (k, k), Q (k, k), and the residual (k, 1).

    The equations of friction have the unit of impulses, all others that of speeds. Without friction, y_t = 0.
    """
    m, r = y.shape
    p, q, wanted = np.zeros((m * r, m * r)), np.zeros((m * r, m * r)), u.copy()
    for c in range(m):
        at, rough = c * r, mu[c] > 0.0
        q[at, at] = 1.0
        for s in range(1, r):
            if rough and not slides[c]:
                q[at + s, at + s] = 1.0
                continue
            wanted[c, s] = y[c, s] + mu[c] * y[c, 0] * slip[c, s - 1]
            p[at + s, at + s] = 1.0
            if not slides[c]:
                continue
            p[at + s, at] = mu[c] * slip[c, s - 1]
            for other in range(1, r if r > 2 and speed[c] > 0.0 else 1):
                across = (1.0 if s == other else 0.0) - slip[c, s - 1] * slip[c, other - 1]
                q[at + s, at + other] = mu[c] * y[c, 0] * across / speed[c]
    for i in range(m * r):
        for k in range(m * r):
            for j in range(m * r if q[i, k] != 0.0 else 0):
                p[i, j] += q[i, k] * gram[k, j]
    return p, q, wanted.reshape(m * r, 1)


@kernel
def solved(island, rows, guess):
    """The answer on the active set of the impulses `guess` (m, 1 + t), and whether it is that of the contacts."""
    (m, r), mu = guess.shape, island.z[:, FRICTION]
    gram, start = _gram(island, rows), speeds(island, rows, rows.velocity)
    y, slip, slides, speed = guess.copy(), np.zeros((m, r - 1)), np.zeros(m, np.bool_), np.zeros(m)
    scale = max(_largest(rows.velocity), _largest(start))
    for c in range(m):
        along = 0.0
        for s in range(1, r):
            y[c, s] = y[c, s] if mu[c] > 0.0 else 0.0
            along += y[c, s] ** 2
        along = np.sqrt(along)
        slides[c] = mu[c] > 0.0 and along >= (1.0 - AT_BOUND) * mu[c] * y[c, 0]
        for s in range(r - 1 if slides[c] else 0):
            slip[c, s] = -y[c, 1 + s] / (along if along > 0.0 else 1.0)
    inverse, q, good = gram, gram, False
    for step in range(NEWTON_STEPS):
        u, settled = start + _times(gram, y.reshape(m * r, 1)).reshape(m, r), m == 1
        for c in range(m):
            speed[c], turned = _length(u[c], 1), 0.0
            if slides[c] and step > 0 and speed[c] <= STILL * scale:
                return ActiveSet(y, rows.velocity, inverse, q, slip), False
            for s in range(r - 1 if slides[c] else 0):
                turned += u[c, 1 + s] * slip[c, s]
                if r > 2 and step > 0:
                    slip[c, s] = u[c, 1 + s] / speed[c]
            settled = settled and not (slides[c] and (r > 2 or speed[c] <= STILL * scale))
            if slides[c] and r == 2 and turned < 0.0:
                settled = False
                if step > 0:
                    return ActiveSet(y, rows.velocity, inverse, q, slip), False
        matrix, q, wanted = _equations(y, u, mu, slides, slip, speed, gram)
        inverse = _inverse(matrix)
        if (step > 0 or settled) and _largest(wanted) <= SOLVED * scale:
            good = True
            break
        y -= _times(inverse, wanted).reshape(m, r)
    largest = _largest(y)
    for c in range(m):
        over = _length(y[c], 1) - mu[c] * y[c, 0]
        good = good and y[c, 0] >= -FEASIBLE * largest and over <= FEASIBLE * largest
    return ActiveSet(y, rows.velocity + rows.inverse * pushed(island, rows, y), inverse, q, slip), good


# ---- derivatives


@kernel(inline="always")
def _is_pose(i):
    return i < 6 or (B <= i < B + 6)


@kernel
def geometry_slopes(z, kind, inside, count, slopes, moved):
    """Derivatives (7, LENGTH) of gap, normal and point with respect to the numbers of a contact; zero for others.

    All depend on the difference of both positions alone, so that one of them suffices. `moved` are complex numbers.
    """
    for k in range(LENGTH):
        moved[k] = z[k]
        for j in range(7):
            slopes[j, k] = 0.0
    centered = z[OF_BALL] == 0.0 and z[OF_BALL + 1] == 0.0
    for j in range(count):
        i = inside[j]
        if not (_is_pose(i) or OF_BALL <= i < OF_BALL + 2 * FEATURE) or B <= i < B + 3 or (i == A + 5 and centered):
            continue
        moved[i] = complex(z[i], STEP)
        ends = geometry(moved, kind)
        moved[i] = z[i]
        for k in range(7):
            slopes[k, i] = ends[k].imag / STEP
    for i in range(3):
        for k in range(7):
            slopes[k, B + i] = -slopes[k, A + i]
        slopes[4 + i, B + i] += 1.0


@kernel
def _closing_slopes(island, c, touch, slopes, work):
    """Derivatives (LENGTH,) of the closing speed of contact c; see `contact_map.closing_speed`.

    `slopes` (7, LENGTH) are those of its geometry, and `work` is room for such an array and for complex numbers.
    """
    z, time, out = island.z[c], island.time, np.zeros(LENGTH)
    later, after, moved = z.copy(), work[0], work[1]
    free = (island.pair[c, 0] >= 0, island.pair[c, 1] >= 0)
    for side in range(2):
        at = A if side == 0 else B
        for k in range(6):
            later[at + k] += time * z[at + V + k]
            if k < 3 and free[side]:
                later[at + k] += 0.5 * time * time * z[GRAVITY + k]
    geometry_slopes(later, island.kind[c], island.inside[c], island.count[c], after, moved)
    n, p, gravity = (touch[1], touch[2], touch[3]), (touch[4], touch[5], touch[6]), 0.0
    w = relative_velocity(z, p[0], p[1], p[2])
    if free[0] != free[1]:
        gravity = 0.5 * time * (1.0 if free[1] else -1.0)
    for j in range(island.count[c]):
        i = island.inside[c, j]
        dn, dp = (slopes[1, i], slopes[2, i], slopes[3, i]), (slopes[4, i], slopes[5, i], slopes[6, i])
        total = after[0, i] / time
        for k in range(3):
            total -= dn[k] * (w[k] + gravity * z[GRAVITY + k])
        for side in range(2):
            at, sign = (A, -1.0) if side == 0 else (B, 1.0)
            shift = (
                dp[0] - (1.0 if i == at else 0.0),
                dp[1] - (1.0 if i == at + 1 else 0.0),
                dp[2] - (1.0 if i == at + 2 else 0.0),
            )
            turned = _cross((z[at + V + 3], z[at + V + 4], z[at + V + 5]), shift)
            total -= sign * (n[0] * turned[0] + n[1] * turned[1] + n[2] * turned[2])
            if at + V <= i < at + V + 3:
                total += after[0, i - V] - sign * n[i - at - V]
            elif at + V + 3 <= i < at + V + 6:
                turn = _cross((p[0] - z[at], p[1] - z[at + 1], p[2] - z[at + 2]), n)
                total += after[0, i - V] - sign * turn[i - at - V - 3]
            elif i >= GRAVITY and free[side]:
                total += 0.5 * time * after[0, at + i - GRAVITY]
        if i >= GRAVITY:
            total -= gravity * n[i - GRAVITY]
        out[i] = total
    return out


@kernel
def share_of(island, rows, active, slow):
    """The share of the mean velocity at which the bodies of an island move: see `stepping.resting`."""
    before, after = speeds(island, rows, rows.before), speeds(island, rows, active.velocity)
    e0, e1, gained = 0.0, 0.0, 0.0
    for c in range(len(before)):
        if active.impulse[c, 0] <= 0.0:
            continue
        old, new = 0.0, 0.0
        for s in range(before.shape[1]):
            old += active.impulse[c, s] * before[c, s]
            new += active.impulse[c, s] * after[c, s]
        still = abs(before[c, 0] - rows.closing[c]) <= CLOSED * slow
        if not still or old + new > CLOSED * slow * active.impulse[c, 0]:
            return 0.0
        e0, e1 = e0 + new, e1 + 0.5 * (old + new)
    for body in range(island.bodies):
        for k in range(6):
            if rows.inverse[body, k] > 0.0:
                gained += 0.5 * (active.velocity[body, k] - rows.before[body, k]) ** 2 / rows.inverse[body, k]
    e0 = min(e0 - gained, 0.0)
    return 1.0 if e1 <= 0.0 else -e0 / (e1 - e0)


@kernel
def held_slopes(island, rows, active, shift, clock):
    """Changes of poses, velocities before and velocities after (n, 6, wide) of the bodies for each number.

    `shift` (wide,) are changes of the time at which the hold begins, if `clock`; otherwise they are not read.
    """
    m, r = active.impulse.shape
    n, wide, y, every = island.bodies, island.wide, active.impulse, island.wide + 1
    pose, old, new = np.zeros((n, 6, every)), np.zeros((n, 6, every)), np.zeros((n, 6, every))
    change, rough = np.zeros((m, r, every)), np.zeros((m, every))
    push, slopes, de = pushed(island, rows, y), np.zeros((7, LENGTH)), np.empty((r, 3))
    work = (np.empty((7, LENGTH)), np.empty(LENGTH, np.complex128))
    along = np.zeros(7)
    for c in range(m):
        z, touch = island.z[c], rows.touch[c]
        geometry_slopes(z, island.kind[c], island.inside[c], island.count[c], slopes, work[1])
        closing = np.zeros(LENGTH)
        if rows.closing[c] > 0.0:
            closing = _closing_slopes(island, c, touch, slopes, work)
        point, normal = (touch[4], touch[5], touch[6]), (touch[1], touch[2], touch[3])
        first = (rows.direction[c, 1, 0], rows.direction[c, 1, 1], rows.direction[c, 1, 2])
        centered = z[OF_BALL] == 0.0 and z[OF_BALL + 1] == 0.0
        still = (_largest(rows.speed[c, 0]) == 0.0, _largest(rows.speed[c, 1]) == 0.0)
        for j in range(island.count[c] + 1):
            i, d = (island.inside[c, j], island.column[c, j]) if j < island.count[c] else (-1, wide)
            if i < 0:  # a change of the time: poses change by velocities
                if not clock:
                    continue
                along[:] = 0.0
                for k in range(12):
                    at = A + k if k < 6 else B + k - 6
                    for g in range(7):
                        along[g] += slopes[g, at] * z[at + V]
            else:
                change[c, 0, d] += closing[i]
                rough[c, d] += 1.0 if i == FRICTION else 0.0
                for side in range(2):
                    at, body = (A, island.pair[c, 0]) if side == 0 else (B, island.pair[c, 1])
                    if not at <= i < at + BODY:
                        if body >= 0 and i >= GRAVITY:
                            new[body, i - GRAVITY, d] = island.time
                        continue
                    k = i - at
                    if body < 0:
                        for s in range(r if V <= k < 2 * V else 0):
                            change[c, s, d] += rows.rows[c, side, s, k - V]
                    elif k < V:
                        pose[body, k, d] = 1.0
                    elif k < 2 * V:
                        old[body, k - V, d] = 1.0
                if not (_is_pose(i) or OF_BALL <= i < OF_BALL + 2 * FEATURE) or (i == A + 5 and centered):
                    continue
                for g in range(7):
                    along[g] = slopes[g, i]
            _tangent_changes(normal, first, (along[1], along[2], along[3]), de, island.planar)
            for side in range(2):
                at, sign, body = (A, -1.0, island.pair[c, 0]) if side == 0 else (B, 1.0, island.pair[c, 1])
                arm = (point[0] - z[at], point[1] - z[at + 1], point[2] - z[at + 2])
                if body < 0 and still[side]:
                    continue
                turns = body < 0 or z[at + INVERSE_INERTIA] > 0.0
                moved = (
                    along[4] - (z[at + V] if i < 0 else 1.0 if i == at else 0.0),
                    along[5] - (z[at + V + 1] if i < 0 else 1.0 if i == at + 1 else 0.0),
                    along[6] - (z[at + V + 2] if i < 0 else 1.0 if i == at + 2 else 0.0),
                )
                for s in range(r):
                    e = (rows.direction[c, s, 0], rows.direction[c, s, 1], rows.direction[c, s, 2])
                    one, other = _cross(moved, e), _cross(arm, (de[s, 0], de[s, 1], de[s, 2]))
                    for k in range(6):
                        if island.planar and 2 <= k <= 4:
                            continue
                        row = sign * de[s, k] if k < 3 else sign * (one[k - 3] + other[k - 3]) if turns else 0.0
                        if body >= 0:
                            new[body, k, d] += rows.inverse[body, k] * row * y[c, s]
                            change[c, s, d] += row * active.velocity[body, k]
                        else:
                            change[c, s, d] += row * rows.speed[c, side, k]
    for c in range(m):  # inverse masses, once for each body
        for j in range(island.count[c]):
            i, d = island.inside[c, j], island.column[c, j]
            for side in range(2):
                at, body = (A, island.pair[c, 0]) if side == 0 else (B, island.pair[c, 1])
                if body >= 0 and i == at + INVERSE_MASS:
                    for k in range(3):
                        new[body, k, d] = push[body, k]
                elif body >= 0 and i == at + INVERSE_INERTIA:
                    for k in range(3, 6):
                        new[body, k, d] = push[body, k] if rows.inverse[body, k] > 0.0 else 0.0
    new += old
    _answer_changes(island, rows, active, change, rough, new)
    if clock:
        for d in range(wide):
            for body in range(n):
                for k in range(6):
                    new[body, k, d] += shift[d] * new[body, k, wide]
    return pose[:, :, :wide], old[:, :, :wide], new[:, :, :wide]


@kernel
def _answer_changes(island, rows, active, change, rough, new):
    """Adds the changes of the impulses to those of the velocities `new` (n, 6, wide), which are those without them.

    `change` (m, 1 + t, wide) are changes of the speeds u but for those of the velocities, `rough` those of friction.
    """
    (m, r), y, wide = active.impulse.shape, active.impulse, new.shape[2]
    for c in range(m):
        for side in range(2):
            body = island.pair[c, side]
            for s in range(r if body >= 0 else 0):
                for k in range(6):
                    row = rows.rows[c, side, s, k]
                    for d in range(wide if row != 0.0 else 0):
                        change[c, s, d] += row * new[body, k, d]
    wanted = _times(active.q, change.reshape(m * r, wide))
    for c in range(m):
        for s in range(1, r):
            for d in range(wide):
                wanted[c * r + s, d] += y[c, 0] * active.slip[c, s - 1] * rough[c, d]
    dy = _times(active.inverse, wanted)
    for c in range(m):
        for side in range(2):
            body = island.pair[c, side]
            for s in range(r if body >= 0 else 0):
                for k in range(6):
                    row = rows.inverse[body, k] * rows.rows[c, side, s, k]
                    for d in range(wide if row != 0.0 else 0):
                        new[body, k, d] -= row * dy[c * r + s, d]
