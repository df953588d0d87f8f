"""Coulomb's law in space by Newton steps on the velocities of an island."""

from __future__ import annotations

import numpy as np
from numba import njit

from .contact_blocks import distance, moved, speeds_at

FIRST, LEAST, MOST, UP = 1e-1, 1e-6, 1.0, 4.0  # the proximal term: where to start, and how it adapts
GUESSES = 12  # systems for one proximal term
OUTER = 60  # proximal terms
FAILS = 5
SYSTEMS = 200
LINE = 8


@njit(cache=True, nogil=True)
def _residual(blocks, z, x, u):
    moved(blocks, z, x)
    speeds_at(blocks, x, u)
    return distance(blocks, z, u)


@njit(cache=True, nogil=True)
def solve_blocks(blocks, z, tolerance):
    k = len(z)
    x, u = blocks.velocity.copy(), np.empty((k, 3))
    speeds_at(blocks, x, u)
    top = np.abs(u).max()
    if top == 0.0:
        z[:] = 0.0
        return 0.0, 0
    least, systems = _residual(blocks, z, x, u) / top, 0
    best, centre = z.copy(), z.copy()
    shift = FIRST
    fails = 0
    for _ in range(OUTER):
        if least <= tolerance or systems >= SYSTEMS or fails > FAILS:
            break
        count, settled = _newton(blocks, centre, shift, z, x, top * max(0.03 * least, 0.1 * tolerance))
        systems += count
        residual = _residual(blocks, z, x, u) / top
        # print(shift, count, settled, residual)
        if settled:
            fails = 0
            centre[:] = z
            shift = max(shift * (0.3 if count <= 4 else 0.7 if count <= 7 else 1.5), LEAST)
        else:
            fails += 1
            shift = min(shift * UP, MOST)
            moved(blocks, centre, x)
        if residual < least:
            best[:], least = z, residual
    z[:] = best
    return least, systems


@njit(cache=True, nogil=True)
def _respond(blocks, centre, shift, u, z):
    """The impulses that answer speeds u: z = P(centre - u / (shift r))."""
    for p in range(len(z)):
        lam = max(centre[p, 0] - u[p, 0] / (shift * blocks.unit[p, 0]), 0.0)
        bound = lam * blocks.friction[p]
        a = b = 0.0
        if bound > 0.0:
            r = shift * blocks.unit[p, 1]
            a, b = centre[p, 1] - u[p, 1] / r, centre[p, 2] - u[p, 2] / r
            size = np.sqrt(a * a + b * b)
            if size > bound:
                a, b = a * bound / size, b * bound / size
        z[p, 0], z[p, 1], z[p, 2] = lam, a, b


@njit(cache=True, nogil=True)
def _slopes(blocks, centre, shift, u, z, q):
    """`-dz/du` of the response, (k, 3, 3)."""
    q[:] = 0.0
    for p in range(len(z)):
        if z[p, 0] <= 0.0:
            continue
        q[p, 0, 0] = 1.0 / (shift * blocks.unit[p, 0])
        mu = blocks.friction[p]
        if mu == 0.0:
            continue
        r = shift * blocks.unit[p, 1]
        a, b = centre[p, 1] - u[p, 1] / r, centre[p, 2] - u[p, 2] / r
        size = np.sqrt(a * a + b * b)
        bound = mu * z[p, 0]
        if size <= bound:
            q[p, 1, 1] = q[p, 2, 2] = 1.0 / r
            continue
        a, b = a / size, b / size
        q[p, 1, 0], q[p, 2, 0] = mu * a * q[p, 0, 0], mu * b * q[p, 0, 0]
        turn = bound / (size * r)
        q[p, 1, 1], q[p, 1, 2], q[p, 2, 1], q[p, 2, 2] = turn * b * b, -turn * a * b, -turn * a * b, turn * a * a


@njit(cache=True, nogil=True)
def _system(blocks, q, m):
    """`m = I + G^T q G`."""
    d = blocks.velocity.shape[1]
    m[:] = 0.0
    for r in range(len(m)):
        m[r, r] = 1.0
    part = np.empty((3, d))
    for p in range(len(q)):
        if q[p, 0, 0] == 0.0:
            continue
        for j in range(2):
            bj = blocks.body[p, j]
            if bj < 0:
                continue
            for s in range(3):
                for c in range(d):
                    part[s, c] = (
                        q[p, s, 0] * blocks.val[p, j, 0, c]
                        + q[p, s, 1] * blocks.val[p, j, 1, c]
                        + q[p, s, 2] * blocks.val[p, j, 2, c]
                    )
            for i in range(2):
                bi = blocks.body[p, i]
                if bi < 0:
                    continue
                for e in range(d):
                    g0, g1, g2 = blocks.val[p, i, 0, e], blocks.val[p, i, 1, e], blocks.val[p, i, 2, e]
                    for c in range(d):
                        m[bi * d + e, bj * d + c] += g0 * part[0, c] + g1 * part[1, c] + g2 * part[2, c]


@njit(cache=True, nogil=True)
def _off(blocks, centre, shift, x, u, z, y):
    """u, z at x, and `y = x - v - G^T z`."""
    speeds_at(blocks, x, u)
    _respond(blocks, centre, shift, u, z)
    moved(blocks, z, y)
    for b in range(len(x)):
        for c in range(x.shape[1]):
            y[b, c] = x[b, c] - y[b, c]


@njit(cache=True, nogil=True)
def _newton(blocks, centre, shift, z, x, enough):
    k = len(z)
    n, d = x.shape
    u, y, f = np.empty((k, 3)), np.empty((n, d)), np.empty((k, 3))
    q, m = np.empty((k, 3, 3)), np.empty((n * d, n * d))
    start = x.copy()
    _off(blocks, centre, shift, x, u, z, y)
    solved = 0
    while True:
        # the speeds that z truly makes differ from u by G y
        far = 0.0
        for p in range(k):
            for s in range(3):
                t = 0.0
                for i in range(2):
                    b = blocks.body[p, i]
                    if b >= 0:
                        for c in range(d):
                            t += blocks.val[p, i, s, c] * y[b, c]
                far = max(far, abs(t))
        if far <= enough:
            return solved, True
        if solved == GUESSES:
            return solved, False
        _slopes(blocks, centre, shift, u, z, q)
        _system(blocks, q, m)
        step = -np.linalg.solve(m, y.copy().reshape(n * d)).reshape((n, d))
        solved += 1
        first = (y * step).sum()
        start[:] = x
        x += step
        _off(blocks, centre, shift, x, u, z, y)
        now = (y * step).sum()
        if LINE and first < 0.0 and now > 0.1 * abs(first):
            low, high = 0.0, 1.0
            f_low, f_high = first, now
            for _ in range(LINE):
                share = low + (high - low) * min(max(-f_low / (f_high - f_low), 0.1), 0.9)
                for b in range(n):
                    for c in range(d):
                        x[b, c] = start[b, c] + share * step[b, c]
                _off(blocks, centre, shift, x, u, z, y)
                now = (y * step).sum()
                if abs(now) <= 0.1 * abs(first):
                    break
                if now > 0.0:
                    high, f_high = share, now
                else:
                    low, f_low = share, now
