"""Rabbits: momentum in a closed pot over a long time, and the energy that piles keep for each restitution.

After Smith 2012, section 10.3 (two bunnies in a teapot) and figure 9 (1,000 bunnies in a container). Our figure is a
rabbit of implicit surfaces, not the Stanford bunny; `mesh` of the scenes takes a file of it.
"""

from __future__ import annotations

from dataclasses import dataclass
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

SAMPLED = (0.4, 0.7, 1.0)  # parts of the duration at which the order is tested; in the first third bodies still fall
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


@dataclass(frozen=True, eq=False)
class Losses:
    """Energy lost by piles, (seeds, steps) for each coefficient, in units of the largest kinetic energy of the seed."""

    time: Floats
    lost: dict[float, Floats]

    def mean(self, c: float) -> Floats:
        """Average over the seeds."""
        return np.asarray(self.lost[c].mean(axis=0))

    def error(self, c: float) -> Floats:
        """Standard error of the average; 0 for a single seed."""
        return _standard_error(self.lost[c])

    def gap(self, low: float, high: float, step: int) -> tuple[float, float]:
        """How much more is lost with the lower coefficient, averaged over piles with equal seeds, and its error."""
        more = self.lost[low][:, step : step + 1] - self.lost[high][:, step : step + 1]
        return float(more.mean()), float(_standard_error(more)[0])


def _standard_error(values: Floats) -> Floats:
    seeds = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(seeds)) if seeds > 1 else np.zeros(values.shape[1])


def run_pile(
    case: Case,
    count: int = 1000,
    duration: float = 5.0,
    coefficients: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    seeds: int = 1,
) -> Evidence:
    """The same piles with several coefficients of restitution; writes pile.png, .svg, .pdf and .csv.

    Two piles of a few bodies soon collide differently, and the one with the larger coefficient may lose more by
    chance. So the order is one of averages over the seeds.
    """
    lost: dict[float, list[Floats]] = {c: [] for c in coefficients}
    time, shown = np.zeros(0), None
    for part, seed in case.each(range(seeds)):
        runs = {}
        for share, c in part.each(coefficients):
            scene = rabbit_pile(count=count, restitution=c, seed=seed)
            runs[c] = share.simulate(f"pile_{c:g}_{seed}", scene, "gr", duration, stepper="synchronous")
        scale = max(energy_scale(run) for run in runs.values())
        for c, run in runs.items():
            lost[c].append((_energy(run)[0] - _energy(run)) / scale)
        shown = shown or runs[coefficients[len(coefficients) // 2]]
        time = shown.steps["time"]
    losses = Losses(time, {c: np.array(values) for c, values in lost.items()})
    rows = _pile_rows(losses, coefficients, seeds)
    ends = [float(losses.mean(c)[-1]) for c in coefficients]
    findings = (
        f"the energy lost rises from {ends[-1]:.1e} for c_r = {coefficients[-1]:g} to {ends[0]:.2f} for c_r = "
        f"{coefficients[0]:g}, averaged over {seeds} piles of {count}",
    )
    parameters = {"count": count, "seeds": seeds, "friction": 0.0, "h": 0.005, "stepper": "synchronous"}
    if shown is None:
        raise RuntimeError("at least one seed")
    return Evidence(rows, _draw_pile(case.out, losses, shown), findings, parameters)


def _pile_rows(losses: Losses, coefficients: tuple[float, ...], seeds: int) -> tuple[Row, ...]:
    unit = "of the largest kinetic energy"
    rows = [
        Row(f"energy lost with c_r = {c:g}", None, float(losses.mean(c)[-1]), unit,
            remark=f"± {losses.error(c)[-1]:.1g} over {seeds} seeds" if seeds > 1 else "")
        for c in coefficients
    ]  # fmt: skip
    remark = "the caption says that dissipation decreases when c_r decreases; we measured the opposite"
    for part in SAMPLED:
        step = round(part * (len(losses.time) - 1))
        gaps = [losses.gap(low, high, step) for low, high in pairwise(coefficients)]
        words = ", ".join(f"{value:.2g} ± {error:.1g}" for value, error in gaps)
        ordered = all(value >= 0.0 for value, _ in gaps)
        name = f"dissipation is ordered by c_r at t = {losses.time[step]:g}"
        rows.append(claim(name, ordered, f"differences between neighbors {words}; {remark}"))
    if 1.0 in coefficients:
        rows.append(claim("c_r = 1 conserves the energy", np.abs(losses.lost[1.0]).max() < 1e-9))
    return tuple(rows)


def _energy(run: Trajectory) -> Floats:
    total: Floats = run.steps["kinetic"] + run.steps["potential"]
    return total


def _draw_pile(out: Path, losses: Losses, shown: Trajectory) -> tuple[Path, ...]:
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, len(losses.lost)))
    time = losses.time
    with sheet(height=3.0) as figure:
        left, right = split(figure, 1, 2, width_ratios=[1.0, 1.6])
        name = f"$c_r$ = {shown.scene.parameters['restitution']:g}, t = {time[-1]:g}"
        draw_stills(left, [Still(shown, name, look={"size": (640, 640)})], 1)
        axes = right.subplots()
        for c, shade in zip(losses.lost, shades):
            mean, error = -losses.mean(c), losses.error(c)
            axes.plot(time, mean, color=shade, label=f"{c:g}")
            axes.fill_between(time, mean - error, mean + error, color=shade, alpha=0.25, linewidth=0)
        axes.set(xlabel=TIME, ylabel="change of energy / largest kinetic energy", xlim=(0, time[-1]))
        seeds = len(next(iter(losses.lost.values())))
        axes.set_title("energy" if seeds == 1 else f"energy: mean of {seeds} seeds, and its standard error")
        axes.axhline(0.0, color=GRAY, linewidth=0.6)
        axes.legend(title="$c_r$", loc="lower left", ncols=2)
        table = {TIME: time} | {f"c_r {c:g}": -losses.mean(c) for c in losses.lost}
        table |= {f"error {c:g}": losses.error(c) for c in losses.lost}
        return write(figure, out, "pile", table)
