"""The bridge between geometry and impact: contacts of a world become whitened rows.

Modules below this one do not depend on rows, modules above do not depend on shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..contact.contact_set import ContactSet
from ..geometry.rotations import matrices
from ..kernels import kernel
from ..solvers.rows import FRICTION, ROLLING, TORSION, Floats, Ints, Rows, make_rows, speeds, taken
from ..solvers.thresholds import TOUCHED_BODIES_FACTOR
from ..world import Boundaries, State, World
from .contact_rows import Motion, blocks_2d, blocks_3d, contact_bodies
from .contacts import Contacts

NO_MATERIALS = np.zeros((0, 2), np.int64)
NO_TURN = np.empty((0, 3, 3))  # in place of rotation matrices in 2D


@dataclass(frozen=True, eq=False)
class Assembly:
    """The contacts of a world at one instant as rows, and the bodies that take part."""

    world: World
    rows: Rows
    restitution: Floats  # (m,)
    velocity: Floats  # (n, d) whitened, of the bodies that take part
    materials: Ints  # (m, 2) of the two bodies, ascending; empty where no restitution depends on speed
    bodies: Ints | None  # bodies that take part, ascending; None for all

    @cached_property
    def contacts(self) -> Contacts:
        """All contacts, as a law receives them."""
        return Contacts(self.rows, self.velocity, self.restitution)

    def subset(self, chosen: Ints, velocity: Floats) -> Contacts:
        """The contacts `chosen` (k,), ascending, at a whitened velocity (n, d), as a law receives them."""
        if len(chosen) == len(self.restitution):
            contacts = self.contacts.moving(velocity)
        else:
            contacts = Contacts(taken(self.rows, chosen), velocity, self.restitution[chosen])
        if not len(self.materials):
            return contacts
        e = restitution_at(self.world, self.materials[chosen], contacts.restitution, contacts.speeds())
        return contacts.with_restitution(e)

    @property
    def taking_part(self) -> slice | Ints:
        """The index of the bodies that take part in arrays of all bodies."""
        return slice(None) if self.bodies is None else self.bodies

    def whitened(self, velocity: Floats) -> Floats:
        """`x = sqrt(M) v` of the bodies that take part; components that cannot change are zero."""
        return _whitened(self.world, self.bodies, velocity)

    def unwhitened(self, x: Floats, velocity: Floats) -> Floats:
        """`v = x / sqrt(M)` (n, d); bodies that take no part, and components that cannot change, keep `velocity`."""
        if self.bodies is None:
            return _unwhiten(x, self.world.inverse_sqrt_mass, velocity)
        out = velocity.copy()
        out[self.bodies] = _unwhiten(x, self.world.inverse_sqrt_mass[self.bodies], velocity[self.bodies])
        return out

    def moving(self, velocity: Floats) -> Assembly:
        """The same contacts with another velocity (n, d) before the impact."""
        other = replace(self, velocity=self.whitened(velocity))
        if len(self.materials):
            speed = speeds(other.rows, other.velocity)
            return replace(other, restitution=restitution_at(self.world, self.materials, self.restitution, speed))
        if "contacts" in self.__dict__:  # their rows stay the same
            other.__dict__["contacts"] = self.contacts.moving(other.velocity)
        return other


def assemble(world: World, state: State, found: ContactSet, boundaries: Boundaries) -> Assembly:
    """Whitened rows of `u = n . (v_second - v_first)` at the contact points, with the coefficients of each pair.

    Boundaries and bodies that cannot be pushed have no entry in the rows: their speeds add to the constant part.
    """
    restitution, bound = coefficients(world, found)
    body = contact_bodies(found.table, world.free)
    turn = matrices(state.orientation) if world.dimension == 3 else NO_TURN
    moving = (state.position, state.velocity, turn, world.inverse_sqrt_mass)
    motion = Motion(*moving, boundaries.center, boundaries.velocity)
    m, rows = len(found.table), _row_count(world, bound)
    val, base = np.zeros((m, 2, rows, world.block)), np.zeros((m, rows))
    (blocks_2d if world.dimension == 2 else blocks_3d)(found.table, motion, body, val, base)
    bodies = None
    if TOUCHED_BODIES_FACTOR * m < world.count:
        bodies, body = _renumbered(body)
    taking_part = world.count if bodies is None else len(bodies)
    made = make_rows(body, val, base, bound, world.dimension - 1, taking_part)
    velocity = _whitened(world, bodies, state.velocity)
    if not world.restitution_curves:
        return Assembly(world, made, restitution, velocity, NO_MATERIALS, bodies)
    pairs = np.sort(_materials(world, found), axis=1)
    return Assembly(world, made, restitution, velocity, pairs, bodies).moving(state.velocity)


def _whitened(world: World, bodies: Ints | None, velocity: Floats) -> Floats:
    """`x = sqrt(M) v` of some bodies, or of all."""
    if bodies is None:
        return _whiten(velocity, world.inverse_sqrt_mass)
    return _whiten(velocity[bodies], world.inverse_sqrt_mass[bodies])


def _row_count(world: World, bound: Floats) -> int:
    """Rows per contact: 1 without friction, else those of sliding, or of sliding and rotation."""
    if world.rolling_friction is not None or world.torsional_friction is not None:
        return 3 * (world.dimension - 1)
    return world.dimension if bound.any() else 1


def _renumbered(body: Ints) -> tuple[Ints, Ints]:
    """The bodies that occur in `body`, ascending, and `body` with their numbers in that list."""
    bodies, number = np.unique(body, return_inverse=True)
    number = number.reshape(body.shape)
    return (bodies[1:], number - 1) if len(bodies) and bodies[0] < 0 else (bodies, number)


def coefficients(world: World, found: ContactSet) -> tuple[Floats, Floats]:
    """Coefficients of restitution (m,) and of friction (m, 3), from the tables of pairs of materials.

    The three of friction are sliding, and the lengths of rolling and torsional friction.
    """
    m = len(found.table)
    bound = np.zeros((m, 3))
    tables = ((FRICTION, world.friction), (ROLLING, world.rolling_friction), (TORSION, world.torsional_friction))
    if world.restitution.size == 1:
        for column, table in tables:
            if table is not None:
                bound[:, column] = table[0, 0]
        restitution = np.empty(m)
        restitution[:] = world.restitution[0, 0]
        return restitution, bound
    a, b = _materials(world, found).T
    for column, table in tables:
        if table is not None:
            bound[:, column] = table[a, b]
    return world.restitution[a, b], bound


def _materials(world: World, found: ContactSet) -> Ints:
    """The materials (m, 2) of the first and the second body, or of the boundary, of each contact."""
    fixed = found.second < 0
    out = np.empty((found.count, 2), np.int64)
    out[:, 0] = world.material[found.first]
    out[~fixed, 1] = world.material[found.second[~fixed]]
    out[fixed, 1] = world.boundary_material[-1 - found.second[fixed]]
    return out


def restitution_at(world: World, materials: Ints, restitution: Floats, speed: Floats) -> Floats:
    """Coefficients of restitution (m,) at separation speeds (m,): `restitution`, where it does not depend on speed."""
    out = restitution.copy()
    for pair, curve in world.restitution_curves.items():
        mine = (materials == pair).all(axis=1)
        if mine.any():
            out[mine] = curve.at(np.maximum(-speed[mine], 0.0))
    return out


@kernel
def _whiten(velocity, root):
    out = np.zeros_like(velocity)
    for i in range(len(out)):
        for k in range(out.shape[1]):
            if root[i, k] > 0.0:
                out[i, k] = velocity[i, k] / root[i, k]
    return out


@kernel
def _unwhiten(x, root, velocity):
    out = velocity.copy()
    for i in range(len(out)):
        for k in range(out.shape[1]):
            if root[i, k] > 0.0:
                out[i, k] = x[i, k] * root[i, k]
    return out


def used_restitutions(world: World) -> Floats:
    """Coefficients of restitution of all pairs of materials that can meet."""
    free = np.unique(world.material[world.free])
    bodies, count = np.unique(world.material, return_counts=True)
    pairs = [(a, b) for a in free for b, k in zip(bodies, count) if a != b or k > 1]
    pairs += [(a, b) for a in free for b in np.unique(world.boundary_material)]
    return np.array([world.restitution[a, b] for a, b in pairs])
