"""Carom inside PyBullet: free rigid bodies and articulated ones in 3D."""

from __future__ import annotations

from array import array
from math import hypot
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..kernels import kernel
from ..laws import Law
from ..problem.geometry import contact_directions, tangents_of
from ..problem.joints import joints_between
from ..problem.mass import BlockMass
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats, Ints
from . import Bridge, missing, slowest_impact

try:
    import pybullet
except ImportError as absent:
    raise missing("pybullet") from absent

MASS, FRICTION, INERTIA, RESTITUTION = 0, 1, 2, 5  # fields of getDynamicsInfo
FIRST, SECOND, FIRST_LINK, SECOND_LINK, POINT, OTHER_POINT, NORMAL, GAP = 1, 2, 3, 4, 5, 6, 7, 8  # of a contact
INFINITE = 1e29  # a box of at least this size is that of a plane
BASE = -1  # number of the link that a body has without joints
JOINTS = {
    pybullet.JOINT_REVOLUTE: "hinge",
    pybullet.JOINT_PRISMATIC: "slider",
    pybullet.JOINT_SPHERICAL: "ball",
    pybullet.JOINT_FIXED: "weld",
}


class Link(NamedTuple):
    """A rigid link of a body, the base included, in world axes."""

    place: Floats  # (3,) of the center of mass
    velocity: Floats  # (6,) linear and angular
    mass: float
    inertia: Floats  # (3, 3) about the center of mass
    friction: float
    restitution: float


class Joint(NamedTuple):
    """A joint of a body: the links that it connects, the kind, the origin, and the axis of the second link."""

    links: tuple[tuple[int, int], tuple[int, int]]
    kind: str
    point: Floats
    axis: Floats


class Plane(NamedTuple):
    """A body that is a plane: its shape, and where the body was in the last step."""

    shape: Any
    pose: Any


class Known(NamedTuple):
    """What a bridge knows of the bodies of a client."""

    bodies: list[int]
    links: list[tuple[int, int]]  # bodies and numbers of the links besides bases
    jointed: list[int]  # places of the bodies with joints
    owner: Ints  # (e,) place of the body of each base and link
    moves: NDArray[np.bool_]  # (b,) whether a link has mass
    planes: dict[int, Plane]  # by the places of their bodies
    plane: Floats  # (b, 5) whether a body is a plane, its normal and its offset


class PybulletBridge(Bridge):
    """Impacts of a PyBullet client. Restitution and friction None are products of the bodies' own, as in Bullet.

    One kernel on the boxes and velocities of all bodies finds the pairs that may impact within a step. Bullet's own
    list of contacts lacks spheres with a gap of even 1e-16, so those of these pairs that are not in it are asked for
    their closest points. Bodies and bases of mass 0 are boundaries.

    The bridge knows which bodies move and which are planes, and finds out again when bodies are added or removed; after
    a change of one of them in place call `forget`.

    Each link is a body of the impact; hinges, sliders, balls and fixed joints are its joints. Motors and limits of
    joints give no impulse. Planar joints, links of mass 0 on joints that move, and constraints are refused.
    """

    def __init__(self, client: int = 0, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.client = client
        self.bodies: list[tuple[int, int]] = []  # body and link of each row of the last velocities
        self._joints: list[Joint] = []
        self.forget()

    @property
    def time_step(self) -> float:
        return float(pybullet.getPhysicsEngineParameters(physicsClientId=self.client)["fixedTimeStep"])

    @property
    def gravity(self) -> Any:
        return _pull(pybullet.getPhysicsEngineParameters(physicsClientId=self.client))

    def forget(self) -> None:
        """Lets the next step take the masses and planes of the bodies again: after a change of one of them in place."""
        self._known: Known | None = None

    def detect(self, horizon: float) -> ImpactProblem | None:
        near = self._near(horizon)
        if near is None:
            return None
        present = sorted({body for a, b, _ in near for body in (a, b)})
        links, owner = self._links(present)
        free = [key for key, link in links.items() if link.mass > 0.0]
        number = {key: k for k, key in enumerate(free)}
        contacts = self._contacts(near)
        ends = [[owner[c[FIRST], c[FIRST_LINK]], owner[c[SECOND], c[SECOND_LINK]]] for c in contacts]
        used = [k for k, (a, b) in enumerate(ends) if a != b and (a in number or b in number)]
        if not used:
            return None
        contacts, ends = [contacts[k] for k in used], [ends[k] for k in used]
        normals = -np.array([c[NORMAL] for c in contacts])  # Bullet's point from the second body to the first
        points = 0.5 * np.array([(c[POINT], c[OTHER_POINT]) for c in contacts]).sum(axis=1)
        arms = points[:, None] - np.array([[links[end].place for end in pair] for pair in ends])
        rows = contact_directions(np.concatenate([normals[:, None], tangents_of(normals)], axis=1), arms)
        speeds = rows * np.array([[links[end].velocity for end in pair] for pair in ends])[:, None]
        pairs = np.array([[number.get(end, -1) for end in pair] for pair in ends])
        tied = [[number.get(end, -1) for end in joint.links] for joint in self._joints]
        gaps = np.array([c[GAP] for c in contacts])
        chosen, own = self.impacting(pairs, gaps, speeds[:, 0].sum(axis=(1, 2)), horizon, tied)
        if len(chosen) == 0:
            return None
        place = np.full(len(free) + 1, -1)
        place[own] = np.arange(len(own))
        self.bodies = [free[k] for k in own]
        ties = place[np.reshape(tied, (-1, 2)).astype(np.int64)].max(axis=1)
        self._joints = [joint for joint, tie in zip(self._joints, ties, strict=True) if tie >= 0]
        mine, pair_of = [links[key] for key in self.bodies], [ends[k] for k in chosen]
        mass = np.zeros((len(mine), 6, 6))
        mass[:, :3, :3] = np.array([link.mass for link in mine])[:, None, None] * np.eye(3)
        mass[:, 3:, 3:] = [link.inertia for link in mine]
        return self.assembled(
            BlockMass(mass),
            place[pairs[chosen]],
            rows[chosen],
            np.array([link.velocity for link in mine]),
            boundary=(speeds.sum(axis=3) * (pairs < 0)[:, None]).sum(axis=2)[chosen],
            joints=self._held(mine),
            restitution=[min(links[a].restitution * links[b].restitution, 1.0) for a, b in pair_of],
            friction=np.array([links[a].friction * links[b].friction for a, b in pair_of]),
            name="PyBullet",
        )

    def _near(self, horizon: float) -> list[tuple[int, int, float]] | None:
        """Pairs of bodies that may touch within a time, of islands that may have an impact, and the distances that they
        may cover; a body with joints may touch itself. Without such pairs the answer is None.

        A step asks each body for no more than its box and its velocity.
        """
        client = self.client
        count = pybullet.getNumBodies(client)
        present = [pybullet.getBodyUniqueId(k, client) for k in range(count)]
        if pybullet.getNumConstraints(client):
            raise ProblemError("constraints", "a constraint of PyBullet", "joints of bodies alone")
        if self._known is None or self._known.bodies != present:
            self._known = self._survey(present)
        known, frame = self._known, array("d")
        for body in present:
            low, high = pybullet.getAABB(body, BASE, client)
            linear, angular = pybullet.getBaseVelocity(body, client)
            frame.extend((*low, *high, *linear, *angular))
        for body, k in known.links:
            low, high = pybullet.getAABB(body, k, client)
            state = pybullet.getLinkState(body, k, computeLinkVelocity=1, physicsClientId=client)
            frame.extend((*low, *high, *state[6], *state[7]))
        for k, plane in known.planes.items():
            pose = pybullet.getBasePositionAndOrientation(present[k], client)
            if pose != plane.pose:
                known.planes[k] = plane._replace(pose=pose)
                known.plane[k, 1:] = _half_space(pose, plane.shape)
        folded = np.zeros(count, np.bool_)
        if known.jointed:
            pybullet.performCollisionDetection(client)
            for k in known.jointed:
                folded[k] = bool(pybullet.getContactPoints(present[k], present[k], physicsClientId=client))
        engine = pybullet.getPhysicsEngineParameters(client)
        slowest = slowest_impact(self.threshold, hypot(*_pull(engine)), float(engine["fixedTimeStep"]))
        numbers, state = (self.touch, horizon, slowest), np.frombuffer(frame)
        pairs, speed = near_pairs(state, known.owner, (known.moves, folded, known.plane), numbers)
        if len(pairs) == 0:
            return None
        free = np.where(known.moves[pairs], pairs, -1)
        chosen, _ = self.impacting(free, np.zeros(len(pairs)), -speed, horizon)
        reach: dict[tuple[int, int], float] = {}
        for k in chosen:  # a pair of bodies may have several pairs of links
            a, b = pairs[k].tolist()
            reach[present[a], present[b]] = max(reach.get((present[a], present[b]), 0.0), float(speed[k]))
        return [(*pair, self.touch + horizon * fastest) for pair, fastest in reach.items()] or None

    def _survey(self, present: list[int]) -> Known:
        """What does not change from step to step. Refuses joints that have no answer."""
        links, planes = self._links(present)[0], {}
        number = {body: k for k, body in enumerate(present)}
        moves = np.zeros(len(present), np.bool_)
        for (body, _), link in links.items():
            moves[number[body]] |= link.mass > 0.0
        outer = [key for key in links if key[1] != BASE]
        for k, body in enumerate(present):
            if not moves[k] and pybullet.getAABB(body, BASE, self.client)[1][2] >= INFINITE:
                shapes = pybullet.getCollisionShapeData(body, BASE, self.client)
                if len(shapes) == 1 and shapes[0][2] == pybullet.GEOM_PLANE:
                    planes[k] = Plane(shapes[0], None)
        plane = np.zeros((len(present), 5))
        plane[list(planes), 0] = 1.0
        owner = np.array([*range(len(present)), *(number[body] for body, _ in outer)], np.int64)
        jointed = sorted({number[body] for body, _ in outer})
        return Known(present, outer, jointed, owner, moves, planes, plane)

    def _held(self, links: list[Link]) -> Any:
        """The joints between the links of the problem, at the speeds that they have."""
        if not self._joints:
            return None
        number = {key: k for k, key in enumerate(self.bodies)}
        tables = []
        for joint in self._joints:
            between = [number.get(key, -1) for key in joint.links]
            table = {"kind": joint.kind, "bodies": between, "point": joint.point}
            tables.append({**table, "axis": joint.axis} if joint.kind in ("hinge", "slider") else table)
        places, velocities = (
            np.array(column) for column in zip(*((link.place, link.velocity) for link in links), strict=True)
        )
        return joints_between(tables, places, 6).holding(velocities)

    def _links(self, present: list[int]) -> tuple[dict[tuple[int, int], Link], dict[tuple[int, int], tuple[int, int]]]:
        """The links of all bodies, and for each the link that it moves with: massless ones are parts of others."""
        links, owner, self._joints = {}, {}, []
        for body in present:
            links[body, BASE] = self._base(body)
            owner[body, BASE] = (body, BASE)
            for k in range(pybullet.getNumJoints(body, physicsClientId=self.client)):
                info = pybullet.getJointInfo(body, k, physicsClientId=self.client)
                parent, kind = owner[body, info[16]], JOINTS.get(info[2])
                name = f"joint {info[1].decode()!r} of body {body}"
                if kind is None:
                    raise ProblemError(name, "a planar joint", "a hinge, slider, ball or fixed joint")
                links[body, k], turn, point = self._link(body, k)
                owner[body, k] = (body, k)
                if links[body, k].mass == 0.0:
                    if kind != "weld":
                        raise ProblemError(name, "a link of mass 0 on a joint that moves", "links with mass")
                    owner[body, k] = parent
                else:
                    self._joints.append(Joint((parent, (body, k)), kind, point, turn @ np.array(info[13])))
        return links, owner

    def _base(self, body: int) -> Link:
        place, turn = pybullet.getBasePositionAndOrientation(body, physicsClientId=self.client)
        linear, angular = pybullet.getBaseVelocity(body, physicsClientId=self.client)
        return self._made(body, BASE, place, turn, (*linear, *angular))

    def _link(self, body: int, k: int) -> tuple[Link, Floats, Floats]:
        """A link, the axes of its joint (3, 3), and the origin of that."""
        known = pybullet.getLinkState(body, k, computeLinkVelocity=1, physicsClientId=self.client)
        link = self._made(body, k, known[0], known[1], (*known[6], *known[7]))
        return link, np.reshape(pybullet.getMatrixFromQuaternion(known[5]), (3, 3)), np.array(known[4])

    def _made(self, body: int, k: int, place: Any, turn: Any, velocity: Any) -> Link:
        info = pybullet.getDynamicsInfo(body, k, physicsClientId=self.client)
        axes = np.reshape(pybullet.getMatrixFromQuaternion(turn), (3, 3))
        inertia = axes @ np.diag(info[INERTIA]) @ axes.T
        return Link(np.array(place), np.array(velocity), info[MASS], inertia, info[FRICTION], info[RESTITUTION])

    def _contacts(self, near: list[tuple[int, int, float]]) -> list[Any]:
        """Bullet's manifolds of pairs, and closest points of those without one; for boxes these would lack corners."""
        client = self.client
        found: list[Any] = []
        pybullet.performCollisionDetection(physicsClientId=client)
        for a, b, reach in near:
            met = pybullet.getContactPoints(a, b, physicsClientId=client)
            found += met or (pybullet.getClosestPoints(a, b, reach, physicsClientId=client) if a != b else ())
        return found

    def write(self, velocity: Floats) -> None:
        after = dict(zip(self.bodies, velocity, strict=True))
        for (body, link), v in after.items():
            if link == BASE:
                pybullet.resetBaseVelocity(body, v[:3].tolist(), v[3:].tolist(), physicsClientId=self.client)
        for joint in self._joints:
            self._turn(joint, after)

    def _turn(self, joint: Joint, after: dict[tuple[int, int], Floats]) -> None:
        """Gives a joint the relative velocity of its links."""
        body, second = joint.links[1]
        spins, speeds = [], []
        for key in joint.links:
            v = after.get(key, np.zeros(6))
            link = self._base(body) if key[1] == BASE else self._link(body, key[1])[0]
            spins.append(v[3:])
            speeds.append(v[:3] + np.cross(v[3:], joint.point - link.place))
        where = pybullet.getJointStateMultiDof(body, second, physicsClientId=self.client)[0]
        if joint.kind == "ball":
            turn = np.reshape(pybullet.getMatrixFromQuaternion(self._frame(body, second)), (3, 3))
            rate = turn.T @ (spins[1] - spins[0])
            pybullet.resetJointStateMultiDof(body, second, where, rate.tolist(), physicsClientId=self.client)
        elif joint.kind != "weld":
            change = spins if joint.kind == "hinge" else speeds
            rate = float(joint.axis @ (change[1] - change[0]))
            pybullet.resetJointState(body, second, where[0], rate, physicsClientId=self.client)

    def _frame(self, body: int, link: int) -> Any:
        return pybullet.getLinkState(body, link, physicsClientId=self.client)[5]

    def advance(self) -> None:
        pybullet.stepSimulation(physicsClientId=self.client)


def _pull(engine: Any) -> list[float]:
    """The acceleration (3,) of free fall."""
    return [engine.get(f"gravityAcceleration{axis}", 0.0) for axis in "XYZ"]


def _half_space(pose: Any, shape: Any) -> Floats:
    """Normal and offset (4,) of a plane."""
    origin, turn = pybullet.multiplyTransforms(*pose, shape[5], shape[6])
    normal = np.reshape(pybullet.getMatrixFromQuaternion(turn), (3, 3)) @ np.array(shape[3])
    return np.array([*normal, normal @ np.array(origin)])


@kernel
def near_pairs(frame, owner, bodies, numbers):
    """Pairs (p, 2) of bodies that may touch within a time, and bounds (p,) on their approach; none without an impact.

    `frame` are box, velocity and angular velocity of all links, one after the other, of the bodies `owner` (e,). The
    points of a link are no farther from its center of mass than the diagonal of its box. `bodies` are what moves, what
    touches itself, and the planes; `numbers` the touch of `Bridge`, the time, and the slowest impact.
    """
    (touch, h, slowest), (moves, folded, plane), state = numbers, bodies, frame.reshape(-1, 12)
    count, pairs, speeds, any_fast = len(state), [(0, 0)], [0.0], False
    turning = np.empty(count)
    for i in range(count):
        size = spin = 0.0
        for c in range(3):
            size += (state[i, 3 + c] - state[i, c]) ** 2
            spin += state[i, 9 + c] ** 2
        turning[i] = np.sqrt(spin * size) if spin > 0.0 else 0.0
    for j in range(count):
        for i in range(j):
            a, b = owner[i], owner[j]
            if (a == b and not folded[a]) or not (moves[a] or moves[b]):
                continue
            turn, apart, square = turning[i] + turning[j], False, 0.0
            if plane[a, 0] + plane[b, 0] == 1.0 and turning[i if plane[a, 0] == 1.0 else j] == 0.0:
                ground, body = (i, j) if plane[a, 0] == 1.0 else (j, i)
                gap, approach = -plane[owner[ground], 4], turning[body]
                for c in range(3):
                    n = plane[owner[ground], 1 + c]
                    gap += n * (state[body, c] if n > 0.0 else state[body, 3 + c])
                    approach += n * (state[ground, 6 + c] - state[body, 6 + c])
                apart = gap - h * max(approach, 0.0) > touch
            else:
                for c in range(3):
                    relative = state[j, 6 + c] - state[i, 6 + c]
                    square += relative * relative
                    gap = max(state[i, c] - state[j, 3 + c], state[j, c] - state[i, 3 + c])
                    apart = apart or gap - h * (abs(relative) + turn) > touch
                approach = np.sqrt(square) + turn
            if not apart:
                pairs.append((a, b))
                speeds.append(approach)
                any_fast = any_fast or approach > slowest
    out, used = np.empty((len(pairs) - 1 if any_fast else 0, 2), np.int64), np.empty(len(pairs) - 1 if any_fast else 0)
    for p in range(len(out)):
        out[p, 0], out[p, 1] = pairs[p + 1]
        used[p] = speeds[p + 1]
    return out, used
