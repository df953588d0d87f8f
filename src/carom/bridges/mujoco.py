"""Carom inside MuJoCo: joint space, so that robots and free bodies are treated alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..laws import Law
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from . import Bridge, missing

try:
    import mujoco
except ImportError as absent:
    raise missing("mujoco") from absent


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
        self.model, self.data = model, data
        self._check_integrator()

    def _check_integrator(self) -> None:
        """Refuses RK4 for models with joints; the option of the model may change at any time."""
        jointed = bool((np.asarray(self.model.jnt_type) != int(mujoco.mjtJoint.mjJNT_FREE)).any())
        if jointed and self.model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
            raise ProblemError("integrator", "RK4 in a model with joints", "Euler, implicit or implicitfast")

    @property
    def time_step(self) -> float:
        return float(self.model.opt.timestep)

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


def _locked(row: Floats, joints: Floats | None) -> bool:
    """Whether a row is a combination of those of the joints, so that no motion is left along it."""
    if joints is None:
        return False
    explained = joints.T @ np.linalg.lstsq(joints.T, row, rcond=1e-10)[0]
    return bool(np.linalg.norm(row - explained) <= 1e-9 * np.linalg.norm(row))
