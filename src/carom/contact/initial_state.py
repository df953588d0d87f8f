"""Checks of the initial state: bodies must not overlap, leave their container, or lie beyond periodic sides."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.model import Scene
from ..solvers.rows import Floats, Ints
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, TUBE, State, World
from .detector import find_contacts

INITIAL_OVERLAP = 1e-4  # largest one relative to the smaller body: regular packings often overlap by rounding
KIND_NAMES = {  # of boundaries in 2D and 3D
    PLANE: ("plane", "plane"),
    INSIDE: ("drum", "shell"),
    OUTSIDE: ("drum, outside", "sphere"),
    SEGMENT: ("segment", "segment"),
    TUBE: ("tube", "tube"),
}


def check_start(scene: Scene, world: World, state: State) -> None:
    """Raises a ProblemError if bodies overlap each other or extend out of their container at time 0."""
    if world.periodic is not None:
        _check_periodic(world, state)
    found = find_contacts(world, state, state, 0.0)
    other = np.where(found.second >= 0, _half_size(world, np.maximum(found.second, 0)), np.inf)
    size = np.minimum(_half_size(world, found.first), other)
    deep = np.flatnonzero(found.gap < -INITIAL_OVERLAP * size)
    if not len(deep):
        return
    k = deep[np.argmin(found.gap[deep] / size[deep])]
    a, b, depth = int(found.first[k]), int(found.second[k]), float(-found.gap[k])
    more = f" (and {len(deep) - 1} more contacts)" if len(deep) > 1 else ""
    segment = b < 0 and world.boundaries.kind[-1 - b] == SEGMENT
    if b >= 0:
        raise ProblemError(
            f"bodies: {_who(scene, world, a)} and {_who(scene, world, b)}",
            f"an overlap of {depth:.3g} at the start{more}",
            f"at most {INITIAL_OVERLAP:g} of the smaller one's half width",
        )
    raise ProblemError(
        f"bodies: {_who(scene, world, a)}",
        f"{depth:.3g} {'across' if segment else 'outside'} boundary {-1 - b} ({_kind(world, -1 - b)}){more}",
        "a place clear of it" if segment else "a place inside its container",
    )


def _check_periodic(world: World, state: State) -> None:
    assert world.periodic is not None
    for axis, name in enumerate("xyz"[: world.dimension]):
        side = getattr(world.periodic, name)
        if side is None:
            continue
        q, widest = state.position[:, axis], int(np.argmax(world.shapes.radius))
        if 2.0 * world.shapes.radius[widest] > side[1] - side[0]:
            wide = f"a width of {2.0 * world.shapes.radius[widest]:g}"
            raise ProblemError(_path(world, widest), wide, f"less than the periodic length {side[1] - side[0]:g}")
        bad = np.flatnonzero((q < side[0]) | (q > side[1]))
        if len(bad):
            raise ProblemError(
                f"position of body {bad[0]}", float(q[bad[0]]), f"{name} within the periodic sides {side}"
            )


def _half_size(world: World, body: Ints) -> Floats:
    """Length (k,) that overlap of bodies is compared with: in 3D half of the smallest width.

    In 2D it is the radius of a disc, and for a polygon half of the radius of the circle around it.
    """
    if world.dimension == 3:
        return np.asarray(world.shapes.inner[body])
    return np.where(world.shapes.round[body], 1.0, 0.5) * world.shapes.radius[body]


def _path(world: World, body: int) -> str:
    group = int(world.group[body])
    return f"bodies[{group}][{body - int(np.searchsorted(world.group, group))}]"


def _who(scene: Scene, world: World, body: int) -> str:
    group = int(world.group[body])
    name = scene.groups[group].name
    inside = body - int(np.searchsorted(world.group, group))
    return f"body {body} (" + (f"{name!r}" if name else f"bodies[{group}]") + f", number {inside})"


def _kind(world: World, boundary: int) -> str:
    return KIND_NAMES[int(world.boundaries.kind[boundary])][world.dimension - 2]
