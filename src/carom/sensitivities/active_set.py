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
    FRICTION,
    GRAVITY,
    INVERSE_INERTIA,
    INVERSE_MASS,
    A,
    B,
    V,
    geometry,
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
    used: Ints  # (m,) and how many there are
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
def cross_of(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _tangents(n, out, planar):
    """Writes normal and tangents to `out` (1 + t, 3)."""
    out[0, 0], out[0, 1], out[0, 2] = n
    if planar:
        out[1, 0], out[1, 1], out[1, 2] = -n[1], n[0], 0.0
        return
    s = cross_of(n, farthest_axis(n))
    length = np.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
    s = (s[0] / length, s[1] / length, s[2] / length)
    out[1, 0], out[1, 1], out[1, 2] = s
    out[2, 0], out[2, 1], out[2, 2] = cross_of(n, s)


@kernel(inline="always")
def farthest_axis(n):
    """The axis that is farthest from a normal."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        return 1.0, 0.0, 0.0
    return (0.0, 1.0, 0.0) if y <= z else (0.0, 0.0, 1.0)


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
                turn = cross_of(arm, e)
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
def product(a, b):
    """The product of two matrices: the same bits for any number of threads."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1] if factor != 0.0 else 0):
                out[i, j] += factor * b[k, j]
    return out


@kernel
def largest_of(values):
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
    largest, order = largest_of(matrix), np.full(k, -1)
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
    scale = max(largest_of(rows.velocity), largest_of(start))
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
        u, settled = start + product(gram, y.reshape(m * r, 1)).reshape(m, r), m == 1
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
        if (step > 0 or settled) and largest_of(wanted) <= SOLVED * scale:
            good = True
            break
        y -= product(inverse, wanted).reshape(m, r)
    largest = largest_of(y)
    for c in range(m):
        over = _length(y[c], 1) - mu[c] * y[c, 0]
        good = good and y[c, 0] >= -FEASIBLE * largest and over <= FEASIBLE * largest
    return ActiveSet(y, rows.velocity + rows.inverse * pushed(island, rows, y), inverse, q, slip), good


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
