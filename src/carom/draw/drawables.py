"""From a world to what is drawn of it: the different shapes, each with the bodies that have it.

The viewer, exported files and the page of the play command make their meshes from these. A 2D body is one disc or one
polygon; a body in 3D has one part or several, with poses in its frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..geometry.rotations import quaternion_of
from ..solvers.rows import Floats, Ints
from ..world import DISC, SPHERE, Shapes3D

COLUMNS = ("kind", "radius", "vertex_ptr", "vertex")  # of 2D shapes, as trajectories store them
UNTURNED = np.array([1.0, 0.0, 0.0, 0.0])
EMPTY = np.zeros((0, 4))


class Drawable(NamedTuple):
    """One shape and the k parts of bodies that have it. Round ones differ in their radii, others are congruent."""

    body: Ints  # (k,)
    radius: Floats | None = None  # (k,) of discs and spheres
    corners: Floats | None = None  # (c, 2) of a polygon
    shape: int = -1  # index in the table of 3D shapes, of neither
    place: Floats = EMPTY  # (k, 3) in the frame of the body, in 3D
    turn: Floats = EMPTY  # (k, 4) quaternions, in 3D


def drawables_2d(kind: Ints, radius: Floats, pointer: Ints, vertex: Floats) -> Iterator[Drawable]:
    """Discs, all in one, then polygons by their vertices; the arguments are the first columns of `Shapes2D`."""
    discs = np.flatnonzero(kind == DISC)
    if len(discs):
        yield Drawable(discs, radius[discs])
    same: dict[bytes, list[int]] = {}
    for i in np.flatnonzero(kind != DISC).tolist():
        same.setdefault(vertex[pointer[i] : pointer[i + 1]].tobytes(), []).append(i)
    for key, bodies in same.items():
        yield Drawable(np.array(bodies), corners=np.frombuffer(key, dtype=vertex.dtype).reshape(-1, 2))


def drawables_3d(shapes: Shapes3D, chosen: np.ndarray | None = None) -> Iterator[Drawable]:
    """Spheres, all in one, then the other shapes one by one; `chosen` (n,) selects bodies, None for all."""
    body = np.repeat(np.arange(len(shapes.part_ptr) - 1), np.diff(shapes.part_ptr))
    part = np.arange(len(body)) if chosen is None else np.flatnonzero(chosen[body])
    ball = shapes.kind[shapes.shape[part]] == SPHERE
    if ball.any():
        yield _parts(shapes, body, part[ball], shapes.size[shapes.shape[part[ball]], 0])
    others = part[~ball]
    for index in np.unique(shapes.shape[others]).tolist():
        yield _parts(shapes, body, others[shapes.shape[others] == index], None, index)


def _parts(shapes: Shapes3D, body: Ints, part: Ints, radius: Floats | None, shape: int = -1) -> Drawable:
    turn = shapes.turn[part]
    quaternions = np.tile(UNTURNED, (len(part), 1))
    for k in np.flatnonzero((turn != np.eye(3)).any(axis=(1, 2))).tolist():
        quaternions[k] = quaternion_of(turn[k])
    return Drawable(body[part], radius, None, shape, shapes.place[part], quaternions)
