"""Four balls in a drum, symmetric about a line: which laws keep the symmetry, and whether gr and lcp coincide.

After Smith 2012, figure 7. The paper says that the paths of gr and lcp coincide. That depends on ties. At t = 3 the
balls are back where they touched at the start, and the predicted gaps of all their contacts are zero to rounding. The
authors' code keeps a pair if `d^2 <= (r + r)^2` in floating point, which drops some of these contacts; then balls are
resolved one contact after the other, and lcp does not stick. Carom counts gaps up to 1e-9 radii as touching, as the
paper defines the active set (`g = 0`): the four balls are one impact, in which lcp sticks and gr does not. Without the
ties, and with exact instants of impact, gr and lcp coincide.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from ..analysis.runs import energy_drift, symmetry_error
from ..draw.run_figures import split
from ..draw.style import BLACK, CYCLE, GRAY, TIME, law_style, sheet, write
from ..scenes import butterfly
from ..settings import step_count
from ..solvers.rows import Floats
from ..stepping.stepper import Stepper
from ..stepwise import Simulation
from ..trajectory import Trajectory
from .evidence import Case, Evidence, Row

LAWS = ("gr", "lcp", "gauss_seidel", "jacobi")
KEPT_ENERGY = 1e-9  # radii: a mirror error below this is amplified rounding
SAME_STATE = 1e-6  # radii: paths that differ by less coincide
RADIUS = 4.0  # of the drum
TIE = 1e-9  # radii: a gap that is zero to rounding is smaller


def run(case: Case, duration: float = 60.0, steps: tuple[float, ...] = (0.1, 0.05, 0.02, 0.01, 0.005)) -> Evidence:
    """Runs the scene with the steps of the paper's method and with exact instants; writes butterfly.png and more."""
    scene = butterfly(radius=RADIUS)
    parts = case.each(range(len(LAWS) + 2 + 2 * len(steps)))

    def simulated(name: str, law: str, **settings: Any) -> Trajectory:
        part, _ = next(parts)
        return part.simulate(name, scene, law, duration, tolerance="exact", frame_rate=10.0, **settings)

    runs = {law: simulated(law, law) for law in LAWS}
    exact = [simulated(f"{law}_exact", law, stepper="time_of_impact") for law in ("gr", "lcp")]
    apart = {"exact instants": difference(*exact)}
    gr, lcp = (without_ties(law, duration) for law in ("gr", "lcp"))
    apart["h = 0.1 without ties"] = np.linalg.norm(gr - lcp, axis=2).max(axis=1)
    for h in steps:
        apart[f"h = {h:g}"] = difference(*(simulated(f"{law}_{h:g}", law, step=h) for law in ("gr", "lcp")))
    time = exact[0].time
    rows = (*_symmetry_rows(runs), *_difference_rows(apart, time))
    files = _draw(case.out, runs, apart, time)
    return Evidence(rows, files, _findings(apart, time), {"h": scene.step, "drum radius": RADIUS})


def without_ties(law: str, duration: float) -> Floats:
    """Positions (f, 4, 2) of a run in which contacts with a predicted gap of zero, to rounding, are not active."""
    sim = Simulation(butterfly(radius=RADIUS), law, tolerance="exact")
    assert isinstance(sim.engine, Stepper)
    sim.engine.touch = -TIE
    frames = [sim.state.position]
    for _ in range(step_count("duration", duration, sim.time_step)):
        sim.step()
        frames.append(sim.state.position)
    return np.array(frames)


def difference(a: Trajectory, b: Trajectory) -> Floats:
    """Largest distance between the balls of two runs per frame; their radius is 1."""
    return np.linalg.norm(a.positions[:] - b.positions[:], axis=2).max(axis=1)


def coincide_until(apart: Floats, time: Floats) -> float:
    """The first time at which two runs differ; infinity if they never do."""
    return float(time[np.argmax(apart > SAME_STATE)]) if (apart > SAME_STATE).any() else float("inf")


def _symmetry_rows(runs: Mapping[str, Trajectory]) -> list[Row]:
    rows = []
    for law, run in runs.items():
        error, symmetric = float(symmetry_error(run).max()), law != "gauss_seidel"
        said = "symmetric" if symmetric else "symmetry lost"
        rows.append(Row(f"{law}: largest mirror error", said, error, "radii", (error < KEPT_ENERGY) == symmetric))
    lost = -float(energy_drift(runs["jacobi"])[-1])
    rows.append(Row("jacobi: energy lost at the end", "dissipates to a crawl", lost, "of the energy", lost > 0.5))
    return rows


def _difference_rows(apart: Mapping[str, Floats], time: Floats) -> list[Row]:
    rows = []
    for name, values in apart.items():
        most, until = float(values.max()), coincide_until(values, time)
        tie = "the balls are back where they touched; gaps are zero to rounding, and lcp sticks"
        remark = f"they part at t = {until:.1f}: {tie}" if until < np.inf else ""
        rows.append(Row(f"gr and lcp, {name}: largest difference", "coincide", most, "radii", until == np.inf, remark))
    return rows


def _findings(apart: Mapping[str, Floats], time: Floats) -> tuple[str, ...]:
    until = [coincide_until(values, time) for values in list(apart.values())[2:]]
    return (
        f"with exact instants of impact gr and lcp coincide to {apart['exact instants'].max():.0e} radii for "
        f"{time[-1]:g} time units",
        f"with synchronous steps they part at t = {min(until):.1f} to {max(until):.1f}, depending on the step: the "
        "balls are back where they touched; their predicted gaps are zero to rounding, and lcp sticks",
        f"without contacts whose predicted gap is zero they coincide to {apart['h = 0.1 without ties'].max():.0e} "
        "radii at h = 0.1: the authors' code drops such pairs where rounding opens them",
        "gr, lcp and jacobi keep the mirror symmetry, gauss_seidel loses it at the first impact",
    )


def _draw(out: Path, runs: Mapping[str, Trajectory], apart: Mapping[str, Floats], time: Floats) -> tuple[Path, ...]:
    with sheet(height=4.3) as figure:
        above, below = split(figure, 2, 1, height_ratios=[2.0, 2.1])
        for axes, (law, run) in zip(above.subplots(1, len(runs)), runs.items()):
            _paths(axes, run)
            axes.set_title(law, color=law_style(law)["color"], loc="center", weight="bold")
        axes = below.subplots()
        for k, (name, values) in enumerate(apart.items()):
            axes.plot(time, np.maximum(values, 1e-17), color=CYCLE[k % len(CYCLE)], label=name, linewidth=1.0)
        axes.axhline(SAME_STATE, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set(yscale="log", xlabel=TIME, ylabel="difference / radius", xlim=(0, time[-1]), ylim=(1e-17, 100))
        axes.set_title("gr beside lcp")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return write(figure, out, "butterfly", {TIME: time} | {f"{name} (radii)": v for name, v in apart.items()})


def _paths(axes: Axes, run: Trajectory) -> None:
    """The paths of the four centers."""
    axes.add_patch(Circle((0.0, 0.0), RADIUS, fill=False, edgecolor=GRAY, linewidth=0.8))
    for k, path in enumerate(run.positions[:].transpose(1, 0, 2)):
        axes.plot(path[:, 0], path[:, 1], color=CYCLE[k], linewidth=0.4)
        axes.plot(*path[0], marker="o", color=BLACK, markersize=2)
    axes.set(xlim=(-4.1, 4.1), ylim=(-4.1, 4.1), aspect="equal")
    axes.set_axis_off()
