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
    """What happens in the run: energy, momentum, contacts, and speed or what the scene is about."""
    last = "sides" if dividing_line(run) is not None else "speed"
    return [panel(run, name) for name in ("energy", "momentum", "contacts", last)]


def solver_overview(run: Trajectory) -> list[Panel]:
    """How well the run was computed: drifts, overlap, iterations, and the error of a symmetry or the residual."""
    last = "symmetry" if run.scene.symmetries else "residual"
    return [panel(run, name) for name in ("drift", "overlap", "iterations", last)]


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
    """Drift of the energy, and of the momenta that are conserved."""
    momenta = {"momentum": momentum_drift(run), "angular momentum": angular_momentum_drift(run)}
    kept = {name: drift.value for name, drift in momenta.items() if drift.conserved}
    all_kept = {"energy": np.abs(energy_drift(run))} | kept
    curves = tuple(_of_steps(run, name, value, largest=True) for name, value in all_kept.items())
    bound = BOUNDS["energy"] if energy_rule(run)[0] == "kept" else None
    return Panel("drift", "Drift of conserved quantities", "relative", curves, True, bound)


def _momentum(run: Trajectory) -> Panel:
    curves = tuple(_of_steps(run, f"{a} component", run.steps[f"momentum_{a}"]) for a in "xyz"[: run.dimension])
    kept = momentum_drift(run).conserved
    title = f"Momentum{'' if kept else ' (not conserved here)'}"
    return Panel("momentum", title, "mass · length / time", curves, least=1e-2 * _momentum_scale(run))


def _momentum_scale(run: Trajectory) -> float:
    """The momentum of all mass at the speed of the largest kinetic energy."""
    mass = float(run.world.mass[run.world.free].sum())
    return float(np.sqrt(2.0 * mass * float(run.steps["kinetic"].max(initial=0.0))))


def _speed(run: Trajectory) -> Panel:
    """Largest and mean speed of the free bodies, in frames."""
    free = run.world.free
    speed = [np.linalg.norm(run.frame(k).velocity[free, : run.dimension], axis=1) for k in range(len(run))]
    largest, mean = (np.array([f(v) if len(v) else 0.0 for v in speed]) for f in (np.max, np.mean))
    curves = (Curve("largest", *thinned(run.time, largest, True)), Curve("mean", *thinned(run.time, mean)))
    return Panel("speed", "Speed of bodies", "length / time", curves, least=1e-12)


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
    names = [name for name in ("contacts", "resting") if name != "resting" or run.steps["resting"].any()]
    curves = tuple(_jumping(run, name, run.steps[name]) for name in names)
    return Panel("contacts", "Contacts", "number per step", curves)


def _iterations(run: Trajectory) -> Panel:
    return Panel("iterations", "Iterations", "number per step", (_jumping(run, "iterations", run.steps["iterations"]),))


def _residual(run: Trajectory) -> Panel:
    curve = _of_steps(run, "residual", np.nan_to_num(run.steps["residual"]), largest=True)
    bound = run.settings.tolerance or None
    return Panel("residual", "Residual of steps", "relative to the fastest\napproach", (curve,), True, bound)


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
    "speed": _speed,
    "iterations": _iterations,
    "residual": _residual,
    "sides": _sides,
    "spread": _spread,
    "phases": _phases,
}
