"""Scenes of space for the page: triangles of bodies, floors, edges of rooms, and a camera that sees it all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contact.boundaries import boundaries_at
from ..draw.camera import Camera, looking_at, upward
from ..draw.raycast.glass import enclosing
from ..draw.raycast.picture import extent
from ..draw.raycast.room import edges
from ..draw.raycast.visible import placed_parts
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from ..world import BOX, HULL, PLANE, SPHERE, Shapes3D, World

LOOKS = 5  # frames of each run that the camera must see


def space_picture(runs: Sequence[Trajectory]) -> dict[str, Any]:
    """What all runs of one scene share. Bodies are spheres about their center, or triangles in their own frame."""
    world, state = runs[0].world, runs[0].frame(0)
    camera, up = _camera(runs), upward(world.gravity)
    walls = boundaries_at(world, 0.0, 1e-6)[0]
    floors = [k for k in np.flatnonzero(walls.kind == PLANE) if walls.axis[k] @ up > 0.5]
    meshes, which = _meshes(world)
    return {
        "meshes": meshes,
        "mesh": which,
        "free": world.free.tolist(),
        "glass": enclosing(world.shapes_3d, state, placed_parts(world.shapes_3d, state)).tolist(),
        "floors": [{"point": walls.point[k].tolist(), "normal": walls.axis[k].tolist()} for k in floors],
        "edges": [line.tolist() for line in edges(walls, camera.low, camera.high, up)] if len(walls.kind) > 1 else [],
        "camera": {
            "eye": camera.eye.tolist(),
            "right": camera.right.tolist(),
            "up": camera.up.tolist(),
            "forward": camera.forward.tolist(),
            "field": camera.field,
            "aspect": camera.aspect,
            "low": camera.low.tolist(),
            "high": camera.high.tolist(),
        },
    }


def _camera(runs: Sequence[Trajectory]) -> Camera:
    spheres = []
    for run in runs:
        for k in np.unique(np.linspace(0, len(run) - 1, LOOKS).round().astype(int)).tolist():
            state = run.frame(k)
            if np.isfinite(state.position).all():
                spheres.append(extent(run.world, state, boundaries_at(run.world, state.time, 1e-6)[0]))
    centers, radius = (np.concatenate(arrays) for arrays in zip(*spheres))
    return looking_at(centers, radius, upward(runs[0].world.gravity))


def _meshes(world: World) -> tuple[list[dict[str, Any]], list[int]]:
    """Different shapes, and the number of its shape for each body."""
    solids, known, which = world.shapes_3d, {}, []
    meshes: list[dict[str, Any]] = []
    for body in range(world.count):
        parts = range(int(solids.part_ptr[body]), int(solids.part_ptr[body + 1]))
        key = tuple((int(solids.shape[p]), solids.place[p].tobytes(), solids.turn[p].tobytes()) for p in parts)
        if key not in known:
            known[key] = len(meshes)
            meshes.append(_mesh(solids, parts))
        which.append(known[key])
    return meshes, which


def _mesh(solids: Shapes3D, parts: range) -> dict[str, Any]:
    """`{"sphere": radius}` or `{"triangles": [x, y, z ...], "normals": [...]}`, corner by corner."""
    first = solids.shape[parts[0]]
    if len(parts) == 1 and solids.kind[first] == SPHERE:
        return {"sphere": float(solids.size[first, 0])}
    corners, normals = [], []
    for part in parts:
        form = int(solids.shape[part])
        if solids.kind[form] not in (BOX, HULL):
            raise ValueError("the page draws spheres about their center, cuboids and hulls")
        points, outward = _flat_faces(solids, form)
        corners.append(points @ solids.turn[part].T + solids.place[part])
        normals.append(outward @ solids.turn[part].T)
    return {
        "triangles": np.concatenate(corners).round(6).ravel().tolist(),
        "normals": np.concatenate(normals).round(6).ravel().tolist(),
    }


def _flat_faces(solids: Shapes3D, form: int) -> tuple[Floats, Floats]:
    """Each face as a fan of triangles: corners (k, 3) and the outward normal at each."""
    corners, normals = [], []
    for face in range(int(solids.face_ptr[form]), int(solids.face_ptr[form + 1])):
        loop = solids.loop[solids.loop_ptr[face] : solids.loop_ptr[face + 1]]
        points = solids.vertex[solids.vertex_ptr[form] + loop]
        for k in range(1, len(points) - 1):
            corners += [points[0], points[k], points[k + 1]]
            normals += [solids.face_normal[face]] * 3
    return np.array(corners), np.array(normals)
