"""The stage of jacobi: reflections of several contacts, each as if it were alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats
from .tape import Part, Slopes


@dataclass(frozen=True, eq=False)
class Reflected:
    """Impulses `p_i = -(1 + e_i) u_i / A_ii` of contacts, each as if it were alone, and `x' = x + G^T p`."""

    part: Part  # normal rows of the contacts
    before: Floats  # (N,) velocity x
    speeds: Floats  # (k,) u
    diagonal: Floats  # (k,) A_ii
    restitution: Floats  # (k,) e
    own: bool  # whether e are the coefficients of the problem, rather than 1
    register: str
    impulses: str

    @property
    def p(self) -> Floats:
        """The impulses (k,)."""
        return -(1.0 + self.restitution) * self.speeds / self.diagonal

    def jvp(self, d: Slopes) -> None:
        part, p, dx = self.part, self.p, d.registers[self.register]
        dp = -(1.0 + self.restitution)[:, None] * part.speed_tangent(d, dx, self.before)
        if self.own:
            dp -= self.speeds[:, None] * d.restitution[part.chosen]
        if d.rows is not None:
            twice = 2.0 * part.matrix.data[:, None] * d.rows[part.entries]
            dp -= p[:, None] * np.add.reduceat(twice, part.ptr[:-1], axis=0)
        dp /= self.diagonal[:, None]
        d.registers[self.register] = dx + part.transposed @ dp + part.push_tangent(d, p)
        d.of(self.impulses, part.system.row_count)[part.chosen] += dp

    def vjp(self, bar: Slopes) -> None:
        part, p = self.part, self.p
        out = bar.of(self.register, part.matrix.shape[1])
        shares = (part.matrix @ out + bar.of(self.impulses, part.system.row_count)[part.chosen]) / self.diagonal[
            :, None
        ]
        part.add_rows(bar, p, out)
        if bar.rows is not None:
            bar.rows[part.entries] -= 2.0 * part.matrix.data[:, None] * (p[:, None] * shares)[part.row]
        if self.own:
            bar.restitution[part.chosen] -= self.speeds[:, None] * shares
        speed = -(1.0 + self.restitution)[:, None] * shares
        bar.registers[self.register] = out + part.speed_adjoint(bar, speed, self.before)
