"""The contacts of a step: broad phase, then the exact test for each kind of pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from ..world import State, World
from . import find_plane
from .boundaries import boundaries_at
from .broad_phase import neighbors
from .columns import Columns, joined
from .contact_set import ContactSet
from .images import Images, counts_once, make_images

FAR = 1e12


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`."""
    step = after.time - before.time
    _check(world, after)
    walls = boundaries_at(world, before.time, step)
    pairs, walled = _tests(world)
    images = None
    p0, p1, radius, simple, free = before.position, after.position, world.shapes.radius, world.simple, world.free
    owner = None
    if world.periodic is not None:
        images = make_images(world.periodic, p1, radius, margin, before.time, step)
        owner = images.owner
        p0, p1 = p0[owner] + images.shift, p1[owner] + images.shift_after
        radius, simple, free = radius[owner], simple[owner], free[owner]
    a, b, normal, gap, predicted, *odd = neighbors(p0, p1, radius, simple, free, margin)
    point = p0[a] + (radius[a] + 0.5 * gap)[:, None] * normal
    found: Columns = (a, b, np.zeros(len(a), np.int64), normal, point, gap, predicted)
    if len(odd[0]):
        places = (np.arange(world.count) if owner is None else owner, p0, p1)
        found = joined([found, *pairs(world, before, after, places, odd[0], odd[1], margin)])
    offset = drift = None
    if images is not None:
        found, offset, drift = _of_owners(found, images)
    columns = joined([found, *walled(world, before, after, walls, margin)])
    m = len(columns[0])
    return ContactSet(*columns, _padded(offset, m), _padded(drift, m))


def _check(world: World, state: State) -> None:
    """Ends a run that has blown up: beyond this, the numbers of grid cells would overflow."""
    far = float(np.abs(state.position).max(initial=0.0))
    if not far < FAR * float(world.shapes.radius.max(initial=0.0)):
        wanted = f"less than {FAR:g} radii from the origin: the law has blown up, or the step is far too long"
        raise ProblemError(f"positions at time {state.time:g}", far, wanted)


def _tests(world: World) -> tuple[Any, Any]:
    """The exact tests for the pairs that are left, and for boundaries."""
    if world.dimension == 2:
        return find_plane.pairs, find_plane.walled
    from . import find_space  # its kernels take a while to load, and worlds of the plane need none of them

    return find_space.pairs, find_space.walled


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
    return np.concatenate([rows, np.zeros((count - len(rows), rows.shape[1]))])
