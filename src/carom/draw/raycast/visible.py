"""Depth buffers: for each pixel the nearest part of a body, found by casting rays within the part's bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import BOX, CAPSULE, CYLINDER, HULL, SPHERE, Shapes3D, State
from ..camera import Rays
from . import cast


class Parts(NamedTuple):
    """Parts of bodies where they are in the world."""

    body: Ints  # (p,)
    form: Ints  # (p,)
    place: Floats  # (p, 3) origin of the form's frame
    turn: Floats  # (p, 3, 3) from the form's frame to the world's


class Buffers(NamedTuple):
    """What each pixel sees."""

    depth: NDArray[np.float32]  # (rows, columns), infinite where nothing is
    part: NDArray[np.int32]  # -1 where nothing is
    face: NDArray[np.int32]  # of the part's form
    normal: NDArray[np.float32]  # (rows, columns, 3) in the world


def placed_parts(solids: Shapes3D, state: State) -> Parts:
    """All parts of all bodies."""
    body = np.repeat(np.arange(len(solids.round)), np.diff(solids.part_ptr))
    turn = rotations.matrices(np.ascontiguousarray(state.orientation))[body]
    place = state.position[body] + np.einsum("pij,pj->pi", turn, solids.place)
    return Parts(body, solids.shape, np.ascontiguousarray(place), np.ascontiguousarray(turn @ solids.turn))


def seen(rays: Rays, parts: Parts, solids: Shapes3D) -> Buffers:
    """Depth, part, face and normal at every pixel."""
    size = (rays.rows, rays.columns)
    buffers = Buffers(
        np.full(size, np.inf, np.float32),
        np.full(size, -1, np.int32),
        np.zeros(size, np.int32),
        np.zeros((*size, 3), np.float32),
    )
    _fill(rays, _nearest_first(rays, parts, solids), parts, solids, buffers, True)
    return buffers


def depths(rays: Rays, parts: Parts, solids: Shapes3D) -> NDArray[np.float32]:
    """The depth at every pixel alone: a shadow map, if the rays come from a lamp."""
    depth = np.full((rays.rows, rays.columns), np.inf, np.float32)
    none = np.zeros((1, 1), np.int32)
    _fill(
        rays,
        _nearest_first(rays, parts, solids),
        parts,
        solids,
        Buffers(depth, none, none, np.zeros((1, 1, 3), np.float32)),
        False,
    )
    return depth


def _nearest_first(rays: Rays, parts: Parts, solids: Shapes3D) -> Ints:
    near = (parts.place - rays.eye) @ rays.forward - solids.reach[parts.form]
    return np.argsort(near, kind="stable")


@kernel
def _across(x: float, z: float, r: float, parallel: bool) -> tuple[float, float]:
    """Where a circle of radius r about (x, z) begins and ends, as seen from the origin along z; at depth 1."""
    if parallel:
        return x - r, x + r
    if z <= r:  # the eye is inside or beside it
        return -1e9, 1e9
    # Tangents of the two tangent lines.
    root = r * np.sqrt(x * x + z * z - r * r)
    below = z * z - r * r
    return (x * z - root) / below, (x * z + root) / below


@kernel
def _range(x: float, z: float, reach: float, rays: Rays, count: int, sign: float) -> tuple[int, int]:
    """First and last pixel along one side of the picture that may see a sphere; sign -1 for rows, which run down."""
    low, high = _across(x, z, reach, rays.parallel)
    if sign < 0.0:
        low, high = -high, -low
    first = max(low * rays.scale + 0.5 * count - 0.5, -1.0)
    last = min(high * rays.scale + 0.5 * count - 0.5, 1.0 * count)
    return max(0, int(np.floor(first))), min(count - 1, int(np.ceil(last)))


@kernel
def _fill(rays: Rays, order: Ints, parts: Parts, solids: Shapes3D, out: Buffers, full: bool) -> None:
    """Parts in the given order, nearest first: what is hidden then costs a comparison for each pixel, and no ray."""
    eye, right, up, ahead = rays.eye, rays.right, rays.up, rays.forward
    o, dr, du, df = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for p in order:
        f, m = parts.form[p], parts.turn[p]
        ax, ay, az = parts.place[p, 0] - eye[0], parts.place[p, 1] - eye[1], parts.place[p, 2] - eye[2]
        x = ax * right[0] + ay * right[1] + az * right[2]
        y = ax * up[0] + ay * up[1] + az * up[2]
        z = ax * ahead[0] + ay * ahead[1] + az * ahead[2]
        reach = solids.reach[f]
        if z + reach <= 0.0:
            continue
        first, last = _range(x, z, reach, rays, rays.columns, 1.0)
        top, bottom = _range(y, z, reach, rays, rays.rows, -1.0)
        for k in range(3):  # eye and directions in the form's frame
            o[k] = -(m[0, k] * ax + m[1, k] * ay + m[2, k] * az)
            dr[k] = m[0, k] * right[0] + m[1, k] * right[1] + m[2, k] * right[2]
            du[k] = m[0, k] * up[0] + m[1, k] * up[1] + m[2, k] * up[2]
            df[k] = m[0, k] * ahead[0] + m[1, k] * ahead[1] + m[2, k] * ahead[2]
        kind, near = solids.kind[f], z - reach
        sx, sy, sz = solids.size[f, 0], solids.size[f, 1], solids.size[f, 2]
        lo, hi, g = solids.face_ptr[f], solids.face_ptr[f + 1], solids.grid[f]
        for i in range(top, bottom + 1):
            b = (0.5 * rays.rows - i - 0.5) / rays.scale
            for j in range(first, last + 1):
                if near >= out.depth[i, j]:
                    continue
                a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
                ox, oy, oz, dx, dy, dz = o[0], o[1], o[2], df[0], df[1], df[2]
                ex, ey, ez = a * dr[0] + b * du[0], a * dr[1] + b * du[1], a * dr[2] + b * du[2]
                if rays.parallel:
                    ox, oy, oz = ox + ex, oy + ey, oz + ez
                else:
                    dx, dy, dz = dx + ex, dy + ey, dz + ez
                if kind == SPHERE:
                    hit = cast.sphere(ox, oy, oz, dx, dy, dz, sx)
                elif kind == BOX:
                    hit = cast.cuboid(ox, oy, oz, dx, dy, dz, sx, sy, sz)
                elif kind == CAPSULE:
                    hit = cast.capsule(ox, oy, oz, dx, dy, dz, sx, sy)
                elif kind == CYLINDER:
                    hit = cast.cylinder(ox, oy, oz, dx, dy, dz, sx, sy)
                elif kind == HULL:
                    hit = cast.hull(ox, oy, oz, dx, dy, dz, solids.face_normal, solids.face_offset, lo, hi)
                else:
                    low, count, at = solids.grid_low[g], solids.grid_count[g], solids.grid_ptr[g]
                    value, spacing = solids.grid_value, solids.grid_spacing[g]
                    hit = cast.mesh(ox, oy, oz, dx, dy, dz, low, spacing, count, value, at)
                if hit[0] < out.depth[i, j]:
                    out.depth[i, j] = hit[0]
                    if full:
                        out.part[i, j], out.face[i, j] = p, hit[4]
                        for k in range(3):
                            out.normal[i, j, k] = m[k, 0] * hit[1] + m[k, 1] * hit[2] + m[k, 2] * hit[3]
