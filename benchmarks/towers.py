"""Towers: the 5 x 5 diamond of the paper, against Clarabel on the same programs; frameworks against three coordinates
a brick; and how the time of a step grows with the tower."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from carom.solvers.qp.nearest import Nearest
from carom.solvers.rows import Floats, Rows
from carom.towers import Tower
from carom.towers import loop as tower_loop
from carom.towers.loop import Loop, LoopOptions

from .report import Row

STEPS, STEP = 1000, 0.01


@dataclass
class Log:
    """Programs of a run, the seconds that they took to set up and to solve, and Clarabel's for the same, in turns."""

    every: int  # how many programs pass for each that Clarabel gets too
    count: int = 0
    setup: float = 0.0
    solve: float = 0.0  # of those that Clarabel got
    peer: float = 0.0
    given: int = 0

    @property
    def own(self) -> float:
        """Seconds a program, its part of the set-up included."""
        return self.setup / self.count + self.solve / self.given

    @property
    def other(self) -> float:
        return self.peer / self.given


def run() -> list[Row]:
    rows, answers = [], {}
    for coordinates, every in (("reduced", 1), ("framework", 4)):
        whole, log = _recorded(coordinates, every)
        ratio = log.other / log.own
        answers[coordinates] = whole
        print(
            f"   {coordinates}: {log.count} programs, {1e3 * log.own:.2f} ms each, Clarabel cold"
            f" {1e3 * log.other:.2f} ms ({ratio:.1f} times); whole run {whole:.2f} s"
        )
        name = f"5 x 5 diamond, 1,000 steps, {coordinates}, against Clarabel"
        rows.append(Row(name, ">= 10 times", f"{ratio:.1f} times", ratio >= 10.0))
    rows.append(Row("5 x 5 diamond, 1,000 steps", "< 10 s", f"{answers['reduced']:.2f} s", answers["reduced"] < 10.0))
    faster = answers["framework"] / answers["reduced"]
    rows.append(Row("reduced coordinates against frameworks (open question)", "-", f"{faster:.1f} times faster", True))
    return rows + _growth()


def _recorded(coordinates: str, every: int) -> tuple[float, Log]:
    """Seconds of a plain run, and a log of a second one, in which Clarabel solves after us, program by program."""
    tower, options = Tower.diamond(5), LoopOptions(STEP, coordinates=coordinates)
    _go(tower, options, 50)  # compile, warm up
    whole = _go(tower, options, STEPS)
    log = Log(every)

    class Recording(Nearest):
        def __init__(self, rows: Rows, equations: int) -> None:
            start = time.perf_counter()
            super().__init__(rows, equations)
            log.setup += time.perf_counter() - start

        def solve(self, free, bound, start=None, floor=0.0, scale=0.0):  # type: ignore[no-untyped-def]
            begin = time.perf_counter()
            found = super().solve(free, bound, start, floor, scale)
            spent = time.perf_counter() - begin
            if log.count % every == 0:
                log.solve += spent
                log.peer += _clarabel(self.rows, self.equations, free, bound)
                log.given += 1
            log.count += 1
            return found

    tower_loop.Nearest = Recording  # type: ignore[misc]
    try:
        _go(tower, options, STEPS)
    finally:
        tower_loop.Nearest = Nearest  # type: ignore[misc]
    return whole, log


def _go(tower: Tower, options: LoopOptions, steps: int) -> float:
    loop = Loop(tower, options)
    start = time.perf_counter()
    for _ in range(steps):
        loop.advance()
    return time.perf_counter() - start


def _clarabel(rows: Rows, equations: int, free: Floats, bound: Floats) -> float:
    """Seconds of Clarabel's own setup and solve, with its default tolerances; the matrices are made beforehand."""
    import clarabel

    d = rows.val.shape[1]
    columns = (rows.body[:, None] * d + np.arange(d)).ravel()
    g = sp.csr_matrix((rows.val.ravel(), columns, rows.ptr * d), shape=(len(bound), free.size))
    inequalities = len(bound) - equations
    order = np.r_[inequalities : len(bound), 0:inequalities]
    a, b = (-g[order]).tocsc(), -bound[order]
    cones = ([clarabel.ZeroConeT(equations)] if equations else []) + [clarabel.NonnegativeConeT(inequalities)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    p, q = sp.identity(free.size, format="csc"), -free.ravel()
    start = time.perf_counter()
    clarabel.DefaultSolver(p, q, a, b, cones, settings).solve()
    return time.perf_counter() - start


def _growth() -> list[Row]:
    """Time of a step over the first second of the collapse, for diamonds of 5 x 5 to 20 x 20 bricks."""
    sizes, contacts, seconds = (5, 10, 20), [], []
    for n in sizes:
        loop = Loop(Tower.diamond(n), LoopOptions(STEP))
        loop.advance()
        near, spent = 0, time.perf_counter()
        for _ in range(100):
            loop.advance()
            near += loop.report.near
        seconds.append((time.perf_counter() - spent) / 100)
        contacts.append(near / 100)
        print(f"   diamond {n}: {contacts[-1]:.0f} contacts, {1e3 * seconds[-1]:.2f} ms per step")
    exponent = float(np.log(seconds[-1] / seconds[0]) / np.log(contacts[-1] / contacts[0]))
    complete = _completes()
    return [
        Row("time of a step, 5 x 5 to 20 x 20", "contacts^1.3", f"contacts^{exponent:.2f}", exponent <= 1.3),
        complete,
    ]


def _completes() -> Row:
    loop = Loop(Tower.diamond(20), LoopOptions(STEP))
    start, worst, overlap = time.perf_counter(), 0.0, 0.0
    for _ in range(STEPS):
        loop.advance()
        worst, overlap = max(worst, loop.report.certificate), max(overlap, loop.report.overlap)
    spent = time.perf_counter() - start
    text = f"{spent:.0f} s, overlap {overlap:.0e}, certificate {worst:.0e}"
    return Row("20 x 20 diamond, 1,000 steps", "completes, overlap < 1e-3", text, overlap < 1e-3)
