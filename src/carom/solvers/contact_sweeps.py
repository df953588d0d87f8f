"""Frictional contact by accelerated Gauss-Seidel sweeps, for large islands in slabs for threads.

A sweep gives each contact the normal impulse that stops its approach, then the friction impulse that stops its slip,
within the disk of radius mu times the normal impulse, then those of rolling and spinning. Between sweeps impulses and
velocities are extrapolated along their last change, by Nesterov's rule with a bound, unless the last change went back.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from .contact_pack import (
    BOUND,
    MIXED,
    NORMAL,
    WEIGHT,
    group_count,
    group_rows,
    push_row,
    residual_of,
    row_speed,
    work_of,
)

LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order: faster, and the same result in every run
BOLD = 0.7  # bound on the extrapolation, as a share of the last change


@kernel(fastmath=LOOSE)
def sweep(lay, packed, z, x, first, last):
    """One sweep over contacts first to last; returns the largest change of a speed."""
    worst = 0.0
    for p in range(first, last):
        worst = max(worst, _visit(lay, packed, z, x, p))
    return worst


@kernel(fastmath=LOOSE, inline="always")
def _visit(lay, packed, z, x, p):
    local = packed.local[p]
    weight = local[NORMAL]
    u = row_speed(lay, packed, x, p, 0)
    lam = max(z[p, 0] - u * weight, 0.0)
    push = lam - z[p, 0]
    z[p, 0] = lam
    worst = abs(push) / weight if weight > 0.0 else 0.0
    if len(lay.rows) == 1:
        push_row(lay, packed, x, p, 0, push)
        return worst
    weight = local[WEIGHT]
    bound = local[BOUND] * lam
    if len(lay.tangents) == 1:
        one = z[p, 1] - (row_speed(lay, packed, x, p, 1) + local[MIXED] * push) * weight
        one = min(max(one, -bound), bound)
        push_s = one - z[p, 1]
        z[p, 1] = one
        if weight > 0.0:
            worst = max(worst, abs(push_s) / weight)
        for side in range(len(lay.sides)):
            b = packed.body[p, side]
            for c in range(len(lay.axes)):
                x[b, c] += packed.row[p, side, 0, c] * push + packed.row[p, side, 1, c] * push_s
    else:
        one = z[p, 1] - (row_speed(lay, packed, x, p, 1) + local[MIXED] * push) * weight
        two = z[p, 2] - (row_speed(lay, packed, x, p, 2) + local[MIXED + 1] * push) * weight
        square = one * one + two * two
        if square > bound * bound:
            share = bound / np.sqrt(square)
            one *= share
            two *= share
        push_s, push_t = one - z[p, 1], two - z[p, 2]
        z[p, 1], z[p, 2] = one, two
        if weight > 0.0:
            worst = max(worst, max(abs(push_s), abs(push_t)) / weight)
        for side in range(len(lay.sides)):
            b = packed.body[p, side]
            for c in range(len(lay.axes)):
                x[b, c] += (
                    packed.row[p, side, 0, c] * push
                    + packed.row[p, side, 1, c] * push_s
                    + packed.row[p, side, 2, c] * push_t
                )
    if len(lay.rows) > 1 + len(lay.tangents):
        worst = max(worst, _visit_rolling(lay, packed, z, x, p, lam))
    return worst


@kernel(fastmath=LOOSE)
def _visit_rolling(lay, packed, z, x, p, lam):
    """Rolling and spinning of one contact, after its normal and tangents."""
    worst = 0.0
    for g in range(1, group_count(lay)):
        first, last = group_rows(lay, g)
        weight, bound = packed.local[p, WEIGHT + 2 * g], packed.local[p, BOUND + 2 * g] * lam
        one = z[p, first] - row_speed(lay, packed, x, p, first) * weight
        two = z[p, last - 1] - row_speed(lay, packed, x, p, last - 1) * weight if last - first == 2 else 0.0
        size = np.sqrt(one * one + two * two)
        share = bound / size if size > bound else 1.0
        if weight > 0.0:
            worst = max(worst, abs(share * one - z[p, first]) / weight)
        push_row(lay, packed, x, p, first, share * one - z[p, first])
        z[p, first] = share * one
        if last - first == 2:
            if weight > 0.0:
                worst = max(worst, abs(share * two - z[p, last - 1]) / weight)
            push_row(lay, packed, x, p, last - 1, share * two - z[p, last - 1])
            z[p, last - 1] = share * two
    return worst


@kernel
def extrapolate(z, last_z, tried, x, last_x, pace):
    """Extrapolates z and x by part of their change in the last sweep, which began at `tried`; returns the next pace."""
    back = 0.0
    for p in range(len(z)):
        for s in range(z.shape[1]):
            back += (tried[p, s] - z[p, s]) * (z[p, s] - last_z[p, s])
    pace = 1.0 if back > 0.0 else pace
    following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
    bold = min((pace - 1.0) / following, BOLD)
    for p in range(len(z)):
        for s in range(z.shape[1]):
            now = z[p, s]
            z[p, s] += bold * (now - last_z[p, s])
            last_z[p, s], tried[p, s] = now, z[p, s]
    for b in range(len(x)):
        for c in range(x.shape[1]):
            now = x[b, c]
            x[b, c] += bold * (now - last_x[b, c])
            last_x[b, c] = now
    return following


@kernel
def relax(lay, island, z, x, tolerance, most):
    """At most `most` sweeps over an island, in place of z (k, r) and x; returns (residual, sweeps), a speed.

    They end when a sweep changes no speed by more than a share of the tolerance and the residual is below it.
    """
    k = len(z)
    last_z, last_x, tried, pace = z.copy(), x.copy(), z.copy(), 1.0
    residual = np.inf
    for count in range(most):
        pace = extrapolate(z, last_z, tried, x, last_x, pace)
        change = sweep(lay, island, z, x, 0, k)
        if change <= tolerance:
            residual = residual_of(lay, island, z, x, 0, k)
            if residual <= tolerance:
                return residual, count + 1
    return residual_of(lay, island, z, x, 0, k), most


@kernel
def without_work(lay, island, z, x, v):
    """Reduces all impulses of an island by one factor if they do work, `z . u > 0`; returns whether it did.

    u is linear in the factor, so that the work after it is zero.
    """
    work, size = work_of(lay, island, z, x, 0, len(z)), 0.0
    for b in range(len(x)):
        for c in range(x.shape[1]):
            size += (x[b, c] - v[b, c]) ** 2
    if work <= 0.0 or size == 0.0:
        return False
    factor = max(1.0 - work / size, 0.0)
    for p in range(len(z)):
        for s in range(z.shape[1]):
            if s > 0 or island.local[p, NORMAL] > 0.0:  # else the normal impulse is given
                z[p, s] *= factor
    for b in range(len(x)):
        for c in range(x.shape[1]):
            x[b, c] = v[b, c] + factor * (x[b, c] - v[b, c])
    return True
