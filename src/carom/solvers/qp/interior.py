"""Primal-dual interior-point method for the box QP of one island (Mehrotra's predictor and corrector).

Unknowns: velocities x = G^T z, impulses low < z < high, and the speeds `G x + g0 = p - q` with the
multipliers p >= 0 of the lower bounds and q >= 0 of the upper ones. Each Newton step eliminates all but x, leaving
`I + G^T D G` with `D = 1 / (p / (z - low) + q / (high - z))`: positive definite however redundant the contacts are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ..linalg.factor import combine, factorise, gradient, solve_factored
from ..rows import Floats

INTERIOR_ITERATIONS = 60  # bound; 15 to 30 are usual
INTERIOR_TARGET = 1e-12  # mean complementarity at which the method ends, for gradients of size one


class Limits(NamedTuple):
    """The bounds of k impulses. Those with low = high are not open, and stay."""

    low: Floats
    high: Floats
    open: NDArray[np.bool_]
    bounded: NDArray[np.bool_]  # whether high is finite


class Iterate(NamedTuple):
    """Impulses and multipliers, or a direction of them."""

    z: Floats
    p: Floats
    q: Floats


@kernel
def interior_point(island, g0, low, high, state, factor):
    """An approximate solution z; `state` is set to its active set (0 at low, 1 free, 2 at high)."""
    k = len(g0)
    limits, at = Limits(low, high, low < high, np.isfinite(high)), Iterate(np.empty(k), np.ones(k), np.zeros(k))
    is_open, bounded, z, p, q = limits.open, limits.bounded, at.z, at.p, at.q
    for i in range(k):
        if not is_open[i]:
            z[i] = low[i]
        elif bounded[i]:
            z[i] = 0.5 * (low[i] + high[i])
            q[i] = 1.0
        else:
            z[i] = low[i] + 1.0
    x = combine(island, z)
    weight, r, speed = np.zeros(k), np.empty(k), np.empty(k)
    for _ in range(INTERIOR_ITERATIONS):
        # Residual of the speeds. It is the only linear one, since x = G^T z is kept exact.
        mu, count = 0.0, 0
        gradient(island, x, g0, speed)
        for i in range(k):
            if not is_open[i]:
                continue
            r[i] = speed[i] - p[i] + q[i]
            mu += p[i] * (z[i] - low[i])
            count += 1
            if bounded[i]:
                mu += q[i] * (high[i] - z[i])
                count += 1
        if count == 0:
            break
        mu /= count
        # Close enough to determine the active set. Beyond this point D overflows and rounding dominates (tried: NaN).
        if mu < INTERIOR_TARGET:
            break
        for i in range(k):
            weight[i] = 0.0
            if is_open[i]:
                hold = p[i] / (z[i] - low[i])
                if bounded[i]:
                    hold += q[i] / (high[i] - z[i])
                weight[i] = 1.0 / hold
        factorise(island, weight, factor)
        low_fix, high_fix = np.zeros(k), np.zeros(k)
        step = _direction(island, factor, limits, at, r, weight, (low_fix, high_fix))
        length = _longest(limits, at, step)
        ahead = 0.0
        for i in range(k):
            if is_open[i]:
                ahead += (p[i] + length * step.p[i]) * (z[i] + length * step.z[i] - low[i])
                if bounded[i]:
                    ahead += (q[i] + length * step.q[i]) * (high[i] - z[i] - length * step.z[i])
        ahead /= count
        center = mu * (ahead / mu) ** 3
        for i in range(k):
            if is_open[i]:
                low_fix[i] = step.p[i] * step.z[i] - center
                if bounded[i]:
                    high_fix[i] = -step.q[i] * step.z[i] - center
        step = _direction(island, factor, limits, at, r, weight, (low_fix, high_fix))
        length = min(1.0, 0.995 * _longest(limits, at, step))
        if not np.isfinite(np.sum(step.z)) or length < 1e-8:
            break
        for i in range(k):
            if is_open[i]:
                z[i] += length * step.z[i]
                p[i] += length * step.p[i]
                q[i] += length * step.q[i]
        x = combine(island, z)
    for i in range(k):
        state[i] = 0
        if is_open[i]:
            if bounded[i] and q[i] > high[i] - z[i]:
                state[i] = 2
            elif p[i] <= z[i] - low[i]:
                state[i] = 1
    return z


@kernel
def _direction(island, factor, limits, at, r, weight, fix):
    """Newton direction with the complementarity targets `p (z - low) + low_fix -> 0`, and likewise for q and high."""
    (low, high, is_open, bounded), (z, p, q), (low_fix, high_fix) = limits, at, fix
    k = len(z)
    rhs, speed = np.zeros(k), np.empty(k)
    for i in range(k):
        if is_open[i]:
            total = r[i] + p[i] + low_fix[i] / (z[i] - low[i])
            if bounded[i]:
                total -= q[i] + high_fix[i] / (high[i] - z[i])
            rhs[i] = total
    dx = combine(island, -weight * rhs)
    solve_factored(island, factor, dx)
    gradient(island, dx, np.zeros(k), speed)
    step = Iterate(np.zeros(k), np.zeros(k), np.zeros(k))
    for i in range(k):
        if is_open[i]:
            step.z[i] = -weight[i] * (speed[i] + rhs[i])
            step.p[i] = -p[i] - (low_fix[i] + p[i] * step.z[i]) / (z[i] - low[i])
            if bounded[i]:
                step.q[i] = -q[i] + (-high_fix[i] + q[i] * step.z[i]) / (high[i] - z[i])
    return step


@kernel(inline="always")
def _longest(limits, at, step):
    """Longest step that keeps everything positive, at most 1."""
    (low, high, is_open, bounded), (z, p, q), (dz, dp, dq) = limits, at, step
    length = 1.0
    for i in range(len(z)):
        if is_open[i]:
            if dz[i] < 0.0:
                length = min(length, (low[i] - z[i]) / dz[i])
            if dp[i] < 0.0:
                length = min(length, -p[i] / dp[i])
            if bounded[i]:
                if dz[i] > 0.0:
                    length = min(length, (high[i] - z[i]) / dz[i])
                if dq[i] < 0.0:
                    length = min(length, -q[i] / dq[i])
    return length
