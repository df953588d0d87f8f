"""Visibility: depth buffers with the nearest part of a body at each pixel, and bodies that enclose others.

Rays are cast only at pixels within the bounding sphere of a part, and of boxes and meshes within their bounding box.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...contact.grid_distance import DistanceGrid, grid_of
from ...contact.parts import matrix_at
from ...geometry import rotations
from ...geometry.vectors import Vec3, dot, row3, to_local, to_world
from ...kernels import kernel, lean
from ...solvers.rows import Floats, Ints
from ...world import BOX, HULL, MESH, Shapes3D, State
from ..camera import Rays
from . import cast, meshes

ENCLOSING_PAIRS = 400  # pairs of bodies that are tested for enclosing; with more pairs no body is drawn as glass
DIRECTIONS = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])


class Parts(NamedTuple):
    """Parts of bodies, placed in the world."""

    body: Ints  # (p,)
    shape: Ints  # (p,)
    place: Floats  # (p, 3) origin of the frame of its shape
    turn: Floats  # (p, 3, 3) rotation from the frame of its shape to that of the world


class Buffers(NamedTuple):
    """What each pixel shows."""

    depth: NDArray[np.float32]  # (rows, columns), infinite where there is no body
    part: NDArray[np.int32]  # -1 where there is no body
    face: NDArray[np.int32]  # of the shape of the part
    normal: NDArray[np.float32]  # (rows, columns, 3) unit normal in the world frame


def placed_parts(shapes: Shapes3D, state: State) -> Parts:
    """All parts of all bodies of a state."""
    body = np.repeat(np.arange(len(shapes.round)), np.diff(shapes.part_ptr))
    turn = rotations.matrices(np.ascontiguousarray(state.orientation))[body]
    place = state.position[body] + np.einsum("pij,pj->pi", turn, shapes.place)
    return Parts(body, shapes.shape, np.ascontiguousarray(place), np.ascontiguousarray(turn @ shapes.turn))


def no_buffers(rows: int, columns: int) -> Buffers:
    """Buffers for `seen` to fill."""
    size = (rows, columns)
    none, normal = np.zeros(size, np.int32), np.zeros((*size, 3), np.float32)
    return Buffers(np.empty(size, np.float32), np.empty(size, np.int32), none, normal)


def seen(rays: Rays, parts: Parts, shapes: Shapes3D, smooth: int = 1, buffers: Buffers | None = None) -> Buffers:
    """Depth, part, face and normal at every ray, of which `smooth` x `smooth` make a pixel.

    Faces and normals of used `buffers` stay where no body is. The first ray of a pixel, which gives it its light, is
    always cast; on a mesh the others may be interpolated.
    """
    out = no_buffers(rays.rows, rays.columns) if buffers is None else buffers
    out.depth.fill(np.inf)
    out.part.fill(-1)
    way = meshes.sampling(rays, 1, smooth)
    _fill(rays, _nearest_first(rays, parts, shapes), parts, shapes, out, way, True)
    return out


def depths(rays: Rays, parts: Parts, shapes: Shapes3D, depth: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """The depth at every pixel: a shadow map, if the rays come from a lamp. Parts are added to `depth`, if given."""
    if depth is None:
        depth = np.full((rays.rows, rays.columns), np.inf, np.float32)
    none = np.zeros((1, 1), np.int32)
    out = Buffers(depth, none, none, np.zeros((1, 1, 3), np.float32))
    coarse = (meshes.SHADOW_RAY, meshes.SHADOW_LATTICE) if rays.parallel else (1, 1)
    _fill(rays, _nearest_first(rays, parts, shapes), parts, shapes, out, meshes.sampling(rays, *coarse), False)
    return depth


def _nearest_first(rays: Rays, parts: Parts, shapes: Shapes3D) -> Ints:
    near = (parts.place - rays.eye) @ rays.forward - shapes.reach[parts.shape]
    return np.argsort(near, kind="stable")


@kernel
def _across(x: float, z: float, r: float, parallel: bool) -> tuple[float, float]:
    """The interval at depth 1 that a circle of radius r about (x, z) covers, seen from the origin along z."""
    if parallel:
        return x - r, x + r
    if z <= r:  # the eye is inside the sphere or beside it
        return -1e9, 1e9
    # Tangents of the two tangent lines.
    root = r * np.sqrt(x * x + z * z - r * r)
    below = z * z - r * r
    return (x * z - root) / below, (x * z + root) / below


class Bounds(NamedTuple):
    """A box around a shape, in the frame of the shape."""

    middle: Vec3
    half: Vec3


@lean
def _bounds(kind: int, size: Vec3, reach: float, grid: DistanceGrid) -> Bounds:
    """The box of a box, the grid of a mesh; the cube around the bounding sphere for all other shapes."""
    if kind == MESH:
        half = 0.5 * grid.spacing * Vec3(grid.nx - 1.0, grid.ny - 1.0, grid.nz - 1.0)
        return Bounds(grid.low + half, half)
    return Bounds(Vec3(0.0, 0.0, 0.0), size if kind == BOX else Vec3(reach, reach, reach))


@kernel
def _across_box(x: float, z: float, along: Vec3, ahead: Vec3, half: Vec3, parallel: bool) -> tuple[float, float]:
    """The interval at depth 1 that a box about (x, z) covers. `along` and `ahead`: axes of the view in its frame."""
    if parallel:
        r = abs(along.x) * half.x + abs(along.y) * half.y + abs(along.z) * half.z
        return x - r, x + r
    low, high = np.inf, -np.inf
    for corner in range(8):
        a = half.x if corner & 1 else -half.x
        b = half.y if corner & 2 else -half.y
        c = half.z if corner & 4 else -half.z
        depth = z + a * ahead.x + b * ahead.y + c * ahead.z
        if depth <= 0.0:  # the eye is inside the box or beside it
            return -1e9, 1e9
        place = (x + a * along.x + b * along.y + c * along.z) / depth
        low, high = min(low, place), max(high, place)
    return low, high


@kernel
def _pixels(low: float, high: float, scale: float, count: int) -> tuple[int, int]:
    """First and last pixel along one axis of the picture in an interval at depth 1."""
    first = max(low * scale + 0.5 * count - 0.5, -1.0)
    last = min(high * scale + 0.5 * count - 0.5, 1.0 * count)
    return max(0, int(np.floor(first))), min(count - 1, int(np.ceil(last)))


@lean
def _fill(
    rays: Rays, order: Ints, parts: Parts, shapes: Shapes3D, out: Buffers, way: meshes.Sampling, full: bool
) -> None:
    """Fills buffers with parts, nearest first: a hidden part then costs one comparison per pixel and no ray."""
    eye = Vec3(rays.eye[0], rays.eye[1], rays.eye[2])
    right = Vec3(rays.right[0], rays.right[1], rays.right[2])
    up = Vec3(rays.up[0], rays.up[1], rays.up[2])
    ahead = Vec3(rays.forward[0], rays.forward[1], rays.forward[2])
    for p in order:
        f, m = parts.shape[p], matrix_at(parts.turn, p)
        place = row3(parts.place, p) - eye
        depth, reach = dot(place, ahead), shapes.reach[f]
        if depth + reach <= 0.0:
            continue
        # Eye and directions in the frame of the shape.
        origin, along_row, along_column = -to_local(m, place), to_local(m, right), to_local(m, up)
        forward, near = to_local(m, ahead), depth - reach
        kind, size, grid = shapes.kind[f], row3(shapes.size, f), grid_of(shapes, f)
        box = _bounds(kind, size, reach, grid)
        middle = place + to_world(m, box.middle)
        x, y, z = dot(middle, right), dot(middle, up), dot(middle, ahead)
        left, rightmost = _across(dot(place, right), depth, reach, rays.parallel)
        low, high = _across_box(x, z, along_row, forward, box.half, rays.parallel)
        first, last = _pixels(max(left, low), min(rightmost, high), rays.scale, rays.columns)
        lowest, highest = _across(dot(place, up), depth, reach, rays.parallel)
        low, high = _across_box(y, z, along_column, forward, box.half, rays.parallel)
        top, bottom = _pixels(-min(highest, high), -max(lowest, low), rays.scale, rays.rows)  # rows run down
        if kind == MESH:
            frame = (origin, forward, along_row, along_column)
            mesh = meshes.Seen(*frame, m, grid, p, near, depth + reach, top, bottom, first, last)
            meshes.fill(rays, mesh, way, out, full)
            continue
        lo, hi = shapes.face_ptr[f], shapes.face_ptr[f + 1]
        for i in range(top, bottom + 1):
            b = (0.5 * rays.rows - i - 0.5) / rays.scale
            for j in range(first, last + 1):
                if near >= out.depth[i, j]:
                    continue
                a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
                aside = a * along_row + b * along_column
                ray = cast.Ray(origin + aside, forward) if rays.parallel else cast.Ray(origin, forward + aside)
                if kind == HULL:
                    hit = cast.hull(ray, shapes.face_normal, shapes.face_offset, lo, hi)
                else:
                    hit = cast.sized(kind, size, ray)
                if hit.time < out.depth[i, j]:
                    out.depth[i, j] = hit.time
                    if full:
                        out.part[i, j], out.face[i, j] = p, hit.face
                        normal = to_world(m, hit.normal)
                        for k in range(3):
                            out.normal[i, j, k] = normal[k]


# ---- bodies that enclose others


def chosen_parts(parts: Parts, bodies: NDArray[np.bool_]) -> Parts:
    """The parts of the bodies in a mask (n,)."""
    keep = bodies[parts.body]
    return Parts(parts.body[keep], parts.shape[keep], parts.place[keep], parts.turn[keep])


def enclosing(shapes: Shapes3D, state: State, parts: Parts) -> Ints:
    """Bodies that surround the center of another body in all DIRECTIONS, the smallest first; they are drawn as glass.

    Only compounds and meshes can be hollow.
    """
    several = np.diff(shapes.part_ptr) > 1
    mesh = shapes.kind[shapes.shape[shapes.part_ptr[:-1]]] == MESH
    radius = shapes.radius
    pairs: list[tuple[int, int]] = []
    for i in np.flatnonzero(several | mesh).tolist():
        apart = np.linalg.norm(state.position - state.position[i], axis=1)
        pairs += [(i, j) for j in np.flatnonzero((apart < radius[i]) & (radius < radius[i])).tolist()]
        if len(pairs) > ENCLOSING_PAIRS:
            return np.zeros(0, np.int64)
    found: set[int] = set()
    for i, j in pairs:
        if i not in found and _surrounded(state.position[j], chosen_parts(parts, np.arange(len(radius)) == i), shapes):
            found.add(i)
    return np.array(sorted(found, key=lambda i: float(radius[i])), dtype=np.int64)


def _surrounded(place: Floats, parts: Parts, shapes: Shapes3D) -> bool:
    """Whether rays from a point in all DIRECTIONS meet the parts."""
    for direction in DIRECTIONS:
        ahead = direction / np.linalg.norm(direction)
        right = np.cross(ahead, np.eye(3)[int(np.argmin(np.abs(ahead)))])
        right /= np.linalg.norm(right)
        one = Rays(np.ascontiguousarray(place), right, np.cross(right, ahead), ahead, 1.0, 1, 1, False)
        if not np.isfinite(depths(one, parts, shapes)[0, 0]):
            return False
    return True
