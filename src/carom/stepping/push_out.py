"""Removal of overlap by a change of positions that does not add energy.

The displacement dx minimizes `|dx|^2 / 2` in the mass metric, subject to `J dx >= -rate gap` at overlapping contacts
and `J dx >= -max(gap, 0)` at the others. Velocities are not used, so momentum is unchanged, and the center of mass of
bodies that touch no boundary stays where it is. The potential energy of lifting is taken from the energy that the step
has dissipated and from the kinetic energy. A pile at rest has neither, so that its overlap is left as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..kernels import kernel
from ..problem.assemble import Assembly
from ..problem.contact_rows import contact_bodies
from ..solvers.contact import Accuracy, solve_contact
from ..solvers.islands import root_of
from ..solvers.rows import Floats
from ..solvers.thresholds import EXACT_CONTACTS
from ..world import State
from .integrator import rotated

SLOP = 1e-5  # overlap, relative to the length scale of the world, that is left alone, ...
SHARE_OF_TOLERANCE = 0.05  # ... or this share of the tolerance of the run if that is larger and contacts are many
EXACT = 1e-8  # of SLOP, to which few contacts are solved; ...
ERROR = 0.25  # ... of the deepest overlap, to which many are
NEAR = 2.0  # gap, relative to the deepest overlap, of contacts that the displacement may close
RATE = 0.8  # fraction of an overlap that is removed per step
SHARE = 0.5  # fraction of an island's kinetic energy that a step may spend on lifting
LEAST = 1e-6  # fraction of a displacement: islands without the energy for as much are left as they are


def push_out(
    before: State,
    end: State,
    found: ContactSet,
    impact: Assembly,
    tolerance: float = 0.0,
    force: Floats | None = None,
    part: float = 1.0,
    earlier: ContactSet | None = None,
) -> State:
    """The state `end` after part of the overlap of the contacts `found` has been removed.

    `before` is the state at the start of the step, to which `found` and `impact` belong; or they belong to its end, and
    `earlier` are the contacts of the start, through which bodies have exchanged energy in the step. `tolerance` is
    that of the run. `force` (m,) are the normal forces of contacts at rest, if they are known: the work that their
    displacement costs. `part` is the length of a sub-step relative to the step.
    """
    world, blocks = impact.world, impact.blocks
    many = found.count > EXACT_CONTACTS
    slop = (max(SLOP, SHARE_OF_TOLERANCE * tolerance) if many else SLOP) * world.length_scale
    deepest = -float(found.gap.min(initial=0.0))
    if deepest <= slop:
        return end
    pairs = linked = contact_bodies(found.table, world.free)
    if earlier is not None:
        linked = np.concatenate([pairs, contact_bodies(earlier.table, world.free)])
    masses = (world.mass, world.inertia.reshape(world.count, -1), world.gravity)
    states = (before.position, before.velocity, end.position, end.velocity)
    force = np.zeros(found.count) if force is None else force
    lengths = (slop, NEAR * deepest, part)
    near, island, loss, energy, target = _plan(pairs, linked, found.gap, force, *masses, *states, lengths)
    if not len(near):
        return end
    base = np.zeros_like(blocks.base)
    base[:, 0] = target
    rows = blocks._replace(base=base, bound=np.zeros_like(blocks.bound))
    still, none = np.zeros_like(impact.velocity), np.zeros_like(base)
    aim = ERROR * deepest if many else EXACT * slop
    answer = solve_contact(rows, near, still, none, Accuracy(aim, fine_work=0.0))
    move = impact.unwhitened(answer.velocity, np.zeros_like(end.velocity))
    velocity = _within_energy(island, world.mass, world.gravity, loss, energy, move, end.velocity)
    return replace(
        end,
        position=end.position + move[:, : world.dimension],
        orientation=rotated(world, end.orientation, move, 1.0),
        velocity=velocity,
    )


@kernel
def _plan(body, linked, gap, force, mass, inertia, gravity, position0, velocity0, position1, velocity1, lengths):
    """The contacts that take part, and the data of islands (`_energies`) and contacts (`_targets`) if there are any.

    `body` (m, 2) are the bodies of the contacts, `linked` (k, 2) pairs that belong to one island. `lengths` are
    the overlap that is left alone, the gap up to which contacts take part, and the length of a sub-step relative to
    the step.
    """
    slop, near, part = lengths
    island, anchored = _islands(linked, len(mass))
    loss, energy = _energies(island, len(anchored), mass, inertia, gravity, position0, velocity0, position1, velocity1)
    falls = False
    for c in range(len(gravity)):
        falls |= gravity[c] != 0.0
    available = loss + SHARE * energy if falls else np.full(len(anchored), np.inf)
    # Islands in 3D that touch nothing fixed are left to impulses: displacing bodies that pass each other changes their
    # angular momentum.
    allowed = anchored if len(gravity) == 3 else np.ones_like(anchored)
    target, chosen = _targets(body, gap, force, island, allowed, available, slop, near, part * RATE)
    for i in range(len(target)):
        if target[i] < 0.0:
            target[i] *= part  # the shorter the time, the smaller the displacement
    return chosen, island, loss, energy, target


@kernel
def _energies(island, count, mass, inertia, gravity, position0, velocity0, position1, velocity1):
    """Energy that each island has lost between two states, and its kinetic energy in the second one.

    `island` (n,) are the islands of the bodies, -1 for none.
    """
    dim, d = len(gravity), velocity0.shape[1]
    lost, kinetic = np.zeros(count), np.zeros(count)
    for b in range(len(island)):
        if island[b] < 0:
            continue
        fallen, first, last = 0.0, 0.0, 0.0
        for c in range(dim):
            fallen += gravity[c] * (position1[b, c] - position0[b, c])
            first += mass[b] * velocity0[b, c] ** 2
            last += mass[b] * velocity1[b, c] ** 2
        for c in range(dim, d):
            first += inertia[b, c - dim] * velocity0[b, c] ** 2
            last += inertia[b, c - dim] * velocity1[b, c] ** 2
        lost[island[b]] += 0.5 * (first - last) + mass[b] * fallen
        kinetic[island[b]] += 0.5 * last
    return np.maximum(lost, 0.0), kinetic


@kernel
def _targets(body, gap, force, island, allowed, available, slop, near, rate):
    """Displacements (m,) by which contacts may close, negative ones for overlap, and the contacts that take part.

    Forces at rest balance gravity, so that a displacement lifts an island by the work that it does against them.
    """
    m = len(gap)
    work, deep = np.zeros(len(available)), np.zeros(len(available), np.bool_)
    for i in range(m):
        if gap[i] < -slop:
            s = island[max(body[i, 0], body[i, 1])]
            deep[s] = allowed[s]
            work[s] += force[i] * rate * (-gap[i] - slop)
    target, chosen, count = np.empty(m), np.empty(m, np.int64), 0
    for i in range(m):
        s = island[max(body[i, 0], body[i, 1])]
        pushed = deep[s] and available[s] >= LEAST * work[s]
        target[i] = rate * (gap[i] + slop) if pushed and gap[i] < -slop else max(gap[i], 0.0)
        if pushed and gap[i] <= near:
            chosen[count] = i
            count += 1
    return target, chosen[:count]


@kernel
def _within_energy(island, mass, gravity, loss, energy, move, velocity):
    """Reduces the displacement `move` (n, d) to the part that each island has the energy for, in place.

    Energy that the step has dissipated (friction, restitution, sinking) is used first, then kinetic energy. Returns the
    velocities (n, d) after that.
    """
    needed = np.zeros(len(loss))  # net: bodies of an island may move down as well
    for b in range(len(island)):
        if island[b] >= 0:
            for c in range(len(gravity)):
                needed[island[b]] -= mass[b] * gravity[c] * move[b, c]
    out = velocity.copy()
    for b in range(len(island)):
        s = island[b]
        if s < 0 or needed[s] <= 0.0:
            continue
        part = min((loss[s] + SHARE * energy[s]) / needed[s], 1.0)
        spent = min(max(part * needed[s] - loss[s], 0.0), SHARE * energy[s])
        factor = np.sqrt(1.0 - spent / energy[s]) if spent > 0.0 else 1.0
        for c in range(move.shape[1]):
            move[b, c] *= part
            out[b, c] *= factor
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
