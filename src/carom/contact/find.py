"""The contacts of a step: broad phase, then the exact test for each kind of pair."""

from __future__ import annotations

import numpy as np

from ..solvers.rows import Floats, Ints
from ..world import DISC, State, Walls, World
from .broad_phase import neighbours
from .contact_set import ContactSet
from .images import Images, counts_once, make_images
from .polygons import Poses, polygon_pairs, polygon_walls
from .walls import disc_walls, walls_at

Columns = tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]  # the first seven fields of a ContactSet


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`."""
    shapes = world.shapes
    walls = walls_at(world, before.time, after.time - before.time)
    images = None
    p0, p1, radius, kind, free = before.position, after.position, shapes.radius, shapes.kind, world.free
    if world.periodic is not None:
        step = after.time - before.time
        images = make_images(world.periodic, p1, radius, margin, before.time, step)
        p0, p1 = p0[images.owner] + images.shift, p1[images.owner] + images.shift_after
        radius, kind, free = radius[images.owner], kind[images.owner], free[images.owner]
    a, b, normal, gap, predicted, *odd = neighbours(p0, p1, radius, kind, free, margin)
    point = p0[a] + (radius[a] + 0.5 * gap)[:, None] * normal
    pairs: Columns = (a, b, np.zeros(len(a), np.int64), normal, point, gap, predicted)
    if len(odd[0]):
        owner = np.arange(world.count) if images is None else images.owner
        poses = Poses(owner, p0, before.angle[owner], p1, after.angle[owner])
        pairs = _joined([pairs, _polygon_contacts(world, odd[0], odd[1], poses, margin)])
    offset = drift = None
    if images is not None:
        pairs, offset, drift = _of_owners(pairs, images)
    parts = [pairs, *_wall_contacts(world, before, after, walls, margin)]
    columns = _joined(parts)
    return ContactSet(*columns, _padded(offset, len(columns[0])), _padded(drift, len(columns[0])))


def _joined(parts: list[Columns]) -> Columns:
    full = [columns for columns in parts if len(columns[0])] or parts[:1]
    return full[0] if len(full) == 1 else tuple(np.concatenate(c) for c in zip(*full))  # type: ignore[return-value]


def _polygon_contacts(world: World, first: Ints, second: Ints, poses: Poses, margin: float) -> Columns:
    pair, feature, normal, point, gap, predicted = polygon_pairs(first, second, world.shapes, poses, margin)
    return first[pair], second[pair], feature, normal, point, gap, predicted


def _of_owners(columns: Columns, images: Images) -> tuple[Columns, Floats, Floats]:
    """The bodies themselves in place of their images: points in the frame of first, place and velocity of second."""
    chosen = counts_once(images, columns[0], columns[1])
    a, b, feature, normal, point, gap, predicted = (c[chosen] for c in columns)
    offset, drift = images.shift[b] - images.shift[a], images.drift[b] - images.drift[a]
    point = point - images.shift[a]
    return (images.owner[a], images.owner[b], feature, normal, point, gap, predicted), offset, drift


def _padded(rows: Floats | None, count: int) -> Floats | None:
    if rows is None:
        return None
    return np.concatenate([rows, np.zeros((count - len(rows), 2))])


def _wall_contacts(
    world: World, before: State, after: State, walls: tuple[Walls, Walls], margin: float
) -> list[Columns]:
    if not len(walls[0].kind):
        return []
    shapes = world.shapes
    chosen = world.free & (shapes.kind == DISC)
    body, wall, normal, gap, predicted = disc_walls(
        before.position, after.position, shapes.radius, chosen, walls[0], walls[1], margin
    )
    point = before.position[body] + (shapes.radius[body] + 0.5 * gap)[:, None] * normal
    parts: list[Columns] = [(body, -1 - wall, np.zeros(len(body), np.int64), normal, point, gap, predicted)]
    if not world.all_discs:
        poses = Poses(np.arange(world.count), before.position, before.angle, after.position, after.angle)
        body, wall, feature, normal, point, gap, predicted = polygon_walls(
            shapes, poses, world.free, walls[0], walls[1], margin
        )
        parts.append((body, -1 - wall, feature, normal, point, gap, predicted))
    return parts
