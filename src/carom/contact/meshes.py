"""Narrow phase of triangle meshes: sample points of each body against the signed distance of the other.

A point whose distance after free flight is within the margin is a candidate; `mesh_manifold` chooses among them.
Spheres and capsules are represented by points of their core, minus the radius; of the points of the mesh they add only
those that touch from another side (a sphere in a groove).
"""

from __future__ import annotations

import numpy as np

from ..geometry.shapes import RUN
from ..geometry.vectors import Vec3, row3, to_world
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import MESH, Shapes3D
from .features import SPOTS, Spots, put_box, put_front, put_spots
from .grid_distance import grid_of, grid_value, is_outside, nearest_on_mesh
from .mesh_manifold import candidate_room, reduce
from .point_distance import distance, signed_distance, surface_of
from .poses import Poses, mapped, needed_rows, outward_of, placed_parts, pose_at, relative
from .support import has_rims, is_rounded, rims

_NAMES = 1 << 20  # feature_id has 20 bits
_PRIME, _MANY_PARTS = 7919, 61  # spread the feature_id of several parts over its range
_AWAY = -0.1  # cosine: points that face away from the other body do not touch it
_UNSURE = 0.98  # cosine: normals that differ by more than about 11 degrees belong to two sides
_FLAT = 0.5  # distance of a projection from the surface, relative to that of the point, up to which it is on it
_ROUNDING = 1e-9  # of the reach of a shape: distances below it are 0
_SHORTER = 6  # distances from which a point is seen from farther back, each half of the one before
_ACROSS = 0.5  # on a round side the cosine of normal and axis differs by less from that of the side's own normal
_BAND = 5e-3  # of the smaller reach: points up to this height above the lowest support the body
_SAME_SIDE = 0.85  # cosine of about 32 degrees: contacts of a round body within it are one


@kernel
def _facing(shapes, own, shape, m, px, py, pz, ox, oy, oz, core):
    """(uncertain, distance, outward normal) of a shape at a point p of the shape `own`, which m maps to its frame.

    o is the outward direction of `own` at p, in the frame of `shape`. At an edge of the shape the normal is
    discontinuous, and beyond the middle of a thin shape it is reversed. Seen from a point a little farther back it is
    the normal of the side that p came from. That point must lie inside `own`: behind the tip of a small body lies the
    far side of a thin plate, whose normal would pull the tip in. The distance is then that from the plane of this side,
    and is uncertain. At a convex edge and beyond the middle of a thin shape that distance is the smaller one; where it
    is larger the surface is concave, and the nearest side counts. So it does for a point outside of the shape that lies
    behind that plane, and for one inside whose projection on the plane is not on the surface: that curves away from the
    plane. A core point has no outward direction; its projection on the
    mesh is computed instead.
    """
    x, y, z = mapped(m, px, py, pz)
    surface, within = surface_of(shapes, shape), surface_of(shapes, own)
    gap, nx, ny, nz = _near(surface, x, y, z, core)
    if core or ox * nx + oy * ny + oz * nz < -_UNSURE:
        return False, gap, nx, ny, nz
    g = shapes.grid[shape]
    back = min(1.5 * shapes.grid_spacing[g] if g >= 0 else 0.03 * shapes.reach[shape], 0.25 * shapes.reach[own])
    ix, iy, iz = m[0] * ox + m[3] * oy + m[6] * oz, m[1] * ox + m[4] * oy + m[7] * oz, m[2] * ox + m[5] * oy + m[8] * oz
    for _ in range(_SHORTER):
        d, ux, uy, uz = _near(surface, x - back * ox, y - back * oy, z - back * oz, False)
        if ux * nx + uy * ny + uz * nz >= _UNSURE:
            break
        plane = d + back * (ox * ux + oy * uy + oz * uz)
        inside = distance(within, Vec3(px - back * ix, py - back * iy, pz - back * iz), 0.0) < 0.0
        meets = plane >= 0.0
        if not meets and gap <= _ROUNDING * shapes.reach[shape]:
            meets = _near(surface, x - plane * ux, y - plane * uy, z - plane * uz, False)[0] <= -_FLAT * plane
        if inside and meets and plane <= gap:
            return True, plane, ux, uy, uz
        back *= 0.5
    return False, gap, nx, ny, nz


@kernel
def _near(surface, x, y, z, core):
    """Signed distance of a point from a shape, in its frame, and the outward unit normal there."""
    found = signed_distance(surface, Vec3(x, y, z), core)
    return found.distance, found.normal.x, found.normal.y, found.normal.z


@kernel
def _has_foot(grid, m, x, y, z, d, nx, ny, nz, strict):
    """Whether the surface of a mesh is where distance and normal of a point, mapped by m, predict it.

    If not `strict`, this is tested only outside the grid, where the distance is that to a projection.
    """
    x, y, z = mapped(m, x, y, z)
    if not strict and not is_outside(grid, Vec3(x, y, z)):
        return True
    foot = grid_value(grid, Vec3(x - d * nx, y - d * ny, z - d * nz))
    return abs(foot) < 0.5 * grid.spacing


@kernel
def _gather(shapes, placed, point, ahead, outward, begin, end, radius, run, runs, k, other, margin, strict, maps, c):
    """Writes the candidates among points begin:end of part k, `ahead` at the end of the step, against part `other`.

    If `strict`, core points between two sides of a mesh do not count: there the interpolated distance smooths a ridge,
    and the normal belongs to neither side; points of the mesh find both sides. `run` is the reach of a run of points,
    `runs` the end of the points in runs.
    """
    own, shape = shapes.shape[placed.part[k]], shapes.shape[placed.part[other]]
    before, after, box = maps[0], maps[1], maps[2]
    put_box(shapes, shape, radius + margin, box)
    surface, grid = surface_of(shapes, shape), grid_of(shapes, shape)
    n, s = 0, begin - 1
    while s + 1 < end:
        s += 1
        x, y, z = point[s, 0], point[s, 1], point[s, 2]
        ax, ay, az = mapped(after, ahead[s, 0], ahead[s, 1], ahead[s, 2])
        leads = s < runs and (s - begin) % RUN == 0
        out = ax < box[0] or ay < box[1] or az < box[2] or ax > box[3] or ay > box[4] or az > box[5]
        if out and not leads:
            continue
        # First a lower bound, which is sufficient for most points.
        later = distance(surface, Vec3(ax, ay, az), margin + run + radius)
        if leads and later > margin + run:
            s += RUN - 1
            continue
        if later - radius > margin:
            continue
        core, away = radius > 0.0, False
        exact = grid.nx == 0 or not is_outside(grid, Vec3(ax, ay, az))
        gap, nx, ny, nz, ox, oy, oz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for moment in range(2):  # before the step; and after it, if that is not decided
            m, at = (before, point) if moment == 0 else (after, ahead)
            if not core:
                ox, oy, oz = outward_of(at, outward, s, m)
            unsure, d, ux, uy, uz = _facing(shapes, own, shape, m, at[s, 0], at[s, 1], at[s, 2], ox, oy, oz, core)
            if moment == 1:
                later = d
                break
            gap, nx, ny, nz = d, ux, uy, uz
            away = not core and ox * nx + oy * ny + oz * nz > _AWAY
            if away or (exact and not unsure):
                break
        if away:
            continue
        if core and not _has_foot(grid, before, x, y, z, gap, nx, ny, nz, strict):
            continue
        if later - radius > margin:
            continue
        c.point[n], c.gap[n], c.predicted[n] = s - begin, gap - radius, later - radius
        nx, ny, nz = to_world(pose_at(placed.pose0, other).turn, Vec3(nx, ny, nz))
        x, y, z = to_world(pose_at(placed.pose0, k).turn, Vec3(x, y, z))
        c.normal[n, 0], c.normal[n, 1], c.normal[n, 2] = -nx, -ny, -nz
        c.place[n, 0] = placed.pose0[k, 0] + x - radius * nx
        c.place[n, 1] = placed.pose0[k, 1] + y - radius * ny
        c.place[n, 2] = placed.pose0[k, 2] + z - radius * nz
        n += 1
    c.used[0] = n


@kernel
def _choose(shapes, placed, k, other, margin, strict, maps, spots, c):
    """Writes the candidates of the points of part k against part `other` to `c`, and marks those that stay."""
    shape, target = shapes.shape[placed.part[k]], shapes.shape[placed.part[other]]
    kind, hit = shapes.kind[shape], shapes.kind[target]
    relative(placed.pose0, k, other, maps[0])
    relative(placed.pose1, k, other, maps[1])
    point, ahead, outward, edge = shapes.vertex, shapes.vertex, shapes.vertex_normal, shapes.edge
    begin, end, radius = shapes.vertex_ptr[shape], shapes.vertex_ptr[shape + 1], 0.0
    run, runs = shapes.size[shape, 1], begin + int(shapes.size[shape, 2]) if kind == MESH else 0
    first, last = shapes.edge_ptr[shape], shapes.edge_ptr[shape + 1]
    if is_rounded(kind) or has_rims(kind):
        point, ahead, outward, edge = spots.place, spots.place, spots.normal, spots.link
        end, last, radius = put_spots(shapes, shape, shapes.size[target, 0], spots)
        begin, first = 0, 0
    if has_rims(kind):
        ahead, g = spots.later, grid_of(shapes, target)
        put_front(shapes, shape, end, g, maps[1], margin, ahead, ahead, spots.normal)
        put_front(shapes, shape, end, g, maps[0], margin, ahead, point, spots.normal)
    _gather(shapes, placed, point, ahead, outward, begin, end, radius, run, runs, k, other, margin, strict, maps, c)
    tie = 1e-2 * shapes.grid_spacing[shapes.grid[target]] if hit == MESH else 1e-9 * shapes.reach[target]
    is_round = is_rounded(hit)
    reduce(c, edge, first, last, tie, 0.0 if is_round else _BAND * min(shapes.reach[shape], shapes.reach[target]))
    if is_round:
        refine(shapes, placed, k, other, maps, c)


@kernel
def _emit(c, pair, name, side, axis_of, lean, seen_from, slack, numbers, names, n):
    """Writes the chosen candidates; returns the number of rows in use.

    For a round body, candidates are left out that repeat a contact from row `seen_from` on: with about the same normal
    and not lower, or at the same place within `slack`. A body with axis `axis_of` is round only on its side, whose
    normals have the cosine `lean` with the axis. A candidate lies on the surface of its own body, half of the gap from
    the midpoint.
    """
    sign = 1.0 if side == 0 else -1.0
    known = n
    for i in range(c.used[0]):
        if not c.keep[i]:
            continue
        half, seen = 0.5 * c.gap[i], False
        tilt = c.normal[i, 0] * axis_of[0] + c.normal[i, 1] * axis_of[1] + c.normal[i, 2] * axis_of[2]
        for m in range(seen_from, min(n, len(numbers))):
            along, apart = 0.0, 0.0
            for axis in range(3):
                along += sign * c.normal[i, axis] * numbers[m, axis]
                apart += (c.place[i, axis] + half * c.normal[i, axis] - numbers[m, 3 + axis]) ** 2
            same = along > _SAME_SIDE and m < known and numbers[m, 6] <= c.gap[i] + slack
            on_side = abs(tilt + lean) < _ACROSS * (1.0 - abs(lean))
            seen = seen or (on_side and (same or apart < slack * slack))
        if seen:
            continue
        if n < len(numbers):
            for axis in range(3):
                numbers[n, axis] = sign * c.normal[i, axis]
                numbers[n, 3 + axis] = c.place[i, axis] + half * c.normal[i, axis]
            numbers[n, 6], numbers[n, 7] = c.gap[i], c.predicted[i]
            names[n, 0], names[n, 1] = pair, (name + 2 * c.point[i] + side) % _NAMES
        n += 1
    return n


@kernel
def _part_pairs(shapes, placed, first, second, margins):
    """Rows (pair, i, j): parts whose bounding spheres are within the margin and of which at least one is a mesh."""
    out, n = np.empty((len(first) + 8, 3), np.int64), 0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        margin = max(margins[a], margins[b])
        for i in range(placed.ptr[a], placed.ptr[a + 1]):
            for j in range(placed.ptr[b], placed.ptr[b + 1]):
                f, g = shapes.shape[placed.part[i]], shapes.shape[placed.part[j]]
                if shapes.kind[f] != MESH and shapes.kind[g] != MESH:
                    continue
                reach = shapes.reach[f] + shapes.reach[g] + margin
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


@kernel
def _contacts(parts, shapes, placed, first, second, margins, maps, spots, c, numbers, names):
    """Writes contacts of pairs of parts to `numbers` (normal, point, gap, predicted) and `names` (pair, feature_id).

    Returns their number; those that do not fit are not written.
    """
    n, axis_of = 0, np.zeros(3)
    for row in range(len(parts)):
        pair, i, j = parts[row, 0], parts[row, 1], parts[row, 2]
        margin = max(margins[first[pair]], margins[second[pair]])
        one, two = shapes.kind[shapes.shape[placed.part[i]]], shapes.kind[shapes.shape[placed.part[j]]]
        # The core of a round part comes first: points of the mesh add only contacts that it has not found.
        start, swap = n, 1 if one == MESH else 0
        name = 2 * _PRIME * ((i - placed.ptr[first[pair]]) * _MANY_PARTS + j - placed.ptr[second[pair]])
        for way in range(3):  # the third, not strict, only where a round part has found nothing
            side = (way + swap) % 2
            k, other = (i, j) if side == 0 else (j, i)
            hit, kind = (two, one) if side == 0 else (one, two)
            if way == 2 and (n > start or kind == MESH):
                break
            _choose(shapes, placed, k, other, margin, way < 2, maps, spots, c)
            seen_from, slack = n, 0.0
            lean, size = 0.0, shapes.size[shapes.shape[placed.part[other]]]
            for axis in range(3):
                axis_of[axis] = placed.pose0[other, 5 + 3 * axis] if has_rims(hit) else 0.0
            if has_rims(hit):
                top, high, bottom, low = rims(hit, size)
                lean = (bottom - top) / np.sqrt((high - low) ** 2 + (bottom - top) ** 2)
            if is_rounded(hit) or has_rims(hit):
                seen_from, slack = start, 0.1 * shapes.size[shapes.shape[placed.part[k]], 0]
            n = _emit(c, pair, name, side, axis_of, lean, seen_from, slack, numbers, names, n)
    return n


def mesh_pairs(
    first: Ints, second: Ints, shapes: Shapes3D, poses: Poses, margin: float | Floats
) -> tuple[Ints, Ints, Floats, Floats, Floats, Floats]:
    """Contacts of candidate pairs of rows of `poses`: (pair, feature_id, normal, point, gap, predicted).

    Pairs of parts without a mesh are skipped. Normals are unit vectors from first to second at the start of the step,
    points lie midway between the surfaces, and predicted gaps are at most `margin`: one length, or one for each row, of
    which the larger one counts. feature_id follows from the sample point, its body, and the pair of parts.
    """
    margins = np.full(len(poses.owner), margin)
    placed = placed_parts(shapes, poses, needed_rows(len(poses.owner), first, second))
    parts = _part_pairs(shapes, placed, first, second, margins)
    points, edges = (
        int(np.diff(ptr).max(initial=SPOTS)) if len(parts) else 0 for ptr in (shapes.vertex_ptr, shapes.edge_ptr)
    )
    spots = Spots(np.zeros((SPOTS, 3)), np.zeros((SPOTS, 3)), np.zeros((SPOTS, 3)), np.zeros((SPOTS, 2), np.int64))
    maps, work = np.empty((3, 12)), candidate_room(points, edges)
    n, room = 1, 0
    while n > room:  # kernels that enlarge their arrays take seconds to compile
        room = n + 64 * len(parts)
        numbers, names = np.empty((room, 8)), np.empty((room, 2), np.int64)
        n = _contacts(parts, shapes, placed, first, second, margins, maps, spots, work, numbers, names)
    numbers, names = numbers[:n], names[:n]
    return (
        names[:, 0].copy(),
        names[:, 1].copy(),
        numbers[:, 0:3].copy(),
        numbers[:, 3:6].copy(),
        numbers[:, 6].copy(),
        numbers[:, 7].copy(),
    )


# ---- nearest point of a mesh to the core of a sphere or capsule


@kernel
def _foot(shapes, shape, m, half, s):
    """Point of a mesh nearest to the core of a round part, searched from sample point s, and the vector to the core.

    m maps the mesh's frame to that of the round part, whose core lies along z up to +-half.
    """
    x, y, z = shapes.vertex[s, 0], shapes.vertex[s, 1], shapes.vertex[s, 2]
    core = min(max(mapped(m, x, y, z)[2], -half), half) - m[11]
    cx = m[6] * core - m[0] * m[9] - m[3] * m[10]
    cy = m[7] * core - m[1] * m[9] - m[4] * m[10]
    cz = m[8] * core - m[2] * m[9] - m[5] * m[10]
    foot = nearest_on_mesh(grid_of(shapes, shape), Vec3(cx, cy, cz), row3(shapes.vertex, s))
    return foot.x, foot.y, foot.z, cx - foot.x, cy - foot.y, cz - foot.z


@kernel
def refine(shapes, placed, k, other, maps, c):
    """Moves the chosen points of mesh part k over its surface to where the round part `other` is nearest."""
    shape, target = shapes.shape[placed.part[k]], shapes.shape[placed.part[other]]
    radius, half = shapes.size[target, 0], shapes.size[target, 1]
    for i in range(c.used[0]):
        if not c.keep[i]:
            continue
        s = shapes.vertex_ptr[shape] + c.point[i]
        for moment in range(2):
            x, y, z, dx, dy, dz = _foot(shapes, shape, maps[1 - moment], half, s)
            far = np.sqrt(dx * dx + dy * dy + dz * dz)
            n = shapes.vertex_normal[s]
            if far == 0.0:
                break
            if n[0] * dx + n[1] * dy + n[2] * dz < 0.0:  # the core lies inside the mesh
                far = -far
            if moment == 0:
                c.predicted[i] = far - radius
                continue
            c.gap[i] = far - radius
            nx, ny, nz = to_world(pose_at(placed.pose0, k).turn, Vec3(dx / far, dy / far, dz / far))
            x, y, z = to_world(pose_at(placed.pose0, k).turn, Vec3(x, y, z))
            p = placed.pose0[k]
            c.normal[i, 0], c.normal[i, 1], c.normal[i, 2] = nx, ny, nz
            c.place[i, 0], c.place[i, 1], c.place[i, 2] = p[0] + x, p[1] + y, p[2] + z
