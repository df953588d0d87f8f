"""Contacts of a step: broad phase, then the narrow phase of each family of shapes."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..solvers.rows import Floats, Ints
from ..world import MESH, Boundaries, State, World
from .boundaries import boundaries_at, disc_boundaries
from .broad_phase import neighbors
from .contact_set import Columns, ContactSet, Places, joined
from .images import Images, counts_once, make_images
from .polygon_boundaries import polygon_boundaries
from .polygons import Poses, polygon_pairs

FAR = 1e12  # largest coordinate in units of the largest radius: numbers of grid cells would overflow beyond it


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

    Normals are unit vectors from the first body to the second, in the frame of the world; gaps are lengths, negative
    for overlap.
    """
    step = after.time - before.time
    _check(world, after)
    boundaries = boundaries_at(world, before.time, step)
    pairs, bounded = (_pairs_2d, _bounded_2d) if world.dimension == 2 else (_pairs_3d, _bounded_3d)
    images = None
    p0, p1, radius, is_round, free = (
        before.position,
        after.position,
        world.shapes.radius,
        world.shapes.round,
        world.free,
    )
    owner = np.arange(world.count)
    if world.periodic is not None:
        images = make_images(world.periodic, p1, radius, margin, before.time, step)
        owner = images.owner
        p0, p1 = p0[owner] + images.shift, p1[owner] + images.shift_after
        radius, is_round, free = radius[owner], is_round[owner], free[owner]
    a, b, normal, gap, predicted, *others = neighbors(p0, p1, radius, is_round, free, margin)
    point = p0[a] + (radius[a] + 0.5 * gap)[:, None] * normal
    found: Columns = (a, b, np.zeros(len(a), np.int64), normal, point, gap, predicted)
    if len(others[0]):
        found = joined([found, *pairs(world, before, after, (owner, p0, p1), others[0], others[1], margin)])
    offset = drift = None
    if images is not None:
        found, offset, drift = _of_owners(found, images)
    columns = joined([found, *bounded(world, before, after, boundaries, margin)])
    m = len(columns[0])
    return ContactSet(*columns, _padded(offset, m), _padded(drift, m))


def _check(world: World, state: State) -> None:
    """Ends a run whose positions have diverged."""
    far = float(np.abs(state.position).max(initial=0.0))
    if not far < FAR * float(world.shapes.radius.max(initial=0.0)):
        wanted = f"less than {FAR:g} radii from the origin: the law has blown up, or the step is far too long"
        raise ProblemError(f"positions at time {state.time:g}", far, wanted)


def _of_owners(columns: Columns, images: Images) -> tuple[Columns, Floats, Floats]:
    """Replaces images by their bodies: points in the frame of the first, offset and velocity of the second's image."""
    chosen = counts_once(images, columns[0], columns[1])
    a, b, feature_id, normal, point, gap, predicted = (c[chosen] for c in columns)
    offset, drift = images.shift[b] - images.shift[a], images.drift[b] - images.drift[a]
    point = point - images.shift[a]
    return (images.owner[a], images.owner[b], feature_id, normal, point, gap, predicted), offset, drift


def _padded(rows: Floats | None, count: int) -> Floats | None:
    if rows is None:
        return None
    return np.concatenate([rows, np.zeros((count - len(rows), rows.shape[1]))])


# ---- 2D: discs and polygons


def _pairs_2d(
    world: World, before: State, after: State, places: Places, first: Ints, second: Ints, margin: float
) -> list[Columns]:
    """Contacts of candidate pairs with a polygon."""
    owner, p0, p1 = places
    poses = Poses(owner, p0, before.orientation[owner], p1, after.orientation[owner])
    pair, *columns = polygon_pairs(first, second, world.shapes, poses, margin)
    return [(first[pair], second[pair], *columns)]


def _bounded_2d(
    world: World, before: State, after: State, boundaries: tuple[Boundaries, Boundaries], margin: float
) -> list[Columns]:
    """Contacts of bodies with boundaries."""
    if not len(boundaries[0].kind):
        return []
    radius, chosen = world.shapes.radius, world.free & world.shapes.round
    body, boundary, normal, gap, predicted = disc_boundaries(
        before.position, after.position, radius, chosen, boundaries[0], boundaries[1], margin
    )
    point = before.position[body] + (radius[body] + 0.5 * gap)[:, None] * normal
    found: list[Columns] = [(body, -1 - boundary, np.zeros(len(body), np.int64), normal, point, gap, predicted)]
    if not world.all_discs:
        poses = Poses(np.arange(world.count), before.position, before.orientation, after.position, after.orientation)
        body, boundary, *columns = polygon_boundaries(
            world.shapes, poses, world.free, boundaries[0], boundaries[1], margin
        )
        found.append((body, -1 - boundary, *columns))
    return found


# ---- 3D: convex solids and meshes. Their kernels are imported here, since 2D worlds need none of them.


def _pairs_3d(
    world: World, before: State, after: State, places: Places, first: Ints, second: Ints, margin: float
) -> list[Columns]:
    """Contacts of candidate pairs that are not two single spheres."""
    from .convex import convex_pairs
    from .meshes import mesh_pairs
    from .poses import Poses

    owner, p0, p1 = places
    poses = Poses(owner, p0, matrices(before.orientation)[owner], p1, matrices(after.orientation)[owner])
    found = []
    for family in (convex_pairs, mesh_pairs) if _has_meshes(world) else (convex_pairs,):
        pair, *columns = family(first, second, world.shapes_3d, poses, margin)
        found.append((first[pair], second[pair], *columns))
    return found


def _bounded_3d(
    world: World, before: State, after: State, boundaries: tuple[Boundaries, Boundaries], margin: float
) -> list[Columns]:
    """Contacts of bodies with boundaries."""
    if not len(boundaries[0].kind):
        return []
    from .convex_boundaries import convex_boundaries
    from .mesh_boundaries import mesh_boundaries
    from .poses import Poses

    turn0, turn1 = matrices(before.orientation), matrices(after.orientation)
    poses = Poses(np.arange(world.count), before.position, turn0, after.position, turn1)
    found = []
    for family in (convex_boundaries, mesh_boundaries) if _has_meshes(world) else (convex_boundaries,):
        body, boundary, *columns = family(world.shapes_3d, poses, world.free, boundaries[0], boundaries[1], margin)
        found.append((body, -1 - boundary, *columns))
    return found


def _has_meshes(world: World) -> bool:
    return bool((world.shapes.kind == MESH).any())
