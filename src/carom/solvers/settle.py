"""Friction for given normal impulses, which grow where friction drives contacts together.

Sweeps over the contacts: a visit gives a contact the normal impulse that stops its approach and then the friction
impulse that stops its slip, as far as its bound allows, both over-relaxed. The normal impulse never falls below the one
that was given, nor below what the friction impulse needs. So every visit minimizes kinetic energy over an interval that
contains the present impulse: the energy falls for any tolerance and any number of visits. A contact is visited again
only after a body of it has moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean
from .contact_island import CONE, FIXED, ZERO_ROW
from .qp.relax import NEAR
from .rows import FRICTION, Floats, push, row_push, row_speed, speed

Mask = NDArray[np.bool_]

ROUND_OFF = 1e-12  # slip below this share of the fastest speed at any contact counts as none
OVER_RELAXATION = 1.3  # fewest visits on the vibrated layer; a contact alone needs more of them the larger it is
SCAN = 8  # with more than one body in SCAN moved, all contacts are looked at: the order of memory is faster


class _Rubbing(NamedTuple):
    """Friction rows of the contacts, q for each; those of a contact are written when it first has a normal impulse."""

    ready: Mask  # (m,) whether the rows of a contact are written
    row: Floats  # (m, q, w, d) entries of the bodies in the order of the normal row
    base: Floats  # (m, 2) prescribed speeds along the rows
    weight: Floats  # (m,) inverse stiffness, 0 where no body can move along the rows
    z: Floats  # (m, 2) impulses along the rows; the second one is zero if q = 1
    direction: Floats  # (m, t) with FIXED, the unit vector of the row


@kernel
def settle(rows, start, normal, tangent, kind, scale, tolerance, visits):
    """Friction impulses `tangent` (m, t) for the normal impulses `normal` (m,), which grow; both in place.

    `start` (n, d) is the whitened velocity before all impulses, `scale` the fastest speed. A contact is visited at most
    `visits` times on average. Returns the residual, a speed: the largest remaining approach, or distance of friction
    impulses to their projected gradient step.
    """
    m, t = tangent.shape
    rubbing = _Rubbing(
        np.zeros(m, np.bool_),
        np.zeros((m, 1 if kind == FIXED else t, rows.body.shape[1], start.shape[1])),
        np.empty((m, 2)),
        np.empty(m),
        np.zeros((m, 2)),
        np.empty((m, t)),
    )
    given, x = normal.copy(), start.copy()
    for i in range(m):
        if normal[i] != 0.0:
            push(rows, i, normal[i], x)
        for s in range(t):
            if tangent[i, s] != 0.0:
                row_push(rows, x, i, 1 + s, tangent[i, s])
    pushing = np.flatnonzero((rows.bound[:, FRICTION] > 0.0) & (normal > 0.0))
    _write(rows, pushing, start, tangent, kind, ROUND_OFF * scale, rubbing)
    moved, seen = np.ones(len(x), np.int64), np.zeros(m, np.int64)
    every, some, fresh, bodies = np.arange(m), np.empty(m, np.int64), np.empty(m, np.int64), np.empty(len(x), np.int64)
    now, left, chosen = m + 1, visits * m, every
    while len(chosen) > 0 and left > 0:
        work = (given, normal, x, moved, seen, fresh, bodies)
        done, count, active = _sweep(rows, rubbing, kind, chosen, work, now, tolerance)
        _write(rows, fresh[:count], start, tangent, kind, ROUND_OFF * scale, rubbing)
        chosen = every if SCAN * active > len(x) else some[: _touching(rows, bodies[:active], seen, now + m, some)]
        now += 2 * m
        left -= done
    return _residual(rows, normal, tangent, rubbing, kind, x)


@lean
def _sweep(rows, rubbing, kind, chosen, work, now, tolerance):
    """One sweep over those of the contacts `chosen` with a body that has moved since they were seen.

    Returns the number of visits, of contacts in `fresh`, which have got a normal impulse but have no friction rows yet,
    and of bodies in `bodies`, which have moved.
    """
    ready, row, base, weight, z, _ = rubbing
    given, normal, x, moved, seen, fresh, bodies = work
    done, count, active, w = 0, 0, 0, rows.body.shape[1]
    for j in range(len(chosen)):
        i = chosen[j]
        mu, still = rows.bound[i, FRICTION], True
        for side in range(w):
            if rows.body[i, side] >= 0:
                still &= moved[rows.body[i, side]] <= seen[i]
        if still:
            continue
        done += 1
        seen[i] = now + j
        friction = (kind, mu, z[i, 0], z[i, 1])
        change = _pressed(speed(rows, i, x), normal[i], given[i], rows.diag[i], friction, tolerance)
        acts = change != 0.0
        if acts:
            normal[i] += change
            push(rows, i, change, x)
        if mu > 0.0 and normal[i] > 0.0:
            if not ready[i]:
                fresh[count] = i
                count += 1
                acts = True
            elif weight[i] > 0.0:
                one, two = _slip(rows, i, row, base, 0, x), 0.0
                if row.shape[1] > 1:
                    two = _slip(rows, i, row, base, 1, x)
                one, two = _rubbed(one, two, z[i, 0], z[i, 1], weight[i], kind, mu * normal[i], tolerance)
                if one != 0.0 or two != 0.0:
                    acts = True
                    z[i, 0] += one
                    z[i, 1] += two
                    for side in range(w):
                        b = rows.body[i, side]
                        if b >= 0:
                            for k in range(x.shape[1]):
                                x[b, k] += row[i, 0, side, k] * one
                                if row.shape[1] > 1:
                                    x[b, k] += row[i, 1, side, k] * two
        if acts:
            seen[i] -= 1  # its normal and friction rows may couple, and steps may be too long: it is visited again
            for side in range(w):
                b = rows.body[i, side]
                if b < 0:
                    continue
                if moved[b] < now:
                    bodies[active] = b
                    active += 1
                moved[b] = now + j
    return done, count, active


@lean
def _touching(rows, bodies, stamp, limit, out):
    """Writes the contacts of `bodies` to `out`, each once; returns their number. `stamp` (m,) is below `limit`."""
    k = 0
    for b in bodies:
        for e in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
            i = rows.touch[e]
            if stamp[i] < limit:
                out[k] = i
                k += 1
                stamp[i] += limit
    for i in out[:k]:
        stamp[i] -= limit
    return k


@lean
def _pressed(u, lam, given, stiff, friction, tolerance):
    """Change of the normal impulse `lam` >= `given` of a contact with speed u; 0 within the tolerance."""
    (kind, mu, one, two), least = friction, given
    if one != 0.0 or two != 0.0:
        least = max(least, (np.sqrt(one * one + two * two) if kind == CONE else max(abs(one), abs(two))) / mu)
    change = abs(max(lam - u / stiff, least) - lam) * stiff
    if change <= tolerance:
        return 0.0
    over = OVER_RELAXATION if change > NEAR * tolerance else 1.0
    return max(lam - over * u / stiff, least) - lam


@lean
def _rubbed(slip, cross, one, two, weight, kind, bound, tolerance):
    """Change of the friction impulses (one, two) of a contact with slip (slip, cross); 0 within the tolerance."""
    a, b = _bounded(kind, bound, one - slip * weight, two - cross * weight)
    square = ((a - one) ** 2 + (b - two) ** 2) / (weight * weight)
    if square <= tolerance * tolerance:
        return 0.0, 0.0
    if square > (NEAR * tolerance) ** 2:
        step = OVER_RELAXATION * weight
        a, b = _bounded(kind, bound, one - slip * step, two - cross * step)
    return a - one, b - two


@lean(inline="always")
def _slip(rows, i, row, base, r, x):
    """Speed of contact i along its friction row r."""
    total = base[i, r]
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b >= 0:
            for k in range(x.shape[1]):
                total += row[i, r, side, k] * x[b, k]
    return total


@lean
def _bounded(kind, bound, one, two):
    """The friction impulses of a contact within their bounds that are nearest to the given ones."""
    if kind == CONE:
        square = one * one + two * two
        share = bound / np.sqrt(square) if square > bound * bound else 1.0
        return share * one, share * two
    low = 0.0 if kind == FIXED else -bound
    return min(max(one, low), bound), min(max(two, low), bound)


@lean
def _write(rows, chosen, start, tangent, kind, least, rubbing):
    """Writes the friction rows of the contacts `chosen`. Slip before all impulses below `least` has no direction."""
    t, d, q = tangent.shape[1], start.shape[1], rubbing.row.shape[1]
    ready, row, base, weight, z, direction = rubbing
    for i in chosen:
        ready[i] = True
        size = 0.0
        for s in range(t):
            direction[i, s] = -(row_speed(rows, start, i, 1 + s) + rows.base[i, 1 + s])
            size += direction[i, s] * direction[i, s]
        # A slip of the size of rounding has no direction; with one, the answer would depend on the frame of reference.
        size = np.sqrt(size)
        share = 1.0 / size if size > least else 0.0
        for s in range(t):
            direction[i, s] *= share
        a, b, c = 0.0, 0.0, 0.0
        if kind == FIXED:
            base[i, 0], z[i, 0] = 0.0, 0.0
            for s in range(t):
                base[i, 0] += direction[i, s] * rows.base[i, 1 + s]
                z[i, 0] += direction[i, s] * tangent[i, s]
        else:
            for s in range(t):
                base[i, s], z[i, s] = rows.base[i, 1 + s], tangent[i, s]
        for side in range(rows.body.shape[1]):
            for k in range(d):
                first, last = rows.val[i, side, 1, k], rows.val[i, side, t, k]
                if kind == FIXED:
                    first *= direction[i, 0]
                    if t > 1:
                        first += direction[i, 1] * last
                row[i, 0, side, k] = first
                a += first * first
                if q > 1:
                    row[i, 1, side, k] = last
                    b += last * last
                    c += first * last
        # A step with the larger eigenvalue of the tangential block never overshoots.
        stiff = 0.5 * (a + b) + np.sqrt(0.25 * (a - b) * (a - b) + c * c)
        weight[i] = 1.0 / stiff if stiff > ZERO_ROW * rows.diag[i] else 0.0


@lean
def _residual(rows, normal, tangent, rubbing, kind, x):
    """The residual of `settle`; writes the friction impulses to `tangent`."""
    worst, t = 0.0, tangent.shape[1]
    for i in range(len(normal)):
        worst = max(worst, -speed(rows, i, x))
        if not rubbing.ready[i]:
            continue
        z, weight = rubbing.z, rubbing.weight[i]
        for s in range(t):
            tangent[i, s] = z[i, 0] * rubbing.direction[i, s] if kind == FIXED else z[i, s]
        if weight > 0.0:
            one = z[i, 0] - weight * _slip(rows, i, rubbing.row, rubbing.base, 0, x)
            two = z[i, 1]
            if rubbing.row.shape[1] > 1:
                two -= weight * _slip(rows, i, rubbing.row, rubbing.base, 1, x)
            one, two = _bounded(kind, rows.bound[i, FRICTION] * normal[i], one, two)
            worst = max(worst, np.sqrt((one - z[i, 0]) ** 2 + (two - z[i, 1]) ** 2) / weight)
    return worst
