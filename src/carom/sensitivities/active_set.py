"""Contacts that are held, on the active set that the stepper has found: impulses, and their derivatives.

With the rows R (k, N) of the closed contacts, the inverse masses W and the velocity v at the end of free motion, the
impulses y give `u = R (v + W R^T y) + b`. Each contact has

    normal    u_n = 0
    sticking  u_t = 0
    sliding   y_t + mu y_n s = 0,  s = u_t / |u_t|.

Newton's method starts at the impulses of the stepper, so that one step usually suffices. Its matrix `J = P + Q R W R^T`
is that of the implicit function theorem as well: one factorization serves all derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..derivatives.implicit import RANK
from ..solvers.rows import Floats

LARGEST_ACTIVE_SET = 300  # rows up to which equations are solved by singular values here; a few milliseconds
AT_BOUND = 1e-6  # room to the bound of friction, relative to it, up to which a contact slides
SOLVED = 1e-12  # residual, relative to the fastest speed, at which Newton's method has converged
NEWTON_STEPS = 6
STILL = 1e-9  # slip, relative to the fastest speed, up to which a contact does not slide
FEASIBLE = 1e-8  # impulse that pulls or exceeds the bound of friction, relative to the largest, that is rounding error


@dataclass(frozen=True, eq=False)
class Island:
    """Closed contacts of some bodies, numbered (m,); rows are normal and tangents (1 + t)."""

    rows: Floats  # (m, 1 + t, n, 6)
    inverse: Floats  # (n, 6) inverse masses
    velocity: Floats  # (n, 6) at the end of free motion
    base: Floats  # (m, 1 + t) speeds that no impulse changes
    friction: Floats  # (m,)


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """The answer of an island."""

    island: Island
    impulse: Floats  # (m, 1 + t)
    velocity: Floats  # (n, 6)
    inverse: Floats  # (k, k) pseudo-inverse of J
    q: Floats  # (k, k) derivative of the equations with respect to the speeds
    slip: Floats  # (m, t) directions of the contacts that slide; zero for the others

    def jvp(self, dv: Floats, mass: Floats, rows: Floats, base: Floats, friction: Floats) -> Floats:
        """Changes (n, 6, directions) of the velocity.

        Given are those of the velocity before (n, 6, directions), inverse masses (n, 6, directions), rows (m, 1 + t, n,
        6, directions), base (m, 1 + t, directions) and friction (m, directions).
        """
        i, y = self.island, self.impulse
        push = np.einsum("mrbk,mr->bk", i.rows, y)
        free = dv + mass * push[..., None] + i.inverse[..., None] * np.einsum("mrbkc,mr->bkc", rows, y)
        change = np.einsum("mrbkc,bk->mrc", rows, self.velocity) + np.einsum("mrbk,bkc->mrc", i.rows, free) + base
        sliding = np.zeros_like(change)
        sliding[:, 1:] = (y[:, :1] * self.slip)[..., None] * friction[:, None]
        k = y.size
        dy = -self.inverse @ (self.q @ change.reshape(k, -1) + sliding.reshape(k, -1))
        return np.asarray(free + i.inverse[..., None] * np.einsum("mrbk,mrc->bkc", i.rows, dy.reshape(change.shape)))


def solved(island: Island, guess: Floats) -> ActiveSet | None:
    """The answer on the active set of the impulses `guess` (m, 1 + t); None if that is not the one of the answer."""
    (m, r), mu = guess.shape, island.friction
    if guess.size > LARGEST_ACTIVE_SET:
        return None
    flat = island.rows.reshape(m * r, -1)
    gram = (flat * island.inverse.ravel()) @ flat.T
    start = (flat @ island.velocity.ravel()).reshape(m, r) + island.base
    y = np.where((np.arange(r) > 0) & (mu == 0.0)[:, None], 0.0, guess)
    along = np.linalg.norm(y[:, 1:], axis=1)
    slides = (mu > 0.0) & (along >= (1.0 - AT_BOUND) * mu * y[:, 0])
    slip = np.where(slides[:, None], -y[:, 1:] / np.where(along > 0.0, along, 1.0)[:, None], 0.0)
    speed, scale = np.zeros(m), max(float(np.abs(island.velocity).max()), float(np.abs(start).max()))
    for step in range(NEWTON_STEPS):
        u = start + (gram @ y.ravel()).reshape(m, r)
        if step > 0 and slides.any():
            speed = np.where(slides, np.linalg.norm(u[:, 1:], axis=1), 0.0)
            if (speed[slides] <= STILL * scale).any():
                return None
            turned = u[slides, 1:] / speed[slides, None]
            if r > 2:
                slip[slides] = turned
            elif (turned * slip[slides] < 0.0).any():
                return None
        p, q, wanted = _equations(y, u, mu, slides, slip, speed)
        inverse = np.linalg.pinv(p + q @ gram, rcond=RANK)
        off = float(np.abs(wanted).max())
        if step > 0 and off <= SOLVED * scale:
            break
        y = y - (inverse @ wanted.ravel()).reshape(m, r)
    else:
        return None
    largest = float(np.abs(y).max())
    over = np.linalg.norm(y[:, 1:], axis=1) - mu * y[:, 0]
    if y[:, 0].min() < -FEASIBLE * largest or over.max() > FEASIBLE * largest:
        return None
    velocity = island.velocity + island.inverse * np.einsum("mrbk,mr->bk", island.rows, y)
    return ActiveSet(island, y, velocity, inverse, q, slip)


def _equations(
    y: Floats, u: Floats, mu: Floats, slides: np.ndarray, slip: Floats, speed: Floats
) -> tuple[Floats, Floats, Floats]:
    """Derivatives P, Q (k, k) of the equations with respect to y and u, and their residual (m, 1 + t), a speed.

    The equations of friction have the unit of impulses, all others that of speeds. Without friction, y_t = 0.
    """
    m, r = y.shape
    p, q, wanted = np.zeros((m, r, m, r)), np.zeros((m, r, m, r)), u.copy()
    every = np.arange(m)
    q[every, 0, every, 0] = 1.0
    smooth, sticks = (mu == 0.0), (mu > 0.0) & ~slides
    for s in range(1, r):
        wanted[~sticks, s] = y[~sticks, s] + mu[~sticks] * y[~sticks, 0] * slip[~sticks, s - 1]
        q[every, s, every, s] = np.where(sticks, 1.0, 0.0)
        p[every, s, every, s] = np.where(smooth | slides, 1.0, 0.0)
        p[every, s, every, 0] = np.where(slides, mu * slip[:, s - 1], 0.0)
        if r == 2:
            continue
        moving = np.flatnonzero(slides & (speed > 0.0))
        for other in range(1, r):
            across = (1.0 if s == other else 0.0) - slip[moving, s - 1] * slip[moving, other - 1]
            q[moving, s, moving, other] = mu[moving] * y[moving, 0] * across / speed[moving]
    k = m * r
    return p.reshape(k, k), q.reshape(k, k), wanted
