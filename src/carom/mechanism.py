"""Joints of a world as rows `B v = b` on velocities and `phi(q) = 0` on positions: errors, rows, elimination.

A joint consists of scalar rows. Each holds a function phi of the poses of two bodies at 0; the second number of a body
is -1 where the joint is fixed to the world. With p and r points and directions that are fixed to the first (a) or the
second body (b), and e a direction:

    ALONG_WORLD   phi = e . (p_b - p_a) - c             e fixed in the world: coincident points (pin, ball)
    ALONG_FIRST   phi = e_a . (p_b - p_a) - c           e fixed to the first body: a slider
    DISTANCE      phi = |p_b - p_a| - c                 a rod
    ANGLE         phi = angle_b - angle_a - c           no relative rotation in 2D
    SQUARE        phi = r_a . r_b                       perpendicular directions: axes of hinges, welds in 3D

Rows are whitened like those of contacts (`solvers/rows.py`). Bodies that rows connect form a mechanism. Rows of a
mechanism are neighbors, in the order of a walk through its joints, so that `K = B B^T` has a narrow envelope: a chain
costs as much as it has links. Redundant rows of closed loops have a pivot of zero in its factorization and are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .geometry.rotations import matrix_value
from .geometry.vectors import Mat3, Vec3, cross, dot, norm, to_local, to_world
from .kernels import kernel, lean
from .solvers.rows import Floats, Ints

ALONG_WORLD, ALONG_FIRST, DISTANCE, ANGLE, SQUARE = range(5)
ROPE, LOWER_ANGLE, UPPER_ANGLE, LOWER_SLIDE, UPPER_SLIDE = range(5)  # kinds of one-sided joints
NOT_DRAWN = "none"  # kind, for pictures, of springs without force: they only keep bodies from touching
RANK = 1e-11  # pivot, relative to the diagonal of K, below which a row is redundant
ZERO_ROW = 1e-20  # squared length, relative to that before: contact rows of which joints leave less act on nothing


class JointRows(NamedTuple):
    """J rows of joints of n bodies, and the k mechanisms that they form, for kernels."""

    kind: Ints  # (J,)
    body: Ints  # (J, 2) -1 for the world
    anchor: Floats  # (J, 2, 3) points in the frames of the bodies
    direction: Floats  # (J, 2, 3) directions in the frames of the bodies; of ALONG_WORLD the first, in the world
    offset: Floats  # (J,) c
    low: Ints  # (J,) first column of row i of K that is not zero
    start: Ints  # (J + 1,) where the row i of K begins in the envelope
    ptr: Ints  # (n + 1,) body b is moved by the rows rows[ptr[b]:ptr[b+1]], ascending
    rows: Ints
    mechanism: Ints  # (n,) of each body, -1 for none
    row_ptr: Ints  # (k + 1,) rows of each mechanism
    member_ptr: Ints  # (k + 1,) free bodies of each mechanism
    member: Ints


class OneSided(NamedTuple):
    """S ropes and limits: contacts without a shape, which close when a length or an angle reaches its bound."""

    kind: Ints  # (S,)
    body: Ints  # (S, 2)
    anchor: Floats  # (S, 2, 3)
    direction: Floats  # (S, 2, 3) of limits: axis in the frame of the first body (or of both), ...
    zero: Floats  # (S, 2, 3) ... directions across it that are parallel at angle 0
    bound: Floats  # (S,) length, angle or displacement
    arm: Floats  # (S,) length by which angles are multiplied
    restitution: Floats  # (S,)


class Springs(NamedTuple):
    """Springs with dampers between two points: force `stiffness (|d| - length) + damping |d|'`."""

    body: Ints  # (s, 2)
    anchor: Floats  # (s, 2, 3)
    stiffness: Floats
    damping: Floats
    length: Floats


class Motors(NamedTuple):
    """Motors hold the speed of a hinge about its axis, or of a slider along it, up to a largest torque or force."""

    turns: np.ndarray  # (s,) bool: about the axis
    body: Ints  # (s, 2)
    anchor: Floats  # (s, 2, 3)
    direction: Floats  # (s, 2, 3) axis in the frames of the bodies
    speed: Floats
    most: Floats


class Linearization(NamedTuple):
    """Whitened joint rows at a pose, and the factor of `K = B B^T`."""

    val: Floats  # (J, 2, d)
    lower: Floats  # envelope of the Cholesky factor, with inverse pivots; those of redundant rows are zero


@dataclass(eq=False)
class Mechanisms:
    """The joints of a world."""

    rows: JointRows
    one_sided: OneSided
    springs: Springs
    motors: Motors
    apart: Ints  # (p,) pairs of bodies that do not touch each other, as first * n + second, ascending
    owner: Ints  # (J,) joint of the scene of each row
    labels: tuple[str, ...]  # of the joints of the scene
    pairs: Ints  # (joints, 2) bodies of the joints of the scene
    kinds: tuple[str, ...]  # of the joints of the scene, for pictures
    anchor: Floats  # (joints, 2, 3) their points in the frames of the bodies
    axis: Floats  # (joints, 3) in the frame of the first body; zero without one
    length: Floats  # (joints,) of ropes and springs at rest; zero for others
    kept: list[tuple[Floats, Floats, Linearization]] = field(default_factory=list, repr=False)  # of the last poses

    def at(self, position: Floats, orientation: Floats, root: Floats) -> Linearization:
        """The rows and their factor at a pose; those of the last two poses are kept."""
        for place, turn, made in self.kept:
            if place is position and turn is orientation:
                return made
        made = Linearization(*linearize(self.rows, position, orientation.reshape(len(position), -1), root))
        self.keep(position, orientation, made)
        return made

    def keep(self, position: Floats, orientation: Floats, made: Linearization) -> None:
        """Keeps what was computed for a pose; nothing may write into its arrays any more."""
        self.kept = [(position, orientation, made), *self.kept[:1]]

    def of(self, number: Ints) -> Mechanisms | None:
        """The joints in a world of some bodies; `number` (n,) has their new numbers, and -1 for all others.

        None if a body with a joint is not one of them: in a step all are, but contacts are searched among fewer.
        """
        bodies, old, new = np.flatnonzero(number >= 0), len(number), int((number >= 0).sum())
        if (number[self.pairs[self.pairs >= 0]] < 0).any():
            return None
        shown = np.append(number, -1)  # -1, the world, stays what it is
        counts, rows = np.diff(self.rows.ptr), self.rows
        rows = rows._replace(
            body=shown[rows.body],
            ptr=np.concatenate([[0], np.cumsum(counts[bodies])]),
            mechanism=rows.mechanism[bodies],
            member=number[rows.member],
        )
        parts = {name: getattr(self, name) for name in ("one_sided", "springs", "motors")}
        moved: dict[str, Any] = {name: part._replace(body=shown[part.body]) for name, part in parts.items()}
        apart = number[self.apart // old] * new + number[self.apart % old]
        return replace(self, rows=rows, apart=apart, pairs=shown[self.pairs], kept=[], **moved)

    def holds(self, count: int) -> NDArray[np.bool_]:
        """Which of `count` bodies have a joint."""
        held = np.zeros(count, np.bool_)
        held[self.pairs[self.pairs >= 0]] = True
        return held

    def fixed_points(self, dimension: int) -> Floats:
        """The points (m, D) of the world to which joints are fixed."""
        return np.ascontiguousarray(self.anchor[self.pairs < 0][:, :dimension])

    @property
    def adds_energy(self) -> bool:
        """Whether a motor drives the world."""
        return bool(len(self.motors.speed)) and bool((self.motors.speed * self.motors.most).any())

    @property
    def dissipates(self) -> bool:
        """Whether dampers, brakes, or ropes and limits with a restitution below 1 take energy."""
        inelastic = bool((self.one_sided.restitution < 1.0).any())
        return inelastic or bool(self.springs.damping.any()) or bool(len(self.motors.speed))

    @property
    def to_world(self) -> bool:
        """Whether a joint is fixed to the world."""
        return bool((self.pairs < 0).any())

    def ends(self, position: Floats, orientation: Floats) -> Floats:
        """The points (joints, 2, 3) of all joints of the scene at a pose."""
        found: Floats = ends_of(self.pairs, self.anchor, position, orientation.reshape(len(position), -1))
        return found


# ---- geometry


@kernel(inline="always")
def frame_of(turn, b):
    """The rotation matrix of body b, of orientations (n, 1) or (n, 4); that of the world for -1."""
    if b < 0:
        return Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
    if turn.shape[1] == 1:
        c, s = np.cos(turn[b, 0]), np.sin(turn[b, 0])
        return Mat3(Vec3(c, -s, 0.0), Vec3(s, c, 0.0), Vec3(0.0, 0.0, 1.0))
    return matrix_value(turn[b])


@kernel(inline="always")
def place_of(position, b):
    """The place of body b; the origin for -1."""
    if b < 0:
        return Vec3(0.0, 0.0, 0.0)
    return Vec3(position[b, 0], position[b, 1], position[b, 2] if position.shape[1] == 3 else 0.0)


@kernel(inline="always")
def entry(table, i, side):
    """A vector of a table (m, 2, 3)."""
    return Vec3(table[i, side, 0], table[i, side, 1], table[i, side, 2])


@kernel
def ends_of(body, anchor, position, turn):
    """The points (m, 2, 3) in the world of anchors (m, 2, 3) of bodies (m, 2)."""
    out = np.empty_like(anchor)
    for k in range(len(body)):
        for side in range(2):
            b = body[k, side]
            p = place_of(position, b) + to_world(frame_of(turn, b), entry(anchor, k, side))
            out[k, side, 0], out[k, side, 1], out[k, side, 2] = p.x, p.y, p.z
    return out


@kernel
def geometry_of(joints, i, position, turn):
    """phi of row i, its direction e, the points at which it acts on both bodies, and its axis, if it is a torque."""
    a, b, kind = joints.body[i, 0], joints.body[i, 1], joints.kind[i]
    first, second, none = frame_of(turn, a), frame_of(turn, b), Vec3(0.0, 0.0, 0.0)
    if kind == ANGLE:
        angle = (turn[b, 0] if b >= 0 else 0.0) - (turn[a, 0] if a >= 0 else 0.0)
        return angle - joints.offset[i], none, none, none, Vec3(0.0, 0.0, 1.0)
    if kind == SQUARE:
        u, w = to_world(first, entry(joints.direction, i, 0)), to_world(second, entry(joints.direction, i, 1))
        return dot(u, w), none, none, none, cross(w, u)
    p = place_of(position, a) + to_world(first, entry(joints.anchor, i, 0))
    q = place_of(position, b) + to_world(second, entry(joints.anchor, i, 1))
    if kind == DISTANCE:
        length = norm(q - p)
        e = (q - p) / length if length > 0.0 else Vec3(1.0, 0.0, 0.0)
        return length - joints.offset[i], e, p, q, none
    e = entry(joints.direction, i, 0)
    if kind == ALONG_FIRST:
        e = to_world(first, e)
        return dot(e, q - p) - joints.offset[i], e, q, q, none
    return dot(e, q - p) - joints.offset[i], e, p, q, none


@kernel
def joint_errors(joints, position, turn):
    """phi (J,) at a pose."""
    out = np.empty(len(joints.kind))
    for i in range(len(out)):
        out[i] = geometry_of(joints, i, position, turn)[0]
    return out


@kernel
def put_push(out, e, axis, arm, frame, root):
    """Writes the whitened row (d,) of a body for a force along e at an arm, and a torque along an axis."""
    dim = 2 if len(root) == 3 else 3
    torque = cross(arm, e) + axis
    for c in range(dim):
        out[c] = e[c] * root[c]
    if dim == 2:
        out[2] = torque.z * root[2]
        return
    own = to_local(frame, torque)
    for c in range(3):
        out[3 + c] = own[c] * root[3 + c]


@kernel
def put_joint_rows(joints, position, turn, root, val):
    """Writes the whitened rows (J, 2, d) at a pose; entries of bodies that are not free are zero."""
    for i in range(len(val)):
        _, e, p, q, axis = geometry_of(joints, i, position, turn)
        for side in range(2):
            b, sign = joints.body[i, side], -1.0 if side == 0 else 1.0
            if b < 0:
                val[i, side] = 0.0
                continue
            arm = (p if side == 0 else q) - place_of(position, b)
            put_push(val[i, side], sign * e, sign * axis, arm, frame_of(turn, b), root[b])


@kernel
def prescribed_speeds(joints, position, turn, velocity, free):
    """Speeds (J,) of the rows by the bodies that impulses do not move."""
    out, ones, row = np.zeros(len(joints.kind)), np.ones(velocity.shape[1]), np.empty(velocity.shape[1])
    for i in range(len(out)):
        for side in range(2):
            b = joints.body[i, side]
            if b < 0 or free[b]:
                continue
            _, e, p, q, axis = geometry_of(joints, i, position, turn)
            sign = -1.0 if side == 0 else 1.0
            arm = (p if side == 0 else q) - place_of(position, b)
            put_push(row, sign * e, sign * axis, arm, frame_of(turn, b), ones)
            for c in range(len(row)):
                out[i] += row[c] * velocity[b, c]
    return out


# ---- elimination


@kernel
def linearize(joints, position, turn, root):
    """The parts of a `Linearization`."""
    count = len(joints.kind)
    val, lower = np.zeros((count, 2, root.shape[1])), np.zeros(joints.start[count])
    put_joint_rows(joints, position, turn, root, val)
    for i in range(count):
        begin, low = joints.start[i], joints.low[i]
        for side in range(2):
            b = joints.body[i, side]
            if b < 0:
                continue
            for e in range(joints.ptr[b], joints.ptr[b + 1]):
                j = joints.rows[e]
                if j > i:
                    break
                other, total = 0 if joints.body[j, 0] == b else 1, 0.0
                for c in range(val.shape[2]):
                    total += val[i, side, c] * val[j, other, c]
                lower[begin + j - low] += total
        whole = lower[begin + i - low]
        for j in range(low, i + 1):
            at, total = joints.start[j] - joints.low[j], lower[begin + j - low]
            for k in range(max(low, joints.low[j]), j):
                total -= lower[begin + k - low] * lower[at + k]
            if j < i:
                lower[begin + j - low] = total * lower[at + j]
            else:
                lower[begin + i - low] = 1.0 / np.sqrt(total) if total > RANK * whole else 0.0
    return val, lower


@lean
def eliminate(joints, lower, first, last, y):
    """Solves `K y = y` in place for the rows first to last of one mechanism, or several; redundant rows get 0."""
    for i in range(first, last):
        begin, total = joints.start[i] - joints.low[i], y[i]
        for k in range(joints.low[i], i):
            total -= lower[begin + k] * y[k]
        y[i] = total * lower[begin + i]
    for i in range(last - 1, first - 1, -1):
        begin = joints.start[i] - joints.low[i]
        y[i] *= lower[begin + i]
        for k in range(joints.low[i], i):
            y[k] -= lower[begin + k] * y[i]


@kernel
def joint_speeds(joints, val, x, base):
    """`B x + base` (J,) for whitened velocities x (n, d)."""
    out = base.copy()
    for i in range(len(out)):
        for side in range(2):
            b = joints.body[i, side]
            if b >= 0:
                for c in range(x.shape[1]):
                    out[i] += val[i, side, c] * x[b, c]
    return out


@kernel
def add_reactions(joints, val, y, x):
    """Adds `B^T y` to the whitened velocities x (n, d), in place."""
    for i in range(len(y)):
        for side in range(2):
            b = joints.body[i, side]
            if b >= 0:
                for c in range(x.shape[1]):
                    x[b, c] += val[i, side, c] * y[i]


@kernel
def allowed(joints, val, lower, base, root, velocity):
    """The velocities (n, d) nearest to `velocity` in the mass metric that hold all rows at the speeds `-base` (J,)."""
    out, x = velocity.copy(), np.zeros_like(velocity)
    for e in range(len(joints.member)):
        b = joints.member[e]
        for c in range(x.shape[1]):
            x[b, c] = velocity[b, c] / root[b, c] if root[b, c] > 0.0 else 0.0
    y = -joint_speeds(joints, val, x, base)
    eliminate(joints, lower, 0, len(y), y)
    add_reactions(joints, val, y, x)
    for e in range(len(joints.member)):
        b = joints.member[e]
        for c in range(x.shape[1]):
            if root[b, c] > 0.0:
                out[b, c] = x[b, c] * root[b, c]
    return out


# ---- contact rows on the motions that joints allow


@kernel
def _width(joints, body):
    """The most bodies that a contact moves through joints, at least 2."""
    width = 2
    for i in range(len(body)):
        count, last = 2, -1
        for side in range(2):
            k = joints.mechanism[body[i, side]] if body[i, side] >= 0 else -1
            if k >= 0:
                count -= 1
            if k >= 0 and k != last:
                count += joints.member_ptr[k + 1] - joints.member_ptr[k]
                last = k
        width = max(width, count)
    return width


@kernel
def jointed_rows(joints, at, rows, x):
    """Bodies (m, w), rows (m, w, r, d) and constant speeds (m, r) of contacts on the motions that joints allow.

    A row g of two bodies becomes `g - B^T K^-1 B g`, which moves all bodies of their mechanisms; the first two are
    those of the contact. The part of its speed that no impulse changes, `(B^T K^-1 B g) . x`, is added to the constant
    speeds. `at` is a `Linearization`, x (n, d) are whitened velocities.
    """
    body, val, base = rows.body, rows.val, rows.base
    (m, _, r, d), w = val.shape, _width(joints, body)
    out_body, out_val, out_base = np.full((m, w), -1, np.int64), np.zeros((m, w, r, d)), base.copy()
    y, slot = np.zeros(len(joints.kind)), np.empty(len(joints.mechanism), np.int64)
    for i in range(m):
        count = 2
        for side in range(2):
            b = body[i, side]
            out_body[i, side], out_val[i, side] = b, val[i, side]
            if b >= 0:
                slot[b] = side
        last = -1
        for side in range(2):
            b = body[i, side]
            k = joints.mechanism[b] if b >= 0 else -1
            if k < 0 or k == last:
                continue
            last = k
            for e in range(joints.member_ptr[k], joints.member_ptr[k + 1]):
                other = joints.member[e]
                if other != body[i, 0] and other != body[i, 1]:
                    out_body[i, count], slot[other] = other, count
                    count += 1
            for row in range(r):
                _project(joints, at, (i, side, row, k), rows, (out_val, out_base), (slot, y, x))
    return out_body, out_val, out_base


@lean
def _project(joints, at, which, rows, out, scratch):
    """Removes from one row of a contact what the joints of mechanism k hold."""
    (i, side, row, k), (val, base), (slot, y, x) = which, out, scratch
    first, last = joints.row_ptr[k], joints.row_ptr[k + 1]
    before = 0.0
    for j in range(first, last):
        y[j] = 0.0
    for s in range(side, 2):
        b = rows.body[i, s]
        if b < 0 or joints.mechanism[b] != k:
            continue
        for c in range(x.shape[1]):
            before += rows.val[i, s, row, c] ** 2
        for e in range(joints.ptr[b], joints.ptr[b + 1]):
            j = joints.rows[e]
            own = 0 if joints.body[j, 0] == b else 1
            for c in range(x.shape[1]):
                y[j] += at.val[j, own, c] * rows.val[i, s, row, c]
    eliminate(joints, at.lower, first, last, y)
    for j in range(first, last):
        for own in range(2):
            b = joints.body[j, own]
            if b >= 0 and joints.mechanism[b] == k and y[j] != 0.0:
                for c in range(x.shape[1]):
                    held = at.val[j, own, c] * y[j]
                    val[i, slot[b], row, c] -= held
                    base[i, row] += held * x[b, c]
    after = 0.0
    for e in range(joints.member_ptr[k], joints.member_ptr[k + 1]):
        for c in range(x.shape[1]):
            after += val[i, slot[joints.member[e]], row, c] ** 2
    if after <= ZERO_ROW * before:
        for e in range(joints.member_ptr[k], joints.member_ptr[k + 1]):
            for c in range(x.shape[1]):
                b = joints.member[e]
                base[i, row] += val[i, slot[b], row, c] * x[b, c]
                val[i, slot[b], row, c] = 0.0
