"""Contacts of pairs that touch at one instant: the geometry of an impact whose time is known."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import DISC, PLANE, SEGMENT, Boundaries, World
from .boundaries import disc_gap
from .contact_set import ContactSet
from .impact_time import Paths, pose
from .polygon_boundaries import polygon_boundaries
from .polygons import Poses, polygon_pairs
from .sweep import Table

# Corners of polygons are told apart by which way they go: they are seen again after a flight of this many
# touching distances, and count up to a gap that such a flight cannot open.
FLIGHT = 10.0
MARGIN = 25.0


def moved_walls(walls: Boundaries, time: float) -> Boundaries:
    """Boundaries a time after they were at `walls`, at their velocities."""
    if not walls.velocity.any():
        return walls
    turn = time * walls.velocity[:, 2]
    c, s = np.cos(turn), np.sin(turn)

    def turned(vector: Floats) -> Floats:
        return np.stack([c * vector[:, 0] - s * vector[:, 1], s * vector[:, 0] + c * vector[:, 1]], axis=1)

    center = walls.center + time * walls.velocity[:, :2]
    segment = (walls.kind == SEGMENT)[:, None]
    b = np.where(segment, center + turned(walls.axis - walls.center), turned(walls.axis))
    b = np.where(segment | (walls.kind == PLANE)[:, None], b, walls.axis)
    return walls._replace(point=center + turned(walls.point - walls.center), axis=b, center=center)


def touching(
    world: World, paths: Paths, walls: Boundaries, table: Table, rows: Ints, time: float, touch: float
) -> ContactSet:
    """The contacts of some rows of a table of pairs at `time`; `walls` are those at the start of the step."""
    n = world.count
    rows = rows[np.lexsort((table.second[rows], table.first[rows]))]
    first, second = table.first[rows], table.second[rows]
    shift = table.shift[rows] + time * table.drift[rows]
    drift = table.drift[rows]
    wall = second >= n
    now = moved_walls(walls, time)
    odd = np.zeros(len(rows), np.bool_)
    if not world.all_discs:
        kind = world.shapes.kind
        odd = (kind[first] != DISC) | (~wall & (kind[np.where(wall, first, second)] != DISC))
    plain = ~odd
    normal, point, gap = _round_contacts(
        paths, world.shapes.radius, now, first[plain], second[plain], shift[plain], n, time
    )
    who = np.where(wall, n - 1 - second, second)  # boundary k is -1 - k in a ContactSet
    none = np.zeros(len(gap), np.int64)
    parts = [(first[plain], who[plain], none, normal, point, gap, gap, shift[plain], drift[plain])]
    if odd.any():
        later = time + _flight(world, paths, np.concatenate([first[odd], second[odd & ~wall]]), touch)
        pairs, edges = odd & ~wall, np.unique(first[odd & wall])
        if pairs.any():
            parts.append(
                _polygons(world, paths, first[pairs], second[pairs], shift[pairs], drift[pairs], time, later, touch)
            )
        if len(edges):
            after = moved_walls(walls, later)
            parts.append(_polygon_walls(world, paths, edges, now, after, time, later, touch))
    columns = parts[0] if len(parts) == 1 else tuple(np.concatenate(c) for c in zip(*parts))
    first, who, feature, normal, point, gap, predicted, shift, drift = columns
    if world.periodic is None:
        return ContactSet(first, who, feature, normal, point, gap, predicted)
    return ContactSet(first, who, feature, normal, point, gap, predicted, shift, drift)


def _flight(world: World, paths: Paths, bodies: Ints, touch: float) -> float:
    v = paths.velocity[bodies]
    fastest = float((np.hypot(v[:, 0], v[:, 1]) + np.abs(v[:, 2]) * world.shapes.radius[bodies]).max())
    return FLIGHT * touch / fastest if fastest > 0.0 else 0.0


def _places(paths: Paths, bodies: Ints, time: float) -> Floats:
    s = (time - paths.since[bodies])[:, None]
    return paths.place[bodies] + s * (paths.velocity[bodies] + 0.5 * s * paths.pull[bodies])


def _poses(paths: Paths, bodies: Ints, time: float, later: float) -> Poses:
    q, r = _places(paths, bodies, time), _places(paths, bodies, later)
    return Poses(bodies, np.ascontiguousarray(q[:, :2]), q[:, 2].copy(), np.ascontiguousarray(r[:, :2]), r[:, 2].copy())


def _polygons(
    world: World,
    paths: Paths,
    first: Ints,
    second: Ints,
    shift: Floats,
    drift: Floats,
    time: float,
    later: float,
    touch: float,
) -> tuple:
    """Contacts of pairs with a polygon. Each pair has rows of its own, the second one at its periodic image."""
    m = len(first)
    poses = _poses(paths, np.concatenate([first, second]), time, later)
    poses.position0[m:] += shift
    poses.position1[m:] += shift + (later - time) * drift
    rows = np.arange(m)
    pair, feature, normal, point, gap, predicted = polygon_pairs(rows, rows + m, world.shapes, poses, MARGIN * touch)
    return first[pair], second[pair], feature, normal, point, gap, predicted, shift[pair], drift[pair]


def _polygon_walls(
    world: World,
    paths: Paths,
    bodies: Ints,
    now: Boundaries,
    after: Boundaries,
    time: float,
    later: float,
    touch: float,
) -> tuple:
    poses = _poses(paths, bodies, time, later)
    row, wall, feature, normal, point, gap, predicted = polygon_boundaries(
        world.shapes, poses, world.free, now, after, MARGIN * touch
    )
    none = np.zeros((len(row), 2))
    return bodies[row], -1 - wall, feature, normal, point, gap, predicted, none, none


@kernel
def _round_contacts(paths, radius, walls, first, second, shift, n, time):
    """Normal, point and gap of discs with discs and with boundaries."""
    m = len(first)
    normal, point, gap = np.empty((m, 2)), np.empty((m, 2)), np.empty(m)
    for k in range(m):
        i, j = first[k], second[k]
        at = pose(paths, i, time)
        if j >= n:
            w = j - n
            g, nx, ny = disc_gap(walls.kind[w], walls.point[w], walls.axis[w], walls.radius[w], at[0], at[1], radius[i])
        else:
            other = pose(paths, j, time)
            x, y = other[0] + shift[k, 0] - at[0], other[1] + shift[k, 1] - at[1]
            apart = np.sqrt(x * x + y * y)
            g = apart - radius[i] - radius[j]
            nx, ny = (x / apart, y / apart) if apart > 0.0 else (1.0, 0.0)
        normal[k, 0], normal[k, 1], gap[k] = nx, ny, g
        point[k, 0] = at[0] + (radius[i] + 0.5 * g) * nx
        point[k, 1] = at[1] + (radius[i] + 0.5 * g) * ny
    return normal, point, gap
