"""Removal of overlap by a change of positions that does not add energy.

The displacement dx minimizes `|dx|^2 / 2` in the mass metric, subject to `J dx >= -rate gap` at overlapping contacts
and `J dx >= -max(gap, 0)` at the others. Velocities are not used, so momentum is unchanged, and the center of mass of
bodies that touch no boundary stays where it is. The potential energy of lifting is taken from the energy that the step
has dissipated and from the kinetic energy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import ContactSet
from ..impact.assemble import Assembly
from ..solvers.islands import island_labels
from ..solvers.qp.box import solve_cone
from ..solvers.qp.relax import relax
from ..solvers.rows import Floats, Ints, Rows, pushed
from ..solvers.thresholds import EXACT_PUSH_OUT_CONTACTS
from ..world import State, World
from .integrator import rotated
from .totals import kinetic_energies

Mask = NDArray[np.bool_]

SLOP = 1e-5  # overlap, relative to the length scale of the world, that is left alone
RATE = 0.8  # fraction of an overlap that is removed per step
SHARE = 0.5  # fraction of an island's kinetic energy that a step may spend on lifting
RELAXATIONS = 5  # of each contact, on average, in the approximate solve


def push_out(before: State, end: State, found: ContactSet, impact: Assembly) -> State:
    """The state `end` after part of the overlap of the contacts `found` has been removed.

    `before` is the state at the start of the step, to which `found` and `impact` belong.
    """
    world, contacts = impact.world, impact.contacts
    slop = SLOP * world.length_scale
    deep = found.gap < -slop
    if world.dimension == 3 and deep.any():
        deep &= _anchored(contacts.rows)
    if not deep.any():
        return end
    target = np.where(deep, RATE * (found.gap + slop), np.maximum(found.gap, 0.0))
    still = np.zeros_like(contacts.velocity)
    if contacts.count <= EXACT_PUSH_OUT_CONTACTS:
        lam, _ = solve_cone(contacts.rows, target)
    else:
        m, n = contacts.count, len(contacts.velocity)
        lam, none, local = np.zeros(m), np.zeros(m), np.empty(n, np.int64)
        relax(contacts.rows, np.arange(m), target, none, np.full(m, np.inf), lam, local, slop, RELAXATIONS, False)
    move = impact.unwhitened(pushed(contacts.rows, lam, still), np.zeros_like(end.velocity))
    move, velocity = _within_energy(world, before, end, move, _islands(impact))
    return replace(
        end,
        position=end.position + move[:, : world.dimension],
        orientation=rotated(world, end.orientation, move, 1.0),
        velocity=velocity,
    )


def _anchored(rows: Rows) -> Mask:
    """Contacts (m,) of islands that touch something fixed.

    Other islands are left to impulses, because displacing bodies that pass each other changes their angular momentum.
    """
    label = island_labels(rows)
    fixed = np.zeros(len(label), np.bool_)
    fixed[label[np.diff(rows.ptr) < 2]] = True
    return fixed[label]


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


def _islands(impact: Assembly) -> Ints:
    """Island (n,) of each body, -1 for bodies without contacts."""
    rows = impact.contacts.rows
    out = np.full(impact.world.count, -1, np.int64)
    body = rows.body if impact.bodies is None else impact.bodies[rows.body]
    out[body] = np.repeat(island_labels(rows), np.diff(rows.ptr))
    return out
