"""Coulomb's law in 3D: small islands by Newton steps, large ones by sweeps.

    0 <= lam perp u_n >= 0,   |beta| <= mu lam,   beta against the slip u_t where |beta| = mu lam

with lam (m,), beta (m, 2). Resting bodies keep their impulses, so a pile at rest costs one residual per step.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..islands import islands
from ..linalg.block_lu import WIDTH, multiplications, pattern_of
from ..thresholds import (
    CROWD_ISLANDS,
    CROWD_WORK,
    LEAST_NEWTON_SYSTEMS,
    NEWTON_BODIES,
    NEWTON_ISLAND_WORK,
    NEWTON_SYSTEM_WORK,
    NEWTON_SYSTEMS,
    ROUGH_RESIDUAL,
    TINY_ISLAND_CONTACTS,
)
from .contact_blocks import blocks_of
from .newton import solve_blocks
from .slab_sweeps import sweeps
from .sweeps import coupled_coulomb


def coulomb_3d(rows, tangents, velocity, boundary, slip, friction, normal, tangent, tolerance, max_sweeps):
    """Solves in place of `normal` (m,) and `tangent` (m, 2), from their values; returns (residual, systems).

    Tangent rows, two for each contact, must touch the bodies of their normal rows. The residual is the largest distance
    to the projected step, in units of speed, over the fastest speed. Islands for which Newton steps would cost too much
    are relaxed by at most `max_sweeps` sweeps.
    """
    m, n = len(normal), len(rows.touch_ptr) - 1
    given = (rows, tangents, velocity, boundary, slip, friction, normal, tangent)
    if velocity.shape[1] > WIDTH or np.diff(rows.ptr).max(initial=0) > 2:  # a general mass matrix
        return coupled_coulomb(*given, tolerance, max_sweeps)
    label = np.empty(n, np.int64)
    order, ptr = islands(rows, np.arange(m), np.empty(n, np.int64), label)
    label[:] = -1
    worst, systems, large = _small(*given, order, ptr, label, tolerance)
    if len(large):  # one call for all of them: a call per island would cost much more
        rest = np.concatenate([order[ptr[s] : ptr[s + 1]] for s in large])
        residual, count = sweeps(*given, rest, tolerance, max_sweeps)
        worst, systems = max(worst, residual), systems + count
    return worst, systems


@kernel
def _small(rows, tangents, velocity, boundary, slip, friction, normal, tangent, order, ptr, label, tolerance):
    """Newton steps for all islands that are small enough; returns their residual, systems, and the islands that need
    sweeps."""
    worst, systems = 0.0, 0
    large, count = np.empty(len(ptr), np.int64), 0
    for s in range(len(ptr) - 1):
        mine = order[ptr[s] : ptr[s + 1]]
        if _bodies(rows, mine, label) > NEWTON_BODIES:
            large[count] = s
            count += 1
            continue
        blocks = blocks_of(rows, tangents, velocity, boundary, slip, friction, mine, label)
        pattern = pattern_of(blocks.body, len(blocks.velocity))
        cost = multiplications(pattern)
        share = CROWD_WORK / (cost * (len(ptr) - 1)) if len(ptr) - 1 > CROWD_ISLANDS else np.inf
        if cost > NEWTON_SYSTEM_WORK or (share < LEAST_NEWTON_SYSTEMS and len(mine) > TINY_ISLAND_CONTACTS):
            large[count] = s
            count += 1
            continue
        z = np.empty((len(mine), 3))
        for p in range(len(mine)):
            z[p, 0], z[p, 1], z[p, 2] = normal[mine[p]], tangent[mine[p], 0], tangent[mine[p], 1]
        enough, most = (
            1e-3 * tolerance if len(mine) <= TINY_ISLAND_CONTACTS else tolerance,
            min(NEWTON_SYSTEMS, NEWTON_ISLAND_WORK / cost),
        )
        residual, solved = solve_blocks(blocks, pattern, z, enough, min(most, max(LEAST_NEWTON_SYSTEMS, share)))
        for p in range(len(mine)):
            normal[mine[p]], tangent[mine[p], 0], tangent[mine[p], 1] = z[p, 0], z[p, 1], z[p, 2]
        systems += solved
        if residual > ROUGH_RESIDUAL:
            large[count] = s
            count += 1
        else:
            worst = max(worst, residual)
    return worst, systems, large[:count]


@kernel
def _bodies(rows, mine, label):
    """Number of bodies that the contacts touch. `label` is scratch, -1 for each of them before and after."""
    count = 0
    for i in mine:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            count -= label[rows.body[e]]
            label[rows.body[e]] = 0
    for i in mine:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            label[rows.body[e]] = -1
    return count
