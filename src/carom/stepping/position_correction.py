"""Removal of overlap by a change of positions that does not add energy.

The displacement dx minimizes `|dx|^2 / 2` in the mass metric, subject to `J dx >= -rate gap` at overlapping contacts
and `J dx >= -max(gap, 0)` at the others. Velocities are not used, so momentum is unchanged, and the center of mass of
bodies that touch no boundary stays where it is. The potential energy of lifting is taken from the energy that the step
has dissipated and from the kinetic energy. A pile at rest has neither, so that its overlap is left as it is.

To displace bodies that move past each other changes the angular momentum of an island that touches nothing fixed. Such
islands are displaced only where they overlap by more than LOOSE_OVERLAP, as they do after a while in which bodies that
cling to each other rotate: in each step their contacts are held along the tangents of its start. Their angular momentum
is then restored (`restore_angular_momentum`), which costs energy; elastic contacts do not cling, and are the law's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import FIRST, GAP, SECOND, WIDTH, ContactSet, deepest_overlap
from ..geometry.rotations import matrix_value
from ..geometry.vectors import Vec3, cross, put_row, to_local
from ..kernels import kernel
from ..problem.assemble import Assembly, contact_bodies
from ..solvers.contact import Accuracy, solve_contact
from ..solvers.islands import all_islands, anchored, body_islands
from ..solvers.rows import Floats, Ints, Rows
from ..solvers.thresholds import EXACT_CONTACTS, SMALL_ISLAND_CONTACTS
from ..world import State
from .integrator import displaced
from .jointed import restored

OVERLAP_SLOP = 1e-5  # overlap, relative to the length scale of the world, that is left alone, ...
SHARE_OF_TOLERANCE = 0.05  # ... or this share of the tolerance of the run if that is larger and contacts are many
# Up to SMALL_ISLAND_CONTACTS are solved to a share of OVERLAP_SLOP, by Newton steps, which keep mirror symmetry; more
# to a share of the deepest overlap, which sweeps reach; and more than EXACT_CONTACTS to a coarse one.
EXACT_SHARE, FINE_ERROR, COARSE_ERROR = 1e-8, 1e-3, 0.25
# Bound on the multiplications per contact: about 20 times what a solution takes. Jammed bodies have none.
CONTACT_WORK = 1e5
NEAR_GAP = 2.0  # gap, relative to the deepest overlap, of contacts that the displacement may close
REMOVAL_RATE = 0.8  # fraction of an overlap that is removed per step
LIFTED_SHARE = 0.5  # fraction of an island's kinetic energy that a step may spend on lifting
SAME_VELOCITY = 1e-9  # difference, relative to the fastest body of an island, up to which it moves as one
LOOSE_OVERLAP = 0.01  # relative to the length scale of the world, above which islands in free flight are displaced
SINGULAR_INERTIA = 1e-12  # moment of inertia about an axis, relative to the sum of all three, that is rounding
LEAST_MOVE = 1e-6  # fraction of a displacement: islands without the energy for as much are left as they are


def without_overlap(
    before: State,
    end: State,
    found: ContactSet,
    impact: Assembly,
    tolerance: float = 0.0,
    force: Floats | None = None,
    part: float = 1.0,
    earlier: ContactSet | None = None,
) -> tuple[State, float]:
    """The state `end` after part of the overlap of the contacts `found` has been removed.

    `before` is the state at the start of the step, to which `found` and `impact` belong; or they belong to its end, and
    `earlier` are the contacts of the start, through which bodies have exchanged energy in the step. `tolerance` is
    that of the run. `force` (m,) are the normal forces of contacts at rest, if they are known: the work that their
    displacement costs. `part` is the length of a sub-step relative to the step. The number of multiplications of the
    solver is returned as well.
    """
    world, rows = impact.world, impact.rows
    m, n = len(found.table), world.count
    many = m > EXACT_CONTACTS
    slop = (max(OVERLAP_SLOP, SHARE_OF_TOLERANCE * tolerance) if many else OVERLAP_SLOP) * world.length_scale
    deepest = deepest_overlap(found.table)
    if deepest <= slop:
        return end, 0.0
    plan = empty_plan(m, n, rows.base.shape[1])
    motion = (before.position, before.velocity, end.position, end.velocity)
    force = np.zeros(m) if force is None else force
    others = NO_CONTACTS if earlier is None else earlier.table
    loose = LOOSE_OVERLAP * world.length_scale
    if world.joints is not None:  # bodies exchange energy through joints as well
        others, loose = np.concatenate([others[:, :WIDTH], _joint_pairs(world.joints.pairs)]), np.inf
    lengths = (slop, NEAR_GAP * deepest, part, loose)
    contacts = (force, impact.restitution)
    count, error = make_plan(found.table, others, contacts, world.masses, motion, lengths, plan)
    if not count:
        return end, 0.0
    apart = Rows(rows.body, rows.val, plan.base, np.zeros(rows.bound.shape), *rows[4:])  # without friction
    still, none = np.zeros(impact.velocity.shape), np.zeros(rows.base.shape)
    accuracy = Accuracy(error, fine_work=0.0, newton_work=CONTACT_WORK * count)
    answer = solve_contact(apart, plan.near[:count], still, none, accuracy)
    bodies = NO_BODIES if impact.bodies is None else impact.bodies
    move, velocity = np.zeros(still.shape if impact.bodies is None else end.velocity.shape), end.velocity.copy()
    move_within_energy(answer.velocity, bodies, plan, world.masses, move, velocity)
    state = State(end.time, end.step, end.position, end.orientation, velocity)
    after = displaced(world, state, move, with_spins=False)
    if world.periodic is None and plan.loose.any():  # angular momentum has no meaning across periodic sides
        turns = (state.orientation.reshape(n, -1), after.orientation.reshape(n, -1))
        poses = (state.position, turns[0]), (after.position, turns[1])
        after = replace(after, velocity=after.velocity.copy())
        restore_angular_momentum(world.masses, *poses, after.velocity, plan)
    return after if world.joints is None else restored(world, after), answer.work


def _joint_pairs(pairs: Ints) -> Floats:
    """The bodies (k, 2) of joints as a table of contacts."""
    out = np.zeros((len(pairs), WIDTH))
    out[:, FIRST] = np.where(pairs[:, 0] < 0, pairs[:, 1], pairs[:, 0])
    out[:, SECOND] = np.where(pairs.min(axis=1, initial=0) < 0, -1, pairs[:, 1])
    return out


NO_CONTACTS, NO_BODIES = np.empty((0, WIDTH)), np.empty(0, np.int64)


class Plan(NamedTuple):
    """What a removal of overlap starts from, for m contacts and n bodies. Kernels fill it."""

    near: Ints  # (m,) contacts that take part come first
    base: Floats  # (m, r) displacements by which contacts may close, negative ones for overlap, in the first column
    island: Ints  # (n,) islands of the bodies, -1 for bodies without contacts
    energies: Floats  # (2, n) energy that each island has lost in the step, and its kinetic energy at the end
    loose: NDArray[np.bool_]  # (n,) islands that are displaced although their bodies move past each other freely


@kernel
def empty_plan(m, n, r):
    """A plan for m contacts with r rows each and n bodies."""
    flags = np.zeros(n, np.bool_)
    return Plan(np.empty(m, np.int64), np.zeros((m, r)), np.empty(n, np.int64), np.zeros((2, n)), flags)


@kernel
def make_plan(table, earlier, contacts, masses, motion, lengths, plan):
    """Fills a plan; returns how many contacts take part, and the error that their displacements may have, a length.

    Bodies with a contact in the tables `table` or `earlier` belong to one island. `contacts` are the normal forces (m,)
    and the coefficients of restitution of the contacts of `table`. `lengths` are the overlap that is
    left alone, the gap up to which contacts take part, the length of a sub-step relative to the step, and the overlap
    above which islands in free flight are displaced.
    """
    (slop, near, part, loose), (force, restitution) = lengths, contacts
    gravity, body, n = masses.gravity, contact_bodies(table, masses.free), len(masses.mass)
    pairs = np.concatenate((body, contact_bodies(earlier, masses.free)))
    found = all_islands(pairs, n)
    fixed = anchored(pairs, found)
    plan.island[:] = body_islands(pairs, found, n)
    _energies(masses, motion, plan.island, plan.energies)
    falls = False
    for c in range(len(gravity)):
        falls = falls or gravity[c] != 0.0
    available = np.full(len(fixed), np.inf)
    for s in range(len(fixed) if falls else 0):
        available[s] = plan.energies[0, s] + LIFTED_SHARE * plan.energies[1, s]
    allowed = fixed if len(gravity) == 3 else fixed | _moving_as_one(plan.island, motion[3], len(fixed))
    for i in range(len(table)):
        s = plan.island[max(body[i, 0], body[i, 1])]
        if table[i, GAP] < -loose and restitution[i] < 1.0 and not allowed[s]:
            allowed[s] = plan.loose[s] = True
    count = _targets(body, table, force, allowed, available, (slop, near, part * REMOVAL_RATE), plan)
    for i in range(len(table)):
        if plan.base[i, 0] < 0.0:
            plan.base[i, 0] *= part  # the shorter the time, the smaller the displacement
    deepest = near / NEAR_GAP
    if len(table) > EXACT_CONTACTS:
        return count, COARSE_ERROR * deepest
    return count, max(EXACT_SHARE * slop, FINE_ERROR * deepest if count > SMALL_ISLAND_CONTACTS else 0.0)


@kernel
def _moving_as_one(island, velocity, count):
    """Islands (count,) whose bodies all have the same velocity, of (n, d) in 2D.

    Others that touch nothing fixed are left to impulses, as all are in 3D: displacing bodies that pass each other
    changes their angular momentum.
    """
    out, first, fastest = np.ones(count, np.bool_), np.full(count, -1, np.int64), np.zeros(count)
    for b in range(len(island)):
        s = island[b]
        if s >= 0:
            first[s] = b if first[s] < 0 else first[s]
            fastest[s] = max(fastest[s], abs(velocity[b, 0]), abs(velocity[b, 1]))
    for b in range(len(island)):
        s = island[b]
        for c in range(2 if s >= 0 else 0):
            out[s] &= abs(velocity[b, c] - velocity[first[s], c]) <= SAME_VELOCITY * fastest[s]
    return out


@kernel
def _energies(masses, motion, island, out):
    """Writes the energies of a `Plan`."""
    mass, gravity, inertia = masses.mass, masses.gravity, masses.inertia
    position0, velocity0, position1, velocity1 = motion
    dim, d = len(gravity), velocity0.shape[1]
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
        out[0, island[b]] += 0.5 * (first - last) + mass[b] * fallen
        out[1, island[b]] += 0.5 * last
    for s in range(out.shape[1]):
        out[0, s] = max(out[0, s], 0.0)


@kernel
def _targets(body, table, force, allowed, available, lengths, plan):
    """The number of contacts that take part. Writes these, and the displacements by which contacts may close.

    Forces at rest balance gravity, so that a displacement lifts an island by the work that it does against them.
    """
    slop, near, rate = lengths
    island, base, m = plan.island, plan.base, len(table)
    work, deep = np.zeros(len(available)), np.zeros(len(available), np.bool_)
    for i in range(m):
        gap = table[i, GAP]
        if gap < -slop:
            s = island[max(body[i, 0], body[i, 1])]
            deep[s] = allowed[s]
            work[s] += force[i] * rate * (-gap - slop)
    count = 0
    for i in range(m):
        s, gap = island[max(body[i, 0], body[i, 1])], table[i, GAP]
        pushed = deep[s] and available[s] >= LEAST_MOVE * work[s]
        base[i, 0] = rate * (gap + slop) if pushed and gap < -slop else max(gap, 0.0)
        if pushed and gap <= near:
            plan.near[count] = i
            count += 1
    return count


@kernel
def move_within_energy(x, bodies, plan, masses, move, velocity):
    """Writes the displacement (n, d), as far as each island has the energy for it, and the velocities after that.

    `x` is the whitened displacement of the bodies that take part, numbered by `bodies` unless all do. Energy that the
    step has dissipated (friction, restitution, sinking) is used first, then kinetic energy.
    """
    mass, gravity, root = masses.mass, masses.gravity, masses.root
    island, loss, energy = plan.island, plan.energies[0], plan.energies[1]
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
    for b in range(len(island)):
        s = island[b]
        if s < 0 or needed[s] <= 0.0:
            continue
        part = min((loss[s] + LIFTED_SHARE * energy[s]) / needed[s], 1.0)
        spent = min(max(part * needed[s] - loss[s], 0.0), LIFTED_SHARE * energy[s])
        factor = np.sqrt(1.0 - spent / energy[s]) if spent > 0.0 else 1.0
        for c in range(move.shape[1]):
            move[b, c] *= part
            velocity[b, c] *= factor


# ---- islands in free flight


@kernel
def restore_angular_momentum(masses, before, after, velocity, plan):
    """Gives the islands `plan.loose` the angular momentum that they had in other places, without a gain of energy.

    `before` and `after` are positions (n, D) and orientations (n, 1 or 4) before and after the displacement. The motion
    of an island about its center of mass is the rotation of a rigid body with its angular momentum, plus motion without
    angular momentum. The first changes as it must, the second is scaled down if the energy would rise; their energies
    add up. An island in which that is not enough returns to its old place. Velocities (n, d) and `after` are written.
    """
    dim, d = len(masses.gravity), velocity.shape[1]
    axes, none = np.zeros((3, d)), np.zeros((3, 3))
    for s in np.flatnonzero(plan.loose):
        center, mean = _center(masses, before[0], velocity, plan.island, s)
        was, now, tensor, kinetic = np.zeros(3), np.zeros(3), np.zeros((3, 3)), 0.0
        for b in np.flatnonzero(plan.island == s):
            kinetic += _add_momentum(masses, before, center, mean, velocity, b, axes, was, none)
            _add_momentum(masses, after, center, mean, velocity, b, axes, now, tensor)
        old, new = _rotation_of(tensor.copy(), now), _rotation_of(tensor, was)
        inner, left = kinetic - 0.5 * np.dot(now, old), kinetic + plan.energies[0, s] - 0.5 * np.dot(was, new)
        returns = left < (1.0 - LIFTED_SHARE) * inner
        factor = np.sqrt(left / inner) if left < inner and not returns else 1.0
        for b in np.flatnonzero(plan.island == s):
            if returns:
                after[0][b], after[1][b] = before[0][b], before[1][b]
                continue
            _put_axes(after, center, b, dim, axes)
            for c in range(d):
                rigid = axes[0, c] * new[0] + axes[1, c] * new[1] + axes[2, c] * new[2]
                other = velocity[b, c] - mean[c]
                for k in range(3):
                    other -= axes[k, c] * old[k]
                velocity[b, c] = mean[c] + rigid + factor * other


@kernel
def _center(masses, position, velocity, island, s):
    """The center of mass (3,) of an island, and its velocity as that (d,) of a body without spin."""
    center, mean, total = np.zeros(3), np.zeros(velocity.shape[1]), 0.0
    for b in np.flatnonzero(island == s):
        total += masses.mass[b]
        for c in range(len(masses.gravity)):
            center[c] += masses.mass[b] * position[b, c]
            mean[c] += masses.mass[b] * velocity[b, c]
    return center / total, mean / total


@kernel
def _add_momentum(masses, pose, center, mean, velocity, b, axes, momentum, tensor):
    """Adds the angular momentum (3,) of a body about a moving center, and its tensor of inertia (3, 3).

    Returns its kinetic energy in the frame of the center. `axes` (3, d) is scratch.
    """
    dim, d, energy = len(masses.gravity), velocity.shape[1], 0.0
    _put_axes(pose, center, b, dim, axes)
    for c in range(d):
        mass, v = masses.mass[b] if c < dim else masses.inertia[b, c - dim], velocity[b, c] - mean[c]
        energy += 0.5 * mass * v * v
        for k in range(3):
            momentum[k] += mass * axes[k, c] * v
            for j in range(3):
                tensor[k, j] += mass * axes[k, c] * axes[j, c]
    return energy


@kernel
def _put_axes(pose, center, b, dim, axes):
    """Writes the velocities (3, d) of a body in rotations about a center at unit rate, about each axis of the world.

    In 2D only the last axis counts.
    """
    position, orientation = pose
    if dim == 2:
        axes[2, 0], axes[2, 1] = center[1] - position[b, 1], position[b, 0] - center[0]
        if axes.shape[1] == 3:
            axes[2, 2] = 1.0
        return
    arm = Vec3(position[b, 0] - center[0], position[b, 1] - center[1], position[b, 2] - center[2])
    frame = matrix_value(orientation[b])
    for k in range(3):
        axis = Vec3(1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        put_row(axes, k, cross(axis, arm))
        if axes.shape[1] == 6:
            put_row(axes[:, 3:], k, to_local(frame, axis))


@kernel
def _rotation_of(tensor, momentum):
    """The angular velocity (3,) of a rigid body; none about axes without inertia. `tensor` (3, 3) is overwritten."""
    out, least = momentum.copy(), SINGULAR_INERTIA * (tensor[0, 0] + tensor[1, 1] + tensor[2, 2])
    for k in range(3):
        for i in range(k + 1, 3):
            factor = tensor[i, k] / tensor[k, k] if tensor[k, k] > least else 0.0
            out[i] -= factor * out[k]
            for j in range(k, 3):
                tensor[i, j] -= factor * tensor[k, j]
    for k in range(2, -1, -1):
        for j in range(k + 1, 3):
            out[k] -= tensor[k, j] * out[j]
        out[k] = out[k] / tensor[k, k] if tensor[k, k] > least else 0.0
    return out
