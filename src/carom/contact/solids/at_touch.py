"""Contacts of bodies that touch on the way, for an impact that is resolved at the start of the step.

The contacts are those of the moment of touching: normal n, arms of both bodies, all. That normal separates the bodies
from the start of the step on. For convex bodies that do not turn, with the relative velocity v, touching at time t:
along n they are `-t v . n` apart at the start, which is positive since they approach. After an impact that leaves
`v' . n >= 0` they stay so far apart: an impact at the start of the step with this normal prevents the crossing, however
oblique the pass. The normal of the nearest points at the start would prevent it too, but a glancing pass would become a
head-on one. Turning bodies obey to first order: what is left is seen in the next round or step.

To have the right arms, the second body stands in these contacts where it will be, relative to the first, at the touch:
`offset` in the ContactSet is the way to there, as if it were a periodic image. That holds where a ball takes part: an
impulse along its normal must not spin a ball, and the pair's angular momentum changes by the impulse times the way. All
other pairs get theirs at one place, midway, and keep their angular momentum. `time_of_impact` has neither fault.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import MESH, State, World
from ..contact_set import ContactSet
from ..poses import Poses
from .advance import Moves, turned_at

FLIGHT = 10.0  # corners are seen again after a flight of this many tolerances, ...
MARGIN = 25.0  # ... and count up to a gap that such a flight cannot open

Geometry = tuple[Ints, Ints, Floats, Floats, Floats]  # pair, feature, normal, point, gap


class Crossings(NamedTuple):
    """Pairs of rows of `moves` that touch on the way; rows are bodies, or periodic images of them."""

    moves: Moves
    first: Ints
    second: Ints
    time: Floats  # of the touch, in parts of the step
    tolerance: Floats  # (m,) gap at which they touch
    drift: Floats  # (m, 3) velocity of the image of second, relative to that of first, beyond that of the bodies


def contacts_at_touch(world: World, before: State, crossings: Crossings) -> ContactSet:
    """Contacts of pairs that touch on the way, with the geometry of that moment: see the top of this file.

    `gap` and `predicted` are the gaps at the start and the end of the step if the speed of approach at the touch lasts.
    """
    c, own = crossings, crossings.moves.owner
    pair, feature, normal, point, gap = _at_touch(world, c)
    i, j, t = c.first[pair], c.second[pair], c.time[pair, None]
    way = c.moves.way[j] - c.moves.way[i]
    arm_i = point - c.moves.position[i] - t * c.moves.way[i]
    arm_j = point - c.moves.position[j] - t * c.moves.way[j]
    speed = way + np.cross(c.moves.spin[j], arm_j) - np.cross(c.moves.spin[i], arm_i)
    rate, t = (speed * normal).sum(axis=1), t[:, 0]
    here = before.position[own[i]]
    place, offset = here + arm_i, here + arm_i - arm_j - before.position[own[j]]
    # Impulses that act at two places would change the pair's angular momentum: they act midway. Balls alone keep their
    # own arms: an impulse along the normal of a ball does not spin it.
    image = c.moves.position[j] - before.position[own[j]] - (c.moves.position[i] - here)
    apart = offset - image
    apart[world.shapes_3d.round[own[i]] | world.shapes_3d.round[own[j]]] = 0.0
    return ContactSet(
        own[i],
        own[j],
        feature,
        normal,
        place - 0.5 * apart,
        gap - t * rate,
        np.minimum(gap, 0.0) + (1.0 - t) * rate,
        offset - apart,
        c.drift[pair],
    )


def _at_touch(world: World, c: Crossings) -> Geometry:
    """Contacts at the moment of touching: pair, feature, normal, point, gap."""
    solids, own = world.shapes_3d, c.moves.owner
    balls = solids.round[own[c.first]] & solids.round[own[c.second]]
    parts = [_of_balls(world, c, np.flatnonzero(balls))]
    # Bodies of like size together: the narrow phase has one margin for all pairs.
    size = np.floor(np.log2(c.tolerance)).astype(np.int64)
    for one in np.unique(size[~balls]):
        parts.append(_of_solids(world, c, np.flatnonzero(~balls & (size == one))))
    return tuple(np.concatenate(columns) for columns in zip(*parts))  # type: ignore[return-value]


def _of_balls(world: World, c: Crossings, pair: Ints) -> Geometry:
    i, j, t = c.first[pair], c.second[pair], c.time[pair, None]
    here = c.moves.position[i] + t * c.moves.way[i]
    apart = c.moves.position[j] + t * c.moves.way[j] - here
    distance = np.sqrt((apart**2).sum(axis=1))
    radius = world.shapes_3d.radius[c.moves.owner]
    apart[distance == 0.0, 0] = 1.0
    normal = apart / np.where(distance > 0.0, distance, 1.0)[:, None]
    gap = distance - radius[i] - radius[j]
    return pair, np.zeros(len(pair), np.int64), normal, here + (radius[i] + 0.5 * gap)[:, None] * normal, gap


def _of_solids(world: World, c: Crossings, pair: Ints) -> Geometry:
    """The narrow phase at the touch, where each pair has two rows of its own."""
    from ..convex import convex_pairs
    from ..meshes import mesh_pairs  # late: their kernels take a while to load, and most steps need none

    solids, m = world.shapes_3d, len(pair)
    rows = np.concatenate([c.first[pair], c.second[pair]])
    time = np.concatenate([c.time[pair], c.time[pair]])
    near = float(c.tolerance[pair].max())
    kernels = [convex_pairs]
    if (solids.kind == MESH).any():
        kernels.append(mesh_pairs)
        near = max(near, _cell(world, c, rows))
    poses = _poses(world, c, rows, time, FLIGHT * near)
    first = np.arange(m)
    parts = []
    for detect in kernels:
        which, feature, normal, point, gap, _ = detect(first, first + m, solids, poses, MARGIN * near)
        parts.append((pair[which], feature, normal, point, gap))
    return tuple(np.concatenate(columns) for columns in zip(*parts))  # type: ignore[return-value]


def _cell(world: World, c: Crossings, rows: Ints) -> float:
    """The widest cell of a distance grid of the bodies of some rows; 0 if none is a mesh."""
    solids, widest = world.shapes_3d, 0.0
    for body in np.unique(c.moves.owner[rows]):
        grid = solids.grid[solids.shape[solids.part_ptr[body] : solids.part_ptr[body + 1]]]
        widest = max(widest, float(solids.grid_spacing[grid[grid >= 0]].max(initial=0.0)))
    return 0.1 * widest


def _poses(world: World, c: Crossings, rows: Ints, time: Floats, flight: float) -> Poses:
    """Poses of rows at their times, and after a further way of about `flight`."""
    m, own = c.moves, c.moves.owner[rows]
    fast = (
        np.sqrt((m.way[rows] ** 2).sum(axis=1)) + np.sqrt((m.spin[rows] ** 2).sum(axis=1)) * world.shapes_3d.radius[own]
    )
    half = len(rows) // 2
    pace = np.maximum(fast[:half], fast[half:])
    later = time + np.tile(np.where(pace > 0.0, flight / np.where(pace > 0.0, pace, 1.0), 0.0), 2)
    turn0, turn1 = np.empty((len(rows), 3, 3)), np.empty((len(rows), 3, 3))
    _turn_all(m, rows, time, turn0)
    _turn_all(m, rows, later, turn1)
    place, way = m.position[rows], m.way[rows]
    return Poses(own, place + time[:, None] * way, turn0, place + later[:, None] * way, turn1)


@kernel
def _turn_all(moves, rows, time, out):
    for k in range(len(rows)):
        turned_at(moves, rows[k], time[k], out[k])
