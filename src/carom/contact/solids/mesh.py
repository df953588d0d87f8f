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
from ...world import CAPSULE, CUBOID, CYLINDER, MESH, SPHERE, Solids
from .mesh_barriers import mesh_barriers
from .patches import candidate_room, reduce
from .point_distance import distance
from .poses import Poses, needed_rows, placed_parts, to_world

__all__ = ["mesh_barriers", "mesh_pairs"]

_SPOTS = 65  # most points of a capsule's core
_RIM = 16  # points on each rim of a cylinder
_NAMES = 1 << 20
_PRIME, _MANY_PARTS = 7919, 61  # spread the names of several parts over their range
_AWAY = -0.1  # cosine: points that do not face the other body are not what touches it
_UNSURE = 0.98  # cosine: normals further apart than about 11 degrees are those of two sides
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
def _outward(point, outward, s, m):
    """A point's own outward direction in the frame that m leads to: away from the middle, for corners."""
    x, y, z = outward[s, 0], outward[s, 1], outward[s, 2]
    if x == 0.0 and y == 0.0 and z == 0.0:
        x, y, z = point[s, 0], point[s, 1], point[s, 2]
        length = np.sqrt(x * x + y * y + z * z)
        x, y, z = x / length, y / length, z / length
    x, y, z = _mapped(m, x, y, z)
    return x - m[9], y - m[10], z - m[11]


@njit(cache=True, nogil=True)
def _put_box(solids, form, more, out):
    """The box round a form in its own frame, and `more` on all sides: low corner, high corner."""
    kind, g = solids.kind[form], solids.grid[form]
    for axis in range(3):
        low, high = -solids.reach[form], solids.reach[form]
        if kind == CUBOID:
            low, high = -solids.size[form, axis], solids.size[form, axis]
        elif kind == CYLINDER:
            high = solids.size[form, 1 if axis == 2 else 0]
            low = -high
        elif kind == MESH:
            low = solids.grid_low[g, axis]
            high = low + solids.grid_spacing[g] * (solids.grid_count[g, axis] - 1)
        out[axis], out[3 + axis] = low - more, high + more


@njit(cache=True, nogil=True)
def _facing(solids, form, m, x, y, z, ox, oy, oz):
    """Distance and outward normal of a form at a point, mapped by m, of a body whose outward direction there is o.

    At an edge of the form its normal jumps, and beyond the middle of a thin one it turns round. Seen from a little
    further back, in the point's own body, it is the one of the side that the point came from. The distance is then
    that from the plane of this side.
    """
    x, y, z = _mapped(m, x, y, z)
    gap, nx, ny, nz = distance(solids, form, x, y, z, np.inf)
    if ox * nx + oy * ny + oz * nz > -_UNSURE:
        g = solids.grid[form]
        back = 1.5 * solids.grid_spacing[g] if g >= 0 else 0.03 * solids.reach[form]
        behind, ux, uy, uz = distance(solids, form, x - back * ox, y - back * oy, z - back * oz, np.inf)
        if ux * nx + uy * ny + uz * nz < _UNSURE:
            return behind + back * (ox * ux + oy * uy + oz * uz), ux, uy, uz
    return gap, nx, ny, nz


@njit(cache=True, nogil=True)
def _gather(solids, placed, point, outward, begin, end, radius, k, other, margin, maps, c):
    """Candidates among the points begin:end of part k against part `other`."""
    form = solids.form[placed.part[other]]
    before, after, box = maps[0], maps[1], maps[2]
    _relative(placed.pose0, k, other, before)
    _relative(placed.pose1, k, other, after)
    _put_box(solids, form, radius + margin, box)
    n = 0
    for s in range(begin, end):
        x, y, z = point[s, 0], point[s, 1], point[s, 2]
        ax, ay, az = _mapped(after, x, y, z)
        if ax < box[0] or ay < box[1] or az < box[2] or ax > box[3] or ay > box[4] or az > box[5]:
            continue
        later = distance(solids, form, ax, ay, az, margin + radius)[0]
        if later - radius > margin:
            continue
        if radius == 0.0:
            ox, oy, oz = _outward(point, outward, s, after)
            later, nx, ny, nz = _facing(solids, form, after, x, y, z, ox, oy, oz)
            if later > margin:
                continue
            ox, oy, oz = _outward(point, outward, s, before)
            gap, nx, ny, nz = _facing(solids, form, before, x, y, z, ox, oy, oz)
            if ox * nx + oy * ny + oz * nz > _AWAY:
                continue
        else:
            ax, ay, az = _mapped(before, x, y, z)
            gap, nx, ny, nz = distance(solids, form, ax, ay, az, np.inf)
        c.point[n], c.gap[n], c.predicted[n] = s - begin, gap - radius, later - radius
        nx, ny, nz = to_world(placed.pose0, other, nx, ny, nz)
        x, y, z = to_world(placed.pose0, k, x, y, z)
        c.normal[n, 0], c.normal[n, 1], c.normal[n, 2] = -nx, -ny, -nz
        c.place[n, 0] = placed.pose0[k, 0] + x - radius * nx
        c.place[n, 1] = placed.pose0[k, 1] + y - radius * ny
        c.place[n, 2] = placed.pose0[k, 2] + z - radius * nz
        n += 1
    c.used[0] = n


@njit(cache=True, nogil=True)
def _choose(solids, placed, k, other, margin, maps, spots, c):
    """Leaves in `c` the candidates of the points of part k against part `other`, and marks those that stay."""
    form, target = solids.form[placed.part[k]], solids.form[placed.part[other]]
    kind, hit = solids.kind[form], solids.kind[target]
    point, outward, edge = solids.vertex, solids.vertex_normal, solids.edge
    begin, end, radius = solids.vertex_ptr[form], solids.vertex_ptr[form + 1], 0.0
    first, last = solids.edge_ptr[form], solids.edge_ptr[form + 1]
    if kind in (SPHERE, CAPSULE, CYLINDER):
        point, outward, edge = spots.place, spots.normal, spots.link
        end, last, radius = _put_spots(solids, form, solids.size[target, 0], spots)
        begin, first = 0, 0
    _gather(solids, placed, point, outward, begin, end, radius, k, other, margin, maps, c)
    tie = 1e-2 * solids.grid_spacing[solids.grid[target]] if hit == MESH else 1e-9 * solids.reach[target]
    return reduce(c, edge, first, last, tie, hit not in (SPHERE, CAPSULE))


@njit(cache=True, nogil=True)
def _emit(c, pair, name, side, seen_from, numbers, names, n):
    """Writes the chosen candidates, but not those along a contact from row `seen_from` on. Returns the rows in use.

    A candidate lies on the surface of its own body, half of the gap short of the point midway.
    """
    sign = 1.0 if side == 0 else -1.0
    known = n
    for i in range(c.used[0]):
        if not c.keep[i]:
            continue
        seen = False
        for m in range(seen_from, known):
            along = sign * (
                c.normal[i, 0] * numbers[m, 0] + c.normal[i, 1] * numbers[m, 1] + c.normal[i, 2] * numbers[m, 2]
            )
            seen = seen or along > _SAME_SIDE
        if seen:
            continue
        for axis in range(3):
            numbers[n, axis] = sign * c.normal[i, axis]
            numbers[n, 3 + axis] = c.place[i, axis] + 0.5 * c.gap[i] * c.normal[i, axis]
        numbers[n, 6], numbers[n, 7] = c.gap[i], c.predicted[i]
        names[n, 0], names[n, 1] = pair, (name + 2 * c.point[i] + side) % _NAMES
        n += 1
    return n


@njit(cache=True, nogil=True)
def _part_pairs(solids, placed, first, second, margin):
    """Rows (pair, i, j): parts in reach of each other of which one at least is a mesh."""
    out, n = np.empty((len(first) + 8, 3), np.int64), 0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for i in range(placed.ptr[a], placed.ptr[a + 1]):
            for j in range(placed.ptr[b], placed.ptr[b + 1]):
                f, g = solids.form[placed.part[i]], solids.form[placed.part[j]]
                if solids.kind[f] != MESH and solids.kind[g] != MESH:
                    continue
                reach = solids.reach[f] + solids.reach[g] + margin
                square = 0.0
                for axis in range(3):
                    square += (placed.pose1[i, axis] - placed.pose1[j, axis]) ** 2
                if square > reach * reach:
                    continue
                if n == len(out):
                    out = np.concatenate((out, np.empty_like(out)))
                out[n, 0], out[n, 1], out[n, 2] = pair, i, j
                n += 1
    return out[:n].copy()


@njit(cache=True, nogil=True)
def _contacts(parts, solids, placed, first, second, margin, maps, spots, c):
    """Numbers (normal, point, gap, predicted) and names (pair, feature) of the contacts of pairs of parts."""
    numbers, names, n = np.empty((64, 8)), np.empty((64, 2), np.int64), 0
    for row in range(len(parts)):
        pair, i, j = parts[row, 0], parts[row, 1], parts[row, 2]
        one, two = solids.kind[solids.form[placed.part[i]]], solids.kind[solids.form[placed.part[j]]]
        # The core of a round part comes first: the points of the mesh add only what it has not found.
        start, swap = n, 1 if one == MESH else 0
        name = 2 * _PRIME * ((i - placed.ptr[first[pair]]) * _MANY_PARTS + j - placed.ptr[second[pair]])
        for way in range(2):
            side = (way + swap) % 2
            k, other = (i, j) if side == 0 else (j, i)
            hit = two if side == 0 else one
            kept = _choose(solids, placed, k, other, margin, maps, spots, c)
            if n + kept > len(numbers):
                more, called = np.empty((2 * (n + kept), 8)), np.empty((2 * (n + kept), 2), np.int64)
                more[:n], called[:n] = numbers[:n], names[:n]
                numbers, names = more, called
            n = _emit(c, pair, name, side, start if hit in (SPHERE, CAPSULE) else n, numbers, names, n)
    return numbers[:n], names[:n]


def mesh_pairs(
    first: Ints, second: Ints, solids: Solids, poses: Poses, margin: float
) -> tuple[Ints, Ints, Floats, Floats, Floats, Floats]:
    """Contacts of candidate pairs of rows of `poses`: (pair, feature, normal, point, gap, predicted).

    Parts of which neither is a mesh are passed over. Normals are unit vectors from first to second at the start of the
    step, points lie midway between the surfaces, predicted gaps are at most `margin`. `feature` names the sample point
    and its side, and the pair of parts.
    """
    placed = placed_parts(solids, poses, needed_rows(len(poses.owner), first, second))
    parts = _part_pairs(solids, placed, first, second, margin)
    most = int(np.diff(solids.vertex_ptr).max(initial=_SPOTS)) if len(parts) else 0
    spots = Spots(np.zeros((_SPOTS, 3)), np.zeros((_SPOTS, 3)), np.zeros((_SPOTS, 2), np.int64))
    maps, room = np.empty((3, 12)), candidate_room(most)
    numbers, names = _contacts(parts, solids, placed, first, second, margin, maps, spots, room)
    return (
        names[:, 0].copy(),
        names[:, 1].copy(),
        numbers[:, 0:3].copy(),
        numbers[:, 3:6].copy(),
        numbers[:, 6].copy(),
        numbers[:, 7].copy(),
    )
