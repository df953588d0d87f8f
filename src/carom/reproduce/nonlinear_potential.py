"""Cubes in a nonlinear potential: the energy of gr walks, that of jacobi explodes (Smith 2012, section 12).

The steps of free motion conserve the energy of a linear potential exactly. In a nonlinear one they conserve a nearby
energy, and every impact, which keeps the true one, moves it to another level. The walk is of the second order in the
time step. Potential, bodies and sizes are ours: the paper shows two curves without parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..analysis.runs import energy_drift
from ..draw.style import CYCLE, DASHES, GRAY, TIME, law_style, styled, write
from ..scenes import eight_cubes
from ..solvers.rows import Floats
from .evidence import Case, Evidence, Row
from .symmetric_solids import change, survived

STIFFNESS = 0.1  # of the potential `STIFFNESS |x|^4 / 4`; the cubes start with speed 4.2 in a room of 6
MILD = 0.01  # of the initial energy: a walk that one would call mild
BLOWN_UP = 1.0  # in units of the initial energy


def potential(time: float, position: Floats) -> Floats:
    """`k |x|^4 / 4` for each body (n,)."""
    return 0.25 * STIFFNESS * (position**2).sum(axis=1) ** 2


def force(time: float, position: Floats, velocity: Floats) -> Floats:
    """`-k |x|^2 x` on each body (n, 3)."""
    return -STIFFNESS * (position**2).sum(axis=1, keepdims=True) * position


def run(case: Case, duration: float = 40.0, steps: Sequence[float] = (0.02, 0.01, 0.005)) -> Evidence:
    """Runs gr at several time steps and jacobi at the largest; writes nonlinear.png, .svg, .pdf and .csv."""
    room = eight_cubes(room=6.0, speed=3.0)
    scene = room.with_(force=force, potential=potential, stepper="synchronous")
    walks: dict[float, tuple[Floats, Floats]] = {}
    for part, h in case.each(list(steps), [1.0 / h for h in steps]):
        found = survived(part, f"gr_{h:g}", scene.with_(step=h), "gr", duration)
        walks[h] = (found.steps["time"], energy_drift(found))
    lost = survived(case, "jacobi", scene.with_(step=steps[0]), "jacobi", duration)
    time, blown = lost.steps["time"], change(lost, found)
    level = {h: float(np.abs(walk).max()) for h, (_, walk) in walks.items()}
    orders = [np.log(level[a] / level[b]) / np.log(a / b) for a, b in pairwise(steps)]
    worst = float(np.abs(blown).max())
    rows = [
        Row(f"gr, h = {h:g}: largest change of the energy", "mild walk", value, "of the kinetic energy", value < MILD)
        for h, value in level.items()
    ]
    rows += [
        Row("gr: order of the walk in the time step, mean", None, float(np.mean(orders)), "", None,
            "the integrator is of order 2"),
        Row("jacobi: largest change of the energy", "blows up", worst, "of the kinetic energy", worst > BLOWN_UP,
            f"until t = {time[-1]:.3g}"),
    ]  # fmt: skip
    files = _draw(case.out, walks, (time, blown))
    findings = (
        f"under gr the energy walks by {level[steps[0]]:.1e} of itself at h = {steps[0]:g} and by "
        f"{level[steps[-1]]:.1e} at h = {steps[-1]:g}; under jacobi it grows without bound",
    )
    return Evidence(tuple(rows), files, findings, {"potential": f"{STIFFNESS} |x|^4 / 4", "duration": duration})


def _draw(out: Path, walks: Mapping[float, tuple[Floats, Floats]], blown: tuple[Floats, Floats]) -> tuple[Path, ...]:
    with styled(2, height=2.8) as (figure, (left, right)):
        for k, (h, (time, walk)) in enumerate(walks.items()):
            left.plot(time, 100.0 * walk, color=CYCLE[0], linestyle=DASHES[k], linewidth=0.9, label=f"h = {h:g}")
        left.set(xlabel=TIME, ylabel="change of the energy (%)", title="gr: a mild walk")
        left.legend(loc="best")
        right.plot(blown[0], np.maximum(np.abs(blown[1]), 1e-6), **{**law_style("jacobi"), "marker": ""})
        right.axhline(1.0, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
        right.set(yscale="log", xlabel=TIME, ylabel="|change of the energy| / energy", title="jacobi: blows up")
        rows = [("gr", h, t, e) for h, (time, walk) in walks.items() for t, e in _thin(time, walk)]
        rows += [("jacobi", next(iter(walks)), t, e) for t, e in _thin(*blown)]
        return write(figure, out, "nonlinear", dict(zip(("law", "h", TIME, "relative_change"), zip(*rows))))


def _thin(time: Floats, values: Floats, points: int = 300) -> list[tuple[float, float]]:
    chosen = np.unique(np.linspace(0, len(time) - 1, points).astype(int))
    return list(zip(np.asarray(time)[chosen].tolist(), np.asarray(values)[chosen].tolist(), strict=True))
