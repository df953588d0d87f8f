"""Carom inside PyBullet: free rigid bodies and articulated ones in 3D."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..laws import Law
from ..problem.joints import joints_between
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from . import Bridge, missing

try:
    import pybullet
except ImportError as absent:
    raise missing("pybullet") from absent

MASS, FRICTION, INERTIA, RESTITUTION = 0, 1, 2, 5  # fields of getDynamicsInfo
FIRST, SECOND, FIRST_LINK, SECOND_LINK, POINT, OTHER_POINT, NORMAL, GAP = 1, 2, 3, 4, 5, 6, 7, 8  # of a contact
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


class PybulletBridge(Bridge):
    """Impacts of a PyBullet client. Restitution and friction None are products of the bodies' own, as in Bullet.

    Bullet's own list of contacts lacks spheres with a gap of even 1e-16, so pairs of near bodies that are not in it are
    asked for their closest points. Bodies and bases of mass 0 are boundaries.

    Each link is a body of the impact; hinges, sliders, balls and fixed joints are its joints. Motors and limits of
    joints give no impulse. Planar joints, links of mass 0 on joints that move, and constraints are refused.
    """

    def __init__(self, client: int = 0, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.client = client
        self.bodies: list[tuple[int, int]] = []  # body and link of each row of the last velocities
        self._joints: list[Joint] = []

    @property
    def time_step(self) -> float:
        return float(pybullet.getPhysicsEngineParameters(physicsClientId=self.client)["fixedTimeStep"])

    @property
    def gravity(self) -> Any:
        known = pybullet.getPhysicsEngineParameters(physicsClientId=self.client)
        return [known.get(f"gravityAcceleration{axis}", 0.0) for axis in "XYZ"]

    def detect(self, horizon: float) -> ImpactProblem | None:
        client = self.client
        present = [pybullet.getBodyUniqueId(k, physicsClientId=client) for k in range(pybullet.getNumBodies(client))]
        links, owner = self._links(present)
        free = [key for key, link in links.items() if link.mass > 0.0]
        number = {key: k for k, key in enumerate(free)}
        contacts = self._contacts(present, links)
        ends = [[owner[c[FIRST], c[FIRST_LINK]], owner[c[SECOND], c[SECOND_LINK]]] for c in contacts]
        used = [k for k, (a, b) in enumerate(ends) if a != b and (a in number or b in number)]
        if not used:
            return None
        contacts, ends = [contacts[k] for k in used], [ends[k] for k in used]
        normals = -np.array([c[NORMAL] for c in contacts])  # Bullet's point from the second body to the first
        points = 0.5 * (np.array([c[POINT] for c in contacts]) + np.array([c[OTHER_POINT] for c in contacts]))
        speed, moving = np.zeros(len(used)), np.zeros(len(used))
        for k, pair in enumerate(ends):
            for end, sign in zip(pair, (-1.0, 1.0), strict=True):
                v = links[end].velocity
                along = sign * float(normals[k] @ (v[:3] + np.cross(v[3:], points[k] - links[end].place)))
                speed[k] += along
                moving[k] += 0.0 if end in number else along
        pairs = np.array([[number.get(end, -1) for end in pair] for pair in ends])
        tied = [[number.get(end, -1) for end in joint.links] for joint in self._joints]
        gaps = np.array([c[GAP] for c in contacts])
        chosen, own = self.impacting(pairs, gaps, speed, horizon, tied)
        if len(chosen) == 0:
            return None
        place = np.full(len(free) + 1, -1)
        place[own] = np.arange(len(own))
        self.bodies = [free[k] for k in own]
        ties = place[np.reshape(tied, (-1, 2)).astype(np.int64)].max(axis=1)
        self._joints = [joint for joint, tie in zip(self._joints, ties, strict=True) if tie >= 0]
        mine, pair_of = [links[key] for key in self.bodies], [ends[k] for k in chosen]
        own_restitution = [min(links[a].restitution * links[b].restitution, 1.0) for a, b in pair_of]
        return ImpactProblem.from_contacts(
            [link.place for link in mine],
            [link.mass for link in mine],
            [link.inertia for link in mine],
            [link.velocity for link in mine],
            place[pairs[chosen]],
            points[chosen],
            normals[chosen],
            boundary_speed=moving[chosen],
            joints=self._held(mine),
            restitution=own_restitution if self.restitution is None else self.restitution,
            friction=[links[a].friction * links[b].friction for a, b in pair_of],
            name="PyBullet",
        )

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
        if pybullet.getNumConstraints(physicsClientId=self.client):
            raise ProblemError("constraints", "a constraint of PyBullet", "joints of bodies alone")
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

    def _contacts(self, present: list[int], links: dict[tuple[int, int], Link]) -> list[Any]:
        """Bullet's manifolds, and closest points of near pairs that have none; for boxes these would lack corners."""
        client = self.client
        pybullet.performCollisionDetection(physicsClientId=client)
        found = list(pybullet.getContactPoints(physicsClientId=client))
        known = {frozenset(contact[1:3]) for contact in found}
        boxes = np.array([self._box(body) for body in present])
        moves = np.array([any(link.mass > 0.0 for key, link in links.items() if key[0] == body) for body in present])
        size = float((boxes[:, 1] - boxes[:, 0])[moves].max(initial=0.0))
        velocities = np.array([link.velocity for link in links.values()])
        fastest = (np.linalg.norm(velocities[:, :3], axis=1) + size * np.linalg.norm(velocities[:, 3:], axis=1)).max()
        reach = self.touch + 2.0 * self.time_step * fastest
        low, high = boxes[:, 0] - reach, boxes[:, 1] + reach
        near = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2)
        near &= moves[:, None] | moves[None]
        for i, j in np.argwhere(np.triu(near, 1)):
            if frozenset((present[i], present[j])) not in known:
                found += pybullet.getClosestPoints(present[i], present[j], reach, physicsClientId=client)
        return found

    def _box(self, body: int) -> Floats:
        """Bounding box (2, 3) of all links."""
        count = pybullet.getNumJoints(body, physicsClientId=self.client)
        each = np.array([pybullet.getAABB(body, k, physicsClientId=self.client) for k in range(BASE, count)])
        return np.array([each[:, 0].min(axis=0), each[:, 1].max(axis=0)])

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
