"""Carom inside MuJoCo: joint space, so that robots and free bodies are treated alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..laws import Law
from ..problem.jointed_mass import JointedMass
from ..problem.joints import joints_from_matrix
from ..problem.mass import BlockMass, DiagonalMass, rows_from_pairs
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..solvers.rows import Floats
from . import Bridge, missing, slowest_impact, struck

try:
    import mujoco
except ImportError as absent:
    raise missing("mujoco") from absent

NO_LINKS = np.zeros((0, 2), np.int64)
BODY, ROOT, WELD, TREE = range(4)  # of what owns a geom: a body, its root, what it is welded to, its tree
RUNGE_KUTTA = int(mujoco.mjtIntegrator.mjINT_RK4)


class MujocoBridge(Bridge):
    """Impacts of a MuJoCo model: mass matrix M(q), rows `n^T (J_2 - J_1)` of its contacts, velocity `qvel`.

    MuJoCo has no coefficient of restitution; None means 1. Its friction is that of contacts with condim 3 and more.
    Give geoms a `gap` of at least the distance covered in one step: MuJoCo then reports contacts before bodies overlap,
    and its own springs do not act on them. Equality constraints are joints of the impact: it does not change their
    speeds.

    The bodies of the impact are the kinematic trees that it may move, with one component for each degree of freedom.
    Trees with fewer than the largest one have components of mass 1 besides, which nothing moves.

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
        body = np.asarray(model.geom_bodyid)
        owners = (body, model.body_rootid[body], model.body_weldid[body], model.body_treeid[body])
        self._moving = (data.cvel, data.subtree_com, np.stack(owners, axis=1).astype(np.int64), self._option.gravity)
        self._trees = (model.tree_dofadr, model.tree_dofnum)
        self._masses = (data.M, model.M_rownnz, model.M_rowadr, model.M_colind)
        self._motions = (data.cdof, model.body_dofadr, model.body_dofnum, model.dof_parentid)
        self._chosen: Any = None  # trees of the last problem
        self._check_integrator()

    def _check_integrator(self) -> None:
        """Refuses integrators that evaluate forces more than once for models with joints; the option may change."""
        if self._jointed and self._option.integrator == RUNGE_KUTTA:
            raise ProblemError("integrator", "RK4 in a model with joints", "Euler, implicit or implicitfast")

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
        if self._option.integrator == RUNGE_KUTTA:
            self._check_integrator()
            return super().step()
        mujoco.mj_step1(model, data)
        if data.ncon:
            contact, numbers = data.contact, (self.touch, self.threshold, self._option.timestep)
            if impact_in(contact.geom, contact.dist, contact.pos, contact.frame, self._moving, numbers):
                solution = self._answered(self._found(self.time_step))
                self.advance()
                return solution
        mujoco.mj_step2(model, data)
        return None

    def detect(self, horizon: float) -> ImpactProblem | None:
        self._check_integrator()
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        return self._found(horizon)

    def _found(self, horizon: float) -> ImpactProblem | None:
        """The impact among the contacts that the engine has found at the present positions and velocities."""
        data = self.data
        if data.ncon == 0:
            return None
        contact, (held, links) = data.contact, self._equalities()
        met = (contact.geom, contact.dist, contact.pos, contact.frame, contact.dim, contact.friction)
        slowest = slowest_impact(self.threshold, float(np.linalg.norm(self.gravity)), self.time_step)
        engine = (self._moving, self._trees, self._masses, self._motions, data.qvel)
        trees, mass, velocity, bodies, rows, friction = impact_of(met, engine, links, (self.touch, slowest, horizon))
        if len(bodies) == 0:
            return None
        self._chosen = trees, mass.shape[1]
        held, block = self._held(held), velocity.shape
        matrix = DiagonalMass(mass[:, :, 0]) if block[1] == 1 else BlockMass(mass)
        joints = None if held is None else joints_from_matrix(held, held @ velocity.ravel(), block)
        free = rows[:, 0].any(axis=(1, 2))
        if joints is not None and free.any():
            free[free] = ~JointedMass(matrix, joints, block).is_locked(rows_from_pairs(bodies[free], rows[free, 0]))
        if not free.all():
            bodies, rows, friction = bodies[free], rows[free], friction[free]
        if len(bodies) == 0:
            return None
        return self.assembled(matrix, bodies, rows, velocity, friction=friction, joints=joints, name="MuJoCo")

    def _equalities(self) -> tuple[Floats | None, Any]:
        """The active equality constraints, which MuJoCo puts first: loops, welds, coupled joints, tendons.

        Their rows (ne, nv), and pairs of trees that they connect.
        """
        model, data = self.model, self.data
        if data.ne == 0:
            return None, NO_LINKS
        held = np.zeros((data.nefc, model.nv))
        if mujoco.mj_isSparse(model):
            mujoco.mju_sparse2dense(held, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
        else:
            held[:] = np.reshape(data.efc_J, (data.nefc, model.nv))
        held = held[: data.ne]
        trees = [model.dof_treeid[np.flatnonzero(row)] for row in held]
        links = [np.stack([np.full(len(met), met[0]), met], axis=1) for met in trees if len(met)]
        return held, np.concatenate([*links, NO_LINKS]).astype(np.int64)

    def _held(self, held: Floats | None) -> Floats | None:
        """Rows of equality constraints over the components of the chosen trees."""
        if held is None:
            return None
        trees, d = self._chosen
        rows = np.zeros((len(held), len(trees), d))
        for k, tree in enumerate(trees):
            first, count = self._trees[0][tree], self._trees[1][tree]
            rows[:, k, :count] = held[:, first : first + count]
        flat = rows.reshape(len(held), -1)
        flat = flat[flat.any(axis=1)]
        return flat if len(flat) else None

    def write(self, velocity: Floats) -> None:
        put_rates(self._chosen[0], self._trees, np.array(velocity), self.data.qvel)

    def advance(self) -> None:
        mujoco.mj_step(self.model, self.data)


@kernel
def impact_in(geom, gap, point, frame, moving, numbers):
    """Whether a contact closes within the time step and is an impact, from the velocities that `mj_step1` has found.

    `moving` are the velocities (bodies, 6) about the centers of mass of trees, these centers, what owns the geoms, and
    gravity; `numbers` are `touch` and `threshold` of `Bridge` and the time step.
    """
    (velocity, center, owner, gravity), (touch, threshold, h) = moving, numbers
    slowest = slowest_impact(threshold, np.sqrt((gravity * gravity).sum()), h)
    for i in range(len(gap)):
        if geom[i, 0] < 0 or geom[i, 1] < 0:  # flexes and skins have no geom
            continue
        speed = _approach(i, geom, point, frame, (velocity, center, owner))
        if speed < -slowest and gap[i] + h * speed <= touch:
            return True
    return False


@kernel(inline="always")
def _approach(i, geom, point, frame, moving):
    """Normal speed of the second geom of contact i relative to the first."""
    (velocity, center, owner), speed = moving, 0.0
    for side in range(2):
        g = geom[i, side]
        v, c, own = velocity[owner[g, BODY]], center[owner[g, ROOT]], 0.0
        x, y, z = point[i, 0] - c[0], point[i, 1] - c[1], point[i, 2] - c[2]
        own += frame[i, 0] * (v[3] + v[1] * z - v[2] * y)
        own += frame[i, 1] * (v[4] + v[2] * x - v[0] * z)
        own += frame[i, 2] * (v[5] + v[0] * y - v[1] * x)
        speed += own if side else -own
    return speed


@kernel
def impact_of(contact, engine, links, numbers):
    """The trees (n,) that an impact may move, their masses (n, d, d) and velocities (n, d), and its contacts.

    These are pairs (m, 2) of places among the trees, rows (m, 3, 2, d) and friction (m,). They are empty if
    nothing impacts. `links` are pairs of trees that joints connect. `numbers` are the touch of `Bridge`, the slowest
    impact and the time. One kernel: its parts called one by one take three times as long.
    """
    (geom, gap, point, frame, dim, friction), (moving, tree, masses, motions, rates) = contact, engine
    pairs, speed = approaches(geom, point, frame, moving)
    movable, used = np.empty(len(pairs), np.int64), 0
    for i in range(len(pairs)):
        if pairs[i, 0] >= 0 or pairs[i, 1] >= 0:  # geoms that cannot move take no part
            movable[used] = i
            used += 1
    movable, joined = movable[:used], np.empty((used + len(links), 2), np.int64)
    joined[:used], joined[used:] = pairs[movable], links
    chosen, trees, d = movable, movable, 1
    if used:
        chosen, trees = struck(joined, gap[movable], speed[movable], numbers)
        chosen = movable[chosen]
    if len(chosen) == 0:
        trees = chosen
    for t in trees:
        d = max(d, tree[1][t])
    mass, velocity = tree_masses(trees, d, tree, masses, rates)
    found = (geom[chosen], point[chosen], frame[chosen], pairs[chosen])
    bodies, rows = tree_rows(trees, d, found, tree, moving, motions)
    mu = np.zeros(len(chosen))
    for k in range(len(chosen)):
        if dim[chosen[k]] > 1:
            mu[k] = friction[chosen[k], 0]
    return trees, mass, velocity, bodies, rows, mu


@kernel
def approaches(geom, point, frame, moving):
    """Trees (m, 2) of the geoms of contacts, -1 for what cannot move, and normal speeds (m,)."""
    velocity, center, owner, _ = moving
    pairs, speed = np.full((len(geom), 2), -1), np.zeros(len(geom))
    for i in range(len(geom)):
        if geom[i, 0] >= 0 and geom[i, 1] >= 0:
            pairs[i, 0], pairs[i, 1] = owner[geom[i, 0], TREE], owner[geom[i, 1], TREE]
            speed[i] = _approach(i, geom, point, frame, (velocity, center, owner))
    return pairs, speed


@kernel
def tree_masses(trees, d, tree, matrix, rates):
    """Mass matrices (n, d, d) of trees and their velocities (n, d)."""
    (first, count), (value, width, start, column) = tree, matrix
    mass, velocity = np.zeros((len(trees), d, d)), np.zeros((len(trees), d))
    for k in range(len(trees)):
        low, size = first[trees[k]], count[trees[k]]
        for i in range(d):
            if i >= size:
                mass[k, i, i] = 1.0
                continue
            velocity[k, i] = rates[low + i]
            for e in range(start[low + i], start[low + i] + width[low + i]):
                j = column[e] - low
                mass[k, i, j] = mass[k, j, i] = value[e]
    return mass, velocity


@kernel
def put_rates(trees, tree, velocity, rates):
    """Writes velocities (n, d) of trees to the rates of the model."""
    first, count = tree
    for k in range(len(trees)):
        for i in range(count[trees[k]]):
            rates[first[trees[k]] + i] = velocity[k, i]


@kernel
def tree_rows(trees, d, found, tree, moving, motions):
    """Places (m, 2) of the two trees of contacts among the given ones, and rows (m, 3, 2, d): normal and two tangents.

    A contact of a tree with itself has one entry.
    """
    (geom, point, frame, pairs), (first, count) = found, tree
    (_, center, owner, _), (axis, start, width, parent) = moving, motions
    m, number = len(geom), np.full(len(count), -1)
    number[trees] = np.arange(len(trees))
    bodies, rows = np.full((m, 2), -1), np.zeros((m, 3, 2, d))
    for i in range(m):
        for side in range(2):
            if pairs[i, side] < 0:
                continue
            own = side if pairs[i, 0] != pairs[i, 1] else 0
            bodies[i, own] = number[pairs[i, side]]
            b, sign = owner[geom[i, side], WELD], 1.0 if side else -1.0
            c, low = center[owner[geom[i, side], ROOT]], first[pairs[i, side]]
            x, y, z = point[i, 0] - c[0], point[i, 1] - c[1], point[i, 2] - c[2]
            k = start[b] + width[b] - 1
            while k >= 0:
                s = axis[k]
                u, v, w = s[3] + s[1] * z - s[2] * y, s[4] + s[2] * x - s[0] * z, s[5] + s[0] * y - s[1] * x
                for r in range(3):
                    along = frame[i, 3 * r] * u + frame[i, 3 * r + 1] * v + frame[i, 3 * r + 2] * w
                    rows[i, r, own, k - low] += sign * along
                k = parent[k]
    return bodies, rows
