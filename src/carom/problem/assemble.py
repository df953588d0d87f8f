"""The bridge between geometry and impact: contacts of a world become whitened rows.

Modules below this one do not depend on rows, modules above do not depend on shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..contact.contact_set import DRIFT, FEATURE, FIRST, NORMAL, OFFSET, POINT, SECOND, WIDTH, ContactSet, vector
from ..contact.one_sided import number_of
from ..geometry.rotations import matrices
from ..geometry.vectors import Vec3, cross, dot, put_row, row3
from ..kernels import kernel, lean
from ..mechanism import jointed_rows
from ..solvers.rows import Floats, Ints, Rows, make_rows, put_incidence, speeds, taken
from ..solvers.thresholds import TOUCHED_BODIES_FACTOR
from ..world import Boundaries, State, World
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
    boundaries: Boundaries  # at this instant, with the velocities of the coming step
    weights: Floats | None = None  # (m,) share of its patch that each contact stands for; None: 1 each
    jammed: Floats | None = None  # (m,) approach speed of contacts along which joints allow no motion, else 0
    direct: bool = False  # whether rows are those of the bodies in contact alone, as if they had no joints

    @cached_property
    def contacts(self) -> Contacts:
        """All contacts, as a law receives them."""
        return Contacts(self.rows, self.velocity, self.restitution, self.weights)

    def subset(self, chosen: Ints, velocity: Floats) -> Contacts:
        """The contacts `chosen` (k,), ascending, at a whitened velocity (n, d), as a law receives them."""
        if len(chosen) == len(self.restitution):
            contacts = self.contacts.moving(velocity)
        else:
            weights = None if self.weights is None else self.weights[chosen]
            contacts = Contacts(taken(self.rows, chosen), velocity, self.restitution[chosen], weights)
        if not len(self.materials):
            return contacts
        e = restitution_at(self.world, self.materials[chosen], contacts.restitution, contacts.speeds())
        return contacts.with_restitution(e)

    @cached_property
    def taking_part(self) -> slice | Ints:
        """The index of the bodies that take part in arrays of all bodies."""
        return slice(None) if self.bodies is None else self.bodies

    def whitened(self, velocity: Floats) -> Floats:
        """`x = sqrt(M) v` of the bodies that take part; components that cannot change are zero."""
        if self.bodies is None:
            return _whitened(velocity, self.world.inverse_sqrt_mass)
        return _whitened(velocity[self.bodies], self.world.inverse_sqrt_mass[self.bodies])

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
    made = assemble_contacts(world, state, found, boundaries)
    return through_joints(made, state) if made.direct else made


def assemble_contacts(world: World, state: State, found: ContactSet, boundaries: Boundaries) -> Assembly:
    """As `assemble`; in a world with joints rows are `direct`, which is enough for speeds of velocities that joints
    allow."""
    turn = state.orientation.reshape(world.count, -1)
    moving = (state.position, turn, state.velocity, world.masses, boundaries.center, boundaries.velocity)
    axes = tuple(range(world.dimension))
    rows, restitution, velocity, bodies, all_take_part = assembled(axes, found.table, moving, world.surfaces)
    chosen = None if all_take_part else bodies
    if world.joints is not None:
        return _direct(world, state, found, (rows, restitution), boundaries, chosen)
    if not world.restitution_curves:
        return Assembly(world, rows, restitution, velocity, NO_MATERIALS, chosen, boundaries)
    pairs = np.sort(_materials(world, found), axis=1)
    return Assembly(world, rows, restitution, velocity, pairs, chosen, boundaries).moving(state.velocity)


def _direct(
    world: World,
    state: State,
    found: ContactSet,
    contacts: tuple[Rows, Floats],
    boundaries: Boundaries,
    chosen: Ints | None,
) -> Assembly:
    """The contacts of a world with joints, of which all bodies take part; `contacts` are rows and restitution."""
    (rows, restitution), joints = contacts, world.joints
    assert joints is not None
    one_sided = put_one_sided(found.table, rows, restitution, joints.one_sided.restitution)
    if chosen is not None:
        rows = rows._replace(body=np.where(rows.body < 0, -1, chosen[rows.body]))
    velocity = _whitened(state.velocity, world.inverse_sqrt_mass)
    made = Assembly(world, rows, restitution, velocity, NO_MATERIALS, None, boundaries, direct=True)
    if not world.restitution_curves:
        return made
    pairs = np.sort(_materials(world, found), axis=1)
    pairs[one_sided] = -1
    return replace(made, materials=pairs).moving(state.velocity)


def through_joints(impact: Assembly, state: State) -> Assembly:
    """Direct contacts as rows on the motions that joints allow at a state."""
    world, rows = impact.world, impact.rows
    joints = world.joints
    assert joints is not None
    body, val, base = rows.body, rows.val, rows.base
    if len(joints.rows.kind):
        at = joints.at(state.position, state.orientation, world.inverse_sqrt_mass)
        body, val, base = jointed_rows(joints.rows, at, rows, impact.velocity)
    rows = make_rows(body, val, base, rows.bound, rows.tangents, world.count)
    jammed = None
    if not rows.diag.all():
        jammed = without_motion(rows)
        rows = make_rows(body, val, base, rows.bound, rows.tangents, world.count)
        rows.diag[rows.diag == 0.0] = 1.0  # laws divide by it; a contact that never approaches needs no other value
    return replace(impact, rows=rows, jammed=jammed, direct=False)


@kernel
def without_motion(rows):
    """Approach speeds (m,) of the contacts along whose normals joints allow no motion; these lose their rows.

    No impulse changes the speed of such a contact, so that it gets none, and no friction: its bodies are taken out, and
    its speeds are zero. Only what prescribes speeds, a boundary or a motor, can make it approach.
    """
    approach = np.zeros(len(rows.diag))
    for i in range(len(rows.diag)):
        if rows.diag[i] == 0.0:
            approach[i] = max(-rows.base[i, 0], 0.0)
            rows.body[i], rows.val[i], rows.base[i], rows.bound[i] = -1, 0.0, 0.0, 0.0
    return approach


@kernel
def put_one_sided(table, rows, restitution, own):
    """Gives ropes and limits their own restitution and no friction; marks them (m,).

    Those to the world, whose bodies are the same one, keep the row of the first.
    """
    marked = np.zeros(len(table), np.bool_)
    for i in range(len(table)):
        k = number_of(table[i, FEATURE])
        if k < 0:
            continue
        marked[i], restitution[i], rows.bound[i] = True, own[k], 0.0
        if table[i, FIRST] == table[i, SECOND]:
            rows.body[i, 1], rows.val[i, 1] = -1, 0.0
    return marked


@kernel
def assembled(axes, table, moving, surfaces):
    """The `Rows` of a table of contacts, their restitution (m,), the whitened velocity of the bodies that
    take part, the numbers of these, and whether all do; `axes` as for `put_rows`.

    `moving` are positions, orientations (n, 1 or 4), velocities, `Masses`, and centers and velocities of boundaries.
    """
    position, turn, velocity, masses, center, boundary_velocity = moving
    m, n, dim = len(table), len(position), len(axes)
    restitution, bound, rough = coefficients_of(table, surfaces)
    body = contact_bodies(table, masses.free)
    matrix = matrices(turn) if dim == 3 else np.empty((0, 3, 3))
    motion = Motion(position, velocity, matrix, masses.root, center, boundary_velocity)
    rows = surfaces.rough_rows if rough else surfaces.smooth_rows
    val, base = np.zeros((m, 2, rows, velocity.shape[1])), np.zeros((m, rows))
    put_rows(axes, table, motion, body, val, base)
    all_take_part = TOUCHED_BODIES_FACTOR * m >= n
    bodies = np.empty(0, np.int64) if all_take_part else renumber(body, n)
    count = n if all_take_part else len(bodies)
    diag, touch_ptr, touch = np.zeros(m), np.zeros(count + 1, np.int64), np.empty(2 * m, np.int64)
    used = put_incidence(body, val, diag, touch_ptr, touch)
    x = np.zeros((count, velocity.shape[1]))
    for j in range(count):
        whiten(velocity, masses.root, j if all_take_part else bodies[j], x[j])
    made = Rows(body, val, base, bound, dim - 1, diag, touch_ptr, touch[:used])
    return made, restitution, x, bodies, all_take_part


@kernel
def renumber(body, n):
    """The bodies (k,) of n that occur in `body` (m, 2), ascending. Replaces them by their numbers in that list."""
    number, count = np.full(n, -1, np.int64), 0
    for i in range(len(body)):
        for side in range(2):
            if body[i, side] >= 0:
                number[body[i, side]] = 0
    for b in range(n):
        if number[b] == 0:
            number[b] = count
            count += 1
    bodies = np.empty(count, np.int64)
    for b in range(n):
        if number[b] >= 0:
            bodies[number[b]] = b
    for i in range(len(body)):
        for side in range(2):
            if body[i, side] >= 0:
                body[i, side] = number[body[i, side]]
    return bodies


def coefficients(world: World, found: ContactSet) -> tuple[Floats, Floats]:
    """Coefficients of restitution (m,) and of friction (m, 3), from the tables of pairs of materials.

    The three of friction are sliding, and the lengths of rolling and torsional friction.
    """
    restitution, bound, _ = coefficients_of(found.table, world.surfaces)
    return restitution, bound


@kernel
def coefficients_of(table, surfaces):
    """The arrays of `coefficients` for a table of contacts, and whether any coefficient of friction is not zero."""
    restitution, bound = np.empty(len(table)), np.empty((len(table), 3))
    return restitution, bound, _put_coefficients(table, surfaces, restitution, bound)


@lean
def _put_coefficients(table, surfaces, restitution, bound):
    """Writes them; returns whether any coefficient of friction is not zero."""
    rough = False
    for i in range(len(table)):
        first, second = int(table[i, FIRST]), int(table[i, SECOND])
        a = surfaces.material[first]
        b = surfaces.material[second] if second >= 0 else surfaces.boundary_material[-1 - second]
        restitution[i] = surfaces.restitution[a, b]
        for column in range(3):
            bound[i, column] = surfaces.friction[column, a, b]
            rough = rough or bound[i, column] != 0.0
    return rough


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


@kernel(inline="always")
def whiten(velocity, root, b, out):
    """Writes the whitened velocity of body b; components that cannot change stay as they are."""
    for k in range(len(out)):
        if root[b, k] > 0.0:
            out[k] = velocity[b, k] / root[b, k]


@kernel
def _whitened(velocity, root):
    out = np.zeros_like(velocity)
    for i in range(len(out)):
        whiten(velocity, root, i, out[i])
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


# ---- rows of contacts


class Motion(NamedTuple):
    """Where the bodies and boundaries of a world are, how they move, and how bodies resist."""

    position: Floats  # (n, D)
    velocity: Floats  # (n, d)
    turn: Floats  # (n, 3, 3) rotation matrices from body to world; not used in 2D
    root: Floats  # (n, d) inverse square root of the mass
    center: Floats  # (w, D) of boundaries
    boundary_velocity: Floats  # (w, 3 or 6)


@kernel
def contact_bodies(table, free):
    """Bodies (m, 2) that impulses move, of a table of contacts; -1 for boundaries and bodies that are not free."""
    body = np.empty((len(table), 2), np.int64)
    for i in range(len(table)):
        first, second = int(table[i, FIRST]), int(table[i, SECOND])
        body[i, 0] = first if free[first] else -1
        body[i, 1] = second if second >= 0 and free[second] else -1
    return body


@kernel(inline="always")
def tangents_of(n):
    """Two unit vectors orthogonal to a unit normal that form a right-handed frame with it (Duff et al. 2017)."""
    sign = 1.0 if n.z >= 0.0 else -1.0
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return Vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), Vec3(b, sign + n.y * n.y * a, -n.y)


@kernel
def along_tangents(normal, tangent):
    """Vectors (m, 3) with the given components (m, 2) along the two tangents of each normal."""
    out = np.empty((len(normal), 3))
    for i in range(len(normal)):
        s, t = tangents_of(row3(normal, i))
        put_row(out, i, tangent[i, 0] * s + tangent[i, 1] * t)
    return out


def friction_in_world(normal: Floats, tangent: Floats) -> Floats:
    """Friction impulses with components (m, t) along the tangents, independent of the choice of tangents.

    In 2D they are numbers (m,), along the normal rotated by 90 degrees counterclockwise; in 3D vectors (m, 3).
    """
    return tangent[:, 0] if tangent.shape[1] == 1 else along_tangents(normal, np.ascontiguousarray(tangent))


@kernel(inline="always")
def _vector(table, i, dim):
    """The first components of row i of a table, of which there are two in 2D."""
    return Vec3(table[i, 0], table[i, 1], table[i, 2] if dim == 3 else 0.0)


@kernel(inline="always")
def _spin(motion, b, dim):
    """Angular velocity of body b in the world frame; zero if bodies do not rotate. In 3D velocities have that of the
    body's own frame."""
    v = motion.velocity
    if v.shape[1] == dim:
        return Vec3(0.0, 0.0, 0.0)
    if dim == 2:
        return Vec3(0.0, 0.0, v[b, 2])
    turn, spin = motion.turn[b], Vec3(v[b, 3], v[b, 4], v[b, 5])
    return Vec3(dot(row3(turn, 0), spin), dot(row3(turn, 1), spin), dot(row3(turn, 2), spin))


@kernel(inline="always")
def _velocity_at(velocity, spin, arm):
    """The velocity of the point at an arm from a center: `v + spin x arm`."""
    return Vec3(
        velocity.x + spin.y * arm.z - spin.z * arm.y,
        velocity.y + spin.z * arm.x - spin.x * arm.z,
        velocity.z + spin.x * arm.y - spin.y * arm.x,
    )


@kernel(inline="always")
def _put_rotation(val, sign, axis, motion, b, dim):
    """Writes the angular part of the entry (d,) of body b, from an axis or a torque in the world frame."""
    root = motion.root[b]
    if dim == 2:
        val[2] = sign * axis.z * root[2]
        return
    turn = motion.turn[b]
    for k in range(3):  # spins are about the body's own axes: R^T (arm x e)
        val[3 + k] = sign * (turn[0, k] * axis.x + turn[1, k] * axis.y + turn[2, k] * axis.z) * root[3 + k]


@kernel(inline="always")
def _put_entry(val, sign, e, arm, motion, b, dim):
    """Writes the entry (d,) of body b in the row of the direction e at an arm."""
    root = motion.root[b]
    val[0], val[1] = sign * e.x * root[0], sign * e.y * root[1]
    if dim == 3:
        val[2] = sign * e.z * root[2]
    if len(root) > dim:
        _put_rotation(val, sign, cross(arm, e), motion, b, dim)


@lean
def put_rows(axes, table, motion, body, val, base):
    """Adds the entries of the rows of each contact to `val`, and the speeds that no impulse can change to `base`.

    Both must be zero before, of shapes (m, 2, rows, d) and (m, rows). The rows are the normal and the tangent (the
    normal rotated by 90 degrees counterclockwise), in 3D two tangents; then relative rotation, in 3D about both
    tangents and the normal. The first `rows` of them are made. `body` (m, 2) is that of `contact_bodies`. `axes` is a
    tuple whose length, the dimension, is known at compile time: that saves a third of the time in 2D.
    """
    (m, rows), dim, imaged = base.shape, len(axes), table.shape[1] > WIDTH
    for i in range(m):
        normal, point = vector(table, i, NORMAL), vector(table, i, POINT)
        s, t = Vec3(-normal.y, normal.x, 0.0), Vec3(0.0, 0.0, 1.0)
        if dim == 3:
            s, t = tangents_of(normal)
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b, pushed = int(table[i, FIRST + side]), body[i, side] >= 0
            v, spin = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
            if b >= 0:
                arm = point - _vector(motion.position, b, dim)
                if side == 1 and imaged:
                    arm, v = arm - vector(table, i, OFFSET), vector(table, i, DRIFT)
                if not pushed:
                    spin = _spin(motion, b, dim)
                    v = _velocity_at(v + _vector(motion.velocity, b, dim), spin, arm)
            else:
                k, moving = -1 - b, motion.boundary_velocity[-1 - b]
                arm = point - _vector(motion.center, k, dim)
                spin = Vec3(moving[3], moving[4], moving[5]) if dim == 3 else Vec3(0.0, 0.0, moving[2])
                v = _velocity_at(_vector(motion.boundary_velocity, k, dim), spin, arm)
            base[i, 0] += sign * dot(normal, v)
            if pushed:
                _put_entry(val[i, side, 0], sign, normal, arm, motion, b, dim)
            for row in range(1, rows):
                e = t if row == 2 or row == 4 else (normal if row == 5 else s)
                base[i, row] += sign * dot(e, v if row < dim else spin)
                if pushed and row < dim:
                    _put_entry(val[i, side, row], sign, e, arm, motion, b, dim)
                elif pushed:
                    _put_rotation(val[i, side, row], sign, e, motion, b, dim)
