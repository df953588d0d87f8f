"""Solids and boundaries of space."""

from __future__ import annotations

import numpy as np

from ..rotations import matrices
from ..solvers.rows import Ints
from ..world import MESH, Boundaries, State, World
from .columns import Columns, Places
from .solids.mesh import mesh_pairs
from .solids.mesh_barriers import mesh_barriers
from .solids.pairs import solid_pairs
from .solids.poses import Poses
from .solids.walls import solid_barriers


def pairs(
    world: World, before: State, after: State, places: Places, first: Ints, second: Ints, margin: float
) -> list[Columns]:
    """Contacts of candidate pairs that are not both single spheres."""
    owner, p0, p1 = places
    solids = world.solids
    poses = Poses(owner, p0, matrices(before.orientation)[owner], p1, matrices(after.orientation)[owner])
    out = []
    for kernel in (solid_pairs, mesh_pairs) if _has_meshes(world) else (solid_pairs,):
        pair, feature, normal, point, gap, predicted = kernel(first, second, solids, poses, margin)
        out.append((first[pair], second[pair], feature, normal, point, gap, predicted))
    return out


def walled(
    world: World, before: State, after: State, walls: tuple[Boundaries, Boundaries], margin: float
) -> list[Columns]:
    """Contacts of bodies with boundaries."""
    if not len(walls[0].kind):
        return []
    owner = np.arange(world.count)
    turn0, turn1 = matrices(before.orientation), matrices(after.orientation)
    poses = Poses(owner, before.position, turn0, after.position, turn1)
    out = []
    for kernel in (solid_barriers, mesh_barriers) if _has_meshes(world) else (solid_barriers,):
        body, wall, *rest = kernel(world.solids, poses, world.free, walls[0], walls[1], margin)
        out.append((body, -1 - wall, *rest))
    return out


def _has_meshes(world: World) -> bool:
    return bool((world.solids.kind == MESH).any())
