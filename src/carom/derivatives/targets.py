"""Stages around a law: target speeds, mixtures of two answers, and the limit on the energy of an island."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats, Ints
from .tape import Slopes, System


@dataclass(frozen=True, eq=False)
class Targets:
    """`t = sum_k a_k u(x_k)`, the sum of weighted speeds at some velocities, whose weights depend on restitution."""

    system: System
    terms: tuple[tuple[str, Floats, Floats], ...]  # register, its velocity (N,), weights (m,)
    slope: Floats  # (m,) dt/de
    register: str = "target"

    def jvp(self, d: Slopes) -> None:
        out = self.slope[:, None] * d.restitution
        for name, x, weights in self.terms:
            out = out + weights[:, None] * self.system.normal.speed_tangent(d, d.registers[name], x)
        d.registers[self.register] = out

    def vjp(self, bar: Slopes) -> None:
        out = bar.registers.pop(self.register, None)
        if out is None:
            return
        bar.restitution += self.slope[:, None] * out
        for name, x, weights in self.terms:
            more = self.system.normal.speed_adjoint(bar, weights[:, None] * out, x)
            bar.registers[name] = bar.registers.get(name, 0.0) + more


@dataclass(frozen=True, eq=False)
class Mixed:
    """`register = sum_k a_k register_k` with fixed weights for each component."""

    terms: tuple[tuple[str, Floats], ...]  # register, weights
    register: str

    def jvp(self, d: Slopes) -> None:
        total = np.zeros((len(self.terms[0][1]), d.base.shape[1]))
        for name, weights in self.terms:
            total += weights[:, None] * d.of(name, len(weights))
        d.registers[self.register] = total

    def vjp(self, bar: Slopes) -> None:
        out = bar.registers.pop(self.register, None)
        if out is not None:
            for name, weights in self.terms:
                bar.registers[name] = bar.registers.get(name, 0.0) + weights[:, None] * out


@dataclass(frozen=True, eq=False)
class Balanced:
    """A share s of each island, along which velocity and impulses change by `step` and `push`, keeps its work zero.

    `0 = |x|^2 / 2 - |x0|^2 / 2 + base . z` on each island, with the velocity x0 before the impact and the prescribed
    speeds of boundaries: the limit on restitution where it would raise the energy.
    """

    system: System
    before: tuple[str, Floats]  # register and velocity x0
    register: str
    impulses: str
    velocity: Floats  # (N,) x
    impulse: Floats  # (rows,) z
    islands: tuple[tuple[Ints, Ints, Floats, Floats], ...]  # components, rows, step, push

    def _rate(self, at: Ints, rows: Ints, step: Floats, push: Floats) -> float:
        return float(self.velocity[at] @ step + self.system.base[rows] @ push)

    def jvp(self, d: Slopes) -> None:
        start, x, z = (
            d.registers[self.before[0]],
            d.registers[self.register],
            d.of(self.impulses, self.system.row_count),
        )
        x, z = x.copy(), z.copy()
        for at, rows, step, push in self.islands:
            work = self.velocity[at] @ x[at] - self.before[1][at] @ start[at]
            work += self.impulse[rows] @ d.base[rows] + self.system.base[rows] @ z[rows]
            share = -work / self._rate(at, rows, step, push)
            x[at] += step[:, None] * share
            z[rows] += push[:, None] * share
        d.registers[self.register], d.registers[self.impulses] = x, z

    def vjp(self, bar: Slopes) -> None:
        x = bar.of(self.register, len(self.velocity)).copy()
        z = bar.of(self.impulses, self.system.row_count).copy()
        start = np.zeros_like(x)
        for at, rows, step, push in self.islands:
            share = -(step @ x[at] + push @ z[rows]) / self._rate(at, rows, step, push)
            x[at] += self.velocity[at][:, None] * share
            z[rows] += self.system.base[rows][:, None] * share
            start[at] -= self.before[1][at][:, None] * share
            bar.base[rows] += self.impulse[rows][:, None] * share
        bar.registers[self.register], bar.registers[self.impulses] = x, z
        bar.registers[self.before[0]] = bar.registers.get(self.before[0], 0.0) + start
