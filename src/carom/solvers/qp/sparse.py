"""Large islands of the cone problem, by factorisations in velocity space.

First an active-set iteration: guess which contacts are free, solve for them with a proximal term, correct the
guess, as in `dense.py`. On violators, which nearly all end up pushing, it needs a handful of factorisations.
Where it does not settle (jammed piles with redundant contacts) an interior-point method finds the active set,
and the same iteration then polishes the answer to round-off.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel, lean
from ..linalg.factor import analyze, combine, factorise, gradient, new_factor, operations, solve_factored
from ..thresholds import GRADIENT_QP_WORK, LARGEST_FACTOR_WORK
from .dense import DENSE_TARGET, WEAK_PROXIMAL, belongs
from .gradient_projection import projected_gradients
from .interior import interior_point

SET_CORRECTIONS = 15  # corrections of the active set before the interior-point method is used
GRADIENT_PRODUCTS = 3000  # matrix products of projected gradients, after which the island is factorized nevertheless


@kernel
def large_islands(rows, found, large, problem, local):
    """Solves the islands numbered in `large`; returns the largest residual in units of speed.

    `local` is scratch of one integer per body; islands share no body.
    """
    worst = 0.0
    for s in large:
        mine = found.order[found.ptr[s] : found.ptr[s + 1]]
        k = len(mine)
        contacts = np.empty(k, np.int64)
        c, y = np.empty(k), np.empty(k)
        for p in range(k):
            j = mine[p]
            contacts[p] = found.chosen[j]
            c[p], y[p] = problem.c[j], problem.y[j]
        worst = max(worst, solve_sparse(rows, contacts, c, y, problem.warm, local))
        for p in range(k):
            problem.y[mine[p]] = y[p]
    return worst


@kernel
def solve_sparse(rows, contacts, c, y, warm, local):
    """Solves the cone problem of one island in place of y; returns its residual in units of speed."""
    k = len(contacts)
    scale, size = np.empty(k), 0.0
    for i in range(k):
        scale[i] = 1.0 / np.sqrt(rows.diag[contacts[i]])
        size = max(size, abs(c[i]) * scale[i])
    if size == 0.0:
        y[:] = 0.0
        return 0.0
    # Rows of unit length and a gradient of size one, as in the dense method.
    g0, z = np.empty(k), np.zeros(k)
    state = np.ones(k, np.int8)  # 0 at zero, 1 free
    for i in range(k):
        g0[i] = c[i] * scale[i] / size
        if warm:
            z[i] = max(y[i] / (scale[i] * size), 0.0)
        if z[i] <= 0.0 and (warm or g0[i] >= 0.0):
            state[i] = 0
    island = analyze(rows, contacts, scale, local)
    z = _descend_ladder(island, g0, z, state)
    r = np.empty(k)
    gradient(island, combine(island, z), g0, r)
    worst = 0.0
    for i in range(k):
        y[i] = max(z[i] * scale[i] * size, 0.0)
        # Not P(z - r) - z: in a problem without a solution z is huge, and r would be lost to rounding.
        worst = max(worst, abs(min(r[i], z[i])) * size / scale[i])
    return worst


@kernel
def _descend_ladder(island, g0, z, state):
    """Projected gradients if factors fill in, the active-set iteration, and the interior-point method if that fails."""
    k, work = len(z), operations(island)
    if work > GRADIENT_QP_WORK:
        products = GRADIENT_PRODUCTS if work <= LARGEST_FACTOR_WORK else 20 * GRADIENT_PRODUCTS
        best = projected_gradients(island, g0, z, products)
        for i in range(k):
            state[i] = 0 if z[i] <= 0.0 else 1
        if best <= 100 * DENSE_TARGET or work > LARGEST_FACTOR_WORK:
            return z
    factor = new_factor(island)
    best = active_set(island, g0, z, state, factor)
    if best <= 100 * DENSE_TARGET:
        return z
    other = interior_point(island, g0, state, factor)
    polished = other.copy()
    residual = active_set(island, g0, polished, state, factor)
    plain = residual_of(island, g0, other)
    # The negated comparison also rejects a residual that is not a number.
    if not residual <= plain:
        polished, residual = other, plain
    return z if best <= residual else polished


@kernel
def active_set(island, g0, z, state, factor):
    """Improves z and its active set `state` in place; returns the residual of the best z, which it leaves in z."""
    k = len(g0)
    best_z = z.copy()
    best = residual_of(island, g0, z)
    weight, r = np.empty(k), np.empty(k)
    changed, fewest = True, k + 1
    top = np.empty(island.bodies, np.int64)
    for _ in range(SET_CORRECTIONS):
        for i in range(k):
            z[i] = 0.0 if state[i] == 0 else max(z[i], 0.0)
        if changed:
            for i in range(k):
                weight[i] = 1.0 / WEAK_PROXIMAL if state[i] == 1 else 0.0
            factorise(island, weight, factor)
        x = combine(island, z)
        gradient(island, x, g0, r)
        for i in range(k):
            if state[i] == 0:
                r[i] = 0.0
        dx = combine(island, r)
        for b in range(dx.shape[0]):
            for t in range(dx.shape[1]):
                dx[b, t] *= -1.0 / WEAK_PROXIMAL
        solve_factored(island, factor, dx)
        along = np.zeros(k)
        gradient(island, dx, along, along)
        for i in range(k):
            if state[i] == 1:
                z[i] -= (r[i] + along[i]) / WEAK_PROXIMAL
        x = combine(island, z)
        gradient(island, x, g0, r)
        wrong = _correct(island, z, r, state, fewest, top)
        residual = _residual(z, r)
        improved = residual < 0.25 * best
        if residual < best:
            best = residual
            for i in range(k):
                best_z[i] = max(z[i], 0.0)
        changed = wrong > 0
        if best <= DENSE_TARGET or (not changed and not improved):
            break
        fewest = min(fewest, wrong)
    z[:] = best_z
    return best


@lean
def _correct(island, z, r, state, fewest, top):
    """Corrects the active set; returns the number of misplaced contacts.

    All of them are moved while their number falls. Otherwise neighbors undo each other's moves in cycles: then only
    contacts with the highest number on each of their bodies are moved, which is Murty's rule in every neighborhood at
    once.
    """
    wrong = 0
    for i in range(len(z)):
        wrong += int(belongs(z[i], r[i], state[i]) != state[i])
    if wrong >= fewest:
        top[:] = -1
        for i in range(len(z)):
            if belongs(z[i], r[i], state[i]) != state[i]:
                for e in range(island.ptr[i], island.ptr[i + 1]):
                    top[island.body[e]] = i
    for i in range(len(z)):
        place = belongs(z[i], r[i], state[i])
        if place == state[i]:
            continue
        leads = True
        if wrong >= fewest:
            for e in range(island.ptr[i], island.ptr[i + 1]):
                leads = leads and top[island.body[e]] == i
        if leads:
            state[i] = place
    return wrong


@lean(inline="always")
def _residual(z, r):
    worst = 0.0
    for i in range(len(z)):
        worst = max(worst, abs(min(r[i], z[i])))
    return worst


@kernel(inline="always")
def residual_of(island, g0, z):
    """Largest distance of z to its projected gradient step."""
    r = np.empty(len(z))
    gradient(island, combine(island, z), g0, r)
    return _residual(z, r)
