"""The bridge between geometry and impact: contacts of a world become whitened rows.

Modules below this one do not depend on rows, modules above do not depend on shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..geometry.rotations import matrices
from ..kernels import kernel
from ..solvers.rows import Floats, Ints, make_rows
from ..solvers.thresholds import TOUCHED_BODIES_FACTOR
from ..world import Boundaries, State, World
from .contact_rows import row_pointers, rows_2d, rows_3d, tangent_pattern
from .contacts import Contacts


@dataclass(frozen=True, eq=False)
class Assembly:
    """An impact of a world: the contacts as a law receives them, and the bodies that take part."""

    world: World
    contacts: Contacts
    bodies: Ints | None  # bodies that take part, ascending; None for all

    def whitened(self, velocity: Floats) -> Floats:
        """`x = sqrt(M) v` of the bodies that take part; components that cannot change are zero."""
        if self.bodies is None:
            return _whiten(velocity, self.world.inverse_sqrt_mass)
        return _whiten(velocity[self.bodies], self.world.inverse_sqrt_mass[self.bodies])

    def unwhitened(self, x: Floats, velocity: Floats) -> Floats:
        """`v = x / sqrt(M)` (n, d); bodies that take no part, and components that cannot change, keep `velocity`."""
        if self.bodies is None:
            return _unwhiten(x, self.world.inverse_sqrt_mass, velocity)
        out = velocity.copy()
        out[self.bodies] = _unwhiten(x, self.world.inverse_sqrt_mass[self.bodies], velocity[self.bodies])
        return out

    def moving(self, velocity: Floats) -> Assembly:
        """The same contacts with another velocity (n, d) before the impact."""
        return replace(self, contacts=self.contacts.moving(self.whitened(velocity)))


def assemble(world: World, state: State, found: ContactSet, boundaries: Boundaries) -> Assembly:
    """Whitened rows of `u = n . (v_second - v_first)` at the contact points, with the coefficients of each pair.

    Boundaries and bodies that cannot be pushed have no entry in the rows: their speeds add to the constant part w.
    """
    restitution, mu = coefficients(world, found)
    none = np.zeros((1, world.dimension))
    offset = none if found.offset is None else found.offset
    drift = none if found.drift is None else found.drift
    rubs = bool(mu.any())
    ptr = row_pointers(found.first, found.second, world.free)
    geometry = (found.first, found.second, found.normal, found.point, offset, drift, state.position, state.velocity)
    pushed = (world.free, world.inverse_sqrt_mass, boundaries.center, boundaries.velocity, ptr, rubs)
    if world.dimension == 2:
        body, val, tangent, w, wt = rows_2d(*geometry, *pushed)
    else:
        body, val, tangent, w, wt = rows_3d(*geometry, matrices(state.orientation), *pushed)
    bodies, count = None, world.count
    if TOUCHED_BODIES_FACTOR * found.count < world.count:
        bodies, body = np.unique(body, return_inverse=True)
        count = len(bodies)
    tangents = None
    if rubs:
        tangents = make_rows(*tangent_pattern(ptr, body, world.dimension - 1), tangent, count)
    contacts = Contacts(
        rows=make_rows(ptr, body, val, count),
        velocity=np.empty((0, 0)),
        boundary_speed=w,
        restitution=restitution,
        friction=mu if rubs else np.zeros(found.count),
        tangents=tangents,
        tangent_boundary_speed=wt if rubs else None,
    )
    return Assembly(world, contacts, bodies).moving(state.velocity)


def coefficients(world: World, found: ContactSet) -> tuple[Floats, Floats]:
    """Coefficients of restitution and friction (m,) of each contact, from the tables of material pairs."""
    if world.restitution.size == 1:
        m = found.count
        return np.full(m, world.restitution[0, 0]), np.full(m, world.friction[0, 0])
    a = world.material[found.first]
    fixed = found.second < 0
    b = np.empty(found.count, np.int64)
    b[~fixed] = world.material[found.second[~fixed]]
    b[fixed] = world.boundary_material[-1 - found.second[fixed]]
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


def used_restitutions(world: World) -> Floats:
    """Coefficients of restitution of all pairs of materials that can meet."""
    free = np.unique(world.material[world.free])
    bodies, count = np.unique(world.material, return_counts=True)
    pairs = [(a, b) for a in free for b, k in zip(bodies, count) if a != b or k > 1]
    pairs += [(a, b) for a in free for b in np.unique(world.boundary_material)]
    return np.array([world.restitution[a, b] for a, b in pairs])
