"""Discs, polygons and boundaries of the plane."""

from __future__ import annotations

import numpy as np

from ..solvers.rows import Ints
from ..world import Boundaries, State, World
from .columns import Columns, Places
from .polygons import Poses, polygon_pairs, polygon_walls
from .walls import disc_walls


def pairs(
    world: World, before: State, after: State, places: Places, first: Ints, second: Ints, margin: float
) -> list[Columns]:
    """Contacts of candidate pairs with a polygon."""
    owner, p0, p1 = places
    poses = Poses(owner, p0, before.orientation[owner], p1, after.orientation[owner])
    pair, feature, normal, point, gap, predicted = polygon_pairs(first, second, world.shapes, poses, margin)
    return [(first[pair], second[pair], feature, normal, point, gap, predicted)]


def walled(
    world: World, before: State, after: State, walls: tuple[Boundaries, Boundaries], margin: float
) -> list[Columns]:
    """Contacts of bodies with boundaries."""
    if not len(walls[0].kind):
        return []
    shapes = world.shapes
    chosen = world.free & world.simple
    body, wall, normal, gap, predicted = disc_walls(
        before.position, after.position, shapes.radius, chosen, walls[0], walls[1], margin
    )
    point = before.position[body] + (shapes.radius[body] + 0.5 * gap)[:, None] * normal
    parts: list[Columns] = [(body, -1 - wall, np.zeros(len(body), np.int64), normal, point, gap, predicted)]
    if not world.all_discs:
        poses = Poses(np.arange(world.count), before.position, before.orientation, after.position, after.orientation)
        body, wall, feature, normal, point, gap, predicted = polygon_walls(
            shapes, poses, world.free, walls[0], walls[1], margin
        )
        parts.append((body, -1 - wall, feature, normal, point, gap, predicted))
    return parts
