"""Block Gauss-Seidel sweeps for Coulomb's friction cone, with exact solves for each contact.

One for friction within given disks, one for the whole law with its normal part, one for normal impulses alone. They are
the reference for small and medium problems; their convergence is linear.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..rows import push, speed


@kernel
def disk_friction(tangents, velocity, boundary, bound, beta, tolerance, max_sweeps):
    """Minimizes `|x|^2 / 2`, `x = velocity + T^T beta`, over `|beta_i| <= bound_i`, in place of beta (m, t).

    Returns the largest change of slip speed that another sweep would make, relative to the fastest slip.
    """
    m, t = beta.shape
    x = velocity.copy()
    top = 0.0
    for j in range(m * t):
        top = max(top, abs(speed(tangents, j, x) + boundary[j]))
    for j in range(m * t):
        push(tangents, j, beta[j // t, j % t], x)
    if top == 0.0:
        return 0.0
    q, new = np.empty(t), np.empty(t)
    worst = np.inf
    for _ in range(max_sweeps):
        worst = 0.0
        for i in range(m):
            if bound[i] <= 0.0:
                continue
            k = _tangent_block(tangents, i, t)
            for s in range(t):
                q[s] = speed(tangents, i * t + s, x) + boundary[i * t + s]
                for r in range(t):
                    q[s] -= k[s, r] * beta[i, r]
            _disk(k, q, bound[i], new)
            for s in range(t):
                change = new[s] - beta[i, s]
                if change != 0.0:
                    worst = max(worst, abs(change) * k[s, s])
                    push(tangents, i * t + s, change, x)
                    beta[i, s] = new[s]
        if worst <= tolerance * top:
            break
    return worst / top


@kernel
def coupled_coulomb(rows, tangents, velocity, boundary, slip, friction, normal, tangent, tolerance, max_sweeps):
    """`0 <= lam perp u_n >= 0`, `|beta| <= mu lam`, beta against the slip after impact; solved in place of
    `normal` (m,) and `tangent` (m, t).

    Returns the largest change of speed in the last sweep, relative to the fastest speed before, and the sweeps.
    """
    m, t = tangent.shape
    x = velocity.copy()
    top = 0.0
    for i in range(m):
        top = max(top, abs(speed(rows, i, x) + boundary[i]))
        for s in range(t):
            top = max(top, abs(speed(tangents, i * t + s, x) + slip[i * t + s]))
    if top == 0.0:
        return 0.0, 0
    for i in range(m):
        push(rows, i, normal[i], x)
        for s in range(t):
            push(tangents, i * t + s, tangent[i, s], x)
    free, new = np.empty(t + 1), np.empty(t + 1)
    worst, sweeps = np.inf, 0
    while sweeps < max_sweeps:
        worst = 0.0
        for i in range(m):
            k = _contact_block(rows, tangents, i, t)
            free[0] = speed(rows, i, x) + boundary[i] - k[0, 0] * normal[i]
            for r in range(t):
                free[0] -= k[0, r + 1] * tangent[i, r]
            for s in range(t):
                free[s + 1] = speed(tangents, i * t + s, x) + slip[i * t + s] - k[s + 1, 0] * normal[i]
                for r in range(t):
                    free[s + 1] -= k[s + 1, r + 1] * tangent[i, r]
            _one_contact(k, free, friction[i], new)
            change = new[0] - normal[i]
            worst = max(worst, abs(change) * k[0, 0])
            push(rows, i, change, x)
            normal[i] = new[0]
            for s in range(t):
                change = new[s + 1] - tangent[i, s]
                worst = max(worst, abs(change) * k[s + 1, s + 1])
                push(tangents, i * t + s, change, x)
                tangent[i, s] = new[s + 1]
        sweeps += 1
        if worst <= tolerance * top:
            break
    return worst / top, sweeps


@kernel
def normal_sweeps(rows, velocity, boundary, normal, tolerance, max_sweeps):
    """`0 <= lam perp u >= 0`, solved in place of `normal` (m,); returns the same as `coupled_coulomb`."""
    x = velocity.copy()
    top = 0.0
    for i in range(len(normal)):
        top = max(top, abs(speed(rows, i, x) + boundary[i]))
    if top == 0.0:
        normal[:] = 0.0
        return 0.0, 0
    for i in range(len(normal)):
        if normal[i] != 0.0:
            push(rows, i, normal[i], x)
    worst, sweeps = np.inf, 0
    while sweeps < max_sweeps and worst > tolerance * top:
        worst = 0.0
        for i in range(len(normal)):
            new = max(normal[i] - (speed(rows, i, x) + boundary[i]) / rows.diag[i], 0.0)
            change = new - normal[i]
            if change != 0.0:
                worst = max(worst, abs(change) * rows.diag[i])
                push(rows, i, change, x)
                normal[i] = new
        sweeps += 1
    return worst / top, sweeps


@kernel
def row_product(a, i, b, j):
    """Scalar product of row i of a and row j of b."""
    total = 0.0
    for e in range(a.ptr[i], a.ptr[i + 1]):
        for f in range(b.ptr[j], b.ptr[j + 1]):
            if a.body[e] == b.body[f]:
                for s in range(a.val.shape[1]):
                    total += a.val[e, s] * b.val[f, s]
    return total


@kernel
def _tangent_block(tangents, i, t):
    k = np.empty((t, t))
    for s in range(t):
        for r in range(s + 1):
            k[s, r] = row_product(tangents, i * t + s, tangents, i * t + r)
            k[r, s] = k[s, r]
    return k


@kernel
def _contact_block(rows, tangents, i, t):
    k = np.empty((t + 1, t + 1))
    k[0, 0] = rows.diag[i]
    for s in range(t):
        k[s + 1, 0] = row_product(tangents, i * t + s, rows, i)
        k[0, s + 1] = k[s + 1, 0]
        for r in range(s + 1):
            k[s + 1, r + 1] = row_product(tangents, i * t + s, tangents, i * t + r)
            k[r + 1, s + 1] = k[s + 1, r + 1]
    return k


@kernel
def _solve_shifted(k, q, shift, out):
    """`(k + shift I) out = -q` for one or two unknowns; zero along singular directions."""
    if len(q) == 1:
        pivot = k[0, 0] + shift
        out[0] = -q[0] / pivot if pivot > 0.0 else 0.0
        return
    a, b, c = k[0, 0] + shift, k[0, 1], k[1, 1] + shift
    det = a * c - b * b
    if det > 1e-14 * a * c:
        out[0] = (-q[0] * c + q[1] * b) / det
        out[1] = (-q[1] * a + q[0] * b) / det
    else:
        # At most one direction can move: the pseudo-inverse of v v^T is v v^T / |v|^4.
        square = (a + c) ** 2 if a + c > 0.0 else 1.0
        out[0] = -(a * q[0] + b * q[1]) / square
        out[1] = -(b * q[0] + c * q[1]) / square


@kernel
def _length(v, first):
    total = 0.0
    for s in range(first, len(v)):
        total += v[s] * v[s]
    return np.sqrt(total)


@kernel
def _disk(k, q, radius, out):
    """`min 1/2 b^T k b + q^T b` over `|b| <= radius`: inside, or on the rim with a multiplier by bisection."""
    _solve_shifted(k, q, 0.0, out)
    if _length(out, 0) <= radius:
        return
    low, high = 0.0, _length(q, 0) / radius
    for _ in range(200):
        middle = 0.5 * (low + high)
        _solve_shifted(k, q, middle, out)
        if _length(out, 0) > radius:
            low = middle
        else:
            high = middle
        if high - low <= 4e-16 * high:
            break
    _solve_shifted(k, q, high, out)
    size = _length(out, 0)
    for s in range(len(out)):
        out[s] *= radius / size


@kernel
def _one_contact(k, free, mu, out):
    """Coulomb's law for one contact with the free velocity `free` = (normal, tangents)."""
    t = len(free) - 1
    for s in range(t + 1):
        out[s] = 0.0
    if free[0] >= 0.0:
        return
    if mu == 0.0:
        out[0] = -free[0] / k[0, 0]
        return
    beta = np.empty(t)
    if _given_shift(k, free, 0.0, mu, out, beta) <= 0.0:
        return
    # Slipping: the multiplier `shift` >= 0 with |beta| = mu lam. At 0 friction is too large, at infinity it is zero.
    low, high = 0.0, k[0, 0]
    while _given_shift(k, free, high, mu, out, beta) > 0.0 and high < 1e12 * k[0, 0]:
        low = high
        high *= 4.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if _given_shift(k, free, middle, mu, out, beta) > 0.0:
            low = middle
        else:
            high = middle
        if high - low <= 4e-16 * high:
            break
    _given_shift(k, free, high, mu, out, beta)


@kernel
def _given_shift(k, free, shift, mu, out, beta):
    """Impulses with `u_n+ = 0` and `u_t+ = -shift beta`; returns |beta| - mu lam."""
    t = len(free) - 1
    # Eliminate the normal impulse: (K_tt - K_tn K_nt / K_nn + shift) beta = -(u_t - K_tn u_n / K_nn).
    reduced, q = np.empty((t, t)), np.empty(t)
    for s in range(t):
        q[s] = free[s + 1] - k[s + 1, 0] * free[0] / k[0, 0]
        for r in range(t):
            reduced[s, r] = k[s + 1, r + 1] - k[s + 1, 0] * k[0, r + 1] / k[0, 0]
    _solve_shifted(reduced, q, shift, beta)
    lam = -free[0]
    for s in range(t):
        lam -= k[0, s + 1] * beta[s]
    lam /= k[0, 0]
    if lam < 0.0:
        # Friction alone would separate the contact: it is too large.
        out[0] = 0.0
        for s in range(t):
            out[s + 1] = 0.0
        return _length(beta, 0) + abs(lam)
    out[0] = lam
    for s in range(t):
        out[s + 1] = beta[s]
    return _length(beta, 0) - mu * lam
