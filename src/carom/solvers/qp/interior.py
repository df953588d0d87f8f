"""Primal-dual interior-point method for the cone problem of one island (Mehrotra's predictor and corrector).

Unknowns: velocities x = G^T z, impulses z > 0, and the speeds `G x + g0 = p` with the multipliers p >= 0. Each Newton
step eliminates all but x, leaving `I + G^T D G` with `D = z / p`: positive definite however redundant the contacts are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ..linalg.factor import combine, factorise, gradient, solve_factored
from ..rows import Floats

INTERIOR_ITERATIONS = 60  # bound; 15 to 30 are usual
INTERIOR_TARGET = 1e-12  # mean complementarity at which the method ends, for gradients of size one


class Iterate(NamedTuple):
    """Impulses and multipliers, or a direction of them."""

    z: Floats
    p: Floats


@kernel
def interior_point(island, g0, state, factor):
    """An approximate solution z; `state` is set to its active set (0 at zero, 1 free)."""
    k = len(g0)
    at = Iterate(np.ones(k), np.ones(k))
    z, p = at.z, at.p
    x = combine(island, z)
    weight, r, speed = np.zeros(k), np.empty(k), np.empty(k)
    for _ in range(INTERIOR_ITERATIONS):
        # Residual of the speeds. It is the only linear one, since x = G^T z is kept exact.
        mu = 0.0
        gradient(island, x, g0, speed)
        for i in range(k):
            r[i] = speed[i] - p[i]
            mu += p[i] * z[i]
        mu /= k
        # Close enough to determine the active set. Beyond this point D overflows and rounding dominates (tried: NaN).
        if mu < INTERIOR_TARGET:
            break
        for i in range(k):
            weight[i] = 1.0 / (p[i] / z[i])
        factorise(island, weight, factor)
        fix = np.zeros(k)
        step = _direction(island, factor, at, r, weight, fix)
        length = _longest(at, step)
        ahead = 0.0
        for i in range(k):
            ahead += (p[i] + length * step.p[i]) * (z[i] + length * step.z[i])
        ahead /= k
        center = mu * (ahead / mu) ** 3
        for i in range(k):
            fix[i] = step.p[i] * step.z[i] - center
        step = _direction(island, factor, at, r, weight, fix)
        length = min(1.0, 0.995 * _longest(at, step))
        if not np.isfinite(np.sum(step.z)) or length < 1e-8:
            break
        for i in range(k):
            z[i] += length * step.z[i]
            p[i] += length * step.p[i]
        x = combine(island, z)
    for i in range(k):
        state[i] = 1 if p[i] <= z[i] else 0
    return z


@kernel
def _direction(island, factor, at, r, weight, fix):
    """Newton direction with the complementarity targets `p z + fix -> 0`."""
    z, p = at
    k = len(z)
    rhs, speed = np.empty(k), np.empty(k)
    for i in range(k):
        rhs[i] = r[i] + p[i] + fix[i] / z[i]
    dx = combine(island, -weight * rhs)
    solve_factored(island, factor, dx)
    gradient(island, dx, np.zeros(k), speed)
    step = Iterate(np.empty(k), np.empty(k))
    for i in range(k):
        step.z[i] = -weight[i] * (speed[i] + rhs[i])
        step.p[i] = -p[i] - (fix[i] + p[i] * step.z[i]) / z[i]
    return step


@kernel(inline="always")
def _longest(at, step):
    """Longest step that keeps everything positive, at most 1."""
    (z, p), (dz, dp) = at, step
    length = 1.0
    for i in range(len(z)):
        if dz[i] < 0.0:
            length = min(length, -z[i] / dz[i])
        if dp[i] < 0.0:
            length = min(length, -p[i] / dp[i])
    return length
