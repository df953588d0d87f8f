"""Contacts of triangle meshes: sample points of one side against the signed distance of the other, both ways.

A point whose distance after free flight is within the margin is a candidate; `patches` chooses among them. Spheres and
capsules show points of their core instead, less the radius, and take from the mesh's points only those that touch them
from another side (a ball in a groove).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats, Ints
from ...world import CAPSULE, CYLINDER, MESH, SPHERE
from .mesh_barriers import mesh_barriers
from .patches import candidate_room, reduce
from .point_distance import distance
from .poses import needed_rows, placed_parts, to_world

__all__ = ["mesh_barriers", "mesh_pairs"]

_SPOTS = 65  # most points of a capsule's core
_RIM = 16  # points on each rim of a cylinder
_NAMES = 1 << 20
_AWAY = 0.5  # cosine: points that look away from the other body lie on its far side
_SAME_SIDE = 0.85  # cosine of about 32 degrees: contacts with a round body count as one within it


class Spots(NamedTuple):
    """Points of a form that has no table of them: core of a capsule or sphere, rims of a cylinder."""

    place: Floats  # (k, 3)
    normal: Floats  # (k, 3) zero
    link: Ints  # (k, 2) neighbours


@njit(cache=True, nogil=True)
def _put_spots(solids, form, spacing, spots):
    """Fills the points and neighbours of a round form. Returns (points, links, radius)."""
    kind = solids.kind[form]
    if kind == SPHERE:
        spots.place[0] = 0.0
        return 1, 0, solids.size[form, 0]
    if kind == CAPSULE:
        half = solids.size[form, 1]
        count = min(int(np.ceil(2.0 * half / spacing)) + 1, _SPOTS)
        for k in range(count):
            spots.place[k, 0], spots.place[k, 1] = 0.0, 0.0
            spots.place[k, 2] = half * ((2 * k - (count - 1)) / (count - 1))
            if k:
                spots.link[k - 1, 0], spots.link[k - 1, 1] = k - 1, k
        return count, count - 1, solids.size[form, 0]
    for k in range(2 * _RIM):
        angle = 2.0 * np.pi * (k % _RIM) / _RIM
        spots.place[k, 0] = solids.size[form, 0] * np.cos(angle)
        spots.place[k, 1] = solids.size[form, 0] * np.sin(angle)
        spots.place[k, 2] = solids.size[form, 1] if k < _RIM else -solids.size[form, 1]
        spots.link[k, 0], spots.link[k, 1] = k, k + 1 if (k + 1) % _RIM else k + 1 - _RIM
    return 2 * _RIM, 2 * _RIM, 0.0


@njit(cache=True, nogil=True)
def _relative(pose, k, other, out):
    """The map from the frame of pose k to that of pose `other`: out[:9] a matrix, out[9:] a shift."""
    p, q = pose[k], pose[other]
    dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = q[3 + i] * p[3 + j] + q[6 + i] * p[6 + j] + q[9 + i] * p[9 + j]
        out[9 + i] = q[3 + i] * dx + q[6 + i] * dy + q[9 + i] * dz


@njit(cache=True, nogil=True)
def _mapped(m, x, y, z):
    return (
        m[0] * x + m[1] * y + m[2] * z + m[9],
        m[3] * x + m[4] * y + m[5] * z + m[10],
        m[6] * x + m[7] * y + m[8] * z + m[11],
    )


@njit(cache=True, nogil=True)
def _gather(solids, placed, point, outward, begin, end, radius, k, other, margin, maps, c):
    """Candidates among the points begin:end of part k against part `other`."""
    form = solids.form[placed.part[other]]
    before, after = maps[0], maps[1]
    _relative(placed.pose0, k, other, before)
    _relative(placed.pose1, k, other, after)
    # The other's middle in the frame of part k, where points that are too far fall out first.
    mx = -(after[0] * after[9] + after[3] * after[10] + after[6] * after[11])
    my = -(after[1] * after[9] + after[4] * after[10] + after[7] * after[11])
    mz = -(after[2] * after[9] + after[5] * after[10] + after[8] * after[11])
    reach = solids.reach[form] + radius + margin
    n = 0
    for s in range(begin, end):
        x, y, z = point[s]
        if (x - mx) ** 2 + (y - my) ** 2 + (z - mz) ** 2 > reach * reach:
            continue
        ax, ay, az = _mapped(after, x, y, z)
        later = distance(solids, form, ax, ay, az, margin + radius)[0] - radius
        if later > margin:
            continue
        ax, ay, az = _mapped(before, x, y, z)
        gap, nx, ny, nz = distance(solids, form, ax, ay, az, np.inf)
        ox, oy, oz = outward[s]
        lx, ly, lz = _mapped(before, ox, oy, oz)
        if (lx - before[9]) * nx + (ly - before[10]) * ny + (lz - before[11]) * nz > _AWAY:
            continue
        nx, ny, nz = to_world(placed.pose0, other, nx, ny, nz)
        px, py, pz = to_world(placed.pose0, k, x, y, z)
        p = placed.pose0[k]
        c.index[n], c.gap[n], c.predicted[n] = s - begin, gap - radius, later
        c.normal[n, 0], c.normal[n, 1], c.normal[n, 2] = -nx, -ny, -nz
        c.place[n, 0], c.place[n, 1], c.place[n, 2] = (
            p[0] + px - radius * nx,
            p[1] + py - radius * ny,
            p[2] + pz - radius * nz,
        )
        n += 1
    c.count[0] = n


@njit(cache=True, nogil=True)
def _grown(numbers, names, n):
    if n < len(numbers):
        return numbers, names
    more, called = np.empty((2 * n, 8)), np.empty((2 * n, 2), np.int64)
    more[:n], called[:n] = numbers, names
    return more, called


@njit(cache=True, nogil=True)
def _emit(c, pair, name, side, same_from, numbers, names, n):
    """Writes the chosen candidates. Those along a contact of this pair from `same_from` on are left out.

    A candidate lies on the surface of its own body, half of the gap short of the point midway.
    """
    sign = 1.0 if side == 0 else -1.0
    known = n
    for i in range(c.count[0]):
        if not c.keep[i]:
            continue
        a, b, d = sign * c.normal[i, 0], sign * c.normal[i, 1], sign * c.normal[i, 2]
        seen = False
        for m in range(same_from, known):
            seen |= a * numbers[m, 0] + b * numbers[m, 1] + d * numbers[m, 2] > _SAME_SIDE
        if seen:
            continue
        numbers, names = _grown(numbers, names, n)
        numbers[n, 0], numbers[n, 1], numbers[n, 2] = a, b, d
        half = 0.5 * c.gap[i]
        for axis in range(3):
            numbers[n, 3 + axis] = c.place[i, axis] + half * c.normal[i, axis]
        numbers[n, 6], numbers[n, 7] = c.gap[i], c.predicted[i]
        names[n, 0], names[n, 1] = pair, (name + 2 * c.index[i] + side) % _NAMES
        n += 1
    return numbers, names, n


@njit(cache=True, nogil=True)
def _one_way(solids, placed, k, other, pair, name, side, same_from, margin, maps, spots, c, numbers, names, n):
    """Contacts of the points of part k with part `other`; side 0 if k belongs to the first body of the pair."""
    form, target = solids.form[placed.part[k]], solids.form[placed.part[other]]
    kind, hit = solids.kind[form], solids.kind[target]
    if kind == SPHERE or kind == CAPSULE or kind == CYLINDER:
        count, links, radius = _put_spots(solids, form, solids.size[target, 0], spots)
        _gather(solids, placed, spots.place, spots.normal, 0, count, radius, k, other, margin, maps, c)
        tie = 1e-2 * solids.grid_spacing[solids.grid[target]]
        reduce(c, spots.link, 0, links, tie, True)
    else:
        begin, end = solids.vertex_ptr[form], solids.vertex_ptr[form + 1]
        _gather(solids, placed, solids.vertex, solids.vertex_normal, begin, end, 0.0, k, other, margin, maps, c)
        tie = 1e-2 * solids.grid_spacing[solids.grid[target]] if hit == MESH else 1e-9 * solids.reach[target]
        whole = hit != SPHERE and hit != CAPSULE
        reduce(c, solids.edge, solids.edge_ptr[form], solids.edge_ptr[form + 1], tie, whole)
    return _emit(c, pair, name, side, same_from, numbers, names, n)


@njit(cache=True, nogil=True)
def _part_pair(solids, placed, i, j, pair, name, margin, maps, spots, c, numbers, names, n):
    """Both ways. The core of a round part comes first: points of the mesh only add what it has not found."""
    one, two = solids.kind[solids.form[placed.part[i]]], solids.kind[solids.form[placed.part[j]]]
    start = n
    if two == MESH and one != MESH:
        numbers, names, n = _one_way(solids, placed, i, j, pair, name, 0, n, margin, maps, spots, c, numbers, names, n)
        same = start if one == SPHERE or one == CAPSULE else n
        return _one_way(solids, placed, j, i, pair, name, 1, same, margin, maps, spots, c, numbers, names, n)
    if one == MESH and two != MESH:
        numbers, names, n = _one_way(solids, placed, j, i, pair, name, 1, n, margin, maps, spots, c, numbers, names, n)
        same = start if two == SPHERE or two == CAPSULE else n
        return _one_way(solids, placed, i, j, pair, name, 0, same, margin, maps, spots, c, numbers, names, n)
    numbers, names, n = _one_way(solids, placed, i, j, pair, name, 0, n, margin, maps, spots, c, numbers, names, n)
    return _one_way(solids, placed, j, i, pair, name, 1, n, margin, maps, spots, c, numbers, names, n)


@njit(cache=True, nogil=True)
def mesh_pairs(first, second, solids, poses, margin):
    """Contacts of candidate pairs of rows of `poses`: (pair, feature, normal, point, gap, predicted).

    Parts of which neither is a mesh are passed over. Normals are unit vectors from first to second at the start of the
    step, points lie midway between the surfaces, predicted gaps are at most `margin`. `feature` names the sample point
    and its side, and the pair of parts.
    """
    placed = placed_parts(solids, poses, needed_rows(len(poses.owner), first, second))
    most = _SPOTS
    for f in range(len(solids.kind)):
        most = max(most, solids.vertex_ptr[f + 1] - solids.vertex_ptr[f])
    c, maps = candidate_room(most), np.empty((2, 12))
    spots = Spots(np.zeros((_SPOTS, 3)), np.zeros((_SPOTS, 3)), np.zeros((_SPOTS, 2), np.int64))
    numbers, names, n = np.empty((64, 8)), np.empty((64, 2), np.int64), 0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for i in range(placed.ptr[a], placed.ptr[a + 1]):
            for j in range(placed.ptr[b], placed.ptr[b + 1]):
                f, g = solids.form[placed.part[i]], solids.form[placed.part[j]]
                if solids.kind[f] != MESH and solids.kind[g] != MESH:
                    continue
                p, q = placed.pose1[i], placed.pose1[j]
                reach = solids.reach[f] + solids.reach[g] + margin
                if (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2 > reach * reach:
                    continue
                name = 7919 * ((i - placed.ptr[a]) * (placed.ptr[b + 1] - placed.ptr[b]) + j - placed.ptr[b]) * 2
                numbers, names, n = _part_pair(
                    solids, placed, i, j, pair, name, margin, maps, spots, c, numbers, names, n
                )
    return (
        names[:n, 0].copy(),
        names[:n, 1].copy(),
        numbers[:n, 0:3].copy(),
        numbers[:n, 3:6].copy(),
        numbers[:n, 6].copy(),
        numbers[:n, 7].copy(),
    )
