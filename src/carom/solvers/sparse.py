"""Large islands of the box problem, by factorisations in velocity space.

First an active-set iteration: guess which contacts are free, solve for them with a proximal term, correct the
guess, as in `dense.py`. On violators, which nearly all end up pushing, it needs a handful of factorisations.
Where it does not settle (jammed piles with redundant contacts) an interior-point method finds the active set,
and the same iteration then polishes the answer to round-off.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .dense import PROXIMAL, SLACK, TARGET
from .factor import analyse, combine, factorise, gradient, solve_factored
from .interior import interior_point

PATIENCE = 4  # corrections of the guess without progress before the interior-point method takes over
REACH = 40


@njit(cache=True)
def solve_sparse(rows, contacts, c, lo, hi, y, warm, local):
    """Box problem of one island in place of y; returns the residual relative to the largest scaled |c|."""
    k, d = len(contacts), rows.val.shape[1]
    scale, size = np.empty(k), 0.0
    for i in range(k):
        scale[i] = 1.0 / np.sqrt(rows.diag[contacts[i]])
        size = max(size, abs(c[i]) * scale[i])
    if size == 0.0:
        for i in range(k):
            y[i] = min(max(0.0, lo[i]), hi[i])
        return 0.0
    g0, low, high, z = np.empty(k), np.empty(k), np.empty(k), np.zeros(k)
    for i in range(k):
        unit = scale[i] * size
        g0[i] = c[i] * scale[i] / size
        low[i], high[i] = lo[i] / unit, hi[i] / unit
        if warm:
            z[i] = y[i] / unit
        z[i] = min(max(z[i], low[i]), high[i])
    island = analyse(rows, contacts, scale, local)
    diagonal, blocks = np.empty((island.bodies, d, d)), np.empty((len(island.col_row), d, d))
    state = np.ones(k, np.int8)  # 0 at low, 1 free, 2 at high
    for i in range(k):
        if low[i] == high[i]:
            state[i] = 0
        elif warm and z[i] <= low[i]:
            state[i] = 0
        elif warm and z[i] >= high[i]:
            state[i] = 2
    best = active_set(island, g0, low, high, z, state, diagonal, blocks)
    if not best <= 100 * TARGET:
        other = interior_point(island, g0, low, high, state, diagonal, blocks)
        polished = other.copy()
        residual = active_set(island, g0, low, high, polished, state, diagonal, blocks)
        plain = residual_of(island, g0, low, high, other)
        if not residual <= plain:
            polished, residual = other, plain
        if not best <= residual:
            z, best = polished, residual
    for i in range(k):
        y[i] = z[i] * scale[i] * size
    return best


@njit(cache=True)
def active_set(island, g0, low, high, z, state, diagonal, blocks):
    """Improves z and its guess `state` in place; returns the residual of the best z met, which it leaves in z."""
    k = len(g0)
    best_z = z.copy()
    best = residual_of(island, g0, low, high, z)
    weight, r = np.empty(k), np.empty(k)
    changed, fewest, patience = True, k + 1, PATIENCE
    for _ in range(REACH):
        for i in range(k):
            if state[i] == 0:
                z[i] = low[i]
            elif state[i] == 2:
                z[i] = high[i]
            else:
                z[i] = min(max(z[i], low[i]), high[i])
        if changed:
            for i in range(k):
                weight[i] = 1.0 / PROXIMAL if state[i] == 1 else 0.0
            factorise(island, weight, diagonal, blocks)
        x = combine(island, z)
        gradient(island, x, g0, r)
        for i in range(k):
            if state[i] != 1:
                r[i] = 0.0
        dx = combine(island, r)
        for b in range(dx.shape[0]):
            for t in range(dx.shape[1]):
                dx[b, t] *= -1.0 / PROXIMAL
        solve_factored(island, diagonal, blocks, dx)
        along = np.zeros(k)
        gradient(island, dx, along, along)
        for i in range(k):
            if state[i] == 1:
                z[i] -= (r[i] + along[i]) / PROXIMAL
        x = combine(island, z)
        gradient(island, x, g0, r)
        wrong = _correct(z, r, low, high, state)
        residual = _residual(z, r, low, high)
        improved = residual < 0.25 * best
        if residual < best:
            best = residual
            for i in range(k):
                best_z[i] = min(max(z[i], low[i]), high[i])
        changed = wrong > 0
        if best <= TARGET or (not changed and not improved):
            break
        if changed:
            if wrong < fewest:
                fewest, patience = wrong, PATIENCE
            else:
                patience -= 1
                if patience < 0:
                    break
    z[:] = best_z
    return best


@njit(cache=True)
def _correct(z, r, low, high, state):
    """Moves every misplaced contact to where it belongs; returns how many there were."""
    wrong = 0
    for i in range(len(z)):
        if state[i] == 1:
            if z[i] < low[i]:
                state[i] = 0
                wrong += 1
            elif z[i] > high[i]:
                state[i] = 2
                wrong += 1
        elif low[i] < high[i]:
            if (state[i] == 0 and r[i] < -SLACK) or (state[i] == 2 and r[i] > SLACK):
                state[i] = 1
                wrong += 1
    return wrong


@njit(cache=True)
def _residual(z, r, low, high):
    worst = 0.0
    for i in range(len(z)):
        worst = max(worst, abs(min(max(z[i] - r[i], low[i]), high[i]) - z[i]))
    return worst


@njit(cache=True)
def residual_of(island, g0, low, high, z):
    """Largest distance of z to its projected gradient step."""
    r = np.empty(len(z))
    gradient(island, combine(island, z), g0, r)
    return _residual(z, r, low, high)
