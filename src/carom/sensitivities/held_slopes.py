"""Derivatives of contacts that are held, with respect to the numbers of their bodies, features and materials.

The rows of an island change with the geometry of its contacts, whose derivatives come from complex numbers; all else is
the implicit function theorem on the active set (`active_set`).
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from .active_set import cross_of, farthest_axis, largest_of, product, pushed
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
)  # fmt: skip


@kernel
def _tangent_changes(n, s, dn, out, planar):
    """Writes the changes of normal and tangents for that of the normal, dn; s is the first tangent."""
    out[0, 0], out[0, 1], out[0, 2] = dn
    if planar:
        out[1, 0], out[1, 1], out[1, 2] = -dn[1], dn[0], 0.0
        return
    raw, ds = cross_of(n, farthest_axis(n)), cross_of(dn, farthest_axis(n))
    length = np.sqrt(raw[0] * raw[0] + raw[1] * raw[1] + raw[2] * raw[2])
    ds = (ds[0] / length, ds[1] / length, ds[2] / length)
    along = s[0] * ds[0] + s[1] * ds[1] + s[2] * ds[2]
    ds = (ds[0] - along * s[0], ds[1] - along * s[1], ds[2] - along * s[2])
    one, other = cross_of(dn, s), cross_of(n, ds)
    out[1, 0], out[1, 1], out[1, 2] = ds
    out[2, 0], out[2, 1], out[2, 2] = one[0] + other[0], one[1] + other[1], one[2] + other[2]


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
    geometry_slopes(later, island.kind[c], island.inside[c], island.used[c], after, moved)
    n, p, gravity = (touch[1], touch[2], touch[3]), (touch[4], touch[5], touch[6]), 0.0
    w = relative_velocity(z, p[0], p[1], p[2])
    if free[0] != free[1]:
        gravity = 0.5 * time * (1.0 if free[1] else -1.0)
    for j in range(island.used[c]):
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
            turned = cross_of((z[at + V + 3], z[at + V + 4], z[at + V + 5]), shift)
            total -= sign * (n[0] * turned[0] + n[1] * turned[1] + n[2] * turned[2])
            if at + V <= i < at + V + 3:
                total += after[0, i - V] - sign * n[i - at - V]
            elif at + V + 3 <= i < at + V + 6:
                turn = cross_of((p[0] - z[at], p[1] - z[at + 1], p[2] - z[at + 2]), n)
                total += after[0, i - V] - sign * turn[i - at - V - 3]
            elif i >= GRAVITY and free[side]:
                total += 0.5 * time * after[0, at + i - GRAVITY]
        if i >= GRAVITY:
            total -= gravity * n[i - GRAVITY]
        out[i] = total
    return out


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
        geometry_slopes(z, island.kind[c], island.inside[c], island.used[c], slopes, work[1])
        closing = np.zeros(LENGTH)
        if rows.closing[c] > 0.0:
            closing = _closing_slopes(island, c, touch, slopes, work)
        point, normal = (touch[4], touch[5], touch[6]), (touch[1], touch[2], touch[3])
        first = (rows.direction[c, 1, 0], rows.direction[c, 1, 1], rows.direction[c, 1, 2])
        centered = z[OF_BALL] == 0.0 and z[OF_BALL + 1] == 0.0
        still = (largest_of(rows.speed[c, 0]) == 0.0, largest_of(rows.speed[c, 1]) == 0.0)
        for j in range(island.used[c] + 1):
            i, d = (island.inside[c, j], island.column[c, j]) if j < island.used[c] else (-1, wide)
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
                    one, other = cross_of(moved, e), cross_of(arm, (de[s, 0], de[s, 1], de[s, 2]))
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
        for j in range(island.used[c]):
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
    wanted = product(active.q, change.reshape(m * r, wide))
    for c in range(m):
        for s in range(1, r):
            for d in range(wide):
                wanted[c * r + s, d] += y[c, 0] * active.slip[c, s - 1] * rough[c, d]
    dy = product(active.inverse, wanted)
    for c in range(m):
        for side in range(2):
            body = island.pair[c, side]
            for s in range(r if body >= 0 else 0):
                for k in range(6):
                    row = rows.inverse[body, k] * rows.rows[c, side, s, k]
                    for d in range(wide if row != 0.0 else 0):
                        new[body, k, d] -= row * dy[c * r + s, d]
