"""Motion of bodies within a step: poses in between, bounds on displacements, and the pairs that may meet.

Within a step a body moves straight from its position at the start to that at the end, and rotates steadily about a
fixed axis, in 3D by less than half a turn. With the displacement w of its center c and its rotation vector s, a point x
has the velocity `w + s x (x - c)` per step. For points that are at most r from the center this bounds

    |w| + |s| r              the length of the path of the point, and with it its displacement,
    n . w + |s x n| r        its displacement along a unit vector n.

The rotation of discs and spheres does not count. 2D worlds lie in the plane z = 0 and share the code of 3D worlds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.rotations import matrix_of, vector_between
from ..geometry.vectors import Mat3, Pose, Vec3, cross, dot, norm, put_row, row3, transposed
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from ..world import State, World
from .pairs import FIRST, IMAGE, NO_IMAGE, SECOND, Pairs, image_drift, image_offset, sides_in_step

FAR_MOTION = 0.5  # relative displacement, in half widths of the thinner body, up to which a pair cannot cross
SPHERE_ROUNDING = 1e-9  # by this fraction bounding spheres are larger, so that rounding does not part those that touch


class Motion(NamedTuple):
    """Motion of one body in a step, from time 0 to time 1."""

    position: Vec3  # of its center at the start
    displacement: Vec3  # from there to the end
    turn: Mat3  # rotation matrix at the start
    spin: Vec3  # rotation vector of the step, in radians, in the frame of the world


class Motions(NamedTuple):
    """Motions of rows: bodies, or periodic images of them."""

    owner: Ints  # (rows,) the body of a row
    position: Floats  # (rows, 3)
    displacement: Floats  # (rows, 3)
    turn: Floats  # (rows, 3, 3)
    spin: Floats  # (rows, 3)


# ---- poses


@lean
def motion_of(motions, row):
    """The motion of a row."""
    turn = motions.turn[row]
    return Motion(
        row3(motions.position, row),
        row3(motions.displacement, row),
        Mat3(row3(turn, 0), row3(turn, 1), row3(turn, 2)),
        row3(motions.spin, row),
    )


@kernel
def pose_at(motion, time):
    """The pose of a body at a time of the step."""
    position = motion.position + time * motion.displacement
    angle = norm(motion.spin)
    if angle == 0.0 or time == 0.0:
        return Pose(position, motion.turn)
    axis = motion.spin / angle
    c, s = np.cos(time * angle), np.sin(time * angle)
    columns = transposed(motion.turn)
    x = _rotated(columns.x, axis, c, s)
    y = _rotated(columns.y, axis, c, s)
    z = _rotated(columns.z, axis, c, s)
    return Pose(position, transposed(Mat3(x, y, z)))


@kernel(inline="always")
def _rotated(a, axis, c, s):
    """Rodrigues' formula: a vector, rotated about a unit vector by an angle with cosine c and sine s."""
    return c * a + s * cross(axis, a) + ((1.0 - c) * dot(axis, a)) * axis


@kernel
def pair_motions(world_round, table, sides, before, after, turn0, turn1, step):
    """The motions of the first bodies of m pairs, then those of the second ones or their periodic images.

    before, after (n, D) are positions at both ends of the step; turn0, turn1 (n, 1 or 4) orientations. Also returns the
    velocities (m, 3) of the images of the second bodies relative to these.
    """
    m, dim = len(table), before.shape[1]
    drift = np.zeros((m, 3))
    out = Motions(
        np.empty(2 * m, np.int64), np.zeros((2 * m, 3)), np.zeros((2 * m, 3)), np.zeros((2 * m, 3, 3)),
        np.zeros((2 * m, 3)),
    )  # fmt: skip
    for row in range(2 * m):
        k, second = (row, False) if row < m else (row - m, True)
        i, image = table[k, SECOND] if second else table[k, FIRST], table[k, IMAGE] if second else NO_IMAGE
        out.owner[row] = i
        for d in range(dim):
            out.position[row, d], out.displacement[row, d] = before[i, d], after[i, d] - before[i, d]
        if image != NO_IMAGE:
            offset, moved = image_offset(sides, image, sides.start), image_drift(sides, image)
            put_row(drift, k, moved)
            put_row(out.position, row, row3(out.position, row) + offset)
            put_row(out.displacement, row, row3(out.displacement, row) + step * moved)
        if world_round[i]:
            for d in range(3):
                out.turn[row, d, d] = 1.0
        elif dim == 2:
            c, s = np.cos(turn0[i, 0]), np.sin(turn0[i, 0])
            out.turn[row, 0, 0], out.turn[row, 0, 1] = c, -s
            out.turn[row, 1, 0], out.turn[row, 1, 1] = s, c
            out.turn[row, 2, 2] = 1.0
            out.spin[row, 2] = turn1[i, 0] - turn0[i, 0]
        else:
            matrix_of(turn0[i], out.turn[row])
            if _angle(turn0[i], turn1[i]) > 0.0:
                put_row(out.spin, row, vector_between(turn0[i], turn1[i]))
    return out, drift


# ---- bounds


class Displacements(NamedTuple):
    """Bounds on the displacements of all bodies in a step."""

    center: Floats  # (n,) of the center
    rotation: Floats  # (n,) of any point by rotation about the center
    largest: float  # of any point of any body

    @property
    def total(self) -> Floats:
        """(n,) Bounds on the displacement of any point of each body."""
        return self.center + self.rotation


def displacements(world: World, before: State, after: State, relative: bool = False) -> Displacements:
    """Bounds on displacements between two states, on request relative to the mean displacement of the bodies."""
    shapes, n = world.shapes, world.count
    turn0, turn1 = before.orientation.reshape(n, -1), after.orientation.reshape(n, -1)
    args = (before.position, after.position, turn0, turn1, shapes.round, shapes.radius, relative)
    return Displacements(*displacement_bounds(*args))


def relative_displacements(pairs: Pairs, before: State, after: State) -> Displacements:
    """Bounds on displacements relative to other bodies and their images: without what all bodies have in common."""
    found = displacements(pairs.world, before, after, pairs.shared)
    if pairs.world.periodic is None:
        return found
    speed = sides_in_step(pairs.world.periodic, before.time, after.time).speed
    slide = abs(speed) * (after.time - before.time)
    return Displacements(found.center + slide, found.rotation, found.largest + slide) if slide > 0.0 else found


def moves_far(pairs: Pairs, moved: Displacements) -> bool:
    """Whether some pair may move far enough to cross: see FAR_MOTION."""
    return moved.largest > 0.5 * FAR_MOTION * pairs.least


@kernel
def displacement_bounds(before, after, turn0, turn1, is_round, radius, relative):
    """The entries of `Displacements`, on request relative to the mean displacement."""
    n, dim = before.shape
    common = np.zeros(dim)
    if relative:
        for i in range(n):
            for d in range(dim):
                common[d] += (after[i, d] - before[i, d]) / n
    center, rotation, largest = np.empty(n), np.zeros(n), 0.0
    for i in range(n):
        square = 0.0
        for d in range(dim):
            e = after[i, d] - before[i, d] - common[d]
            square += e * e
        center[i] = np.sqrt(square)
        if not is_round[i]:
            rotation[i] = _angle(turn0[i], turn1[i]) * radius[i]
        largest = max(largest, center[i] + rotation[i])
    return center, rotation, largest


@kernel
def _angle(before, after):
    """The angle between two orientations, angles (1,) or unit quaternions (4,) p and q: `4 arcsin(|q - p| / 2)`."""
    if len(before) == 1:
        return abs(after[0] - before[0])
    near = far = 0.0
    for k in range(4):
        near += (after[k] - before[k]) ** 2
        far += (after[k] + before[k]) ** 2  # -p is the same rotation as p
    square = min(near, far)
    return 4.0 * np.arcsin(min(0.5 * np.sqrt(square), 1.0)) if square > 0.0 else 0.0


@kernel(inline="always")
def displacement_at(velocity, i, arm, dimension, time):
    """Bound on the displacement of any point of body i if it keeps its velocity, of (n, d), for a time.

    `arm` (n,) are the radii of the bodies, 0 for round ones.
    """
    speed = spin = 0.0
    for c in range(velocity.shape[1]):
        if c < dimension:
            speed += velocity[i, c] * velocity[i, c]
        else:
            spin += velocity[i, c] * velocity[i, c]
    return time * (np.sqrt(speed) + np.sqrt(spin) * arm[i])


@kernel
def meeting_pairs(table, sides, before, after, rotation, radius, inner, overlap):
    """Numbers of the candidate pairs that move far and whose bounding spheres meet within the step.

    A pair moves far if the displacement of its centers relative to each other plus the `rotation` (n,) of both bodies
    is more than FAR_MOTION half widths `inner` (n,) of the thinner one. Bounding spheres meet if they overlap by
    `overlap` such half widths.
    """
    numbers, m = np.empty(len(table), np.int64), 0
    for k in range(np.uint64(len(table))):  # an index that may be negative costs a test for each array
        i, j, image = np.uint64(table[k, FIRST]), np.uint64(table[k, SECOND]), table[k, IMAGE]
        square, along, fast = 0.0, 0.0, 0.0
        offset0 = offset1 = Vec3(0.0, 0.0, 0.0)
        if image != NO_IMAGE:
            offset0, offset1 = image_offset(sides, image, sides.start), image_offset(sides, image, sides.end)
        for d in range(before.shape[1]):
            e, f = before[j, d] - before[i, d] + offset0[d], after[j, d] - after[i, d] + offset1[d]
            v = f - e
            square += e * e
            along += e * v
            fast += v * v
        half, turned = min(inner[i], inner[j]), rotation[i] + rotation[j]
        if np.sqrt(fast) + turned <= FAR_MOTION * half:
            continue
        t = min(max(-along / fast, 0.0), 1.0) if fast > 0.0 else 0.0
        reach = (radius[i] + radius[j]) * (1.0 + SPHERE_ROUNDING) - overlap * half
        if reach > 0.0 and square + t * (2.0 * along + t * fast) <= reach * reach:
            numbers[m] = k
            m += 1
    return numbers[:m]
