"""The replay of an impact: the decisions of the law once more, with one stage on the tape for each thing it solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem.contacts import Contacts
from ..resolve.response import Response
from ..solvers.qp.cone import cone, solve_chosen, work_of
from ..solvers.rows import Floats, Ints, speeds
from .implicit import DENSE_DEPENDENT, Gram, Picked, Solved
from .kinks import AT_KINK, MASSES, PRESCRIBED, Margins
from .tape import Cleared, Copied, Stage, System

ACTIVE = 1e-13  # speed that an impulse causes, relative to the largest speed of a cone problem, up to which it is none
STILL = 1e-9  # change of a speed, relative, up to which a resting contact has not been moved


@dataclass(frozen=True, eq=False)
class Ends:
    """An answer on the tape: its registers, the velocity (N,) and the normal impulses (m,)."""

    register: str
    impulses: str
    velocity: Floats
    normal: Floats


class Replay:
    """What is known while an impact is replayed."""

    def __init__(self, system: System, contacts: Contacts, response: Response) -> None:
        self.system, self.contacts, self.response = system, contacts, response
        self.plain = contacts.without_friction()
        self.stages: list[Stage] = []
        self.margins = Margins(max(contacts.fastest(), float(np.abs(contacts.speeds()).max(initial=0.0))))
        self.work = work_of(self.plain.rows)
        self.resting = np.zeros(contacts.count, bool)  # contacts that were stopped, and whose speed stays zero
        self.target: Floats | None = None  # (m,) speeds that qce_lcp asks for, in the register "target"
        self.origin, self.velocity = "before", system.velocity  # register and velocity from which answers start
        self._speeds: tuple[Floats, Floats] = (np.empty(0), np.empty(0))

    @property
    def small(self) -> float:
        """Speeds up to this size count as zero."""
        return AT_KINK * self.margins.scale

    def begin(self, register: str) -> Ends:
        """A register with the velocity from which answers start, and none of its impulses."""
        self.stages += [Copied(self.origin, register), Cleared(f"impulses of {register}")]
        self.resting[:] = False
        return Ends(register, f"impulses of {register}", self.velocity, np.zeros(self.system.count))

    def start_from(self, register: str, velocity: Floats) -> None:
        """Answers start from the velocity of a register from now on."""
        self.target = None
        self.origin, self.velocity = register, velocity
        self.plain = self.plain.moving(velocity.reshape(self.contacts.velocity.shape))

    def speeds(self, x: Floats) -> Floats:
        """Separation speeds (m,), kept for the velocity of the last call; velocities of answers are not changed."""
        if self._speeds[0] is not x:
            self._speeds = x, np.asarray(speeds(self.plain.rows, x.reshape(self.contacts.velocity.shape)))
        return self._speeds[1]

    def pushed(self, at: Ends, x: Floats, contacts: Ints, impulses: Floats) -> Ends:
        """The answer with more impulses, and the velocity after them."""
        normal = at.normal.copy()
        normal[contacts] += impulses
        return Ends(at.register, at.impulses, x, normal)

    def cone(
        self, at: Ends, chosen: Ints, e: Floats, own: bool, target: Floats | None = None
    ) -> tuple[Ends, Ints, Floats]:
        """Reflection in the cone of the contacts `chosen`: `u+ >= -e u`, or `u+ >= target` (m,) from its register.

        Also returns the active contacts and their impulses. `own`: e are the coefficients of the problem.
        """
        u = self.speeds(at.velocity)
        wanted = -e * u if target is None else target
        given = cone((u - wanted)[chosen])
        solve_chosen(self.plain.rows, chosen, given, self.work)
        diagonal = self.plain.rows.diag
        pushing = diagonal[chosen] * given.y > ACTIVE * np.abs(given.c).max(initial=0.0)
        active, y = chosen[pushing], given.y[pushing]
        if len(active) == 0:
            return at, active, y
        part = self.system.part(active)
        gram = Gram(part, ((wanted - u)[active], y))
        x = part.moved(at.velocity, y)
        sources: tuple[Any, ...] = ()
        if target is not None:
            sources = (("target", Picked(np.ones(len(active)), active, len(u))),)
        elif own:
            sources = (("restitution", Picked(-u[active], active, len(u))),)
        reflected = e[active] if target is None and e[active].any() else None
        stage = Solved(part, y, at.velocity, x, gram, at.register, reflected, sources, None, at.impulses)
        self.stages.append(stage)
        after = self.speeds(x)
        self._margins(stage, gram, active, chosen[~pushing], after - wanted, own)
        self.resting &= np.abs(after - u) <= STILL * self.margins.scale
        if target is None:
            self.resting[active[e[active] == 0.0]] = True
        return self.pushed(at, x, active, y), active, y

    def system_of(self, at: Ends, chosen: Ints, e: Floats, own: bool) -> Ends:
        """The linear system `u+ = -e u` on the contacts `chosen`, whatever the signs of the impulses (smm)."""
        u, part = self.speeds(at.velocity), self.system.part(chosen)
        gram = Gram(part)
        y = gram.solve(-((1.0 + e) * u)[chosen])
        x = part.moved(at.velocity, y)
        sources = (("restitution", Picked(-u[chosen], chosen, len(u))),) if own else ()
        reflected = e[chosen] if e[chosen].any() else None
        self.stages.append(Solved(part, y, at.velocity, x, gram, at.register, reflected, sources, None, at.impulses))
        tied, fields = chosen[gram.redundant], PRESCRIBED | ({"restitution"} if own else frozenset())
        self.margins.note(tied, np.zeros(len(tied)), "depends on other contacts", fields)
        missed = chosen[np.abs((self.speeds(x) + e * u)[chosen]) > self.small]
        self.margins.note(missed, np.zeros(len(missed)), "is reflected in the sense of least squares", fields | MASSES)
        self.resting &= np.abs(self.speeds(x) - u) <= STILL * self.margins.scale
        self.resting[chosen[e[chosen] == 0.0]] = True
        return self.pushed(at, x, chosen, y)

    def _margins(self, stage: Solved, gram: Gram, active: Ints, others: Ints, excess: Floats, own: bool) -> None:
        """Margins of a cone problem: impulses of the active contacts, and excess speed (m,) of the others."""
        diagonal, fields = self.plain.rows.diag, PRESCRIBED | ({"restitution"} if own else frozenset())
        push = diagonal[active] * stage.y
        tied = gram.redundant
        free = np.ones(len(active), bool)
        free[tied] = False
        self.margins.note(active[free], push[free], "is about to push no more")
        if len(tied):
            least = push[tied]
            if least.min() < 1e-2 * self.margins.scale and len(active) <= DENSE_DEPENDENT:
                least = np.full(len(tied), _largest_least_push(stage, tied, diagonal[active]))
            self.margins.note(active[tied], least, "is about to push no more")
            self.margins.note(active[tied], np.zeros(len(tied)), "depends on other contacts", fields)
        at_target = others[np.abs(excess[others]) <= self.small]
        if len(at_target):
            spanned = at_target[self._spanned(stage, gram, at_target)]
            self.margins.note(spanned, np.zeros(len(spanned)), "depends on other contacts", fields)
            others = np.setdiff1d(others, spanned)
        self.margins.note(others, excess[others], "is about to push")

    def _spanned(self, stage: Solved, gram: Gram, contacts: Ints) -> np.ndarray:
        """Which of some contacts have rows that are combinations of the active ones."""
        out = np.zeros(len(contacts), bool)
        for k, contact in enumerate(contacts):
            row = self.system.rows[contact].toarray().ravel()
            rest = row - stage.part.transposed @ gram.solve(stage.part.matrix @ row)
            out[k] = np.linalg.norm(rest) <= 1e-7 * np.linalg.norm(row)
        return out


def _largest_least_push(stage: Solved, tied: Ints, diagonal: Floats) -> float:
    """The largest least speed of the impulses of dependent contacts: `max t, A_ii y_i >= t, G^T y = x' - x`."""
    from scipy.optimize import linprog  # slow to import, and few problems come here

    g = stage.part.matrix.toarray()
    g = g[:, np.abs(g).any(axis=0)]
    k = len(stage.y)
    upper = np.zeros((len(tied), k + 1))
    upper[np.arange(len(tied)), tied] = -diagonal[tied]
    upper[:, k] = 1.0
    equal = np.hstack([g.T, np.zeros((g.shape[1], 1))])
    cost = np.append(np.zeros(k), -1.0)
    bounds = [(0.0, None)] * k + [(None, None)]
    answer = linprog(cost, upper, np.zeros(len(tied)), equal, g.T @ stage.y, bounds, method="highs")
    return max(float(-answer.fun), 0.0) if answer.status == 0 else 0.0
