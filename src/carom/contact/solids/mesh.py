"""Contacts of triangle meshes: sample points of one side against the signed distance of the other, both ways.

A point whose distance after free flight is within the margin is a candidate; `patches` chooses among them. Spheres and
capsules show points of their core instead, less the radius, and take from the mesh's points only those that touch them
from another side (a ball in a groove).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...solvers.rows import Floats, Ints
from ...world import CAPSULE, CYLINDER, MESH, SPHERE, Solids
from .mesh_barriers import mesh_barriers
from .mesh_points import SPOTS, Spots, mapped, outward_of, put_box, put_spots, relative
from .patches import candidate_room, reduce
from .point_distance import distance
from .poses import Poses, needed_rows, placed_parts, to_world

__all__ = ["mesh_barriers", "mesh_pairs"]

_NAMES = 1 << 20
_PRIME, _MANY_PARTS = 7919, 61  # spread the names of several parts over their range
_AWAY = -0.1  # cosine: points that do not face the other body are not what touches it
_UNSURE = 0.98  # cosine: normals further apart than about 11 degrees are those of two sides
_SAME_SIDE = 0.85  # cosine of about 32 degrees: contacts with a round body count as one within it


@njit(cache=True, nogil=True)
def _facing(solids, form, m, x, y, z, ox, oy, oz):
    """Distance and outward normal of a form at a point, mapped by m, of a body whose outward direction there is o.

    At an edge of the form its normal jumps, and beyond the middle of a thin one it turns round. Seen from a little
    further back, in the point's own body, it is the one of the side that the point came from. The distance is then
    that from the plane of this side.
    """
    x, y, z = mapped(m, x, y, z)
    gap, nx, ny, nz = distance(solids, form, x, y, z, np.inf)
    if ox * nx + oy * ny + oz * nz > -_UNSURE:
        g = solids.grid[form]
        back = 1.5 * solids.grid_spacing[g] if g >= 0 else 0.03 * solids.reach[form]
        behind, ux, uy, uz = distance(solids, form, x - back * ox, y - back * oy, z - back * oz, np.inf)
        if ux * nx + uy * ny + uz * nz < _UNSURE:
            return behind + back * (ox * ux + oy * uy + oz * uz), ux, uy, uz
    return gap, nx, ny, nz


@njit(cache=True, nogil=True)
def _has_foot(solids, form, x, y, z, d, nx, ny, nz):
    """Whether a mesh has its surface where distance and normal of a point say."""
    if solids.kind[form] != MESH:
        return True
    foot = distance(solids, form, x - d * nx, y - d * ny, z - d * nz, np.inf)[0]
    return abs(foot) < 0.5 * solids.grid_spacing[solids.grid[form]]


@njit(cache=True, nogil=True)
def _gather(solids, placed, point, outward, begin, end, radius, k, other, margin, strict, maps, c):
    """Candidates among the points begin:end of part k against part `other`.

    Strict: core points between two sides of a mesh do not count. Between them the grid's distance has a ridge that it
    rounds off, and a normal that is none of the sides'; points of the mesh show both sides.
    """
    form = solids.form[placed.part[other]]
    before, after, box = maps[0], maps[1], maps[2]
    relative(placed.pose0, k, other, before)
    relative(placed.pose1, k, other, after)
    put_box(solids, form, radius + margin, box)
    n = 0
    for s in range(begin, end):
        x, y, z = point[s, 0], point[s, 1], point[s, 2]
        ax, ay, az = mapped(after, x, y, z)
        if ax < box[0] or ay < box[1] or az < box[2] or ax > box[3] or ay > box[4] or az > box[5]:
            continue
        later = distance(solids, form, ax, ay, az, margin + radius)[0]
        if later - radius > margin:
            continue
        if radius == 0.0:
            ox, oy, oz = outward_of(point, outward, s, after)
            later, nx, ny, nz = _facing(solids, form, after, x, y, z, ox, oy, oz)
            if later > margin:
                continue
            ox, oy, oz = outward_of(point, outward, s, before)
            gap, nx, ny, nz = _facing(solids, form, before, x, y, z, ox, oy, oz)
            if ox * nx + oy * ny + oz * nz > _AWAY:
                continue
        else:
            ax, ay, az = mapped(before, x, y, z)
            gap, nx, ny, nz = distance(solids, form, ax, ay, az, np.inf)
            if strict and not _has_foot(solids, form, ax, ay, az, gap, nx, ny, nz):
                continue
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
def _choose(solids, placed, k, other, margin, strict, maps, spots, c):
    """Leaves in `c` the candidates of the points of part k against part `other`, and marks those that stay."""
    form, target = solids.form[placed.part[k]], solids.form[placed.part[other]]
    kind, hit = solids.kind[form], solids.kind[target]
    point, outward, edge = solids.vertex, solids.vertex_normal, solids.edge
    begin, end, radius = solids.vertex_ptr[form], solids.vertex_ptr[form + 1], 0.0
    first, last = solids.edge_ptr[form], solids.edge_ptr[form + 1]
    if kind in (SPHERE, CAPSULE, CYLINDER):
        point, outward, edge = spots.place, spots.normal, spots.link
        end, last, radius = put_spots(solids, form, solids.size[target, 0], spots)
        begin, first = 0, 0
    _gather(solids, placed, point, outward, begin, end, radius, k, other, margin, strict, maps, c)
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
        for m in range(seen_from, min(known, len(numbers))):
            along = sign * (
                c.normal[i, 0] * numbers[m, 0] + c.normal[i, 1] * numbers[m, 1] + c.normal[i, 2] * numbers[m, 2]
            )
            seen = seen or along > _SAME_SIDE
        if seen:
            continue
        if n < len(numbers):
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
def _contacts(parts, solids, placed, first, second, margin, maps, spots, c, numbers, names):
    """Writes the contacts of pairs of parts: numbers (normal, point, gap, predicted), names (pair, feature).

    Returns how many there are. If there is no room for so many, those beyond it are not written.
    """
    n = 0
    for row in range(len(parts)):
        pair, i, j = parts[row, 0], parts[row, 1], parts[row, 2]
        one, two = solids.kind[solids.form[placed.part[i]]], solids.kind[solids.form[placed.part[j]]]
        # The core of a round part comes first: the points of the mesh add only what it has not found.
        start, swap = n, 1 if one == MESH else 0
        name = 2 * _PRIME * ((i - placed.ptr[first[pair]]) * _MANY_PARTS + j - placed.ptr[second[pair]])
        for way in range(3):  # the third one only where a round part has found nothing: it takes what there is
            side = (way + swap) % 2
            k, other = (i, j) if side == 0 else (j, i)
            hit, kind = (two, one) if side == 0 else (one, two)
            if way == 2 and (n > start or kind == MESH):
                break
            _choose(solids, placed, k, other, margin, way < 2, maps, spots, c)
            n = _emit(c, pair, name, side, start if hit in (SPHERE, CAPSULE) else n, numbers, names, n)
    return n


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
    most = int(np.diff(solids.vertex_ptr).max(initial=SPOTS)) if len(parts) else 0
    spots = Spots(np.zeros((SPOTS, 3)), np.zeros((SPOTS, 3)), np.zeros((SPOTS, 2), np.int64))
    maps, work = np.empty((3, 12)), candidate_room(most)
    n, room = 1, 0
    while n > room:  # kernels that grow their arrays compile for seconds
        room = n + 64 * len(parts)
        numbers, names = np.empty((room, 8)), np.empty((room, 2), np.int64)
        n = _contacts(parts, solids, placed, first, second, margin, maps, spots, work, numbers, names)
    numbers, names = numbers[:n], names[:n]
    return (
        names[:, 0].copy(),
        names[:, 1].copy(),
        numbers[:, 0:3].copy(),
        numbers[:, 3:6].copy(),
        numbers[:, 6].copy(),
        numbers[:, 7].copy(),
    )
