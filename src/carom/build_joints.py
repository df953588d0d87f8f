"""From the joints of a scene to those of its world, with their checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ProblemError
from .geometry import rotations
from .mechanism import (
    ALONG_FIRST,
    ALONG_WORLD,
    ANGLE,
    DISTANCE,
    LOWER_ANGLE,
    LOWER_SLIDE,
    NOT_DRAWN,
    ROPE,
    SQUARE,
    JointRows,
    Mechanisms,
    Motors,
    OneSided,
    Springs,
    joint_speeds,
    prescribed_speeds,
)
from .scene.joints import KINDS, WORLD, BallJoint, Hinge, Joint, Pin, Rod, Rope, Slider, Spring, Weld
from .scene.model import Scene
from .solvers.rows import Floats, Ints
from .world import State, World

SPEED_TOLERANCE = 1e-9  # of the fastest body: joints that velocities at the start violate by more are an error
CONSISTENT = 1e-9  # share of the prescribed speeds of a mechanism that no velocity meets, which is rounding
STABLE = 1.0  # largest product of the time step and the angular frequency of a spring between its two bodies


def make_joints(scene: Scene, world: World, state: State) -> Mechanisms | None:
    """The joints of a scene, whose bodies are at the start; None if it has none."""
    if not scene.joints:
        return None
    made = _Maker(scene, world, state)
    for k, joint in enumerate(scene.joints):
        made.add(k, joint)
    joints = made.mechanisms()
    _check_velocities(joints, world, state)
    return joints


def label_of(k: int, joint: Joint) -> str:
    """How messages name a joint."""
    return f"joints[{k}]" + (f" ({joint.name})" if joint.name else f" ({joint.kind})")


class _Maker:
    """Collects rows, ropes, springs and motors."""

    def __init__(self, scene: Scene, world: World, state: State) -> None:
        self.scene, self.world, self.state, self.dim = scene, world, state, world.dimension
        self.rows: list[tuple[int, int, int, Floats, Floats, float, int]] = []
        self.one_sided: list[tuple[Any, ...]] = []
        self.springs: list[tuple[Any, ...]] = []
        self.motors: list[tuple[Any, ...]] = []
        self.apart: set[int] = set()
        self.pairs: list[tuple[int, int]] = []
        self.labels: list[str] = []
        self.drawn: list[tuple[str, Floats, Floats, float]] = []
        self.names = _names(scene)

    # ---- bodies and frames

    def body(self, path: str, given: int | str) -> int:
        """The number of a body; -1 for the world."""
        if given == WORLD:
            return -1
        if isinstance(given, str):
            found = re.fullmatch(r"(.*)\[(\d+)\]", given)
            name, index = (found[1], int(found[2])) if found else (given, None)
            if name not in self.names:
                raise ProblemError.unknown(f"{path}: body", given, [*self.names, WORLD])
            first, count = self.names[name]
            if index is None and count > 1:
                raise ProblemError(path, given, f"one of its {count} bodies: {name}[0] to {name}[{count - 1}]")
            if index is not None and index >= count:
                raise ProblemError(path, given, f"{name}[0] to {name}[{count - 1}]")
            return first + (index or 0)
        if not 0 <= given < self.world.count:
            raise ProblemError(path, given, f"a number from 0 to {self.world.count - 1}, a name, or {WORLD!r}")
        return int(given)

    def turn(self, b: int) -> Floats:
        """The rotation matrix (3, 3) of a body."""
        if b < 0:
            return np.eye(3)
        if self.dim == 3:
            found: Floats = rotations.matrices(self.state.orientation[b : b + 1])[0]
            return found
        c, s = np.cos(self.state.orientation[b]), np.sin(self.state.orientation[b])
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def local(self, b: int, point: Floats) -> Floats:
        """A point of the world in the frame of a body."""
        place = np.zeros(3)
        if b >= 0:
            place[: self.dim] = self.state.position[b]
        return np.asarray(self.turn(b).T @ (point - place))

    def directed(self, b: int, direction: Floats) -> Floats:
        """A direction of the world in the frame of a body."""
        return np.asarray(self.turn(b).T @ direction)

    def vector(self, given: Any) -> Floats:
        """A vector of the scene with three components."""
        out = np.zeros(3)
        out[: self.dim] = given
        return out

    # ---- joints

    def add(self, k: int, joint: Joint) -> None:
        path = f"joints[{k}]"
        if not isinstance(joint, tuple(KINDS.values())):
            raise ProblemError(path, type(joint).__name__, "a joint, such as Pin or Rod")
        joint.in_dimension(self.dim, path)
        a, b = (self.body(f"{path}.bodies[{side}]", given) for side, given in enumerate(joint.bodies))
        if a == b:
            raise ProblemError(f"{path}.bodies", joint.bodies, "two different bodies")
        if not any(body >= 0 and self.world.free[body] for body in (a, b)):
            raise ProblemError(f"{path}.bodies", joint.bodies, "at least one body that impulses can move")
        self.labels.append(label_of(k, joint))
        ends = joint.ends if isinstance(joint, Rod | Rope | Spring) else (joint.point,) * 2  # type: ignore[attr-defined]
        anchor = np.stack([self.local(body, self.vector(end)) for body, end in zip((a, b), ends)])
        axis = self.directed(a, self.vector(joint.axis)) if isinstance(joint, Hinge | Slider) else np.zeros(3)
        length = getattr(joint, "length", None) or float(np.linalg.norm(self.vector(ends[1]) - self.vector(ends[0])))
        without_force = isinstance(joint, Spring) and joint.stiffness == joint.damping == 0.0
        self.drawn.append((NOT_DRAWN if without_force else joint.kind, anchor, axis, length))
        self.pairs.append((a, b))
        if not joint.collide and min(a, b) >= 0:
            self.apart.add(min(a, b) * self.world.count + max(a, b))
        if isinstance(joint, Rod | Rope | Spring):
            self._between_ends(k, joint, a, b)
        else:
            self._at_point(k, joint, a, b)

    def _row(self, k: int, kind: int, pair: tuple[int, int], anchor: Floats, direction: Floats, offset: float) -> None:
        self.rows.append((kind, *pair, anchor, direction, offset, k))

    def _between_ends(self, k: int, joint: Rod | Rope | Spring, a: int, b: int) -> None:
        p, q = (self.vector(end) for end in joint.ends)
        anchor, distance, none = (
            np.stack([self.local(a, p), self.local(b, q)]),
            float(np.linalg.norm(q - p)),
            np.zeros((2, 3)),
        )
        if isinstance(joint, Rod):
            self._row(k, DISTANCE, (a, b), anchor, none, distance)
            return
        length = distance if joint.length is None else joint.length
        if isinstance(joint, Rope):
            if length < distance * (1.0 - 1e-12):
                wanted = f"at least {distance:g}, the distance of its ends at the start"
                raise ProblemError(f"joints[{k}].length", joint.length, wanted)
            if length == 0.0:
                raise ProblemError(f"joints[{k}].ends", joint.ends, "two different points, or a length")
            self.one_sided.append((ROPE, (a, b), anchor, none, none, length, 1.0, joint.restitution))
            return
        self._check_stiffness(k, joint, a, b)
        self.springs.append(((a, b), anchor, joint.stiffness, joint.damping, length))

    def _check_stiffness(self, k: int, joint: Spring, a: int, b: int) -> None:
        """Verlet's method is stable while the time step is short beside the period."""
        ease = sum(1.0 / self.world.mass[body] for body in (a, b) if body >= 0 and self.world.free[body])
        frequency = float(np.sqrt(joint.stiffness * ease))
        if frequency * self.scene.step > STABLE:
            most, step = (STABLE / self.scene.step) ** 2 / ease, STABLE / frequency
            wanted = f"at most {most:.3g} for the time step {self.scene.step:g}, or a time step of at most {step:.3g}"
            raise ProblemError(f"joints[{k}].stiffness", joint.stiffness, wanted)

    def _at_point(self, k: int, joint: Any, a: int, b: int) -> None:
        point, none = self.vector(joint.point), np.zeros((2, 3))
        anchor = np.stack([self.local(a, point), self.local(b, point)])
        if not isinstance(joint, Slider):
            for c in range(self.dim):
                self._row(k, ALONG_WORLD, (a, b), anchor, np.stack([np.eye(3)[c], np.zeros(3)]), 0.0)
        if isinstance(joint, BallJoint | Pin) and self.dim == 3:
            return
        axis = np.array([0.0, 0.0, 1.0])
        if isinstance(joint, Hinge | Slider):
            axis = self.vector(joint.axis) / np.linalg.norm(joint.axis)
        across = _across(axis, self.dim)
        if isinstance(joint, Slider | Weld):
            self._no_rotation(k, a, b, anchor, none)
        if isinstance(joint, Slider):
            for e in across[: self.dim - 1]:
                self._row(k, ALONG_FIRST, (a, b), anchor, np.stack([self.directed(a, e), np.zeros(3)]), 0.0)
        if isinstance(joint, Hinge):
            for e in across:
                self._row(k, SQUARE, (a, b), anchor, np.stack([self.directed(a, e), self.directed(b, axis)]), 0.0)
        if isinstance(joint, Weld):
            return
        self._limits(joint, (a, b), anchor, axis, across[0])
        if joint.speed is not None:
            most = joint.force if isinstance(joint, Slider) else joint.torque
            both = np.stack([self.directed(a, axis), self.directed(b, axis)])
            self.motors.append((not isinstance(joint, Slider), (a, b), anchor, both, joint.speed, most))

    def _no_rotation(self, k: int, a: int, b: int, anchor: Floats, none: Floats) -> None:
        if self.dim == 2:
            angle = [self.state.orientation[body] if body >= 0 else 0.0 for body in (a, b)]
            self._row(k, ANGLE, (a, b), anchor, none, float(angle[1] - angle[0]))
            return
        for c in range(3):
            u, w = np.eye(3)[c], np.eye(3)[(c + 1) % 3]
            self._row(k, SQUARE, (a, b), anchor, np.stack([self.directed(a, u), self.directed(b, w)]), 0.0)

    def _limits(self, joint: Any, pair: tuple[int, int], anchor: Floats, axis: Floats, across: Floats) -> None:
        if joint.limits is None:
            return
        (a, b), slides = pair, isinstance(joint, Slider)
        both = np.stack([self.directed(a, axis), self.directed(b, axis)])
        zero = np.stack([self.directed(a, across), self.directed(b, across)])
        if self.dim == 2 and not slides:
            zero[0, 2] = sum(
                sign * self.state.orientation[body] for sign, body in ((-1, a), (1, b)) if body >= 0
            )  # the relative angle at the start
        arm = max([np.linalg.norm(p) for p, body in zip(anchor, pair) if body >= 0] + [self.world.length_scale])
        for kind, bound in zip((0, 1), joint.limits):
            code = (LOWER_SLIDE if slides else LOWER_ANGLE) + kind
            self.one_sided.append((code, pair, anchor, both, zero, bound, float(arm), joint.restitution))

    # ---- arrays

    def mechanisms(self) -> Mechanisms:
        one, springs, motors = self.one_sided, self.springs, self.motors
        return Mechanisms(
            rows=self._joint_rows(),
            one_sided=OneSided(
                _ints([r[0] for r in one]), _pairs([r[1] for r in one]),
                *(_vectors([r[c] for r in one]) for c in (2, 3, 4)),
                *(_floats([r[c] for r in one]) for c in (5, 6, 7)),
            ),
            springs=Springs(
                _pairs([r[0] for r in springs]), _vectors([r[1] for r in springs]),
                *(_floats([r[c] for r in springs]) for c in (2, 3, 4)),
            ),
            motors=Motors(
                np.array([r[0] for r in motors], np.bool_), _pairs([r[1] for r in motors]),
                *(_vectors([r[c] for r in motors]) for c in (2, 3)), *(_floats([r[c] for r in motors]) for c in (4, 5)),
            ),
            apart=np.array(sorted(self.apart), np.int64),
            owner=_ints([self.rows[i][6] for i in self.order]),
            labels=tuple(self.labels),
            pairs=_pairs(self.pairs),
            kinds=tuple(kind for kind, *_ in self.drawn),
            anchor=_vectors([anchor for _, anchor, _, _ in self.drawn]),
            axis=np.array([axis for _, _, axis, _ in self.drawn]).reshape(-1, 3),
            length=_floats([length for *_, length in self.drawn]),
        )  # fmt: skip

    def _joint_rows(self) -> JointRows:
        """The rows in the order of a walk through the joints of each mechanism, with the envelope of K."""
        n, free = self.world.count, self.world.free
        moved = [[b for b in row[1:3] if b >= 0 and free[b]] for row in self.rows]
        self.order, row_ptr, members = walk(moved, n)
        rows, moved = [self.rows[i] for i in self.order], [moved[i] for i in self.order]
        of_body: list[list[int]] = [[] for _ in range(n)]
        for i, bodies in enumerate(moved):
            for b in bodies:
                of_body[b].append(i)
        low = _ints([min([of_body[b][0] for b in bodies], default=i) for i, bodies in enumerate(moved)])
        known = {b for group in members for b in group}
        alone = sorted({b for spring in self.springs for b in spring[0] if b >= 0 and free[b]} - known)
        alone += sorted({b for motor in self.motors for b in motor[1] if b >= 0 and free[b]} - known - set(alone))
        groups = [*members, *([b] for b in alone)]
        mechanism = np.full(n, -1, np.int64)
        for k, group in enumerate(groups):
            mechanism[group] = k
        row_ptr += [row_ptr[-1]] * len(alone)
        return JointRows(
            kind=_ints([row[0] for row in rows]),
            body=_pairs([(row[1], row[2]) for row in rows]),
            anchor=_vectors([row[3] for row in rows]),
            direction=_vectors([row[4] for row in rows]),
            offset=_floats([row[5] for row in rows]),
            low=low,
            start=np.concatenate([[0], np.cumsum(np.arange(len(rows)) - low + 1)]).astype(np.int64),
            ptr=np.concatenate([[0], np.cumsum([len(found) for found in of_body])]).astype(np.int64),
            rows=_ints([i for found in of_body for i in found]),
            mechanism=mechanism,
            row_ptr=_ints(row_ptr),
            member_ptr=np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64),
            member=_ints([b for group in groups for b in group]),
        )


def walk(moved: Sequence[Sequence[int]], n: int) -> tuple[list[int], list[int], list[list[int]]]:
    """An order of rows in which neighbors are near, where each mechanism begins in it, and the bodies of each.

    `moved` are the bodies of each row. The walk is breadth first, from a body with few rows at an end of the mechanism
    (reverse Cuthill and McKee without the reversal).
    """
    of_body: dict[int, list[int]] = {}
    for i, bodies in enumerate(moved):
        for b in bodies:
            of_body.setdefault(b, []).append(i)
    order: list[int] = []
    ptr, groups, done = [0], [], set()
    for start in sorted(of_body):
        if start in done:
            continue
        last = _breadth_first(start, of_body, moved)[-1]
        bodies = _breadth_first(last, of_body, moved)
        done.update(bodies)
        seen: set[int] = set()
        for b in bodies:
            for i in of_body[b]:
                if i not in seen:
                    seen.add(i)
                    order.append(i)
        ptr.append(len(order))
        groups.append(sorted(bodies))
    return order, ptr, groups


def _breadth_first(start: int, of_body: dict[int, list[int]], moved: Sequence[Sequence[int]]) -> list[int]:
    out, seen = [start], {start}
    for b in out:
        for i in of_body[b]:
            for other in moved[i]:
                if other not in seen:
                    seen.add(other)
                    out.append(other)
    return out


def _across(axis: Floats, dim: int) -> list[Floats]:
    """Unit vectors that form a right-handed frame with an axis; in 2D the one in the plane comes first."""
    if dim == 2:
        if abs(axis[2]) == 1.0:
            return [np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])]
        return [np.array([-axis[1], axis[0], 0.0]), np.array([0.0, 0.0, 1.0])]
    u = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    u /= np.linalg.norm(u)
    return [u, np.cross(axis, u)]


def _names(scene: Scene) -> dict[str, tuple[int, int]]:
    """First body and number of bodies of each named group; names that occur twice are left out."""
    out: dict[str, tuple[int, int]] = {}
    twice, at = set(), 0
    for group in scene.groups:
        if group.name:
            twice |= {group.name} & out.keys()
            out[group.name] = (at, group.count)
        at += group.count
    return {name: found for name, found in out.items() if name not in twice}


def _check_velocities(joints: Mechanisms, world: World, state: State) -> None:
    """Refuses velocities at the start that joints do not allow."""
    rows, turn = joints.rows, state.orientation.reshape(world.count, -1)
    if not len(rows.kind):
        return
    velocity = state.velocity.copy()
    velocity[~world.free] = 0.0
    for body, motion in world.motions:  # they move as in a first short step
        short = 1e-6
        (p0, t0), (p1, t1) = world.posed(body, motion, 0.0), world.posed(body, motion, short)
        velocity[body, : world.dimension] = (p1 - p0) / short
        velocity[body, world.dimension :] = rotations.spin_to_body(t0, rotations.rotation_between(t0, t1) / short)
    root = world.inverse_sqrt_mass
    x = np.divide(velocity, root, out=np.zeros_like(velocity), where=root > 0.0)
    at = joints.at(state.position, state.orientation, root)
    base = prescribed_speeds(rows, state.position, turn, velocity, world.free)
    errors = np.abs(joint_speeds(rows, at.val, x, base))
    fastest = float(np.abs(velocity[:, : world.dimension]).max(initial=0.0))
    arm = float(world.shapes.radius.max(initial=0.0)) * float(np.abs(velocity[:, world.dimension :]).max(initial=0.0))
    scripted = 1e-4 if world.motions else SPEED_TOLERANCE  # difference quotients have an error
    k = int(errors.argmax())
    if not errors[k] > scripted * max(fastest, arm):
        return
    label, got = joints.labels[joints.owner[k]], f"its bodies move apart at {errors[k]:.3g} at the start"
    others = [joints.labels[j] for j in _contradicting(joints, at.val, base, k) if j != joints.owner[k]]
    if others:
        wanted = f"other joints or motions: no velocity satisfies both it and {', '.join(others)}"
        raise ProblemError(label, got, wanted)
    raise ProblemError(label, got, "velocities and spins that the joint allows")


def _contradicting(joints: Mechanisms, val: Floats, base: Floats, k: int) -> list[int]:
    """The joints, ascending, that no velocity satisfies together with that of row k; none if some velocity does.

    Rows B of its mechanism and speeds b are inconsistent if the part of b that B^T maps to zero is not zero. The joints
    with a share in it contradict each other.
    """
    rows = joints.rows
    group = int(np.searchsorted(rows.row_ptr, k, side="right")) - 1
    mine = np.arange(rows.row_ptr[group], rows.row_ptr[group + 1])
    dense = np.zeros((len(mine), *val.shape[2:], len(rows.mechanism)))
    for place, i in enumerate(mine):
        for side, body in enumerate(rows.body[i]):
            if body >= 0:
                dense[place, :, body] += val[i, side]
    flat = dense[..., rows.mechanism == group].reshape(len(mine), -1)
    motion = np.linalg.lstsq(flat, base[mine], rcond=CONSISTENT)[0]
    left = np.abs(base[mine] - flat @ motion)
    if left.max() <= CONSISTENT * np.abs(base[mine]).max():
        return []
    return sorted({int(joints.owner[i]) for i in mine[left > CONSISTENT * left.max()]})


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)


def _pairs(values: Sequence[tuple[int, int]]) -> Ints:
    return np.array(values, dtype=np.int64).reshape(-1, 2)


def _vectors(values: Sequence[Floats]) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, 2, 3)
