"""Primitives of a run as JSON for the play page and exported pages: shapes of bodies, boundaries, what is shown.

The page moves bodies and boundaries by the poses of each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contact.boundaries import boundaries_at
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from ..world import PLANE, SPHERE, World
from .camera import looking_at, upward
from .drawables import COLUMNS, drawables_2d
from .framing import MARGIN, extent_2d, extent_3d, free_or_all, visible_places
from .meshes import body_mesh
from .raycast.visible import enclosing, placed_parts
from .world2d import Outline, outlines
from .world3d import edges

FRAMES_2D, FRAMES_3D = 80, 5  # frames of each run that determine what is shown
BEYOND = 4.0  # boundaries extend beyond the shown rectangle by this many times its size: windows may be wider


def picture(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """What all runs of one scene share."""
    return _picture_2d(runs) if runs[0].dimension == 2 else _picture_3d(runs)


def life_numbers(run: Trajectory, frames: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
    """(k, n) of bodies that appear and vanish: 0 where one is absent; another number is another body in its place."""
    lives = np.stack([run.lives[int(k)] for k in frames])
    return np.where(lives > 0, (lives - 1) % 255 + 1, 0).astype(np.uint8)


def _chosen(run: Trajectory, count: int) -> list[int]:
    return np.unique(np.linspace(0, len(run) - 1, count).round().astype(int)).tolist()


# ---- 2D


def _picture_2d(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """Discs have `corners` null; `box` is (left, right, bottom, top)."""
    world = runs[0].world
    shapes, free, periodic = world.shapes, free_or_all(world.free), world.periodic
    corners: list[Any] = [None] * world.count
    for shape in drawables_2d(*(getattr(shapes, name) for name in COLUMNS)):
        if shape.corners is not None:
            for body in shape.body.tolist():
                corners[body] = shape.corners.tolist()
    places = np.concatenate([visible_places([run.frame(k) for k in _chosen(run, FRAMES_2D)]) for run in runs])[:, free]
    extent = extent_2d(places, shapes.radius[free], [world.boundaries], periodic)
    edge = MARGIN * float(extent.size.max())
    low, high = extent.low - edge, extent.high + edge
    far = BEYOND * float((high - low).max())
    found = zip(outlines(world.boundaries, low - far, high + far), world.boundaries.center)
    return {
        "radius": shapes.radius.tolist(),
        "corners": corners,
        "free": world.free.tolist(),
        "turns": bool(world.turns),
        "boundaries": [_boundary(outline, pivot) for outline, pivot in found],
        "periodic": None if periodic is None else {"x": periodic.x, "y": periodic.y},
        "box": [float(low[0]), float(high[0]), float(low[1]), float(high[1])],
    }


def _boundary(outline: Outline | None, pivot: Floats) -> dict[str, Any]:
    """A line, a filled polygon or a circle, and the point about which it turns."""

    def plain(array: Floats | None) -> Any:
        return None if array is None else array.tolist()

    o = Outline(PLANE) if outline is None else outline
    return {
        "line": plain(o.line),
        "fill": plain(o.fill),
        "center": plain(o.center),
        "radius": o.radius,
        "pivot": pivot.tolist(),
    }


# ---- 3D


def _picture_3d(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """Bodies are spheres about their center, or triangles in the frame of the body."""
    world, state = runs[0].world, runs[0].frame(0)
    up = upward(world.gravity)
    states = [run.frame(k) for run in runs for k in _chosen(run, FRAMES_3D)]
    extent = extent_3d(world, states, runs[0].scene)
    camera = looking_at(extent.centers, extent.radii, up)
    boundaries = boundaries_at(world, 0.0, 1e-6)[0]
    level = [k for k in np.flatnonzero(boundaries.kind == PLANE) if boundaries.axis[k] @ up > 0.5]
    several = len(boundaries.kind) > 1
    meshes, which = _meshes(runs[0])
    return {
        "meshes": meshes,
        "mesh": which,
        "free": world.free.tolist(),
        "glass": enclosing(world.shapes_3d, state, placed_parts(world.shapes_3d, state)).tolist(),
        "floors": [{"point": boundaries.point[k].tolist(), "normal": boundaries.axis[k].tolist()} for k in level],
        "edges": [line.tolist() for line in edges(boundaries, camera.low, camera.high, up)] if several else [],
        "camera": {
            "eye": camera.eye.tolist(),
            "target": extent.middle.tolist(),
            "right": camera.right.tolist(),
            "up": camera.up.tolist(),
            "forward": camera.forward.tolist(),
            "upright": up.tolist(),
            "field": camera.field,
            "aspect": camera.aspect,
            "low": camera.low.tolist(),
            "high": camera.high.tolist(),
        },
    }


def _meshes(run: Trajectory) -> tuple[list[dict[str, Any]], list[int]]:
    """The different shapes, and the index of its shape for each body."""
    world = run.world
    shapes, known, which = world.shapes_3d, {}, []
    meshes: list[dict[str, Any]] = []
    for body in range(world.count):
        parts = range(int(shapes.part_ptr[body]), int(shapes.part_ptr[body + 1]))
        key = tuple((int(shapes.shape[p]), shapes.place[p].tobytes(), shapes.turn[p].tobytes()) for p in parts)
        if key not in known:
            known[key] = len(meshes)
            meshes.append(_mesh(run, world, body, parts))
        which.append(known[key])
    return meshes, which


def _mesh(run: Trajectory, world: World, body: int, parts: range) -> dict[str, Any]:
    """`{"sphere": radius}`, or `{"triangles": [x, y, z, ...]}` with three corners per triangle."""
    shapes = world.shapes_3d
    first = shapes.shape[parts[0]]
    if len(parts) == 1 and shapes.kind[first] == SPHERE:
        return {"sphere": float(shapes.size[first, 0])}
    mesh = body_mesh(world, run.scene, body)
    return {"triangles": mesh.vertices[mesh.faces].round(6).ravel().tolist()}
