"""Towers: the 5 x 5 diamond of the paper, against Clarabel on the same programs; frameworks against three coordinates
a brick; and how the time of a step grows with the tower."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from carom.problem.contacts import as_matrix
from carom.solvers.rows import Floats, Rows
from carom.towers import Tower
from carom.towers import loop as tower_loop
from carom.towers.loop import Loop, LoopOptions
from carom.towers.projection import Projection

from .report import Row

STEPS, STEP = 1000, 0.01
BLOCK = 50  # steps per turn


@dataclass
class Log:
    """Programs of a run, and the processor seconds that Carom and Clarabel took for them.

    The two take turns of BLOCK steps: in turns of one program, each would find the caches filled by the other.
    """

    every: int  # Clarabel solves every n-th program
    count: int = 0
    own: float = 0.0  # of all programs, with their setup
    given: int = 0
    peer: float = 0.0
    waiting: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Clarabel's time per program over ours."""
        return (self.peer / self.given) / (self.own / self.count)


def run() -> list[Row]:
    rows, answers = [], {}
    for coordinates, every in (("reduced", 1), ("framework", 4)):
        whole, log = _recorded(coordinates, every)
        ratio = log.ratio
        answers[coordinates] = whole
        print(
            f"   {coordinates}: {log.count} programs, {1e3 * log.own / log.count:.3f} ms each, Clarabel cold"
            f" {1e3 * log.peer / log.given:.3f} ms ({ratio:.1f} times); whole run {whole:.2f} s"
        )
        name = f"5 x 5 diamond, 1,000 steps, {coordinates}, against Clarabel"
        rows.append(Row(name, ">= 10 times", f"{ratio:.1f} times", ratio >= 10.0))
    rows.append(Row("5 x 5 diamond, 1,000 steps", "< 10 s", f"{answers['reduced']:.2f} s", answers["reduced"] < 10.0))
    faster = answers["framework"] / answers["reduced"]
    rows.append(Row("reduced coordinates against frameworks (open question)", "-", f"{faster:.1f} times faster", True))
    return rows + _growth()


def _recorded(coordinates: str, every: int) -> tuple[float, Log]:
    """Seconds of a plain run, and a log of a second one, of which Clarabel solves the same programs."""
    tower, options = Tower.diamond(5), LoopOptions(STEP, coordinates=coordinates)
    _go(tower, options, 50)  # compile, warm up
    whole = _go(tower, options, STEPS)
    log = Log(every)

    class Recording(Projection):
        def __init__(self, rows: Rows, equations: int) -> None:
            start = time.process_time()
            super().__init__(rows, equations)
            log.own += time.process_time() - start

        def solve(self, free, bound, start=None, floor=0.0, scale=0.0):  # type: ignore[no-untyped-def]
            begin = time.process_time()
            found = super().solve(free, bound, start, floor, scale)
            log.own += time.process_time() - begin
            if log.count % every == 0:
                log.waiting.append((self.rows, self.equations, free, bound))
            log.count += 1
            return found

    tower_loop.Projection = Recording  # type: ignore[misc]
    try:
        loop = Loop(tower, options)
        for _ in range(STEPS // BLOCK):
            for _ in range(BLOCK):
                loop.advance()
            log.peer += sum(_clarabel(*program) for program in log.waiting)
            log.given += len(log.waiting)
            log.waiting.clear()
    finally:
        tower_loop.Projection = Projection  # type: ignore[misc]
    return whole, log


def _go(tower: Tower, options: LoopOptions, steps: int) -> float:
    loop = Loop(tower, options)
    start = time.process_time()
    for _ in range(steps):
        loop.advance()
    return time.process_time() - start


def _clarabel(rows: Rows, equations: int, free: Floats, bound: Floats) -> float:
    """Processor seconds of Clarabel's own setup and solve, with its default tolerances, without making matrices."""
    import clarabel

    g = as_matrix(rows)
    inequalities = len(bound) - equations
    order = np.r_[inequalities : len(bound), 0:inequalities]
    a, b = (-g[order]).tocsc(), -bound[order]
    cones = ([clarabel.ZeroConeT(equations)] if equations else []) + [clarabel.NonnegativeConeT(inequalities)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    p, q = sp.identity(free.size, format="csc"), -free.ravel()
    start = time.process_time()
    clarabel.DefaultSolver(p, q, a, b, cones, settings).solve()
    return time.process_time() - start


def _growth() -> list[Row]:
    """Time of a step over the first second of the collapse, for diamonds of 5 x 5 to 20 x 20 bricks."""
    sizes, contacts, seconds = (5, 10, 20), [], []
    for n in sizes:
        loop = Loop(Tower.diamond(n), LoopOptions(STEP))
        loop.advance()
        near, spent = 0, time.process_time()
        for _ in range(100):
            loop.advance()
            near += loop.report.near
        seconds.append((time.process_time() - spent) / 100)
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
    start, worst, overlap = time.process_time(), 0.0, 0.0
    for _ in range(STEPS):
        loop.advance()
        worst, overlap = max(worst, loop.report.certificate), max(overlap, loop.report.overlap)
    spent = time.process_time() - start
    text = f"{spent:.0f} s, overlap {overlap:.0e}, certificate {worst:.0e}"
    return Row("20 x 20 diamond, 1,000 steps", "completes, overlap < 1e-3", text, overlap < 1e-3)
