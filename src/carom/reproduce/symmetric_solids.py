"""Cubes, a knot and two rabbits: total energy and symmetry over a long time under three laws.

After Smith 2012, figure 8. Rotations are integrated by Discrete Moser-Veselov steps, which conserve energy, so that a
drift of the energy is the fault of the impact law. Bodies of complex shape amplify rounding errors from impact to
impact. A law keeps a symmetry as long as the error is amplified rounding: the time at which it becomes visible is
compared, not only the error at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ..analysis.runs import energy_drift, energy_scale, symmetry_error
from ..draw.style import CYCLE, GRAY, TIME, law_style, sheet, write
from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..scene.model import Scene
from ..scenes import eight_cubes, trefoil_drop, two_rabbits_box
from ..solvers.rows import Floats
from ..stepwise import Simulation
from ..trajectory import Trajectory
from .evidence import Case, Evidence, Row

LAWS = ("jacobi", "gauss_seidel", "gr")
CONSERVED = 1e-9  # relative drift of the energy
VISIBLE = 1e-3  # symmetry error in units of the length scale
Offsets = tuple[tuple[int, Floats], ...]  # body, and a point relative to its center at the start


def run(case: Case, duration: float = 20.0, detail: int = 16) -> Evidence:
    """Runs the three scenes under three laws; writes solids.png, .svg, .pdf and .csv."""
    scenes = {
        "eight cubes": eight_cubes(),
        "trefoil knot": trefoil_drop(),
        "two rabbits": two_rabbits_box(detail=detail),
    }
    runs: dict[str, dict[str, Trajectory]] = {name: {} for name in scenes}
    for part, (name, law) in case.each([(name, law) for name in scenes for law in LAWS]):
        runs[name][law] = survived(part, f"{name}_{law}".replace(" ", "_"), scenes[name], law, duration)
    rows = [row for name, mine in runs.items() for row in _rows(name, mine)]
    files = _draw(case.out, runs)
    return Evidence(tuple(rows), files, _findings(runs), {"h": 0.01, "c_r": 1.0})


def survived(case: Case, name: str, scene: Scene, law: str, duration: float) -> Trajectory:
    """A run, or what there is of it until the law makes bodies leave the range of numbers."""
    try:
        return case.simulate(name, scene, law, duration, tolerance="exact", frame_rate=50.0)
    except ProblemError:
        until = _fails_at(scene, law, duration)
        return case.simulate(f"{name}_until", scene, law, until, tolerance="exact", frame_rate=50.0)


def _fails_at(scene: Scene, law: str, duration: float) -> float:
    """The time of the last step before a run fails."""
    sim = Simulation(scene, law, tolerance="exact")
    try:
        sim.run(duration)
    except ProblemError:
        return sim.time
    return duration


def _rows(scene: str, runs: Mapping[str, Trajectory]) -> list[Row]:
    rows = []
    for law, run in runs.items():
        drift = float(np.abs(change(run, runs["gr"])).max())
        said = "blows up" if law == "jacobi" else "constant"
        ended = (
            f"ended at t = {run.time[-1]:.2g}: bodies left the range of numbers"
            if run.time[-1] < runs["gr"].time[-1]
            else ""
        )
        holds = drift > 0.5 if law == "jacobi" else drift < CONSERVED
        rows.append(Row(f"{scene}, {law}: relative energy drift", said, drift, "", holds, ended))
    for law, run in runs.items():
        said, lost = "lost" if law == "gauss_seidel" else "kept", symmetric_until(run)
        kept = f"to t = {run.time[-1]:.3g}" if lost == np.inf else lost
        holds = (lost == np.inf) == (law != "gauss_seidel")
        error = f"error {symmetry_error(run).max():.1e} at most"
        error += "" if holds else "; every impact of these bodies amplifies rounding errors"
        rows.append(Row(f"{scene}, {law}: symmetric until", said, kept, "time", holds, error))
    return rows


def change(run: Trajectory, like: Trajectory) -> Floats:
    """Change of the energy after every step, in units of the kinetic energy of the run `like`."""
    return energy_drift(run) * (energy_scale(run) / energy_scale(like))


def symmetric_until(run: Trajectory) -> float:
    """The time at which the symmetry error becomes visible; infinity if it never does."""
    error = symmetry_error(run)
    return float(run.time[np.argmax(error > VISIBLE)]) if (error > VISIBLE).any() else float("inf")


def _findings(runs: Mapping[str, Mapping[str, Trajectory]]) -> tuple[str, ...]:
    worst = max(float(np.abs(energy_drift(run)).max()) for mine in runs.values() for run in (mine["gr"],))
    lines = [f"gr conserves the energy of all three to {worst:.0e}"]
    for name, mine in runs.items():
        gr, sequential = symmetric_until(mine["gr"]), symmetric_until(mine["gauss_seidel"])
        if gr < np.inf:
            lines.append(
                f"{name}: rounding errors break the symmetry under gr at t = {gr:.2g}, under gauss_seidel the order of "
                f"the contacts breaks it at t = {sequential:.2g}"
            )
    return tuple(lines)


# ---- figure


def _points(scene: Scene) -> Offsets:
    """Points whose paths show the symmetry of a scene."""
    if scene.name == "trefoil_drop":
        angle = 2.0 * np.pi / 3.0 * np.arange(3)
        return tuple((0, np.array([2.0 * np.cos(a), 2.0 * np.sin(a), 0.0])) for a in angle)
    if scene.name == "two_rabbits_box":
        return tuple((k, np.array([0.0, 0.0, 0.5])) for k in range(2))
    return tuple((k, np.zeros(3)) for k in range(8))


def path_of(run: Trajectory, body: int, offset: Floats) -> Floats:
    """The path (frames, 3) of a point that is fixed to a body."""
    turn = matrices(run.orientations[:, body])
    fixed: Floats = turn[0].T @ offset
    return run.positions[:, body] + turn @ fixed


def _draw(out: Path, runs: Mapping[str, Mapping[str, Trajectory]]) -> tuple[Path, ...]:
    with sheet(height=6.4) as figure:
        grid = figure.add_gridspec(len(runs), len(LAWS) + 1, width_ratios=(1, 1, 1, 1.5))
        for k, (name, mine) in enumerate(runs.items()):
            for j, (law, run) in enumerate(mine.items()):
                axes = figure.add_subplot(grid[k, j])
                _paths(axes, run, mine["gr"])
                if k == 0:
                    axes.set_title(law, loc="center", color=law_style(law)["color"], weight="bold")
                if j == 0:
                    axes.set_ylabel(f"{name}\nfrom above", fontsize=8)
            _energies(figure.add_subplot(grid[k, -1]), mine, k == len(runs) - 1)
        columns = [
            (name, law, t, d) for name, mine in runs.items() for law, run in mine.items() for t, d in _thin(run, mine)
        ]
        table = dict(zip(("scene", "law", TIME, "relative_energy_drift"), zip(*columns)))
        return write(figure, out, "solids", table)


def _thin(run: Trajectory, runs: Mapping[str, Trajectory], points: int = 200) -> list[tuple[float, float]]:
    """Times and changes of energy at some steps."""
    chosen = np.unique(np.linspace(0, len(run.steps) - 1, points).astype(int))
    return list(zip(run.steps["time"][chosen], change(run, runs["gr"])[chosen]))


def _paths(axes: Axes, run: Trajectory, like: Trajectory) -> None:
    """The paths seen from above, in the frame of the run `like`."""
    reach = 1.05 * max(float(np.abs(path_of(like, *p)[:, :2]).max()) for p in _points(like.scene))
    for k, point in enumerate(_points(run.scene)):
        path = path_of(run, *point)
        axes.plot(path[:, 0], path[:, 1], color=CYCLE[k % len(CYCLE)], linewidth=0.5)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    axes.grid(False)


def _energies(axes: Axes, runs: Mapping[str, Trajectory], last: bool) -> None:
    for law, run in runs.items():
        time, drift = np.array(_thin(run, runs)).T
        axes.plot(time, np.maximum(np.abs(drift), 1e-17), **{**law_style(law), "marker": ""}, label=law)
    end = max(float(run.time[-1]) for run in runs.values())
    axes.axhline(CONSERVED, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set(yscale="log", xlim=(0, end), ylim=(1e-17, 1e6), ylabel="|energy change|")
    if last:
        axes.set_xlabel(TIME)
        axes.legend(loc="upper right", fontsize=7)
