"""Removal of overlap by a change of positions that does not add energy.

The displacement dx minimizes `|dx|^2 / 2` in the mass metric, subject to `J dx >= -rate gap` at overlapping contacts
and `J dx >= -max(gap, 0)` at the others. Velocities are not used, so momentum is unchanged, and the center of mass of
bodies that touch no boundary stays where it is. The potential energy of lifting is taken from the energy that the step
has dissipated and from the kinetic energy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..impact.assemble import Assembly
from ..kernels import kernel
from ..solvers.blocks import Blocks
from ..solvers.contact import solve_contact
from ..solvers.islands import root_of
from ..solvers.rows import Floats, Ints
from ..solvers.thresholds import EXACT_CONTACTS
from ..world import State, World
from .integrator import rotated
from .totals import kinetic_energies

SLOP = 1e-5  # overlap, relative to the length scale of the world, that is left alone, ...
SHARE_OF_TOLERANCE = 0.05  # ... or this share of the tolerance of the run if that is larger and contacts are many
EXACT = 1e-8  # of SLOP, to which few contacts are solved; ...
ERROR = 0.25  # ... of the deepest overlap, to which many are
NEAR = 2.0  # gap, relative to the deepest overlap, of contacts that the displacement may close
RATE = 0.8  # fraction of an overlap that is removed per step
SHARE = 0.5  # fraction of an island's kinetic energy that a step may spend on lifting


def push_out(
    before: State, end: State, found: ContactSet, impact: Assembly, tolerance: float = 0.0, part: float = 1.0
) -> State:
    """The state `end` after part of the overlap of the contacts `found` has been removed.

    `before` is the state at the start of the step, to which `found` and `impact` belong. `tolerance` is that of the
    run, `part` the length of a sub-step relative to the step.
    """
    world, blocks = impact.world, impact.blocks
    many = found.count > EXACT_CONTACTS
    slop = (max(SLOP, SHARE_OF_TOLERANCE * tolerance) if many else SLOP) * world.length_scale
    deep = found.gap < -slop
    if not deep.any():
        return end
    island, anchored = _islands(blocks.body, len(impact.velocity))
    if world.dimension == 3:
        # Islands that touch nothing fixed are left to impulses: displacing bodies that pass each other changes their
        # angular momentum.
        deep &= anchored[island[blocks.body.max(axis=1)]]
        if not deep.any():
            return end
    target = np.where(deep, part * RATE * (found.gap + slop), np.maximum(found.gap, 0.0))
    deepest = -float(found.gap.min())
    rows = Blocks(blocks.body, blocks.val[:, :, :1].copy(), target[:, None], np.zeros_like(blocks.bound), 1)
    near = np.flatnonzero(found.gap <= NEAR * deepest)
    still, none = np.zeros_like(impact.velocity), np.zeros((found.count, 1))
    error = ERROR * deepest if many else EXACT * slop
    answer = solve_contact(rows, near, still, none, error)
    move = impact.unwhitened(answer.velocity, np.zeros_like(end.velocity))
    move, velocity = _within_energy(world, before, end, move, _of_bodies(impact, island))
    return replace(
        end,
        position=end.position + move[:, : world.dimension],
        orientation=rotated(world, end.orientation, move, 1.0),
        velocity=velocity,
    )


def _within_energy(world: World, before: State, end: State, move: Floats, island: Ints) -> tuple[Floats, Floats]:
    """The part of the displacement (n, d) that each island has the energy for, and the velocities (n, d) after it.

    Energy that the step has dissipated (friction, restitution, sinking) is used first, then kinetic energy.
    """
    if not world.gravity.any():
        return move, end.velocity
    mine = island >= 0
    lift = -world.mass * (move[:, : world.dimension] @ world.gravity)
    fallen = world.mass * ((end.position - before.position) @ world.gravity)
    kinetic = kinetic_energies(world, end.velocity)
    lost = kinetic_energies(world, before.velocity) + fallen - kinetic
    needed = np.maximum(np.bincount(island[mine], lift[mine]), 0.0)  # net: bodies of an island may move down as well
    loss = np.maximum(np.bincount(island[mine], lost[mine]), 0.0)
    energy = np.bincount(island[mine], kinetic[mine])
    available = loss + SHARE * energy
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(needed > available, available / needed, 1.0)
        spent = np.clip(part * needed - loss, 0.0, SHARE * energy)
        factor = np.sqrt(np.where(spent > 0.0, np.maximum(1.0 - spent / energy, 0.0), 1.0))
    move, v = move.copy(), end.velocity.copy()
    move[mine] *= part[island[mine], None]
    v[mine] *= factor[island[mine], None]
    return move, v


def _of_bodies(impact: Assembly, island: Ints) -> Ints:
    """Island (n,) of each body of the world, -1 for bodies without contacts."""
    if impact.bodies is None:
        return island
    out = np.full(impact.world.count, -1, np.int64)
    out[impact.bodies] = island
    return out


@kernel
def _islands(body, n):
    """Island of each of n bodies, -1 for bodies without contacts; and whether each island touches something fixed."""
    parent, touched, fixed = np.arange(n), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for i in range(len(body)):
        a, b = body[i, 0], body[i, 1]
        touched[max(a, b)] = True
        if a >= 0 and b >= 0:
            touched[min(a, b)] = True
            a, b = root_of(parent, a), root_of(parent, b)
            parent[max(a, b)] = min(a, b)
    island, count = np.full(n, -1, np.int64), 0
    for b in range(n):
        if touched[b]:
            at = root_of(parent, b)  # the smallest number of its island, so it comes first
            if at == b:
                island[b] = count
                count += 1
            island[b] = island[at]
    for i in range(len(body)):
        if min(body[i, 0], body[i, 1]) < 0:
            fixed[island[max(body[i, 0], body[i, 1])]] = True
    return island, fixed[:count]
