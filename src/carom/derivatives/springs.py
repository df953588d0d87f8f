"""lzb: the variational equations of its springs, along the very steps that the law takes.

The springs of an island satisfy `dP/ds = k D^eta`, `dD/ds = -r u`, `u = u0 + A P` (`carom.solvers.springs`). Every
change of r happens where the right side is continuous, u = 0 or D = 0, so that the tangent (dP, dD) is continuous
across it, except that the compression of a spring that opens stays zero: its tangent ends. Each step of the
Runge-Kutta method is linearized at its stages, so that the adjoint is that of the same steps.

A contact that begins to be compressed gets an impulse of higher than first order: that is not a kink. The one kind of
kink is a spring that relaxes at a speed of zero, and may open or stay closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..laws.lzb import SMALLEST_RESTITUTION
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints, speeds
from .replay import Ends, Replay
from .tape import Part, Slopes


class Step(NamedTuple):
    """One step of an island: its length, the state at each stage, and what happened at its end."""

    length: float
    impulse: Floats  # (stages, k) P
    depth: Floats  # (stages, k) D
    rate: Floats  # (k,) r
    opened: Ints  # springs that open at the end


@dataclass(frozen=True, eq=False)
class Compressed:
    """All steps of an island, from its velocity to the impulses of its contacts."""

    part: Part  # normal rows
    before: Floats  # (N,) velocity x
    unit: float  # of speeds: the fastest approach
    stiffness: Floats  # (k,)
    exponent: float
    restitution: Floats  # (k,)
    steps: tuple[Step, ...]
    p: Floats  # (k,) impulses
    factor: float  # by which the law removes a gain of energy that is error of the integration
    register: str
    impulses: str

    @cached_property
    def _tableau(self) -> tuple[Floats, Floats]:
        from scipy.integrate import DOP853  # slow to import

        return np.asarray(DOP853.A)[:12, :12], np.asarray(DOP853.B)

    @cached_property
    def _dense(self) -> Floats:
        return (self.part.matrix @ self.part.transposed).toarray()

    @cached_property
    def _start(self) -> Floats:
        return self.part.speeds(self.before) / self.unit

    def _slopes(self, step: Step) -> tuple[Floats, Floats, Floats]:
        """At each stage `d(k D^eta)/dD`, r where the spring is closed, and `dr/de u`."""
        depth = np.maximum(step.depth, 0.0)
        stiff = self.stiffness * self.exponent * depth ** (self.exponent - 1.0)
        stiff = np.where((step.rate == 0.0) | (step.depth <= 0.0), 0.0, stiff)
        u = self._start + step.impulse @ self._dense
        loss = np.where((step.rate > 0.0) & (u > 0.0), -2.0 * u / self.restitution**3, 0.0)
        return stiff, step.rate, loss

    def jvp(self, d: Slopes) -> None:
        part, dx = self.part, d.registers[self.register]
        du0 = part.speed_tangent(d, dx, self.before) / self.unit
        turned, (a, b) = self._coupling_tangent(d), self._tableau
        de = d.restitution[part.chosen]
        dp, dd = np.zeros_like(du0), np.zeros_like(du0)
        for step in self.steps:
            stiff, rate, loss = self._slopes(step)
            kp, kd = np.zeros((12, *du0.shape)), np.zeros((12, *du0.shape))
            for s in range(12):
                p = dp + step.length * np.tensordot(a[s, :s], kp[:s], 1)
                depth = dd + step.length * np.tensordot(a[s, :s], kd[:s], 1)
                u = du0 + self._dense @ p
                if turned is not None:
                    u = u + np.einsum("ijb,j->ib", turned, step.impulse[s])
                kp[s] = stiff[s][:, None] * depth
                kd[s] = -rate[:, None] * u - loss[s][:, None] * de
            dp = dp + step.length * np.tensordot(b, kp, 1)
            dd = dd + step.length * np.tensordot(b, kd, 1)
            dd[step.opened] = 0.0
        dp = self.factor * self.unit * dp
        d.registers[self.register] = dx + part.transposed @ dp + part.push_tangent(d, self.p)
        d.of(self.impulses, part.system.row_count)[part.chosen] += dp

    def _coupling_tangent(self, d: Slopes) -> Floats | None:
        """dA (k, k, directions)."""
        if d.rows is None:
            return None
        part, k = self.part, len(self.p)
        out = np.empty((k, k, d.rows.shape[1]))
        for column in range(d.rows.shape[1]):
            turned = part.matrix.copy()
            turned.data = d.rows[part.entries, column]
            cross = (turned @ part.transposed).toarray()
            out[:, :, column] = cross + cross.T
        return out

    def vjp(self, bar: Slopes) -> None:
        part = self.part
        out = bar.of(self.register, part.matrix.shape[1])
        total = part.matrix @ out + bar.of(self.impulses, part.system.row_count)[part.chosen]
        part.add_rows(bar, self.p, out)
        p, d = self.factor * self.unit * total, np.zeros_like(total)
        u0, e, (a, b) = np.zeros_like(total), np.zeros_like(total), self._tableau
        k, directions = total.shape
        coupling = np.zeros((k, k, directions)) if bar.rows is not None else None
        for step in reversed(self.steps):
            d = d.copy()
            d[step.opened] = 0.0
            stiff, rate, loss = self._slopes(step)
            yp, yd = np.zeros((12, k, directions)), np.zeros((12, k, directions))
            for s in range(11, -1, -1):
                kp = step.length * (b[s] * p + np.tensordot(a[s + 1 :, s], yp[s + 1 :], 1))
                kd = step.length * (b[s] * d + np.tensordot(a[s + 1 :, s], yd[s + 1 :], 1))
                u = -rate[:, None] * kd
                yd[s], yp[s] = stiff[s][:, None] * kp, self._dense @ u
                u0 += u
                e -= loss[s][:, None] * kd
                if coupling is not None:
                    coupling += u[:, None, :] * step.impulse[s][:, None]
            p, d = p + yp.sum(axis=0), d + yd.sum(axis=0)
        bar.restitution[part.chosen] += e
        if coupling is not None and bar.rows is not None:
            for column in range(directions):
                both = coupling[:, :, column] + coupling[:, :, column].T
                bar.rows[part.entries, column] += (both @ part.matrix)[part.row, part.columns]
        bar.registers[self.register] = out + part.speed_adjoint(bar, u0 / self.unit, self.before)


def lzb(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """The springs of every island, step by step as the law integrates them."""
    from ..laws.lzb import _without_gain
    from ..solvers.springs import OPEN_SPEED

    if contacts.restitution.min() < SMALLEST_RESTITUTION:
        raise ProblemError("restitution", float(contacts.restitution.min()), f"at least {SMALLEST_RESTITUTION}")
    at, label = run.begin(register), contacts.island_labels()
    stiffness = law._stiffness_of(contacts.count) * contacts.shares
    u = run.speeds(at.velocity)
    found = []
    for island in range(label.max() + 1):
        mine = np.flatnonzero(label == island)
        if -u[mine].min() > OPEN_SPEED * contacts.approach():
            found.append(_integrated(run, law, contacts, mine, stiffness[mine], at))
    raw = np.zeros(contacts.count)
    for stage in found:
        raw[stage.part.chosen] = stage.p
    kept = _without_gain(contacts, raw)
    for stage in found:
        mine = stage.part.chosen
        most = mine[np.argmax(raw[mine])]
        factor = float(kept[most] / raw[most]) if raw[most] > 0.0 else 1.0
        fixed = Compressed(**{**stage.__dict__, "p": factor * stage.p, "factor": factor})
        run.stages.append(fixed)
        at = run.pushed(at, at.velocity + fixed.part.transposed @ fixed.p, mine, fixed.p)
    return at


def _integrated(run: Replay, law: Any, contacts: Contacts, mine: Ints, stiffness: Floats, at: Ends) -> Compressed:
    """The stage of one island: the loop of `carom.solvers.springs._integrate`, with a record of its steps."""
    from ..solvers import springs as kernels

    rows, bodies = run.plain.rows, len(contacts.velocity)
    velocity = np.array(contacts.velocity, order="C")
    fastest = kernels._fastest(rows, mine, velocity)
    g, x = kernels._extract(rows, mine, velocity, np.empty(bodies, np.int64))
    k, m = stiffness / np.max(stiffness * g[3]), len(mine)
    release = 1.0 / contacts.restitution[mine] ** 2
    base = rows.base[mine, 0].copy() / fastest
    before = speeds(rows, velocity)[mine] / fastest
    given = (x / fastest, base, before)
    springs = kernels.Springs(g, kernels._coupled(g, len(x)), *given, k, law.eta, release, np.empty((2, m)), 0.0)
    y, new, after, u = np.zeros((2, m)), np.zeros((2, m)), np.zeros(m), np.zeros(m)
    slope = np.zeros((kernels._STAGES, 2, m))
    memory = (slope.reshape((kernels._STAGES, 2 * m)), np.zeros((3, 2 * m)))
    scratch = kernels.Scratch(np.zeros(m), slope, np.zeros((2, m)), springs.velocity.copy(), u, *memory)
    kernels._separation(springs, y[0], scratch.velocity, u)
    springs = kernels._with_scales(springs, np.sum(np.minimum(u, 0.0) ** 2 / g[3]))
    steps: list[Step] = []
    h, last_h, last_guess, loaded = 1e-3, 0.0, law.tolerance, kernels._switch(springs, y, scratch)
    while loaded:
        kernels._rates(springs, y, scratch, scratch.slope[0])
        guess = kernels._step(springs, y, h, scratch, new)
        if not guess <= law.tolerance:
            h *= max(0.2, 0.9 * (law.tolerance / guess) ** 0.125)
            continue
        factor = 0.9 * (law.tolerance / max(guess, 1e-300)) ** 0.125
        if last_h > 0.0 and guess > 0.0:
            factor = min(factor, factor * (h / last_h) * (last_guess / guess) ** 0.125)
        grown, taken = h * min(5.0, max(factor, 0.1)), h
        last_h, last_guess = h, max(guess, 1e-300)
        if kernels._passed(springs, new, scratch, after) > 1.0:
            kernels._rates(springs, y, scratch, scratch.slope[0])
            kernels._locate(springs, y, h, scratch, new, after)
            taken = _length(y, new, scratch.slope)
            grown, last_h = min(grown, 0.01), 0.0
        steps.append(_recorded(run, springs, y, taken, scratch, new, mine, fastest))
        y, new, h = new, y, grown
        loaded = kernels._switch(springs, y, scratch)
        steps[-1] = steps[-1]._replace(opened=np.flatnonzero((steps[-1].rate != 0.0) & (scratch.rate == 0.0)))
        opened = steps[-1].opened
        run.margins.note(mine[opened], scratch.speed[opened] * fastest, "relaxes at rest, and may open or not")
    p = np.maximum(y[0], 0.0) * fastest
    part = run.system.part(mine)
    e = contacts.restitution[mine]
    return Compressed(part, at.velocity, fastest, k, law.eta, e, tuple(steps), p, 1.0, at.register, at.impulses)


def _length(y: Floats, new: Floats, slope: Floats) -> float:
    """The length of the step from y to `new` with these stages."""
    from scipy.integrate import DOP853  # slow to import

    rate = np.tensordot(np.asarray(DOP853.B), slope, 1)
    place = np.unravel_index(np.argmax(np.abs(rate)), rate.shape)
    return float((new - y)[place] / rate[place])


def _recorded(
    run: Replay, springs: Any, y: Floats, h: float, scratch: Any, new: Floats, mine: Ints, unit: float
) -> Step:
    from scipy.integrate import DOP853  # slow to import

    a = np.asarray(DOP853.A)[:12, :12]
    states = y + h * np.tensordot(a, scratch.slope, 1)
    turning = (scratch.rate != 0.0) & (y[1] > 0.0) & (new[1] > 0.0)
    turning &= (scratch.slope[0, 1] < 0.0) & (scratch.slope[-1, 1] > 0.0)
    if turning.any():  # a spring that nearly relaxes and is loaded again
        where, depth = np.flatnonzero(turning), np.minimum(y[1], new[1])
        share = depth[where] / springs.unit[1, where]
        run.margins.note(mine[where], share * unit, "nearly relaxes, and may open")
    return Step(h, states[:, 0].copy(), states[:, 1].copy(), scratch.rate.copy(), np.zeros(0, np.int64))
