"""The curves of a run that `carom plot` draws and writes as CSV, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from ..stepping.report import PHASES
from ..trajectory import Trajectory
from .checks import BOUNDS, energy_rule
from .run_momentum import angular_momentum_drift, momentum_drift
from .runs import dividing_line, energy_drift, energy_scale, overlap, sides, spread, symmetry_error

POINTS = 800  # largest number of points of a curve; a longer one is drawn as means or maxima over intervals
STRETCHES = 120  # number of intervals of a quantity that varies from step to step: drawn as mean and maximum


@dataclass(frozen=True, eq=False)
class Curve:
    """Values at times; if `value` are means over intervals, `high` are the maxima."""

    name: str
    time: Floats
    value: Floats
    high: Floats | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over time in one plot. `style` is `lines`, `dots` (at positive values) or `stacked`."""

    name: str
    title: str
    unit: str  # of the vertical axis
    curves: tuple[Curve, ...]
    log: bool = False
    bound: float | None = None  # drawn as a horizontal line
    style: str = "lines"
    least: float = 0.0  # smallest upper end of the vertical axis: values far below it are negligible


def panel(run: Trajectory, name: str, x: float | None = None) -> Panel:
    """The panel of that name in PANELS; `x` is the dividing line of `sides`."""
    if name not in PANELS:
        raise ProblemError.unknown("plot", name, PANELS)
    return _sides(run, x) if name == "sides" else PANELS[name](run)


def overview(run: Trajectory) -> list[Panel]:
    """The four most informative panels of this run."""
    special = "spread"
    if dividing_line(run) is not None:
        special = "sides"
    elif run.scene.symmetries:
        special = "symmetry"
    elif momentum_drift(run).conserved or angular_momentum_drift(run).conserved:
        special = "momentum"
    first = "drift" if energy_rule(run)[0] == "kept" else "energy"
    return [panel(run, name) for name in (first, special, "overlap", "contacts")]


def thinned(time: Floats, value: Floats, largest: bool = False, most: int = POINTS) -> tuple[Floats, Floats]:
    """At most `most` points: means over intervals, or their maxima, at the last time of each interval."""
    if len(time) <= most:
        return time, np.asarray(value, dtype=np.float64)
    starts = np.linspace(0, len(time), most + 1).astype(np.int64)
    ends, first = starts[1:], starts[:-1]
    values = np.asarray(value, dtype=np.float64)
    if largest:
        return time[ends - 1], np.maximum.reduceat(values, first)
    return time[ends - 1], np.add.reduceat(values, first) / (ends - first)


def _of_steps(run: Trajectory, name: str, value: Floats, largest: bool = False) -> Curve:
    return Curve(name, *thinned(run.steps["time"], value, largest))


def _jumping(run: Trajectory, name: str, value: Floats) -> Curve:
    time, mean = thinned(run.steps["time"], value, most=STRETCHES)
    return Curve(name, time, mean, thinned(run.steps["time"], value, True, STRETCHES)[1])


def _energy(run: Trajectory) -> Panel:
    steps = run.steps
    lowest = float(steps["potential"].min())
    curves = [_of_steps(run, "total", steps["kinetic"] + steps["potential"] - lowest)]
    curves += [_of_steps(run, "kinetic", steps["kinetic"])]
    if run.world.gravity.any():
        curves += [_of_steps(run, "potential", steps["potential"] - lowest)]
    unit = "mass · length² / time²" + (",\npotential from its lowest" if run.world.gravity.any() else "")
    return Panel("energy", "Energy", unit, tuple(curves), least=1e-2 * energy_scale(run))


def _drift(run: Trajectory) -> Panel:
    curve = _of_steps(run, "energy", np.abs(energy_drift(run)), largest=True)
    kept = energy_rule(run)[0] == "kept"
    bound = BOUNDS["energy"] if kept else None
    return Panel("drift", "Energy drift", "relative to the largest\nkinetic energy", (curve,), True, bound)


def _momentum(run: Trajectory) -> Panel:
    """Drifts of the conserved momenta; if none is conserved, the momentum itself."""
    drifts = {"linear": momentum_drift(run), "angular": angular_momentum_drift(run)}
    kept = {name: drift for name, drift in drifts.items() if drift.conserved}
    if kept:
        curves = tuple(_of_steps(run, name, drift.value, largest=True) for name, drift in kept.items())
        title = "Momentum" if len(kept) > 1 else f"{next(iter(kept)).capitalize()} momentum"
        return Panel("momentum", title, "relative drift", curves, True, BOUNDS["momentum"])
    curves = tuple(_of_steps(run, f"{a} component", run.steps[f"momentum_{a}"]) for a in "xyz"[: run.dimension])
    return Panel("momentum", "Momentum (not conserved here)", "mass · length / time", curves)


def _symmetry(run: Trajectory) -> Panel:
    names = ", ".join(str(s.name) for s in run.scene.symmetries)
    curve = Curve(names, run.time, symmetry_error(run))
    return Panel("symmetry", "Symmetry error", "relative to the\nlength scale", (curve,), True, BOUNDS["symmetry"])


def _overlap(run: Trajectory) -> Panel:
    reported = _of_steps(run, "at steps", np.maximum(run.steps["overlap"], 0.0) / run.world.length_scale, largest=True)
    bound = BOUNDS["overlap"] if run.settings.stepper == "drift_safe" else None
    curves = (reported, Curve("in frames", run.time, overlap(run)))
    return Panel("overlap", "Deepest overlap", "relative to the\nlength scale", curves, True, bound, "dots")


def _contacts(run: Trajectory) -> Panel:
    names = [name for name in ("contacts", "resting", "iterations") if name != "resting" or run.steps["resting"].any()]
    curves = tuple(_jumping(run, name, run.steps[name]) for name in names)
    return Panel("contacts", "Contacts and iterations", "number per step", curves)


def _sides(run: Trajectory, x: float | None = None) -> Panel:
    found = sides(run, x)
    total = found.left + found.right
    curves = tuple(Curve(name, run.time, getattr(found, name) / total) for name in ("left", "right"))
    return Panel("sides", f"Sides of x = {found.x:g}", "fraction of all bodies", curves)


def _spread(run: Trajectory) -> Panel:
    curve = Curve("spread", run.time, spread(run))
    return Panel("spread", "Spread", "rms distance from\ncentroid (length units)", (curve,))


def _phases(run: Trajectory) -> Panel:
    steps = run.steps[1:] if len(run.steps) > 1 else run.steps
    curves = [
        Curve(phase, *thinned(steps["time"], 1e3 * steps[f"seconds_{phase}"], most=STRETCHES)) for phase in PHASES
    ]
    used = tuple(c for c in curves if c.value.any()) or tuple(curves[:1])
    return Panel("phases", "Computing time by phase", "milliseconds per step", used, style="stacked")


PANELS: dict[str, Callable[[Trajectory], Panel]] = {
    "energy": _energy,
    "drift": _drift,
    "momentum": _momentum,
    "symmetry": _symmetry,
    "overlap": _overlap,
    "contacts": _contacts,
    "sides": _sides,
    "spread": _spread,
    "phases": _phases,
}
