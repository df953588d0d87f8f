"""Friction along fixed directions, in turns with the law (`coulomb_fixed_direction`).

One turn: the law changes the normal impulses, then friction `z_t = zeta q` minimizes kinetic energy within
`0 <= zeta <= mu lam`, along directions q against the slip before the impact. Each contact is then at one of its bounds,
or does not slip along q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError
from ..late import sparse as sp
from ..problem.solution import ImpactSolution
from ..settings import EXACT_TOLERANCE
from ..solvers.rows import Floats, Ints
from .answers import normal_answer
from .implicit import General, Solved
from .replay import Replay
from .tape import Cleared, Copied, Part, Slopes, System
from .targets import Mixed


@dataclass(frozen=True, eq=False)
class Angles:
    """`d angle = -(across . ds) / |s|`: how the directions against the slip s before the impact rotate (3D)."""

    system: System
    slips: Part  # tangent rows of contacts that slip
    contacts: Ints
    weights: Floats  # (k, t) `-across / |s|`

    def jvp(self, d: Slopes) -> None:
        change = self.slips.speed_tangent(d, d.registers["before"], self.system.velocity)
        out = np.zeros((self.system.count, d.base.shape[1]))
        out[self.contacts] = (self.weights[..., None] * change.reshape(*self.weights.shape, -1)).sum(axis=1)
        d.registers["angle"] = out

    def vjp(self, bar: Slopes) -> None:
        out = bar.registers.pop("angle", None)
        if out is not None:
            change = (self.weights[..., None] * out[self.contacts][:, None]).reshape(self.weights.size, -1)
            more = self.slips.speed_adjoint(bar, change, self.system.velocity)
            bar.registers["before"] = bar.registers.get("before", 0.0) + more


@dataclass(frozen=True, eq=False)
class Pushed:
    """`x = x0 + G^T lam` with all normal impulses of a register, from the velocity before the impact."""

    part: Part
    normal: Floats  # (m,)
    impulses: str
    register: str

    def jvp(self, d: Slopes) -> None:
        lam = d.of(self.impulses, self.part.system.row_count)[self.part.chosen]
        pushed = self.part.push_tangent(d, self.normal)
        d.registers[self.register] = d.registers["before"] + self.part.transposed @ lam + pushed

    def vjp(self, bar: Slopes) -> None:
        out = bar.registers.pop(self.register, None)
        if out is None:
            return
        bar.of(self.impulses, self.part.system.row_count)[self.part.chosen] += self.part.matrix @ out
        self.part.add_rows(bar, self.normal, out)
        bar.registers["before"] = bar.registers.get("before", 0.0) + out


def staggered_answer(run: Replay, solution: ImpactSolution, restitution: bool) -> tuple[str, Floats]:
    """Register and velocity of law and friction in turns."""
    model, system, m = run.response.friction_model, run.system, run.system.count
    assert model is not None
    if any("did not agree" in message for message in solution.messages):
        raise ProblemError("solution", "friction that was stopped inelastically", "law and friction that agree")
    total, tangent = np.zeros(m), np.zeros((m, system.tangent_count))
    _, direction = model.rows(run.contacts)
    assert direction is not None
    _angles(run, direction)
    run.stages.append(Cleared("total"))
    for _ in range(max(model.repeats, 1) + 1):
        at = normal_answer(run, restitution)
        total = total + at.normal
        ones = np.ones(system.row_count)
        run.stages.append(Mixed((("total", ones), (at.impulses, ones)), "total"))
        found = model.impulses(run.contacts, total, tangent)
        tangent = found.tangent
        x = _friction(run, total, found.tangent, direction)
        after = run.speeds(x)
        if model.repeats == 0 or -after.min() <= EXACT_TOLERANCE * run.contacts.approach():
            run.margins.note(np.arange(m), after, "is about to approach")
            return "rough", x
        run.stages.append(Copied("rough", "moving"))
        run.start_from("moving", x)
    raise ProblemError("solution", "more repeats of law and friction than its model allows", "one that agrees sooner")


def _angles(run: Replay, direction: Floats) -> None:
    """The stage of the directions; in 2D they are constant."""
    system = run.system
    slipping = np.flatnonzero(direction.any(axis=1) & (system.friction > 0.0))
    slip = run.contacts.tangent_speeds()[slipping]
    size = np.linalg.norm(slip, axis=1)
    run.margins.note(slipping, size, "is about to slip the other way")
    still = np.flatnonzero(~direction.any(axis=1) & (system.friction > 0.0))
    run.margins.note(still, np.zeros(len(still)), "is about to slip")
    if system.tangent_count == 2 and len(slipping):
        across = np.stack([-direction[slipping, 1], direction[slipping, 0]], axis=1)
        part = system.part(system.tangents_of(slipping).ravel())
        run.stages.append(Angles(system, part, slipping, -across / size[:, None]))


def _friction(run: Replay, total: Floats, tangent: Floats, direction: Floats) -> Floats:
    """The stages of one friction problem; returns the velocity after it."""
    system, t, m = run.system, run.system.tangent_count, run.system.count
    run.stages.append(Pushed(system.normal, total, "total", "rough"))
    start = system.velocity + system.normal.transposed @ total
    chosen = np.flatnonzero(direction.any(axis=1) & (system.friction > 0.0) & (total > 0.0))
    if len(chosen) == 0:
        return start
    part = system.part(system.tangents_of(chosen).ravel())
    z = tangent[chosen].ravel()
    x = start + part.transposed @ z
    u = part.speeds(x).reshape(-1, t)
    k = len(z)
    p, q = sp.lil_matrix((k, k)), sp.lil_matrix((k, k))
    of_total, of_mu, of_angle = (sp.lil_matrix((k, n)) for n in (system.row_count, m, m))
    scale, squares = run.margins, run.contacts.tangent_diag
    for j, i in enumerate(chosen):
        at, along = j * t + np.arange(t), direction[i]
        zeta, slip, most = float(along @ tangent[i]), float(along @ u[j]), system.friction[i] * total[i]
        weight = float(squares[i] @ along**2)
        if t == 2:
            across = np.array([-along[1], along[0]])
            p[at[1], at[0]], p[at[1], at[1]], of_angle[at[1], i] = across[0], across[1], zeta
        if abs(slip) <= run.small:
            q[at[0], at] = along
            if t == 2:
                of_angle[at[0], i] = -float(across @ u[j])
            scale.note(np.array([i]), np.array([min(zeta, most - zeta) * weight]), "is about to slip")
            continue
        p[at[0], at] = along
        if zeta > 0.5 * most:
            of_total[at[0], i], of_mu[at[0], i] = system.friction[i], total[i]
        scale.note(np.array([i]), np.array([slip]), "is about to stick")
    sources = (("total", of_total.tocsr()), ("friction", of_mu.tocsr()), ("angle", of_angle.tocsr()))
    factor = General(sp.csr_matrix(p.tocsr() + q.tocsr() @ (part.matrix @ part.transposed)))
    run.stages.append(Solved(part, z, start, x, factor, "rough", None, sources, q.tocsr()))
    return x
