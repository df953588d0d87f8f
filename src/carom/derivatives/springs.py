"""lzb: the variational equations of its springs, along steps like those of the law.

The springs of an island satisfy `dP/ds = k D^eta`, `dD/ds = -r u`, `u = u0 + A P` (`carom.laws.springs`). Every
change of r happens where the right side is continuous, u = 0 or D = 0, so that the tangent (dP, dD) is continuous
across it, except that the compression of a spring that opens stays zero: its tangent ends. Each step of the
Runge-Kutta method is linearized at its stages, so that the adjoint is that of the same steps.

The record of an island holds the state at the start of each step for the springs that are closed in it. An open spring
has no compression, and its impulse stays the same. The stages of a step are made again when it is linearized.

A contact that begins to be compressed gets an impulse of higher than first order: that is not a kink. The one kind of
kink is a spring that relaxes at a speed of zero, and may open or stay closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..laws.dormand_prince import STAGES as _STAGES
from ..laws.dormand_prince import A as _A
from ..laws.dormand_prince import B as _B
from ..laws.lzb import SMALLEST_RESTITUTION, _without_gain
from ..laws.springs import (
    OPEN_SPEED,
    Scratch,
    Springs,
    _combined,
    _coupled,
    _extract,
    _fastest,
    _rates,
    _separation,
    _switch,
    _with_scales,
    advance,
    first_pace,
)
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints, speeds
from .replay import Ends, Replay
from .tape import Part, Slopes, doubled, doubled_rows

_BACK = np.ascontiguousarray(_A.T)
RECORD_STEPS, RECORD_STATES = 1024, 16_384  # first room of a record, which is doubled when it is full
# Tolerance of the replay over that of the law, and the least one. Where a spring opens, tangents are less smooth than
# forces, D^0.5 for D^1.5: with the tolerance of the law they were off by 1.4e-6 in a chain of 40 contacts.
REPLAY_SHARE, LEAST_TOLERANCE = 0.1, 1e-15
NO_BOUND = np.iinfo(np.int64).max  # on trial steps: the law has found its end


class Record(NamedTuple):
    """The steps of an island: lengths, and the closed springs at the start of each of them."""

    length: Floats  # (steps,)
    ptr: Ints  # (steps + 1,) step k has the closed springs ptr[k]:ptr[k + 1]
    spring: np.ndarray  # (closed,) their numbers
    state: Floats  # (closed, 3) P, D and r
    final: Floats  # (m,) P at the end


class Entries(NamedTuple):
    """The rows G of an island, and changes of their entries, or adjoints of them."""

    ptr: Ints
    columns: Ints
    data: Floats
    change: Floats  # (directions, entries); (directions, 0) where rows stay the same, or are not asked for
    work: Floats  # (2, N)


@kernel
def island_springs(rows, members, velocity, given):
    """The springs of an island as `laws.springs.integrate_islands` makes them, and the unit of speeds."""
    stiffness, eta, restitution = given
    fastest = _fastest(rows, members, velocity)
    g, x = _extract(rows, members, velocity, np.empty(len(velocity), np.int64))
    k, base = stiffness / np.max(stiffness * g[3]), np.empty(len(members))
    for j in range(len(members)):
        base[j] = rows.base[members[j], 0] / fastest
    start = (x / fastest, base, speeds(rows, velocity)[members] / fastest)
    unit = np.empty((2, len(members)))
    return Springs(g, _coupled(g, len(x)), *start, k, eta, 1.0 / restitution**2, unit, 0.0), fastest


@kernel(inline="always")
def _scratch(springs):
    """Arrays of the integration."""
    m = len(springs.boundary)
    slope, sums = np.zeros((_STAGES, 2, m)), np.zeros((3, 2 * m))
    flat = slope.reshape((_STAGES, 2 * m))
    return Scratch(np.zeros(m), slope, np.zeros((2, m)), springs.velocity.copy(), np.zeros(m), flat, sums)


@kernel(inline="always")
def _nearly_opened(springs, y, new, scratch, margin):
    """Lowers `margin` (m,), relative speeds, for springs that nearly relax in a step and are loaded again."""
    for i in range(len(margin)):
        turned = scratch.slope[0, 1, i] < 0.0 < scratch.slope[_STAGES - 1, 1, i]
        if turned and scratch.rate[i] != 0.0 and y[1, i] > 0.0 and new[1, i] > 0.0:
            margin[i] = min(margin[i], min(y[1, i], new[1, i]) / springs.unit[1, i])


@kernel
def recorded(springs, tolerance):
    """Integrates an island by the method of the law. Returns its record, the springs with scales, and margins (2, m).

    Margins are relative speeds, infinity where there was no decision: at which a spring opens, and by which a spring
    that is loaded again has not opened.
    """
    m, scratch = len(springs.boundary), _scratch(springs)
    y, new, after, margins = np.zeros((2, m)), np.zeros((2, m)), np.zeros(m), np.full((2, m), np.inf)
    _separation(springs, y[0], scratch.velocity, scratch.speed)
    springs = _with_scales(springs, np.sum(np.minimum(scratch.speed, 0.0) ** 2 / springs.rows[3]))
    lengths, ptr, steps = np.empty(RECORD_STEPS), np.zeros(RECORD_STEPS + 1, np.int64), 0
    spring, state, count = np.empty(RECORD_STATES + m, np.int32), np.empty((RECORD_STATES + m, 3)), 0
    pace, loaded = first_pace(tolerance), _switch(springs, y, scratch)
    while loaded:
        if steps == len(lengths):
            lengths, ptr = doubled(lengths), doubled(ptr)
        if count + m > len(spring):
            spring, state = doubled(spring), doubled_rows(state)
        for i in range(m):
            if scratch.rate[i] != 0.0:
                spring[count], state[count, 0], state[count, 1] = i, y[0, i], y[1, i]
                state[count, 2] = scratch.rate[i]
                count += 1
        _, length, _, pace = advance(springs, y, pace, tolerance, scratch, new, after, NO_BOUND)
        lengths[steps], ptr[steps + 1], steps = length, count, steps + 1
        _nearly_opened(springs, y, new, scratch, margins[1])
        y, new = new, y
        loaded = _switch(springs, y, scratch)
        for q in range(ptr[steps - 1], count):
            i = spring[q]
            if scratch.rate[i] == 0.0:
                margins[0, i] = min(margins[0, i], abs(scratch.speed[i]))
    made = Record(lengths[:steps].copy(), ptr[: steps + 1].copy(), spring[:count].copy(), state[:count].copy(), y[0])
    return made, springs, margins


@kernel(inline="always")
def _closed(record, step, rate, state):
    """Sets r (m,), and P and D of the springs that are closed in a step."""
    rate[:] = 0.0
    for q in range(record.ptr[step], record.ptr[step + 1]):
        i = record.spring[q]
        state[0, i], state[1, i], rate[i] = record.state[q, 0], record.state[q, 1], record.state[q, 2]


@kernel
def _stages(springs, h, y, e, scratch, at):
    """The stages of a step from y once more, `at` (3, stages, m): P, `d(k D^eta)/dD` and `dr/de u`; y at its end."""
    m, eta, flat, stage = len(e), springs.exponent, scratch.flat, scratch.stage
    for s in range(_STAGES + 1):
        if s > 0:
            _combined(_A[s] if s < _STAGES else _B, s, flat, scratch.sums[0])
        for q in range(2):
            for i in range(m):
                stage[q, i] = y[q, i] + h * scratch.sums[0, q * m + i] if s > 0 else y[q, i]
        if s == _STAGES:
            break
        _rates(springs, stage, scratch, scratch.slope[s])
        for i in range(m):
            depth, r, u = stage[1, i], scratch.rate[i], scratch.speed[i]
            at[0, s, i], at[1, s, i], at[2, s, i] = stage[0, i], 0.0, 0.0
            if r != 0.0 and depth > 0.0:
                at[1, s, i] = springs.stiffness[i] * eta * (np.sqrt(depth) if eta == 1.5 else depth ** (eta - 1.0))
            if r != 0.0 and u > 0.0:
                at[2, s, i] = -2.0 * u / e[i] ** 3
    for q in range(2):
        for i in range(m):
            y[q, i] = stage[q, i]


@kernel(inline="always")
def _pushed(g, values, p, out):
    """`out = G^T p` (N,) with some values of the entries."""
    out[:] = 0.0
    for i in range(len(p)):
        if p[i] != 0.0:
            for q in range(g.ptr[i], g.ptr[i + 1]):
                out[g.columns[q]] += values[q] * p[i]


@kernel
def _turned(g, change, p, u):
    """`u += dA p`, `dA = dG G^T + G dG^T`."""
    _pushed(g, g.data, p, g.work[0])
    _pushed(g, change, p, g.work[1])
    for i in range(len(p)):
        for q in range(g.ptr[i], g.ptr[i + 1]):
            u[i] += change[q] * g.work[0, g.columns[q]] + g.data[q] * g.work[1, g.columns[q]]


@kernel
def _turned_back(g, change, p, u):
    """The adjoint of `_turned` for the adjoint u of the speeds: added to `change`."""
    _pushed(g, g.data, p, g.work[0])
    _pushed(g, g.data, u, g.work[1])
    for i in range(len(p)):
        for q in range(g.ptr[i], g.ptr[i + 1]):
            change[q] += u[i] * g.work[0, g.columns[q]] + p[i] * g.work[1, g.columns[q]]


@kernel(inline="always")
def _unstarted(springs):
    """Springs with the speeds `A P`."""
    zero = (np.zeros_like(springs.velocity), np.zeros_like(springs.boundary), np.zeros_like(springs.start))
    own = (springs.stiffness, springs.exponent, springs.release, springs.unit, springs.speed_floor)
    return Springs(springs.rows, springs.coupled, *zero, *own)


@kernel
def forwards(springs, record, e, g, du0, de):
    """Tangents (directions, m) of P from those of the speeds before, of restitution and of the entries of G."""
    linear, scratch, m = _unstarted(springs), _scratch(springs), len(e)
    at, k, sums, u = np.empty((3, _STAGES, m)), np.zeros((_STAGES, 2 * m)), np.zeros(2 * m), np.zeros(m)
    dy, y, stage, before = np.zeros((len(du0), 2 * m)), np.zeros((2, m)), np.zeros((2, m)), np.zeros(m)
    for step in range(len(record.length)):
        h = record.length[step]
        before[:] = scratch.rate
        _closed(record, step, scratch.rate, y)
        for i in range(m):
            if before[i] != 0.0 and scratch.rate[i] == 0.0:  # the spring has opened
                y[1, i] = 0.0
                dy[:, m + i] = 0.0
        _stages(springs, h, y, e, scratch, at)
        for b in range(len(du0)):
            for s in range(_STAGES):
                if s > 0:
                    _combined(_A[s], s, k, sums)
                for q in range(2):
                    for i in range(m):
                        stage[q, i] = dy[b, q * m + i] + (h * sums[q * m + i] if s > 0 else 0.0)
                _separation(linear, stage[0], scratch.velocity, u)
                if g.change.shape[1] > 0:
                    _turned(g, g.change[b], at[0, s], u)
                for i in range(m):
                    k[s, i] = at[1, s, i] * stage[1, i]
                    k[s, m + i] = -scratch.rate[i] * (u[i] + du0[b, i]) - at[2, s, i] * de[b, i]
            _combined(_B, _STAGES, k, sums)
            for i in range(2 * m):
                dy[b, i] += h * sums[i]
    return dy[:, :m].copy()


@kernel
def backwards(springs, record, e, g, bar):
    """Adjoints (directions, m) of the speeds before and of restitution from those of P, `bar`; adds to `g.change`."""
    linear, scratch, m = _unstarted(springs), _scratch(springs), len(e)
    at, k, sums, u = np.empty((3, _STAGES, m)), np.zeros((_STAGES, 2 * m)), np.zeros(2 * m), np.zeros(m)
    dy, y, push, after = np.zeros((len(bar), 2 * m)), np.zeros((2, m)), np.zeros(m), np.zeros(m)
    u0, de, start = np.zeros((len(bar), m)), np.zeros((len(bar), m)), np.zeros((2, m))
    dy[:, :m], start[0] = bar, record.final
    for step in range(len(record.length) - 1, -1, -1):
        h = record.length[step]
        after[:] = scratch.rate
        start[1] = 0.0
        _closed(record, step, scratch.rate, start)
        for i in range(m):
            if after[i] == 0.0 and scratch.rate[i] != 0.0:  # the spring opens at the end
                dy[:, m + i] = 0.0
        y[:] = start
        _stages(springs, h, y, e, scratch, at)
        for b in range(len(bar)):
            for s in range(_STAGES - 1, -1, -1):
                sums[:] = 0.0
                if s < _STAGES - 1:
                    _combined(_BACK[s, s + 1 :], _STAGES - 1 - s, k[s + 1 :], sums)
                for i in range(m):
                    kp, kd = h * (_B[s] * dy[b, i] + sums[i]), h * (_B[s] * dy[b, m + i] + sums[m + i])
                    push[i] = -scratch.rate[i] * kd
                    k[s, m + i] = at[1, s, i] * kp
                    u0[b, i] += push[i]
                    de[b, i] -= at[2, s, i] * kd
                _separation(linear, push, scratch.velocity, u)
                for i in range(m):
                    k[s, i] = u[i]
                if g.change.shape[1] > 0:
                    _turned_back(g, g.change[b], at[0, s], push)
            for s in range(_STAGES):
                for i in range(2 * m):
                    dy[b, i] += k[s, i]
    return u0, de


@dataclass(frozen=True, eq=False)
class Compressed:
    """All steps of an island, from its velocity to the impulses of its contacts."""

    part: Part  # normal rows
    before: Floats  # (N,) velocity x
    springs: Springs
    unit: float  # of speeds: the fastest approach
    restitution: Floats  # (k,)
    record: Record
    p: Floats  # (k,) impulses
    factor: float  # by which the law removes a gain of energy that is error of the integration
    register: str
    impulses: str

    def _entries(self, change: Floats) -> Entries:
        part = self.part
        return Entries(part.ptr, part.columns, part.data, change, np.zeros((2, part.width_all)))

    def jvp(self, d: Slopes) -> None:
        part, dx = self.part, d.registers[self.register]
        du0 = part.speed_tangent(d, dx, self.before).T / self.unit
        rows = np.empty((len(du0), 0)) if d.rows is None else np.ascontiguousarray(d.rows[part.entries].T)
        given = (np.ascontiguousarray(du0), np.ascontiguousarray(d.restitution[part.chosen].T))
        dp = forwards(self.springs, self.record, self.restitution, self._entries(rows), *given).T
        dp = self.factor * self.unit * dp
        d.registers[self.register] = dx + part.pushes(dp) + part.push_tangent(d, self.p)
        d.of(self.impulses, part.system.row_count)[part.chosen] += dp

    def vjp(self, bar: Slopes) -> None:
        part = self.part
        out = bar.of(self.register, part.width_all)
        total = part.times(out) + bar.of(self.impulses, part.system.row_count)[part.chosen]
        part.add_rows(bar, self.p, out)
        rows = np.zeros((total.shape[1], 0 if bar.rows is None else len(part.entries)))
        given = np.ascontiguousarray(self.factor * self.unit * total.T)
        u0, e = backwards(self.springs, self.record, self.restitution, self._entries(rows), given)
        bar.restitution[part.chosen] += e.T
        if bar.rows is not None:
            bar.rows[part.entries] += rows.T
        bar.registers[self.register] = out + part.speed_adjoint(bar, u0.T / self.unit, self.before)


def relaxed(run: Replay, law: Any, contacts: Contacts, register: str) -> Ends:
    """The springs of every island, step by step."""
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
        fixed = replace(stage, p=factor * stage.p, factor=factor)
        run.stages.append(fixed)
        at = run.pushed(at, fixed.part.moved(at.velocity, fixed.p), mine, fixed.p)
    return at


def _integrated(run: Replay, law: Any, contacts: Contacts, mine: Ints, stiffness: Floats, at: Ends) -> Compressed:
    """The stage of one island."""
    e, velocity = contacts.restitution[mine], np.array(contacts.velocity, order="C")
    springs, unit = island_springs(run.plain.rows, mine, velocity, (stiffness, law.eta, e))
    record, springs, margins = recorded(springs, max(REPLAY_SHARE * law.tolerance, LEAST_TOLERANCE))
    for margin, reason in zip(margins, ("relaxes at rest, and may open or not", "nearly relaxes, and may open")):
        noted = np.flatnonzero(np.isfinite(margin))
        run.margins.note(mine[noted], margin[noted] * unit, reason)
    p = np.maximum(record.final, 0.0) * unit
    return Compressed(run.system.part(mine), at.velocity, springs, unit, e, record, p, 1.0, at.register, at.impulses)
