"""The same GR loop with a general QP solver inside: PIQP on the whole violator set, in velocity form.

`min 1/2 |x|^2` subject to `G_V x >= -2 u_V`; x is the change of velocity of one reflection. Only the bodies that
the violators touch are handed over. The front is found with the kernels of the law itself, so that the comparison
is one of solvers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from carom.laws.front import initial_front, next_front
from carom.problem.contacts import Contacts, as_matrix
from carom.solvers.rows import Floats, speeds


@dataclass
class Outcome:
    velocity: Floats
    iterations: int
    residual: float
    inside: float  # seconds in PIQP's setup and solve
    total: float


def reflect_with_piqp(contacts: Contacts, tol: float, gap: float = 1e-18) -> Outcome:
    """GR with PIQP; the residual is measured as in Carom, from PIQP's own multipliers.

    Each problem is scaled to largest |c| = 1. The residual falls like the root of the duality gap, so the gap is
    what has to be asked for: 1e-18 brings most solves below 1e-10, at about 20 iterations.
    """
    import piqp

    rows = contacts.rows
    matrix = as_matrix(rows)
    x = contacts.velocity.copy()
    stamp, visited = np.full(contacts.count, -1, np.int64), np.full(len(x), -1, np.int64)
    front, u = initial_front(rows, x, tol)
    count, worst, inside = 0, 0.0, 0.0
    begin = time.perf_counter()
    while len(front):
        g = matrix[front]
        used = np.unique(g.indices)
        g = g[:, used].tocsc()
        size = 2.0 * np.abs(u).max()
        start = time.perf_counter()
        solver = piqp.SparseSolver()
        solver.settings.eps_abs = 1e-12
        solver.settings.eps_rel = 0.0
        solver.settings.check_duality_gap = True
        solver.settings.eps_duality_gap_abs = gap
        solver.settings.eps_duality_gap_rel = 0.0
        solver.settings.max_iter = 30
        solver.setup(P=sp.identity(len(used), format="csc"), c=np.zeros(len(used)), G=g, h_l=-2.0 * u / size)
        solver.solve()
        inside += time.perf_counter() - start
        y = size * np.maximum(_multipliers(solver.result), 0.0)
        change = g.T @ y
        slack = g @ change + 2.0 * u
        worst = max(worst, np.abs(np.minimum(rows.diag[front] * y, slack)).max() / size)
        x.reshape(-1)[used] += change
        moved = front
        front, u = next_front(rows, x, tol, moved, stamp, visited, count)
        new = ~np.isin(front, moved)  # the others separate, up to the tolerance of the solver
        front, u = front[new], u[new]
        count += 1
    return Outcome(x, count, float(worst), inside, time.perf_counter() - begin)


def _multipliers(result: object) -> Floats:
    for name in ("z_l", "z_g_l", "z"):
        value = getattr(result, name, None)
        if value is not None:
            return np.abs(np.asarray(value))
    raise RuntimeError("this version of PIQP names its multipliers in another way")


def slowest(contacts: Contacts, x: Floats) -> float:
    """The smallest separation speed."""
    return float(speeds(contacts.rows, x).min())
