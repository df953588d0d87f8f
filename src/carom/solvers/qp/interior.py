"""Primal-dual interior-point method for the box QP of one island (Mehrotra's predictor and corrector).

Unknowns: velocities x = G^T z, impulses low < z < high, and the speeds `G x + g0 = p - q` with the
multipliers p >= 0 of the lower bounds and q >= 0 of the upper ones. Each Newton step eliminates all but x, leaving
`I + G^T D G` with `D = 1 / (p / (z - low) + q / (high - z))`: positive definite however redundant the contacts are.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..linalg.factor import combine, factorise, gradient, solve_factored

ITERATIONS = 60  # bound; 15 to 30 are usual
CLOSE = 1e-12  # mean complementarity at which the method ends, for gradients of size one


@kernel
def interior_point(island, g0, low, high, state, factor):
    """An approximate solution z; `state` is set to its active set (0 at low, 1 free, 2 at high)."""
    k = len(g0)
    open_ = low < high
    bounded = np.isfinite(high)
    z, p, q = np.empty(k), np.ones(k), np.zeros(k)
    for i in range(k):
        if not open_[i]:
            z[i] = low[i]
        elif bounded[i]:
            z[i] = 0.5 * (low[i] + high[i])
            q[i] = 1.0
        else:
            z[i] = low[i] + 1.0
    x = combine(island, z)
    weight, rhs, r, speed = np.zeros(k), np.empty(k), np.empty(k), np.empty(k)
    for _ in range(ITERATIONS):
        # Residual of the speeds. It is the only linear one, since x = G^T z is kept exact.
        mu, count = 0.0, 0
        gradient(island, x, g0, speed)
        for i in range(k):
            if not open_[i]:
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
        if mu < CLOSE:
            break
        for i in range(k):
            weight[i] = 0.0
            if open_[i]:
                hold = p[i] / (z[i] - low[i])
                if bounded[i]:
                    hold += q[i] / (high[i] - z[i])
                weight[i] = 1.0 / hold
        factorise(island, weight, factor)
        dz, dp, dq = _direction(island, open_, bounded, z, low, high, p, q, r, weight, factor,
                                np.zeros(k), np.zeros(k), rhs, speed)  # fmt: skip
        step = _longest(open_, bounded, z, low, high, p, q, dz, dp, dq)
        ahead = 0.0
        for i in range(k):
            if open_[i]:
                ahead += (p[i] + step * dp[i]) * (z[i] + step * dz[i] - low[i])
                if bounded[i]:
                    ahead += (q[i] + step * dq[i]) * (high[i] - z[i] - step * dz[i])
        ahead /= count
        center = mu * (ahead / mu) ** 3
        low_fix, high_fix = np.zeros(k), np.zeros(k)
        for i in range(k):
            if open_[i]:
                low_fix[i] = dp[i] * dz[i] - center
                if bounded[i]:
                    high_fix[i] = -dq[i] * dz[i] - center
        dz, dp, dq = _direction(island, open_, bounded, z, low, high, p, q, r, weight, factor,
                                low_fix, high_fix, rhs, speed)  # fmt: skip
        step = min(1.0, 0.995 * _longest(open_, bounded, z, low, high, p, q, dz, dp, dq))
        if not np.isfinite(np.sum(dz)) or step < 1e-8:
            break
        for i in range(k):
            if open_[i]:
                z[i] += step * dz[i]
                p[i] += step * dp[i]
                q[i] += step * dq[i]
        x = combine(island, z)
    for i in range(k):
        state[i] = 0
        if open_[i]:
            if bounded[i] and q[i] > high[i] - z[i]:
                state[i] = 2
            elif p[i] <= z[i] - low[i]:
                state[i] = 1
    return z


@kernel
def _direction(island, open_, bounded, z, low, high, p, q, r, weight, factor, low_fix, high_fix, rhs, speed):
    """Newton direction with the complementarity targets `p (z - low) + low_fix -> 0`, and likewise for q and high."""
    k = len(z)
    for i in range(k):
        rhs[i] = 0.0
        if open_[i]:
            total = r[i] + p[i] + low_fix[i] / (z[i] - low[i])
            if bounded[i]:
                total -= q[i] + high_fix[i] / (high[i] - z[i])
            rhs[i] = total
    dx = combine(island, -weight * rhs)
    solve_factored(island, factor, dx)
    gradient(island, dx, np.zeros(k), speed)
    dz, dp, dq = np.zeros(k), np.zeros(k), np.zeros(k)
    for i in range(k):
        if open_[i]:
            dz[i] = -weight[i] * (speed[i] + rhs[i])
            dp[i] = -p[i] - (low_fix[i] + p[i] * dz[i]) / (z[i] - low[i])
            if bounded[i]:
                dq[i] = -q[i] + (-high_fix[i] + q[i] * dz[i]) / (high[i] - z[i])
    return dz, dp, dq


@kernel
def _longest(open_, bounded, z, low, high, p, q, dz, dp, dq):
    """Longest step that keeps everything positive, at most 1."""
    step = 1.0
    for i in range(len(z)):
        if open_[i]:
            if dz[i] < 0.0:
                step = min(step, (low[i] - z[i]) / dz[i])
            if dp[i] < 0.0:
                step = min(step, -p[i] / dp[i])
            if bounded[i]:
                if dz[i] > 0.0:
                    step = min(step, (high[i] - z[i]) / dz[i])
                if dq[i] < 0.0:
                    step = min(step, -q[i] / dq[i])
    return step
