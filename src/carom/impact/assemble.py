"""The one bridge between geometry and impact: contacts of a world become whitened rows.

Nothing below knows shapes, nothing above knows rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..geometry.rotations import matrices
from ..kernels import kernel
from ..solvers.rows import Floats, Ints, make_rows
from ..world import Boundaries, State, World
from .contacts import Contacts
from .space_rows import both_tangents, space_rows, twice

SPARSE = 8  # with fewer contacts than bodies by this factor, only touched bodies take part: a gas costs its contacts


@dataclass(frozen=True, eq=False)
class Assembly:
    """An impact of a world: the contacts as laws see them, and which bodies take part."""

    world: World
    contacts: Contacts
    bodies: Ints | None  # those that take part, ascending; None for all

    def whitened(self, velocity: Floats) -> Floats:
        """`x = sqrt(M) v` of the bodies that take part, zero where nothing can change."""
        if self.bodies is None:
            return _whiten(velocity, self.world.inverse_sqrt_mass)
        return _whiten(velocity[self.bodies], self.world.inverse_sqrt_mass[self.bodies])

    def unwhitened(self, x: Floats, velocity: Floats) -> Floats:
        """`v = x / sqrt(M)`; bodies and components that nothing can change keep `velocity`."""
        if self.bodies is None:
            return _unwhiten(x, self.world.inverse_sqrt_mass, velocity)
        out = velocity.copy()
        out[self.bodies] = _unwhiten(x, self.world.inverse_sqrt_mass[self.bodies], velocity[self.bodies])
        return out

    def moving(self, velocity: Floats) -> Assembly:
        """The same contacts with another velocity before impact."""
        return replace(self, contacts=self.contacts.moving(self.whitened(velocity)))


def assemble(world: World, state: State, found: ContactSet, walls: Boundaries | Boundaries) -> Assembly:
    """Rows `u = n . (v_second - v_first)` at the contact points, whitened, with the coefficients of each pair.

    Bodies and boundaries that cannot be pushed have no entry in the rows: their speed is the boundary's.
    """
    restitution, mu = coefficients(world, found)
    none = np.zeros((1, world.dimension))
    offset = none if found.offset is None else found.offset
    drift = none if found.drift is None else found.drift
    rubs = bool(mu.any())
    ptr = _row_pointers(found.first, found.second, world.free)
    geometry = (found.first, found.second, found.normal, found.point, offset, drift, state.position, state.velocity)
    pushed = (world.free, world.inverse_sqrt_mass, walls.center, walls.velocity, ptr, rubs)
    if world.dimension == 2:
        body, val, tangent, w, wt = _rows(*geometry, *pushed)
        tangent_ptr = ptr
    else:
        body, val, tangent, w, wt = space_rows(*geometry, matrices(state.orientation), *pushed)
        tangent_ptr = both_tangents(ptr) if rubs else ptr
    bodies, count = None, world.count
    if SPARSE * found.count < world.count:
        bodies, body = np.unique(body, return_inverse=True)
        count = len(bodies)
    contacts = Contacts(
        rows=make_rows(ptr, body, val, count),
        velocity=np.empty((0, 0)),
        boundary=w,
        restitution=restitution,
        friction=mu if rubs else np.zeros(found.count),
        tangents=make_rows(tangent_ptr, _tangent_bodies(body, ptr, tangent_ptr), tangent, count) if rubs else None,
        tangent_boundary=wt if rubs else None,
    )
    return Assembly(world, contacts, bodies).moving(state.velocity)


def _tangent_bodies(body: Ints, ptr: Ints, tangent_ptr: Ints) -> Ints:
    """Bodies of the tangent rows: those of the normal rows, in space twice."""
    return body if len(tangent_ptr) == len(ptr) else twice(body, ptr)


def coefficients(world: World, found: ContactSet) -> tuple[Floats, Floats]:
    """Restitution and friction of each contact, from the tables of material pairs."""
    if world.restitution.size == 1:
        m = found.count
        return np.full(m, world.restitution[0, 0]), np.full(m, world.friction[0, 0])
    a = world.material[found.first]
    wall = found.second < 0
    b = np.empty(found.count, np.int64)
    b[~wall] = world.material[found.second[~wall]]
    b[wall] = world.boundary_material[-1 - found.second[wall]]
    return world.restitution[a, b], world.friction[a, b]


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


@kernel
def _row_pointers(first, second, free):
    ptr = np.zeros(len(first) + 1, np.int64)
    for i in range(len(first)):
        ptr[i + 1] = ptr[i] + (1 if free[first[i]] else 0) + (1 if second[i] >= 0 and free[second[i]] else 0)
    return ptr


@kernel
def _rows(
    first, second, normal, point, offset, drift, position, velocity, free, root, center, wall_velocity, ptr, rubs
):
    """Entries of all rows, of the tangent rows, and the speeds that no impulse can change."""
    m, d = len(first), velocity.shape[1]
    imaged = len(offset) == m
    body = np.empty(ptr[-1], np.int64)
    val = np.empty((ptr[-1], d))
    tangent = np.empty((ptr[-1] if rubs else 0, d))
    w, wt = np.zeros(m), np.zeros(m if rubs else 0)
    for i in range(m):
        nx, ny = normal[i, 0], normal[i, 1]
        e = ptr[i]
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = first[i] if side == 0 else second[i]
            if b < 0:
                k = -1 - b
                rx, ry = point[i, 0] - center[k, 0], point[i, 1] - center[k, 1]
                vx = wall_velocity[k, 0] - wall_velocity[k, 2] * ry
                vy = wall_velocity[k, 1] + wall_velocity[k, 2] * rx
                w[i] += sign * (nx * vx + ny * vy)
                if rubs:
                    wt[i] += sign * (-ny * vx + nx * vy)
                continue
            rx, ry = point[i, 0] - position[b, 0], point[i, 1] - position[b, 1]
            if side == 1 and imaged:
                rx -= offset[i, 0]
                ry -= offset[i, 1]
                w[i] += nx * drift[i, 0] + ny * drift[i, 1]
                if rubs:
                    wt[i] += -ny * drift[i, 0] + nx * drift[i, 1]
            if free[b]:
                body[e] = b
                val[e, 0], val[e, 1] = sign * nx * root[b, 0], sign * ny * root[b, 1]
                if d == 3:
                    val[e, 2] = sign * (rx * ny - ry * nx) * root[b, 2]
                if rubs:
                    tangent[e, 0], tangent[e, 1] = -sign * ny * root[b, 0], sign * nx * root[b, 1]
                    if d == 3:
                        tangent[e, 2] = sign * (rx * nx + ry * ny) * root[b, 2]
                e += 1
                continue
            spin = velocity[b, 2] if d == 3 else 0.0
            vx, vy = velocity[b, 0] - spin * ry, velocity[b, 1] + spin * rx
            w[i] += sign * (nx * vx + ny * vy)
            if rubs:
                wt[i] += sign * (-ny * vx + nx * vy)
    return body, val, tangent, w, wt
