"""Carom inside MuJoCo: joint space, so that robots and free bodies are treated alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..laws import Law
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..solvers.rows import Floats
from . import Bridge, missing, slowest_impact

try:
    import mujoco
except ImportError as absent:
    raise missing("mujoco") from absent

RUNGE_KUTTA = int(mujoco.mjtIntegrator.mjINT_RK4)


class MujocoBridge(Bridge):
    """Impacts of a MuJoCo model: mass matrix M(q), rows `n^T (J_2 - J_1)` of its contacts, velocity `qvel`.

    MuJoCo has no coefficient of restitution; None means 1. Its friction is that of contacts with condim 3 and more.
    Give geoms a `gap` of at least the distance covered in one step: MuJoCo then reports contacts before bodies overlap,
    and its own springs do not act on them. Equality constraints are joints of the impact: it does not change their
    speeds.

    Models with joints need one of MuJoCo's integrators that evaluate forces once per step: Euler, implicit or
    implicitfast. RK4 evaluates them at later instants too, at which its own contacts act on links that joints
    accelerate toward each other, and loses energy. Free bodies may have any integrator.
    """

    def __init__(self, model: Any, data: Any, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.model, self.data, self._option = model, data, model.opt
        self._jointed = bool((np.asarray(model.jnt_type) != int(mujoco.mjtJoint.mjJNT_FREE)).any())
        # Views of the engine's own arrays: each access through the model or the data makes a new one.
        bodies = np.asarray(model.geom_bodyid)
        self._moving = (data.cvel, data.subtree_com, bodies, np.asarray(model.body_rootid), self._option.gravity)
        self._check_integrator()

    def _check_integrator(self) -> bool:
        """Whether a step evaluates forces once. Refuses others for models with joints; the option may change."""
        once = self._option.integrator != RUNGE_KUTTA
        if self._jointed and not once:
            raise ProblemError("integrator", "RK4 in a model with joints", "Euler, implicit or implicitfast")
        return once

    @property
    def time_step(self) -> float:
        return float(self._option.timestep)

    @property
    def gravity(self) -> Any:
        return self._option.gravity

    def step(self) -> ImpactSolution | None:
        """Resolves what impacts during the next time step, then lets the engine make that step.

        Without an impact the engine detects contacts once: its step is made in two halves, and one kernel looks at the
        contacts between them.
        """
        model, data = self.model, self.data
        if not self._check_integrator():
            return super().step()
        mujoco.mj_step1(model, data)
        if data.ncon:
            contact, numbers = data.contact, (self.touch, self.threshold, self._option.timestep)
            if impact_in(contact.geom, contact.dist, contact.pos, contact.frame, self._moving, numbers):
                return super().step()
        mujoco.mj_step2(model, data)
        return None

    def detect(self) -> tuple[ImpactProblem, Floats] | None:
        model, data = self.model, self.data
        self._check_integrator()
        mujoco.mj_fwdPosition(model, data)
        if data.ncon == 0 or self.at_rest(np.array(data.contact.dist), self._approach()):
            return None
        contacts = [c for c in data.contact[: data.ncon] if min(c.geom) >= 0]  # flexes and skins have no geom
        rows = [self._rows(contact) for contact in contacts]
        joints = self._equalities()
        # Contacts of geoms that cannot move, or that equality constraints lock, take no part.
        used = [k for k, block in enumerate(rows) if block[0].any() and not _locked(block[0], joints.get("joints"))]
        if not used:
            return None
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        problem = ImpactProblem.from_matrices(
            mass,
            [rows[k][0] for k in used],
            data.qvel,
            tangents=np.array([rows[k][1:] for k in used]),
            **joints,
            friction=[contacts[k].friction[0] if contacts[k].dim > 1 else 0.0 for k in used],
            name="MuJoCo",
        )
        return problem, np.array([contacts[k].dist for k in used])

    def _approach(self) -> Floats:
        """Normal speeds (ncon,) of all contacts, from the velocities of their bodies."""
        model, data, contact = self.model, self.data, self.data.contact
        mujoco.mj_comVel(model, data)
        body = model.geom_bodyid[contact.geom]
        arm = contact.pos[:, None] - data.subtree_com[model.body_rootid[body]]
        velocity = data.cvel[body, 3:] + np.cross(data.cvel[body, :3], arm)
        speed: Floats = ((velocity[:, 1] - velocity[:, 0]) * contact.frame[:, :3]).sum(axis=1)
        return speed

    def _equalities(self) -> dict[str, Floats]:
        """The active equality constraints, which MuJoCo puts first: loops, welds, coupled joints, tendons."""
        model, data = self.model, self.data
        if data.ne == 0:
            return {}
        held = np.zeros((data.nefc, model.nv))
        if mujoco.mj_isSparse(model):
            mujoco.mju_sparse2dense(held, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
        else:
            held[:] = np.reshape(data.efc_J, (data.nefc, model.nv))
        held = held[: data.ne]
        held = held[held.any(axis=1)]
        return {"joints": held, "joint_speed": held @ data.qvel}

    def _rows(self, contact: Any) -> Floats:
        """Normal and two tangents (3, nv): velocity of the second geom relative to the first, in the contact frame."""
        frame = np.reshape(contact.frame, (3, 3))
        relative = np.zeros((3, self.model.nv))
        for geom, sign in zip(contact.geom, (-1.0, 1.0), strict=True):
            jacobian = np.zeros((3, self.model.nv))
            mujoco.mj_jac(self.model, self.data, jacobian, None, contact.pos, self.model.geom_bodyid[geom])
            relative += sign * jacobian
        return frame @ relative

    def write(self, velocity: Floats) -> None:
        self.data.qvel[:] = velocity

    def advance(self) -> None:
        mujoco.mj_step(self.model, self.data)


@kernel
def impact_in(geom, gap, point, frame, moving, numbers):
    """Whether a contact closes within the time step and is an impact, from the velocities that `mj_step1` has found.

    `moving` are the velocities (bodies, 6) about the centers of mass of trees, these centers, the bodies of geoms, the
    roots of bodies, and gravity; `numbers` are those of `Bridge.closing`.
    """
    (velocity, center, body, root, gravity), (touch, threshold, h) = moving, numbers
    slowest = slowest_impact(threshold, np.sqrt((gravity * gravity).sum()), h)
    for i in range(len(gap)):
        if geom[i, 0] < 0 or geom[i, 1] < 0:  # flexes and skins have no geom
            continue
        speed = 0.0
        for side in range(2):
            b = body[geom[i, side]]
            v, c, own = velocity[b], center[root[b]], 0.0
            x, y, z = point[i, 0] - c[0], point[i, 1] - c[1], point[i, 2] - c[2]
            own += frame[i, 0] * (v[3] + v[1] * z - v[2] * y)
            own += frame[i, 1] * (v[4] + v[2] * x - v[0] * z)
            own += frame[i, 2] * (v[5] + v[0] * y - v[1] * x)
            speed += own if side else -own
        if speed < -slowest and gap[i] + h * speed <= touch:
            return True
    return False


def _locked(row: Floats, joints: Floats | None) -> bool:
    """Whether a row is a combination of those of the joints, so that no motion is left along it."""
    if joints is None:
        return False
    explained = joints.T @ np.linalg.lstsq(joints.T, row, rcond=1e-10)[0]
    return bool(np.linalg.norm(row - explained) <= 1e-9 * np.linalg.norm(row))
