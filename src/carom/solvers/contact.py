"""Frictional contact: impulses of contacts with the true Coulomb cone, rolling and torsional friction, 2D and 3D.

    0 <= z_0 perp u_0 >= 0,   |z_g| <= b_g z_0,   z_g against u_g where |z_g| = b_g z_0

for each contact and each of its groups of friction rows (`blocks.py`), with `u = G (v + G^T z) + base`. Islands are
solved one by one. An island whose warm start is good enough costs one residual. Small islands are solved by Newton
steps (`contact_newton.py`), others by accelerated sweeps (`contact_sweeps.py`), and by Newton steps where the sweeps
stall and a factorization is affordable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .blocks import Blocks
from .contact_newton import island_of, newton
from .contact_pack import grouped, layout_of, pack, push_all, residual_of, room, unpack, work_of
from .contact_sweeps import relax, without_work
from .linalg.contact_lu import multiplications, pattern_of
from .rows import Floats, Ints
from .thresholds import NEWTON_BODIES, NEWTON_ISLAND_WORK, NEWTON_SYSTEM_WORK, NEWTON_SYSTEMS, TINY_ISLAND_CONTACTS

SWEEPS = 200  # bound on the sweeps over an island
FINE = 1e-3  # tolerance of islands of up to TINY_ISLAND_CONTACTS contacts: it costs next to nothing


class Answer(NamedTuple):
    """Velocity after the impulses, and how good they are."""

    velocity: Floats  # (n, d) whitened
    residual: float  # largest distance of an impulse to its projected step, as a speed (m/s)
    iterations: int  # sweeps and linear systems over all islands


def solve_contact(blocks: Blocks, chosen: Ints, velocity: Floats, impulse: Floats, tolerance: float) -> Answer:
    """Impulses of the contacts `chosen` (k,), in place of `impulse` (m, r), which is also the warm start.

    `velocity` (n, d) is whitened and not modified. `tolerance` is a speed: the residual aimed for. The residual
    reached may be larger. Impulses do no work on any island, `sum z . u <= 0` up to rounding, whatever the tolerance.
    """
    lay = layout_of(blocks)
    x, residual, iterations = _solve(lay, blocks, chosen, velocity, impulse, float(tolerance))
    return Answer(x, residual, iterations)


@kernel
def _solve(lay, blocks, chosen, velocity, impulse, tolerance):
    n, d = velocity.shape
    order, ptr = grouped(lay, blocks.body, chosen, n)
    packed, z = room(lay, len(order))
    pack(lay, blocks, order, n, impulse, packed, z, 0, len(order))
    after = np.empty((n, d))
    x = np.zeros((n + 1, d))
    x[:n] = velocity
    push_all(lay, packed, z, x, 0, len(order))
    label = np.full(n, -1, np.int64)
    worst, iterations = 0.0, 0
    for s in range(len(ptr) - 1):
        first, last = ptr[s], ptr[s + 1]
        residual = residual_of(lay, packed, z, x, first, last)
        enough = FINE * tolerance if last - first <= TINY_ISLAND_CONTACTS else tolerance
        if residual > enough or (residual > 0.0 and work_of(lay, packed, z, x, first, last) > 0.0):
            residual, count = _island(lay, packed, first, last, velocity, label, z[first:last], x, enough)
            iterations += count
        worst = max(worst, residual)
    unpack(lay, packed, z, order, impulse)
    after[:] = x[:n]
    return after, worst, iterations


@kernel
def _island(lay, packed, first, last, velocity, label, z, x, tolerance):
    """Solves contacts first to last in place of z and of the velocities x of their bodies."""
    island, members, v = island_of(packed, first, last, velocity, label)
    residual, count = np.inf, 0
    if len(members) <= NEWTON_BODIES:
        pattern = pattern_of(island.body, len(members))
        cost = multiplications(lay.axes, pattern)
        if cost <= NEWTON_SYSTEM_WORK:
            most = min(NEWTON_SYSTEMS, NEWTON_ISLAND_WORK / cost)
            residual, count = newton(lay, island, pattern, v, z, tolerance, most)
    y = v.copy()
    push_all(lay, island, z, y, 0, len(z))
    if residual > tolerance:
        residual, more = relax(lay, island, z, y, tolerance, SWEEPS)
        count += more
        y[:] = v
        push_all(lay, island, z, y, 0, len(z))
    if without_work(lay, island, z, y, v):
        residual = residual_of(lay, island, z, y, 0, len(z))
    for b in range(len(members)):
        for c in range(len(lay.axes)):
            x[members[b], c] = y[b, c]
    return residual, count
