"""Random problems of frictional contact, and an independent residual in plain NumPy."""

from __future__ import annotations

import numpy as np

from carom.solvers.rows import Rows


def random_blocks(seed, bodies=12, contacts=30, dimension=3, rolling=False, friction=0.5, frozen=0.2):
    """Rigid bodies with random contacts, some with the world; positive gaps and approach at random. (blocks, velocity)

    Every contact is real: opposite forces at one point, with random levers.
    """
    chance = np.random.default_rng(seed)
    t = dimension - 1
    d = 3 if dimension == 2 else 6
    r = 1 + t if not rolling else (3 if dimension == 2 else 6)
    root = 1.0 / np.sqrt(chance.uniform(0.5, 2.0, (bodies, d)))
    body = np.full((contacts, 2), -1)
    val = np.zeros((contacts, 2, r, d))
    for i in range(contacts):
        pair = chance.choice(bodies, 2, replace=False)
        alone = chance.uniform() < frozen
        frame, _ = np.linalg.qr(chance.normal(size=(dimension, dimension)))
        for side in range(1 if alone else 2):
            b, sign, lever = pair[side], 1.0 - 2.0 * side, chance.uniform(-0.5, 0.5, dimension)
            body[i, side] = b
            for s in range(1 + t):
                axis = frame[:, s]
                turn = lever[0] * axis[1] - lever[1] * axis[0] if dimension == 2 else np.cross(lever, axis)
                val[i, side, s] = sign * np.concatenate([axis, np.atleast_1d(turn)]) * root[b]
            if rolling and dimension == 2:
                val[i, side, 2, 2] = sign * root[b, 2]
            elif rolling:
                for s, column in zip((3, 4, 5), (1, 2, 0), strict=True):
                    val[i, side, s, 3:] = sign * frame[:, column] * root[b, 3:]
    base = np.zeros((contacts, r))
    base[:, 0] = chance.uniform(0.0, 0.2, contacts)
    bound = np.zeros((contacts, 3))
    bound[:, 0] = friction
    if rolling:
        bound[:, 1], bound[:, 2] = 0.1, 0.05
    return Rows(body, val, base, bound, t), chance.normal(size=(bodies, d))


def box_pile(columns, height, friction=0.5, seed=0):
    """Columns of unit boxes in 2D that press on each other at their corners, under gravity. (blocks, velocity)"""
    chance = np.random.default_rng(seed)
    n = columns * height
    inertia = 1.0 / 6.0
    contacts = []
    for c in range(columns):
        for k in range(height):
            b = c * height + k
            contacts += [(b, b - 1 if k else -1, x, "up") for x in (-0.5, 0.5)]
            if c:
                contacts += [(b, b - height, y, "side") for y in (-0.5, 0.5)]
    m = len(contacts)
    body, val = np.full((m, 2), -1), np.zeros((m, 2, 2, 3))
    for i, (b, other, at, kind) in enumerate(contacts):
        normal, tangent = (np.array([0.0, 1.0]), np.array([1.0, 0.0]))
        if kind == "side":
            normal, tangent = tangent, normal
        for side, (who, sign) in enumerate(((b, 1.0), (other, -1.0))):
            if who < 0:
                continue
            lever = at * tangent - 0.5 * sign * normal
            body[i, side] = who
            for s, axis in enumerate((normal, tangent)):
                turn = lever[0] * axis[1] - lever[1] * axis[0]
                val[i, side, s] = sign * np.array([axis[0], axis[1], turn / np.sqrt(inertia)])
    velocity = np.zeros((n, 3))
    velocity[:, 1] = -0.04
    velocity += 0.01 * chance.normal(size=velocity.shape)
    bound = np.zeros((m, 3))
    bound[:, 0] = friction
    return Rows(body, val, np.zeros((m, 2)), bound, 1), velocity


def velocity_after(blocks, chosen, velocity, impulse):
    """`v + G^T z` over the chosen contacts."""
    x = velocity.copy()
    for i in chosen:
        for side, b in enumerate(blocks.body[i]):
            if b >= 0:
                x[b] += impulse[i] @ blocks.val[i, side]
    return x


def speeds(blocks, x):
    """`u = G x + base`, (m, r)."""
    padded = np.vstack([x, np.zeros(x.shape[1])])
    return np.einsum("mwrd,mwd->mr", blocks.val, padded[blocks.body]) + blocks.base


def residual(blocks, chosen, velocity, impulse):
    """Largest violation of the law, as a speed, from impulses and velocities alone.

    For each contact the distance of z to its projected step: `min(u_0, A_00 z_0)`, and for each group of friction rows
    `k |z_g - P(z_g - u_g / k)|`, where P projects on the disk and k is the larger eigenvalue of the group's block.
    Rolling and spinning count with the length `sqrt(A_00 / k)`.
    """
    u = speeds(blocks, velocity_after(blocks, chosen, velocity, impulse))
    r, t = blocks.val.shape[2], blocks.tangents
    groups = [(g, range(1 + g * t, min(1 + g * t + t, r))) for g in range(3) if 1 + g * t < r]
    worst = 0.0
    for i in chosen:
        rows = np.concatenate(list(blocks.val[i]), axis=1)
        a = rows @ rows.T
        worst = max(worst, abs(min(u[i, 0], a[0, 0] * impulse[i, 0])))
        for g, columns in groups:
            q = list(columns)
            k = np.linalg.eigvalsh(a[np.ix_(q, q)])[-1]
            radius = blocks.bound[i, g] * max(impulse[i, 0], 0.0)
            step = impulse[i, q] - u[i, q] / k
            size = np.linalg.norm(step)
            aim = step * (radius / size if size > radius else 1.0)
            length = 1.0 if g == 0 else np.sqrt(a[0, 0] / k)
            worst = max(worst, length * k * np.linalg.norm(impulse[i, q] - aim))
    return worst


def work(blocks, chosen, velocity, impulse):
    """`z . u` after the impulses, over the chosen contacts."""
    u = speeds(blocks, velocity_after(blocks, chosen, velocity, impulse))
    return float((impulse[chosen] * u[chosen]).sum())
