"""Scenes of the plane for the page: outlines of bodies, boundaries, and which part of the plane to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..solvers.rows import Floats
from ..trajectory import Trajectory
from ..world import DISC, INSIDE, OUTSIDE, PLANE, SEGMENT, Boundaries, World

MARGIN = 0.05
SPREAD = 0.06  # share of places on each side that may lie outside: bodies that fly off do not shrink the others
STRAY = 1.5  # ... but where all stays within so many times the middle part, all is shown
KINDS = {PLANE: "plane", INSIDE: "drum", OUTSIDE: "post", SEGMENT: "segment"}


def plane_picture(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """What all runs of one scene share."""
    world = runs[0].world
    shapes = world.shapes
    corners = [
        None if kind == DISC else shapes.vertex[shapes.vertex_ptr[i] : shapes.vertex_ptr[i + 1]].tolist()
        for i, kind in enumerate(shapes.kind)
    ]
    periodic = world.periodic
    return {
        "radius": shapes.radius.tolist(),
        "corners": corners,
        "free": world.free.tolist(),
        "turns": bool(world.turns),
        "walls": _walls(world.boundaries),
        "periodic": None if periodic is None else {"x": periodic.x, "y": periodic.y},
        "box": _box(runs, world),
    }


def _walls(walls: Boundaries) -> list[dict[str, Any]]:
    return [
        {
            "kind": KINDS[int(kind)],
            "a": walls.point[k].tolist(),
            "b": walls.axis[k].tolist(),
            "radius": float(walls.radius[k]),
            "center": walls.center[k].tolist(),
        }
        for k, kind in enumerate(walls.kind)
    ]


def _box(runs: Sequence[Trajectory], world: World) -> list[float]:
    """Left, right, bottom, top: the start, where nearly all bodies are at all times, and boundaries with an end."""
    radius = world.shapes.radius
    start = np.asarray(runs[0].positions[0])
    points = [start - radius[:, None], start + radius[:, None]]
    for run in runs:
        low, high = _usual(np.asarray(run.positions[:]).reshape(-1, 2))
        points += [low[None] - radius.max(), high[None] + radius.max()]
    for k, kind in enumerate(world.boundaries.kind):
        a, b, r = world.boundaries.point[k], world.boundaries.axis[k], world.boundaries.radius[k]
        if kind in (INSIDE, OUTSIDE):
            points += [a[None] - r, a[None] + r]
        elif kind == SEGMENT:
            points += [a[None], b[None]]
    places = np.concatenate(points)
    places = places[np.isfinite(places).all(axis=1)]
    low, high = places.min(axis=0), places.max(axis=0)
    for k in np.flatnonzero(world.boundaries.kind == PLANE).tolist():  # a floor just below belongs to the picture
        a, normal = world.boundaries.point[k], world.boundaries.axis[k]
        middle = 0.5 * (low + high)
        foot = middle - ((middle - a) @ normal) * normal
        if np.linalg.norm(foot - middle) <= 0.8 * np.linalg.norm(high - low):
            low, high = np.minimum(low, foot), np.maximum(high, foot)
    edge = MARGIN * float((high - low).max())
    return [float(low[0] - edge), float(high[0] + edge), float(low[1] - edge), float(high[1] + edge)]


def _usual(places: Floats) -> tuple[Floats, Floats]:
    places = places[np.isfinite(places).all(axis=1)]
    low, high = np.quantile(places, [SPREAD, 1.0 - SPREAD], axis=0)
    far_low, far_high = places.min(axis=0), places.max(axis=0)
    whole = (far_high - far_low) <= STRAY * np.maximum(high - low, 1e-9)
    return np.where(whole, far_low, low), np.where(whole, far_high, high)
