"""smm with its own friction: linear systems in which contacts stick, or slide against their slip before the system."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..late import sparse as sp
from ..laws.smm import _matrices, _reflect_rough
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints
from .implicit import General, Solved
from .kinks import PRESCRIBED
from .replay import Ends, Replay

MOST_SYSTEMS = 10_000  # of one replay


def rough_smm(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Linear systems over the violators with the friction of smm, whose directions are those before each system."""
    contacts = run.contacts  # with friction
    at, tol, m = run.begin(register), law.approach_left(contacts, 0.0), contacts.count
    matrices, beta = _matrices(contacts), np.zeros((m, run.system.tangent_count))
    for _ in range(MOST_SYSTEMS):
        u = run.speeds(at.velocity)
        chosen, others = np.flatnonzero(u < -tol), np.flatnonzero((u >= -tol) & ~run.resting)
        run.margins.note(others, u[others], "is about to approach")
        if len(chosen) == 0 or matrices is None:
            return at
        run.margins.note(chosen, u[chosen], "is about to approach no more")
        x = at.velocity.reshape(contacts.velocity.shape)
        normal, tangent, _, _ = _reflect_rough(
            contacts, matrices, x, chosen, -(1.0 + contacts.restitution[chosen]) * u[chosen]
        )
        beta[chosen] += tangent
        at = _system(run, at, chosen, normal, tangent)
        over = np.linalg.norm(beta, axis=1) > contacts.friction * np.maximum(at.normal, 0.0) * (1.0 + 1e-9)
        if over.any():
            raise ProblemError("solution", "friction of smm that a later pull has reduced", "impulses that do not pull")
    raise ProblemError("solution", f"more than {MOST_SYSTEMS} systems of smm", "an impact that it resolves with fewer")


def _system(run: Replay, at: Ends, chosen: Ints, normal: Floats, tangent: Floats) -> Ends:
    """The stage of one system: `u_n+ = -e u_n`, and `u_t+ = 0` or `z_t = mu q z_n`, q against the slip before it."""
    system, t, k = run.system, run.system.tangent_count, len(chosen)
    rough = np.flatnonzero(system.friction[chosen] > 0.0)
    rows = np.concatenate([chosen, system.tangents_of(chosen[rough]).ravel()])
    part, z = system.part(rows), np.concatenate([normal, tangent[rough].ravel()])
    before, x = part.speeds(at.velocity), at.velocity + part.transposed @ z
    after, size, m = part.speeds(x), len(rows), system.count
    p, q, back = (sp.lil_matrix((size, size)) for _ in range(3))
    restitution, mu = sp.lil_matrix((size, m)), sp.lil_matrix((size, m))
    for j, i in enumerate(chosen):
        q[j, j], back[j, j], restitution[j, i] = 1.0, system.restitution[i], -before[j]
    missed = np.abs(after[:k] + system.restitution[chosen] * before[:k]) > run.small
    run.margins.note(chosen[missed], np.zeros(int(missed.sum())), "is reflected in the sense of least squares")
    for j, place in enumerate(rough):
        i, rows_of = int(chosen[place]), k + j * t + np.arange(t)
        slip, speed = before[rows_of], float(np.linalg.norm(before[rows_of]))
        one, strength = np.array([i]), float(np.linalg.norm(z[rows_of]))
        weight = float(run.contacts.tangent_diag[i].max())
        if np.linalg.norm(after[rows_of]) <= run.small:
            q[rows_of, rows_of] = 1.0
            run.margins.note(one, np.array([(system.friction[i] * z[place] - strength) * weight]), "is about to slip")
            continue
        p[rows_of, rows_of] = 1.0
        run.margins.note(one, np.array([speed]), "is about to slip the other way")
        run.margins.note(one, np.array([np.linalg.norm(after[rows_of])]), "is about to stick")
        if strength == 0.0:  # it pulls, and has no friction
            continue
        direction = -slip / max(speed, np.finfo(float).tiny)
        if np.abs(z[rows_of] - system.friction[i] * z[place] * direction).max() > 1e-7 * strength:
            run.margins.note(one, np.zeros(1), "is stopped in the sense of least squares")
        turning = (np.eye(t) - np.outer(direction, direction)) * system.friction[i] * z[place] / max(speed, run.small)
        for a, row in enumerate(rows_of):
            p[row, place], mu[row, i] = -system.friction[i] * direction[a], z[place] * direction[a]
            back[row, rows_of] = turning[a]
    factor = General(sp.csr_matrix(p.tocsr() + q.tocsr() @ (part.matrix @ part.transposed)))
    sources = (("restitution", restitution.tocsr()), ("friction", mu.tocsr()))
    stage = Solved(part, z, at.velocity, x, factor, at.register, back.tocsr(), sources, q.tocsr(), at.impulses)
    run.stages.append(stage)
    tied = rows[factor.redundant]
    tied = np.unique(np.where(tied < m, tied, (tied - m) // max(t, 1)))
    run.margins.note(tied, np.zeros(len(tied)), "depends on other contacts", PRESCRIBED | {"friction", "restitution"})
    run.resting[:] = False
    return run.pushed(at, x, chosen, normal)
