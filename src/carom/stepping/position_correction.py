"""Removal of overlap by a change of positions that does not add energy.

The displacement dx minimizes `|dx|^2 / 2` in the mass metric, subject to `J dx >= -rate gap` at overlapping contacts
and `J dx >= -max(gap, 0)` at the others. Velocities are not used, so momentum is unchanged, and the center of mass of
bodies that touch no boundary stays where it is. The potential energy of lifting is taken from the energy that the step
has dissipated and from the kinetic energy. A pile at rest has neither, so that its overlap is left as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import GAP, WIDTH, ContactSet
from ..kernels import kernel
from ..problem.assemble import Assembly
from ..problem.contact_rows import contact_bodies
from ..solvers.contact import Accuracy, solve_contact
from ..solvers.islands import all_islands, anchored, body_islands
from ..solvers.rows import Floats
from ..solvers.thresholds import EXACT_CONTACTS
from ..world import State, World
from .integrator import rotated

SLOP = 1e-5  # overlap, relative to the length scale of the world, that is left alone, ...
SHARE_OF_TOLERANCE = 0.05  # ... or this share of the tolerance of the run if that is larger and contacts are many
EXACT = 1e-8  # of SLOP, to which few contacts are solved; ...
ERROR = 0.25  # ... of the deepest overlap, to which many are
NEAR = 2.0  # gap, relative to the deepest overlap, of contacts that the displacement may close
RATE = 0.8  # fraction of an overlap that is removed per step
SHARE = 0.5  # fraction of an island's kinetic energy that a step may spend on lifting
LEAST = 1e-6  # fraction of a displacement: islands without the energy for as much are left as they are


class Masses(NamedTuple):
    """The masses of a world, for kernels."""

    mass: Floats  # (n,)
    inertia: Floats  # (n, 1 or 3)
    root: Floats  # (n, d) inverse square root of the mass
    free: NDArray[np.bool_]  # (n,)
    gravity: Floats  # (D,)


class Motion(NamedTuple):
    """Positions and velocities at the start and at the end of a step, for kernels."""

    position0: Floats
    velocity0: Floats
    position1: Floats
    velocity1: Floats


def without_overlap(
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
    world, rows = impact.world, impact.rows
    many = found.count > EXACT_CONTACTS
    slop = (max(SLOP, SHARE_OF_TOLERANCE * tolerance) if many else SLOP) * world.length_scale
    deepest = deepest_overlap(found.table)
    if deepest <= slop:
        return end
    masses, motion = _masses(world), Motion(before.position, before.velocity, end.position, end.velocity)
    force = np.zeros(found.count) if force is None else force
    others = NO_CONTACTS if earlier is None else earlier.table
    near, island, energies, base = _plan(
        found.table, others, rows.base.shape[1], force, masses, motion, (slop, NEAR * deepest, part)
    )
    if not len(near):
        return end
    rows = rows._replace(base=base, bound=np.zeros_like(rows.bound))
    still, none = np.zeros_like(impact.velocity), np.zeros_like(base)
    aim = ERROR * deepest if many else EXACT * slop
    answer = solve_contact(rows, near, still, none, Accuracy(aim, fine_work=0.0))
    bodies = NO_BODIES if impact.bodies is None else impact.bodies
    move, velocity = _within_energy(answer.velocity, bodies, island, energies, masses, end.velocity)
    position = end.position + move[:, : world.dimension]
    return State(end.time, end.step, position, rotated(world, end.orientation, move, 1.0), velocity)


NO_CONTACTS, NO_BODIES = np.empty((0, WIDTH)), np.empty(0, np.int64)


def _masses(world: World) -> Masses:
    inertia = world.inertia.reshape(world.count, -1)
    return Masses(world.mass, inertia, world.inverse_sqrt_mass, world.free, world.gravity)


@kernel
def deepest_overlap(table):
    """The deepest overlap of a table of contacts, a length that is not negative."""
    least = 0.0
    for i in range(len(table)):
        least = min(least, table[i, GAP])
    return -least


@kernel
def _plan(table, earlier, width, force, masses, motion, lengths):
    """The contacts that take part, and the data of islands (`_energies`) and contacts (`_targets`) if there are any.

    The targets are the first column of an array (m, width). Bodies with a contact in the tables `table` or `earlier`
    belong to one island. `lengths` are the overlap that is left alone, the gap up to which contacts take part, and the
    length of a sub-step relative to the step.
    """
    slop, near, part = lengths
    gravity, body, n = masses.gravity, contact_bodies(table, masses.free), len(masses.mass)
    pairs = np.concatenate((body, contact_bodies(earlier, masses.free)))
    found = all_islands(pairs, n)
    island, fixed = body_islands(pairs, found, n), anchored(pairs, found)
    energies = _energies(island, len(fixed), masses, motion)
    falls = False
    for c in range(len(gravity)):
        falls |= gravity[c] != 0.0
    available = energies[0] + SHARE * energies[1] if falls else np.full(len(fixed), np.inf)
    # Islands in 3D that touch nothing fixed are left to impulses: displacing bodies that pass each other changes their
    # angular momentum.
    allowed = fixed if len(gravity) == 3 else np.ones_like(fixed)
    base = np.zeros((len(table), width))
    chosen = _targets(body, table, force, island, allowed, available, (slop, near, part * RATE), base)
    for i in range(len(base)):
        if base[i, 0] < 0.0:
            base[i, 0] *= part  # the shorter the time, the smaller the displacement
    return chosen, island, energies, base


@kernel
def _energies(island, count, masses, motion):
    """Energy (2, count): what each island has lost in the step, and its kinetic energy at the end.

    `island` (n,) are the islands of the bodies, -1 for none.
    """
    mass, gravity, dim, d = masses.mass, masses.gravity, len(masses.gravity), motion.velocity0.shape[1]
    out = np.zeros((2, count))
    for b in range(len(island)):
        if island[b] < 0:
            continue
        fallen, first, last = 0.0, 0.0, 0.0
        for c in range(dim):
            fallen += gravity[c] * (motion.position1[b, c] - motion.position0[b, c])
            first += mass[b] * motion.velocity0[b, c] ** 2
            last += mass[b] * motion.velocity1[b, c] ** 2
        for c in range(dim, d):
            first += masses.inertia[b, c - dim] * motion.velocity0[b, c] ** 2
            last += masses.inertia[b, c - dim] * motion.velocity1[b, c] ** 2
        out[0, island[b]] += 0.5 * (first - last) + mass[b] * fallen
        out[1, island[b]] += 0.5 * last
    for s in range(count):
        out[0, s] = max(out[0, s], 0.0)
    return out


@kernel
def _targets(body, table, force, island, allowed, available, lengths, base):
    """The contacts that take part. Writes the displacements by which contacts may close, negative ones for overlap.

    Forces at rest balance gravity, so that a displacement lifts an island by the work that it does against them.
    """
    slop, near, rate = lengths
    m = len(table)
    work, deep = np.zeros(len(available)), np.zeros(len(available), np.bool_)
    for i in range(m):
        gap = table[i, GAP]
        if gap < -slop:
            s = island[max(body[i, 0], body[i, 1])]
            deep[s] = allowed[s]
            work[s] += force[i] * rate * (-gap - slop)
    chosen, count = np.empty(m, np.int64), 0
    for i in range(m):
        s, gap = island[max(body[i, 0], body[i, 1])], table[i, GAP]
        pushed = deep[s] and available[s] >= LEAST * work[s]
        base[i, 0] = rate * (gap + slop) if pushed and gap < -slop else max(gap, 0.0)
        if pushed and gap <= near:
            chosen[count] = i
            count += 1
    return chosen[:count]


@kernel
def _within_energy(x, bodies, island, energies, masses, velocity):
    """The displacement (n, d) as far as each island has the energy for it, and the velocities (n, d) after that.

    `x` is the whitened displacement of the bodies that take part, numbered by `bodies` unless all do. Energy that the
    step has dissipated (friction, restitution, sinking) is used first, then kinetic energy.
    """
    mass, gravity, root, loss, energy = masses.mass, masses.gravity, masses.root, energies[0], energies[1]
    move = np.zeros_like(velocity)
    for j in range(len(x)):
        b = bodies[j] if len(bodies) else j
        for c in range(move.shape[1]):
            if root[b, c] > 0.0:
                move[b, c] = x[j, c] * root[b, c]
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
    return move, out
