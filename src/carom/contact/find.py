"""The contacts of a step: broad phase, then the exact test for each kind of pair."""

from __future__ import annotations

import numpy as np

from ..solvers.rows import Floats, Ints
from ..world import DISC, State, World
from .broad_phase import neighbours
from .contact_set import ContactSet
from .images import Images, counts_once, make_images
from .walls import disc_walls, walls_at

EMPTY = (
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty((0, 2)),
    np.empty((0, 2)),
    np.empty(0),
    np.empty(0),
)
Columns = tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]  # the first seven fields of a ContactSet


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`."""
    shapes, walls = world.shapes, walls_at(world, before.time, max(after.time - before.time, 1e-300))
    images = None
    p0, p1, radius, kind, free = before.position, after.position, shapes.radius, shapes.kind, world.free
    if world.periodic is not None:
        step = after.time - before.time
        images = make_images(world.periodic, p1, radius, margin, before.time, step)
        p0, p1 = p0[images.owner] + images.shift, p1[images.owner] + images.shift_after
        radius, kind, free = radius[images.owner], kind[images.owner], free[images.owner]
    a, b, normal, gap, predicted, odd_a, odd_b = neighbours(p0, p1, radius, kind, free, margin)
    point = p0[a] + (radius[a] + 0.5 * gap)[:, None] * normal
    parts: list[Columns] = [(a, b, np.zeros(len(a), np.int64), normal, point, gap, predicted)]
    pairs = _with_images(parts[0], images, (odd_a, odd_b), world, before, after, margin, p0, p1)
    alone = [pairs] if images is None else [_own_rows(pairs, images)]
    extra = (None, None) if images is None else _image_terms(pairs, images)
    if len(walls[0].kind):
        alone += _wall_contacts(world, before, after, walls, margin)
    columns = alone[0] if len(alone) == 1 else tuple(np.concatenate(c) for c in zip(*alone))
    offset, drift = (_padded(e, len(columns[0])) for e in extra)
    return ContactSet(*columns, offset=offset, drift=drift)  # type: ignore[arg-type]


def _with_images(
    discs: Columns,
    images: Images | None,
    odd: tuple[Ints, Ints],
    world: World,
    before: State,
    after: State,
    margin: float,
    p0: Floats,
    p1: Floats,
) -> Columns:
    """Contacts of bodies with bodies, rows still those of the images."""
    columns = discs
    if len(odd[0]):
        from .polygons import Poses, polygon_pairs

        owner = np.arange(world.count) if images is None else images.owner
        poses = Poses(owner, p0, before.angle[owner], p1, after.angle[owner])
        pair, feature, normal, point, gap, predicted = polygon_pairs(odd[0], odd[1], world.shapes, poses, margin)
        more = (odd[0][pair], odd[1][pair], feature, normal, point, gap, predicted)
        columns = tuple(np.concatenate([x, y]) for x, y in zip(discs, more))  # type: ignore[assignment]
    if images is None:
        return columns
    chosen = counts_once(images, columns[0], columns[1])
    return tuple(c[chosen] for c in columns)  # type: ignore[return-value]


def _own_rows(columns: Columns, images: Images) -> Columns:
    """The bodies themselves in place of their images; points go into the frame of the first."""
    a, b, feature, normal, point, gap, predicted = columns
    return images.owner[a], images.owner[b], feature, normal, point - images.shift[a], gap, predicted


def _image_terms(columns: Columns, images: Images) -> tuple[Floats, Floats]:
    a, b = columns[0], columns[1]
    return images.shift[b] - images.shift[a], images.drift[b] - images.drift[a]


def _padded(rows: Floats | None, count: int) -> Floats | None:
    if rows is None:
        return None
    return np.concatenate([rows, np.zeros((count - len(rows), 2))])


def _wall_contacts(world: World, before: State, after: State, walls: tuple, margin: float) -> list[Columns]:
    shapes = world.shapes
    chosen = world.free & (shapes.kind == DISC)
    body, wall, normal, gap, predicted = disc_walls(
        before.position, after.position, shapes.radius, chosen, walls[0], walls[1], margin
    )
    point = before.position[body] + (shapes.radius[body] + 0.5 * gap)[:, None] * normal
    parts: list[Columns] = [(body, -1 - wall, np.zeros(len(body), np.int64), normal, point, gap, predicted)]
    if not world.all_discs:
        from .polygons import Poses, polygon_walls

        poses = Poses(np.arange(world.count), before.position, before.angle, after.position, after.angle)
        body, wall, feature, normal, point, gap, predicted = polygon_walls(
            shapes, poses, world.free, walls[0], walls[1], margin
        )
        parts.append((body, -1 - wall, feature, normal, point, gap, predicted))
    return parts
