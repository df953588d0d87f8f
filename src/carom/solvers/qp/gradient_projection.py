"""Projected conjugate gradients for the cone problem of large islands whose factors fill in, as in 3D.

MPRGP of Dostal and Schoeberl (2005): conjugate gradients on the face of the free contacts, a projected gradient step
where one of them reaches zero, and a proportioning step that frees contacts at zero where their part of the gradient
dominates. Only products with G are needed.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..linalg.factor import combine, gradient

GRADIENT_TARGET = 3e-14  # residual at which the iteration ends, for gradients of size one


@kernel
def projected_gradients(island, g0, z, limit):
    """Improves z in place by at most `limit` products; returns its residual."""
    k = len(z)
    for i in range(k):
        z[i] = max(z[i], 0.0)
    step = 1.9 / _norm(island, k)
    g, ap = np.empty(k), np.empty(k)
    zero = np.zeros(k)
    gradient(island, combine(island, z), g0, g)
    p = _free_part(z, g)
    fresh = True
    best = np.inf
    done = 0
    while done < limit:
        worst, chopped, reduced = 0.0, 0.0, 0.0
        for i in range(k):
            # Not P(z - g) - z: in a problem without a solution z is huge, and g would be lost to rounding.
            move = min(g[i], z[i])
            worst = max(worst, abs(move))
            if z[i] > 0.0:
                near = max(z[i] - step * g[i], 0.0)
                reduced += g[i] * (z[i] - near) / step
            elif move != 0.0:
                chopped += g[i] * g[i]
        if worst <= GRADIENT_TARGET:
            if fresh:
                break
            # The updated gradient has accumulated errors: test again with a recomputed one.
            gradient(island, combine(island, z), g0, g)
            p = _free_part(z, g)
            fresh = True
            if worst >= 0.5 * best:
                break
            best = worst
            done += 1
            continue
        fresh = False
        done += 1
        if chopped <= reduced:
            gradient(island, combine(island, p), zero, ap)
            curve, down = _dot(p, ap), _dot(g, p)
            if curve <= 0.0 or down <= 0.0:
                p = _free_part(z, g)
                curve = 0.0
            length = down / curve if curve > 0.0 else np.inf
            reach = np.inf
            for i in range(k):
                if p[i] > 0.0:
                    reach = min(reach, z[i] / p[i])
            if length <= reach and curve > 0.0:
                for i in range(k):
                    z[i] = max(z[i] - length * p[i], 0.0)
                    g[i] -= length * ap[i]
                phi = _free_part(z, g)
                mix = _dot(phi, ap) / curve
                for i in range(k):
                    p[i] = phi[i] - mix * p[i]
            else:
                if curve > 0.0:
                    for i in range(k):
                        z[i] = max(z[i] - reach * p[i], 0.0)
                        g[i] -= reach * ap[i]
                for i in range(k):
                    if z[i] > 0.0:
                        z[i] = max(z[i] - step * g[i], 0.0)
                gradient(island, combine(island, z), g0, g)
                p = _free_part(z, g)
                fresh = True
        else:
            d = np.zeros(k)
            for i in range(k):
                if z[i] <= 0.0 and g[i] < 0.0:
                    d[i] = g[i]
            gradient(island, combine(island, d), zero, ap)
            curve = _dot(d, ap)
            length = _dot(g, d) / curve if curve > 0.0 else step
            for i in range(k):
                z[i] -= length * d[i]
                g[i] -= length * ap[i]
            p = _free_part(z, g)
    gradient(island, combine(island, z), g0, g)
    worst = 0.0
    for i in range(k):
        worst = max(worst, abs(min(g[i], z[i])))
    return worst


@kernel(inline="always")
def _free_part(z, g):
    out = np.zeros(len(z))
    for i in range(len(z)):
        if z[i] > 0.0:
            out[i] = g[i]
    return out


@kernel(inline="always")
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel(inline="always")
def _norm(island, k):
    """An upper estimate of the largest eigenvalue of G G^T, from a few power steps."""
    v, w = np.empty(k), np.empty(k)
    for i in range(k):
        v[i] = 1.0 + 0.1 * (i % 7)
    zero = np.zeros(k)
    value = 1.0
    for _ in range(12):
        gradient(island, combine(island, v), zero, w)
        value = np.sqrt(_dot(w, w) / _dot(v, v))
        v, w = w, v
        size = np.sqrt(_dot(v, v))
        for i in range(k):
            v[i] /= size
    return 1.2 * value
