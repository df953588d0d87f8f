"""Coulomb's law in space: small islands by Newton steps, large ones by sweeps.

    0 <= lam perp u_n >= 0,   |beta| <= mu lam,   beta against the slip u_t where |beta| = mu lam

with lam (m,), beta (m, 2). Bodies that keep resting keep their impulses, so a pile at rest costs one residual a step.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..islands import islands
from ..linalg.block_lu import multiplications, pattern_of
from .contact_blocks import WIDTH, blocks_of
from .newton import solve_blocks
from .slab_sweeps import sweeps
from .sweeps import coupled_coulomb

LIMIT = 500  # bodies of an island up to which Newton steps are considered
SYSTEM = 5e6  # multiplications of one system up to which they are taken: some milliseconds
SYSTEMS, WORK = 1000, 2e8  # systems for an island, and their multiplications
# Multiplications for all islands, shared evenly where there are more than CROWD of them, and the least number of
# systems that is worth a start. With less to go round an island gets sweeps, and goes on in the next step.
CROWD, ALL, LEAST = 8, 5e6, 8.0
SMALL = 24  # contacts of an island that is solved to a thousandth of the tolerance: it costs nothing
ROUGH = 1e-3  # a residual after which sweeps go on from where Newton steps ended


def coulomb_3d(rows, tangents, velocity, boundary, slip, friction, normal, tangent, tolerance, max_sweeps):
    """Solves in place of `normal` (m,) and `tangent` (m, 2), from their values; returns (residual, systems).

    Tangent rows, two for each contact, must touch the bodies of their normal rows. The residual is the largest distance
    to the projected step, in units of speed, over the fastest speed. Islands for which Newton steps would cost too much
    get at most `max_sweeps` sweeps.
    """
    m, n = len(normal), len(rows.touch_ptr) - 1
    given = (rows, tangents, velocity, boundary, slip, friction, normal, tangent)
    if velocity.shape[1] > WIDTH or np.diff(rows.ptr).max(initial=0) > 2:  # not bodies of space: any whitened matrix
        return coupled_coulomb(*given, tolerance, max_sweeps)
    label = np.empty(n, np.int64)
    order, ptr = islands(rows, np.arange(m), np.empty(n, np.int64), label)
    label[:] = -1
    worst, systems, large = _small(*given, order, ptr, label, tolerance)
    if len(large):  # all at once: a sweep over many islands costs its contacts, a call for each much more
        rest = np.concatenate([order[ptr[s] : ptr[s + 1]] for s in large])
        residual, count = sweeps(*given, rest, tolerance, max_sweeps)
        worst, systems = max(worst, residual), systems + count
    return worst, systems


@kernel
def _small(rows, tangents, velocity, boundary, slip, friction, normal, tangent, order, ptr, label, tolerance):
    """Newton steps for all islands that are small enough; returns their residual, systems, and who needs sweeps."""
    worst, systems = 0.0, 0
    large, count = np.empty(len(ptr), np.int64), 0
    for s in range(len(ptr) - 1):
        mine = order[ptr[s] : ptr[s + 1]]
        if _bodies(rows, mine, label) > LIMIT:
            large[count] = s
            count += 1
            continue
        blocks = blocks_of(rows, tangents, velocity, boundary, slip, friction, mine, label)
        pattern = pattern_of(blocks.body, len(blocks.velocity))
        cost = multiplications(pattern)
        share = ALL / (cost * (len(ptr) - 1)) if len(ptr) - 1 > CROWD else np.inf
        if cost > SYSTEM or (share < LEAST and len(mine) > SMALL):
            large[count] = s
            count += 1
            continue
        z = np.empty((len(mine), 3))
        for p in range(len(mine)):
            z[p, 0], z[p, 1], z[p, 2] = normal[mine[p]], tangent[mine[p], 0], tangent[mine[p], 1]
        enough, most = 1e-3 * tolerance if len(mine) <= SMALL else tolerance, min(SYSTEMS, WORK / cost)
        residual, solved = solve_blocks(blocks, pattern, z, enough, min(most, max(LEAST, share)))
        for p in range(len(mine)):
            normal[mine[p]], tangent[mine[p], 0], tangent[mine[p], 1] = z[p, 0], z[p, 1], z[p, 2]
        systems += solved
        if residual > ROUGH:
            large[count] = s
            count += 1
        else:
            worst = max(worst, residual)
    return worst, systems, large[:count]


@kernel
def _bodies(rows, mine, label):
    """How many bodies the contacts touch. `label` is -1 for each of them before and after."""
    count = 0
    for i in mine:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            count -= label[rows.body[e]]
            label[rows.body[e]] = 0
    for i in mine:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            label[rows.body[e]] = -1
    return count
