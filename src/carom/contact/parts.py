"""Parts of bodies in 3D: their poses at the start and at the end of a step, their convex cores, and the support map.

Kernels compute with `Pose` values. In tables a pose is a row of 12 numbers: the origin of a frame, and its rotation
matrix row by row.

A convex shape as a value is a core with a radius around it. The core of a sphere is a point, that of a capsule a
segment; other shapes are their own core, with radius zero. A convex solid of revolution about z with two flat ends and
a straight side is described by its two rims: all contact kernels ask `has_rims` and `rims` about it, and only the
distances of `point_distance` depend on its kind. A strictly convex core touches with one point, the foremost one along
the normal: kernels ask `is_smooth` and `foremost_point`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, SPHERE, Shapes3D
from ..geometry.vectors import Mat3, Pose, Vec3, cross, dot, norm, row3, times, to_local, to_world, transposed
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints

AXIS_ENDS, SPREAD_DIRECTIONS = 6, 14  # directions of `spread_direction`: along the axes, and all of them


class Poses(NamedTuple):
    """Poses of all bodies, then of their periodic images: 0 at the start of the step, 1 after free flight."""

    owner: Ints  # (rows,) the body whose shape a row has
    position0: Floats  # (rows, 3)
    turn0: Floats  # (rows, 3, 3) from the body's frame to the world's
    position1: Floats  # (rows, 3)
    turn1: Floats  # (rows, 3, 3)


class Placed(NamedTuple):
    """Poses of the parts of all rows of `Poses` that some pair needs."""

    poses: Poses  # of the rows
    ptr: Ints  # (rows + 1,) row r owns parts ptr[r]:ptr[r+1]
    part: Ints  # (k,) index into the parts of Shapes3D
    pose0: Floats  # (k, 12) at the start of the step
    pose1: Floats  # (k, 12) after free flight
    chord: Floats  # (rows,) 2 sin(angle / 2) of the rotation in the step: largest displacement at distance 1


class StepPoses(NamedTuple):
    """Poses of a part at the start and at the end of the step, and when its features are determined."""

    start: Pose
    end: Pose
    now: Pose


@kernel(inline="always")
def pose_at(table, k):
    """The pose in row k of a table (m, 12)."""
    x = Vec3(table[k, 3], table[k, 4], table[k, 5])
    y = Vec3(table[k, 6], table[k, 7], table[k, 8])
    return Pose(row3(table, k), Mat3(x, y, Vec3(table[k, 9], table[k, 10], table[k, 11])))


@kernel(inline="always")
def put_pose(table, k, pose):
    """Writes a pose to row k of a table."""
    for i in range(3):
        table[k, i] = pose.position[i]
        for j in range(3):
            table[k, 3 + 3 * i + j] = pose.turn[i][j]


@kernel(inline="always")
def matrix_at(table, k):
    """The matrix k of a table (m, 3, 3)."""
    return Mat3(row3(table[k], 0), row3(table[k], 1), row3(table[k], 2))


@kernel(inline="always")
def world_point(pose, a):
    """A point, given in the frame of a pose, in the frame of the world."""
    return pose.position + to_world(pose.turn, a)


@kernel(inline="always")
def local_point(pose, a):
    """A point, given in the frame of the world, in the frame of a pose."""
    return to_local(pose.turn, a - pose.position)


@kernel
def relative_pose(pose, other):
    """A pose in the frame of another one: what maps points of its frame to the other frame."""
    axes = transposed(other.turn)
    turn = Mat3(to_local(pose.turn, axes.x), to_local(pose.turn, axes.y), to_local(pose.turn, axes.z))
    return Pose(local_point(other, pose.position), turn)


@lean
def part_pose(body, shapes, part):
    """The pose of a part, from that of its body."""
    return Pose(world_point(body, row3(shapes.place, part)), times(body.turn, matrix_at(shapes.turn, part)))


@kernel(inline="always")
def midway(before, after, time):
    """The pose of a part at a time (0 to 1) between two poses.

    Its origin moves on a straight line; its axes are the weighted mean of both, made orthonormal.
    """
    old, new = transposed(before.turn), transposed(after.turn)
    a = (1.0 - time) * old.x + time * new.x
    a = (1.0 / norm(a)) * a
    b = (1.0 - time) * old.y + time * new.y
    b = b - dot(a, b) * a
    b = (1.0 / norm(b)) * b
    return Pose((1.0 - time) * before.position + time * after.position, transposed(Mat3(a, b, cross(a, b))))


@kernel
def motion_between(before, after):
    """The motion x -> D x + o that carries a part from one pose to another, as the pose (o, D)."""
    p, old, new = before.position, before.turn, after.turn
    d = Mat3(to_world(old, new.x), to_world(old, new.y), to_world(old, new.z))
    return Pose(
        Vec3(
            after.position.x - d.x.x * p.x - d.x.y * p.y - d.x.z * p.z,
            after.position.y - d.y.x * p.x - d.y.y * p.y - d.y.z * p.z,
            after.position.z - d.z.x * p.x - d.z.y * p.y - d.z.z * p.z,
        ),
        d,
    )


@kernel
def placed_parts(shapes, poses, needed):
    """The poses of all parts of the rows that `needed` (rows,) marks."""
    rows = len(poses.owner)
    ptr = np.zeros(rows + 1, np.int64)
    for r in range(rows):
        body = poses.owner[r]
        ptr[r + 1] = ptr[r] + (shapes.part_ptr[body + 1] - shapes.part_ptr[body] if needed[r] else 0)
    total = ptr[rows]
    placed = Placed(poses, ptr, np.empty(total, np.int64), np.empty((total, 12)), np.empty((total, 12)), np.zeros(rows))
    for r in range(rows):
        if not needed[r]:
            continue
        square = 0.0
        for i in range(3):
            for j in range(3):
                square += (poses.turn1[r, i, j] - poses.turn0[r, i, j]) ** 2
        placed.chord[r] = np.sqrt(0.5 * square)
        start = Pose(row3(poses.position0, r), matrix_at(poses.turn0, r))
        end = Pose(row3(poses.position1, r), matrix_at(poses.turn1, r))
        for k in range(ptr[r], ptr[r + 1]):
            part = shapes.part_ptr[poses.owner[r]] + k - ptr[r]
            placed.part[k] = part
            put_pose(placed.pose0, k, part_pose(start, shapes, part))
            put_pose(placed.pose1, k, part_pose(end, shapes, part))
    return placed


@kernel
def most_parts(shapes):
    """The largest number of parts of a body."""
    most = 1
    for i in range(len(shapes.part_ptr) - 1):
        most = max(most, shapes.part_ptr[i + 1] - shapes.part_ptr[i])
    return most


@kernel
def needed_rows(rows, first, second):
    """Which rows occur in a list of pairs."""
    out = np.zeros(rows, np.bool_)
    for k in range(len(first)):
        out[first[k]] = True
        out[second[k]] = True
    return out


# ---- convex cores


class Core(NamedTuple):
    """A convex shape in its own frame; the arrays are views of the table of shapes, and empty for round shapes."""

    kind: int  # SPHERE .. ELLIPSOID
    size: Vec3  # see Shapes3D
    radius: float  # around the core
    reach: float  # largest distance of the shape from its origin
    vertex: Floats  # (k, 3)
    face_normal: Floats  # (faces, 3) outward
    face_offset: Floats  # (faces,)
    loop_ptr: Ints  # (faces + 1,) vertices of a face: loop[loop_ptr[j]:loop_ptr[j+1]]
    loop: Ints


class Part(NamedTuple):
    """A convex shape at a place in the world."""

    core: Core
    pose: Pose


class Rims(NamedTuple):
    """Radius and z of the upper and of the lower rim of a shape with rims."""

    top: float
    high: float
    bottom: float
    low: float


@kernel(inline="always")
def core_of(shapes, f):
    """The convex shape f of a table of shapes."""
    kind, size = int(shapes.kind[f]), row3(shapes.size, f)
    first, last = shapes.face_ptr[f], shapes.face_ptr[f + 1]
    return Core(
        kind,
        size,
        size.x if is_rounded(kind) else 0.0,
        shapes.reach[f],
        shapes.vertex[shapes.vertex_ptr[f] : shapes.vertex_ptr[f + 1]],
        shapes.face_normal[first:last],
        shapes.face_offset[first:last],
        shapes.loop_ptr[first : last + 1],
        shapes.loop,
    )


@kernel
def is_rounded(kind):
    """Whether shapes of this kind are a point or segment with a radius around it."""
    return kind in (SPHERE, CAPSULE)


@kernel
def has_rims(kind):
    """Whether shapes of a kind have flat ends and a straight side, all round about z."""
    return kind in (CYLINDER, CONE)


@kernel
def is_smooth(kind):
    """Whether cores of this kind are strictly convex, so that a direction has one foremost point."""
    return kind in (SPHERE, ELLIPSOID)


@kernel
def rims(kind, size):
    """The rims of a shape of a kind that has them."""
    a, b, c = size[0], size[1], size[2]
    if kind == CONE:  # the origin is the center of mass: see carom.geometry.solids
        share = (a * a + 2.0 * a * c + 3.0 * c * c) / (2.0 * (a * a + a * c + c * c))
        return Rims(c, (2.0 - share) * b, a, -share * b)
    return Rims(a, b, a, -b)


@lean
def is_curved(core):
    """Whether the core has a curved surface: the differences of such cores have no flat faces to settle on."""
    return has_rims(core.kind) or core.kind == ELLIPSOID


@lean
def foremost_vertex(vertex, d):
    """The row of the vertex farthest along d; the first of equal ones."""
    best, top = -np.inf, 0
    for i in range(len(vertex)):
        height = dot(row3(vertex, i), d)
        if height > best:
            best, top = height, i
    return top


@lean
def foremost_point(kind, size, vertex, d):
    """A point of a core that is farthest along d, both in the frame of the shape.

    It takes three fields of the core, because passing on all of them costs more than the search.
    """
    if kind == SPHERE:
        return Vec3(0.0, 0.0, 0.0)
    if kind == BOX:
        return Vec3(
            size.x if d.x >= 0.0 else -size.x, size.y if d.y >= 0.0 else -size.y, size.z if d.z >= 0.0 else -size.z
        )
    if kind == CAPSULE:
        return Vec3(0.0, 0.0, size.y if d.z >= 0.0 else -size.y)
    if has_rims(kind):
        ends, across = rims(kind, size), np.sqrt(d.x * d.x + d.y * d.y)
        upper = (ends.top - ends.bottom) * across + (ends.high - ends.low) * d.z >= 0.0
        radius, z = (ends.top, ends.high) if upper else (ends.bottom, ends.low)
        return Vec3(radius * d.x / across, radius * d.y / across, z) if across > 0.0 else Vec3(0.0, 0.0, z)
    if kind == ELLIPSOID:  # the foremost point of the unit ball along the stretched direction, stretched
        a = Vec3(size.x * d.x, size.y * d.y, size.z * d.z)
        length = norm(a)
        a = a / length if length > 0.0 else Vec3(1.0, 0.0, 0.0)
        return Vec3(size.x * a.x, size.y * a.y, size.z * a.z)
    return row3(vertex, foremost_vertex(vertex, d))


@kernel
def spread_direction(k):
    """Unit vector k of SPREAD_DIRECTIONS: both ends of the axes, then the diagonals of the octants."""
    if k < 6:
        sign = 1.0 if k % 2 == 0 else -1.0
        return Vec3(sign if k < 2 else 0.0, sign if 2 <= k < 4 else 0.0, sign if k >= 4 else 0.0)
    part = np.sqrt(1.0 / 3.0)
    return Vec3(part if k & 1 else -part, part if k & 2 else -part, part if k & 4 else -part)


@kernel(inline="always")
def support(part, d):
    """Support function: a point of the core that is farthest along d, in the frame of the world."""
    core, pose = part.core, part.pose
    return world_point(pose, foremost_point(core.kind, core.size, core.vertex, to_local(pose.turn, d)))


@kernel(inline="always")
def difference(a, b, d):
    """Support function of the Minkowski difference b - a of the cores of two parts."""
    return support(b, d) - support(a, -d)


# ---- the parts of bodies in a step


class Moving(NamedTuple):
    """A part in the step: its shape, and its poses at the start and at the end."""

    core: Core
    start: Pose
    end: Pose


class Bodies(NamedTuple):
    """All that the narrow phase knows about bodies: shapes, poses of parts in the step, margins of contacts."""

    shapes: Shapes3D
    placed: Placed
    margins: Floats  # (n,) of two bodies the larger one counts


@kernel(inline="always")
def moving_part(bodies, k):
    """Number k of the placed parts in the step."""
    shapes, placed = bodies.shapes, bodies.placed
    return Moving(core_of(shapes, shapes.shape[placed.part[k]]), pose_at(placed.pose0, k), pose_at(placed.pose1, k))
