"""Rabbits: momentum in a closed pot over a long time, and the energy that piles keep for each restitution.

After Smith 2012, section 10.3 (two bunnies in a teapot) and figure 9 (1,000 bunnies in a container). Our figure is a
rabbit of implicit surfaces, not the Stanford bunny; `mesh` of the scenes takes a file of it.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np

from ..analysis.runs import energy_scale
from ..draw.run_figures import split
from ..draw.style import BLUE, GRAY, RED, TIME, sheet, write
from ..scenes import rabbit_pile, rabbits_in_pot
from ..solvers.rows import Floats
from ..stepping.report import ANGULAR_MOMENTUM, MOMENTUM
from ..trajectory import Trajectory
from .evidence import SMITH_FRICTION, Case, Evidence, Row, claim
from .stills import Still, draw_stills

PUBLISHED_ANGULAR, PUBLISHED_LINEAR = 4.37e-11, 1.36e-11  # percent; absolute


def run_pot(case: Case, duration: float = 1000.0, detail: int = 24) -> Evidence:
    """Two rabbits in a floating pot; writes pot.png, .svg, .pdf and .csv."""
    scene = rabbits_in_pot(duration=duration, detail=detail)
    rate = 20.0 / min(duration, 20.0)
    run = case.simulate("pot", scene, "gr", frame_rate=rate, friction_model=SMITH_FRICTION)
    angular, linear = (_columns(run, names) for names in (ANGULAR_MOMENTUM, MOMENTUM))
    percent = 100.0 * np.abs(angular - angular[0]) / np.abs(angular[0])
    change = np.abs(linear - linear[0])
    contacts = int(run.steps["contacts"].sum())
    rows = (
        _drift("largest drift of a component of angular momentum", PUBLISHED_ANGULAR, float(percent.max()), "percent"),
        _drift("largest drift of a component of linear momentum", PUBLISHED_LINEAR, float(change.max()), ""),
        Row("time", 1000.0, duration, "time"),
        Row("contacts resolved", None, float(contacts)),
    )
    findings = (f"in {duration:g} time units and {contacts:,} contacts both momenta change by rounding errors only",)
    files = _draw_pot(case.out, run, percent.max(axis=1), change.max(axis=1))
    return Evidence(rows, files, findings, {"c_r": 0.8, "friction": 0.5, "h": scene.step})


def _drift(name: str, paper: float, ours: float, unit: str) -> Row:
    return Row(name, paper, ours, unit, ours <= paper)


def _columns(run: Trajectory, names: dict[int, tuple[str, ...]]) -> Floats:
    return np.column_stack([run.steps[name] for name in names[3]])


def _draw_pot(out: Path, run: Trajectory, angular: Floats, linear: Floats) -> tuple[Path, ...]:
    time = run.steps["time"]
    chosen = np.unique(np.linspace(1, len(time) - 1, 2000).astype(int))
    with sheet(height=2.9) as figure:
        left, right = split(figure, 1, 2, width_ratios=[1.0, 1.5])
        draw_stills(left, [Still(run, "t = 1", 1.0, {"size": (640, 640)})], 1)
        axes = right.subplots()
        for values, color, name in ((angular, BLUE, "angular, percent"), (linear, RED, "linear")):
            axes.plot(time[chosen], np.maximum(values[chosen], 1e-18), color=color, label=name, linewidth=0.9)
        for value, color in ((PUBLISHED_ANGULAR, BLUE), (PUBLISHED_LINEAR, RED)):
            axes.axhline(value, color=color, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.set(yscale="log", xlabel=TIME, ylabel="drift of a component", xlim=(0, time[-1]), ylim=(1e-18, 1e-9))
        axes.set_title("momentum (dashed: published maxima)")
        axes.legend(loc="lower right")
        table = {TIME: time[chosen], "angular (percent)": angular[chosen], "linear": linear[chosen]}
        return write(figure, out, "pot", table)


def run_pile(
    case: Case,
    count: int = 1000,
    duration: float = 5.0,
    coefficients: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
) -> Evidence:
    """The same pile with several coefficients of restitution; writes pile.png, .svg, .pdf and .csv."""
    runs = {}
    for part, c in case.each(coefficients):
        scene = rabbit_pile(count=count, restitution=c)
        runs[c] = part.simulate(f"pile_{c:g}", scene, "gr", duration, stepper="synchronous")
    scale = max(energy_scale(run) for run in runs.values())
    lost = {c: _energy(run)[0] - _energy(run)[-1] for c, run in runs.items()}
    lost = {c: value / scale for c, value in lost.items()}
    values = list(lost.values())
    rows = [
        Row(f"energy lost with c_r = {c:g}", None, value, "of the largest kinetic energy") for c, value in lost.items()
    ]
    monotone = all(a >= b for a, b in pairwise(values))
    remark = "the caption says that dissipation decreases when c_r decreases; we measured the opposite"
    rows.append(claim("dissipation is ordered by c_r", monotone, remark))
    if 1.0 in lost:
        rows.append(claim("c_r = 1 conserves the energy", abs(lost[1.0]) < 1e-9))
    ends = f"{values[-1]:.1e} for c_r = {coefficients[-1]:g} to {values[0]:.2f} for c_r = {coefficients[0]:g}"
    findings = (f"the energy lost rises from {ends}",)
    files = _draw_pile(case.out, runs, scale)
    return Evidence(tuple(rows), files, findings, {"friction": 0.0, "h": 0.005, "stepper": "synchronous"})


def _energy(run: Trajectory) -> Floats:
    total: Floats = run.steps["kinetic"] + run.steps["potential"]
    return total


def _draw_pile(out: Path, runs: dict[float, Trajectory], scale: float) -> tuple[Path, ...]:
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, len(runs)))
    time = next(iter(runs.values())).steps["time"]
    with sheet(height=3.0) as figure:
        left, right = split(figure, 1, 2, width_ratios=[1.0, 1.6])
        middle = list(runs)[len(runs) // 2]
        draw_stills(left, [Still(runs[middle], f"$c_r$ = {middle:g}, t = {time[-1]:g}", look={"size": (640, 640)})], 1)
        axes = right.subplots()
        for (c, run), shade in zip(runs.items(), shades):
            energy = (_energy(run) - _energy(run)[0]) / scale
            axes.plot(time, energy, color=shade, label=f"{c:g}")
        axes.set(xlabel=TIME, ylabel="change of energy", xlim=(0, time[-1]))
        axes.set_title("energy, relative to the largest kinetic energy")
        axes.axhline(0.0, color=GRAY, linewidth=0.6)
        axes.legend(title="$c_r$", loc="lower left", ncols=2)
        table = {TIME: time} | {f"c_r {c:g}": (_energy(r) - _energy(r)[0]) / scale for c, r in runs.items()}
        return write(figure, out, "pile", table)
