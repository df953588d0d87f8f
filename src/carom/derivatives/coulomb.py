"""Friction at the end of an impact: the implicit function theorem on open, sticking and sliding contacts.

A coupled friction model (cone, pyramid) solves `0 <= z_n perp u_n+ - target >= 0` together with Coulomb's law, from the
velocity before the impact. At its solution each contact is open, or closed and sticking or sliding:

    closed    u_n+ = target
    sticking  u_t+ = 0
    sliding   z_t = mu z_n q,  q = -u_t+ / |u_t+|     (cone; the pyramid has it for each tangent by itself)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..friction.pyramid import Pyramid
from ..late import sparse as sp
from ..problem.solution import ImpactSolution
from ..resolve.coupled import EXACT_SHARE_CONTACTS
from ..solvers.rows import Floats, Ints
from .answers import island_of_components
from .implicit import General, Solved
from .kinks import PRESCRIBED
from .replay import Ends, Replay
from .targets import Balanced, Targets

SOLVED = 1e-8  # residual of the equations, relative to the fastest speed, up to which a solution satisfies them
WHOLE = 1e-7  # distance of a share from 1 up to which it is 1
BALANCED = 1e-7  # work left on an island, relative to the energies of its impulses, up to which a share keeps it zero
TINY_ROW = 1e-12  # squared length of a tangent row, over that of the normal row, up to which nothing moves along it


class _Closed(NamedTuple):
    """The rows of the closed contacts, and the blocks P and Q of their equations."""

    rows: Ints  # normal rows, then tangent rows with friction
    p: sp.csr_matrix
    q: sp.csr_matrix
    friction: sp.csr_matrix  # (rows, m) derivative of the right side with respect to mu
    contact: Ints  # of each row
    sliding: Ints  # contacts


def joint_answer(run: Replay, solution: ImpactSolution, at: Ends, restitution: bool) -> tuple[str, Floats]:
    """Register and velocity of the solution with friction, given the answer of the law without it.

    `restitution`: whether derivatives with respect to restitution are wanted, also where it is zero.
    """
    system, m = run.system, run.system.count
    target = _target(run, at, restitution)
    z = np.concatenate([solution.impulse, np.ravel(np.asarray(solution.friction_impulse, dtype=float))])
    x = system.velocity + system.rows.T @ z
    u = system.rows @ x + system.base
    share = _shares(run, u[:m], target, z[:m])
    label = run.plain.island_labels()
    closed = np.flatnonzero(z[:m] > 0.0)
    excess = u[:m] - share[label] * target
    pieces = _closed(run, closed, z, u)
    wrong = max(np.abs(excess[closed]).max(initial=0.0), -excess.min(initial=0.0))
    if wrong > SOLVED * run.margins.scale:
        raise ProblemError(
            "solution", "friction that law and model do not share", "one without a warning about friction"
        )
    part = system.part(pieces.rows)
    factor = General(sp.csr_matrix(pieces.p + pieces.q @ (part.matrix @ part.transposed)))
    asked = (share[label[closed]], (np.arange(len(closed)), closed))
    right = sp.csr_matrix(asked, shape=(len(pieces.rows), m))
    sources = (("target", right), ("friction", pieces.friction))
    end = run.begin("rough")
    stage = Solved(part, z[pieces.rows], system.velocity, x, factor, "rough", None, sources, pieces.q, end.impulses)
    run.stages.append(stage)
    _note(run, pieces, closed, z, u, excess, factor)
    _balance(run, stage, share, target, z, label)
    return "rough", x


def _target(run: Replay, at: Ends, restitution: bool) -> Floats:
    """The separation speeds that the law asks for, on the tape; under qce_lcp they are there already."""
    after, m = run.speeds(at.velocity), run.system.count
    if run.target is not None:
        return run.target
    # Contacts that the law has stopped keep the target 0, unless their restitution changes.
    asked = (at.normal > 0.0) & (after > (-run.small if restitution else run.small))
    run.stages.append(Targets(run.system, ((at.register, at.velocity, asked.astype(np.float64)),), np.zeros(m)))
    return np.where(asked, np.maximum(after, 0.0), 0.0)


def _shares(run: Replay, u: Floats, target: Floats, normal: Floats) -> Floats:
    """The share of its target speeds that each island reaches: less than 1 where these would raise its energy."""
    label = run.plain.island_labels()
    closed = (normal > 0.0) & (target > run.small)
    up = np.bincount(label, np.where(closed, u * target, 0.0))
    down = np.bincount(label, np.where(closed, target * target, 0.0))
    share = np.divide(up, down, out=np.ones_like(up), where=down > 0.0)
    share[np.abs(share - 1.0) <= WHOLE] = 1.0
    if (share < 1.0).any() and run.system.count > EXACT_SHARE_CONTACTS:
        raise _in_steps()
    return share


def _in_steps() -> ProblemError:
    """The error for a share of the restitution that is known in steps: its derivative is not that of the limit."""
    reason = "restitution that was reduced in steps, until friction gained no energy"
    return ProblemError("solution", reason, f"one of at most {EXACT_SHARE_CONTACTS} contacts after few iterations")


def _closed(run: Replay, closed: Ints, z: Floats, u: Floats) -> _Closed:
    """The equations of the closed contacts."""
    system, t = run.system, run.system.tangent_count
    tangents = run.contacts.tangent_diag
    rough = closed[
        (system.friction[closed] > 0.0) & (tangents[closed].max(axis=1) > TINY_ROW * run.plain.rows.diag[closed])
    ]
    rows = np.concatenate([closed, system.tangents_of(rough).ravel()])
    contact = np.concatenate([closed, np.repeat(rough, t)])
    k, m = len(rows), system.count
    p, q, mu = sp.lil_matrix((k, k)), sp.lil_matrix((k, k)), sp.lil_matrix((k, m))
    for j in range(len(closed)):
        q[j, j] = 1.0
    boxed, sliding = isinstance(run.response.friction_model, Pyramid), []
    place = {int(i): j for j, i in enumerate(closed)}
    for j, i in enumerate(rough):
        at = len(closed) + j * t + np.arange(t)
        slip, normal = u[rows[at]], place[int(i)]
        groups = [[s] for s in range(t)] if boxed else [list(range(t))]
        for group in groups:
            some, speed = at[group], np.linalg.norm(slip[group])
            if speed <= run.small:
                for row in some:
                    q[row, row] = 1.0
                continue
            sliding.append(int(i))
            direction, bound = -slip[group] / speed, system.friction[i] * z[i]
            across = (np.eye(len(group)) - np.outer(direction, direction)) * bound / speed
            for one, row in enumerate(some):
                p[row, row] = 1.0
                p[row, normal] = -system.friction[i] * direction[one]
                mu[row, i] = z[i] * direction[one]
                for two, other in enumerate(some):
                    if across[one, two] != 0.0:
                        q[row, other] = across[one, two]
    return _Closed(rows, p.tocsr(), q.tocsr(), mu.tocsr(), contact, np.unique(np.array(sliding, np.int64)))


def _note(run: Replay, pieces: _Closed, closed: Ints, z: Floats, u: Floats, excess: Floats, factor: General) -> None:
    """Margins: impulses of closed contacts, excess speed of open ones, room to the bound of friction, slip."""
    system, t, m = run.system, run.system.tangent_count, run.system.count
    diagonal = run.plain.rows.diag
    tied = np.unique(pieces.contact[factor.redundant])
    free = np.setdiff1d(closed, tied)
    run.margins.note(free, diagonal[free] * z[free], "is about to push no more")
    others = np.setdiff1d(np.arange(m), closed)
    run.margins.note(others, excess[others], "is about to push")
    fields = PRESCRIBED | {"friction", "restitution"}
    run.margins.note(tied, np.zeros(len(tied)), "depends on other contacts", fields)
    uncertain = np.intersect1d(tied, pieces.sliding)
    run.margins.note(uncertain, np.zeros(len(uncertain)), "slides with an impulse that is not unique")
    rough = np.unique(pieces.contact[len(closed) :])
    if len(rough) == 0:
        return
    boxed = isinstance(run.response.friction_model, Pyramid)
    rows, scale = system.tangents_of(rough), run.contacts.tangent_diag[rough]
    bound, slip, push = system.friction[rough] * z[rough], u[rows], z[rows]
    if boxed:
        for s in range(t):
            _note_slip(run, rough, np.abs(slip[:, s]), (bound - np.abs(push[:, s])) * scale[:, s])
    else:
        room = (bound - np.linalg.norm(push, axis=1)) * scale.max(axis=1)
        _note_slip(run, rough, np.linalg.norm(slip, axis=1), room)


def _note_slip(run: Replay, contacts: Ints, speed: Floats, room: Floats) -> None:
    slides = speed > run.small
    run.margins.note(contacts[slides], speed[slides], "is about to stick")
    run.margins.note(contacts[~slides], room[~slides], "is about to slip")


def _balance(run: Replay, stage: Solved, share: Floats, target: Floats, z: Floats, label: Ints) -> None:
    """The stage that keeps the work of islands zero whose target speeds were reduced."""
    limited = np.flatnonzero((share < 1.0) & (share > WHOLE))
    if len(limited) == 0:
        return
    system, place = run.system, island_of_components(run, label)
    of_row = np.concatenate([label, np.repeat(label, system.tangent_count)])
    islands = []
    for k in limited:
        right = np.zeros((len(stage.y), 1))
        closed = stage.part.chosen < system.count
        mine = closed.copy()
        mine[closed] = label[stage.part.chosen[closed]] == k
        right[mine, 0] = target[stage.part.chosen[mine]]
        push = np.zeros(system.row_count)
        push[stage.part.chosen] = stage.factor.solve(right)[:, 0]
        step = system.rows.T @ push
        at, rows = np.flatnonzero(place == k), np.flatnonzero(of_row == k)
        islands.append((at, rows, step[at], push[rows]))
        after, start = stage.after[at], system.velocity[at]
        parts = (0.5 * float(after @ after), 0.5 * float(start @ start), float(system.base[rows] @ z[rows]))
        if abs(parts[0] - parts[1] + parts[2]) > BALANCED * max(parts[0], parts[1], abs(parts[2])):
            raise _in_steps()
        # Where the work hardly depends on the share, the share is hardly determined.
        rate = float(stage.after[at] @ step[at] + system.base[rows] @ push[rows])
        first = np.flatnonzero(label == k)[:1]
        size = max(float(np.abs(z[rows]).sum()), np.finfo(float).tiny)
        run.margins.note(first, np.array([rate / size]), "and its island gain hardly any energy by restitution")
    before = ("before", system.velocity)
    run.stages.append(Balanced(system, before, "rough", "impulses of rough", stage.after, z, tuple(islands)))
