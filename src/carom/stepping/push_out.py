"""Overlap is moved out by positions alone, and lifting is paid for with energy that the step has lost or still has.

`min |dx|^2 / 2` (mass metric) with `J dx >= -rate gap` at overlapping contacts and `J dx >= -max(gap, 0)` at the
others. Momentum is untouched: such a move keeps the center of mass of whatever does not touch a boundary.
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
from ..world import State, World
from .flight import turned_by

Mask = NDArray[np.bool_]

SLOP = 1e-5  # overlap up to this part of the smallest body is left alone
RATE = 0.8  # part of an overlap that is moved out in a step
SHARE = 0.5  # part of an island's kinetic energy that a step may spend on lifting
FEW = 200  # contacts up to which the exact solve is used; beyond, a coarse one does, since the next step goes on
VISITS = 5  # of each contact, on average, in the coarse one


def push_out(before: State, end: State, found: ContactSet, impact: Assembly) -> State:
    """The end state with part of the overlap that the start of the step had moved out."""
    world, contacts = impact.world, impact.contacts
    slop = SLOP * world.length_scale
    deep = found.gap < -slop
    if world.dimension == 3 and deep.any():
        deep &= _anchored(contacts.rows)
    if not deep.any():
        return end
    target = np.where(deep, RATE * (found.gap + slop), np.maximum(found.gap, 0.0))
    still = np.zeros_like(contacts.velocity)
    if contacts.count <= FEW:
        lam, _ = solve_cone(contacts.rows, target)
    else:
        lam, none = np.zeros(contacts.count), np.zeros(contacts.count)
        relax(contacts.rows, target, none, np.full(contacts.count, np.inf), lam, slop, VISITS)
    move = impact.unwhitened(pushed(contacts.rows, lam, still), np.zeros_like(end.velocity))
    move, velocity = _paid(world, before, end, move, _islands(impact))
    return replace(
        end,
        position=end.position + move[:, : world.dimension],
        orientation=turned_by(world, end.orientation, move, 1.0),
        velocity=velocity,
    )


def _anchored(rows: Rows) -> Mask:
    """Contacts of islands that touch something fixed.

    The others are left to impulses: moving bodies that pass each other would change their angular momentum.
    """
    label = island_labels(rows)
    fixed = np.zeros(len(label), np.bool_)
    fixed[label[np.diff(rows.ptr) < 2]] = True
    return fixed[label]


def _paid(world: World, before: State, end: State, move: Floats, island: Ints) -> tuple[Floats, Floats]:
    """The part of the move that each island can pay for, and the velocities after paying.

    What the step has lost (friction, restitution, sinking) pays first, then kinetic energy.
    """
    if not world.gravity.any():
        return move, end.velocity
    mine = island >= 0
    lift = -world.mass * (move[:, : world.dimension] @ world.gravity)
    fallen = world.mass * ((end.position - before.position) @ world.gravity)
    kinetic = _kinetic(world, end.velocity)
    lost = _kinetic(world, before.velocity) + fallen - kinetic
    height = np.maximum(np.bincount(island[mine], lift[mine]), 0.0)  # net: bodies of an island may go down as well
    loss = np.maximum(np.bincount(island[mine], lost[mine]), 0.0)
    energy = np.bincount(island[mine], kinetic[mine])
    purse = loss + SHARE * energy
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(height > purse, purse / height, 1.0)
        price = np.clip(part * height - loss, 0.0, SHARE * energy)
        left = np.sqrt(np.where(price > 0.0, np.maximum(1.0 - price / energy, 0.0), 1.0))
    move, v = move.copy(), end.velocity.copy()
    move[mine] *= part[island[mine], None]
    v[mine] *= left[island[mine], None]
    return move, v


def _kinetic(world: World, v: Floats) -> Floats:
    """Kinetic energy of each body."""
    dim = world.dimension
    out = 0.5 * world.mass * (v[:, :dim] ** 2).sum(axis=1)
    if world.turns:
        out += 0.5 * (world.inertia.reshape(len(v), -1) * v[:, dim:] ** 2).sum(axis=1)
    return np.asarray(out)


def _islands(impact: Assembly) -> Ints:
    """Island of each body, -1 for those without contacts."""
    rows = impact.contacts.rows
    out = np.full(impact.world.count, -1, np.int64)
    body = rows.body if impact.bodies is None else impact.bodies[rows.body]
    out[body] = np.repeat(island_labels(rows), np.diff(rows.ptr))
    return out
